import { h, hold, problem, refreshSession, say, session, swap } from "./lib.js";
import * as overview from "./views/overview.js";
import * as runs from "./views/runs.js";
import * as run from "./views/run.js";
import * as dead from "./views/dead.js";
import * as reviews from "./views/reviews.js";
import * as backends from "./views/backends.js";
import * as prompts from "./views/prompts.js";

// Each view shows itself in a place and returns what ends it.
const views = { "": overview, runs, run, dead, reviews, backends, prompts };
const nav = [["", "Overview"], ["runs", "Runs"], ["dead", "Dead letters"], ["reviews", "Reviews"], ["backends", "Backends"], ["prompts", "Prompts"]];

let leave = () => {};

function takeToken() {
  const m = /^#token=(.+)$/.exec(location.hash);
  if (m) { hold(decodeURIComponent(m[1])); history.replaceState(null, "", location.pathname + "#/"); }
}

function route() {
  const [where, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = where.split("/").map(decodeURIComponent);
  return { name, parts, params: Object.fromEntries(new URLSearchParams(search)) };
}

async function show(focus = true) {
  if (location.hash === "#main") return;
  const r = route(), view = views[r.name], main = document.getElementById("main");
  leave();
  leave = () => {};
  document.getElementById("nav").replaceChildren(...nav.map(([id, label]) => h("li", {}, h("a", { href: "#/" + id, "aria-current": (r.name === id || (r.name === "run" && id === "runs")) && "page" }, label))));
  const heading = h("h1", { tabindex: "-1" }), place = h("div", {}, h("p", { class: "dim" }, "Loading…"));
  main.replaceChildren(heading, place);
  const title = (t) => { heading.textContent = t; document.title = `${t} · Emend`; };
  if (!view) { title("Nothing here"); swap(place, h("p", {}, "There is no such view. ", h("a", { href: "#/" }, "Overview"))); return; }
  try {
    title(view.title(r));
    if (focus) heading.focus();
    let left = false;
    leave = () => { left = true; };
    const end = (await view.show(place, r, { title, left: () => left })) ?? (() => {});
    if (left) end(); else leave = () => { left = true; end(); };
  } catch (e) { swap(place, problem(e)); }
}

function sign() {
  const b = document.getElementById("sign");
  b.hidden = !session.token;
  b.textContent = session.write ? "Sign out" : "Sign in";
}

async function signIn() {
  if (session.write) { hold(""); await refreshSession(); sign(); show(false); return; }
  const d = document.getElementById("signin"), field = document.getElementById("token");
  field.value = "";
  d.returnValue = "cancel";
  d.showModal();
  await new Promise((done) => d.addEventListener("close", done, { once: true }));
  if (d.returnValue !== "ok") return;
  hold(field.value.trim());
  await refreshSession();
  if (!session.write) { hold(""); say("this is not the page's token"); } else say("signed in");
  sign();
  show(false);
}

takeToken();
document.getElementById("sign").addEventListener("click", () => signIn().catch((e) => say(e.message)));
document.getElementById("skip").addEventListener("click", (e) => { e.preventDefault(); document.getElementById("main").focus(); });
addEventListener("hashchange", () => { if (location.hash.startsWith("#token=")) location.reload(); else show(); });
refreshSession().catch((e) => say(e.message)).finally(() => {
  document.getElementById("space").textContent = session.title;
  sign();
  show(false);
});
