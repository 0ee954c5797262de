#!/usr/bin/env bash
# Runs the tests on the build that counts (MODE=cover), then reads what ran:
# see cover.lua. All of them must pass there, too, but for those that measure time.
set -u
cd "$(dirname "$0")/.."

build=build/cover
if [ -d ../shared/data ]; then export EBB_SHARED=${EBB_SHARED:-$(cd ../shared && pwd)}; fi
# Random tests and samples take the same steps each time, so that they reach the same lines.
export SEED=${SEED:-1}
export EBB=$build/ebb EBB_BUILD=$build LUA_PATH="$build/lua/?.lua;$build/lua/?/init.lua;;" LUA_CPATH="$build/lua/?.so;;"
log=$build/cover.log
failed=0

find $build -name '*.gcda' -delete
: >$log

# Runs one program of tests, or one spec, and shows what failed.
run() {
  local output
  output=$(mktemp)
  if ! "$@" >"$output" 2>&1; then
    echo "cover: failed: $*"
    grep -E -A 3 '^(Failure|Error) (→|->) |^\[  (FAILED|ERROR)  \] |^ERROR: ' "$output" | head -n 20
    : >$build/cover.failed
  fi
  cat "$output" >>$log
  rm -f "$output"
}
export -f run
export build log

# The sweep of the binding takes seven minutes of a processor whole, and reaches hardly more; the others are whole.
# It and the specs that wait longest come first; all processes add to the same counters, which lock their files.
LONG='places_spec session_postgres_spec session_tail_spec session_spec'
SWEEP=$build/tests/test_bind_memory
# What measures time on a build that counts each step says nothing of the time that users see.
TIMED=$build/tests/test_sandbox_slices
programs() { for source in tests/c/test_*.c; do echo "$build/tests/$(basename "$source" .c)"; done | grep -vx -e $SWEEP -e $TIMED; }
specs() {
  local all
  all=$(tests/specs.sh)
  grep -F "$(printf '/%s.lua\n' $LONG)" <<<"$all"
  grep -vF "$(printf '/%s.lua\n' $LONG)" <<<"$all"
}

rm -f $build/cover.failed
{ echo "env SAMPLE=${SAMPLE:-8} $SWEEP"; specs | sed 's/^/busted --exclude-tags=time /'; programs; } |
  xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'run {}'
if [ -e $build/cover.failed ]; then failed=1; fi

find $build/runtime -name '*.gcno' -exec gcov --stdout --branch-probabilities --branch-counts {} + 2>>$log |
  lua5.4 tests/cover.lua tests/uncovered.txt || failed=1
exit $failed
