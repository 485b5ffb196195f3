package consumer

import (
	"context"

	"emend/schemas"
)

// PipelineBody is a request for a pipeline run as a message: inputs that do not fit, such as a large document, are stored
// apart in the queue's bucket.
func (c *Client) PipelineBody(ctx context.Context, queue string, req schemas.PipelineRequest) ([]byte, error) {
	return c.blobs.OffloadPipeline(ctx, queue, req, int(c.nc.MaxPayload())-headerRoom)
}

// RunPipeline publishes a request for a run of the named pipeline, hands the events of the whole to watch (nil for none), and
// returns the result when it is stored.
func (c *Client) RunPipeline(ctx context.Context, name string, k Key, req schemas.PipelineRequest, watch func(schemas.Event)) (*schemas.Result, error) {
	body, err := c.PipelineBody(ctx, k.Queue, req)
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, PipelineOrigin(name), k, body, watch)
}
