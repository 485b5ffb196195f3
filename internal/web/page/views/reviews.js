import { act, api, h, json, path, pointer, problem, session, swap, table, when } from "../lib.js";
import { diff } from "../diff.js";

export const title = ({ parts }) => (parts[1] ? `Review of ${parts[1]}` : "Reviews");

export async function show(place, { parts: [queue, id] }) {
  if (id) return one(place, queue, id);
  const queues = [...new Set((await api("status")).status?.queues.map((q) => q.queue) ?? [])].sort();
  const lists = await Promise.all(queues.map((q) => api("reviews/" + path(q))));
  const all = lists.flatMap((l) => l.reviews);
  place.replaceChildren(table("Runs that wait for a person, oldest first", [
    { label: "Run", class: "id", cell: (x) => h("a", { href: "#/reviews/" + path(x.queue, x.id) }, x.id) },
    { label: "Queue", cell: (x) => x.queue },
    { label: "Prompt", cell: (x) => x.prompt || "inline" },
    { label: "Class", cell: (x) => x.class },
    { label: "Findings", class: "n", cell: (x) => x.findings },
    { label: "Since", cell: (x) => when(x.since) },
  ], all, "Nothing waits for a person."), lists.some((l) => l.more) && h("p", { class: "dim" }, "There are more; they show as these are decided."));
}

const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };

async function one(place, queue, id) {
  const by = h("input", { id: "by", required: true, autocomplete: "name", size: 20, value: sessionStorage.getItem("emend-by") ?? "" }), note = h("input", { id: "note", size: 40 });
  if (!session.write) { place.replaceChildren(h("p", { class: "note" }, "Sign in to decide. ", h("a", { href: "#/run/" + path(queue, id) }, "What happened to the run")), await listed(queue, id)); return; }
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
    // The text itself goes out, so that numbers keep their digits.
    const send = decision === "edit" && !text ? raw(`reviews/${path(queue)}/decide`, body, edit.value) : () => api(`reviews/${path(queue)}/decide`, body);
    if (await act(e.currentTarget, send, (r) => `run ${r.id} is decided: ${r.status}`)) location.hash = "#/run/" + path(queue, id);
  };
  const raw = (where, body, output) => () => api(where, { ...body, output: JSON.rawJSON ? JSON.rawJSON(JSON.stringify(JSON.parse(output, keep))) : JSON.parse(output) });
  place.replaceChildren(
    d ? [h("p", {}, `Contract ${d.mode}; `, d.verdict?.class ?? d.class, ". ", h("a", { href: "#/run/" + path(queue, id) }, "What happened")),
      d.verdict?.findings?.length > 0 && h("ul", {}, d.verdict.findings.map((f) => h("li", {}, h("code", {}, pointer(f.pointer)), ` ${f.message}`))),
      h("div", { class: "two" }, h("section", { "aria-label": "Conversation" }, h("h2", {}, "Conversation"), d.messages.map((m) => [h("h3", {}, m.role), json(m.content)]), d.schema && h("details", {}, h("summary", {}, "Schema"), json(d.schema))),
        h("section", { "aria-label": "Candidate" }, h("h2", {}, h("label", { for: "edit" }, "Candidate")), h("p", { id: "edit-hint", class: "dim" }, "Correct it here; what you send is judged under the same contract."), edit, h("h3", {}, "What your edit changes"), compare))]
      : h("p", { class: "note" }, "Content is hidden here: you decide without seeing the candidate. ", h("a", { href: "#/run/" + path(queue, id) }, "What happened")),
    h("h2", {}, "Decision"), h("div", { class: "filter" }, h("label", {}, "Who decides", by), h("label", {}, "Note (optional)", note)),
    h("p", { class: "buttons" }, h("button", { class: "primary", onclick: decide("approve") }, "Approve"), d && h("button", { onclick: decide("edit") }, "Send the edit"), h("button", { class: "danger", onclick: decide("reject") }, "Reject")));
  if (edit) changes();
}

// keep has numbers go out with the digits that were typed, where the browser tells them.
function keep(_key, value, context) { return typeof value === "number" && context?.source !== undefined && JSON.rawJSON ? JSON.rawJSON(context.source) : value; }

async function listed(queue, id) {
  try {
    const x = (await api("reviews/" + path(queue))).reviews.find((r) => r.id === id);
    return x ? h("p", {}, `Prompt ${x.prompt || "inline"}, ${x.class}, ${x.findings} findings, since `, when(x.since)) : h("p", {}, "It does not wait any more.");
  } catch (e) { return problem(e); }
}
