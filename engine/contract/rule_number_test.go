package contract

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// TestNativeNumbers: a JSON number is a native CEL number where that is the same number, and else an exact.
func TestNativeNumbers(t *testing.T) {
	for _, c := range []struct {
		lexeme        string
		double, whole ref.Val // nil for an exact
	}{
		{"0", types.Double(0), types.Int(0)},
		{"-0.0", types.Double(0), types.Int(0)},
		{"5", types.Double(5), types.Int(5)},
		{"5.0", types.Double(5), types.Int(5)},
		{"-12e3", types.Double(-12000), types.Int(-12000)},
		{"999999999999999", types.Double(999999999999999), types.Int(999999999999999)},
		{"1000000000000000", nil, types.Int(1000000000000000)},
		{"999999999999999999", nil, types.Int(999999999999999999)},
		{"9223372036854775807", nil, nil},
		{"1e400", nil, nil},
	} {
		n := parseNumber(c.lexeme)
		checkNative(t, c.lexeme, n.double(), c.double)
		checkNative(t, c.lexeme, n.whole(), c.whole)
	}
	checkNative(t, "0.5", parseNumber("0.5").double(), nil)
	if v := parseNumber("9223372036854775807").whole(); v.Type() != types.IntType {
		t.Errorf("a large integer is of type %s", v.Type())
	}
}

func checkNative(t *testing.T, lexeme string, got, want ref.Val) {
	t.Helper()
	e, isExact := got.(exact)
	if want == nil && (!isExact || e.compare(parseNumber(lexeme)) != 0) || want != nil && got != want {
		t.Errorf("%s is %T %v, want %v", lexeme, got, got, want)
	}
	if n, ok := numberOf(got); !ok || n.compare(parseNumber(lexeme)) != 0 {
		t.Errorf("%s becomes %v", lexeme, n)
	}
}

func TestNumberOf(t *testing.T) {
	for want, v := range map[string]ref.Val{
		"-7": types.Int(-7), "18446744073709551615": types.Uint(math.MaxUint64), "0.1": types.Double(0.1), "1e300": types.Double(1e300),
		"-9223372036854775808": types.Int(math.MinInt64),
	} {
		if n, ok := numberOf(v); !ok || n.compare(parseNumber(want)) != 0 {
			t.Errorf("%v: %v, %t; want %s", v, n, ok, want)
		}
	}
	for _, v := range []ref.Val{types.String("1"), types.True, types.NullValue, types.Double(math.NaN()), types.Double(math.Inf(1))} {
		if n, ok := numberOf(v); ok {
			t.Errorf("%v is the number %v", v, n)
		}
	}
}

// TestExactValue: an exact is a value like CEL's own.
func TestExactValue(t *testing.T) {
	half, third := exact{number: parseNumber("0.50")}, exact{ratio: big.NewRat(1, 3)}
	large := parseNumber("123456789012345678901").whole()
	for _, c := range []struct {
		v    ref.Val
		text string
	}{
		{half, "0.5"}, {third, "0.33333333333333333333"}, {large, "123456789012345678901"}, {exact{number: parseNumber("-12.50e2")}, "-1250"},
		{exact{number: parseNumber("1e-3")}, "0.001"}, {exact{number: parseNumber("1e2000")}, "1e2000"}, {exact{}, "0"},
	} {
		if got := c.v.ConvertToType(types.StringType); got != types.String(c.text) || c.v.Value() != c.text {
			t.Errorf("%v is %v", c.text, got)
		}
	}
	if half.ConvertToType(types.IntType) != types.Int(0) || large.ConvertToType(types.IntType) != large ||
		(exact{ratio: big.NewRat(-7, 2)}).ConvertToType(types.IntType) != types.Int(-3) {
		t.Error("a fraction is not cut away")
	}
	if half.ConvertToType(types.DoubleType).Equal(half) != types.True || half.ConvertToType(types.TypeType) != types.DoubleType ||
		large.ConvertToType(types.TypeType) != types.IntType {
		t.Error("a number is of another type")
	}
	if half.Equal(types.Double(0.5)) != types.True || half.Equal(third) != types.False || half.Equal(types.String("0.5")) != types.False ||
		third.Equal(exact{ratio: big.NewRat(2, 6)}) != types.True {
		t.Error("equality is wrong")
	}
	for _, want := range []ref.Type{types.BoolType, types.ListType} {
		if got := half.ConvertToType(want); !types.IsError(got) {
			t.Errorf("a number becomes %v", got)
		}
	}
	if _, err := half.ConvertToNative(reflect.TypeFor[float64]()); err == nil {
		t.Error("an exact number has become a float")
	}
}

func TestCalculate(t *testing.T) {
	for _, c := range []struct{ a, op, b, want string }{
		{"0.1", "+", "0.2", "0.3"}, {"1", "+", "-1", "0"}, {"999999999999999999", "+", "1", "1e18"}, {"1e300", "+", "1", "1" + strings.Repeat("0", 299) + "1"},
		{"0.1", "-", "0.1", "0"}, {"5", "-", "7.5", "-2.5"}, {"1e-300", "-", "1e-300", "0"},
		{"1.5", "*", "-4", "-6"}, {"0", "*", "1e900", "0"}, {"123456789012", "*", "123456789012", "15241578753153483936144"},
		{"1", "/", "4", "0.25"}, {"-5", "/", "2", "-2.5"}, {"0", "/", "3", "0"}, {"1", "/", "0", "a division by zero"}, {"1", "/", "0.0", "a division by zero"},
		{"7", "%", "3", "1"}, {"-7", "%", "3", "-1"}, {"7", "%", "-3", "1"}, {"7", "%", "0", "a division by zero"}, {"7.5", "%", "2", "% needs two integers"},
		{"1e1001", "+", "1", "more than 1000 places"}, {"1", "*", "1e-1001", "more than 1000 places"}, {"1", "/", "1e4000", "more than 1000 places"},
	} {
		got, err := calculate(c.op[0], exact{number: parseNumber(c.a)}, exact{number: parseNumber(c.b)}, false)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s %s: %v, want %s", c.a, c.op, c.b, err, c.want)
			}
			continue
		}
		if got.rat().Cmp(ratOf(c.want)) != 0 {
			t.Errorf("%s %s %s is %s, want %s", c.a, c.op, c.b, got, c.want)
		}
	}
	if got, err := calculate('/', exact{number: parseNumber("-7")}, exact{number: parseNumber("2")}, true); err != nil || got.String() != "-3" {
		t.Errorf("-7 / 2 of integers is %s, %v", got, err)
	}
}

// TestResultsAreBounded: a number does not grow without end.
func TestResultsAreBounded(t *testing.T) {
	long := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), maxBits+1))
	for _, r := range []*big.Rat{long, new(big.Rat).Inv(long)} {
		if v := result(exact{ratio: r}, false); !types.IsError(v) {
			t.Errorf("a number of %d bits is a result", r.Num().BitLen())
		}
	}
	if v := result(exact{ratio: big.NewRat(6, 3)}, true); v != types.Int(2) {
		t.Errorf("6/3 is %T %v", v, v)
	}
	if v := result(exact{ratio: big.NewRat(6, 3)}, false); v != types.Double(2) {
		t.Errorf("6/3 is %T %v", v, v)
	}
}

func TestSpelled(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "-0.5": true, "1e3": true, "12345678901234567890.1": true, "": false, "x": false, " 1": false, "1 ": false, "+1": false, ".5": false,
		"1.": false, "01": false, "NaN": false, "Infinity": false, "0x10": false, "1e9999": false, "true": false, `"1"`: false, "-": false, "1 2": false,
	} {
		if _, ok := spelled(text); ok != want {
			t.Errorf("%q: %t", text, ok)
		}
	}
}
