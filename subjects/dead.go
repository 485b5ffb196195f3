package subjects

// Kinds of the services for dead letters.
const (
	kindDeadLetters = "dead-letters"
	kindReplay      = "replay"
	kindPurge       = "purge"
)

// DeadFilter covers the dead letters of a queue.
func (n Names) DeadFilter(queue string) string { return n.join(kindDead, queue, "*") }

// DeadLetters is the service that lists and shows the dead letters of a queue.
func (n Names) DeadLetters(queue string) string { return n.join(kindDeadLetters, queue) }

// AllDeadQueries covers every queue.
func (n Names) AllDeadQueries() string { return n.join(kindDeadLetters, "*") }

// Replay is the service that publishes a dead letter of a queue anew.
func (n Names) Replay(queue string) string { return n.join(kindReplay, queue) }

// AllReplays covers every queue.
func (n Names) AllReplays() string { return n.join(kindReplay, "*") }

// Purge is the service that removes dead letters of a queue.
func (n Names) Purge(queue string) string { return n.join(kindPurge, queue) }

// AllPurges covers every queue.
func (n Names) AllPurges() string { return n.join(kindPurge, "*") }

// ParseDeadLetters reads a subject of the service for dead letters.
func (n Names) ParseDeadLetters(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindDeadLetters)
}

// ParseReplay reads a subject of the service replay.
func (n Names) ParseReplay(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindReplay)
}

// ParsePurge reads a subject of the service purge.
func (n Names) ParsePurge(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindPurge)
}

// GrantKey is the key, in the state bucket, of the leave to replace a run's outcome by a replay of other content. No id holds a
// dot, so it is no run's key.
func (n Names) GrantKey(queue, id, fingerprint string) string {
	return n.StateKey(queue, id) + ".replay." + fingerprint
}
