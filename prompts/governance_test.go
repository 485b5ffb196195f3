package prompts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/engine/run"
	"emend/schemas"
)

// seed002 is the seed's skill, in its own words.
const seed002 = `messages: [{user: Review the code.}]
outputs:
  verdict:
    type: enum
    values: [pass, fail]
  confidence:
    type: number
    range: [0, 1]
  reasoning:
    type: string
validation_rules:
  - if: { verdict: "fail" }
    then: { confidence: { max: 0.5 } }
    message: "Failed verdict should have confidence <= 0.5"
  - field: reasoning
    min_length: 20
    message: "Reasoning must be at least 20 characters"
`

const reviewed = minimal + "escalation: {sink: review}\n"

func planOf(t *testing.T, config, prompt string) *run.Plan {
	t.Helper()
	s, err := LoadFS(folder{"emend.yaml": config, "prompts/x@1.yaml": prompt}.fs())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheShortFormIsTheSameContract(t *testing.T) {
	p := planOf(t, minimal, seed002)
	want := `{"type":"object","properties":{"verdict":{"type":"string","enum":["pass","fail"]},"confidence":{"type":"number","minimum":0,"maximum":1},` +
		`"reasoning":{"type":"string"}},"required":["verdict","confidence","reasoning"]}`
	if string(p.Output.Schema) != want || p.Output.Mode != schemas.ModeJSONSchema || p.Output.RepairAttempts != 2 || p.Output.OnExhausted != "escalate" || p.Sink != run.SinkNone {
		t.Errorf("%+v\n%s", p.Output, p.Output.Schema)
	}
	if got := planOf(t, reviewed, seed002).Sink; got != run.SinkReview {
		t.Errorf("sink %s", got)
	}
	if v := p.Contract.Judge([]byte(`{"verdict":"pass","confidence":1.5,"reasoning":"ok"}`)); len(v.Findings) != 2 || v.Class != contract.SchemaInvalid {
		t.Errorf("%+v", v.Findings)
	}
	if v := p.Contract.Judge([]byte(`{"verdict":"fail","confidence":0.8,"reasoning":"long enough to be one of them"}`)); v.Class != contract.RuleFailed {
		t.Errorf("class %s", v.Class)
	}
}

func TestGovernanceIsTheSameNumber(t *testing.T) {
	const head = "messages: [{user: hi}]\noutput: {mode: json"
	for _, c := range []struct {
		config, prompt string
		attempts       int
		exhausted      string
	}{
		{minimal, head + "}\noutput_governance: {}", 2, "escalate"},
		{minimal, head + "}\noutput_governance: {max_retries: 1, escalate_on_failure: false}", 1, "return"},
		{minimal, head + ", repair_attempts: 1}\noutput_governance: {max_retries: 1}", 1, "escalate"},
		{minimal, head + ", repair_attempts: 1, on_exhausted: fail}\noutput_governance: {}", 1, "fail"},
		{minimal + "output_governance: {max_retries: 3, escalate_on_failure: false}\n", seed002, 3, "return"},
		{minimal + "output_governance: {max_retries: 3}\n", seed002 + "output_governance: {max_retries: 0}\n", 0, "escalate"},
		{minimal + "output_governance: {max_retries: 3}\n", head + "}", 0, "return"},
	} {
		if o := planOf(t, c.config, c.prompt).Output; o.RepairAttempts != c.attempts || o.OnExhausted != c.exhausted {
			t.Errorf("%s: %d, %s", c.prompt, o.RepairAttempts, o.OnExhausted)
		}
	}
}

func TestGovernanceProblems(t *testing.T) {
	const head = "messages: [{user: hi}]\n"
	for prompt, want := range map[string]string{
		"output: {mode: json, repair_attempts: 1}\noutput_governance: {max_retries: 2}":            ":3: output_governance.max_retries: is 2, but output.repair_attempts is 1",
		"output: {mode: json, on_exhausted: fail}\noutput_governance: {escalate_on_failure: true}": ":3: output_governance.escalate_on_failure: contradicts output.on_exhausted: fail",
		"output: {mode: json, on_exhausted: escalate}":                                             ":2: output.on_exhausted: escalate reaches nobody",
		"output: {mode: json}\noutput_governance: {escalate_on_failure: true}":                     "output.on_exhausted: escalate reaches nobody",
		"output: {mode: json}\noutputs: {a: {type: string}}":                                       ":2: output.mode: stands beside outputs",
		"outputs: {}":                                 ":2: outputs: has 0 fields",
		"outputs: {a: {type: strin}}":                 ":2: outputs.a.type: must be one of enum",
		"outputs: {a: {type: enum}}":                  ":2: outputs.a: values belong to type enum",
		"outputs: {a: {type: string, range: [0, 1]}}": ":2: outputs.a.range: belongs to type number",
		"outputs: {a: {type: number, range: [5, 1]}}": ":2: outputs.a.range: runs from 5 to 1, so that no number is in it",
		"outputs: {a: {type: integer, range: [9007199254740993, 9007199254740992]}}":                                ":2: outputs.a.range: runs from 9007199254740993",
		"output: {mode: json_schema, schema: {properties: {a: {}}, required: [a, b], additionalProperties: false}}": ":2: output.schema: schema at (root), keyword required: the key \"b\" is required, but additionalProperties: false",
		"outputs: {a: {type: number, range: [0]}}":                                                                  ":2: outputs.a.range: has 1 entries",
		"output: {mode: basic, repair: {local: unwrap}}":                                                            ":2: output.repair: has no effect in mode basic",
		"output: {mode: json}\nchecks: [{message: x}]":                                                              ":3: checks[0]: needs one of rule",
		"output: {mode: json}\nchecks: [{rule: 'true', field: a}]":                                                  ":3: checks[0]: needs one of rule",
		"output: {mode: json}\nchecks: [{field: a}]":                                                                ":3: checks[0]: needs bounds beside field",
		"output: {mode: json}\nchecks: [{min: 1}]":                                                                  ":3: checks[0]: needs one of rule",
		"output: {mode: json}\nchecks: [{if: {a: 1}}]":                                                              ":3: checks[0]: if and then go together",
		"output: {mode: json}\nchecks: [{if: {a: 1}, then: {b: null}}]":                                             ":3: checks[0].then.b: must give a value",
		"output: {mode: json}\nchecks: [{field: a, min: '1'}]":                                                      ":3: checks[0].min: must be a number, not text",
		"output: {mode: json}\nchecks: [{field: a, min: 1, retries: 1}]":                                            ":3: checks[0].retries: has no effect on a rule",
		"output: {mode: json}\nchecks: [{judge: j, field: a}]":                                                      ":3: checks[0]: is more than one of a rule, a judge and go at once; make an entry of each",
		"output: {mode: json}\nchecks: [{go: even, rule: 'true'}]":                                                  ":3: checks[0]: is more than one of",
		"output: {mode: json}\nchecks: [{go: even, retries: 1}]":                                                    ":3: checks[0].retries: has no effect on a rule or on go",
		"output: {mode: json}\nchecks: [{go: 'two words'}]":                                                         ":3: checks[0].go: must be a name of letters",
		"output: {mode: json}\nchecks: [{rule: 'true', code: Odd}]":                                                 ":3: checks[0].code: must be a code of a-z, 0-9 and _",
		"output: {mode: json}\nchecks: [{rule: 'true', code: rule_2}, {rule: 'true'}]":                              ":3: checks[1]: has the name rule_2, as another entry has",
		"output: {mode: json}\nchecks: [{go: odd}]\nvalidation_rules: [{field: a, min: 1, code: odd}]":              ":4: validation_rules: has the name odd, as another entry has",
		"output: {mode: json}\nchecks: [{judge: j@x}]":                                                              ":3: checks[0].judge: must be id or id@version",
		"output: {mode: json}\nchecks: [{judge: nobody@1}]":                                                         ":3: checks[0].judge: there is no prompt",
		"output: {mode: json}\nchecks: [{judge: x@1}]":                                                              ":3: checks[0].judge: x@1 cannot judge: it names no profile",
		"output: {mode: json}\nvalidation_policy: {producer_structural_failure: warn_continue}":                     ":3: validation_policy.producer_structural_failure: must be one of fail_run, reject_output",
		"output: {mode: json, on_exhausted: return}\nvalidation_policy: {producer_structural_failure: fail_run}":    ":3: validation_policy.producer_structural_failure: is fail_run, but output.on_exhausted is return",
		"output: {mode: json}\ntests: [{name: a, expect: {status: succeeded}}]":                                     ":3: tests[0].expect: is never looked at",
		"output: {mode: json}\nretries: 11":                                                                         ":3: retries: is 11",
		"output: {mode: json}\nvalidation_policy: {semantic_rejection: ~, unknown: 1}":                              ":3: validation_policy.unknown: unknown field",
		"output: {mode: json}\nvalidation_policy: {semantic_rejection: warn}":                                       ":3: validation_policy.semantic_rejection: must be one of fail_run, reject_output",
		"outputs: {a: {type: string}}\nvalidation_rules: [{field: b, min_length: 1}]":                               ":3: validation_rules[0]: field b: the schema does not know this field",
		"output: {mode: json_schema, schema: {properties: {a: {type: string}}}}\nchecks: [{rule: 'a > 1'}]":         ":3: checks[0]: found no matching overload",
		"output: {mode: json_schema, schema: {properties: {a: {type: string}}}}\nchecks: [{rule: 'a ==', x: y}]":    ":3: checks[0].x: unknown field",
		"output: {mode: json_schema, schema: {properties: {a: {type: string, examples: [1]}}}}":                     ":2: output.schema: schema at properties.a, keyword examples",
		"output: {mode: json}\nchecks: [{judge: x@1, repair_attempts: 4}]":                                          ":3: checks[0].repair_attempts: is 4",
		"output: {mode: json}\nchecks: [{rule: 'true', repair_attempts: 1}]":                                        ":3: checks[0].repair_attempts: has no effect on a rule",
		"output: {mode: json}\nchecks: [{judge: x@1, retries: 11}]":                                                 ":3: checks[0].retries: is 11",
		"output: {mode: json_schema, schema: {}}\nchecks: [{field: a, values: []}]":                                 ":3: checks[0].values: has 0 entries",
		"output: {mode: none}\nchecks: [{field: a, min: 1}]":                                                        ":3: checks[0]: mode none takes any text, so a rule has no fields",
	} {
		_, err := loadPrompt(head + prompt)
		if got := problemsOf(t, err); !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%s\n got %v\nwant %s", prompt, got, want)
		}
	}
}

// An enum has its type where its values have one: strict modes of providers ask for it.
func TestAnEnumHasItsType(t *testing.T) {
	for values, want := range map[string]string{
		"[pass, 'no']": `{"type":"string","enum":["pass","no"]}`,
		"[1, -2]":      `{"type":"integer","enum":[1,-2]}`,
		"[1, 2.5]":     `{"type":"number","enum":[1,2.5]}`,
		"[true]":       `{"type":"boolean","enum":[true]}`,
		"[a, 1]":       `{"enum":["a",1]}`,
		"[a, null]":    `{"enum":["a",null]}`,
		"[[1], [2]]":   `{"enum":[[1],[2]]}`,
		"[{a: 1}]":     `{"enum":[{"a":1}]}`,
	} {
		p := planOf(t, minimal, "messages: [{user: hi}]\noutputs: {a: {type: enum, values: "+values+"}}\n")
		if got := string(p.Output.Schema); got != `{"type":"object","properties":{"a":`+want+`},"required":["a"]}` {
			t.Errorf("%s: %s", values, got)
		}
	}
	// The validator of seed 002 looks at the declared fields alone.
	p := planOf(t, minimal, "messages: [{user: hi}]\noutputs: {a: {type: enum, values: [x]}}\n")
	if v := p.Contract.Judge([]byte(`{"a":"x","note":"more"}`)); !v.Valid() {
		t.Errorf("%+v", v.Findings)
	}
	if v := p.Contract.Judge([]byte(`{"a":5}`)); v.Valid() || len(v.Findings) == 0 {
		t.Errorf("%+v", v)
	}
}

// Every broken rule is told at once, each at its own line; the schema's file is not at fault.
func TestEveryBrokenRuleIsTold(t *testing.T) {
	const prompt = "messages: [{user: hi}]\noutput:\n  mode: json_schema\n  schema: x.json\n" +
		"checks:\n  - {field: b, min: 1}\n  - {field: a, min: 1}\n  - {rule: 'a >'}\nvalidation_rules:\n  - {field: c, min: 1}\n"
	_, err := LoadFS(folder{"emend.yaml": minimal, "prompts/x@1.yaml": prompt, "prompts/x.json": `{"properties":{"a":{"type":"number"}}}`}.fs())
	got := problemsOf(t, err)
	for i, want := range []string{":6: checks[0]: field b: ", ":8: checks[2]: Syntax error", ":10: validation_rules[0]: field c: "} {
		if len(got) != 3 || !strings.Contains(got[i], want) || strings.Contains(got[i], "x.json") || strings.Contains(got[i], "rule ") {
			t.Fatalf("%q, want %s", got, want)
		}
	}
	broken := folder{"emend.yaml": minimal, "prompts/x@1.yaml": prompt, "prompts/x.json": `{"type":"nothing"}`}
	if _, err := LoadFS(broken.fs()); len(problemsOf(t, err)) != 1 || !strings.HasSuffix(problemsOf(t, err)[0], "(in x.json)") {
		t.Errorf("%v", err)
	}
}

func judgedFolder(judge, checks string) folder {
	return folder{"emend.yaml": minimal, "prompts/x@1.yaml": "messages: [{user: 'Total?'}]\noutput: {mode: json}\n" + checks, "prompts/judge@2.yaml": judge}
}

const goodJudge = "profile: p\ninputs: {candidate: {}, findings: {default: []}, style: {default: strict}}\n" +
	"messages: [{system: 'Be {{ .style }}.'}, {user: '{{ .candidate }} {{ .findings }}'}]\n"

// Rules are validators in a stage, in the order of checks, those of the short form behind; elsewhere they are findings alone.
func TestWhichRulesVote(t *testing.T) {
	const rules = "checks: [{field: a, min: 1}, {go: even}, {field: b, min: 1, code: big}]\nvalidation_rules: [{field: c, min: 1}]"
	for text, want := range map[string]string{
		rules: "rule_1:1 even:go big:2 rule_3:3",
		strings.ReplaceAll(rules, ", {go: even}", ""):                  "",
		strings.ReplaceAll(rules, ", {go: even}", "") + "\nretries: 1": "rule_1:1 big:2 rule_3:3",
		"checks: [{judge: judge, retries: 1}]":                         "judge@2",
		"retries: 1":                                                   "",
	} {
		s, err := LoadFS(judgedFolder(goodJudge, text).fs())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range p.Validators {
			switch {
			case v.Rule > 0:
				got = append(got, fmt.Sprintf("%s:%d", v.Name, v.Rule))
			case v.Go:
				got = append(got, v.Name+":go")
			default:
				got = append(got, v.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
		if who, ok := s.GoChecks()["even"]; ok != strings.Contains(want, "even") || ok && who != "prompt x@1" {
			t.Errorf("%s: %q", text, who)
		}
	}
}

func TestAJudgeIsPlannedOnACandidate(t *testing.T) {
	s, err := LoadFS(judgedFolder(goodJudge, "checks: [{judge: judge, retries: 1}, {field: a, min: 1}]\nvalidation_policy: {validator_failure: fail_run}").fs())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Validators) != 2 || p.Validators[1].Rule != 1 || p.Validators[1].Name != "rule_1" || p.Validators[0].Name != "judge@2" || p.Validators[0].Retries != 1 || p.Policy.ValidatorFailure != run.PolicyFailRun || p.MaxValidatorCalls() != 6 {
		t.Fatalf("%+v %+v", p.Validators, p.Policy)
	}
	j, err := p.Validators[0].Plan(run.Question{Candidate: `{"a":"{{ .x }}"}`, Findings: []contract.Finding{{Pointer: "/a", Keyword: "type", Message: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	if j.Messages[0].Content != "Be strict." || !strings.HasPrefix(j.Messages[1].Content, `{"a":"{{ .x }}"} [{"pointer":"/a"`) || len(j.Messages) != 3 {
		t.Errorf("%+v", j.Messages)
	}
	for text, valid := range map[string]bool{`{"decision":"approve","reasons":[]}`: true, `{"decision":"perhaps","reasons":[]}`: false, `approve`: false} {
		if j.Contract.Judge([]byte(text)).Valid() != valid {
			t.Errorf("%s: valid is not %v", text, valid)
		}
	}
	own := schemas.Request{Prompt: "x@1", Output: &schemas.Output{Mode: schemas.ModeJSON}}
	if p, err := s.Plan(own, Origin{ID: "1", Queue: "default", Backend: "o"}); err != nil || len(p.Validators) != 0 || !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "checks") }) {
		t.Errorf("a request's own contract: %v, %+v", err, p.Warnings)
	}
}

func TestUnfitJudges(t *testing.T) {
	const head = "profile: p\ninputs: {candidate: {}}\nmessages: [{user: '{{ .candidate }}'}]\n"
	for judge, want := range map[string]string{
		strings.Replace(head, "profile: p\n", "", 1):                                "names no profile of its own",
		head + "output: {mode: json}":                                               "has an output contract",
		head + "outputs: {a: {type: string}}":                                       "has an output contract",
		"profile: p\nmessages: [{user: hi}]":                                        "declares no input named candidate",
		strings.Replace(head, "candidate: {}", "candidate: {}, other: {}", 1) + "#": "its input other is given by nobody",
	} {
		_, err := LoadFS(judgedFolder(judge, "checks: [{judge: judge@2}]").fs())
		if got := problemsOf(t, err); len(got) == 0 || !strings.Contains(got[0], "checks[0].judge: judge@2 cannot judge: ") || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s: %v", judge, got)
		}
	}
}

func TestARequestsRepairWords(t *testing.T) {
	s, err := LoadFS(folder{"emend.yaml": minimal, "prompts/x@1.yaml": "messages: [{user: hi}]"}.fs())
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		`{"mode":"json","repair":{"style":"targeted","local":"unwrap","max_targets":3}}`: "",
		`{"mode":"json","repair":{"style":"loud"}}`:                                      "output.repair.style: must be one of",
		`{"mode":"json","repair":{"max_targets":9}}`:                                     "output.repair.max_targets: is 9",
		`{"mode":"none","repair":{"local":"unwrap"}}`:                                    "output.repair: has no effect in mode none",
		`{"mode":"json","on_exhausted":"escalate"}`:                                      "output.on_exhausted: escalate reaches nobody",
	} {
		var o schemas.Output
		if err := json.Unmarshal([]byte(raw), &o); err != nil {
			t.Fatal(err)
		}
		_, err := s.Plan(schemas.Request{Prompt: "x", Output: &o}, Origin{ID: "1", Queue: "default", Backend: "o"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// A judge's repairs multiply its calls, and its plan has them as its budget.
func TestJudgeRepairs(t *testing.T) {
	s, err := LoadFS(judgedFolder(goodJudge, "checks: [{judge: judge, retries: 1, repair_attempts: 2}]").fs())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(schemas.Request{Prompt: "x", Profile: "p"}, Origin{Library: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.MaxValidatorCalls() != 18 {
		t.Errorf("at most %d calls", p.MaxValidatorCalls())
	}
	if j, err := p.Validators[0].Plan(run.Question{Candidate: "{}"}); err != nil || j.Output.RepairAttempts != 2 || j.MaxCalls() != 9 {
		t.Errorf("%+v, %v", j, err)
	}
}

// A saved State belongs to the checks that it was judged under.
func TestTheFingerprintCoversChecks(t *testing.T) {
	seen := map[string]string{}
	for _, checks := range []string{"", "checks: [{field: a, min: 1}]", "checks: [{field: a, min: 2}]", "validation_rules: [{field: a, min: 1}]",
		"checks: [{judge: judge@2}]", "checks: [{judge: judge@2, retries: 1}]", "checks: [{judge: judge@2, repair_attempts: 1}]", "checks: [{judge: judge@2}]\nvalidation_policy: {semantic_rejection: reject_output}"} {
		s, err := LoadFS(judgedFolder(goodJudge, checks).fs())
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[p.PromptSHA256]; twice {
			t.Errorf("%q and %q have one fingerprint", checks, other)
		}
		seen[p.PromptSHA256] = checks
	}
}

// Runs with judges end as seed 004 says, all others as seed 000; the two words for one thing agree.
func TestStructuralFailureOfARunWithJudges(t *testing.T) {
	const judged = "checks: [{judge: judge@2}]\n"
	for prompt, want := range map[string]string{
		"":     exhaustedReturn,
		judged: exhaustedFail,
		judged + "validation_policy: {producer_structural_failure: reject_output}": exhaustedReturn,
		"validation_policy: {producer_structural_failure: fail_run}":               exhaustedFail,
		judged + "output_governance: {}":                                           exhaustedEscalate,
		judged + "output_governance: {escalate_on_failure: false}":                 exhaustedFail,
	} {
		s, err := LoadFS(judgedFolder(goodJudge, prompt).fs())
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
		if err != nil || p.Output.OnExhausted != want || !p.HandsBack {
			t.Errorf("%q: %v, %+v", prompt, err, p)
		}
	}
	s, err := LoadFS(judgedFolder(goodJudge, judged+"retries: 2").fs())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(schemas.Request{Prompt: "x@1"}, Origin{ID: "1", Queue: "default", Backend: "o"})
	if err != nil || p.Retries != 2 || p.MaxCalls() != 9 || p.MaxValidatorCalls() != 9 {
		t.Errorf("%v, %+v", err, p)
	}
}
