package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// In an expression a JSON number is a native CEL number if that is the same number: an integer of at most 15 digits.
// Every other one, and every result of arithmetic, is an exact. So 0.1 + 0.2 == 0.3, no digit of a candidate is rounded
// away, and an expression never holds because of rounding. A literal of the expression is the decimal that it spells.

// maxCalculated bounds the decimal places that a number may have, before or behind the point, to be calculated with;
// comparing has no bound beyond the scan's.
const maxCalculated = 1000

// exact is a number of an expression that no native CEL number equals: a decimal, or a quotient that is none.
type exact struct {
	number
	ratio   *big.Rat // nil for a decimal
	integer bool     // of CEL's type int
}

var errTooLong = fmt.Errorf("a number has more than %d places and cannot be calculated with", maxCalculated)

// numberOf returns a CEL number as an exact, and false for anything else. NaN and infinity are none: no candidate holds
// them, and no operation here yields them.
func numberOf(v ref.Val) (exact, bool) {
	switch v := v.(type) {
	case exact:
		return v, true
	case types.Int:
		return exact{number: parseNumber(strconv.FormatInt(int64(v), 10))}, true
	case types.Uint:
		return exact{number: parseNumber(strconv.FormatUint(uint64(v), 10))}, true
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return exact{number: parseNumber(strconv.FormatFloat(f, 'e', -1, 64))}, true
		}
	}
	return exact{}, false
}

// nativeDigits is how many digits an integer may have to be a double: all of them are exact.
const nativeDigits = 15

// double returns the CEL number of type double that equals n.
func (n number) double() ref.Val {
	if n.exp < 0 || len(n.digits)+n.exp > nativeDigits {
		return exact{number: n}
	}
	return types.Double(n.signed(n.exp))
}

// whole returns the CEL number of type int that equals n, which has no fraction.
func (n number) whole() ref.Val {
	if len(n.digits)+n.exp > 18 {
		return exact{number: n, integer: true}
	}
	return types.Int(n.signed(n.exp))
}

// operand returns the number as a quotient to calculate with.
func (e exact) operand() (*big.Rat, error) {
	if e.ratio == nil && (len(e.digits) > maxCalculated || e.exp > maxCalculated || e.exp < -maxCalculated) {
		return nil, errTooLong
	}
	return e.rat(), nil
}

// rat returns the number as a quotient. The scan bounds its digits and its exponent, and so the work.
func (e exact) rat() *big.Rat {
	if e.ratio != nil {
		return e.ratio
	}
	r, _ := new(big.Rat).SetString(e.lexeme())
	return r
}

// lexeme spells a decimal.
func (n number) lexeme() string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	return fmt.Sprintf("%s%se%d", sign, cmp.Or(n.digits, "0"), n.exp)
}

// compareTo orders two numbers exactly.
func (e exact) compareTo(other exact) int {
	if e.ratio == nil && other.ratio == nil {
		return e.compare(other.number)
	}
	return e.rat().Cmp(other.rat())
}

// signed is the number's digits with shift zeros behind them and its sign, at most 18 digits in all.
func (n number) signed(shift int) int64 {
	if n.negative {
		return -n.small(shift)
	}
	return n.small(shift)
}

// calculate applies one of + - * / % to a and b. whole asks for the division of integers, which cuts the fraction away.
func calculate(op byte, a, b exact, whole bool) (exact, error) {
	if a.ratio == nil && b.ratio == nil {
		if n, ok := quick(op, a.number, b.number); ok {
			return exact{number: n}, nil
		}
	}
	x, err := a.operand()
	if err != nil {
		return exact{}, err
	}
	y, err := b.operand()
	if err != nil {
		return exact{}, err
	}
	r := new(big.Rat)
	switch op {
	case '+':
		r.Add(x, y)
	case '-':
		r.Sub(x, y)
	case '*':
		r.Mul(x, y)
	default:
		r, err = divide(op, x, y, whole)
	}
	return exact{ratio: r}, err
}

// quick adds, subtracts and multiplies decimals of few digits.
func quick(op byte, a, b number) (number, bool) {
	low := min(a.exp, b.exp)
	switch {
	case low < -maxCalculated || max(a.exp, b.exp) > maxCalculated:
		return number{}, false
	case op == '*' && len(a.digits)+len(b.digits) <= 18:
		return decimal(a.signed(0)*b.signed(0), a.exp+b.exp), true
	case op != '+' && op != '-' || max(len(a.digits)+a.exp, len(b.digits)+b.exp)-low > 17:
		return number{}, false
	case op == '+':
		return decimal(a.signed(a.exp-low)+b.signed(b.exp-low), low), true
	}
	return decimal(a.signed(a.exp-low)-b.signed(b.exp-low), low), true
}

// decimal is v times ten to exp.
func decimal(v int64, exp int) number {
	n := parseNumber(strconv.FormatInt(v, 10))
	if n.digits != "" {
		n.exp += exp
	}
	return n
}

func divide(op byte, x, y *big.Rat, whole bool) (*big.Rat, error) {
	switch {
	case y.Sign() == 0:
		return nil, errors.New("a division by zero")
	case op == '/' && !whole:
		return new(big.Rat).Quo(x, y), nil
	case !x.IsInt() || !y.IsInt():
		return nil, errors.New("% needs two integers")
	case op == '/':
		return new(big.Rat).SetInt(new(big.Int).Quo(x.Num(), y.Num())), nil
	}
	return new(big.Rat).SetInt(new(big.Int).Rem(x.Num(), y.Num())), nil
}

// maxBits bounds a result: about twice maxCalculated in digits.
const maxBits = 8192

// result makes a CEL number of e, of type int if integer is set and it has no fraction.
func result(e exact, integer bool) ref.Val {
	if r := e.ratio; r != nil {
		if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
			return types.WrapErr(errTooLong)
		}
		if !r.IsInt() {
			return e
		}
		e = exact{number: parseNumber(r.Num().String())}
	}
	if integer && e.exp >= 0 {
		return e.number.whole()
	}
	return e.number.double()
}

// String spells the number in decimals, a quotient that has no end with 20 places.
func (e exact) String() string {
	r, err := e.operand()
	if err != nil {
		return e.lexeme()
	}
	places, ends := r.FloatPrec()
	if !ends {
		places = 20
	}
	return r.FloatString(places)
}

// ConvertToNative implements ref.Val; nothing here asks for it.
func (e exact) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("an exact number has no Go type %v", want)
}

// ConvertToType implements ref.Val.
func (e exact) ConvertToType(want ref.Type) ref.Val {
	switch want {
	case types.DoubleType:
		return e
	case types.StringType:
		return types.String(e.String())
	case types.TypeType:
		return e.Type().(ref.Val)
	case types.IntType:
		return e.truncated()
	}
	return types.NewErr("a number cannot become %s", want.TypeName())
}

// truncated cuts the fraction away.
func (e exact) truncated() ref.Val {
	r, err := e.operand()
	if err != nil {
		return types.WrapErr(err)
	}
	return result(exact{ratio: new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom()))}, true)
}

// Equal implements ref.Val.
func (e exact) Equal(other ref.Val) ref.Val {
	n, ok := numberOf(other)
	if !ok {
		return types.False
	}
	return types.Bool(e.compareTo(n) == 0)
}

// Type implements ref.Val.
func (e exact) Type() ref.Type {
	if e.integer {
		return types.IntType
	}
	return types.DoubleType
}

// Value implements ref.Val.
func (e exact) Value() any { return e.String() }

// spelled reads the text of a number for double(): what JSON calls a number, and nothing else.
func spelled(text string) (number, bool) {
	if text == "" || strings.TrimLeft(text, "-0123456789") == text {
		return number{}, false
	}
	o := scan([]byte(text), false, false)
	return parseNumber(text), o.fault == nil && o.start == 0 && o.end == len(text)
}
