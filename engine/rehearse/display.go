package rehearse

import (
	"encoding/json"
	"strconv"
	"strings"
)

// tokens reads a path as corrections show it, items[2]["a.b"], back into keys and indices; ok is false for one that was
// cut, is the root or is no path. An index is written as its digits, since a key may look the same.
func tokens(path string) (out []string, ok bool) {
	for rest := path; rest != ""; {
		token := ""
		if strings.HasPrefix(rest, "[") {
			token, rest, ok = bracket(rest)
		} else {
			rest = strings.TrimPrefix(rest, ".")
			end := len(rest)
			if i := strings.IndexAny(rest, ".[ ("); i >= 0 {
				end = i
			}
			token, rest, ok = rest[:end], rest[end:], end > 0
		}
		if !ok {
			return nil, false
		}
		out = append(out, token)
	}
	return out, len(out) > 0
}

// bracket reads [2] or ["a.b"].
func bracket(s string) (token, rest string, ok bool) {
	if strings.HasPrefix(s, `["`) {
		d := json.NewDecoder(strings.NewReader(s[1:]))
		if d.Decode(&token) != nil {
			return "", "", false
		}
		rest, ok = strings.CutPrefix(s[1+d.InputOffset():], "]")
		return token, rest, ok
	}
	token, rest, ok = strings.Cut(s[1:], "]")
	_, err := strconv.Atoi(token)
	return token, rest, ok && err == nil
}

// lookup follows tokens into a decoded value.
func lookup(v any, path []string) (any, bool) {
	for _, t := range path {
		ok := false
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[t]
		case []any:
			if i, err := strconv.Atoi(t); err == nil && i >= 0 && i < len(at) {
				v, ok = at[i], true
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// put returns v with value at a path, or with nothing there if value is absent. A place whose container is not there
// leaves v as it is.
func put(v any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	last := len(path) == 1 && value == absent
	switch at := v.(type) {
	case map[string]any:
		if last {
			delete(at, path[0])
		} else if _, there := at[path[0]]; there || len(path) == 1 {
			at[path[0]] = put(at[path[0]], path[1:], value)
		}
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i >= len(at):
		case last:
			return append(at[:i:i], at[i+1:]...)
		default:
			at[i] = put(at[i], path[1:], value)
		}
	}
	return v
}

// absent is the value of a place where nothing should be.
var absent any = &struct{ string }{"absent"}
