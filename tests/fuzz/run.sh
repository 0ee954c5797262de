#!/usr/bin/env bash
# run.sh SHARE [NAME...]: runs these fuzzers, or every one, as many at once as there are
# processors, each for its number of inputs times SHARE percent (see inputs below), and
# says how many it has tried. What they breed stays in build/fuzz/*.corpus for the next
# run; an input that ends badly is named and stays beside it.
#
# Seeds are ours in tests/fuzz/seeds, and, where they are at hand, pieces of real
# conversations and a suite of JSON files.
set -u
cd "$(dirname "$0")/../.."

share=$1
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

imports=$build/imports.seeds
mkdir -p "$imports"
LUA_PATH="build/lua/?.lua;build/lua/?/init.lua" LUA_CPATH="build/lua/?.so" lua5.4 tests/fuzz/import_seeds.lua "$imports"

# The seeds and options of a fuzzer.
settings() {
  case $1 in
    fuzz_edits) echo -max_len=200 ;;
    # What it holds must not grow: half of this is the sanitizer's, for its quarantine below.
    fuzz_sandbox) echo -max_len=400 -len_control=0 -timeout=20 -rss_limit_mb=640 ;;
    fuzz_regex) echo -max_len=400 tests/fuzz/seeds/regex ;;
    # Lua keeps its state between inputs, which looks like a leak to every one of them.
    fuzz_saved) echo -max_len=6000 -detect_leaks=0 tests/fuzz/seeds/saved ;;
    fuzz_operations) echo -max_len=2000 -detect_leaks=0 tests/fuzz/seeds/operations tests/golden ;;
    fuzz_agents) echo -max_len=2000 -detect_leaks=0 tests/fuzz/seeds/agents tests/golden ;;
    fuzz_imports) echo -max_len=2500 -detect_leaks=0 "$imports" ;;
    fuzz_price_lists) echo -max_len=2000 -detect_leaks=0 tests/fuzz/seeds/price_lists ;;
    fuzz_windows) echo -max_len=1000 -detect_leaks=0 tests/fuzz/seeds/windows ;;
    *)
      echo -max_len=4096 tests/fuzz/seeds/documents "$cut"
      if [ -d "$shared/data/json_test_suite" ]; then echo "$shared/data/json_test_suite"; fi ;;
  esac
  if [ -f "tests/fuzz/$1.dict" ]; then echo "-dict=tests/fuzz/$1.dict"; fi
}

# How many inputs take about a minute of a processor.
inputs() {
  case $1 in
    fuzz_json | fuzz_json_edit) echo 900000 ;;
    fuzz_data_uri) echo 600000 ;;
    fuzz_image) echo 200000 ;;
    fuzz_document | fuzz_saved | fuzz_vocab) echo 80000 ;;
    fuzz_edits | fuzz_regex) echo 55000 ;;
    fuzz_check | fuzz_convert) echo 40000 ;;
    fuzz_operations) echo 30000 ;;
    fuzz_pretoken | fuzz_imports | fuzz_price_lists) echo 15000 ;;
    fuzz_sandbox) echo 2000 ;;
    *) echo 6000 ;;
  esac
}

# fuzz NAME: what it was and what has become of it goes to $build/NAME.end.
fuzz() {
  local name=$1 corpus=$build/$1.corpus runs
  mkdir -p "$corpus"
  # shellcheck disable=SC2012
  runs=$(($(inputs "$name") * share / 100 + 1 + $(ls "$corpus" | wc -l)))
  # shellcheck disable=SC2046
  if "$build/$name" -runs="$runs" -timeout=10 -print_final_stats=1 -artifact_prefix="$build/$name." \
    "$corpus" $(settings "$name") >"$build/$name.log" 2>&1; then
    echo "fuzzed: $name: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$build/$name.log") inputs"
  else
    tail -n 60 "$build/$name.log"
    echo "fuzzed: $name: FAILED, see $build/$name.log"
  fi >"$build/$name.end"
}
# Blocks that were freed are kept for a while, 256 MB of them by default: those of sandboxes are so small and so many
# that the process grew to 1 GB within minutes, which hid whether anything else grew.
export ASAN_OPTIONS="quarantine_size_mb=32${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export -f fuzz settings inputs
export build share shared cut imports

names=()
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  if [ $# -gt 0 ] && [ "${wanted#* "$name" }" = "$wanted" ]; then continue; fi
  names+=("$name")
  rm -f "$build/$name.end"
done
printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'fuzz {}'

passed=0
failed=0
for name in "${names[@]}"; do
  cat "$build/$name.end"
  if grep -q "inputs$" "$build/$name.end"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
