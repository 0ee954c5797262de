#!/usr/bin/env bash
#
# Whole processes, side by side: a JSONL conversation is read, trimmed to half of its tokens and written, by Ebb, by
# Node with plain arrays, and by Node with LangChain's trimMessages (up to 10,000 messages; it is quadratic).
#
#     tests/bench/end_to_end.sh
#
# SIZES          numbers of messages (100 1000 10000 100000 1000000)
# EBB            the program (build/release/ebb); a relative path starts at the root of the repository
# EBB_BENCH_DIR  where the conversations are kept for later runs (ebb-bench beneath TMPDIR)
#
# The programs take turns, so that a slow minute of the machine meets all of them; each figure is a median. All get the
# same budget and count by the same estimate. Ends with 1 if Ebb and plain Node did not keep the same messages.

set -euo pipefail
cd "$(dirname "$0")/../.."

SIZES=${SIZES:-100 1000 10000 100000 1000000}
EBB=${EBB:-build/release/ebb}
DATA=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}
LANGCHAIN_MAX=10000     # messages; trimMessages adds up the whole list again for each message it drops
COMPARE_MAX=10000
CHUNKS_MIN=100000      # from here on Node's second way to read is measured too
PEERS=tests/peers
MEASURE=build/release/bench/measure

die() { echo "end_to_end: $*" >&2; exit 2; }

prepare() {
  local tool
  for tool in lua5.4 node "${CC:-cc}" awk; do
    command -v "$tool" >/dev/null || die "$tool is missing"
  done
  command -v "$EBB" >/dev/null || die "$EBB is missing; run make first"
  mkdir -p "$DATA" "$(dirname "$MEASURE")"
  "${CC:-cc}" -std=c11 -O2 tests/bench/measure.c -o "$MEASURE"
  runs=$(mktemp -d)
  trap 'rm -rf "$runs"' EXIT
}

# The conversation of $1 messages; made again when the generator has changed.
conversation() {
  local stamp file
  stamp=$(cksum < tests/bench/generate.lua | cut -d ' ' -f 1)
  file=$DATA/openai-$1-$stamp.jsonl
  if [ ! -e "$file" ]; then
    lua5.4 tests/bench/generate.lua "$1" > "$file.part"
    mv "$file.part" "$file"
  fi
  echo "$file"
}

langchain_ready() {
  [ -d $PEERS/node_modules/@langchain/core ] && return
  (cd $PEERS && timeout 180 npm install --silent --no-audit --no-fund --no-package-lock) >/dev/null 2>&1
}

# run NAME COMMAND...: one more measurement of NAME.
run() {
  local name=$1
  shift
  "$MEASURE" "$@" >> "$runs/$name" || die "$name failed: $*"
}

# median NAME COLUMN: 1 is milliseconds, 2 is KB; "-" where NAME never ran.
median() {
  [ -s "$runs/$1" ] || { echo -; return; }
  cut -d ' ' -f "$2" "$runs/$1" | sort -n | awk '{ v[NR] = $1 }
    END { m = int((NR + 1) / 2); print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'
}

# The number of messages and the hash of what they hold, however they are spelt.
digest() {
  node -e 'const lines = require("fs").readFileSync(0, "utf8").split("\n").filter((line) => line)
    const hash = require("crypto").createHash("sha256")
    for (const line of lines) hash.update(JSON.stringify(JSON.parse(line)) + "\n")
    console.log(lines.length, hash.digest("hex"))'
}

compare() {
  local file=$1 half=$2 ours theirs
  ours=$("$EBB" trim "$file" --encoding bytes4 --budget "$half" 2>/dev/null | digest)
  theirs=$(node $PEERS/trim_plain.mjs "$file" "$half" | digest)
  if [ "$ours" = "$theirs" ]; then
    notes+=("$n messages: same messages kept: yes (${ours%% *})")
  else
    notes+=("$n messages: same messages kept: no (Ebb ${ours%% *}, Node ${theirs%% *})")
    differ=1
  fi
}

HEADER='%8s %8s | %9s %9s %6s %9s %6s | %8s %7s %8s\n'
row() {
  awk -v n="$1" -v bytes="$2" -v ebb="$(median ebb 1)" -v ebb_kb="$(median ebb 2)" \
    -v plain="$(median plain 1)" -v plain_kb="$(median plain 2)" -v langchain="$(median langchain 1)" '
    function ms(x) { return x == "-" ? "-" : sprintf("%.1f", x) }
    function times(x) { return x == "-" ? "-" : sprintf("%.1f", x / ebb) }
    BEGIN {
      printf "%8d %8.2f | %9s %9s %6s %9s %6s | %8.1f %7.2f %8.1f\n", n, bytes / 1e6, ms(ebb), ms(plain), times(plain),
        ms(langchain), times(langchain), ebb_kb * 1024 / 1e6, ebb_kb * 1024 / bytes, plain_kb * 1024 / 1e6
    }'
}

bench_size() {
  local n=$1 file half rounds=5 i
  file=$(conversation "$n")
  half=$("$EBB" count "$file" --encoding bytes4 --json | grep -o '"tokens": *[0-9]*' | head -n 1 | grep -o '[0-9]*$') ||
    die "$EBB count --json gave no field tokens"
  half=$((half / 2))
  [ "$n" -ge 1000000 ] && rounds=3
  rm -f "$runs"/*
  for ((i = 0; i < rounds; i++)); do
    run ebb "$EBB" trim "$file" --encoding bytes4 --budget "$half"
    run plain node $PEERS/trim_plain.mjs "$file" "$half"
    if [ "$n" -ge $CHUNKS_MIN ]; then
      run chunks env EBB_PEER_CHUNKS=1 node $PEERS/trim_plain.mjs "$file" "$half"
    fi
    if [ "$langchain" = yes ] && [ "$n" -le $LANGCHAIN_MAX ]; then
      run langchain node $PEERS/trim_langchain.mjs "$file" "$half"
    fi
  done
  row "$n" "$(stat -c %s "$file")"
  if [ "$n" -ge $CHUNKS_MIN ]; then
    notes+=("$n messages: Node reading in chunks: $(awk -v c="$(median chunks 1)" -v e="$(median ebb 1)" \
      -v kb="$(median chunks 2)" 'BEGIN { printf "%.1f ms, ratio %.1f, peak %.1f MB", c, c / e, kb * 1024 / 1e6 }')")
  fi
  if [ "$n" -le $COMPARE_MAX ]; then compare "$file" "$half"; fi
}

bench_start() {
  local i
  rm -f "$runs"/*
  for ((i = 0; i < 50; i++)); do
    run ebb "$EBB" --version
    run true /bin/true
  done
  printf 'start, median of 50: ebb --version %.2f ms, /bin/true %.2f ms\n' "$(median ebb 1)" "$(median true 1)"
}

prepare
notes=() differ=0 langchain=yes
if ! langchain_ready; then
  langchain=no
  echo 'langchain: skipped, npm has no network'
fi
# shellcheck disable=SC2059
printf "$HEADER" N 'file MB' 'Ebb ms' 'Node ms' ratio LangChain ratio 'Ebb MB' '/ input' 'Node MB'
for n in $SIZES; do bench_size "$n"; done
if [ ${#notes[@]} -gt 0 ]; then printf '%s\n' "${notes[@]}"; fi
bench_start
exit $differ
