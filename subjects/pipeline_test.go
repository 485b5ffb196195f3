package subjects

import "testing"

func TestPipelineNames(t *testing.T) {
	n := names(t, "emend")
	for _, c := range [][2]string{
		{n.Pipeline("digest", "team-a", "c-1"), "emend.pipeline.digest.team-a.c-1"},
		{n.PipelineFilter("digest", "team-a"), "emend.pipeline.digest.team-a.*"},
		{n.PipelineOf("team-a", "c-1"), "emend.pipeline.*.team-a.c-1"},
		{n.PipelinesOf("team-a"), "emend.pipeline.*.team-a.*"},
		{n.AllPipelines(), "emend.pipeline.*.*.*"},
		{n.RunsOf("team-a"), "emend.run.*.team-a.*"},
		{n.KindOf("team-a", "finished"), "emend.event.team-a.*.finished"},
		{n.PipelineDurable("team-a"), "_pipeline__team-a"},
		{n.ReuseBucket(), "emend_reuse"},
		{names(t, "a-b").ReuseBucket(), "a_b_reuse"},
		{n.ReuseKey("team-a", "00ff"), "team-a.00ff"},
		{n.ReuseSubject("team-a.00ff"), "$KV.emend_reuse.team-a.00ff"},
		{n.ReuseStore("", "team-a.00ff"), "$KV.emend_reuse.team-a.00ff"},
		{n.ReuseStore("hub", "team-a.00ff"), "$JS.hub.API.$KV.emend_reuse.team-a.00ff"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}

// A pipeline's durable is no backend's, and a backend's is no pipeline's.
func TestPipelineDurablesAreTheirOwn(t *testing.T) {
	n := names(t, "emend")
	if backend, queue, err := n.ParseDurable(n.PipelineDurable("q")); err == nil {
		t.Errorf("taken for backend %s, queue %s", backend, queue)
	}
	if queue, err := n.ParsePipelineDurable(n.Durable("pipeline", "q")); err == nil {
		t.Errorf("taken for the pipelines of %s", queue)
	}
	for _, bad := range []string{"_pipeline__", "_pipeline__A", "_pipeline__a.b", ""} {
		if _, err := n.ParsePipelineDurable(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, bad := range []string{"emend.pipeline.Digest.q.1", "emend.pipeline.digest.q", "emend.run.digest.q.1", "emend.pipeline.digest.q.a b"} {
		if _, _, _, err := n.ParsePipeline(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
