package contract

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DisplayPath renders an RFC 6901 pointer for people and models: items[2].price, ["a.b"] for an odd key, (root) for
// "". A key made of digits alone looks like an index, since a pointer does not tell them apart.
func DisplayPath(pointer string) string {
	if pointer == "" {
		return "(root)"
	}
	var b strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key := unescapeToken(token)
		switch {
		case isIndex(key):
			b.WriteString("[" + key + "]")
		case isPlain(key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(key)
		default:
			b.WriteString("[" + quoted(key) + "]")
		}
	}
	return b.String()
}

func isIndex(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == "" && (key == "0" || key[0] != '0')
}

func isPlain(key string) bool {
	for i, r := range key {
		if !unicode.IsLetter(r) && r != '_' && r != '$' && (i == 0 || !unicode.IsDigit(r)) {
			return key == "*"
		}
	}
	return key != ""
}

// quoted renders a string as JSON does, without escapes for HTML.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `"?"`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	tokenEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapeToken(key string) string     { return tokenEscaper.Replace(key) }
func unescapeToken(token string) string { return tokenUnescaper.Replace(token) }

// pointer joins tokens to an RFC 6901 pointer.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken(t))
	}
	return b.String()
}

// maxExcerpt bounds what a message quotes, in bytes.
const maxExcerpt = 120

// excerpt cuts s at a character boundary.
func excerpt(s string) string { return excerptOf(s, maxExcerpt) }

func excerptOf(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
