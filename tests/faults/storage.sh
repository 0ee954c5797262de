#!/usr/bin/env bash
# Sessions on disk through crashes and faults: runs the programs tests/faults/storage_*.lua and adds up what they
# count. WHOLE=1 tries ten times as much; SEED repeats a run.
set -u
cd "$(dirname "$0")/../.."

times=1
if [ -n "${WHOLE:-}" ]; then times=10; fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT

passed=0 failed=0
run() {   # NAME [NAME=VALUE]...
  env LUA_PATH='tests/faults/?.lua;;' LUA_CPATH='build/faults/?.so;;' "${@:2}" lua5.4 "tests/faults/storage_$1.lua" >"$output" 2>&1
  grep -v ' passed, ' "$output"
  local counts
  counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$output")
  if [ -z "$counts" ]; then echo "FAILED: storage_$1.lua ended badly" && counts="0 1"; fi
  passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
}

run crash POINTS=$((1500 * times))
run crash POINTS=$((500 * times)) TAIL=1
run tail
run together
run io
run memory
run damage
run salvage FILES=$((100 * times))
run processes TURNS=$((25 * times))
run wal_reset SECONDS=$((6 * times))

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
