package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"emend/engine/pipeline"
	"emend/schemas"
)

// tree shows a pipeline run: its stages by lane, with counts. On a terminal it is drawn again in place as it changes; elsewhere
// each change is a line.
type tree struct {
	a  *app
	mu sync.Mutex
	// rows are the stages that were told, by lane in the order of their first word.
	rows []schemas.Event
	// drawn is how many lines stand on the terminal.
	drawn int
	live  bool
}

// tree is drawn live on a terminal, if nothing else is printed between.
func (a *app) tree(live bool) *tree { return &tree{a: a, live: live && a.tty} }

// show takes in an event of the run. What is no stage's word is printed as everywhere.
func (t *tree) show(e schemas.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.a.json || e.Kind != schemas.EventStage || e.Jobs == nil:
		t.a.printEvent(e)
		t.drawn = 0
	case t.live:
		t.put(e)
		t.draw()
	default:
		fmt.Fprintln(t.a.out, t.a.stageText(e))
	}
}

// put replaces the row of a stage, or adds it behind those of its lane.
func (t *tree) put(e schemas.Event) {
	at := slices.IndexFunc(t.rows, func(o schemas.Event) bool { return o.Lane == e.Lane && o.Stage == e.Stage })
	if at >= 0 {
		t.rows[at] = e
		return
	}
	at = len(t.rows)
	for i, o := range t.rows {
		if o.Lane == e.Lane {
			at = i + 1
		}
	}
	t.rows = slices.Insert(t.rows, at, e)
}

// draw writes the tree over the one that stands.
func (t *tree) draw() {
	if t.drawn > 0 {
		fmt.Fprintf(t.a.out, "\x1b[%dA", t.drawn)
	}
	t.drawn = 0
	lane := ""
	for _, e := range t.rows {
		if e.Lane != lane {
			lane = e.Lane
			t.line(t.a.colour(bold, lane))
		}
		indent := ""
		if lane != "" {
			indent = "  "
		}
		t.line(indent + t.a.rowText(e))
	}
}

func (t *tree) line(s string) {
	fmt.Fprintf(t.a.out, "\r\x1b[K%s\n", s)
	t.drawn++
}

// stageText is a stage's word in a line.
func (a *app) stageText(e schemas.Event) string {
	return strings.TrimSpace(e.Lane + " " + a.rowText(e))
}

func (a *app) rowText(e schemas.Event) string {
	c := map[string]string{pipeline.Running: dim, schemas.StageAdvanced: green, schemas.StageStopped: yellow}[e.Outcome]
	if c == "" {
		c = red
	}
	s := fmt.Sprintf("%-9s %d/%d %s", e.Stage, e.Jobs.Done, e.Jobs.Total, a.colour(c, e.Outcome))
	var notes []string
	for _, n := range []struct {
		what string
		n    int
	}{{"reused", e.Jobs.Reused}, {"incomplete", e.Jobs.Incomplete}, {"rejected", e.Jobs.Rejected}, {"failed", e.Jobs.Failed}} {
		if n.n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if len(notes) > 0 {
		s += a.colour(yellow, " ("+strings.Join(notes, ", ")+")")
	}
	return s
}

// printPipeline shows what became of a pipeline's stages, and what was left out of its result.
func (a *app) printPipeline(p *schemas.PipelineReport) {
	if p == nil {
		return
	}
	fmt.Fprintf(a.out, "%s, %s\n", p.Pipeline, counted(p.Chunks, "chunk"))
	for _, s := range p.Stages {
		line := a.stageText(schemas.Event{Stage: s.Stage, Lane: s.Lane, Outcome: s.Decision, Jobs: &s.Jobs})
		if s.Corrected > 0 {
			line += fmt.Sprintf(", %d corrected", s.Corrected)
		}
		fmt.Fprintln(a.out, line)
	}
	for _, r := range p.Rejections {
		fmt.Fprintln(a.out, a.colour(yellow, strings.TrimSpace(rejectedJob(r)+": "+r.Status+" "+strings.Join(r.Codes, ", "))))
	}
}

// rejectedJob names a job: a chunk stage has no lane, and only an extraction a chunk.
func rejectedJob(r schemas.Rejection) string {
	out := r.Stage
	if r.Chunk > 0 {
		out += fmt.Sprintf(" of chunk %d", r.Chunk)
	}
	if r.Lane != "" {
		out += " in lane " + r.Lane
	}
	return out
}
