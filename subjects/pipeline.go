package subjects

import (
	"fmt"
	"strings"
)

const (
	kindPipeline = "pipeline"
	// pipelineDurable begins the durables of pipelines. No backend's name begins with an underscore, so they are no backend's.
	pipelineDurable = "_pipeline__"
)

// Pipeline is where a pipeline run is published: <space>.pipeline.<name>.<queue>.<id>.
func (n Names) Pipeline(name, queue, id string) string { return n.join(kindPipeline, name, queue, id) }

// PipelineFilter covers all runs of a pipeline in a queue.
func (n Names) PipelineFilter(name, queue string) string {
	return n.join(kindPipeline, name, queue, "*")
}

// PipelineOf covers a run whose pipeline is not known.
func (n Names) PipelineOf(queue, id string) string { return n.join(kindPipeline, "*", queue, id) }

// PipelinesOf covers the runs of every pipeline in a queue.
func (n Names) PipelinesOf(queue string) string { return n.join(kindPipeline, "*", queue, "*") }

// AllPipelines covers every run of every pipeline.
func (n Names) AllPipelines() string { return n.join(kindPipeline, "*", "*", "*") }

// RunsOf covers the runs of every backend in a queue.
func (n Names) RunsOf(queue string) string { return n.join(kindRun, "*", queue, "*") }

// KindOf covers the events of one kind of all runs of a queue.
func (n Names) KindOf(queue, kind string) string { return n.join(kindEvent, queue, "*", kind) }

// PipelineDurable names the pull consumer of a queue's pipelines.
func (n Names) PipelineDurable(queue string) string { return pipelineDurable + queue }

// ReuseBucket holds accepted outputs of stages, for other runs of the same.
func (n Names) ReuseBucket() string { return strings.ReplaceAll(n.space, "-", "_") + "_reuse" }

// ReuseSubject is the subject of a key of the reuse bucket.
func (n Names) ReuseSubject(key string) string { return "$KV." + n.ReuseBucket() + "." + key }

// ReuseStore is where a key of the reuse bucket is published, in the bucket's JetStream domain or "".
func (n Names) ReuseStore(domain, key string) string {
	if domain == "" {
		return n.ReuseSubject(key)
	}
	return n.API(domain) + n.ReuseSubject(key)
}

// ReuseKey is the key of an output in the reuse bucket: a queue's outputs are for that queue alone.
func (n Names) ReuseKey(queue, digest string) string { return queue + "." + digest }

// ParsePipeline reads the subject of a pipeline run.
func (n Names) ParsePipeline(subject string) (name, queue, id string, err error) {
	t, err := n.split(subject, kindPipeline, 3)
	if err != nil {
		return "", "", "", err
	}
	return three(t, first(checkName("pipeline", t[0]), checkName("queue", t[1]), CheckID(t[2])))
}

// ParsePipelineDurable reads the name of a durable of pipelines.
func (n Names) ParsePipelineDurable(durable string) (queue string, err error) {
	queue, ok := strings.CutPrefix(durable, pipelineDurable)
	if !ok {
		return "", fmt.Errorf("durable %s: it must be %s<queue>", quote(durable), pipelineDurable)
	}
	if err := checkName("queue", queue); err != nil {
		return "", err
	}
	return queue, nil
}
