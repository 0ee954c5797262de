#!/usr/bin/env bash
#
# Counting tokens, beside the tokenizers of npm: MB/s over text that does not repeat, first pass in a fresh process and
# again; then milliseconds for 1 MB of what tokenizers are slow at.
#
#     tests/bench/tokens.sh
#
# CORPORA        of tests/bench/corpora.mjs (english chinese c javascript json)
# ENCODINGS      (cl100k_base o200k_base)
# PEERS          (tiktoken gpt-tokenizer js-tiktoken tokenizers ai-tokenizer)
# PEER_SECONDS   a peer counts as much of a corpus as it can in so many (3); Ebb counts all of it
# CAP_SECONDS    a peer that has not counted 1 MB after so many is stopped (10)
# IMAGES         the folder of the vocabularies' images (build/share/ebb/vocab)
# EBB_BENCH_DIR  where texts and packages are kept for later runs (ebb-bench beneath TMPDIR)
#
# All count parts of 64 KB; the hard texts whole. Ebb's figures are medians of five processes. Time is that of the
# counting thread on a processor. Where npm has no network, Ebb is measured alone.

set -euo pipefail
cd "$(dirname "$0")/../.."

CORPORA=${CORPORA:-english chinese c javascript json}
ENCODINGS=${ENCODINGS:-cl100k_base o200k_base}
PEERS=${PEERS:-tiktoken gpt-tokenizer js-tiktoken tokenizers ai-tokenizer}
PEER_SECONDS=${PEER_SECONDS:-3}
CAP_SECONDS=${CAP_SECONDS:-10}
IMAGES=${IMAGES:-build/share/ebb/vocab}
DATA=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}/corpora
HARD='one-letter spaces newlines digits letters characters'
PART=65536
ROUNDS=5

results=$(mktemp)   # lines "TABLE ROW COLUMN NUMBER"; TABLE is first, again or hard and the encoding
trap 'rm -f "$results"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ebb_rounds ENCODING FILE PART: what `tokens count` says, a line per round
ebb_rounds() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do build/release/bench/tokens count "$IMAGES/$1.vocab" "$2" "$3"; done
}

# rates ENCODING ROW COLUMN: adds MB/s to the results, from lines "first again tokens bytes"
rates() {
  local lines
  lines=$(cat)
  [ -n "$lines" ] || return 0
  echo "first-$1 $2 $3 $(awk '{ print $4 * 1e3 / $1 }' <<< "$lines" | median)" >> "$results"
  echo "again-$1 $2 $3 $(awk '{ print $4 * 1e3 / $2 }' <<< "$lines" | median)" >> "$results"
}

# peer PEER ENCODING FILE PART SECONDS; says nothing if it had to be stopped
peer() {
  timeout $((2 * $5 + CAP_SECONDS)) node tests/peers/tokens/count.mjs "$peers" "$@" 2> /dev/null || true
}

measure_corpora() {
  local encoding=$1 corpus name
  for corpus in $CORPORA; do
    [ -s "$DATA/$corpus.txt" ] || continue   # there was no such text
    ebb_rounds "$encoding" "$DATA/$corpus.txt" $PART | rates "$encoding" "$corpus" Ebb
    for name in $PEERS; do
      peer "$name" "$encoding" "$DATA/$corpus.txt" $PART "$PEER_SECONDS" | rates "$encoding" "$corpus" "$name"
    done
  done
}

measure_hard() {
  local encoding=$1 text name ms
  for text in $HARD; do
    ms=$(ebb_rounds "$encoding" "$DATA/$text.txt" 0 | awk '{ print $1 / 1e6 }' | median)
    echo "hard-$encoding $text Ebb $ms" >> "$results"
    for name in $PEERS; do
      ms=$(peer "$name" "$encoding" "$DATA/$text.txt" 0 0 | awk '{ print $1 / 1e6 }')
      echo "hard-$encoding $text $name ${ms:-stopped}" >> "$results"
    done
  done
}

# table NAME ROWS DIGITS TITLE: rows of the results; of rates also the ratio to the fastest peer
table() {
  echo "$4"
  awk -v name="$1" -v rows="$2" -v columns="Ebb $PEERS" -v digits="$3" '
    $1 == name { cell[$2, $3] = $4 }
    END {
      n = split(rows, row, " "); m = split(columns, column, " "); rate = name !~ /^hard/
      printf "  %-12s", ""
      for (k = 1; k <= m; k++) printf "%15s", column[k]
      print (rate ? "  / fastest peer" : "")
      for (i = 1; i <= n; i++) {
        best = 0
        printf "  %-12s", row[i]
        for (k = 1; k <= m; k++) {
          value = cell[row[i], column[k]]
          if (k > 1 && value + 0 > best) best = value + 0
          printf "%15s", value ~ /^[0-9.e+-]+$/ ? sprintf("%.*f", digits, value) : value == "" ? "-" : value
        }
        print (rate && best > 0) ? sprintf("%10.1f x", cell[row[i], "Ebb"] / best) : ""
      }
    }' "$results"
}

for encoding in $ENCODINGS; do
  if [ ! -e "$IMAGES/$encoding.vocab" ]; then
    echo "tokens: skipped, $IMAGES has no $encoding.vocab"
    exit 0
  fi
done
if ! peers=$(tests/peers/packages.sh tokens); then
  echo 'peers: skipped, npm has no network'
  PEERS=
fi
# shellcheck disable=SC2086
node tests/bench/corpora.mjs "$DATA" $CORPORA $HARD
for corpus in $CORPORA; do printf '%s: %s\n' "$corpus" "$(cat "$DATA/$corpus.note")"; done
for encoding in $ENCODINGS; do
  measure_corpora "$encoding"
  table "first-$encoding" "$CORPORA" 1 "$encoding, first pass, MB/s"
  table "again-$encoding" "$CORPORA" 1 "$encoding, again, MB/s"
  measure_hard "$encoding"
  table "hard-$encoding" "$HARD" 1 "$encoding, 1 MB, milliseconds"
done
