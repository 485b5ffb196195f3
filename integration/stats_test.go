package integration

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"emend/internal/telemetry"
	"emend/schemas"
)

func TestFailureRatePerPromptAndKeyword(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("mend", body("rate", "MEND-ME"))
	s.ends("mend", schemas.StatusSucceeded)
	var stats micro.Stats
	s.must(json.Unmarshal(s.request("$SRV.STATS."+s.names.Service(), "").Data, &stats))
	for _, e := range stats.Endpoints {
		if e.Name != "ask" {
			if len(e.Data) > 0 && string(e.Data) != "null" {
				t.Errorf("endpoint %s tells %s", e.Name, e.Data)
			}
			continue
		}
		var data struct {
			Verdicts map[string]telemetry.PromptVerdicts
		}
		s.must(json.Unmarshal(e.Data, &data))
		if v := data.Verdicts["rate@1"]; v.Candidates != 2 || v.Invalid != 1 || v.Keywords["type"] != 1 {
			t.Errorf("%s", e.Data)
		}
		return
	}
	t.Error("no endpoint ask in the stats")
}
