package capacity

import "math"

// Unlimited is what Free returns when nothing bounds admission.
const Unlimited = math.MaxInt32

// Reports counts what a gate was told, by kind, since it was made.
type Reports struct {
	Answered    uint64 `json:"answered"`
	Throttled   uint64 `json:"throttled"`
	Unavailable uint64 `json:"unavailable"`
	Account     uint64 `json:"account"`
	// LastCause is that of the last failure.
	LastCause string `json:"last_cause,omitempty"`
}

func (r *Reports) count(o Outcome) {
	switch o.Kind {
	case Answered:
		r.Answered++
		return
	case Throttled:
		r.Throttled++
	case Unavailable:
		r.Unavailable++
	case Account:
		r.Account++
	}
	r.LastCause = o.Cause
}

// Stats is what a gate holds now.
type Stats struct {
	// Permits and Admitted are the configured bounds, 0 for unlimited.
	Permits       int       `json:"permits"`
	PermitsInUse  int       `json:"permits_in_use"`
	Waiting       int       `json:"waiting"`
	Admitted      int       `json:"admitted"`
	AdmittedInUse int       `json:"admitted_in_use"`
	State         GateState `json:"state"`
	Reports       Reports   `json:"reports"`
}

// Stats returns a snapshot.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Permits: g.limits.Permits, PermitsInUse: g.inUse, Waiting: g.waiting.Len(), Admitted: g.limits.Admitted,
		AdmittedInUse: g.admitted, State: g.trouble.state(), Reports: g.reports}
}

// Free is how many runs should be taken on now: the free places; while slow no more than could call, while probing the
// one probe, while closed none. Admit itself refuses less: a slow gate admits what it has places for.
func (g *Gate) Free() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := Unlimited
	if g.limits.Admitted > 0 {
		n = g.limits.Admitted - g.admitted
	}
	switch g.trouble.phase() {
	case Slow:
		n = min(n, g.trouble.limit-g.admitted)
	case Probing:
		n = min(n, 1)
		if g.trouble.prober != nil {
			n = 0
		}
	case Closed:
		n = 0
	}
	return max(n, 0)
}
