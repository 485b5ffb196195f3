package corrupt

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"
)

func schemaOf(t *testing.T, text string) object {
	t.Helper()
	s, ok := decode(json.RawMessage(text)).(object)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	return s
}

func TestNumberKeepsItsBounds(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`:                             `1`,
		`{"multipleOf":0.25}`:            `0.25`,
		`{"minimum":3}`:                  `3`,
		`{"minimum":3.2}`:                `4`,
		`{"exclusiveMinimum":3}`:         `4`,
		`{"minimum":-3.2}`:               `-3`,
		`{"maximum":-2}`:                 `-2`,
		`{"maximum":-2.5}`:               `-3`,
		`{"exclusiveMaximum":0}`:         `-1`,
		`{"minimum":1,"maximum":1}`:      `1`,
		`{"minimum":0.5,"maximum":0.75}`: `0.625`,
		`{"exclusiveMinimum":0,"exclusiveMaximum":1}`:        `0.5`,
		`{"exclusiveMinimum":0,"maximum":1}`:                 `1`,
		`{"minimum":2,"exclusiveMinimum":true}`:              `3`,
		`{"minimum":2,"exclusiveMinimum":false}`:             `2`,
		`{"maximum":2,"exclusiveMaximum":true}`:              `1`,
		`{"exclusiveMinimum":0,"multipleOf":0.01}`:           `0.01`,
		`{"minimum":10,"multipleOf":7}`:                      `14`,
		`{"maximum":10,"multipleOf":7}`:                      `7`,
		`{"minimum":12345678901234567890123,"multipleOf":1}`: `12345678901234567890123`,
	} {
		if got := number(schemaOf(t, schema)); string(got) != want {
			t.Errorf("%s: %s, expected %s", schema, got, want)
		}
	}
}

func TestSumKeepsDigits(t *testing.T) {
	for n, want := range map[string]string{"1": "3", "0.10": "2.1", "-2": "0", "99999999999999999999": "100000000000000000001", "x": "x"} {
		if got := sum(n, 2); got != want {
			t.Errorf("%s: %s, expected %s", n, got, want)
		}
	}
}

func TestTextKeepsItsLength(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: "text", `{"minLength":6}`: "textxx", `{"maxLength":2}`: "te", `{"maxLength":0}`: "", `{"format":"date"}`: "2026-03-15", `{"format":"postcode"}`: "text",
		`{"pattern":"^é+$","minLength":3}`: "éxx", `{"pattern":"("}`: "text",
	} {
		if got := text(schemaOf(t, schema)); got != want {
			t.Errorf("%s: %q, expected %q", schema, got, want)
		}
	}
	if got := text(schemaOf(t, `{"minLength":1000000000}`)); utf8.RuneCountInString(got) != maxCount {
		t.Errorf("%d characters", len(got))
	}
}

// What is built for a pattern is matched by it.
func TestMatchingIsMatched(t *testing.T) {
	for _, expr := range []string{`^a+$`, `^[A-Z]{2}-\d{3,5}$`, `^(jan|feb)\.?$`, `^[^a-z]+$`, `\bword\b`, `^.{3}$`, `(?i)^abc$`, `^\p{Lu}\pL*$`, `^(?:a(?:b|c){2})*d$`,
		`^[\x20-\x7E]+$`, `^\+?[0-9 ]{6,}$`, `^$`, `x?y`, `^[a-z0-9._%-]+@[a-z0-9.-]+\.[a-z]{2,}$`, `^#(?:[0-9a-f]{3}){1,2}$`, `^\s*$`, `a{0}`, `^[é-ü]$`} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := matching(re.Simplify()); !regexp.MustCompile(expr).MatchString(got) {
			t.Errorf("%s does not match %q", expr, got)
		}
	}
}

func TestCountIsBounded(t *testing.T) {
	for schema, want := range map[string]int{`{}`: 7, `{"n":3}`: 3, `{"n":-3}`: 0, `{"n":1e3}`: 7, `{"n":99999999}`: maxCount, `{"n":"3"}`: 7, `{"n":2.5}`: 7} {
		if got := count(schemaOf(t, schema), "n", 7); got != want {
			t.Errorf("%s: %d, expected %d", schema, got, want)
		}
	}
}

func TestDecimalIsShort(t *testing.T) {
	for n, want := range map[string]string{"0.5": "1", "0.125": "0.25", "1": "2"} {
		s := schemaOf(t, `{"minimum":`+n+`,"multipleOf":`+n+`,"exclusiveMinimum":true}`)
		if got := string(number(s)); got != want || strings.HasSuffix(got, "0") && strings.Contains(got, ".") {
			t.Errorf("%s: %s, expected %s", n, got, want)
		}
	}
}
