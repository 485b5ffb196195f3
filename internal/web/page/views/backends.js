import { api, clock, every, h, n, pill, problem, swap, table } from "../lib.js";

export const title = () => "Backends";

export function show(place) {
  return every(2, async () => {
    try { draw((await api("status")).status); } catch (e) { swap(place, problem(e)); }
  });

  function draw(s) {
    const rows = (s?.workers ?? []).flatMap((w) => Object.entries(w.gates ?? {}).map(([backend, g]) => ({ backend, worker: w.id, g }))).sort((a, b) => a.backend.localeCompare(b.backend) || a.worker.localeCompare(b.worker));
    const of = (x, most) => (most ? `${n(x)} of ${n(most)}` : n(x));
    swap(place, table("Gates, by backend and worker", [
      { label: "Backend", cell: (r) => r.backend },
      { label: "Worker", cell: (r) => r.worker },
      { label: "Gate", class: "wide", cell: ({ g }) => [pill(g.state.phase.toLowerCase()), g.state.limit ? ` at ${g.state.limit}` : "", g.state.cause ? h("span", { class: "warn" }, ` ${g.state.cause}`) : "",
        g.state.phase.toLowerCase() === "closed" && g.state.until && !g.state.until.startsWith("0001") ? h("span", { class: "dim" }, ` until ${clock(g.state.until)}`) : ""] },
      { label: "Calls", class: "n", cell: ({ g }) => of(g.permits_in_use, g.permits) },
      { label: "Admitted", class: "n", cell: ({ g }) => of(g.admitted_in_use, g.admitted) },
      { label: "Waiting", class: "n", cell: ({ g }) => n(g.waiting) },
      { label: "Answered", class: "n", cell: ({ g }) => n(g.reports.answered) },
      { label: "Throttled", class: "n", cell: ({ g }) => n(g.reports.throttled) },
      { label: "Unavailable", class: "n", cell: ({ g }) => n(g.reports.unavailable) },
      { label: "Refused", class: "n", cell: ({ g }) => n(g.reports.account) },
    ], rows, "No worker answers."));
  }
}
