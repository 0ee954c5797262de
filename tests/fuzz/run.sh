#!/usr/bin/env bash
# run.sh SECONDS [NAME...]: runs these fuzzers, or every one, all at once, and says how
# many inputs each has tried. What they breed stays in build/fuzz/*.corpus for the next
# run; an input that ends badly is named and stays beside it.
#
# Seeds are ours in tests/fuzz/seeds, and, where they are at hand, pieces of real
# conversations and a suite of JSON files.
set -u
cd "$(dirname "$0")/../.."

seconds=$1
shift
wanted=" $* "
shared=${EBB_SHARED:-../shared}
build=build/fuzz

cut=$build/cut.seeds
mkdir -p "$cut"
if [ -d "$shared/data/conversations" ]; then
  find "$shared/data/conversations/" -name '*.json' -print0 | sort -z |
    LUA_PATH="build/lua/?.lua;build/lua/?/init.lua" LUA_CPATH="build/lua/?.so" xargs -0 lua5.4 tests/fuzz/cut_seeds.lua "$cut"
fi

# The seeds and options of a fuzzer.
settings() {
  case $1 in
    fuzz_edits) echo -max_len=200 ;;
    fuzz_sandbox) echo -max_len=400 -timeout=20 ;;
    fuzz_regex) echo -max_len=400 tests/fuzz/seeds/regex ;;
    # Lua keeps its state between inputs, which looks like a leak to every one of them.
    fuzz_operations) echo -max_len=2000 -detect_leaks=0 tests/fuzz/seeds/operations tests/golden ;;
    *)
      echo -max_len=4096 tests/fuzz/seeds/documents "$cut"
      if [ -d "$shared/data/json_test_suite" ]; then echo "$shared/data/json_test_suite"; fi ;;
  esac
  if [ -f "tests/fuzz/$1.dict" ]; then echo "-dict=tests/fuzz/$1.dict"; fi
}

failed=0
names=()
declare -A process
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  if [ $# -gt 0 ] && [ "${wanted#* "$name" }" = "$wanted" ]; then continue; fi
  names+=("$name")
  mkdir -p "$build/$name.corpus"
  # shellcheck disable=SC2046
  "$build/$name" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 -artifact_prefix="$build/$name." \
    "$build/$name.corpus" $(settings "$name") >"$build/$name.log" 2>&1 &
  process[$name]=$!
done

passed=0
for name in "${names[@]}"; do
  if wait "${process[$name]}"; then
    passed=$((passed + 1))
    echo "fuzzed: $name: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$build/$name.log") inputs in $seconds s"
  else
    failed=$((failed + 1))
    tail -n 60 "$build/$name.log"
    echo "fuzzed: $name: FAILED, see $build/$name.log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
