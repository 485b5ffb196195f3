package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"emend/engine/contract"
	"emend/engine/provider/dialects"
	"emend/engine/run"
	"emend/schemas"
)

// compiled is a prompt that can be rendered.
type compiled struct {
	def       Prompt
	templates []*template
	output    schemas.Output
	// outputJSON is output as the fingerprint of every run has it.
	outputJSON []byte
	contract   *contract.Contract
	judges     []judge
	// votes are the places of all that may vote, in configured order; judges fill theirs.
	votes []run.Validator
	// checks is the checksum of rules, judges and policy.
	checks string
	report *report
	// names are those of the inputs, once they are sorted.
	names  []string
	sorted sync.Once
	// native has the *nativeForm of output by the name of the backend that it went to.
	native sync.Map
	// implied says that the escalation of the contract is the short form's, so that it may reach nobody.
	implied bool
}

func (c *compiled) ref() string { return c.def.ID + "@" + strconv.Itoa(c.def.Version) }

// source is where definitions come from, with the reports that know their lines.
type source struct {
	config  Config
	conf    *report
	prompts []Prompt
	reports []*report // one per prompt
	// pipelines come after the prompts that they name; pipelineReports has one per pipeline.
	pipelines       []Pipeline
	pipelineReports []*report
	// schema reads a schema file that a prompt names; it never fails with a value of the file.
	schema func(name string) (json.RawMessage, error)
	// program says that no files were read.
	program bool
	// own are the endpoints of profiles, by the name of their stand-in backend.
	own map[string]Backend
}

// build checks and compiles everything, or returns all faults as Errors.
func (src *source) build() (*Snapshot, error) {
	src.finishConfig()
	s := &Snapshot{config: src.config, own: src.own, prompts: map[string][]*compiled{}, pipelines: map[string][]*compiledPipeline{}, profilesOf: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(s.config.Profiles)) {
		of := s.config.Profiles[name].Backend
		s.profilesOf[of] = append(s.profilesOf[of], name)
	}
	src.priced(s)
	for i, p := range src.prompts {
		if c := src.compile(s, p, src.reports[i]); c != nil {
			src.add(s, c, src.reports[i])
		}
	}
	for _, versions := range s.prompts {
		for _, c := range versions {
			src.judges(s, c, c.report)
			src.affordable(s, c)
			if why := s.unheard(c.output, c.def.judges()); why != "" && !c.implied {
				c.report.fault("output.on_exhausted", "%s", why)
			}
		}
	}
	src.buildPipelines(s)
	problems := slices.Clone(src.conf.problems)
	for _, r := range slices.Concat(src.reports, src.pipelineReports) {
		problems = append(problems, r.problems...)
	}
	if len(problems) > 0 {
		return nil, Errors(sorted(problems))
	}
	src.unusedProfiles(s)
	s.warnings = sorted(s.warnings)
	return s, nil
}

// finishConfig fills the defaults, gives backends their names and checks.
func (src *source) finishConfig() {
	c := &src.config
	if len(c.Queues) == 0 && !src.conf.bad["queues"] {
		c.Queues = map[string]Queue{"default": {}}
	}
	own := src.endpoints()
	v := reflect.ValueOf(c).Elem()
	configObject.fill(src.conf, "", v, src.program)
	if !src.conf.bad[""] {
		configObject.check(src.conf, "", v)
		publishedConfig.check(src.conf)
	}
	for name, b := range c.Backends {
		b.Name = name
		c.Backends[name] = b
	}
	for name, given := range own {
		b := c.Backends[name]
		b.Permits, b.Admitted = given.Permits, given.Admitted // 0 is no bound, also beside files
		src.own[name] = b
		delete(c.Backends, name)
	}
}

// endpoints lets the endpoints of profiles be filled and checked among the backends, and returns them as given, by their
// names there.
func (src *source) endpoints() map[string]Backend {
	c := &src.config
	own := map[string]Backend{}
	src.own = map[string]Backend{}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		if p.Endpoint == nil {
			continue
		}
		of := "endpoint-" + strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(name))
		if _, taken := c.Backends[of]; taken || p.Backend != "" {
			src.conf.fault("profiles."+name, "give backend or endpoint, not both, and keep the name %s free", of)
			continue
		}
		c.Backends = maps.Clone(c.Backends)
		if c.Backends == nil {
			c.Backends = map[string]Backend{}
		}
		c.Backends[of] = *p.Endpoint
		p.Backend = of
		c.Profiles = maps.Clone(c.Profiles)
		c.Profiles[name] = p
		own[of] = *p.Endpoint
	}
	return own
}

func (src *source) add(s *Snapshot, c *compiled, r *report) {
	versions := s.prompts[c.def.ID]
	at, found := slices.BinarySearchFunc(versions, c.def.Version, func(o *compiled, v int) int { return o.def.Version - v })
	if found {
		r.fault("", "prompt %s is defined twice", c.ref())
		return
	}
	s.prompts[c.def.ID] = slices.Insert(versions, at, c)
}

// compile makes one prompt ready, or notes why it cannot be.
func (src *source) compile(s *Snapshot, p Prompt, r *report) *compiled {
	if r.bad[""] {
		return nil
	}
	if !looseName.MatchString(p.ID) || p.Version < 1 {
		r.fault("", "prompt %s@%d: the id must be %s, the version a whole number from 1", quoted(p.ID), p.Version, looseWords)
		return nil
	}
	v, explicit := reflect.ValueOf(&p).Elem(), p.Output
	promptObject.fill(r, "", v, src.program)
	promptObject.check(r, "", v)
	publishedPrompt.check(r)
	output, implied := src.governed(p, explicit, r)
	c := &compiled{def: p, output: effective(output), report: r, implied: implied}
	c.checks, c.votes = c.checksum(), p.votes()
	c.distinct(r)
	src.profile(s, c, r)
	src.templates(s, c, r)
	readable := src.schemaFile(c, r)
	if readable && len(r.problems) == 0 {
		src.contract(s, c, r)
	}
	if len(r.problems) > 0 {
		return nil
	}
	c.tests(r)
	c.outputJSON, _ = schemas.Marshal(c.output) // nil is made anew, and its error told, where it is used
	return c
}

func (src *source) profile(s *Snapshot, c *compiled, r *report) {
	name := c.def.Profile
	if _, ok := s.config.Profiles[name]; !ok && name != "" && !r.bad["profile"] && !src.conf.bad["profiles"] && !src.conf.bad[""] {
		r.fault("profile", "there is no profile %s%s", quoted(name), nearest(name, slices.Collect(maps.Keys(s.config.Profiles))))
	}
}

// templates parses the messages and notes inputs that none of them uses.
func (src *source) templates(s *Snapshot, c *compiled, r *report) {
	inputs, used := slices.Collect(maps.Keys(c.def.Inputs)), map[string]bool{}
	for i, m := range c.def.Messages {
		t, faults := parseTemplate(m.Text, inputs)
		for _, f := range faults {
			r.fault(join(index("messages", i), m.Role), "%v", f)
		}
		if t == nil {
			continue
		}
		for _, name := range t.uses {
			used[name] = true
		}
		c.templates = append(c.templates, t)
	}
	for _, name := range slices.Sorted(maps.Keys(c.def.Inputs)) {
		if !used[name] && len(r.problems) == 0 {
			s.warnings = append(s.warnings, r.warning("inputs."+name, "no message uses this input"))
		}
	}
}

// schemaFile takes in the schema, whatever else is at fault; false if it cannot be read.
func (src *source) schemaFile(c *compiled, r *report) bool {
	ref := c.def.Output.Schema
	if c.def.Outputs == nil {
		c.output.Schema = ref.Inline
	}
	if ref.File == "" || r.bad["output.schema"] {
		return !r.bad["output.schema"]
	}
	raw, err := src.schema(ref.File)
	if err != nil {
		r.fault("output.schema", "%v", err)
		return false
	}
	c.output.Schema = raw
	return true
}

// contract compiles the schema and says how it will go out.
func (src *source) contract(s *Snapshot, c *compiled, r *report) {
	ref := c.def.Output.Schema
	var err error
	rules, where := c.def.rules()
	if c.contract, err = compileContract(c.output, rules); err != nil {
		for _, f := range placed(err, where, ref.File) {
			r.fault(f.field, "%s", f.message)
		}
		return
	}
	src.examples(s, c, r)
	b, ok := s.backend(s.config.Profiles[c.def.Profile].Backend)
	if _, err := dialects.Lookup(b.Dialect); !ok || err != nil {
		return // the backend's own lines say so
	}
	_, note, err := native(c.output, b)
	if err != nil {
		r.fault("output.schema", "%v", err)
	} else if note != "" {
		s.warnings = append(s.warnings, r.warning("output.schema", "%s", note))
	}
}

// examples refuses what the schema says against itself: keys that it requires and forbids, and values that it gives, of which
// a correction would show none. A bad default is only warned of, since generators write null for a field that may be left out.
func (src *source) examples(s *Snapshot, c *compiled, r *report) {
	for _, bad := range c.contract.Contradictions() {
		f := placed(bad, nil, c.def.Output.Schema.File)[0]
		r.fault(f.field, "%s", f.message)
	}
	for _, bad := range c.contract.BadExamples() {
		f := placed(bad, nil, c.def.Output.Schema.File)[0]
		if bad.Keyword == "default" {
			s.warnings = append(s.warnings, r.warning(f.field, "%s", f.message))
			continue
		}
		r.fault(f.field, "%s", f.message)
	}
}

func inFile(name string) string {
	if name == "" {
		return ""
	}
	return " (in " + name + ")"
}

// tests renders the inputs of the prompt's tests.
func (c *compiled) tests(r *report) {
	for i, t := range c.def.Tests {
		at := index("tests", i)
		_, faults := c.render(t.Inputs)
		for _, f := range faults {
			r.fault(join(at, f.at), "%s", f.message)
		}
	}
}

// render checks the inputs of a request and renders the messages.
func (c *compiled) render(given map[string]json.RawMessage) ([]schemas.Message, []inputFault) {
	values, faults := c.values(given)
	if len(faults) > 0 {
		return nil, faults
	}
	steps := 0
	out := make([]schemas.Message, len(c.templates))
	for i, t := range c.templates {
		text, fault := t.render(values, &steps)
		if fault != nil {
			return nil, []inputFault{*fault}
		}
		out[i] = schemas.Message{Role: c.def.Messages[i].Role, Content: text, Cache: cacheWord(c.def.Messages[i].Cache)}
	}
	return out, nil
}

func cacheWord(d Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// values completes the inputs with defaults: an absent one without a default is an empty text.
func (c *compiled) values(given map[string]json.RawMessage) (map[string]*value, []inputFault) {
	var faults []inputFault
	values := map[string]*value{}
	for _, name := range c.inputs() {
		in, at := c.def.Inputs[name], join("inputs", name)
		raw, ok := given[name]
		switch {
		case ok && !schemas.Valid(raw):
			faults = append(faults, inputFault{at, "is no valid JSON value"})
		case ok && !utf8.Valid(raw):
			faults = append(faults, inputFault{at, "is no valid UTF-8"})
		case ok && schemas.CheckSurrogates(raw) != nil:
			faults = append(faults, inputFault{at, "holds an escaped half of a surrogate pair, which no text can hold"})
		case ok:
			v := newValue(at, raw)
			if v.bytes() > in.Max {
				faults = append(faults, inputFault{at, fmt.Sprintf("has %d bytes, allowed are %s (%d)", v.bytes(), in.Max, in.Max)})
			}
			values[name] = v
		case in.Needed():
			faults = append(faults, inputFault{at, "is missing: the prompt needs it"})
		case in.Default != nil:
			values[name] = newValue(at, in.Default)
		default:
			values[name] = newValue(at, json.RawMessage(`""`))
		}
	}
	if len(faults) == 0 && known(given, values) {
		return values, nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := c.def.Inputs[name]; !ok {
			faults = append(faults, inputFault{join("inputs", bounded(name)),
				"is no input of prompt " + c.ref() + nearest(name, slices.Collect(maps.Keys(c.def.Inputs)))})
		}
	}
	return values, faults
}

// inputs are the names of the prompt's inputs in order, sorted once.
func (c *compiled) inputs() []string {
	c.sorted.Do(func() { c.names = slices.Sorted(maps.Keys(c.def.Inputs)) })
	return c.names
}

// known reports whether every given input has a value.
func known(given map[string]json.RawMessage, values map[string]*value) bool {
	for name := range given {
		if values[name] == nil {
			return false
		}
	}
	return true
}

// bounded is a name from outside as part of a path: itself where it may be a name, else quoted and cut.
func bounded(name string) string {
	if inputName.MatchString(name) {
		return name
	}
	return quoted(name)
}

func (src *source) unusedProfiles(s *Snapshot) {
	used := map[string]bool{}
	for _, p := range src.prompts {
		used[p.Profile] = true
	}
	for name := range s.config.Profiles {
		if !used[name] && len(src.prompts) > 0 {
			s.warnings = append(s.warnings, src.conf.warning("profiles."+name, "no prompt uses this profile; requests may still name it"))
		}
	}
}

// NewSnapshot checks and compiles definitions that a program made. The definitions must not be changed afterwards.
func NewSnapshot(d Definitions) (*Snapshot, error) {
	src := &source{config: cloned(d.Config), conf: newReport(""), prompts: slices.Clone(d.Prompts), pipelines: slices.Clone(d.Pipelines), program: true,
		schema: func(string) (json.RawMessage, error) { return nil, errNoFiles }}
	for i, p := range src.prompts {
		src.prompts[i].Inputs = maps.Clone(p.Inputs)
		src.reports = append(src.reports, newReport(fmt.Sprintf("%s@%d", p.ID, p.Version)))
	}
	for _, p := range src.pipelines {
		src.pipelineReports = append(src.pipelineReports, newReport(p.Ref()))
	}
	return src.build()
}

// cloned copies the maps that build writes to.
func cloned(c Config) Config {
	c.Backends, c.Queues, c.Profiles = maps.Clone(c.Backends), maps.Clone(c.Queues), maps.Clone(c.Profiles)
	return c
}

var errNoFiles = errors.New("there are no files here; give the schema inline")
