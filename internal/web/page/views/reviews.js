import { act, api, h, json, path, pretty, problem, session, swap, table, when } from "../lib.js";
import { diff } from "../diff.js";

export const title = ({ parts }) => (parts[1] ? `Review of ${parts[1]}` : "Reviews");

export async function show(place, { parts: [queue, id] }) {
  if (id) return one(place, queue, id);
  const queues = [...new Set((await api("status")).status?.queues.map((q) => q.queue) ?? [])].sort();
  const lists = await Promise.all(queues.map((q) => api("reviews/" + path(q))));
  const all = lists.flatMap((l) => l.reviews);
  swap(place, table("Runs that wait for a person, oldest first", [
    { label: "Run", class: "id", cell: (x) => h("a", { href: "#/reviews/" + path(x.queue, x.id) }, x.id) },
    { label: "Queue", cell: (x) => x.queue },
    { label: "Prompt", cell: (x) => x.prompt || "inline" },
    { label: "Class", cell: (x) => x.class },
    { label: "Findings", class: "n", cell: (x) => x.findings },
    { label: "Since", cell: (x) => when(x.since) },
  ], all, "Nothing waits for a person."), lists.some((l) => l.more) && h("p", { class: "dim" }, "There are more; they show as these are decided."));
}

async function one(place, queue, id) {
  const by = h("input", { id: "by", required: true, autocomplete: "name", size: 20, value: sessionStorage.getItem("emend-by") ?? "" }), note = h("input", { id: "note", size: 40 });
  if (!session.write) { swap(place, h("p", { class: "note" }, "Sign in to decide. ", h("a", { href: "#/run/" + path(queue, id) }, "What happened to the run")), await listed(queue, id)); return; }
  const d = session.content ? await api("reviews/" + path(queue, id)) : null;
  const text = d?.mode === "text" || d?.mode === "none", candidate = d && (text ? d.candidate : pretty(d.candidate));
  const edit = d && h("textarea", { id: "edit", spellcheck: "false", "aria-describedby": "edit-hint", oninput: () => changes() });
  if (edit) edit.value = candidate;
  const compare = h("pre", { class: "diff", tabindex: "0", "aria-label": "What your edit changes" });
  const changes = () => swap(compare, diff(candidate, edit.value).map(([op, l]) => h("span", { class: op === "+" ? "add" : op === "-" ? "del" : "" }, `${op} ${l}`)));
  const decide = (decision) => async (e) => {
    if (!by.reportValidity()) return;
    sessionStorage.setItem("emend-by", by.value);
    const body = { id, seq: d?.seq, decision, by: by.value, note: note.value || undefined };
    if (decision === "edit") {
      if (text) body.output_text = edit.value;
      else { try { JSON.parse(edit.value); } catch (err) { edit.setCustomValidity("This is no JSON: " + err.message); edit.reportValidity(); edit.setCustomValidity(""); return; } }
    }
    // The text of an edit goes out as it was typed, so that numbers keep their digits.
    const say = JSON.stringify(body), send = decision === "edit" && !text ? `${say.slice(0, -1)},"output":${edit.value}}` : say;
    if (await act(e.currentTarget, () => api(`reviews/${path(queue)}/decide`, send), (r) => `run ${r.id} is decided: ${r.status}`)) location.hash = "#/run/" + path(queue, id);
  };
  swap(place, 
    d ? [h("p", {}, `Contract ${d.mode}; `, d.verdict?.class ?? d.class, ". ", h("a", { href: "#/run/" + path(queue, id) }, "What happened")),
      d.verdict?.findings?.length > 0 && h("ul", {}, d.verdict.findings.map((f) => h("li", {}, f.message))),
      h("div", { class: "two" }, h("section", { "aria-label": "Conversation" }, h("h2", {}, "Conversation"), d.messages.map((m) => [h("h3", {}, m.role), json(m.content)]), d.schema && h("details", {}, h("summary", {}, "Schema"), json(d.schema))),
        h("section", { "aria-label": "Candidate" }, h("h2", {}, h("label", { for: "edit" }, "Candidate")), h("p", { id: "edit-hint", class: "dim" }, "Correct it here; what you send is judged under the same contract."), edit, h("h3", {}, "What your edit changes"), compare))]
      : h("p", { class: "note" }, "Content is hidden here: you decide without seeing the candidate. ", h("a", { href: "#/run/" + path(queue, id) }, "What happened")),
    h("h2", {}, "Decision"), h("div", { class: "filter" }, h("label", {}, "Who decides", by), h("label", {}, "Note (optional)", note)),
    h("p", { class: "buttons" }, h("button", { class: "primary", onclick: decide("approve") }, "Approve"), d && h("button", { onclick: decide("edit") }, "Send the edit"), h("button", { class: "danger", onclick: decide("reject") }, "Reject")));
  if (edit) changes();
}

async function listed(queue, id) {
  try {
    const x = (await api("reviews/" + path(queue))).reviews.find((r) => r.id === id);
    return x ? h("p", {}, `Prompt ${x.prompt || "inline"}, ${x.class}, ${x.findings} findings, since `, when(x.since)) : h("p", {}, "It does not wait any more.");
  } catch (e) { return problem(e); }
}
