//go:build page

package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/nats-io/nats.go"

	"emend/consumer"
	"emend/internal/web"
	"emend/schemas"
	"emend/subjects"
)

// pageToken is the token of the pages of these tests.
const pageToken = "a-token-for-tests"

// browser is a tab of a headless Chromium that shows the page of a site. `make page` runs these tests: they need Chromium.
type browser struct {
	*site
	url string
	ctx context.Context
	// faults are errors of the page's scripts and of its policy.
	faults chan string
}

// tab opens the page of a site that has a worker.
func (s *site) tab(o web.Options) *browser {
	s.Helper()
	console := consumer.NewConsole(s.client())
	page := web.New(console, o)
	srv := httptest.NewServer(page)
	s.Cleanup(func() { page.Close(); console.Close(); srv.CloseClientConnections(); srv.Close() })
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1200, 900))...)
	s.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	s.Cleanup(cancel)
	b := &browser{site: s, url: srv.URL, ctx: ctx, faults: make(chan string, 64)}
	s.must(chromedp.Do(ctx)) // the browser lives as long as the context of its first call
	s.must(chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.fault(fmt.Sprintf("%s %s:%d", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError {
				b.fault(fmt.Sprint("console: ", e.Args[0].Value))
			}
		}
	}))
	s.Cleanup(func() {
		if s.Failed() {
			text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.hash + "\n" + document.body.innerText`))
			s.Logf("the page shows:\n%s", text)
			b.shot("failed-" + s.Name())
		}
		for close(b.faults); ; {
			f, more := <-b.faults
			if !more {
				return
			}
			s.Errorf("the page's script: %s", f)
		}
	})
	return b
}

func (b *browser) fault(text string) {
	select {
	case b.faults <- text:
	default:
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must(chromedp.Do(ctx, actions...))
}

// open goes to a view and waits for its heading.
func (b *browser) open(view, heading string) {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+"/#/"+view))
	b.sees(`document.querySelector("h1")?.textContent.includes(` + inScript(heading) + `)`)
}

// sees waits until an expression is true. One that cannot be evaluated yet, such as while the page loads, is not.
func (b *browser) sees(expr string) {
	b.Helper()
	b.eventually(expr, func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expr+")"))
		if err != nil && b.ctx.Err() != nil {
			b.Fatal(err)
		}
		return err == nil && ok
	})
}

// value is what an expression has.
func value[T any](b *browser, expr string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expr, chromedp.EvalAwaitPromise))
	b.must(err)
	return v
}

// scheme has the page believe that its reader prefers light or dark.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	})
}

// shows waits until the page shows a text.
func (b *browser) shows(text string) {
	b.Helper()
	b.sees(`document.getElementById("main").innerText.includes(` + inScript(text) + `)`)
}

func inScript(text string) string { return fmt.Sprintf("%q", text) }

// press presses the button with a label.
func (b *browser) press(label string) {
	b.Helper()
	b.do(chromedp.Click(fmt.Sprintf(`//main//button[normalize-space()=%q]`, label)))
}

// shot keeps a picture of the whole view, for people to look at.
func (b *browser) shot(name string) {
	b.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Errorf("screenshot: %v", err)
	}
	b.must(os.MkdirAll(dir, 0o755))
	b.must(os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

func (b *browser) signIn() {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+"/#token="+pageToken))
	b.sees(`document.getElementById("sign").textContent === "Sign out" && !location.hash.includes("token")`)
}

// busy is a site with a run of every kind: it succeeded, was mended, failed, waits for a person, could not be read.
func busy(t *testing.T) *site {
	t.Helper()
	s := reviewing(t)
	for i := range 12 {
		s.publish(fmt.Sprint("plain", i), body("rate", fmt.Sprint("text ", i)))
	}
	s.publish("mended", body("rate", "MEND-ME"))
	s.publish("refused", body("rate", "BAD-REQUEST"))
	s.publish("unreadable", `{"prompt": "<img src=x onerror='window.pwned=1'>"}`)
	s.waits("asks")
	for i := range 12 {
		s.ends(fmt.Sprint("plain", i), schemas.StatusSucceeded)
	}
	s.ends("mended", schemas.StatusSucceeded)
	s.ends("refused", schemas.StatusFailed)
	s.goneID("unreadable")
	return s
}

var views = []struct{ path, heading, shows, name string }{
	{"", "Overview", "mock / default", "overview"},
	{"runs", "Runs", "plain11", "runs"},
	{"run/default/mended", "Run mended", "Finished: succeeded", "run"},
	{"dead", "Dead letters", "refused", "dead"},
	{"reviews", "Reviews", "asks", "reviews"},
	{"reviews/default/asks", "Review of asks", "Who decides", "review"},
	{"backends", "Backends", "open", "backends"},
	{"prompts", "Prompts", "rate@1", "prompts"},
}

// TestPageShowsEveryView in a wide and a narrow window, light and dark, without a scroll bar to the side and without markup
// made of a request's text.
func TestPageShowsEveryView(t *testing.T) {
	s := busy(t)
	b := s.tab(web.Options{Token: pageToken, Content: true, Title: "emend"})
	b.signIn()
	for _, size := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"wide", 1200, 900, "light"}, {"dark", 1200, 900, "dark"}, {"narrow", 400, 800, "light"}} {
		b.do(chromedp.EmulateViewport(size.width, size.height), scheme(size.scheme))
		for _, v := range views {
			b.open(v.path, v.heading)
			b.shows(v.shows)
			if over := value[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: %d px of view %q stick out", size.name, over, v.path)
			}
			b.shot(size.name + "-" + v.name)
		}
	}
	b.open("dead", "Dead letters")
	b.do(chromedp.Click(`//tr[contains(., "unreadable")]//button`))
	b.shows("onerror") // as text
	if value[bool](b, `"pwned" in window`) {
		t.Error("a request's text became markup")
	}
}

// TestPageFollowsWhatHappens: a run's time line and the numbers of the overview move while they are looked at.
func TestPageFollowsWhatHappens(t *testing.T) {
	s := start(t)
	b := s.tab(web.Options{})
	s.publish("held", body("say", holdMark))
	receive(s, "the call is under way", s.mock.arrived)
	b.open("runs?status=running", "Runs")
	b.open("run/default/held", "Run held")
	b.shows("Call 1.1")
	s.mock.release()
	b.shows("Finished: succeeded")
	b.shows("Output is hidden here.")
	b.open("", "Overview")
	b.sees(`[...document.querySelectorAll(".tile")].some((t) => t.innerText.includes("Results kept") && t.innerText.includes("1"))`)
	for i := range 5 {
		s.publish(fmt.Sprint("more", i), body("say", "hello"))
	}
	b.sees(`[...document.querySelectorAll(".tile")].some((t) => t.innerText.includes("Results kept") && t.innerText.includes("6"))`)
}

// TestPageReplaysADeadLetter: a run failed by its backend runs again from the page, and its letter is gone.
func TestPageReplaysADeadLetter(t *testing.T) {
	s := start(t)
	s.mock.fail(http.StatusBadRequest)
	s.publish("unlucky", body("rate", "text"))
	s.ends("unlucky", schemas.StatusFailed)
	s.mock.fail(0)
	b := s.tab(web.Options{Token: pageToken})
	b.signIn()
	b.open("dead", "Dead letters")
	b.shows("unlucky")
	b.press("Look")
	b.press("Replay")
	b.sees(`document.getElementById("said").textContent.includes("queued again")`)
	b.shows("There is none.")
	b.open("run/default/unlucky", "Run unlucky")
	b.sees(`document.querySelector("main .pill").textContent === "succeeded"`)
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
}

// TestPageDecidesReviews: one run is approved, another edited; an edit that breaks the contract is told and decides nothing.
func TestPageDecidesReviews(t *testing.T) {
	s := reviewing(t)
	approved, edited := s.waits("one"), s.waits("two")
	b := s.tab(web.Options{Token: pageToken, Content: true})
	b.signIn()
	b.open("reviews/default/one", "Review of one")
	b.do(chromedp.SendKeys(chromedp.ID("#by"), "ann"))
	b.press("Approve")
	b.sees(`location.hash === "#/run/default/one"`)
	if r, _ := s.reply(approved); r.Status != schemas.StatusSucceeded || r.Review == nil || r.Review.By != "ann" || r.Review.Decision != schemas.DecisionApprove {
		t.Errorf("approved: %s %+v", r.Status, r.Review)
	}
	b.open("reviews/default/two", "Review of two")
	b.sees(`document.getElementById("by").value === "ann"`)
	b.write(`{"score": "still words"}`)
	b.sees(`document.querySelector(".diff .add")?.textContent.includes("still words") && document.querySelector(".diff .del") !== null`)
	b.press("Send the edit")
	b.sees(`document.getElementById("said").textContent.includes("score")`)
	b.write(`{"score": 7}`)
	b.shot("edit")
	b.press("Send the edit")
	b.sees(`location.hash === "#/run/default/two"`)
	if r, _ := s.reply(edited); r.Status != schemas.StatusSucceeded || string(r.Output) != `{"score":7}` || r.Review == nil || r.Review.Decision != schemas.DecisionEdit {
		t.Errorf("edited: %s %s %+v", r.Status, r.Output, r.Review)
	}
}

// write puts a text into the candidate's field, as a person's paste does.
func (b *browser) write(text string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const e = document.getElementById("edit"); e.value = %s; e.dispatchEvent(new Event("input", { bubbles: true })); })()`, inScript(text))))
}

// TestPageIsReadOnlyWithoutTheToken: nothing that acts is offered, a wrong token is told, and the right one is taken.
func TestPageIsReadOnlyWithoutTheToken(t *testing.T) {
	s := busy(t)
	b := s.tab(web.Options{Token: pageToken})
	b.open("dead", "Dead letters")
	b.shows("refused")
	b.do(chromedp.Click(`//tr[contains(., "refused")]//button`))
	b.shows("Sign in to replay or remove it.")
	b.open("reviews/default/asks", "Review of asks")
	b.shows("Sign in to decide.")
	for _, c := range []struct{ token, says string }{{"wrong", "this is not the page's token"}, {pageToken, "signed in"}} {
		b.do(chromedp.Click(chromedp.ID("#sign")), chromedp.WaitVisible(chromedp.ID("#token")), chromedp.SendKeys(chromedp.ID("#token"), c.token),
			chromedp.Click(chromedp.CSS(`#signin button[value=ok]`)))
		b.sees(`document.getElementById("said").textContent === ` + inScript(c.says))
	}
	b.shows("Content is hidden here")
}

// TestPageIsUsedByKeyboardAndScreenReader: from the top, by keys alone, to a filtered list and to a run; everything that acts
// has a name, and each view has one heading that is focused.
func TestPageIsUsedByKeyboardAndScreenReader(t *testing.T) {
	s := busy(t)
	b := s.tab(web.Options{Token: pageToken})
	b.open("", "Overview")
	b.shows("mock / default")
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.sees(`document.activeElement.id === "main"`)
	b.open("", "Overview")
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // skip, brand, overview, runs
	b.sees(`document.activeElement.tagName === "H1" && document.activeElement.textContent === "Runs"`)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("f"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.sees(`location.hash.includes("status=failed")`)
	b.sees(`[...document.querySelectorAll("main tbody tr")].length === 1`)
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if strings.HasPrefix(value[string](b, `document.activeElement.dataset.key ?? ""`), "run ") {
			break
		}
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees(`document.querySelector("h1").textContent === "Run refused"`)
	for _, v := range views {
		b.open(v.path, v.heading)
		if nameless := value[[]string](b, `[...document.querySelectorAll("a, button, input, select, textarea, [role=img]")].filter((e) => !(e.innerText?.trim() || e.textContent?.trim() || e.getAttribute("aria-label") || e.labels?.length || e.alt)).map((e) => e.outerHTML)`); len(nameless) > 0 {
			t.Errorf("%s: without a name: %q", v.name, nameless)
		}
		b.sees(`document.querySelectorAll("h1").length === 1 && document.querySelectorAll("main").length === 1 && document.documentElement.lang === "en"`)
	}
}

// TestPageShowsAPipelineAsATree: its stages by lane with their counts, while it runs and in its result.
func TestPageShowsAPipelineAsATree(t *testing.T) {
	s := newPipelines(t, nil)
	for i := 1; i <= 4; i++ {
		s.mock.answers[fmt.Sprintf("NAMES \\\"x line%d.", i)] = fmt.Sprintf(`["n%d"]`, i)
		s.mock.answers[fmt.Sprintf("NOTES %d", i)] = fmt.Sprintf(`[%d]`, i)
	}
	s.mock.answers["TIDY"] = `"tidied"`
	s.worker()
	b := s.tab(web.Options{})
	s.publishPipeline("tree", document(lines(3, "x")+lines(1, holdMark)))
	receive(s, "a job is held", s.mock.arrived)
	b.open("run/default/tree", "Run tree")
	b.shows("Lane names")
	b.shows("3 of 4")
	b.shot("pipeline-running")
	s.mock.release()
	s.ends("tree", schemas.StatusSucceeded)
	b.sees(`document.querySelector("main .pill").textContent === "succeeded"`)
	b.sees(`[...document.querySelectorAll(".tree li li")].filter((l) => l.innerText.includes("4 of 4") && l.innerText.includes("advanced")).length === 2`)
	b.shows("normalize")
	b.shot("pipeline")
	b.open("", "Overview")
	b.shows("pipelines / default")
	b.open("runs", "Runs")
	b.shows("pipeline digest@1")
}

// TestPageOfTenThousandRunsIsQuick prints how long each view takes with ten thousand results stored, as the browser sees it.
// Nothing is asserted of the times: docs/performance.md has them.
func TestPageOfTenThousandRunsIsQuick(t *testing.T) {
	s := start(t)
	const runs = 10_000
	for i := range runs {
		m := &nats.Msg{Subject: s.names.Result("default", fmt.Sprint("stored", i)), Header: nats.Header{}}
		m.Data = fmt.Appendf(nil, `{"id": "stored%d", "queue": "default", "status": "succeeded", "counts": {}, "source": {"prompt": "rate@1"}, "attempts": [], "timing_ms": {}, "request": {}}`, i)
		m.Header.Set(subjects.HeaderStatus, []string{schemas.StatusSucceeded, schemas.StatusInvalid}[i%2])
		m.Header.Set(subjects.HeaderPrompt, "rate@1")
		m.Header.Set(subjects.HeaderBackend, "mock")
		_, err := s.js.PublishMsgAsync(m)
		s.must(err)
	}
	<-s.js.PublishAsyncComplete()
	b := s.tab(web.Options{})
	b.open("", "Overview") // the first look begins to follow the space
	b.shows("mock / default")
	b.open("runs", "Runs")
	b.shows("stored9999")
	for _, v := range []struct{ path, shows string }{{"", "mock / default"}, {"runs", "stored9999"}, {"runs?status=invalid&prompt=rate&id=77", "stored9977"}, {"run/default/stored500", "stored500"}, {"dead", "There is none."}, {"backends", "open"}, {"prompts", "Nothing was judged yet."}} {
		took := value[float64](b, fmt.Sprintf(`new Promise((done) => {
			const began = performance.now(), main = document.getElementById("main");
			new MutationObserver((_, seen) => { if (main.innerText.includes(%s)) { seen.disconnect(); done(performance.now() - began); } }).observe(main, { childList: true, subtree: true, characterData: true });
			location.hash = "#/away"; location.hash = %s;
		})`, inScript(v.shows), inScript("#/"+v.path)))
		t.Logf("view %-45q %.0f ms", v.path, took)
	}
	calm := func(what string, d time.Duration) {
		var before, after syscall.Rusage
		s.must(syscall.Getrusage(syscall.RUSAGE_SELF, &before))
		<-time.After(d) // what is measured is what is spent in this time
		s.must(syscall.Getrusage(syscall.RUSAGE_SELF, &after))
		cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		t.Logf("%s: %.2f%% of a core by server, worker, mock and page together", what, 100*cpu.Seconds()/d.Seconds())
	}
	b.open("runs", "Runs")
	calm("page open on the list", 10*time.Second)
	b.do(chromedp.Navigate("about:blank"))
	calm("page closed", 10*time.Second)
}
