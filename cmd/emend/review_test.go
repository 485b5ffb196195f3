package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"emend/schemas"
)

// The example of governed answers, as its page says: two shells, a run that stays wrong, and a person.
func TestReviewFromTheShell(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "code-review")
	line := background(t, "dev", "--dir", dir, "--port", "0")
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(line("NATS on"))
	at := func(args ...string) ran { return emend(t, "", append(args, "--dir", dir, "--nats", url)...) }
	if r := at("review", "ls"); r.code != exitOK || !strings.Contains(r.out, "no run of queue default waits") {
		t.Errorf("an empty list: %+v", r)
	}
	for _, id := range []string{"one", "two", "three"} {
		if r := at("run", "--id", id, "review-code", "change=STUBBORN "+id); r.code != exitPending || !strings.Contains(r.out, id+" in_review") || !strings.Contains(r.out, "the judges are asked") {
			t.Fatalf("run: %+v", r)
		}
	}
	if r := at("review", "ls"); r.code != exitOK || !regexp.MustCompile(`one +review-code@1 +rule_failed +1 `).MatchString(r.out) || strings.Count(r.out, "review-code@1") != 3 {
		t.Errorf("ls: %+v", r)
	}
	if r := at("review", "show", "one"); r.code != exitOK || !strings.Contains(r.out, "STUBBORN one") || !strings.Contains(r.out, "Failed verdict should have confidence <= 0.5") ||
		!strings.Contains(r.out, "judge second-opinion@1: approved") {
		t.Errorf("show: %+v", r)
	}
	if r := at("get", "one"); r.code != exitPending || !strings.Contains(r.out, "in_review: rule_failed") {
		t.Errorf("get: %+v", r)
	}
	if r := at("get", "one", "--json"); r.code != exitPending || !strings.Contains(r.out, `"state":"in_review"`) || r.err != "" {
		t.Errorf("get --json: %+v", r)
	}
	if r := at("review", "approve", "one", "--by", "ada", "--note", "known"); r.code != exitOK || !strings.Contains(r.out, "one succeeded: approve by ada") {
		t.Errorf("approve: %+v", r)
	}
	if r := at("review", "reject", "one", "--by", "bob"); r.code != exitFailed || !strings.Contains(r.err, "approve by ada") {
		t.Errorf("too late: %+v", r)
	}
	if r := at("review", "reject", "two", "--by", "bob"); r.code != exitOK || !strings.Contains(r.out, "two invalid: reject by bob") {
		t.Errorf("reject: %+v", r)
	}
	edits(t, dir, url)
	if r := at("get", "one", "--json"); r.code != exitOK {
		t.Errorf("get: %+v", r)
	} else {
		var res schemas.Result
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || res.Review == nil || res.Review.By != "ada" || res.Review.Note != "known" || res.Validation.Valid || len(res.Validation.Validators) != 3 {
			t.Errorf("%v: %s", err, r.out)
		}
	}
	if r := at("review", "approve", "nobody", "--by", "ada"); r.code != exitFailed || !strings.Contains(r.err, "does not wait for a person") {
		t.Errorf("nobody: %+v", r)
	}
}

func edits(t *testing.T, dir, url string) {
	edit := func(text string, args ...string) ran {
		return emend(t, text, append([]string{"review", "edit", "three", "--by", "ada", "--dir", dir, "--nats", url}, args...)...)
	}
	if r := edit("no json"); r.code != exitUsage || !strings.Contains(r.err, "holds no JSON") {
		t.Errorf("no JSON: %+v", r)
	}
	bad := `{"verdict": "fail", "confidence": 0.9, "reasoning": "This breaks the rule between the fields."}`
	if r := edit(bad); r.code != exitInvalid || !strings.Contains(r.err, "the edit breaks the contract: Failed verdict should have confidence <= 0.5") {
		t.Errorf("a bad edit: %+v", r)
	}
	if r := edit("some text", "--text"); r.code != exitFailed || !strings.Contains(r.err, "edit with output") {
		t.Errorf("text for JSON: %+v", r)
	}
	if r := emend(t, "", "review", "approve", "three", "--by", "ada", "--seq", "999", "--dir", dir, "--nats", url); r.code != exitFailed ||
		!strings.Contains(r.err, "the entry has changed since you saw it: it was 999") || strings.Contains(r.err, "somebody else") {
		t.Errorf("another entry: %+v", r)
	}
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"review", "edit", "three", "--by", "ada"}, streams{in: strings.NewReader("no json"), out: &out, err: &said, typed: true}); code != exitUsage ||
		!strings.HasPrefix(said.String(), "reading the answer from standard input") {
		t.Errorf("on a terminal: %d %s", code, said.String())
	}
	good := write(t, filepath.Join(t.TempDir(), "mine.json"), strings.Replace(bad, "0.9", "0.4", 1))
	if r := edit("", "-f", good); r.code != exitOK || !strings.Contains(r.out, "three succeeded: edit by ada") {
		t.Errorf("a good edit: %+v", r)
	}
}
