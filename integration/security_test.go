package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// tenant is a requester whose rights end at one queue and its own inbox, known by an nkey.
type tenant struct {
	*site
	// root is the operator's view.
	root  *site
	queue string
	// denied are the permissions that the server refused, as it says them.
	denied chan string
}

// rightsOf are what docs/security.md gives to a requester of a queue.
func rightsOf(n subjects.Names, queue string) *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{n.Run("mock", queue, "*"), n.Ask("mock", queue), n.Submit("mock", queue),
			n.GetOf(queue), n.CancelOf(queue)}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX." + queue + ".>", n.ResultFilter(queue), n.EventFilter(queue, "*")}},
	}
}

// tenants starts a server with one account: a worker, and a requester for each of two queues.
func tenants(t *testing.T) (a, b *tenant) {
	t.Helper()
	n, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]nkeys.KeyPair{}
	var users []*server.NkeyUser
	for _, queue := range []string{"default", "team-a"} {
		kp, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		pub, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		keys[queue] = kp
		users = append(users, &server.NkeyUser{Nkey: pub, Permissions: rightsOf(n, queue)})
	}
	s := newSiteAs(t, devnats.Options{Configure: func(o *server.Options) {
		o.Nkeys = users
		o.Users = []*server.User{{Username: "worker", Password: "w"}}
	}}, []nats.Option{nats.UserInfo("worker", "w")}, "team-a: {in_flight: 8, allow: [settings]}", "team-a: {in_flight: 8, inboxes: [_INBOX.team-a.>]}",
		"default: {weight: 4, in_flight: 64}", "default: {weight: 4, in_flight: 64, inboxes: [_INBOX.default.>, _INBOX.worker.>]}")
	nc, _ := s.connect(nats.UserInfo("worker", "w"))
	s.workerOn(nc)
	return s.tenant("team-a", keys["team-a"]), s.tenant("default", keys["default"])
}

func (s *site) tenant(queue string, kp nkeys.KeyPair) *tenant {
	s.Helper()
	pub, err := kp.PublicKey()
	s.must(err)
	x := &tenant{root: s, queue: queue, denied: make(chan string, 64)}
	copied := *s
	copied.nc, copied.js = s.connect(nats.Nkey(pub, kp.Sign), nats.CustomInboxPrefix("_INBOX."+queue), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			x.denied <- err.Error()
		}
	}))
	x.site = &copied
	return x
}

func (x *tenant) asks(subject, text string) (*nats.Msg, error) {
	x.Helper()
	return x.nc.Request(subject, []byte(text), 5*time.Second)
}

// A requester runs, reads and cancels in its own queue, with nothing but the rights of docs/security.md.
func TestARequesterWithTheRightsOfOneQueue(t *testing.T) {
	t.Parallel()
	a, _ := tenants(t)
	m, err := a.asks(a.names.Ask("mock", "team-a"), body("rate", "fine"))
	a.must(err)
	r := a.decode(m.Data)
	if r.Status != schemas.StatusSucceeded || r.Queue != "team-a" {
		t.Fatalf("%s", m.Data)
	}
	m, err = a.asks(a.names.GetOf("team-a"), fmt.Sprintf(`{"id":%q}`, r.ID))
	if a.must(err); a.decode(m.Data).ID != r.ID {
		t.Errorf("%s", m.Data)
	}
	m, err = a.asks(a.names.CancelOf("team-a"), `{"id":"nobody"}`)
	if a.must(err); !strings.Contains(string(m.Data), schemas.CancelNotFound) {
		t.Errorf("%s", m.Data)
	}
}

// What the rights do not give, Emend does not give either: not by a body, not by a header, not by a reply subject.
func TestARequesterReachesNothingElse(t *testing.T) {
	t.Parallel()
	a, b := tenants(t)
	m, err := b.asks(b.names.Ask("mock", "default"), body("rate", "theirs"))
	b.must(err)
	theirs := b.decode(m.Data)
	spy, err := b.nc.SubscribeSync("_INBOX.default.spy")
	b.must(err)
	b.must(b.nc.Flush())

	for what, subject := range map[string]string{"publish into another queue": a.names.Run("mock", "default", "x"), "ask in another queue": a.names.Ask("mock", "default"),
		"get of another queue": a.names.GetOf("default"), "get of any queue": a.names.Get(), "cancel of any queue": a.names.Cancel(), "reviews": a.names.Reviews("team-a"),
		"decide": a.names.Decide("team-a"), "dead letters": a.names.DeadLetters("team-a"), "replay": a.names.Replay("team-a"), "purge": a.names.Purge("team-a"),
		"grant a replay": "$KV.emend_state.team-a.x.replay.y", "forge a result": a.names.Result("team-a", "x"), "forge an event": a.names.Event("team-a", "x", "finished"),
		"forge a control": a.names.Control("default", theirs.ID), "the server's API": "$JS.API.STREAM.PURGE." + a.names.ResultsStream()} {
		if err := a.nc.Publish(subject, []byte(body("rate", "fine"))); err != nil {
			t.Fatal(err)
		}
		a.must(a.nc.Flush())
		if said := receive(a.site, what+" is refused by the server", a.denied); !strings.Contains(said, subject) {
			t.Errorf("%s: %s", what, said)
		}
	}
	// A body that names another queue under its own subject.
	m, err = a.asks(a.names.GetOf("team-a"), fmt.Sprintf(`{"queue":"default","id":%q}`, theirs.ID))
	if a.must(err); m.Header.Get(subjects.HeaderServiceErrorCode) != schemas.CategoryInvalidRequest || strings.Contains(string(m.Data), "score") {
		t.Errorf("get with another queue in the body: %s", m.Data)
	}
	m, err = a.asks(a.names.GetOf("team-a"), fmt.Sprintf(`{"id":%q}`, theirs.ID))
	if a.must(err); !strings.Contains(string(m.Data), schemas.StateNotFound) {
		t.Errorf("get of another's id in its own queue: %s", m.Data)
	}
	// A result that is sent into another's inbox.
	x := &nats.Msg{Subject: a.names.Run("mock", "team-a", "stray"), Data: []byte(body("rate", "fine")), Header: nats.Header{}}
	x.Header.Set(subjects.HeaderReplyTo, "_INBOX.default.spy")
	x.Reply = "_INBOX.team-a.ack"
	a.must(a.nc.PublishMsg(x))
	dead := a.root.stored(a.names.DeadStream(), a.names.Dead("team-a", "stray"))
	if dead.Headers().Get(subjects.HeaderReason) != schemas.CategoryInvalidRequest {
		t.Errorf("the stray request: %v", dead.Headers())
	}
	if m, err := spy.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("another's inbox got %s", m.Data)
	}
}

// The server's dedupe ids count for the whole stream: an enemy who uses one up must not have another's request confirmed and not
// stored.
func TestNobodyUsesUpAnothersMessageID(t *testing.T) {
	t.Parallel()
	a, b := tenants(t)
	x := nats.NewMsg(a.names.Run("mock", "team-a", "theft"))
	x.Data = []byte(body("rate", "fine"))
	x.Header.Set(subjects.HeaderMsgID, "inv-1043")
	if _, err := a.nc.RequestMsg(x, patience); err != nil {
		t.Fatal(err)
	}
	y := nats.NewMsg(b.names.Run("mock", "default", "inv-1043"))
	y.Data, y.Header = x.Data, x.Header
	b.eventually("the request is stored", func() bool {
		m, err := b.nc.RequestMsg(y, patience)
		b.must(err)
		return !strings.Contains(string(m.Data), "duplicate")
	})
	b.root.ends("inv-1043", schemas.StatusSucceeded)
}

// A tenant in an account of its own imports the service; its replies go to the inboxes of account imports.
func TestARequesterInAnotherAccount(t *testing.T) {
	t.Parallel()
	n, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	home, away := server.NewAccount("EMEND"), server.NewAccount("TENANT")
	s := newSiteAs(t, devnats.Options{Configure: func(o *server.Options) {
		o.Accounts = []*server.Account{home, away}
		o.Users = []*server.User{{Username: "worker", Password: "w", Account: home}, {Username: "tenant", Password: "t", Account: away}}
	}}, []nats.Option{nats.UserInfo("worker", "w")}, "log: {level: debug}", `nats: {inboxes: ["_INBOX.>", "_R_.>"]}`)
	live, err := s.server.Server().LookupAccount("EMEND")
	s.must(err)
	tenant, err := s.server.Server().LookupAccount("TENANT")
	s.must(err)
	s.must(live.EnableJetStream(nil, nil))
	ask := n.Ask("mock", "team-a")
	s.must(live.AddServiceExport(ask, []*server.Account{tenant}))
	s.must(tenant.AddServiceImport(live, ask, ask))
	wnc, _ := s.connect(nats.UserInfo("worker", "w"))
	s.workerOn(wnc)
	nc, _ := s.connect(nats.UserInfo("tenant", "t"))
	m, err := nc.Request(ask, []byte(body("rate", "fine")), 10*time.Second)
	s.must(err)
	var r schemas.Result
	if err := json.Unmarshal(m.Data, &r); err != nil || r.Status != schemas.StatusSucceeded {
		t.Errorf("%v: %s", err, m.Data)
	}
	if _, err := nc.Request(n.Get(), fmt.Appendf(nil, `{"queue":"team-a","id":%q}`, r.ID), time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("what is not imported answers: %v", err)
	}
}

// docs/security.md gives exactly the rights that these tests run with.
func TestSecurityPageGivesTheRightsThatAreTested(t *testing.T) {
	b, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	n, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	p := rightsOf(n, "<queue>")
	for _, subject := range append(p.Publish.Allow, p.Subscribe.Allow...) {
		subject = strings.Replace(subject, ".mock.", ".<backend>.", 1)
		if !strings.Contains(string(b), "`"+subject+"`") {
			t.Errorf("docs/security.md does not give %s", subject)
		}
	}
}
