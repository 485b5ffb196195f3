package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// judgedDir is a folder with a judge that rejects, and a policy for that.
func judgedDir(t *testing.T, policy string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  a: {dialect: scripted, options: {script: a.yaml}}\n  b: {dialect: scripted, options: {script: b.yaml}}\n"+
		"profiles:\n  p: {backend: a, model: m}\n  j: {backend: b, model: m}\nescalation: {sink: review}\n")
	write(t, filepath.Join(dir, "a.yaml"), `default: {replies: [{text: '{"mood": "glad"}'}]}`)
	write(t, filepath.Join(dir, "b.yaml"), `default: {replies: [{text: '{"reasons": [{"code": "too_kind", "guidance": "It was a complaint."}], "decision": "reject"}'}]}`)
	write(t, filepath.Join(dir, "prompts/judge@1.yaml"), "profile: j\ninputs: {candidate: {}, messages: {}}\nmessages: [{user: '{{ .candidate }} {{ .messages }}'}]\n")
	write(t, filepath.Join(dir, "prompts/mood@1.yaml"), "profile: p\nmessages: [{user: hi}]\noutputs: {mood: {type: string}}\nchecks: [{judge: judge@1}]\n"+policy)
	return dir
}

// What a judge said is shown, also where the run fails of it.
func TestTryShowsWhatJudgesSaid(t *testing.T) {
	for policy, want := range map[string]int{"validation_policy: {semantic_rejection: fail_run}\n": exitFailed, "validation_policy: {semantic_rejection: reject_output}\n": exitInvalid} {
		r := emend(t, "", "try", "--dir", judgedDir(t, policy), "mood")
		if r.code != want || !strings.Contains(r.out, "too_kind: It was a complaint.") || (want == exitFailed && !strings.Contains(r.err, "rejected: ")) {
			t.Errorf("%s: %+v", policy, r)
		}
		r = emend(t, "", "try", "--json", "--dir", judgedDir(t, policy), "mood")
		if r.code != want || !strings.Contains(r.out, `"code":"too_kind"`) {
			t.Errorf("%s for a machine: %+v", policy, r)
		}
	}
}

// A run that a worker would send to people ends here, and says why.
func TestTryOfWhatIsEscalated(t *testing.T) {
	dir := judgedDir(t, "output_governance: {escalate_on_failure: true}\n")
	write(t, filepath.Join(dir, "a.yaml"), `default: {replies: [{text: '{"mood": 4}'}]}`)
	write(t, filepath.Join(dir, "prompts/mood@1.yaml"), "profile: p\nmessages: [{user: hi}]\noutputs: {mood: {type: string}}\noutput_governance: {escalate_on_failure: true, max_retries: 1}\n")
	r := emend(t, "", "try", "--dir", dir, "mood")
	if r.code != exitInvalid || !strings.Contains(r.out, "try has no NATS, so nobody is asked: a worker sends it to review") || strings.Contains(r.out, "nobody is set up") {
		t.Errorf("%+v", r)
	}
}

func TestTryRefusesFlagsThatSayNothing(t *testing.T) {
	dir := judgedDir(t, "")
	for _, flag := range []string{"--mode=json", "--schema=x", "--url=http://x", "--key-env=X", "--repairs=0"} {
		name, _, _ := strings.Cut(flag, "=")
		if r := emend(t, "", "try", "--dir", dir, flag, "mood"); r.code != exitUsage || !strings.Contains(r.err, name+" goes with --model") {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}

// What was answered and sent is shown on demand, also where the run fails.
func TestTryTellsAttempts(t *testing.T) {
	for policy, want := range map[string]int{"validation_policy: {semantic_rejection: fail_run}\n": exitFailed, "validation_policy: {semantic_rejection: reject_output}\n": exitInvalid} {
		dir := judgedDir(t, "retries: 1\n"+policy)
		r := emend(t, "", "try", "--attempts", "full", "--dir", dir, "mood")
		for _, text := range []string{"call 1: initial generation 1, completed (stop)", "call 2: stage attempt 2, initial generation 1", "sent as assistant\n    {\"mood\": \"glad\"}", "- too_kind: It was a complaint."} {
			if r.code != want || !strings.Contains(r.out, text) {
				t.Errorf("%s: lacks %q: %+v", policy, text, r)
			}
		}
		if r := emend(t, "", "try", "--dir", dir, "mood"); r.code != want || strings.Contains(r.out, "sent as") {
			t.Errorf("%s: unasked: %+v", policy, r)
		}
	}
	if r := emend(t, "", "try", "--attempts", "ful", "--dir", judgedDir(t, ""), "mood"); r.code != exitUsage || !strings.Contains(r.err, `--attempts "ful": write one of summary, none, full`) {
		t.Errorf("%+v", r)
	}
}
