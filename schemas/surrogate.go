package schemas

import (
	"bytes"
	"fmt"
	"unicode/utf16"
)

// surrogateWords say what is wrong with a text that is written with half of a surrogate pair.
const surrogateWords = `holds an escaped half of a surrogate pair (\ud800 to \udfff) without the other half, which no text can hold; leave it out, or write the whole character`

// surrogates collects the texts and names of a value that hold half of a surrogate pair: what decodes them puts another character
// in its place, and the requester would not know. What a model wrote so is refused, too.
func (d *decoder) surrogates(raw []byte, path string) {
	if !escapesSurrogates(raw) {
		return
	}
	switch raw[0] {
	case '"':
		if loneSurrogate(raw) {
			d.problem(path, surrogateWords)
		}
	case '[':
		for i, e := range elements(raw) {
			d.surrogates(e, fmt.Sprintf("%s[%d]", path, i))
		}
	case '{':
		for i := space(raw, 1); raw[i] != '}'; {
			to := end(raw, i)
			name := raw[i:to]
			at := join(path, Unquote(name))
			if loneSurrogate(name) {
				d.problem(at, "the name "+surrogateWords)
			}
			i = space(raw, space(raw, to)+1)
			to = end(raw, i)
			d.surrogates(raw[i:to], at)
			if i = space(raw, to); raw[i] == ',' {
				i = space(raw, i+1)
			}
		}
	}
}

// CheckSurrogates is a *DecodeError that names the texts of a valid JSON value that hold half of a surrogate pair; nil for none.
func CheckSurrogates(raw []byte) error {
	var d decoder
	d.surrogates(raw[space(raw, 0):], "")
	if len(d.problems) == 0 {
		return nil
	}
	return &DecodeError{Problems: d.problems}
}

// escapesSurrogates is quick, and right for what has no such escape.
func escapesSurrogates(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`))
}

// loneSurrogate looks at a valid JSON string with its quotes.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] != 'u' {
			continue
		}
		first := unit(raw[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(raw[i+1:], []byte(`\u`)) || utf16.DecodeRune(first, unit(raw[i+3:])) == '\uFFFD' {
			return true
		}
		i += 6
	}
	return false
}

// unit reads four hexadecimal digits.
func unit(b []byte) (r rune) {
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r += rune(c - '0')
		case c <= 'F':
			r += rune(c - 'A' + 10)
		default:
			r += rune(c - 'a' + 10)
		}
	}
	return r
}
