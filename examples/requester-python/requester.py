"""Publishes runs and collects their results with nats-py alone: pip install nats-py

NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what; the documents are arguments.
"""
import asyncio
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
    for i, document in enumerate(documents):
        body = json.dumps({"prompt": prompt, "inputs": {"document": document}}).encode()
        # Returns when the run is stored. The id is derived from the work: a second start runs nothing twice.
        await js.publish(f"emend.run.{backend}.default.letter-{i}", body, headers={"Emend-Reply-To": inbox})
    for _ in documents:
        result = json.loads((await replies.next_msg(timeout=120)).data)
        print(result["id"], result["status"], json.dumps(result.get("output", result.get("error"))))
    await nc.drain()


asyncio.run(main(sys.argv[1:]))
