import { act, api, ask, colour, facts, h, json, ms, n, path, pill, pointer, problem, session, swap, when } from "../lib.js";
import { gantt } from "../chart.js";

export const title = ({ parts }) => `Run ${parts[1] ?? ""}`;

export async function show(place, { parts: [queue, id] }, { left }) {
  const head = h("div"), tree = h("div"), bars = h("div"), line = h("ol", { class: "timeline", "aria-label": "What happened, in order" }), result = h("div");
  let events = new Map(), detail = {}, timer;
  const live = new EventSource(`api/runs/${path(queue, id)}/events`);
  const end = () => { live.close(); clearTimeout(timer); };
  live.addEventListener("ready", () => read()); // what was before is read once all that follows is heard
  live.onmessage = (m) => {
    const e = JSON.parse(m.data);
    note(e);
    draw();
    if (["finished", "escalated", "waiting", "started"].includes(e.kind)) { clearTimeout(timer); timer = setTimeout(read, 400); }
  };
  swap(place, head, tree, h("h2", {}, "Time line"), bars, line, result);

  async function read() {
    try {
      detail = await api("runs/" + path(queue, id));
      detail.events.forEach(note);
      draw();
    } catch (e) { if (!left()) swap(head, problem(e)); }
  }

  function note(e) { events.set([e.delivery, e.worker, e.seq, e.kind, e.at].join(" "), e); }

  function draw() {
    if (left()) { end(); return; }
    const all = [...events.values()].sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.delivery ?? 0) - (b.delivery ?? 0) || a.seq - b.seq);
    const r = detail.result, state = r?.status ?? stateOf(detail.progress, all), began = all[0]?.at;
    swap(head, h("p", {}, pill(state, !r), " ", h("span", { class: "dim" }, `queue ${queue}`), why(detail.progress)), stop(state), summary(r, all));
    swap(tree, stages(r, all));
    const { spans, total } = spansOf(all);
    swap(bars, gantt(spans, total));
    swap(line, all.length ? all.map((e) => item(e, began)) : h("li", {}, "No events are kept of it. A run that is queued has none yet; those of old runs have passed their age."));
    swap(result, r && outcome(r));
  }

  function stop(state) {
    if (detail.result || !session.write || state === "not_found") return null;
    return h("p", { class: "buttons" }, h("button", { class: "danger", "data-key": "cancel", onclick: async (e) => {
      const b = e.currentTarget;
      if (await ask("Cancel this run?", `Run ${id} ends as cancelled. A call that is under way is aborted and may be billed.`, "Cancel the run"))
        act(b, () => api(`runs/${path(queue, id)}/cancel`, {}), (x) => (x.cancelled ? "cancelled" : `it had ended before: ${x.status}`)).then(read);
    } }, "Cancel the run"));
  }

  function why(p) {
    if (!p) return null;
    return h("span", {}, p.cause && h("span", { class: "warn" }, ` ${p.cause}`), p.place ? ` ${n(p.place)} ahead` : "", p.state === "in_review" && [" ", h("a", { href: "#/reviews/" + path(queue, id) }, "decide")]);
  }
  return end;
}

function stateOf(progress, events) {
  const last = events.at(-1);
  if (last && ["started", "attempt_started", "attempt", "retry", "validation", "repair", "stage", "validator"].includes(last.kind)) return "running";
  return progress?.state ?? "unknown";
}

function summary(r, events) {
  const first = events.find((e) => e.kind === "started") ?? {}, c = r?.counts ?? {}, s = r?.source ?? first;
  return facts([["Prompt", s.prompt], ["Pipeline", r?.pipeline?.pipeline ?? events.find((e) => e.pipeline)?.pipeline], ["Backend", s.backend && `${s.backend} ${s.model ?? ""}`], ["Worker", s.worker],
    ["Error", r?.error && h("span", { class: "bad" }, `${r.error.category}: ${r.error.message}`)],
    ["Calls", r && `${n(c.calls)} (${n(c.retries)} retries, ${n(c.repairs)} repairs, ${n(c.corrections)} corrections)`],
    ["Tokens", r?.usage && `${n(r.usage.input_tokens)} in, ${n(r.usage.output_tokens)} out`],
    ["Cost", r?.cost && (r.cost.usd === undefined ? "unknown" : `$${r.cost.usd}${r.cost.state === "partial" ? ", of which more is not known" : ""}`)],
    ["Time", r && `${ms(r.timing_ms.total)} (queued ${ms(r.timing_ms.queued)}, waiting ${ms(r.timing_ms.waiting)}, model ${ms(r.timing_ms.model)})`],
    ["Decided", r?.review && `${r.review.decision} by ${r.review.by}`]]);
}

// spansOf are waits and calls as spans from the first event.
function spansOf(events) {
  if (!events.length) return { spans: [], total: 0 };
  const t0 = Date.parse(events[0].at), spans = [];
  let total = 1;
  for (const e of events) {
    const at = Date.parse(e.at) - t0;
    total = Math.max(total, at);
    const who = e.validator ? "judge" : `call ${e.generation}.${e.attempt}`;
    if (e.kind === "attempt" && e.duration_ms !== undefined) spans.push({ name: who, kind: e.outcome !== "completed" ? "bad" : e.validator ? "judge" : "", from: Math.max(0, at - e.duration_ms), to: at });
    if ((e.kind === "retry" || e.kind === "waiting") && e.wait_ms > 0) { spans.push({ name: e.kind === "retry" ? "before retry" : "handed back", kind: "wait", from: at, to: at + e.wait_ms }); total = Math.max(total, at + e.wait_ms); }
  }
  return { spans: spans.slice(-60), total };
}

function item(e, began) {
  const [text, kind] = words(e);
  const at = Date.parse(e.at) - Date.parse(began);
  return h("li", { class: kind }, h("span", { class: "at", title: e.at }, "+" + ms(Math.max(0, at))), text,
    e.findings?.length > 0 && h("ul", {}, e.findings.map((f) => h("li", {}, h("code", {}, pointer(f.pointer)), ` ${f.keyword} `, f.expected !== undefined && h("code", {}, JSON.stringify(f.expected))))));
}

// words says what an event tells, and how good that is.
function words(e) {
  const who = e.validator ? `judge ${e.validator}: ` : "";
  switch (e.kind) {
    case "started": return [`Started by ${e.worker ?? "a worker"}${e.backend ? ` on ${e.backend}` : ""}${e.delivery > 1 ? `, delivery ${e.delivery}` : ""}`, ""];
    case "attempt_started": return [`${who}Call ${e.generation}.${e.attempt} (${e.generation_kind ?? "initial"})`, ""];
    case "attempt": return e.outcome === "completed" ? [`${who}Answered in ${ms(e.duration_ms)}${e.usage ? `, ${n(e.usage.input_tokens)} tokens in, ${n(e.usage.output_tokens)} out` : ""}`, "good"]
      : [`${who}${e.outcome}${e.status ? ` ${e.status}` : ""} after ${ms(e.duration_ms)}`, "bad"];
    case "retry": return [`${who}Retry in ${ms(e.wait_ms)} after ${e.outcome || e.cause || "a failure"}${e.status ? ` ${e.status}` : ""}`, "warn"];
    case "validation": return e.outcome === "ok" ? [`${who}Valid${e.mended ? ` (mended locally: ${e.mended})` : ""}`, "good"] : [`${who}Invalid: ${e.outcome}`, "warn"];
    case "repair": return [`Repair: ${e.outcome}`, "warn"];
    case "stage": return e.pipeline || e.stage ? [`Stage ${e.stage}${e.lane ? ` in lane ${e.lane}` : ""}: ${e.outcome}${e.jobs ? `, ${n(e.jobs.done)} of ${n(e.jobs.total)}` : ""}`, e.outcome === "rejected" || e.outcome === "failed" ? "bad" : ""] : [`Stage attempt ${e.stage_attempt}: ${e.outcome}`, "warn"];
    case "validator": return [`Validator ${e.validator}: ${e.outcome}${e.cause ? ` (${e.cause})` : ""}`, colour(e.outcome)];
    case "waiting": return [`Handed back for ${ms(e.wait_ms)}: ${e.cause ?? ""}`, "warn"];
    case "escalated": return [`Stayed invalid: ${({ none: "nobody is set up to look at it", judge: "the judges are asked", review: "waits for a person" })[e.outcome] ?? e.outcome}`, "warn"];
    case "superseded": return ["Superseded: another result stands; these calls are on the bill", "warn"];
    case "finished": return [`Finished: ${e.outcome}${e.category ? ` (${e.category})` : ""}`, colour(e.outcome)];
  }
  return [e.kind, ""];
}

// stages shows a pipeline's stages as a tree: from the result when there is one, else from its events.
function stages(r, events) {
  let list = r?.pipeline?.stages;
  if (!list) {
    const latest = new Map();
    for (const e of events) if (e.kind === "stage" && e.stage) latest.set(`${e.lane ?? ""}/${e.stage}`, { stage: e.stage, lane: e.lane, jobs: e.jobs, decision: e.outcome });
    list = [...latest.values()];
  }
  if (!list.length) return null;
  const lanes = [...new Set(list.map((s) => s.lane ?? ""))];
  const node = (s) => h("li", {}, h("b", {}, s.stage), " ", s.jobs && [h("progress", { max: Math.max(1, s.jobs.total), value: s.jobs.done, "aria-label": `${s.stage} ${s.lane ?? ""}` }), ` ${n(s.jobs.done)} of ${n(s.jobs.total)} `,
    s.jobs.reused ? h("span", { class: "dim" }, `${n(s.jobs.reused)} reused `) : "", s.jobs.rejected ? h("span", { class: "warn" }, `${n(s.jobs.rejected)} rejected `) : "", s.jobs.failed ? h("span", { class: "bad" }, `${n(s.jobs.failed)} failed `) : ""], s.decision && pill(s.decision));
  return [h("h2", {}, "Pipeline"), h("ul", { class: "tree", "aria-label": "Stages by lane" }, lanes.map((l) => (l ? h("li", {}, `Lane ${l}`, h("ul", {}, list.filter((s) => s.lane === l).map(node))) : list.filter((s) => !s.lane).map(node))))];
}

function outcome(r) {
  const v = r.validation;
  return [h("h2", {}, "Result"), v && h("p", {}, `Contract ${v.mode}: `, pill(v.valid ? "valid" : "invalid"), v.class && v.class !== "ok" ? ` ${v.class}` : "", v.rules ? `, rules ${v.rules}` : ""),
    v?.validators?.length > 0 && h("ul", {}, v.validators.map((x) => h("li", {}, `${x.name}: `, pill(x.outcome), x.reasons?.length ? " " + x.reasons.map((y) => y.code).join(", ") : ""))),
    v?.findings?.length > 0 && h("ul", {}, v.findings.map((f) => h("li", {}, f.message))),
    r.warnings?.length > 0 && h("ul", { class: "warn" }, r.warnings.map((w) => h("li", {}, w))),
    "output" in r || "output_text" in r ? [h("h3", {}, "Output"), json(r.output_text ?? r.output)] : h("p", { class: "dim" }, session.content ? "It has no output." : "Output is hidden here."),
    h("details", {}, h("summary", {}, "The record"), json(r)), h("p", { class: "dim" }, "Request ", r.request?.seq ? `#${n(r.request.seq)}` : "", r.request?.sha256 ? `, sha256 ${r.request.sha256.slice(0, 12)}…` : "")];
}
