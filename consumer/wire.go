package consumer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"emend/subjects"
)

// delivery is one message of a durable, with what the server says of it. Its verbs are the JetStream ack protocol.
type delivery struct {
	msg *nats.Msg
	nc  *nats.Conn
	// seq is the message's stream sequence, count its delivery number (from 1), published when it was stored.
	seq, count, pending uint64
	// n is the number of the delivery among all of its durable.
	n         uint64
	published time.Time
	// turnedAway: there is no place for it here; it is handed back unstarted.
	turnedAway bool
	// before: its message is older than the durable that delivers it, or may be. Another one may have delivered it before, whatever
	// count says.
	before bool
	// run is what its subject says, once it was read.
	run *parsed
	// asked is whether its run has a result already, asked on arrival; nil if it was not.
	asked *question
}

// parsed is the subject of a run's request.
type parsed struct {
	key     Key
	backend string
	err     error
}

// parseDelivery reads the reply subject of a delivered message: $JS.ACK.<domain>.<account>.<stream>.<consumer>.
// <count>.<stream seq>.<consumer seq>.<time>.<pending>.<token>, of which older forms lack domain, account and token.
func parseDelivery(nc *nats.Conn, m *nats.Msg) (*delivery, error) {
	rest, ok := strings.CutPrefix(m.Reply, subjects.AckPrefix)
	tokens := 2 + strings.Count(rest, ".") + 1
	if !ok || tokens < 9 {
		return nil, fmt.Errorf("message on %s has no ack subject", m.Subject)
	}
	skip := 4
	if tokens == 9 {
		skip = 2
	} else if tokens < 11 {
		return nil, fmt.Errorf("ack subject of %s has %d tokens", m.Subject, tokens)
	}
	for range skip {
		_, rest, _ = strings.Cut(rest, ".")
	}
	var nums [5]uint64
	for i := range nums {
		var word string
		word, rest, _ = strings.Cut(rest, ".")
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("ack subject of %s: token %d is no number", m.Subject, 6+i)
		}
		nums[i] = n
	}
	return &delivery{msg: m, nc: nc, count: nums[0], seq: nums[1], n: nums[2], published: time.Unix(0, int64(nums[3])), pending: nums[4]}, nil
}

// durableOf is the durable that an ack subject names, "" if it is none.
func durableOf(ack string) string {
	skip := 5
	switch dots := strings.Count(ack, "."); {
	case dots < 8:
		return ""
	case dots == 8:
		skip = 3
	}
	for range skip {
		_, ack, _ = strings.Cut(ack, ".")
	}
	durable, _, _ := strings.Cut(ack, ".")
	return durable
}

// ack removes the message from the work queue. A lost ack is harmless: the redelivery finds the stored result.
func (d *delivery) ack() error { return d.nc.Publish(d.msg.Reply, []byte("+ACK")) }

// nak hands the message back, to be delivered again after delay (at once if 0).
func (d *delivery) nak(delay time.Duration) error {
	body := []byte("-NAK")
	if delay > 0 {
		arg, err := json.Marshal(struct {
			Delay int64 `json:"delay"`
		}{int64(delay)})
		if err != nil {
			return err
		}
		body = append(append(body, ' '), arg...)
	}
	return d.nc.Publish(d.msg.Reply, body)
}

// term removes the message for good, with a reason for the server's advisory.
func (d *delivery) term(reason string) error {
	return d.nc.Publish(d.msg.Reply, []byte("+TERM "+reason))
}
