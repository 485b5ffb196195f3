package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// everything that anyone may read.
var readable = []string{"/api/session", "/api/status", "/api/runs", "/api/runs/default/r1", "/api/dead/default", "/api/reviews/default"}

// what shows content, and what changes something.
var (
	contents = []string{"/api/dead/default/r1", "/api/reviews/default/r1"}
	actions  = map[string]string{"/api/runs/default/r1/cancel": `{}`, "/api/dead/default/replay": `{"id": "r1"}`, "/api/dead/default/purge": `{"id": "r1"}`,
		"/api/reviews/default/decide": `{"id": "r1", "decision": "approve", "by": "ann"}`}
)

func TestWithoutTheTokenNothingOfContentIsShownAndNothingChanges(t *testing.T) {
	for _, o := range []Options{{}, {Token: token}, {Token: token, Content: true}} {
		f := newFake()
		p := page(t, f, o)
		for _, target := range readable {
			w := asked(t, p, "GET", target, "")
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), secret) {
				t.Errorf("%+v %s: %d %s", o, target, w.Code, w.Body)
			}
		}
		for _, target := range contents {
			if w := asked(t, p, "GET", target, ""); w.Code < 400 || strings.Contains(w.Body.String(), secret) {
				t.Errorf("%+v %s: %d %s", o, target, w.Code, w.Body)
			}
		}
		for target, body := range actions {
			for _, with := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + token + "0"}, {"Authorization", token}, {"Cookie", "token=" + token}} {
				if w := asked(t, p, "POST", target, body, with...); w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized {
					t.Errorf("%+v %s with %q: %d %s", o, target, with, w.Code, w.Body)
				}
			}
		}
		if did := f.acts(); did != "" {
			t.Errorf("%+v: did %s", o, did)
		}
	}
}

func TestTheTokenPermitsToActAndContentOnlyWhereAllowed(t *testing.T) {
	f := newFake()
	p := page(t, f, Options{Token: token})
	for target, body := range actions {
		if w := asked(t, p, "POST", target, body, bearer...); w.Code != http.StatusOK || strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for _, target := range append(contents, readable...) {
		if w := asked(t, p, "GET", target, "", bearer...); strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s shows content", target)
		}
	}
	for _, did := range []string{"cancel", "replay:r1", "purge:r1", "decide:approve"} {
		if !strings.Contains(f.acts(), did) {
			t.Errorf("%s was not done: %s", did, f.acts())
		}
	}
	open := page(t, newFake(), Options{Token: token, Content: true})
	for _, target := range append(contents, "/api/runs/default/r1", "/api/dead/default") {
		if w := asked(t, open, "GET", target, "", bearer...); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestStrangersAreKeptOut(t *testing.T) {
	p := page(t, newFake(), Options{Token: token, Hosts: []string{"emend.example.org"}})
	for host, want := range map[string]int{"127.0.0.1:8322": 200, "[::1]:8322": 200, "localhost:8322": 200, "emend": 200, "emend.example.org": 200, "EMEND.example.org:443": 200,
		"evil.example.org": 421, "127.0.0.1.evil.example": 421, "": 421} {
		if w := asked(t, p, "GET", "/api/session", "", "Host", host); w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
	w := asked(t, p, "POST", "/api/dead/default/replay", `{"id": "r1"}`, append([]string{"Origin", "https://evil.example.org", "Sec-Fetch-Site", "cross-site"}, bearer...)...)
	if w.Code != http.StatusForbidden {
		t.Errorf("a request of another site: %d", w.Code)
	}
}

func TestEveryAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	p := page(t, newFake(), Options{})
	for _, target := range []string{"/", "/app.js", "/api/session", "/api/none", "/none"} {
		h := asked(t, p, "GET", target, "").Header()
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", target, h)
		}
	}
}

// The page loads nothing from elsewhere, makes no markup of text, and has no inline script or style, which its policy forbids.
func TestAssetsKeepToThePolicy(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z]`)
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\sstyle=|\son[a-z]+="|javascript:`)
	files := 0
	err := fs.WalkDir(assets, "page", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := assets.ReadFile(path)
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		if m := foreign.FindString(text); m != "" {
			t.Errorf("%s refers to %q", path, m)
		}
		if m := forbidden.FindString(text); m != "" {
			t.Errorf("%s has %q", path, m)
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestBadRequestsAreToldWhatIsWrong(t *testing.T) {
	p := page(t, newFake(), Options{Token: token, Content: true})
	for _, c := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{"GET", "/api/runs?limit=0", "", 422, "limit"},
		{"GET", "/api/runs?limit=1000000", "", 422, "500"},
		{"GET", "/api/runs?before=x", "", 422, "before"},
		{"GET", "/api/runs?before=0", "", 422, "before"},
		{"GET", "/api/dead/default?after=-1", "", 422, "after"},
		{"GET", "/api/dead/default/r1?seq=x", "", 422, "seq"},
		{"GET", "/api/runs/default/none", "", 404, "nothing is known"},
		{"GET", "/api/runs/default/odd", "", 422, "no such id"},
		{"GET", "/api/runs/default/nowhere", "", 404, "no such queue"},
		{"GET", "/api/runs/default/broken", "", 502, "EMEND_RESULTS"},
		{"GET", "/api/none", "", 404, "nothing under this path"},
		{"POST", "/api/dead/default/replay", "{", 422, "JSON"},
		{"POST", "/api/dead/default/replay", `{"idd": "x"}`, 422, "idd"},
		{"POST", "/api/dead/default/replay", strings.Repeat(" ", maxBody+1), 422, "bytes"},
	} {
		w := asked(t, p, c.method, c.target, c.body, bearer...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s, want %d and %q", c.method, c.target, w.Code, w.Body, c.status, c.says)
		}
	}
}

func TestAFilterComesFromTheQueryAndAFullPageHasANext(t *testing.T) {
	f := newFake()
	p := page(t, f, Options{})
	w := asked(t, p, "GET", "/api/runs?backend=b&queue=q&prompt=p&status=failed&id=x&before=7&limit=2", "")
	want := Filter{Backend: "b", Queue: "q", Prompt: "p", Status: "failed", ID: "x", Before: 7, Limit: 2}
	if f.filter != want || !strings.Contains(w.Body.String(), `"next":"99"`) {
		t.Errorf("%+v %s", f.filter, w.Body)
	}
}
