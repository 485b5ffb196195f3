package contract

import (
	"errors"
	"strings"

	"github.com/google/cel-go/common/types"
)

var (
	errIndex = errors.New("index out of bounds")
	// errEvaluation is a fault of the judge itself. What CEL says of it may hold a value, so that it is not told.
	errEvaluation = errors.New("the judge failed on this text")
)

// unevaluated is how a finding begins to say that its rule came to no verdict.
const unevaluated = "the rule cannot be evaluated on this value: "

// faultWords are what an evaluation can fail with, by what CEL or an operator here says of it. A finding is stored, logged
// and sent, and says so in these words alone, without the value at which it failed.
var faultWords = []struct{ fault, words string }{
	{"an item of a sum is no number", "an item of a sum is no number"},
	{"no such overload", "a value is of a type that the rule cannot use"},
	{"invalid qualifier type", "a value is of a type that the rule cannot use"},
	{"no such key", "it reads a key that is not there"},
	{errIndex.Error(), "it reads an item that is not there"},
	{"a division by zero", "a division by zero"},
	{"% needs two integers", "% needs two integers"},
	{errTooLong.Error(), errTooLong.Error()},
	{"the text is no number", "a text is no number"},
	{"invalid RFC 3339 timestamp", "a text is no time in RFC 3339, such as 2026-03-15T00:00:00Z"},
	{"overflow", "a number is outside of the range of a conversion"},
	{"type conversion error", "a text cannot be converted"},
}

// faultOf is why an expression could not be evaluated, in constant words, and whether the value is to blame: what CEL itself
// breaks on is no error value of CEL.
func faultOf(err error) (words string, ofValue bool) {
	if _, ofValue = errors.AsType[*types.Err](err); !ofValue {
		return "", false
	}
	for _, known := range faultWords {
		if strings.Contains(err.Error(), known.fault) {
			return known.words, true
		}
	}
	return "it fails on what stands there", true
}
