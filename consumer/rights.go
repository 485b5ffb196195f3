package consumer

import (
	"github.com/nats-io/nats.go"

	"emend/prompts"
	"emend/subjects"
)

// Rights are what a worker's account must allow.
type Rights struct {
	// Publish are subjects of the JetStream API, Store subjects of the streams, Subscribe what a worker listens on.
	Publish, Store, Subscribe []string
}

// RightsOf lists the rights that a worker of a configuration needs.
func RightsOf(cfg prompts.Config) (Rights, error) {
	n, err := subjects.New(cfg.NATS.Space)
	if err != nil {
		return Rights{}, err
	}
	r := Rights{Subscribe: []string{n.AllAsks(), n.AllSubmits(), n.Get(), n.Cancel(), n.AllGets(), n.AllCancels(), n.AllReviewQueries(), n.AllDecisions(),
		n.AllDeadQueries(), n.AllReplays(), n.AllPurges(), n.AllControls()},
		Store: []string{n.Result(probeName, probeName), n.Event(probeName, probeName, probeName), n.Dead(probeName, probeName),
			n.Review(probeName, probeName), n.StateSubject(probeName)}}
	api := n.API(cfg.NATS.Domain)
	for _, s := range []string{n.RunsStream(), n.ResultsStream(), n.EventsStream(), n.DeadStream(), n.ReviewsStream(), kvStream(n.StateBucket())} {
		r.Publish = append(r.Publish, api+"STREAM.INFO."+s, api+"STREAM.CREATE."+s)
	}
	for _, s := range []string{n.RunsStream(), n.ResultsStream(), n.ReviewsStream(), n.DeadStream(), kvStream(n.StateBucket())} {
		r.Publish = append(r.Publish, api+"STREAM.MSG.GET."+s)
	}
	for _, s := range []string{n.RunsStream(), n.ReviewsStream(), n.DeadStream()} {
		r.Publish = append(r.Publish, api+"STREAM.MSG.DELETE."+s)
	}
	state := kvStream(n.StateBucket())
	r.Publish = append(r.Publish, api+"STREAM.UPDATE."+state, api+"CONSUMER.CREATE."+state+"."+probeName+"."+n.StateSubject(n.AllGateKeys()))
	for _, b := range cfg.BackendNames() {
		for _, q := range cfg.QueueNames() {
			d := n.Durable(b, q)
			r.Store = append(r.Store, n.Run(b, q, probeName))
			r.Publish = append(r.Publish, api+"CONSUMER.INFO."+n.RunsStream()+"."+d, api+"CONSUMER.CREATE."+n.RunsStream()+"."+d+"."+n.RunFilter(b, q),
				api+"CONSUMER.MSG.NEXT."+n.RunsStream()+"."+d)
		}
	}
	return r, nil
}

// probeName stands in for names that nobody uses.
const probeName = "emend-probe"

// Probe sends what shows whether a subject may be published to and changes nothing: a broken body to the API, and to a
// stream a message that names another stream, which the server refuses to store.
func Probe(nc *nats.Conn, subject string, api bool) error {
	m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte("{")}
	if !api {
		m.Header.Set(subjects.HeaderExpectedStream, probeName)
	}
	return nc.PublishMsg(m)
}
