package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pricedDir is a folder with a prompt and a pipeline of it whose model has a price, 0.15 and 0.60 dollars for a million tokens.
func pricedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	model := newMock(t, `default: {replies: [{text: '["a"]', usage: {input: 100, output: 10}}]}`)
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  m: {dialect: openai, url: "+model+", prices: openai}\n"+
		"profiles:\n  p: {backend: m, model: gpt-4o-mini, settings: {max_output_tokens: 100}}\n")
	write(t, filepath.Join(dir, "prompts/list@1.yaml"), "profile: p\nmax_cost: 0.01\ninputs: {chunk: {}}\nmessages: [{user: '{{ .chunk }}'}]\noutput: {mode: json_schema, schema: {type: array}}\n")
	write(t, filepath.Join(dir, "pipelines/all@1.yaml"), "chunk: {by: paragraphs, size: 8KiB}\nlanes:\n  a: {extract: {prompt: list@1}, merge: {by: concatenate}}\n")
	return dir
}

// What could cost more than --max-cost is not called, in this process and by a worker.
func TestMaxCostOfTheCommandLine(t *testing.T) {
	dir := pricedDir(t)
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(background(t, "dev", "--dir", dir, "--port", "0")("NATS on"))
	for _, args := range [][]string{
		{"try", "list", "chunk=x"}, {"try", "--pipeline", "all", "document=x"},
		{"run", "--nats", url, "list", "chunk=x"}, {"run", "--nats", url, "--pipeline", "all", "document=x"},
	} {
		args = append(args, "--dir", dir)
		if r := emend(t, "", append(args, "--max-cost", "0.00001")...); r.code != exitFailed || !strings.Contains(r.out+r.err, "budget: ") || !strings.Contains(r.out+r.err, "0.00001") {
			t.Errorf("%v for too little: %+v", args, r)
		}
		if r := emend(t, "", append(args, "--max-cost", "0.5")...); r.code != exitOK {
			t.Errorf("%v: %+v", args, r)
		}
		for _, wrong := range []string{"0", "-1", "much"} {
			if r := emend(t, "", append(args, "--max-cost="+wrong)...); r.code != exitUsage || !strings.Contains(r.err, `--max-cost "`+wrong+`": must be`) {
				t.Errorf("%v, %s: %+v", args, wrong, r)
			}
		}
	}
}
