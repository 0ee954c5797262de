#!/usr/bin/env bash
#
# Sessions on disk, side by side: the same turns are kept one by one, by Ebb, by the SQLite checkpointer of LangGraph in
# JavaScript, and by OpenAI Agents' session in JavaScript, which is in memory. All are read again and compared.
#
#     tests/bench/sessions.sh
#
# TURNS          of two messages, 1.5 KB (1000: LangGraph's file takes 0.8 GB then, and grows with the square)
# EBB_BUILD      the build whose module is measured (build/release)
# EBB_BENCH_DIR  where the packages are kept for later runs (ebb-bench beneath TMPDIR)
#
# A peer that cannot be installed is skipped, with a word. LangGraph's needs better-sqlite3, whose own installer asks
# GitHub for a binary: it is compiled here instead, with the headers that came with Node.

set -euo pipefail
cd "$(dirname "$0")/../.."

TURNS=${TURNS:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Compiles better-sqlite3 in the packages' folder, once.
compile() {   # FOLDER
  local gyp headers
  [ -e "$1/node_modules/better-sqlite3/build/Release/better_sqlite3.node" ] && return
  gyp=$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js
  headers=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  [ -e "$gyp" ] && [ -e "$headers/include/node/node.h" ] || return
  (cd "$1/node_modules/better-sqlite3" && timeout 900 node "$gyp" rebuild --release "--nodedir=$headers") >"$1/compile.log" 2>&1
}

lua5.4 tests/bench/sessions.lua make "$TURNS" >"$work/turns.jsonl"
for mode in full relaxed; do
  lua5.4 tests/bench/sessions.lua run "$work/turns.jsonl" "$work/$mode.db" "$mode" >>"$work/rows"
done
if peers=$(npm_config_ignore_scripts=true tests/peers/packages.sh sessions); then
  cp tests/peers/sessions/sessions.mjs "$peers/"
  node "$peers/sessions.mjs" agents "$work/turns.jsonl" >>"$work/rows"
  if compile "$peers"; then
    node "$peers/sessions.mjs" langgraph "$work/turns.jsonl" "$work/langgraph.db" >>"$work/rows"
  else
    echo "skipped: LangGraph's checkpointer (better-sqlite3 cannot be compiled: $peers/compile.log)"
  fi
fi

bytes=$(wc -c <"$work/turns.jsonl")
echo "$TURNS turns, $bytes bytes as JSONL"
awk -F '\t' -v jsonl="$bytes" '
  BEGIN { printf "%-34s %12s %8s %10s %10s %9s\n", "", "file bytes", "of JSONL", "ms a turn", "CPU a turn", "read, CPU" }
  { size = $2 > 0 ? sprintf("%12d %8.2f", $2, $2 / jsonl) : sprintf("%12s %8s", "-", "-")
    printf "%-34s %s %10.3f %10.3f %9.1f\n", $1, size, $3, $4, $5
    if (NR == 1) digest = $6
    if ($6 != digest) { print $1 ": the texts differ"; differ = 1 } }
  END { exit differ }' "$work/rows"
