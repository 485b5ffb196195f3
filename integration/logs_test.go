package integration

import (
	"strings"
	"testing"

	"emend/schemas"
)

// The line of a run that ended names the run and the trace that its requester began; nothing of the content is logged.
func TestLogLinesNameRunAndTrace(t *testing.T) {
	t.Parallel()
	s := start(t)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	s.must(s.publishWith(s.names.Run("mock", "default", "traced"), body("say", "SECRET-WORDS"), "traceparent", "00-"+trace+"-b7ad6b7169203331-01"))
	s.must(s.publishWith(s.names.Run("mock", "default", "plain"), body("say", "SECRET-WORDS"), "traceparent", "no trace at all"))
	for _, id := range []string{"traced", "plain"} {
		s.ends(id, schemas.StatusSucceeded)
		s.goneID(id)
		s.eventually("the end of the run is logged", func() bool { return s.lineOf(id) != "" })
	}
	if l := s.lineOf("traced"); !strings.Contains(l, `"trace":"`+trace+`"`) || !strings.Contains(l, `"status":"succeeded"`) {
		t.Error(l)
	}
	if l := s.lineOf("plain"); strings.Contains(l, `"trace"`) {
		t.Error(l)
	}
	if strings.Contains(s.log.String(), "SECRET") {
		t.Error("the log holds content")
	}
}

// lineOf is the log line of a run's end; "" before it.
func (s *site) lineOf(id string) string {
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `"run":"`+id+`"`) && strings.Contains(line, "run finished") {
			return line
		}
	}
	return ""
}
