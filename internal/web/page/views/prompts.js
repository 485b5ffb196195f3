import { api, every, h, n, problem, swap, table } from "../lib.js";

export const title = () => "Prompts";

export function show(place) {
  const list = h("div");
  swap(place, h("p", { class: "dim" }, "Candidates that were judged since the workers started. A failure rate that moves is the first sign of a model that changed."), list);
  return every(3, async () => {
    try { draw((await api("status")).status); } catch (e) { swap(list, problem(e)); }
  });

  function draw(s) {
    const sum = new Map();
    for (const w of s?.workers ?? []) for (const [prompt, v] of Object.entries(w.verdicts ?? {})) {
      const t = sum.get(prompt) ?? { prompt, candidates: 0, invalid: 0, mended: 0, keywords: {} };
      t.candidates += v.candidates; t.invalid += v.invalid; t.mended += v.mended ?? 0;
      for (const [k, c] of Object.entries(v.keywords ?? {})) t.keywords[k] = (t.keywords[k] ?? 0) + c;
      sum.set(prompt, t);
    }
    const rows = [...sum.values()].sort((a, b) => b.invalid / Math.max(1, b.candidates) - a.invalid / Math.max(1, a.candidates) || a.prompt.localeCompare(b.prompt));
    swap(list, table("Prompts, the highest failure rate first", [
      { label: "Prompt", class: "id", cell: (p) => h("a", { href: "#/runs?prompt=" + encodeURIComponent(p.prompt), "data-key": p.prompt }, p.prompt) },
      { label: "Candidates", class: "n", cell: (p) => n(p.candidates) },
      { label: "Invalid", class: "n", cell: (p) => n(p.invalid) },
      { label: "Mended", class: "n", cell: (p) => n(p.mended) },
      { label: "Failure rate", cell: (p) => [h("meter", { min: 0, max: 1, low: 0.02, high: 0.2, optimum: 0, value: p.candidates ? p.invalid / p.candidates : 0, "aria-label": "Failure rate of " + p.prompt }), ` ${p.candidates ? ((100 * p.invalid) / p.candidates).toFixed(1) : "0"} %`] },
      { label: "By keyword", class: "wide", cell: (p) => Object.entries(p.keywords).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([k, c]) => `${k} ${n(c)}`).join(", ") || "–" },
    ], rows, "Nothing was judged yet."));
  }
}
