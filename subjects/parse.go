package subjects

import (
	"fmt"
	"strings"
)

// ParseRun reads a run subject.
func (n Names) ParseRun(subject string) (backend, queue, id string, err error) {
	t, err := n.split(subject, kindRun, 3)
	if err != nil {
		return "", "", "", err
	}
	return three(t, first(checkName("backend", t[0]), checkName("queue", t[1]), CheckID(t[2])))
}

// ParseRunFilter reads one of the subjects that the stream of runs is listed with.
func (n Names) ParseRunFilter(subject string) (backend, queue string, err error) {
	t, err := n.split(subject, kindRun, 3)
	if err != nil {
		return "", "", err
	}
	if t[2] != "*" {
		return "", "", fmt.Errorf("subject %s is of one run, not of a queue", quote(subject))
	}
	return both(t[0], t[1], first(checkName("backend", t[0]), checkName("queue", t[1])))
}

// ParseResult reads a result subject.
func (n Names) ParseResult(subject string) (queue, id string, err error) {
	return n.parseQueueID(subject, kindResult)
}

// ParseDead reads a dead-letter subject.
func (n Names) ParseDead(subject string) (queue, id string, err error) {
	return n.parseQueueID(subject, kindDead)
}

// ParseReview reads a review subject.
func (n Names) ParseReview(subject string) (queue, id string, err error) {
	return n.parseQueueID(subject, kindReview)
}

// ParseControl reads the subject of a cancel notice.
func (n Names) ParseControl(subject string) (queue, id string, err error) {
	return n.parseQueueID(subject, kindControl+"."+kindCancel)
}

func (n Names) parseQueueID(subject, kind string) (queue, id string, err error) {
	t, err := n.split(subject, kind, 2)
	if err != nil {
		return "", "", err
	}
	return both(t[0], t[1], first(checkName("queue", t[0]), CheckID(t[1])))
}

// ParseEvent reads an event subject.
func (n Names) ParseEvent(subject string) (queue, id, kind string, err error) {
	t, err := n.split(subject, kindEvent, 3)
	if err != nil {
		return "", "", "", err
	}
	return three(t, first(checkName("queue", t[0]), CheckID(t[1]), checkKind(t[2])))
}

// ParseAsk reads an ask subject.
func (n Names) ParseAsk(subject string) (backend, queue string, err error) {
	return n.parseBackendQueue(subject, kindAsk)
}

// ParseSubmit reads a submit subject.
func (n Names) ParseSubmit(subject string) (backend, queue string, err error) {
	return n.parseBackendQueue(subject, kindSubmit)
}

// ParseReviews reads a subject of the service reviews.
func (n Names) ParseReviews(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindReviews)
}

// ParseDecide reads a subject of the service decide.
func (n Names) ParseDecide(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindDecide)
}

// ParseGetOf reads a subject of the service get for one queue.
func (n Names) ParseGetOf(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindGet)
}

// ParseCancelOf reads a subject of the service cancel for one queue.
func (n Names) ParseCancelOf(subject string) (queue string, err error) {
	return n.parseQueue(subject, kindCancel)
}

func (n Names) parseQueue(subject, kind string) (string, error) {
	t, err := n.split(subject, kind, 1)
	if err != nil {
		return "", err
	}
	if err := checkName("queue", t[0]); err != nil {
		return "", err
	}
	return t[0], nil
}

func (n Names) parseBackendQueue(subject, kind string) (backend, queue string, err error) {
	t, err := n.split(subject, kind, 2)
	if err != nil {
		return "", "", err
	}
	return both(t[0], t[1], first(checkName("backend", t[0]), checkName("queue", t[1])))
}

// ParseDurable reads the name of a durable.
func (n Names) ParseDurable(durable string) (backend, queue string, err error) {
	backend, queue, ok := strings.Cut(durable, "__")
	if !ok {
		return "", "", fmt.Errorf("durable %s: it must be <backend>__<queue>", quote(durable))
	}
	return both(backend, queue, first(checkName("backend", backend), checkName("queue", queue)))
}

// ParseStateKey reads a key of the state bucket.
func (n Names) ParseStateKey(key string) (queue, id string, err error) {
	queue, id, ok := strings.Cut(key, ".")
	if !ok {
		return "", "", fmt.Errorf("state key %s: it must be <queue>.<id>", quote(key))
	}
	return both(queue, id, first(checkName("queue", queue), CheckID(id)))
}

func (n Names) split(subject, kind string, want int) (t [3]string, err error) {
	rest, ok := subject, true
	for _, part := range [...]string{n.space, ".", kind, "."} {
		if rest, ok = strings.CutPrefix(rest, part); !ok {
			return t, fmt.Errorf("subject %s does not begin with %s", quote(subject), n.join(kind)+".")
		}
	}
	if has := strings.Count(rest, ".") + 1; has != want {
		return t, fmt.Errorf("subject %s has %d tokens after %s, expected %d", quote(subject), has, n.join(kind), want)
	}
	for i := range want {
		t[i], rest, _ = strings.Cut(rest, ".")
	}
	return t, nil
}

// both and three give the parts of a name only without an error, so that no caller uses what was refused.
func both(a, b string, err error) (string, string, error) {
	if err != nil {
		return "", "", err
	}
	return a, b, nil
}

func three(t [3]string, err error) (string, string, string, error) {
	if err != nil {
		return "", "", "", err
	}
	return t[0], t[1], t[2], nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
