#!/usr/bin/env bash
#
# Whole processes, side by side: a JSONL conversation becomes a request by an agent of 50 rules and 30 presets, trimmed
# to half of its tokens, by Ebb and by Node with plain arrays.
#
#     tests/bench/pipeline.sh
#
# SIZES          numbers of messages (1000 10000 100000)
# EBB            the program (build/release/ebb)
# ROUNDS         runs of each (5); they take turns, and the figures are medians
# EBB_BENCH_DIR  where the conversations are kept for later runs (ebb-bench beneath TMPDIR)
#
# Processor time, not the clock's: other programs may run. Ends with 1 if the requests differ.

set -euo pipefail
cd "$(dirname "$0")/../.."

SIZES=${SIZES:-1000 10000 100000}
EBB=${EBB:-build/release/ebb}
ROUNDS=${ROUNDS:-5}
DATA=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}
COMPARE_MAX=100000
MEASURE=build/release/bench/measure
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$DATA" "$(dirname "$MEASURE")"
"${CC:-cc}" -std=c11 -O2 tests/bench/measure.c -o "$MEASURE"

lua5.4 tests/bench/pipeline_agent.lua >"$runs/agent.json"

# run NAME COMMAND...: adds "wall milliseconds, peak KB, processor milliseconds" of the process to the figures of NAME.
run() {
  local name=$1
  shift
  "$MEASURE" "$@" 2>/dev/null >>"$runs/$name" || { echo "pipeline: failed: $*" >&2; exit 2; }
}

median() { cut -d ' ' -f "$2" "$runs/$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The messages, however they are spelt.
digest() {
  node -e 'const sorted = (value) => value === null || typeof value !== "object" ? value
      : Array.isArray(value) ? value.map(sorted)
      : Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
    const { messages } = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))
    const hash = require("crypto").createHash("sha256")
    for (const message of messages) hash.update(JSON.stringify(sorted(message)) + "\n")
    console.log(messages.length, hash.digest("hex"))' "$1"
}

differ=0
printf '%8s | %9s %9s %6s | %8s %8s\n' N 'Ebb ms' 'Node ms' ratio 'Ebb MB' 'Node MB'
for n in $SIZES; do
  file=$DATA/openai-$n-$(cksum <tests/bench/generate.lua | cut -d ' ' -f 1).jsonl
  [ -e "$file" ] || { lua5.4 tests/bench/generate.lua "$n" >"$file.part" && mv "$file.part" "$file"; }
  half=$("$EBB" count "$file" --encoding bytes4 --json | grep -o '"tokens": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
  half=$((half / 2))
  rm -f "$runs"/ebb "$runs"/plain
  ours=("$EBB" pipeline "$file" --agent "$runs/agent.json" --encoding bytes4 --set "token-limiter.budget=$half")
  plain=(node tests/peers/pipeline_plain.mjs "$file" "$runs/agent.json" "$half")
  for ((i = 0; i < ROUNDS; i++)); do
    run ebb "${ours[@]}"
    run plain "${plain[@]}"
  done
  awk -v n="$n" -v ebb="$(median ebb 3)" -v plain="$(median plain 3)" -v kb="$(median ebb 2)" \
    -v plain_kb="$(median plain 2)" 'BEGIN {
      printf "%8d | %9.1f %9.1f %6.1f | %8.1f %8.1f\n", n, ebb, plain, plain / ebb, kb / 1000, plain_kb / 1000 }'
  [ "$n" -le $COMPARE_MAX ] || continue
  "${ours[@]}" 2>/dev/null >"$runs/ebb.out"
  "${plain[@]}" 2>/dev/null >"$runs/plain.out"
  if [ "$(digest "$runs/ebb.out")" != "$(digest "$runs/plain.out")" ]; then
    echo "$n messages: the requests differ: $(digest "$runs/ebb.out"), $(digest "$runs/plain.out")"
    differ=1
  fi
done
exit $differ
