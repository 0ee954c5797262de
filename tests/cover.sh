#!/usr/bin/env bash
# Runs the tests on the build that counts (MODE=cover), then reads what ran:
# see cover.lua. Which tests pass is not asked here, only that all of them run.
set -u
cd "$(dirname "$0")/.."

build=build/cover
if [ -d ../shared/data ]; then export EBB_SHARED=${EBB_SHARED:-$(cd ../shared && pwd)}; fi
# As in `make test`: a sweep of failing allocations under counters takes half an hour whole.
export SAMPLE=${SAMPLE:-8}
export EBB=$build/ebb EBB_BUILD=$build LUA_PATH="$build/lua/?.lua;$build/lua/?/init.lua;;" LUA_CPATH="$build/lua/?.so;;"
log=$build/cover.log
failed=0

find $build -name '*.gcda' -delete
: >$log

run() {
  if "$@" >>$log 2>&1; then return; fi
  echo "cover: failed: $*"
  return 1
}

# Waits for one of those that run.
take() { wait -n || failed=1; }

running=0
for program in tests/c/test_*.c; do
  run "$build/tests/$(basename "$program" .c)" &
  running=$((running + 1))
  if [ $running -gt 3 ]; then take; running=$((running - 1)); fi
done
while [ $running -gt 0 ]; do take; running=$((running - 1)); done
# shellcheck disable=SC2046
run busted --exclude-tags=time $(tests/specs.sh) || failed=1

gcov --stdout --branch-probabilities --branch-counts $build/runtime/core/*.gcno $build/runtime/json/*.gcno $build/runtime/format/*.gcno 2>>$log |
  lua5.4 tests/cover.lua tests/uncovered.txt || failed=1
exit $failed
