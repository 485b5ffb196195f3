package contract

import (
	"errors"
	"strings"
)

var errIndex = errors.New("index out of bounds")

// faultWords are what an evaluation can fail with, without the values at which it did: an error is logged and stored, and
// what an answer holds is neither.
var faultWords = []string{"no such overload", "no such key", errIndex.Error(), "unsigned integer overflow", "integer overflow",
	"a division by zero", "% needs two integers", "the text is no number", "an item of a sum is no number", "a sum has more than",
	errTooLong.Error(), "type conversion error", "invalid RFC 3339 timestamp", "invalid qualifier type"}

// plainFault is the fault of an evaluation in constant words.
func plainFault(err error) error {
	for _, words := range faultWords {
		if strings.Contains(err.Error(), words) {
			return errors.New(words)
		}
	}
	return errors.New("it fails on a value of this text")
}
