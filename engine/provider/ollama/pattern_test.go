package ollama

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// unsafe says what a pattern can match that must not stand in a JSON string as it is, or that grammars read otherwise.
func unsafe(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r < ' ' || r >= 0x7f || r == '"' || r == '\\' {
				return "literal " + string(re.Rune)
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if lo, hi := re.Rune[i], re.Rune[i+1]; lo < ' ' || hi >= 0x7f || lo <= '\\' && '\\' <= hi && lo != hi || lo == '"' {
				return "class " + re.String()
			}
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return "any of " + re.String()
	}
	for _, sub := range re.Sub {
		if what := unsafe(sub); what != "" {
			return what
		}
	}
	return ""
}

// pieces make patterns of all that the reader must tell apart.
var pieces = rapid.SampledFrom([]string{"a", "b", "-", " ", "é", ".", `\.`, `\d`, `\w`, `\b`, `\-`, `\\`, `\"`, `"`, "^", "$", "(", ")", "(?:", "(?i)", "|",
	"[a-z]", "[A-z]", "[ -~]", "[!-#-]", "[-a]", "[^a]", `[\d]`, "[]", "[a", "]", "*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "{1001}", "{", "}", "\t", "/"})

// TestPatternsThatGoOutAreSafe: what is sent is a pattern to everybody, is anchored, and matches nothing that would end the
// string around it.
func TestPatternsThatGoOutAreSafe(t *testing.T) {
	sent := 0
	rapid.Check(t, func(rt *rapid.T) {
		pattern := "^" + strings.Join(rapid.SliceOfN(pieces, 1, 6).Draw(rt, "pieces"), "") + "$"
		if _, err := regexp.Compile(pattern); err != nil || patternFault(pattern) != "" {
			return // the contract refuses what Go cannot run, before any dialect sees it
		}
		sent++
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			rt.Fatal(err)
		}
		if what := unsafe(re.Simplify()); what != "" {
			rt.Fatalf("%s goes out with %s", pattern, what)
		}
		for _, text := range []string{"\"", "\\", "a\"", "\"a", "aa\\"} {
			if regexp.MustCompile(pattern).MatchString(text) {
				rt.Fatalf("%s goes out and matches %q", pattern, text)
			}
		}
	})
	if sent == 0 {
		t.Error("no pattern was sent")
	}
}

// FuzzPatternFault: no pattern makes the reader panic, and none that it lets through has what it must not.
func FuzzPatternFault(f *testing.F) {
	for _, s := range []string{"", "^", "$", "^$", `^\$`, `^a\`, "^[", "^{", "^(?", "^a{1,", "^a{1,2}$", "^[a-z]+(b|c){2}$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		fault := patternFault(pattern)
		if fault == "" && (!strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$") || strings.ContainsAny(pattern, "\"\n\t") || strings.Contains(pattern, "(?")) {
			t.Errorf("%q goes out", pattern)
		}
	})
}
