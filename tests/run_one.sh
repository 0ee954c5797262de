#!/usr/bin/env bash
# run_one.sh KIND NAME...: runs one runner of tests for run.sh (behind a C program may
# stand NAME=VALUE, variables of its own), shows what it said and adds "PASSED FAILED
# SECONDS RUNNER" to the file RESULTS, and the names of tests that failed to RESULTS.failed.
# Seconds are of processor time: by the wall they would say how busy the machine is.
#
# A runner is quiet unless it fails, but for what it swept or skipped; where STEPS is
# set, it says what it did. One that ends badly without having counted a failure (a
# crash, a leak found at exit), or that counts nothing, is itself one failure. So is one
# that hangs: after LIMIT seconds by the wall (15 minutes; two hours where WHOLE is set)
# it is killed, and its processes are listed.
set -u

runner=$*
output=$(mktemp)
trap 'rm -f "$output" "$output.times"' EXIT

if [ -n "${WHOLE:-}" ]; then limit=${LIMIT:-7200}; else limit=${LIMIT:-900}; fi

# Runs a command as a process group of its own, which can be killed as one, and answers
# its status. A sleep ends a command that outlives the limit; the command ends the sleep.
limited() {
  local child watch status
  set -m
  "$@" >"$output" 2>&1 </dev/null &
  child=$!
  {
    sleep "$limit"
    echo "stopped after $limit s, with these processes:"
    ps -eo pgid,pid,ppid,stat,time,wchan:20,args | awk -v group="$child" 'NR == 1 || $1 == group'
    kill -KILL -- "-$child"
  } >>"$output" 2>&1 &
  watch=$!
  set +m
  wait "$child" 2>/dev/null
  status=$?
  kill -- "-$watch" 2>/dev/null && wait "$watch" 2>/dev/null
  return "$status"
}

# The sum of the numbers that a pattern finds in the output.
sum() { sed -nE "s/$1/\1/p" "$output" | awk '{ n += $1 } END { print n + 0 }'; }

show() {
  local name=$1 status=$2 good=$3 bad=$4
  if [ "$bad" -gt 0 ]; then
    cat "$output"
    echo "== $name: $good passed, $bad failed (exit status $status, $seconds s)"
  else
    if [ -n "${STEPS:-}" ]; then grep -E '^(SEED=|model:)' "$output"; fi
    grep -E '^(swept|skipped|fuzzed): ' "$output"
    grep -A1 '^Pending' "$output"
    echo "== $name: $good passed ($seconds s)"
  fi
}

# report NAME STATUS PASSED FAILED [PENDING]: adds the runner up
report() {
  local name=$1 status=$2 good=$3 bad=$4 pending=${5:-0} seconds
  times >"$output.times"       # of the children: the second line, such as 0m12.345s 0m1.234s
  seconds=$(awk 'NR == 2 { split($0, t, /[ms ]+/); printf "%.1f", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$output.times")
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((good + pending)) -eq 0 ]; }; then bad=1; fi
  {
    flock 9
    show "$name" "$status" "$good" "$bad"
    echo "$good $bad $seconds $runner" >&9
    if [ "$bad" -gt 0 ]; then failures "$name" >>"$RESULTS.failed"; fi
  } 9>>"$RESULTS"
}

# The lines that name what failed, as each kind of runner writes them; or else the last three.
failures() {
  grep -E -A 2 --no-group-separator '^(Failure|Error) (→|->) |^\[  (FAILED|ERROR)  \] [^0-9]|^(FAIL|not ok|stopped after)|ERROR: [A-Za-z]+Sanitizer' "$output" | head -n 30 | sed "s|^|failed: $1: |"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then tail -n 3 "$output" | sed "s|^|failed: $1: |"; fi
}

cmocka() {
  limited env "${@:2}" "$1"
  report "$1" $? "$(sum '^\[  PASSED  \] ([0-9]+) test.*')" "$(sum '^ ?\[  FAILED  \] ([0-9]+) test.*')" \
    "$(sum '^ ?\[  SKIPPED \] ([0-9]+) test.*')"
}

run_busted() {
  # shellcheck disable=SC2086
  limited busted ${BUSTED:-} "$1"
  report_busted "$1" $?
}

# The library's specs once more, inside the command with its sanitizers: all of them
# or, with SAMPLE, every so-manieth, beginning where SEED says. What makes random tests
# longer elsewhere would take hours here.
sanitized() {
  local specs
  specs=$(tests/specs.sh 2>/dev/null | grep -v /cli_ | awk -v sample="${SAMPLE:-1}" -v seed="$SEED" '(NR + seed) % sample == 0')
  unset WHOLE CONVERSATIONS DENSER STEPS MUTATIONS LIVES POLICIES CALLS
  # shellcheck disable=SC2086
  SANITIZED=1 HISTORIES=30 TURNS=1000 COMPLEXITY=${COMPLEXITY:-40} \
    limited build/small/ebb run tests/lua/under_ebb.lua -- $specs
  report_busted "specs under sanitizers${SAMPLE:+, one in $SAMPLE}" $?
}

report_busted() {
  local bad
  bad=$(($(sum '.* ([0-9]+) failures? \/ .*') + $(sum '.* ([0-9]+) errors? \/ .*')))
  report "$1" "$2" "$(sum '^([0-9]+) success(es)? \/ .*')" "$bad" "$(sum '.* ([0-9]+) pending : .*')"
}

# Scripts count for themselves: their last line is "N passed, N failed".
script() {
  limited "$@"
  report "$1" $? "$(sum '^([0-9]+) passed, [0-9]+ failed$')" "$(sum '^[0-9]+ passed, ([0-9]+) failed$')"
}

case $1 in
  c) cmocka "${@:2}" ;;
  lua) run_busted "$2" ;;
  sanitized) sanitized ;;
  script) shift && script "$@" ;;
esac
exit 0
