// What all views share: elements, requests, words. Text goes into the page as text, never as markup.

export function h(tag, attrs = {}, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return e;
}
const svgTags = new Set(["svg", "path", "line", "rect", "text", "g"]);

// swap replaces what a place shows and keeps the keyboard where it was: elements with the same data-key are the same to a reader.
export function swap(place, ...children) {
  const at = document.activeElement, key = place.contains(at) ? at.dataset.key : undefined;
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

export const session = { title: "", write: false, content: false, token: false };
const held = () => sessionStorage.getItem("emend-token") ?? "";
export function hold(token) { token ? sessionStorage.setItem("emend-token", token) : sessionStorage.removeItem("emend-token"); }

export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

// keep has a number keep its digits where JavaScript would round them: it is shown, and sent, as it was written.
const keep = (_key, v, at) => (typeof v === "number" && at?.source !== undefined && String(v) !== at.source && JSON.rawJSON ? JSON.rawJSON(at.source) : v);
export const parse = (text) => JSON.parse(text, keep);

// pretty sets a JSON text apart into lines; one that is none, or that a browser would round, stays as it is.
export function pretty(text) {
  if (!JSON.rawJSON) return text;
  try { return JSON.stringify(parse(text), null, 2); } catch { return text; }
}

// api asks the program that serves the page. A body that is a text goes out as it is.
export async function api(path, body) {
  const headers = held() ? { Authorization: "Bearer " + held() } : {};
  const init = body === undefined ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: typeof body === "string" ? body : JSON.stringify(body) };
  let r;
  try { r = await fetch("api/" + path, init); } catch { throw new Refused(0, "the program that serves this page does not answer"); }
  const text = await r.text();
  let v;
  try { v = parse(text); } catch { v = { error: `an answer that is no JSON (status ${r.status})` }; }
  if (!r.ok) throw new Refused(r.status, v.error ?? `status ${r.status}`);
  return v;
}

export async function refreshSession() { Object.assign(session, await api("session")); }

export const path = (...parts) => parts.map(encodeURIComponent).join("/");
export const query = (o) => new URLSearchParams(Object.entries(o).filter(([, v]) => v)).toString();

export function say(text) {
  const p = document.getElementById("said");
  p.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (p.textContent = ""), 6000);
}

// ask has a person confirm what cannot be taken back.
export function ask(title, text, button) {
  const d = document.getElementById("ask");
  document.getElementById("ask-h").textContent = title;
  document.getElementById("ask-p").textContent = text;
  document.getElementById("ask-ok").textContent = button;
  d.returnValue = "cancel";
  d.showModal();
  return new Promise((done) => d.addEventListener("close", () => done(d.returnValue === "ok"), { once: true }));
}

// act does one thing that changes something, with its button held meanwhile, and says how it went.
export async function act(button, does, done) {
  button.disabled = true;
  try { say(done(await does())); return true; } catch (e) { say(e.message); return false; } finally { button.disabled = false; }
}

export const n = (x) => (x ?? 0).toLocaleString("en");
export const ms = (x) => (x === undefined || x === null ? "–" : x < 1000 ? `${x} ms` : x < 60000 ? `${(x / 1000).toFixed(x < 10000 ? 2 : 1)} s` : `${Math.floor(x / 60000)} min ${Math.round((x % 60000) / 1000)} s`);
export const span = (ns) => (ns > 0 ? ms(Math.round(ns / 1e6)) : "–");
export const clock = (t) => new Date(t).toLocaleTimeString("en-GB");
export const when = (t) => h("time", { datetime: t, title: t }, new Date(t).toLocaleString("en-GB"));
export const ago = (t) => { const s = Math.max(0, (Date.now() - Date.parse(t)) / 1000); return s < 60 ? `${Math.floor(s)} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`; };

const colours = { succeeded: "good", approved: "good", open: "good", unverified: "warn", invalid: "warn", rejected: "warn", waiting: "warn", in_review: "warn", slow: "warn", probing: "warn",
  failed: "bad", expired: "bad", closed: "bad", cancelled: "dim" };
export const colour = (word) => colours[word] ?? "dim";
export const pill = (word, live) => h("span", { class: `pill ${colour(word)}${live ? " live" : ""}` }, String(word).replaceAll("_", " "));
export const runLink = (queue, id) => h("a", { href: "#/run/" + path(queue, id), "data-key": `run ${queue}/${id}` }, id);

// table makes one; each column has a label and a cell. On small screens each row stacks, with its labels.
export function table(caption, columns, rows, empty) {
  if (!rows.length) return h("p", { class: "dim" }, empty);
  const row = (r) => h("tr", {}, columns.map((c, i) => {
    const attrs = { class: c.class, "data-label": i === 0 ? undefined : c.label };
    return i === 0 ? h("th", { ...attrs, scope: "row" }, c.cell(r)) : h("td", attrs, c.cell(r));
  }));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, "data-key": caption },
    h("table", { class: "stack" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.class }, c.label)))), h("tbody", {}, rows.map(row))));
}

export const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, v]) => v !== undefined && v !== null && v !== "").map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
export const problem = (e) => h("p", { class: "note bad", role: "alert" }, e.message ?? String(e));
export const json = (v) => h("pre", { tabindex: "0" }, typeof v === "string" ? v : JSON.stringify(v, null, 2));

// pointer shows an RFC 6901 pointer as people read it.
export function pointer(p) {
  if (!p) return "(whole answer)";
  return p.split("/").slice(1).map((t) => t.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((t, i) => (/^\d+$/.test(t) ? `[${t}]` : /^[\w*-]+$/.test(t) ? (i ? "." : "") + t : `["${t}"]`)).join("");
}

// every calls fn now and then, while the view stands and somebody can see it; stop ends it.
export function every(seconds, fn) {
  let stopped = false, timer;
  const round = async () => {
    if (stopped) return;
    if (document.visibilityState === "visible") await fn();
    if (!stopped) timer = setTimeout(round, seconds * 1000);
  };
  round();
  return () => { stopped = true; clearTimeout(timer); };
}
