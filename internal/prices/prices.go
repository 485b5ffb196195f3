// Package prices knows what a token costs: from the table that is built in, or from the operator's own. A model that is not in it
// has no price, which is not a price of zero.
package prices

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"emend/schemas"
)

//go:embed prices.json
var builtin []byte

// Table is a set of prices. It does not change, and is safe for concurrent use.
type Table struct {
	// Source, Licence and Date say where the prices are from, and of which day they are.
	Source    string     `json:"source"`
	Licence   string     `json:"licence"`
	Date      string     `json:"date"`
	Currency  string     `json:"currency"`
	Per       string     `json:"per"`
	Providers []provider `json:"providers"`
}

type provider struct {
	ID string `json:"id"`
	// URL matches the base URLs of its API. Also are other providers whose models it has, too.
	URL    string   `json:"url"`
	Also   []string `json:"also,omitempty"`
	Models []model  `json:"models"`

	url *regexp.Regexp
	// unread are models of the built-in table until once has read them.
	unread json.RawMessage
	once   sync.Once
}

type model struct {
	ID    string `json:"id"`
	Match rule   `json:"match"`
	rates
	Above []tier `json:"above,omitempty"`
}

// rates are US dollars for a million tokens; those of the cache are the input's where they are absent.
type rates struct {
	Input        perMillion  `json:"input"`
	Output       perMillion  `json:"output"`
	Cached       *perMillion `json:"cached,omitempty"`
	CacheWritten *perMillion `json:"cache_written,omitempty"`
}

// tier replaces the rates of a call with more than InputTokens.
type tier struct {
	InputTokens int64 `json:"input_tokens"`
	rates
}

// perMillion is the price of one token; on the wire dollars for a million.
type perMillion schemas.USD

const million = 1_000_000

// UnmarshalJSON reads dollars for a million tokens.
func (p *perMillion) UnmarshalJSON(b []byte) error {
	u, err := schemas.ParseUSD(string(b))
	*p = perMillion((u + million - 1) / million)
	if err != nil {
		return fmt.Errorf("a price %w", err)
	}
	return nil
}

// kept is the built-in table until it is forgotten.
var kept struct {
	sync.Mutex
	table *Table
}

// Forget gives the memory of the built-in table back: it is large, and what a run needs of it is a Price. Who asks for it again
// waits for it to be read.
func Forget() {
	kept.Lock()
	defer kept.Unlock()
	kept.table = nil
}

// Builtin is the table that Emend comes with.
func Builtin() (*Table, error) {
	kept.Lock()
	defer kept.Unlock()
	if kept.table != nil {
		return kept.table, nil
	}
	var err error
	kept.table, err = parseBuiltin(builtin)
	return kept.table, err
}

// parseBuiltin leaves the models of a provider unread until they are asked for: most programs need those of one, or of none.
func parseBuiltin(raw []byte) (*Table, error) {
	var t struct {
		Table
		Providers []struct {
			ID, URL string
			Also    []string
			Models  json.RawMessage
		} `json:"providers"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("the built-in price table: %w", err)
	}
	t.Table.Providers = make([]provider, len(t.Providers))
	for i, from := range t.Providers {
		p := &t.Table.Providers[i]
		p.ID, p.URL, p.Also, p.unread = from.ID, from.URL, from.Also, from.Models
		if err := p.compile(); err != nil {
			return nil, fmt.Errorf("the built-in price table, provider %s: %w", p.ID, err)
		}
	}
	return &t.Table, nil
}

// read makes the models of the built-in table's provider.
func (p *provider) read() {
	p.once.Do(func() {
		if p.unread == nil {
			return
		}
		err := json.Unmarshal(p.unread, &p.Models)
		if err == nil {
			err = p.compileModels() // the url is read by others
		}
		if err != nil {
			panic(fmt.Sprintf("the built-in price table, provider %s: %v", p.ID, err)) // TestTheBuiltinTable has read all
		}
		p.unread = nil
	})
}

// maxTable bounds a table.
const maxTable = 16 << 20

// Parse reads a table strictly: unknown fields, negative prices and patterns that cannot be played are errors that name the model.
func Parse(raw []byte) (*Table, error) {
	if len(raw) > maxTable {
		return nil, fmt.Errorf("the price table has %d bytes, allowed are %d", len(raw), maxTable)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var t Table
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("the price table, near byte %d: %w", dec.InputOffset(), err)
	}
	if t.Currency != "USD" {
		return nil, errors.New("the price table: currency must be USD")
	}
	for i := range t.Providers {
		if err := t.Providers[i].compile(); err != nil {
			return nil, fmt.Errorf("the price table, provider %s: %w", t.Providers[i].ID, err)
		}
	}
	return &t, nil
}

func (p *provider) compile() (err error) {
	if p.ID == "" {
		return errors.New("has no id")
	}
	if p.url, err = regexp.Compile("^(?:" + p.URL + ")"); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return p.compileModels()
}

func (p *provider) compileModels() error {
	for i := range p.Models {
		m := &p.Models[i]
		if err := m.Match.compile(); err != nil {
			return fmt.Errorf("model %s: %w", m.ID, err)
		}
		if !slices.IsSortedFunc(m.Above, func(a, b tier) int { return int(a.InputTokens - b.InputTokens) }) {
			return fmt.Errorf("model %s: above must ascend", m.ID)
		}
	}
	return nil
}

// Provider is the id of the provider whose API is at a URL; "" if none is known.
func (t *Table) Provider(url string) string {
	for i := range t.Providers {
		if p := &t.Providers[i]; p.URL != "" && p.url.MatchString(url) {
			return p.ID
		}
	}
	return ""
}

// Has reports whether a provider is in the table.
func (t *Table) Has(id string) bool { return t.index(id) >= 0 }

func (t *Table) index(id string) int {
	for i := range t.Providers {
		if t.Providers[i].ID == id {
			return i
		}
	}
	return -1
}

func (t *Table) provider(id string) *provider {
	i := t.index(id)
	if i < 0 {
		return nil
	}
	t.Providers[i].read()
	return &t.Providers[i]
}

// Find is the price of a provider's model; nil if the table has none.
func (t *Table) Find(providerID, name string) *Price {
	p := t.provider(providerID)
	if p == nil || name == "" {
		return nil
	}
	name = strings.ToLower(name)
	for _, id := range append([]string{p.ID}, p.Also...) {
		if from := t.provider(id); from != nil {
			if m := from.find(name); m != nil {
				return &Price{m: new(*m)} // a copy, which does not keep the table
			}
		}
	}
	return nil
}

func (p *provider) find(name string) *model {
	for i := range p.Models {
		if p.Models[i].Match.matches(name) {
			return &p.Models[i]
		}
	}
	return nil
}

// Price is what the tokens of one model cost. It is immutable.
type Price struct{ m *model }

// Model is its name in the table.
func (p *Price) Model() string { return p.m.ID }

// Of is what a call cost; false when it did not tell its tokens, or there is no price.
func (p *Price) Of(t *schemas.Tokens) (schemas.USD, bool) {
	if p == nil || t == nil || t.Input == nil || t.Output == nil {
		return 0, false
	}
	r := p.at(*t.Input)
	cached, written := count(t.Cached), count(t.CacheWritten)
	plain := max(*t.Input-cached-written, 0)
	return sum(plain, r.Input) + sum(cached, or(r.Cached, r.Input)) + sum(written, or(r.CacheWritten, r.Input)) + sum(*t.Output, r.Output), true
}

// AtMost is the most that a call with so many tokens can cost.
func (p *Price) AtMost(input, output int64) schemas.USD {
	most := schemas.USD(0)
	for _, r := range append([]rates{p.m.rates}, p.reached(input)...) {
		dearest := max(r.Input, or(r.Cached, 0), or(r.CacheWritten, 0))
		most = max(most, sum(input, dearest)+sum(output, r.Output))
	}
	return most
}

// at are the rates of a call with so many input tokens.
func (p *Price) at(input int64) rates {
	if above := p.reached(input); len(above) > 0 {
		return above[len(above)-1]
	}
	return p.m.rates
}

func (p *Price) reached(input int64) []rates {
	var out []rates
	for _, t := range p.m.Above {
		if input > t.InputTokens {
			out = append(out, t.rates)
		}
	}
	return out
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

func or(p *perMillion, other perMillion) perMillion {
	if p == nil {
		return other
	}
	return *p
}

func sum(tokens int64, each perMillion) schemas.USD {
	return schemas.USD(max(tokens, 0)) * schemas.USD(each)
}
