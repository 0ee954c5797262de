#!/usr/bin/env bash
#
# Policies that make results small, beside llmtrim: tokens of requests, what the replies still find in them, time.
#
#     tests/bench/shrink.sh [FILE...]     recordings; default: ../shared/data/conversations, else scripts/policies
#
# EBB_BUILD  the build whose module is measured (build/release)
#
# Ebb's time is processor time from JSON to JSON; llmtrim's is that of its process, as it is used. What the replies still
# find is judged by tests/origins/recall.py.

set -euo pipefail
cd "$(dirname "$0")/../.."

PEERS=tests/peers
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

SHARED=../shared/data/conversations
if [ $# = 0 ] && [ -d $SHARED ]; then
  set -- $SHARED/composite-*.json $SHARED/swe-*.json $SHARED/tau-*.json $SHARED/glaive-*.json $SHARED/inspect-*.json
fi
if [ $# = 0 ]; then set -- scripts/policies/*.json; fi

peers_ready() {
  [ -d $PEERS/node_modules/@llmtrim/cli ] && return
  (cd $PEERS && timeout 180 npm install --silent --no-audit --no-fund --no-package-lock) >/dev/null 2>&1
}

lua5.4 tests/bench/shrink.lua requests "$@" >"$top/requests"
results=()
if ! command -v node >/dev/null; then
  echo 'llmtrim is skipped: node is missing'
elif ! peers_ready; then
  echo 'llmtrim is skipped: npm has no network'
else
  node $PEERS/llmtrim.mjs <"$top/requests" >"$top/results" && results=("$top/results")
fi
lua5.4 tests/bench/shrink.lua compare "$top" "$top/requests" ${results[@]+"${results[@]}"}
