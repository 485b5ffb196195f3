// The official JavaScript client against a worker: one run by request/reply, one by publish with the result on an inbox
// and in the result stream, its events in order, a second publish refused. Exits 1 when anything is not as promised.
import assert from "node:assert/strict";
import { connect, headers, createInbox } from "@nats-io/transport-node";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";

const nc = await connect({ servers: process.env.NATS_URL, name: "foreign-js", maxReconnectAttempts: 0 });
const js = jetstream(nc);
const jsm = await jetstreamManager(nc);
const body = (document) => JSON.stringify({ prompt: "total@1", inputs: { document } });

// Request/reply: the answer is the result.
const asked = await nc.request("emend.ask.scripted.default", body("js, right at once"), { timeout: 60_000 });
const direct = asked.json();
assert.equal(direct.status, "succeeded");
assert.deepEqual(direct.output, { total: 12.5 });
assert.equal(asked.headers.get("Emend-Status"), "succeeded");

// Publish: a PubAck says that the run is stored; its result comes to the inbox and stands in the stream.
const id = "js-" + Date.now();
const inbox = createInbox();
const replies = nc.subscribe(inbox, { max: 1, timeout: 60_000 });
const events = nc.subscribe(`emend.event.default.${id}.*`);
await nc.flush();
const h = headers();
h.set("Emend-Reply-To", inbox);
const subject = `emend.run.scripted.default.${id}`;
const ack = await js.publish(subject, body("js, wrong first"), { headers: h });
assert.equal(ack.stream, "EMEND_RUNS");
await assert.rejects(js.publish(subject, body("js, wrong first")), /maximum messages per subject/);

const kinds = [];
for await (const m of events) {
  const e = m.json();
  assert.equal(e.seq, kinds.length + 1, "events come in order");
  kinds.push(e.kind);
  if (e.kind === "finished") break;
}
assert.deepEqual(kinds, ["started", "attempt_started", "attempt", "validation", "repair", "attempt_started", "attempt", "validation", "finished"]);

let replied;
for await (const m of replies) replied = m.json();
assert.equal(replied.status, "succeeded");
assert.deepEqual(replied.output, { total: 4 });
assert.equal(replied.counts.repairs, 1);

const stored = await jsm.streams.getMessage("EMEND_RESULTS", { last_by_subj: `emend.result.default.${id}` });
assert.deepEqual(stored.json(), replied, "the reply is the stored result");

const got = await nc.request("emend.get", JSON.stringify({ queue: "default", id }), { timeout: 10_000 });
assert.deepEqual(got.json(), replied, "emend.get gives the stored result");

await nc.drain();
console.log("js: ok");
