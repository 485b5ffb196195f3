"""Publishes runs and collects their results with nats-py alone: pip install nats-py

NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what; the documents are arguments.
"""
import asyncio
import hashlib
import json
import os
import sys

import nats


async def main(documents):
    backend, prompt = os.environ.get("EMEND_BACKEND", "scripted"), os.environ.get("EMEND_PROMPT", "total@1")
    nc = await nats.connect(os.environ.get("NATS_URL", "nats://127.0.0.1:4222"), name="requester-python")
    js = nc.jetstream()
    inbox = nc.new_inbox()
    replies = await nc.subscribe(inbox, max_msgs=len(documents))
    for document in documents:
        body = json.dumps({"prompt": prompt, "inputs": {"document": document}}).encode()
        # Returns when the run is stored. The id is of the content: a second start runs nothing twice.
        run = "letter-" + hashlib.sha256(document.encode()).hexdigest()[:12]
        await js.publish(f"emend.run.{backend}.default.{run}", body, headers={"Emend-Reply-To": inbox})
    failed = False
    for _ in documents:
        result = json.loads((await replies.next_msg(timeout=120)).data)
        print(result["id"], result["status"], json.dumps(result.get("output", result.get("error"))))
        failed = failed or result["status"] in ("failed", "expired", "cancelled")
    await nc.drain()
    return int(failed)


if len(sys.argv) < 2:
    print("usage: requester.py DOCUMENT...", file=sys.stderr)
    sys.exit(2)
sys.exit(asyncio.run(main(list(dict.fromkeys(sys.argv[1:])))))
