package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// What must not leave: the credential, an input's text, and what a provider wrote about it.
const (
	plantedKey      = "sk-planted-key-0123456789"
	plantedInput    = "planted-input-0123456789"
	plantedProvider = "planted-provider-text-0123456789"
)

// secretive is a site whose every message of the space is recorded.
func secretive(t *testing.T) (s *site, seen *nats.Subscription) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	s = newSite(t, devnats.Options{}, "permits: 16, admitted: 32,", "key: {file: "+key+"}, permits: 16, admitted: 32,")
	s.mock.faultText = plantedProvider + " " + plantedKey + " " + plantedInput
	s.must(os.WriteFile(key, []byte(plantedKey+"\n"), 0o600))
	s.worker()
	seen, err := s.nc.SubscribeSync(s.names.Space() + ".>")
	s.must(err)
	s.must(s.nc.Flush())
	return s, seen
}

// TestSecretsLeaveInNoEventLogHeaderOrError: in key, inputs and provider text.
func TestSecretsLeaveInNoEventLogHeaderOrError(t *testing.T) {
	t.Parallel()
	s, seen := secretive(t)
	s.publish("fine", body("rate", plantedInput))
	s.ends("fine", schemas.StatusSucceeded)
	s.publish("never", body("rate", plantedInput+" NEVER-RIGHT"))
	s.ends("never", schemas.StatusInvalid)
	s.publish("malformed", `{"prompt": "say", "inputs": {"text": "`+plantedInput+`"}, "timeout_s": "`+plantedInput+`", "profile": 7}`)
	s.publish("broken", `{"prompt": "`+plantedInput)
	s.publish("mode", inline(`, "output": {"mode": "`+plantedInput+`"}`))
	for _, id := range []string{"malformed", "broken", "mode"} {
		s.event(id, schemas.EventFinished)
	}
	s.mock.fail(400)
	s.publish("refused", body("rate", plantedInput))
	s.ends("refused", schemas.StatusFailed)
	s.mock.fail(503)
	s.publish("waits", body("rate", plantedInput))
	s.event("waits", schemas.EventWaiting)
	s.cancelRun("waits")
	if _, ok := s.mock.keys.Load("Bearer " + plantedKey); !ok {
		t.Error("the key did not reach the backend")
	}
	s.workers[0].stop()
	s.must(s.nc.Flush())
	s.clean(seen)
	for _, secret := range []string{plantedKey, plantedInput, plantedProvider} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}

// clean checks every message that went over the space.
func (s *site) clean(seen *nats.Subscription) {
	s.Helper()
	checked := map[string]int{}
	for {
		n, _, err := seen.Pending()
		s.must(err)
		if n == 0 {
			break
		}
		m, err := seen.NextMsg(patience)
		s.must(err)
		kind := strings.Split(m.Subject, ".")[1]
		checked[kind]++
		s.cleanMessage(kind, m)
	}
	for _, kind := range []string{"run", "event", "result", "dead"} {
		if checked[kind] == 0 {
			s.Errorf("no message of kind %s was seen: %v", kind, checked)
		}
	}
}

func (s *site) cleanMessage(kind string, m *nats.Msg) {
	s.Helper()
	text := string(m.Data)
	switch kind {
	case "run":
		return
	case "dead": // the body is the request as it came; the headers are ours
		text = ""
	}
	for name, values := range m.Header {
		if name != subjects.HeaderReplyTo {
			text += " " + strings.Join(values, " ")
		}
	}
	for _, secret := range []string{plantedKey, plantedInput, plantedProvider} {
		if strings.Contains(text, secret) {
			s.Errorf("%s is in %s: %.600s", secret, m.Subject, text)
		}
	}
}
