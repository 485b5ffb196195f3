package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// USD is an amount of money in millionths of a millionth of a US dollar, so that the price of one token is a whole number. On the
// wire it is a JSON number of dollars, exact.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000_000

// String is the amount in dollars without an exponent.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	s := sign + strconv.FormatUint(n/uint64(Dollar), 10)
	if rest := n % uint64(Dollar); rest != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%012d", rest), "0")
	}
	return s
}

// MarshalJSON writes a number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number of dollars; what is finer than a USD is rounded up.
func (u *USD) UnmarshalJSON(b []byte) error {
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	amount, err := ParseUSD(n.String())
	*u = amount
	return err
}

// maxUSD bounds what an amount may be: a million dollars.
const maxUSD = 1_000_000

// leastUSD bounds the exponent of what is worth a number.
const leastUSD = 1e-30

// ParseUSD reads a number of dollars from 0 to a million, such as 0.25; what is finer than a USD is rounded up.
func ParseUSD(s string) (USD, error) {
	r := new(big.Rat)
	f, err := strconv.ParseFloat(s, 64)
	ok := err == nil && len(s) <= 64 && f >= 0 && f <= maxUSD
	if ok = ok && (f > leastUSD || !strings.ContainsAny(s, "123456789")); ok && f > 0 {
		_, ok = r.SetString(s)
	}
	if !ok {
		return 0, fmt.Errorf("must be a number of US dollars from 0 to %d", maxUSD)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(Dollar)))
	n, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	return USD(n.Int64()), nil
}

// Words of Cost.State.
const (
	CostKnown   = "known"
	CostPartial = "partial"
	CostUnknown = "unknown"
)

// Cost is what the provider calls of a run cost by the price table, judges included.
type Cost struct {
	// State is known, unknown (no call has a price, or none told its tokens), or partial: USD is then what is known of it.
	State string `json:"state"`
	USD   *USD   `json:"usd,omitempty"`
}

// CostSum adds up what calls cost.
type CostSum struct {
	USD USD `json:"usd,omitempty"`
	// Calls may have been billed; of Unknown the price or the tokens are not known.
	Calls   int `json:"calls,omitempty"`
	Unknown int `json:"unknown,omitempty"`
}

// Add adds one call; known says whether its cost is.
func (c *CostSum) Add(usd USD, known bool) {
	c.Calls++
	if !known {
		c.Unknown++
		return
	}
	c.USD += usd
}

// Join adds the calls of another sum.
func (c *CostSum) Join(o CostSum) {
	c.USD, c.Calls, c.Unknown = c.USD+o.USD, c.Calls+o.Calls, c.Unknown+o.Unknown
}

// Less is what c holds beyond o, which came before it.
func (c CostSum) Less(o CostSum) CostSum {
	return CostSum{USD: c.USD - o.USD, Calls: c.Calls - o.Calls, Unknown: c.Unknown - o.Unknown}
}

// Cost returns the wire form; nil when nothing may have been billed.
func (c CostSum) Cost() *Cost {
	switch {
	case c.Calls == 0:
		return nil
	case c.Unknown == c.Calls:
		return &Cost{State: CostUnknown}
	case c.Unknown > 0:
		return &Cost{State: CostPartial, USD: &c.USD}
	}
	return &Cost{State: CostKnown, USD: &c.USD}
}
