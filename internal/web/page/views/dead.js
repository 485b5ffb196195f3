import { act, api, ask, h, json, n, path, problem, query, runLink, session, swap, table, when } from "../lib.js";

export const title = () => "Dead letters";

export async function show(place, { params }) {
  const queues = [...new Set((await api("status")).status?.queues.map((q) => q.queue) ?? [])].sort();
  const queue = params.queue ?? queues[0] ?? "default", list = h("div"), more = h("p", { class: "buttons" }), detail = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "filter", onsubmit: (e) => { e.preventDefault(); location.hash = "#/dead?" + query(Object.fromEntries(new FormData(form))); } },
    h("label", {}, "Queue", h("select", { name: "queue" }, queues.map((q) => h("option", { value: q, selected: q === queue }, q)))),
    h("label", {}, "Reason", h("input", { name: "reason", value: params.reason ?? "", placeholder: "invalid_request", size: 16 })), h("button", { class: "primary" }, "Show"));
  swap(place, form, list, more, detail);
  await draw();

  async function draw() {
    try {
      const r = await api(`dead/${path(queue)}?` + query({ reason: params.reason, after: params.after }));
      swap(list, table(`Dead letters of queue ${queue}, oldest first`, [
        { label: "Run", class: "id", cell: (x) => runLink(x.queue, x.id) },
        { label: "Reason", cell: (x) => [x.reason || "–", x.error && h("span", { class: "dim" }, ` ${x.error}`)] },
        { label: "Backend", cell: (x) => (x.pipeline ? `pipeline ${x.pipeline}` : x.backend || "–") },
        { label: "Given up", cell: (x) => when(x.at) },
        { label: "Bytes", class: "n", cell: (x) => n(x.bytes) },
        { label: "Details", class: "wide", cell: (x) => h("button", { type: "button", "data-key": `open ${x.seq}`, onclick: () => open(x) }, "Look") },
      ], r.letters, "There is none. A request that no run could be made of, and every run that failed, would be here."));
      swap(more, r.more && h("a", { href: "#/dead?" + query({ queue, reason: params.reason, after: r.after }) }, "Further"));
    } catch (e) { swap(list, problem(e)); }
  }

  async function open(x) {
    const field = (name, label, hint) => h("label", {}, label, h("input", { name, placeholder: hint, size: 18, spellcheck: "false" }));
    const replay = h("form", { class: "filter", onsubmit: async (e) => {
      e.preventDefault();
      const b = replay.querySelector("button"), over = Object.fromEntries([...new FormData(replay)].filter(([, v]) => v));
      if (await act(b, () => api(`dead/${path(queue)}/replay`, { id: x.id, seq: x.seq, ...over }), (r) => `run ${r.id} is queued again ${r.backend ? `on ${r.backend}` : "as a pipeline run"}`)) { swap(detail); await draw(); }
    } }, field("prompt", "Other prompt version", "id@version"), field("profile", "Other profile", ""), field("backend", "Other backend", ""), h("button", { class: "primary" }, "Replay"));
    const purge = h("button", { type: "button", class: "danger", onclick: async () => {
      if (await ask("Remove this dead letter?", `The request of run ${x.id} is removed for good and cannot be replayed.`, "Remove it") && await act(purge, () => api(`dead/${path(queue)}/purge`, { id: x.id, seq: x.seq }), (r) => `${r.removed} removed`)) { swap(detail); await draw(); }
    } }, "Remove");
    const content = h("div");
    swap(detail, h("h2", { tabindex: "-1" }, `Dead letter of ${x.id}`), h("p", {}, `${x.reason || "no reason told"}; given up `, when(x.at)),
      session.write ? [replay, h("p", { class: "buttons" }, purge)] : h("p", { class: "dim" }, "Sign in to replay or remove it."), content);
    detail.querySelector("h2").focus();
    if (session.content) {
      try { const d = await api(`dead/${path(queue, x.id)}?seq=${x.seq}`); swap(content, h("h3", {}, "Request"), json(d.request ?? d.body_base64 ?? "larger than an answer may be")); } catch (e) { swap(content, problem(e)); }
    }
  }
}
