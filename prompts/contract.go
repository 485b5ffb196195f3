package prompts

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"emend/engine/contract"
	"emend/engine/provider/openai"
	"emend/schemas"
)

type fieldFault struct{ field, message string }

// contractFaults are the rules between the fields of an output contract, for files and requests alike (seed 000).
func contractFaults(mode string, hasSchema bool, attempts int) (out []fieldFault) {
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
func compileContract(o schemas.Output) (*contract.Contract, error) {
	c, err := contract.Compile(contract.Spec{Mode: o.Mode, Schema: o.Schema, LastWins: o.DuplicateKeys == duplicatesLastWins})
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "contract: "))
	}
	return c, nil
}

// strictSubsets tells of the dialects whose strict mode carries only some schemas which it carries, and why not others.
var strictSubsets = map[string]func([]byte) (bool, []string){"openai": openai.FitsStrict}

// native says how a contract goes to a backend: the schema that is sent, if any, and a note on what is lost.
func native(o schemas.Output, b Backend) (schema []byte, note string, err error) {
	if o.Mode != schemas.ModeJSONSchema || b.Native == NativeNone {
		return nil, "", nil
	}
	schema, note = o.Schema, ""
	if !bytes.HasPrefix(bytes.TrimSpace(o.Schema), []byte("{")) {
		schema, note = nil, "the schema is no object and goes out as no native constraint; it is judged here all the same"
	} else if fits, known := strictSubsets[b.Dialect]; known {
		if ok, why := fits(o.Schema); !ok {
			note = "the schema goes out with strict: false (" + few(why) + "); it is judged here all the same"
		}
	}
	if note != "" && b.Native == NativeRequire {
		return nil, "", fmt.Errorf("backend %s has native: require, but %s", b.Name, strings.TrimSuffix(note, "; it is judged here all the same"))
	}
	return schema, note, nil
}

func few(why []string) string {
	const shown = 3
	if len(why) <= shown {
		return strings.Join(why, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(why[:shown], "; "), len(why)-shown)
}
