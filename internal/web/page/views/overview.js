import { ago, api, every, h, n, pill, problem, span, swap, table } from "../lib.js";
import { chart, level, rate } from "../chart.js";

export const title = () => "Overview";

export function show(place) {
  const trouble = h("div"), tiles = h("dl", { class: "tiles" }), charts = h("div", { class: "charts" }), queues = h("div"), workers = h("div");
  swap(place, trouble, tiles, h("h2", {}, "Last minutes"), charts, h("h2", {}, "Queues"), queues, h("h2", {}, "Workers"), workers);
  return every(2, async () => {
    try { draw(await api("status")); } catch (e) { swap(trouble, problem(e)); }
  });

  function draw({ status: s, samples, error }) {
    swap(trouble, error && h("p", { class: "note bad", role: "alert" }, `What is shown may be old: ${error}`), s && troubles(s));
    if (!s) return;
    const now = samples.at(-1) ?? {};
    swap(tiles, [["Queued", now.queued, "#/"], ["In flight", now.in_flight, "#/runs?status=running"], ["Calls under way", now.calls, "#/backends"], ["Results kept", s.results, "#/runs"],
      ["Dead letters", s.dead, "#/dead"], ["Wait for a person", s.reviews, "#/reviews"]].map(([name, x, to]) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("a", { href: to, "data-key": name }, n(x))))));
    swap(charts, chart("Results", rate(samples, (x) => x.results), " /s"), chart("Queued", level(samples, (x) => x.queued)), chart("In flight", level(samples, (x) => x.in_flight)),
      chart("Calls under way", level(samples, (x) => x.calls)), chart("Dead letters", rate(samples, (x) => x.dead), " /s"));
    swap(queues, table("Queues by backend", [
      { label: "Backend / queue", cell: (q) => `${q.backend || "pipelines"} / ${q.queue}` },
      { label: "Queued", class: "n", cell: (q) => n(q.queued) },
      { label: "In flight", class: "n", cell: (q) => (q.limit > 0 ? `${n(q.in_flight)} of ${n(q.limit)}` : n(q.in_flight)) },
      { label: "Redelivered", class: "n", cell: (q) => n(q.redelivered) },
      { label: "Oldest", class: "n", cell: (q) => span(q.oldest_ns) },
    ], s.queues, "No queue is set up yet."));
    swap(workers, table("Workers", [
      { label: "Worker", cell: (w) => w.id },
      { label: "Version", cell: (w) => w.version },
      { label: "Up", class: "n", cell: (w) => ago(w.started) },
      { label: "Gates", class: "wide", cell: (w) => Object.entries(w.gates ?? {}).map(([b, g]) => h("span", { class: "gate" }, `${b} `, pill(g.state.phase.toLowerCase()), " ")) },
    ], s.workers, "No worker answers: runs stay queued until one is there."));
  }

  function troubles(s) {
    const shut = new Map();
    for (const w of s.workers) for (const [b, g] of Object.entries(w.gates ?? {})) if (g.state.phase.toLowerCase() === "closed") shut.set(b, g.state);
    return [...shut].map(([b, g]) => h("p", { class: "note" }, h("b", {}, b), ` is closed: ${g.cause || "no cause told"}. Its runs wait; nothing is lost.`));
  }
}
