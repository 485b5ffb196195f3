package run

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"emend/engine/contract"
	"emend/schemas"
)

// toldScript answers with what each call was sent.
type toldScript struct {
	script
	sent [][]schemas.Message
}

func (x *toldScript) Call(ctx context.Context, s State, c Call) Event {
	times := CallTimes{}
	if n := len(x.seen); n < len(x.sent) {
		times.Appended = x.sent[n]
	}
	switch e := x.script.Call(ctx, s, c).(type) {
	case Answered:
		e.Call = times
		return e
	case Failed:
		e.Call = times
		return e
	default:
		return e
	}
}

func driveTold(t *testing.T, word string, sent [][]schemas.Message, repairs int, answers ...Event) Result {
	t.Helper()
	p := plan(t, schemas.ModeJSON, 2, repairs)
	p.Attempts = word
	res, err := Drive(t.Context(), p, p.Start(), &toldScript{script: script{plan: p, calls: answers}, sent: sent}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func user(text string) []schemas.Message {
	return []schemas.Message{{Role: schemas.RoleUser, Content: text}}
}

// What does not fit is left out whole with its length, and what comes behind it is kept if it fits.
func TestTheTextsOfAttemptsAreBounded(t *testing.T) {
	large := strings.Repeat("x", MaxContent-10)
	res := driveTold(t, schemas.AttemptsFull, [][]schemas.Message{nil, user(strings.Repeat("c", 90)), user("d")}, 2,
		answer(large), answer("yyyyyyyy"), answer(`1`))
	all := res.State.Attempts
	if *all[0].Content.Answer != large || all[0].Content.Omitted[schemas.PartFindings] == 0 || all[0].Content.Verdict.Class != string(contract.NotJSON) {
		t.Errorf("the first: %+v", all[0].Content.Omitted)
	}
	if c := all[1].Content; c.Appended != nil || c.Omitted[schemas.PartAppended] != 90 || *c.Answer != "yyyyyyyy" || c.Omitted[schemas.PartFindings] == 0 {
		t.Errorf("the second: %+v", c)
	}
	if c := all[2].Content; len(c.Appended) != 1 || *c.Answer != "1" || len(c.Omitted) != 0 {
		t.Errorf("the third: %+v", c)
	}
	if n := total(all); n > MaxContent {
		t.Errorf("%d bytes of text", n)
	}
	huge := driveTold(t, schemas.AttemptsFull, nil, 0, answer(large+large)).State.Attempts[0].Content
	if huge.Answer != nil || huge.Omitted[schemas.PartAnswer] != 2*len(large) || huge.Verdict == nil {
		t.Errorf("an answer beyond the bound: %+v", huge)
	}
}

func total(all []schemas.Attempt) (n int) {
	for _, a := range all {
		n += a.Content.Bytes()
	}
	return n
}

// A State stays what it was, is of the same size as ever where nothing is asked for, and survives its JSON form.
func TestToldStatesAreValues(t *testing.T) {
	for _, word := range []string{"", schemas.AttemptsNone, schemas.AttemptsFull} {
		p := plan(t, schemas.ModeJSON, 0, 1)
		p.Attempts = word
		var saved [][]byte
		var states []State
		_, err := Drive(t.Context(), p, p.Start(), &toldScript{script: script{plan: p, calls: []Event{answer("first text"), answer(`{"a":1}`)}}}, func(s State) error {
			raw, err := json.Marshal(s)
			saved, states = append(saved, raw), append(states, s)
			return err
		})
		if err != nil || len(saved) != 1 {
			t.Fatal(err, len(saved))
		}
		if now, _ := json.Marshal(states[0]); string(now) != string(saved[0]) {
			t.Errorf("%q: a saved state has changed: %s, was %s", word, now, saved[0])
		}
		var back State
		if err := json.Unmarshal(saved[0], &back); err != nil || !reflect.DeepEqual(back.Attempts, states[0].Attempts) {
			t.Errorf("%q: %v, came back as %+v", word, err, back.Attempts)
		}
		if texts := strings.Count(string(saved[0]), "first text"); texts != map[string]int{"": 1, schemas.AttemptsNone: 1, schemas.AttemptsFull: 2}[word] || strings.Contains(string(saved[0]), `"content"`) != (word == schemas.AttemptsFull) {
			t.Errorf("%q: the state is %s", word, saved[0])
		}
	}
}

// A run that is taken up again keeps its texts, and is not told twice what it was sent.
func TestAPutDownRunKeepsWhatItTold(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 0, 1)
	p.Attempts, p.HandsBack = schemas.AttemptsFull, true
	sent := [][]schemas.Message{nil, user("mend it"), user("mend it")}
	x := &toldScript{script: script{plan: p, calls: []Event{answer("first"), status(503), answer(`{"a":1}`)}}, sent: sent}
	res, err := Drive(t.Context(), p, p.Start(), x, nil)
	if err != nil || res.Status != schemas.StatusFailed {
		t.Fatal(err, res.Status)
	}
	var s State
	raw, err := json.Marshal(p.PutDown(res.State))
	if err != nil || json.Unmarshal(raw, &s) != nil {
		t.Fatal(err)
	}
	if res, err = Drive(t.Context(), p, p.Revive(s), x, nil); err != nil || res.Status != schemas.StatusSucceeded {
		t.Fatal(err, res.Status)
	}
	all := res.State.Attempts
	if len(all) != 3 || *all[0].Content.Answer != "first" || len(all[1].Content.Appended) != 1 || all[2].Content.Appended != nil || *all[2].Content.Answer != `{"a":1}` {
		t.Errorf("%+v", all)
	}
}

// The votes of a rejected answer stay with it though the next attempt begins with none; those on an answer too many are left out
// but for outcome and code.
func TestVotesStayWithTheAnswerThatTheyAreOn(t *testing.T) {
	p := staged(t, 1, 0)
	p.Attempts = schemas.AttemptsFull
	long := strings.Repeat("g", MaxContent)
	res, _ := driveStages(t, p, []Event{answer(`{"n":1}`), answer(`{"n":2}`)}, rejects(schemas.Reason{Code: "low", Guidance: "higher"}),
		rejects(schemas.Reason{Code: "low", Guidance: long}, schemas.Reason{Code: "odd"}))
	first, second := res.State.Attempts[0].Content, res.State.Attempts[1].Content
	if len(first.Votes) != 1 || first.Votes[0].Reasons[0].Guidance != "higher" || len(first.Omitted) != 0 {
		t.Errorf("%+v", first)
	}
	if len(second.Votes) != 1 || second.Votes[0].Reasons[0] != (schemas.Reason{Code: "low"}) || second.Omitted[schemas.PartVotes] != len(long) {
		t.Errorf("%+v, %v", second.Votes, second.Omitted)
	}
	if res.State.Votes[0].Reasons[0].Guidance != long {
		t.Error("the votes of the run are cut, too")
	}
	if got := p.Stages(res.State); len(got) != 2 || !slices.Equal(got[0].Codes, []string{"low"}) || !slices.Equal(got[1].Codes, []string{"low", "odd"}) {
		t.Errorf("%+v", got)
	}
}

// Whatever is answered, summary and none hold no text of it, and full holds no more than its bound.
func TestNoTextOfACandidateUnlessAskedFor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`secret[a-z"{}\\]{5,40}`), 1, 4).Draw(rt, "answers")
		var calls []Event
		for _, text := range texts {
			if rapid.Bool().Draw(rt, "fails first") {
				calls = append(calls, status(503))
			}
			calls = append(calls, answer(text))
		}
		for _, word := range []string{"", schemas.AttemptsNone, schemas.AttemptsFull} {
			s := driveTold(t, word, nil, len(texts)-1, calls...).State
			raw, err := schemas.Marshal([]any{s.Attempts, s.Stages})
			if err != nil || strings.Contains(string(raw), "secret") != (word == schemas.AttemptsFull) || total(s.Attempts) > MaxContent {
				rt.Fatalf("%q: %v %s", word, err, raw)
			}
		}
	})
}
