// Publishes runs and collects their results, with the official client alone: npm install @nats-io/transport-node @nats-io/jetstream
// NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what; the documents are arguments.
import { connect, createInbox, headers } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { createHash } from "node:crypto";

const { NATS_URL = "nats://127.0.0.1:4222", EMEND_BACKEND = "scripted", EMEND_PROMPT = "total@1" } = process.env;
const documents = [...new Set(process.argv.slice(2))];
if (documents.length === 0) {
  console.error("usage: node requester.mjs DOCUMENT...");
  process.exit(2);
}
const nc = await connect({ servers: NATS_URL, name: "requester-js" });
const js = jetstream(nc);

// Results come to an inbox of this process; they are stored as well, and outlive it.
const inbox = createInbox();
const replies = nc.subscribe(inbox, { max: documents.length });
await nc.flush();

for (const document of documents) {
  const h = headers();
  h.set("Emend-Reply-To", inbox);
  // The id is derived from the content: a second start of this program runs nothing twice, another document is another run.
  const id = "order-" + createHash("sha256").update(document).digest("hex").slice(0, 12);
  await js.publish(`emend.run.${EMEND_BACKEND}.default.${id}`, JSON.stringify({ prompt: EMEND_PROMPT, inputs: { document } }), { headers: h });
}
for await (const m of replies) {
  const r = m.json();
  if (["failed", "expired", "cancelled"].includes(r.status)) process.exitCode = 1;
  console.log(r.id, r.status, JSON.stringify(r.output ?? r.error));
}
await nc.drain();
