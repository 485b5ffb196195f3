// Package capacity bounds what happens at one backend at once: a Gate with admission (a run's place, held until it
// ends), permits (held only while a provider call is under way) and trouble (seeds 000 and 003; design sections 2, 3).
//
// Admission never waits: a full gate says so, and the caller hands the run back. Permits wait, first come first served
// among all runs of the gate. When a wait is cancelled in the moment of its grant, the cancellation wins and the permit
// goes to the next.
//
// # Trouble
//
// With Limits.Trouble a gate reacts to what its backend does. Phases and what leads from one to the next:
//
//	Open    -- a failure ------------------------------> Slow     the bound on permits is halved
//	Slow    -- a failure ------------------------------> Slow     halved again, at least 1
//	Slow    -- answers, as many as the limit ----------> Slow     one more, until the bound is whole: Open
//	Slow    -- a failure at 1, or eight in a row ------> Closed   for 1 s, doubling to 30 s
//	any     -- a failure with Retry-After -------------> Closed   for that long
//	any     -- the account is refused -----------------> Closed   for 30 s
//	Closed  -- its time is over -----------------------> Probing  one run may call; a guarded gate waits for Probe
//	Probing -- the probe is answered ------------------> Slow     at 1
//	Probing -- the probe fails ------------------------> Closed   the pause doubles
//	Probing -- the probe ends without a report --------> Probing  the next may try
//
// A report is weighed by when its calls began: a failure of a call from before the last halving says nothing new, so
// that sixteen calls that fail together halve the bound once. It still counts towards the eight in a row. What was
// under way when the gate closed cannot open it.
//
// The phase is computed from the clock on each call. A gate has no goroutine; while it is closed one timer waits to
// tell those who watch Changed.
package capacity
