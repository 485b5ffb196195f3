package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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
	n := parseNumber(lexeme)
	b = append(b, '#')
	if n.negative {
		b = append(b, '-')
	}
	b = append(append(b, n.digits...), 'e')
	return append(strconv.AppendInt(b, int64(n.exp), 10), ';')
}
