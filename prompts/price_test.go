package prompts_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"emend/prompts"
	"emend/schemas"
)

const ownPrices = `{"currency":"USD","date":"2026-11-30","providers":[{"id":"own","url":"http://model","models":[{"id":"mine","match":{"starts_with":"mine"},"input":1,"output":2}]},
	{"id":"openai","url":"https://api.openai.com","models":[{"id":"cheap","match":{"equals":"gpt-4o-mini"},"input":0,"output":0}]}]}`

// priceFS is a folder with a backend at a URL and a profile of a model.
func priceFS(backend, queue, more, model string) fstest.MapFS {
	if !strings.Contains(backend, "url:") {
		backend = strings.TrimSuffix("url: 'https://api.openai.com/v1', "+backend, ", ")
	}
	return fstest.MapFS{"prices.json": {Data: []byte(ownPrices)}, "emend.yaml": {Data: []byte("backends:\n  b: {dialect: openai, " + backend + "}\nqueues:\n  default: {" + queue +
		"}\nprofiles:\n  p: {backend: b, model: " + model + "}\n" + more)},
		"prompts/a@1.yaml": {Data: []byte("profile: p\nmessages: [{user: hi}]\n")}}
}

func TestPricesOfProfiles(t *testing.T) {
	for name, c := range map[string]struct{ backend, more, model, want string }{
		"by the URL":              {"url: https://api.openai.com/v1", "", "gpt-4o-mini", "gpt-4o-mini"},
		"of the dialect":          {"", "", "gpt-4o-mini", "gpt-4o-mini"},
		"by name":                 {"url: http://proxy/v1, prices: openai", "", "gpt-4o-mini", "gpt-4o-mini"},
		"none":                    {"prices: none", "", "gpt-4o-mini", ""},
		"unknown":                 {"", "", "my-own", ""},
		"unknown URL":             {"url: http://proxy/v1", "", "gpt-4o-mini", ""},
		"own":                     {"url: http://model/v1", "prices: prices.json", "mine-7b", "mine"},
		"own before the built-in": {"", "prices: prices.json", "gpt-4o-mini", "cheap"},
		"built-in behind the own": {"", "prices: prices.json", "gpt-4o", "gpt-4o"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := prompts.LoadFS(priceFS(c.backend, "", c.more, c.model))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if p := s.Price("p"); p != nil {
				got = p.Model()
			}
			if got != c.want {
				t.Errorf("the price is that of %q", got)
			}
			if _, _, err := prompts.Pack(priceFS(c.backend, "", c.more, c.model)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBadPrices(t *testing.T) {
	for want, fs := range map[string]fstest.MapFS{
		"backends.b.prices: there is no provider \"opnai\" in the price table": priceFS("prices: opnai", "", "", "m"),
		"backends.b.daily_budget: needs the price of every model":              priceFS("daily_budget: 5", "", "", "m"),
		"backends.b.daily_budget: is 0; it must be a number from":              priceFS("daily_budget: 0", "", "", "gpt-4o-mini"),
		"queues.default.daily_budget: is -1; it must be":                       priceFS("", "daily_budget: -1", "", "m"),
		"prices: file none.json":                                               priceFS("", "", "prices: none.json", "m"),
	} {
		if _, err := prompts.LoadFS(fs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	negative := priceFS("", "", "prices: prices.json", "m")
	negative["prices.json"] = &fstest.MapFile{Data: []byte(strings.Replace(ownPrices, `"input":1`, `"input":-1`, 1))}
	if _, err := prompts.LoadFS(negative); err == nil || !strings.Contains(err.Error(), "prices: file prices.json: the price table") || !strings.Contains(err.Error(), "from 0 to 1000000") {
		t.Errorf("%v", err)
	}
}

func TestMaxCostNeedsABound(t *testing.T) {
	s, err := prompts.LoadFS(priceFS("", "daily_budget: 2.5", "", "gpt-4o-mini"))
	if err != nil {
		t.Fatal(err)
	}
	if b, q := s.DailyBudget("b", "default"); b != 0 || q != 5*schemas.Dollar/2 {
		t.Errorf("%s %s", b, q)
	}
	from := prompts.Origin{ID: "1", Queue: "default", Backend: "b"}
	req := schemas.Request{Prompt: "a", MaxCost: new(schemas.Dollar)}
	if _, err := s.Plan(req, from); err == nil || !strings.Contains(err.Error(), "max_cost: needs max_output_tokens") {
		t.Errorf("%v", err)
	}
	req.Settings = &schemas.Settings{MaxOutputTokens: new(int64(9))}
	if p, err := s.Plan(req, from); err != nil || p.MaxCost != schemas.Dollar || p.Price == nil {
		t.Errorf("%v", err)
	}
	req.MaxCost = new(schemas.USD(0))
	if _, err := s.Plan(req, from); err == nil || !strings.Contains(err.Error(), "max_cost: must be above 0") {
		t.Errorf("%v", err)
	}
	unknown, err := prompts.LoadFS(priceFS("", "", "", "my-own"))
	if err != nil {
		t.Fatal(err)
	}
	req.MaxCost = new(schemas.Dollar)
	if _, err := unknown.Plan(req, from); err == nil || !strings.Contains(err.Error(), `no price for model "my-own" is known`) {
		t.Errorf("%v", err)
	}
}
