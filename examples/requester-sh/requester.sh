#!/usr/bin/env bash
# Runs with the nats CLI and jq alone. NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what; the documents are arguments.
set -euo pipefail
backend=${EMEND_BACKEND:-scripted} prompt=${EMEND_PROMPT:-total@1} nats=${NATS:-nats}
export NATS_URL=${NATS_URL:-nats://127.0.0.1:4222}

body() { jq -cn --arg prompt "$prompt" --arg document "$1" '{prompt: $prompt, inputs: {document: $document}}'; }

# Ask and wait: the answer is the result.
"$nats" --timeout 2m req --raw "emend.ask.$backend.default" "$(body "$1")" | jq -c '{id, status, output}'

# Leave the rest in the queue (-J: the publish is confirmed), then read each result from the stream when it is there.
shift
i=0
for document in "$@"; do
  "$nats" pub -J "emend.run.$backend.default.note-$i" "$(body "$document")" >/dev/null
  i=$((i + 1))
done
for ((n = 0; n < i; n++)); do
  "$nats" --timeout 2m sub --raw --count 1 --stream EMEND_RESULTS --all "emend.result.default.note-$n" 2>/dev/null | jq -c '{id, status, output}'
done
