import { h } from "./lib.js";

const W = 300, H = 80;

// chart draws numbers over time as a line, with its latest number and a sentence for who does not see it.
export function chart(title, points, unit = "") {
  const values = points.map((p) => p.y), most = Math.max(1, ...values), last = values.at(-1) ?? 0;
  const from = points[0]?.x ?? 0, width = Math.max(1, (points.at(-1)?.x ?? 1) - from);
  const xy = points.map((p) => `${(((p.x - from) / width) * W).toFixed(1)} ${(H - 2 - (p.y / most) * (H - 8)).toFixed(1)}`);
  const line = xy.length > 1 ? "M" + xy.join("L") : "";
  const words = `${title}: now ${short(last)}${unit}, at most ${short(most)}${unit} in the last ${Math.max(1, Math.round(width / 60000))} min`;
  return h("figure", { class: "card" },
    h("figcaption", {}, title, h("b", {}, short(last) + unit)),
    h("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
      h("line", { class: "axis", x1: 0, y1: H - 2, x2: W, y2: H - 2 }),
      line && h("path", { class: "area", d: `${line}L${W} ${H - 2}L0 ${H - 2}Z` }),
      line && h("path", { class: "line", d: line })));
}

export const short = (x) => (x >= 1e6 ? (x / 1e6).toFixed(1) + " M" : x >= 1e4 ? (x / 1e3).toFixed(1) + " k" : x >= 100 || Number.isInteger(x) ? String(Math.round(x)) : x.toFixed(1));

// rate turns a number that only grows into so many a second.
export function rate(samples, of) {
  const out = [];
  for (let i = 1; i < samples.length; i++) {
    const s = (Date.parse(samples[i].at) - Date.parse(samples[i - 1].at)) / 1000;
    if (s > 0) out.push({ x: Date.parse(samples[i].at), y: Math.max(0, (of(samples[i]) - of(samples[i - 1])) / s) });
  }
  return out;
}

export const level = (samples, of) => samples.map((s) => ({ x: Date.parse(s.at), y: of(s) }));

// gantt draws the spans of one run: what waited, what called, and how it ended.
export function gantt(spans, total) {
  if (!spans.length || total <= 0) return null;
  const row = 20, left = 118, width = 640, label = (t) => (t < 1000 ? `${Math.round(t)} ms` : `${(t / 1000).toFixed(1)} s`);
  const x = (t) => left + (t / total) * (width - left - 60);
  return h("svg", { class: "gantt", viewBox: `0 0 ${width} ${spans.length * row + 4}`, role: "img", "aria-label": `Calls and waits over ${label(total)}; the list below tells the same` },
    spans.map((s, i) => [
      h("text", { x: 0, y: i * row + 14 }, s.name),
      h("rect", { class: "bar " + s.kind, x: x(s.from).toFixed(1), y: i * row + 4, width: Math.max(2, x(s.to) - x(s.from)).toFixed(1), height: row - 8, rx: 2 }),
      h("text", { class: "t", x: (Math.max(x(s.to), x(s.from) + 2) + 4).toFixed(1), y: i * row + 14 }, label(s.to - s.from)),
    ]));
}
