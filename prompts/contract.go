package prompts

import (
	"fmt"
	"strings"

	"emend/engine/contract"
	"emend/engine/provider"
	"emend/engine/provider/dialects"
	"emend/schemas"
)

type fieldFault struct{ field, message string }

// contractFaults are the rules between the fields of an output contract, for files and requests alike (seed 000).
func contractFaults(mode string, hasSchema bool, attempts int, repairs bool) (out []fieldFault) {
	add := func(field, format string, args ...any) {
		out = append(out, fieldFault{field, fmt.Sprintf(format, args...)})
	}
	switch {
	case mode == schemas.ModeJSONSchema && !hasSchema:
		add("schema", "is missing: mode json_schema needs one; use mode json to accept any JSON value")
	case mode != schemas.ModeJSONSchema && hasSchema:
		add("schema", "has no effect in mode %s; remove it, or use mode json_schema", mode)
	}
	switch {
	case attempts < 0 || attempts > MaxRepairAttempts:
		add("repair_attempts", "is %d; it must be a whole number from 0 to %d", attempts, MaxRepairAttempts)
	case repairs && (mode == schemas.ModeNone || mode == schemas.ModeBasic):
		add("repair", "has no effect in mode %s; remove it, or use mode json or json_schema", mode)
	case mode == schemas.ModeNone && attempts > 0:
		add("repair_attempts", "is %d, but mode none accepts every answer, so none could be repaired; use 0, or mode basic", attempts)
	}
	return out
}

// effective fills the words that an output contract leaves out.
func effective(o schemas.Output) schemas.Output {
	if o.Mode == "" {
		o.Mode = schemas.ModeNone
	}
	if o.DuplicateKeys == "" {
		o.DuplicateKeys = duplicatesReject
	}
	if o.OnExhausted == "" {
		o.OnExhausted = exhaustedReturn
	}
	return o
}

// compileContract compiles an effective contract; its error has no prefix.
func compileContract(o schemas.Output, rules []contract.Rule) (*contract.Contract, error) {
	spec := contract.Spec{Mode: o.Mode, Schema: o.Schema, LastWins: o.DuplicateKeys == duplicatesLastWins, Rules: rules}
	if o.Repair != nil {
		spec.Local = o.Repair.Local
	}
	return contract.Compile(spec)
}

// placed are the faults of a contract with the places in a prompt's file that they belong to: those of a rule at one of where,
// all others at the schema, which came from file if that is not "".
func placed(err error, where []string, file string) (out []fieldFault) {
	for _, e := range contract.Faults(err) {
		if e.Rule > 0 && e.Rule <= len(where) {
			out = append(out, fieldFault{where[e.Rule-1], e.Reason})
			continue
		}
		out = append(out, fieldFault{"output.schema", strings.TrimPrefix(e.Error(), "contract: ") + inFile(file)})
	}
	if out == nil {
		out = append(out, fieldFault{"output.schema", strings.TrimPrefix(err.Error(), "contract: ") + inFile(file)})
	}
	return out
}

// nativeForm is what native says.
type nativeForm struct {
	schema []byte
	note   string
	err    error
}

func newNativeForm(o schemas.Output, b Backend) *nativeForm {
	n := &nativeForm{}
	n.schema, n.note, n.err = native(o, b)
	return n
}

// native says how a contract goes to a backend: the schema that is sent, if any, and a note on what is lost.
func native(o schemas.Output, b Backend) (schema []byte, note string, err error) {
	if o.Mode != schemas.ModeJSONSchema || b.Native == NativeNone {
		return nil, "", nil
	}
	dialect, err := dialects.Lookup(b.Dialect)
	if err != nil {
		return nil, "", err
	}
	carried := dialect.Carry(b.Options, o.Schema)
	lost := loss(carried)
	switch {
	case lost != "" && b.Native == NativeRequire:
		return nil, "", fmt.Errorf("backend %s has native: require, but the schema %s", b.Name, lost)
	case lost != "":
		note = "the schema " + lost + "; it is judged here all the same"
	}
	if carried.Schema == nil {
		return nil, note, nil
	}
	return o.Schema, note, nil
}

// loss says what a provider does not enforce of a schema; "" if it enforces all of it.
func loss(c provider.Carried) string {
	switch {
	case c.Schema == nil:
		return "goes out as no native constraint (" + few(c.Weakened) + ")"
	case c.Hint:
		return "goes out in " + c.Form + ", a hint that the provider does not enforce (" + few(c.Weakened) + ")"
	case !c.Whole:
		return "goes out in " + c.Form + ", which does not enforce all of it (" + few(c.Weakened) + ")"
	}
	return ""
}

func few(why []string) string {
	const shown = 3
	if len(why) <= shown {
		return strings.Join(why, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(why[:shown], "; "), len(why)-shown)
}
