package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"emend/prompts"
	"emend/schemas"
)

// local are the definitions of a folder, which tell faults of a request before it is published. Without a readable folder, or for
// a prompt that it does not know, a worker elsewhere tells them.
type local struct {
	snap           *prompts.Snapshot
	backend, queue string
	// told says that the user named the backend: what the folder does not know may then be known there.
	told bool
}

// localOf reads a folder.
func localOf(dir, backend, queue string, told bool) *local {
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		snap = nil
	}
	return &local{snap: snap, backend: backend, queue: queue, told: told}
}

// check lists the faults of a request as a worker with these definitions would.
func (l *local) check(req schemas.Request) error {
	if l.snap == nil || byReference(req) {
		return nil
	}
	from := prompts.Origin{Queue: l.queue, Backend: l.backend}
	_, served := l.snap.Queues()[l.queue]
	if _, known := l.snap.Config().Backends[l.backend]; !served || !known {
		from.Library = true // the worker's definitions are others as to these
	}
	_, err := l.snap.Plan(req, from)
	if bad, ok := errors.AsType[*prompts.RequestError](err); ok && l.told && l.foreign(req, bad) {
		return nil
	}
	return err
}

// checkPipeline lists the faults of a request for a pipeline, where the folder has pipelines; the words of flags are known anywhere.
func (l *local) checkPipeline(name string, req schemas.PipelineRequest) error {
	if err := knownWord("--reuse", req.Reuse, []string{schemas.ReuseAuto, schemas.ReuseRefresh, schemas.ReuseNone}); err != nil {
		return err
	}
	if err := knownWord("--attempts", req.Attempts, schemas.AttemptsWords); err != nil {
		return err
	}
	if l.snap == nil || len(l.snap.PipelineNames()) == 0 || byReference(schemas.Request{Inputs: req.Inputs}) {
		return nil
	}
	_, err := l.snap.PlanPipeline(name, req, prompts.Origin{Queue: l.queue, Library: true})
	return err
}

// knownWord refuses a flag's word that is not one of its few; "" leaves the default.
func knownWord(flag, word string, of []string) error {
	if word == "" || slices.Contains(of, word) {
		return nil
	}
	return fmt.Errorf("%s %q: write one of %s%s", flag, short(word), strings.Join(of, ", "), nearest(word, of))
}

// nearest proposes the word that was meant.
func nearest(word string, of []string) string {
	best, least := "", 2+len(word)/4
	for _, k := range of {
		if d := schemas.Distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// foreign says that a worker elsewhere may know what the folder does not.
func (l *local) foreign(req schemas.Request, bad *prompts.RequestError) bool {
	if _, known := l.snap.Prompt(req.Prompt); req.Prompt != "" && !known {
		return true
	}
	return bad.Class == prompts.Unknown
}

// byReference says that an input is stored apart: only a worker reads it.
func byReference(req schemas.Request) bool {
	for _, raw := range req.Inputs {
		if strings.HasPrefix(strings.TrimSpace(string(raw[:min(len(raw), 64)])), "{") && strings.Contains(string(raw), `"$blob"`) {
			return true
		}
	}
	return false
}
