#!/usr/bin/env bash
# Runs every runner of tests, as many at once as there are processors, and adds up
# what they counted; the last line is "N passed, N failed", and the exit status says
# the same.
#
#     tests/run.sh                 all tests; long sweeps are sampled by SEED, one step in SAMPLE
#     WHOLE=1 tests/run.sh         all tests, sweeps in full, and what takes longest (make check-hard)
#     tests/run.sh --quick         Lua specs (goldens among them) and C units, without long sweeps and #time
#     tests/run.sh --quick WORD    those with WORD in their name, #time too
#     UNITS=no tests/run.sh ...    without C units
#     ONE_IN=n tests/run.sh ...    one runner in n, beginning where SEED says
#     HEAVY_IN=n tests/run.sh ...  of those that take long one in n; all others
#
# SEED repeats a run, JOBS=n runs so many at once.
set -u
cd "$(dirname "$0")/.."

# Real conversations are tested with where they are at hand.
if [ -d ../shared/data ]; then export EBB_SHARED=${EBB_SHARED:-$(cd ../shared && pwd)}; fi

export SEED=${SEED:-$(date +%s)}
echo "SEED=$SEED"
results=$(mktemp)
trap 'rm -f "$results" "$results.failed"' EXIT
export RESULTS=$results

c_tests() { if [ "${UNITS:-}" != no ]; then units; fi; }
units() { for source in tests/c/test_*.c; do echo "c build/small/tests/$(basename "$source" .c)"; done; }
specs() { tests/specs.sh | sed 's/^/lua /'; }
script() { if [ -x "$1" ]; then echo "script $*"; fi; }

# These take minutes under sanitizers; the quick tests leave them out.
LONG='test_bind_memory test_sandbox_threats test_api_memory test_vocab'

# All tests of these have #time, or they wait for servers: neither has a place in the quick tests, but by name.
TIMED='complexity_spec cli_complexity_spec cli_interrupt_spec session_postgres_spec'

# What measures time runs by itself: beside others it measures them, too, and goes on to inputs that take minutes.
ALONE='complexity_spec cli_complexity_spec import_complexity_spec session_complexity_spec test_api_growth'

# More than five seconds of a processor each, three quarters of all.
HEAVY='sanitized test_api_host test_api_memory test_api_vocab test_bind_memory test_sandbox_threats test_vocab
  embed.sh ends.sh game.sh hosts.sh io.sh random_agents.sh random_policies.sh storage.sh
  costs_spec dialects_spec digest_goals_spec recall_spec reference_inputs_spec
  arguments_spec check_spec cli_check_spec cli_children_spec cli_each_spec cli_edits_spec cli_failures_spec
  cli_figures_spec cli_interrupt_spec cli_pipeline_safety_spec cli_pipes_spec cli_places_spec cli_replay_spec
  cli_roundtrip_spec cli_sandbox_spec cli_vocab_spec documents_spec macros_hostile_spec models_import_spec
  named_files_spec once_spec pipeline_limits_spec places_spec provider_spec prune_spec safety_spec
  session_postgres_spec session_undo_spec session_workflow_spec strangers_spec tokenizer_spec window_content_spec'

# Slices are measured one by one; growth is measured without sanitizers there (grown).
SLOW='test_sandbox_slices test_api_growth'

# Growth is measured without sanitizers, too; with them where all is tested.
grown() { if [ "${UNITS:-}" != no ]; then echo "c build/tests/test_api_growth"; fi; }

# quick [all]: without what takes long, and without SLOW and TIMED unless `all` is said
quick() {
  grown
  if [ -n "${1:-}" ]; then
    c_tests | grep -vwF "$(printf '%s\n' $LONG)"
    specs
  else
    c_tests | grep -vwF "$(printf '%s\n' $LONG $SLOW)"
    specs | grep -vwF "$(printf '%s\n' $TIMED)"
  fi
}

# What `make check-hard` adds: 58,000 inputs for the sandbox's fuzzer (4 to 17 minutes, by what it breeds), a minute of
# each other one, valgrind, oracles of token ids.
hardest() {
  local peers
  if tests/fuzz/can.sh; then
    script tests/fuzz/run.sh "${SANDBOX_SHARE:-2900}" fuzz_sandbox
    script tests/fuzz/run.sh "${FUZZ_SHARE:-100}" $(basename -as .c tests/fuzz/fuzz_*.c | grep -vx fuzz_sandbox)
  fi
  script tests/valgrind.sh "${VALGRIND_SAMPLE:-5}"
  for peers in tokens vocabularies; do
    if tests/peers/packages.sh $peers >/dev/null; then script tests/peers/$peers/oracle.sh; fi
  done
}

# The longest first, so that none is left alone at the end.
full() {
  local name flow
  # Whole it takes two hours, for each failed allocation of Lua collects all garbage first.
  echo "c build/small/tests/test_bind_memory${WHOLE:+ SAMPLE=${SAMPLE:-4}}"
  if [ -n "${WHOLE:-}" ]; then hardest; fi
  echo sanitized
  for name in $LONG; do echo "c build/small/tests/$name"; done | grep -vw test_bind_memory
  for flow in tests/golden/*.sh tests/faults/*.sh; do script "$flow"; done
  if tests/peers/packages.sh sdk >/dev/null; then script tests/peers/sdk/run.sh; fi
  specs
  c_tests | grep -vwF "$(printf '%s\n' $LONG $([ -n "${WHOLE:-}" ] || echo test_api_growth))"
  grown
  # Trees once more, with nodes as large as they are installed.
  for name in test_sequence test_model; do echo "c build/tests/$name"; done
  for name in test_api_threads test_sandbox_threads test_storage_threads; do echo "c build/threads/tests/$name"; done
  echo "c build/threads/tests/test_api_host${WHOLE:+ CALLS=${THREADS_CALLS:-100000}}"      # 2.4 ms each there
}

if [ -z "${WHOLE:-}" ]; then export SAMPLE=${SAMPLE:-16}; fi
if [ "${1:-}" = --quick ]; then
  if [ -z "${2:-}" ]; then export BUSTED="--exclude-tags=time" HISTORIES=${HISTORIES:-100} PLACES=${PLACES:-20}; fi
  runners=$(quick "${2:-}" | grep -F -e "${2:-}")
  if [ -z "$runners" ]; then echo "run.sh: no test has '$2' in its name" >&2; fi
else
  runners=$(full)
fi
if [ -n "${ONE_IN:-}" ]; then
  runners=$(awk -v n="$ONE_IN" -v seed="$SEED" '(NR + seed) % n == 0' <<<"$runners")
fi
if [ -n "${HEAVY_IN:-}" ]; then
  runners=$(awk -v n="$HEAVY_IN" -v seed="$SEED" -v heavy="$HEAVY" '
    BEGIN { count = split(heavy, names); for (i = 1; i <= count; i++) is_heavy[names[i]] = 1 }
    { name = NF > 1 ? $2 : $1; sub(".*/", "", name); sub(/[.]lua$/, "", name) }
    !(name in is_heavy) || (++found + seed) % n == 0' <<<"$runners")
fi

# Those that start several processes themselves get one processor each.
run() { JOBS=1 xargs -r -P "$1" -L 1 tests/run_one.sh; }
alone() { grep -wF "$@" "$(printf '%s\n' $ALONE)" <<<"$runners"; }
alone -e | run 1
alone -v -e | run "${JOBS:-$(nproc)}"

# A runner that left no result, because it could not be run or was killed, is one failure.
lost=$(printf '%s\n' "$runners" | grep -vxF -f <(cut -d ' ' -f 4- "$results"))
if [ -n "$lost" ]; then printf '%s\n' "$lost" | sed 's/$/: left no result/; s/^/failed: /' >>"$results.failed"; fi

# What failed stands together at the end, where a long log is read first.
if [ -s "$results.failed" ]; then cat "$results.failed"; fi

awk -v lost="$(printf '%s' "$lost" | grep -c '')" '
  { passed += $1; failed += $2; seconds += $3 }
  END {
    failed += lost
    printf "%d s of processor time\n%d passed, %d failed\n", seconds, passed, failed
    exit failed > 0
  }' "$results"
