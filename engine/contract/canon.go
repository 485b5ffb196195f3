package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// appendCanon appends a form of v that is equal for values that JSON Schema calls equal, and for no others: 1, 1.0
// and 1e0 are one number, the order of keys does not count. It is linear in v, so that enum and uniqueItems are too.
func appendCanon(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return appendNumber(b, string(v))
	case string:
		return appendString(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = appendCanon(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = appendCanon(appendString(b, key), v[key])
		}
		return append(b, '}')
	}
	return append(b, '?')
}

func appendString(b []byte, s string) []byte {
	b = append(b, 's')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	return append(append(b, ':'), s...)
}

func appendNumber(b []byte, lexeme string) []byte {
	negative, digits, exp := decimal(lexeme)
	b = append(b, '#')
	if negative {
		b = append(b, '-')
	}
	b = append(append(b, digits...), 'e')
	return append(strconv.AppendInt(b, int64(exp), 10), ';')
}

// decimal reads a JSON number as digits times ten to exp, digits without zeros at either end; zero is "", 0.
func decimal(lexeme string) (negative bool, digits string, exp int) {
	mantissa := strings.TrimPrefix(lexeme, "-")
	negative = len(mantissa) < len(lexeme)
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		exp, _ = strconv.Atoi(strings.TrimPrefix(mantissa[i+1:], "+"))
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if trimmed == "" {
		return false, "", 0
	}
	return negative, trimmed, exp
}

// isInteger reports whether a JSON number has no fraction: 1.0 is an integer.
func isInteger(lexeme string) bool {
	if !strings.ContainsAny(lexeme, ".eE") {
		return true
	}
	_, _, exp := decimal(lexeme)
	return exp >= 0
}
