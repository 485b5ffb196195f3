package prompts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"emend/schemas"
)

// Limits of a request (design section 4).
const (
	MaxMetadata      = 16
	MaxMetadataKey   = 64
	MaxMetadataValue = 512
	MaxSessionID     = 256
	MaxMessages      = 1000
	// MaxTimeoutS is 30 days.
	MaxTimeoutS = 30 * 24 * 3600
)

func (p *planner) missing(at, format string, args ...any) {
	p.unknown = append(p.unknown, Problem{Path: at, Message: fmt.Sprintf(format, args...)})
}

// origin: a queue or backend that this catalog lacks may come with the next.
func (p *planner) origin() {
	if p.from.Library {
		return
	}
	if _, ok := p.s.config.Queues[p.from.Queue]; !ok {
		p.missing("", "there is no queue %s", quoted(p.from.Queue))
	}
	if _, ok := p.s.config.Backends[p.from.Backend]; !ok {
		p.missing("", "there is no backend %s", quoted(p.from.Backend))
	}
}

// prompt finds the definition, or sees that messages stand in for it.
func (p *planner) prompt() {
	switch ref := p.req.Prompt; {
	case ref != "" && p.req.Messages != nil:
		p.fault("messages", "stand beside prompt; give one of the two (append_messages extends a prompt)")
	case ref == "" && p.req.Messages == nil:
		p.fault("", "give prompt, or messages")
	case ref == "" && len(p.req.Messages) == 0:
		p.fault("messages", "must hold at least one message")
	}
	if p.req.Prompt == "" {
		return
	}
	if !validRef(p.req.Prompt) {
		p.fault("prompt", "must be id or id@version, the version a whole number from 1")
		return
	}
	c, problem := p.s.find(p.req.Prompt)
	if problem != nil {
		p.unknown = append(p.unknown, *problem)
		return
	}
	p.compiled = c
}

func validRef(ref string) bool {
	if !strings.Contains(ref, "@") {
		return looseName.MatchString(ref)
	}
	_, _, ok := promptName(ref)
	return ok
}

// find looks up "id" (its newest version) or "id@version".
func (s *Snapshot) find(ref string) (*compiled, *Problem) {
	id, version, pinned := strings.Cut(ref, "@")
	versions := s.prompts[id]
	if len(versions) == 0 {
		return nil, &Problem{Path: "prompt", Message: fmt.Sprintf("there is no prompt %s%s", quoted(id), suggest(id, slices.Collect(maps.Keys(s.prompts))))}
	}
	newest := versions[len(versions)-1]
	if !pinned {
		return newest, nil
	}
	for _, c := range versions {
		if strconv.Itoa(c.def.Version) == version {
			return c, nil
		}
	}
	return nil, &Problem{Path: "prompt", Message: fmt.Sprintf("prompt %s has no version %s; the newest is %d", id, quoted(version), newest.def.Version)}
}

// target resolves profile and backend: the request's profile, the prompt's, or the only one there is.
func (p *planner) target() {
	name := p.req.Profile
	if name == "" && p.compiled != nil {
		name = p.compiled.def.Profile
	}
	if name == "" {
		if name = p.onlyProfile(); name == "" {
			return
		}
	}
	profile, ok := p.s.config.Profiles[name]
	if !ok {
		p.missing("profile", "there is no profile %s%s", quoted(name), suggest(name, slices.Collect(maps.Keys(p.s.config.Profiles))))
		return
	}
	if !p.from.Library && profile.Backend != p.from.Backend {
		p.fault("profile", "profile %s belongs to backend %s, but the request came for backend %s; publish it there", quoted(name),
			quoted(profile.Backend), quoted(p.from.Backend))
	}
	p.profileName, p.profile = name, profile
	p.backend, _ = p.s.backend(profile.Backend)
}

// onlyProfile is the one profile of the backend; a library without a backend has one if there is but one in all.
func (p *planner) onlyProfile() string {
	if p.req.Prompt != "" && p.compiled == nil {
		return "" // the prompt, which may name one, is unknown
	}
	names := p.s.profilesOf[p.from.Backend]
	if p.from.Library && p.from.Backend == "" {
		names = slices.Sorted(maps.Keys(p.s.config.Profiles))
	}
	if len(names) == 1 {
		return names[0]
	}
	if _, ok := p.s.config.Backends[p.from.Backend]; ok || p.from.Library {
		p.fault("profile", "is missing: neither the prompt names one nor is there just one to choose (there are %d)", len(names))
	}
	return ""
}

// permissions applies the queue's allow list.
func (p *planner) permissions() {
	q, ok := p.s.config.Queues[p.from.Queue]
	if p.from.Library || !ok {
		return
	}
	for _, f := range []struct {
		path, what string
		set        bool
	}{
		{"messages", AllowMessages, p.req.Messages != nil},
		{"append_messages", AllowMessages, p.req.AppendMessages != nil},
		{"settings", AllowSettings, p.req.Settings != nil},
		{"output", AllowOutput, p.req.Output != nil},
		{"profile", AllowProfile, p.req.Profile != ""},
		{"attempts", AllowAttempts, p.req.Attempts == schemas.AttemptsFull},
	} {
		if f.set && !q.Allows(f.what) {
			does := "set it"
			if f.what == AllowAttempts {
				does = "ask for full"
			}
			p.forbidden = append(p.forbidden, Problem{Path: f.path,
				Message: fmt.Sprintf("queue %s does not let requests %s (its allow list lacks %s)", p.from.Queue, does, f.what)})
		}
	}
}

func (p *planner) messages() {
	p.conversation("messages", p.req.Messages)
	p.conversation("append_messages", p.req.AppendMessages)
}

func (p *planner) conversation(at string, messages []schemas.Message) {
	if len(messages) > MaxMessages {
		p.fault(at, "has %d messages, allowed are %d", len(messages), MaxMessages)
	}
	for i, m := range messages {
		path := index(at, i)
		if !slices.Contains(roles, m.Role) {
			p.fault(join(path, "role"), "must be one of %s", strings.Join(roles, ", "))
		}
		switch {
		case m.Parts != nil && m.Content != "":
			p.fault(join(path, "content"), "must be a text or parts, not both")
		case m.Parts != nil && !isParts(m.Parts):
			p.fault(join(path, "content"), "must be an array of objects, each with a type")
		case !utf8.ValidString(m.Content):
			p.fault(join(path, "content"), "is no valid UTF-8")
		}
		if d, err := ParseDuration(m.Cache); m.Cache != "" && (err != nil || d < cacheKind.min || d > cacheKind.max) {
			p.fault(join(path, "cache"), "must be a %s, such as 5m", cacheKind.words())
		}
	}
}

func isParts(raw json.RawMessage) bool {
	var parts []struct{ Type string }
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return false
	}
	for _, part := range parts {
		if part.Type == "" {
			return false
		}
	}
	return true
}

// inputs checks and renders.
func (p *planner) inputs() {
	if p.compiled == nil {
		if p.req.Prompt == "" && len(p.req.Inputs) > 0 {
			p.fault("inputs", "belong to a prompt; messages are not templates")
		}
		p.rendered = slices.Clone(p.req.Messages)
		return
	}
	var faults []inputFault
	p.rendered, faults = p.compiled.render(p.req.Inputs)
	for _, f := range faults {
		p.fault(f.at, "%s", f.message)
	}
}

// output takes the request's contract whole, or the prompt's.
func (p *planner) output() {
	switch {
	case p.req.Output != nil:
		p.ownContract(*p.req.Output)
		if p.compiled != nil && len(p.compiled.def.Checks)+len(p.compiled.def.ValidationRules) > 0 {
			p.warnings = append(p.warnings, "the request's output contract replaces the prompt's, and its checks with it")
		}
	case p.compiled != nil:
		p.effective, p.contract = p.compiled.output, p.compiled.contract
		p.chunkPlan()
	default:
		p.ownContract(schemas.Output{Mode: schemas.ModeNone})
	}
	if p.contract == nil || p.profileName == "" {
		return
	}
	n := p.carried()
	if n.err != nil {
		p.fault("output.schema", "%v", n.err)
	}
	switch p.native = n.schema; {
	case n.note == "":
	case p.req.Output != nil:
		p.warnings = append(p.warnings, n.note)
	default:
		p.notes = append(p.notes, n.note)
	}
}

// carried says how the contract goes to the backend; that of a prompt is found out once.
func (p *planner) carried() *nativeForm {
	if p.compiled == nil || p.req.Output != nil {
		return newNativeForm(p.effective, p.backend)
	}
	known, ok := p.compiled.native.Load(p.backend.Name)
	if !ok {
		known, _ = p.compiled.native.LoadOrStore(p.backend.Name, newNativeForm(p.effective, p.backend))
	}
	return known.(*nativeForm)
}

func (p *planner) ownContract(o schemas.Output) {
	hasSchema, before := len(o.Schema) > 0, len(p.problems)
	if o.Mode == "" {
		p.fault("output.mode", "is missing; use one of %s", strings.Join(modes, ", "))
		return
	}
	for _, name := range []string{"mode", "duplicate_keys", "on_exhausted"} {
		f, _ := outputObject.lookup(name)
		checkValue(p.report, f.kind, join("output", name), reflect.ValueOf(map[string]string{
			"mode": o.Mode, "duplicate_keys": o.DuplicateKeys, "on_exhausted": o.OnExhausted}[name]))
	}
	if o.Repair != nil {
		repairObject.check(p.report, "output.repair", reflect.ValueOf(*o.Repair))
	}
	if !p.bad["output.mode"] {
		for _, f := range contractFaults(o.Mode, hasSchema, o.RepairAttempts, o.Repair != nil) {
			p.fault(join("output", f.field), "%s", f.message)
		}
	}
	if len(p.problems) > before {
		return
	}
	if why := p.s.unheard(o, 0); why != "" && !p.from.Library {
		p.fault("output.on_exhausted", "%s", why)
		return
	}
	c, err := compileContract(effective(o), nil)
	if err != nil {
		for _, f := range placed(err, nil, "") {
			p.fault(f.field, "%s", f.message)
		}
		return
	}
	p.effective, p.contract = effective(o), c
}

// limits checks the fields that stand for themselves.
func (p *planner) limits() {
	r := p.req
	if r.Settings != nil {
		settingsObject.check(p.report, "settings", reflect.ValueOf(*r.Settings))
	}
	if n := r.TransientRetries; n != nil && (*n < 0 || *n > MaxTransientRetries) {
		p.fault("transient_retries", "is %d; it must be a whole number from 0 to %d", *n, MaxTransientRetries)
	}
	if t := r.TimeoutS; t != nil && !(*t > 0 && *t <= MaxTimeoutS && !math.IsInf(*t, 0)) {
		p.fault("timeout_s", "must be above 0 and at most %d (30 days)", MaxTimeoutS)
	}
	if len(r.SessionID) > MaxSessionID {
		p.fault("session_id", "has %d bytes, allowed are %d", len(r.SessionID), MaxSessionID)
	}
	if strings.ContainsFunc(r.SessionID, func(c rune) bool { return c < ' ' || c == 0x7f }) || !utf8.ValidString(r.SessionID) {
		p.fault("session_id", "must be text without control characters")
	}
	p.word("attempts", r.Attempts, schemas.AttemptsWords)
	p.metadata()
}

// word checks one of a few words; an absent one is its default.
func (p *planner) word(at, word string, of []string) {
	if word != "" && !slices.Contains(of, word) {
		p.fault(at, "must be one of %s%s", strings.Join(of, ", "), suggest(word, of))
	}
}

func (p *planner) metadata() {
	m := p.req.Metadata
	if len(m) == 0 {
		return
	}
	if len(m) > MaxMetadata {
		p.fault("metadata", "has %d entries, allowed are %d", len(m), MaxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch {
		case key == "" || len(key) > MaxMetadataKey || !utf8.ValidString(key):
			p.fault("metadata", "has a key of %d bytes; allowed are 1 to %d, in UTF-8", len(key), MaxMetadataKey)
		case len(m[key]) > MaxMetadataValue || !utf8.ValidString(m[key]):
			p.fault(join("metadata", bounded(key)), "has %d bytes; allowed are %d, in UTF-8", len(m[key]), MaxMetadataValue)
		}
	}
}
