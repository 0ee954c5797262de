#!/usr/bin/env bash
# Runs every runner of tests and adds up what they counted; the last line is
# "N passed, N failed", and the exit status says the same.
#
# A runner is quiet unless it fails, but for what it swept or skipped; where STEPS
# is given, it says what it did.
# One that ends badly without having counted a failure (a crash, a leak found at
# exit), or that counts nothing, is itself one failure.
set -u
cd "$(dirname "$0")/.."

# Real conversations are tested with where they are at hand.
if [ -d ../shared ]; then export EBB_SHARED=${EBB_SHARED:-$(cd ../shared && pwd)}; fi

passed=0
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# Sums of the numbers that stand before (or after) a word in the output.
sum() { sed -nE "s/$1/\1/p" "$output" | awk '{ n += $1 } END { print n + 0 }'; }

# report NAME STATUS PASSED FAILED [PENDING]: adds one runner up
report() {
  local name=$1 status=$2 good=$3 bad=$4 pending=${5:-0}
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((good + pending)) -eq 0 ]; }; then bad=1; fi
  passed=$((passed + good))
  failed=$((failed + bad))
  if [ "$bad" -gt 0 ]; then
    cat "$output"
    echo "== $name: $good passed, $bad failed (exit status $status)"
  else
    if [ -n "${STEPS:-}" ]; then grep -E '^(SEED=|model:)' "$output"; fi
    grep -E '^(swept|skipped|fuzzed): ' "$output"
    echo "== $name: $good passed"
  fi
}

cmocka() {
  "$1" >"$output" 2>&1
  report "$1" $? "$(sum '^\[  PASSED  \] ([0-9]+) test.*')" "$(sum '^ ?\[  FAILED  \] ([0-9]+) test.*')"
}

busted() {
  LUA_PATH="build/lua/?.lua;build/lua/?/init.lua;;" LUA_CPATH="build/lua/?.so;;" \
    command busted --lua=lua5.4 --output=plainTerminal "$1" >"$output" 2>&1
  report_busted "$1" $?
}

# All specs of the library once more, inside the command with its sanitizers.
sanitized_busted() {
  HISTORIES=$((${HISTORIES:-300} / 10)) \
    build/sanitize/ebb run tests/lua/under_ebb.lua -- --output=plainTerminal --exclude-pattern=cli_ tests/lua >"$output" 2>&1
  report_busted "tests/lua under sanitizers" $?
}

report_busted() {
  local bad
  bad=$(($(sum '.* ([0-9]+) failures? \/ .*') + $(sum '.* ([0-9]+) errors? \/ .*')))
  report "$1" "$2" "$(sum '^([0-9]+) success(es)? \/ .*')" "$bad" "$(sum '.* ([0-9]+) pending : .*')"
  if grep -q '^Pending' "$output"; then grep -A1 '^Pending' "$output"; fi
}

# Shell runners count for themselves: their last line is "N passed, N failed".
shell() {
  "$@" >"$output" 2>&1
  report "$1" $? "$(sum '^([0-9]+) passed, [0-9]+ failed$')" "$(sum '^[0-9]+ passed, ([0-9]+) failed$')"
}

for source in tests/c/test_*.c; do
  cmocka "build/small/tests/$(basename "$source" .c)"
done
# Trees once more, with nodes as large as they are installed.
for name in test_sequence test_model; do cmocka "build/sanitize/tests/$name"; done
for name in test_api_threads test_sandbox_threads; do cmocka "build/threads/tests/$name"; done
for spec in tests/lua/*_spec.lua; do busted "$spec"; done
sanitized_busted
for flow in tests/golden/*.sh tests/faults/*.sh; do
  if [ -x "$flow" ]; then shell "$flow"; fi
done

# Half a minute in all; `make fuzz` takes longer.
if tests/fuzz/can.sh; then
  fuzzers=(tests/fuzz/fuzz_*.c)
  shell tests/fuzz/run.sh $((30 / ${#fuzzers[@]}))
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
