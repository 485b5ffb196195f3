// Package consumer carries runs over JetStream: streams and durables (topology), one pool per backend that pulls no
// more than it has places for, one decision per delivery, the ledger that makes a run happen once, and the micro
// services ask, submit, get and cancel.
//
// The promise (design section 3): a request is acknowledged only when its result is stored; a result is stored once, by
// compare-and-set; what a worker had in hand when it died is delivered again.
//
// Goroutines of a Worker: one per pool that owns its places and pulls (pool.go), one per run under way (delivery.go),
// one per backend that shares its gate (gates.go), one that hears the other workers' (notice.go), one that looks for overdue
// reviews, one for heartbeats, one for cancel notices, and those of the connection. Run returns after all of them.
package consumer
