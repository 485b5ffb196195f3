package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"emend/schemas"
)

// beat keeps a silent stream of events open through proxies.
const beat = 20 * time.Second

// behind is how many events a slow browser may be behind; one that is further behind is let go, and connects anew.
const behind = 256

// live streams the events of a run as server-sent events. It says "ready" when it listens: what the browser reads after that
// is whole. Events hold no content but with audit: full, and that is taken out.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	events := make(chan schemas.Event, behind)
	lost := make(chan struct{}, 1)
	stop, err := p.source.Watch(r.PathValue("queue"), r.PathValue("id"), func(e schemas.Event) {
		select {
		case events <- e:
		default:
			select {
			case lost <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		fail(w, err)
		return
	}
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	p.stream(w, r, events, lost)
}

func (p *Page) stream(w http.ResponseWriter, r *http.Request, events <-chan schemas.Event, lost <-chan struct{}) {
	out := http.NewResponseController(w)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	_, err := fmt.Fprint(w, "event: ready\ndata: {}\n\n")
	for err == nil && out.Flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case <-p.sampler.ctx.Done():
			return
		case <-lost:
			return
		case <-tick.C:
			_, err = fmt.Fprint(w, ": still here\n\n")
		case e := <-events:
			b, bad := json.Marshal(eventWithoutContent(e))
			if bad != nil {
				return
			}
			_, err = fmt.Fprintf(w, "data: %s\n\n", b)
		}
	}
}
