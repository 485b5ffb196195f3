import { api, every, h, path, pill, problem, query, runLink, swap, table, when } from "../lib.js";

export const title = () => "Runs";

const statuses = ["running", "succeeded", "unverified", "invalid", "rejected", "failed", "expired", "cancelled"];

export function show(place, { params }) {
  const f = { backend: params.backend ?? "", queue: params.queue ?? "", prompt: params.prompt ?? "", status: params.status ?? "", id: params.id ?? "" };
  const list = h("div"), more = h("p", { class: "buttons" });
  const go = (over) => { location.hash = "#/runs?" + query({ ...f, ...over }); };
  const field = (name, label) => h("label", {}, label, h("input", { name, value: f[name], spellcheck: "false", autocomplete: "off", size: 14 }));
  const form = h("form", { class: "filter", role: "search", onsubmit: (e) => { e.preventDefault(); go({ ...Object.fromEntries(new FormData(form)), before: "" }); } },
    h("label", {}, "Status", h("select", { name: "status" }, h("option", { value: "" }, "all"), statuses.map((s) => h("option", { value: s, selected: f.status === s }, s)))),
    field("backend", "Backend"), field("queue", "Queue"), field("prompt", "Prompt"), field("id", "Part of the id"), h("button", { class: "primary" }, "Filter"));
  const open = h("form", { class: "filter", onsubmit: (e) => { e.preventDefault(); const d = new FormData(open); location.hash = "#/run/" + path(d.get("q"), d.get("i")); } },
    h("label", {}, "Queue", h("input", { name: "q", value: "default", required: true, size: 10 })), h("label", {}, "Any run by its id", h("input", { name: "i", required: true, size: 26, spellcheck: "false" })), h("button", {}, "Open"));
  swap(place, form, list, more, h("h2", {}, "One run"), open);
  const draw = async () => {
    try {
      const r = await api("runs?" + query({ ...f, before: params.before }));
      swap(list, table(params.before ? "Runs, newest first, continued" : "Runs, newest first", [
        { label: "Run", class: "id", cell: (x) => runLink(x.queue, x.id) },
        { label: "Status", cell: (x) => pill(x.status, x.status === "running") },
        { label: "Queue", cell: (x) => x.queue },
        { label: "Prompt", cell: (x) => x.prompt || (x.pipeline ? `pipeline ${x.pipeline}` : "inline") },
        { label: "Backend", cell: (x) => x.backend || "–" },
        { label: "Time", class: "wide", cell: (x) => when(x.at) },
      ], r.runs, "No run among the latest ten thousand fits."));
      swap(more, params.before && h("a", { href: "#/runs?" + query(f), "data-key": "newest" }, "Newest"), r.next && h("a", { href: "#/runs?" + query({ ...f, before: r.next }), "data-key": "older" }, "Older"));
    } catch (e) { swap(list, problem(e)); }
  };
  return params.before ? (draw(), undefined) : every(3, draw);
}
