package prompts

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"emend/engine/provider/dialects"
	"emend/engine/run"
	"emend/internal/prices"
	"emend/schemas"
)

// noPrices is the word of a backend whose models have no price, such as a model of one's own.
const noPrices = "none"

// priced finds the price of every profile's model. A backend with a budget must have all of them: what is not known cannot be
// bounded.
func (src *source) priced(s *Snapshot) {
	s.priceOf = map[string]*prices.Price{}
	builtin, err := prices.Builtin()
	if err != nil {
		src.conf.fault("prices", "the built-in table cannot be used: %v", err)
		return
	}
	tables := []*prices.Table{s.config.prices, builtin}
	for _, name := range slices.Sorted(maps.Keys(s.config.Profiles)) {
		p := s.config.Profiles[name]
		b, ok := s.backend(p.Backend)
		if !ok || b.Prices == noPrices {
			continue
		}
		if price := priceOf(tables, b, p.Model); price != nil {
			s.priceOf[name] = price
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Backends)) {
		src.pricedBackend(s, tables, s.config.Backends[name])
	}
}

func (src *source) pricedBackend(s *Snapshot, tables []*prices.Table, b Backend) {
	at := "backends." + b.Name
	if b.Prices != "" && b.Prices != noPrices && !slices.ContainsFunc(tables, func(t *prices.Table) bool { return t != nil && t.Has(b.Prices) }) {
		src.conf.fault(at+".prices", "there is no provider %s in the price table", quoted(b.Prices))
	}
	if b.DailyBudget == 0 {
		return
	}
	for _, profile := range s.profilesOf[b.Name] {
		if s.priceOf[profile] == nil {
			src.conf.fault(at+".daily_budget", "needs the price of every model, and that of profile %s is not known; give prices, here or as a file", profile)
		}
	}
}

// priceOf is the first price that a table has.
func priceOf(tables []*prices.Table, b Backend, model string) *prices.Price {
	url := b.URL
	if entry, err := dialects.Lookup(b.Dialect); err == nil {
		url = cmp.Or(url, entry.URL)
	}
	for _, t := range tables {
		if t == nil {
			continue
		}
		if p := t.Find(cmp.Or(b.Prices, t.Provider(strings.TrimSpace(url))), model); p != nil {
			return p
		}
	}
	return nil
}

// Price is the price of a profile's model; nil if it is not known.
func (s *Snapshot) Price(profile string) *prices.Price { return s.priceOf[profile] }

// DailyBudget is what a backend's calls, or a queue's runs, may cost in a day; 0 is no bound.
func (s *Snapshot) DailyBudget(backend, queue string) (ofBackend, ofQueue schemas.USD) {
	return usd(s.config.Backends[backend].DailyBudget), usd(s.config.Queues[queue].DailyBudget)
}

func usd(dollars float64) schemas.USD {
	if dollars == 0 {
		return 0
	}
	u, err := schemas.ParseUSD(strconv.FormatFloat(dollars, 'f', -1, 64))
	if err != nil {
		return 0 // the table has checked its bounds
	}
	return u
}

// maxCost is the lesser of the request's and the prompt's; 0 is no bound.
func (p *planner) maxCost() schemas.USD {
	most := schemas.USD(0)
	if p.compiled != nil {
		most = usd(p.compiled.def.MaxCost)
	}
	if of := p.req.MaxCost; of != nil && (most == 0 || *of < most) {
		most = *of
	}
	return most
}

// affordable checks that a run with a bound on its cost can be held to it.
func (p *planner) affordable(out *run.Plan) {
	if p.req.MaxCost != nil && *p.req.MaxCost <= 0 {
		p.fault("max_cost", "must be above 0, in US dollars")
	}
	if out.MaxCost == 0 {
		return
	}
	p.boundless("", out.Price != nil, out.Model, out.Backend, out.Settings)
	if p.compiled != nil && p.req.Output == nil {
		p.boundlessJudges(p.s, p.compiled)
	}
}

// affordable checks that the calls of a prompt with max_cost have a bound, as far as its own profile and settings say. Faults of
// emend.yaml come first: prices may be among them.
func (src *source) affordable(s *Snapshot, c *compiled) {
	profile, ok := s.config.Profiles[c.def.Profile]
	if c.def.MaxCost == 0 || !ok || len(src.conf.problems) > 0 {
		return
	}
	c.report.boundless("", s.priceOf[c.def.Profile] != nil, profile.Model, profile.Backend, profile.Settings.Over(&c.def.Settings))
	c.report.boundlessJudges(s, c)
}

// boundlessJudges notes the judges of a prompt whose calls have no bound.
func (r *report) boundlessJudges(s *Snapshot, c *compiled) {
	for _, j := range c.judges {
		def := j.compiled.def
		profile := s.config.Profiles[def.Profile]
		r.boundless("judge "+j.compiled.ref()+": ", s.priceOf[def.Profile] != nil, profile.Model, profile.Backend, profile.Settings.Over(&def.Settings))
	}
}

// boundless notes why the cost of calls has no bound.
func (r *report) boundless(whose string, priced bool, model, backend string, settings schemas.Settings) {
	if !priced {
		r.fault("max_cost", "%sno price for model %s is known, so its cost has no bound: give backend %s prices, or remove max_cost", whose, quoted(model), backend)
	}
	if settings.MaxOutputTokens == nil {
		r.fault("max_cost", "%sneeds max_output_tokens in settings: without it an answer can be of any length", whose)
	}
}
