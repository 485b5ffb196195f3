#!/usr/bin/env bash
# Runs with the nats CLI and jq alone. NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what; the documents are arguments.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: requester.sh DOCUMENT..." >&2; exit 2; }
backend=${EMEND_BACKEND:-scripted} prompt=${EMEND_PROMPT:-total@1} nats=${NATS:-nats}
export NATS_URL=${NATS_URL:-nats://127.0.0.1:4222}

failed=0
# show prints a result, and notes whether the run failed.
show() {
  jq -c '{id, status, output}' <<<"$1"
  case $(jq -r .status <<<"$1") in failed | expired | cancelled) failed=1 ;; esac
}
# id is of the content: a second start runs nothing twice, another document is another run.
id() { printf note-; printf %s "$1" | sha256sum | cut -c 1-12; }

body() { jq -cn --arg prompt "$prompt" --arg document "$1" '{prompt: $prompt, inputs: {document: $document}}'; }

# Ask and wait: the answer is the result.
show "$("$nats" --timeout 2m req --raw --header "Emend-Run:$(id "$1")" "emend.ask.$backend.default" "$(body "$1")")"

# Leave the rest in the queue (-J: the publish is confirmed), then read each result from the stream when it is there.
shift
for document in "$@"; do
  "$nats" pub -J "emend.run.$backend.default.$(id "$document")" "$(body "$document")" >/dev/null
done
for document in "$@"; do
  show "$("$nats" --timeout 2m sub --raw --count 1 --stream EMEND_RESULTS --all "emend.result.default.$(id "$document")" 2>/dev/null)"
done
exit $failed
