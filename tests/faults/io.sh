#!/usr/bin/env bash
# Input and output that fail: each system call of a command in turn, through the
# preload library io_shim.c, and what a shell can arrange by itself.
#
# What holds for every run: it ends in time; its status is 0 and its output is
# right, or 7 and it says why; a file under the output's name is the old one or
# the new one, whole; no temporary is left. EBB names another build. SAMPLE=n strikes
# one call in n, of eight at most, which SEED decides.
set -u
cd "$(dirname "$0")/../.."

stride=$((${SAMPLE:-1} > 8 ? 8 : ${SAMPLE:-1}))
RANDOM=$((${SEED:-$(date +%s)} % 32768))

EBB=${EBB:-build/ebb}
SHIM=$PWD/build/faults/io_shim.so
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

passed=0
failed=0
top=$(mktemp -d)
trap 'chmod -R u+w "$top"; rm -rf "$top"' EXIT

# Large enough to be read ahead, with lines that go on where a read ends.
large=$top/large.jsonl
yes '{"role":"user","content":"The rain in Spain stays mainly in the plain."}' | head -n 130000 >"$large"

make_folder() {   # NAME: what the commands read, and what they write if nothing fails
  folder=$top/$1
  mkdir "$folder"
  cp scripts/samples/support.json "$folder/in.json"
  cp scripts/samples/support.json "$folder/kept.json"
  echo '[{"operation":"truncate","truncate":{"keepLast":5}}]' >"$folder/operations.json"
  echo 'return function(message) return message.role ~= "tool" end' >"$folder/filter.lua"
  echo '[{"role":"user","content":"old"}]' >"$folder/old.json"
  local command
  for command in trim apply filter count large; do
    arguments $command
    "$EBB" "${words[@]}" >"$folder/$command.expected" 2>"$folder/err" || bad "$command fails by itself"
  done
}

good() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  echo "FAILED: $*"
  sed 's/^/    /' "$folder/err" | head -5
}

arguments() {   # COMMAND: its words, for the input in.json
  case $1 in
    trim) words=(trim "$folder/in.json" --budget 2000) ;;
    apply) words=(apply "$folder/operations.json" "$folder/in.json") ;;
    filter) words=(filter "$folder/filter.lua" --input "$folder/in.json") ;;
    count) words=(count "$folder/in.json") ;;
    large) words=(count "$large") ;;
  esac
}

# ---- the k-th call of each kind ----

# strike CALL FAULT K TARGET [NAME=VALUE]: one run; status in $status, whether the fault struck in $hit
strike() {
  local call=$1 fault=$2 k=$3 target=$4 output=(-o "$folder/out") stdout=$folder/stdout
  rm -f "$folder/hit" "$folder/out"
  case $target in
    stdout) output=() stdout=$folder/out ;;
    replace) cp "$folder/old.json" "$folder/out" ;;
  esac
  timeout 60 env LD_PRELOAD="$SHIM" SHIM_CALL="$call" SHIM_FAULT="$fault" SHIM_AT="$k" SHIM_HIT="$folder/hit" "${@:5}" \
    "$EBB" "${words[@]}" ${output[@]+"${output[@]}"} </dev/null >"$stdout" 2>"$folder/err"
  status=$?
  hit=no
  if [ -e "$folder/hit" ]; then hit=yes; fi
}

is_prefix() { cmp -s -n "$(stat -c %s "$1")" "$1" "$2"; }

# What is wrong with a run, or nothing.
fault_of() {
  local call=$1 fault=$2 target=$3 expected=$4
  if compgen -G "$folder/.*.ebb-*" >/dev/null; then echo "a temporary is left"; return; fi
  case $status in
    0) if ! cmp -s "$folder/out" "$expected"; then echo "status 0, but the output is not right"
       elif [ $hit = yes ] && [[ "$call $fault" =~ ^(write|fsync|rename)\ E && $fault != EINTR ]]; then echo "is swallowed"; fi
       return ;;
    7) grep -q '^ebb' "$folder/err" || { echo "nothing says why"; return; } ;;
    *) echo "status $status"; return ;;
  esac
  case $fault in EINTR | SHORT) echo "is not absorbed"; return ;; esac
  case $target in
    stdout)
      if [ "$call" = write ]; then is_prefix "$folder/out" "$expected" || echo "the output is not a part of the right one"
      elif [ -s "$folder/out" ]; then echo "fails, and yet writes"; fi ;;
    new)
      if [ -e "$folder/out" ] && ! { [ "$call" = fsync ] && cmp -s "$folder/out" "$expected"; }; then
        echo "a file is left"   # what the folder's own fsync did not confirm is there, whole
      fi ;;
    replace)
      if ! cmp -s "$folder/out" "$folder/old.json" && ! { [ "$call" = fsync ] && cmp -s "$folder/out" "$expected"; }; then
        echo "the old file is gone"
      fi ;;
  esac
}

# sweep COMMAND TARGET CALL FAULT [NAME=VALUE]: every stride-th k until nothing is struck; counts into $struck,
# $absorbed
sweep() {
  local command=$1 target=$2 call=$3 fault=$4 k wrong
  for ((k = 1 + RANDOM % stride; k < 200; k += stride)); do
    strike "$call" "$fault" "$k" "$target" "${@:5}"
    wrong=$(fault_of "$call" "$fault" "$target" "$folder/$command.expected")
    if [ -n "$wrong" ]; then bad "$command to $target, $call $k $fault ${*:5}: $wrong"; else good; fi
    if [ $hit = no ]; then break; fi
    struck=$((struck + 1))
    if [ "$status" = 0 ]; then absorbed=$((absorbed + 1)); fi
  done
}

sweep_call() {   # CALL FAULT...: in the background; what it counts is the last line of its log
  sweep_faults "$@" >"$top/$1.log" 2>&1 &
}

sweep_faults() {
  local call=$1 fault command target
  struck=0 absorbed=0
  make_folder "$call"
  for fault in "${@:2}"; do
    for command in trim apply filter count large; do
      arguments $command
      if [ "$command" = large ] && [ "$call" != read ]; then continue; fi
      for target in stdout new replace; do
        if [[ "$command" =~ ^(count|large)$ && $target != stdout ]]; then continue; fi
        sweep $command $target "$call" "$fault"
        case $fault in EINTR | SHORT) ;; *) sweep $command $target "$call" "$fault" SHIM_STICKY=1 ;; esac
      done
    done
  done
  echo "swept: $call ${*:2}: $struck calls failed, $absorbed of them absorbed"
  echo "$passed $failed"
}


make_folder shell
sweep_call open EIO EACCES EINTR
sweep_call read EIO EINTR SHORT
sweep_call write EIO ENOSPC EDQUOT EINTR SHORT
sweep_call fsync EIO ENOSPC EINTR
sweep_call rename EIO ENOSPC EACCES
sweep_call close EIO EINTR

# ---- a file that changes while it is read ----

changes() {   # FAULT CALL K STATUSES: and nothing is written unless the status is 0
  arguments trim
  strike "$2" "$1" "$3" new "SHIM_FILE=$folder/in.json"
  if [[ " $4 " != *" $status "* ]]; then bad "$1 at $2 $3: status $status, not one of $4"
  elif [ "$status" != 0 ] && [ -e "$folder/out" ]; then bad "$1 at $2 $3: a file is left"
  elif [ "$status" = 0 ] && ! cmp -s "$folder/out" "$folder/trim.expected"; then bad "$1 at $2 $3: not the right output"
  else good; fi
  cp "$folder/kept.json" "$folder/in.json"
}

changes VANISH open 1 "7"
changes VANISH read 1 "0"          # it is open: its bytes are there still
changes SHRINK read 1 "6"
changes SHRINK read 2 "0 6"
changes GROW read 1 "6"            # with bytes that are no JSON
changes GROW open 1 "6"

# ---- a child whose end the system does not tell ----

echo 'print "hello"' >"$folder/hello.lua"
unwaited() {   # NAME TEXT WORD...: the message has TEXT in it
  local name=$1 text=$2
  timeout 60 env LD_PRELOAD="$SHIM" SHIM_CALL=wait SHIM_FAULT=ECHILD SHIM_AT=1 "$EBB" "${@:3}" </dev/null \
    >"$folder/stdout" 2>"$folder/err"
  status=$?
  if [ "$status" = 7 ] && grep -q "$text cannot be determined: No child processes" "$folder/err"; then good
  else bad "$name: status $status"; fi
}
unwaited "an isolated script" "how the script's process ended" run --isolate "$folder/hello.lua"
unwaited "a model's command" "how it ended" trim "$folder/in.json" --budget 2000 --policy summarize \
  --model-command "exec echo All is well"

# ---- what needs no shim ----

expect() {   # STATUS WHAT: of the run just made
  if [ "$status" = "$1" ] && { [ "$1" = 0 ] || grep -q '^ebb' "$folder/err"; }; then good; else bad "$2: status $status"; fi
}

expect_silence() {   # WHAT: the reader of standard output has ended; a vocabulary may be missing
  if [ "$status" = 141 ] && ! grep -v ' is not installed: tokens are estimated' "$folder/err" | grep -q '^ebb'; then good; else bad "$1: status $status"; fi
}

run() { timeout 60 "$EBB" "$@" </dev/null >"$folder/stdout" 2>"$folder/err"; status=$?; }

for command in trim apply filter count; do
  arguments $command
  timeout 60 "$EBB" "${words[@]}" >/dev/full 2>"$folder/err"; status=$?
  expect 7 "$command to /dev/full"
  { timeout 60 "$EBB" "${words[@]}" 2>"$folder/err"; echo $? >"$folder/status"; } | :
  status=$(cat "$folder/status")
  # A short output may be in the pipe before its other end closes.
  if [ "$status" = 0 ]; then good; else expect_silence "$command to a closed pipe"; fi
  timeout 60 "$EBB" "${words[@]}" >&- 2>"$folder/err"; status=$?
  expect 7 "$command without standard output"
done

{ sleep 0.2; timeout 60 "$EBB" trim "$folder/in.json" --budget 100000 2>"$folder/err"; echo $? >"$folder/status"; } | exec 0<&-
status=$(cat "$folder/status")
expect_silence "trim to a pipe that was closed before"

run trim "$folder" --budget 2000; expect 7 "a folder as input"
run trim "$folder/in.json" --budget 2000 -o "$folder"; expect 7 "a folder as output"
run trim "$folder/in.json/x" --budget 2000; expect 7 "a file as folder"
run trim "$folder/absent" --budget 2000; expect 7 "an absent file"
timeout 60 "$EBB" trim --budget 2000 <&- >"$folder/stdout" 2>"$folder/err"; status=$?
expect 7 "closed standard input"
ln -s loop "$folder/loop"
run trim "$folder/loop" --budget 2000; expect 7 "a link to itself"
ln -s nowhere "$folder/dangling"
run trim "$folder/in.json" --budget 2000 -o "$folder/dangling"; expect 7 "a link to nothing as output"

# Root may do everything: these run as nobody then, with a copy of the command in a folder that this user can reach.
run_plainly() { timeout 60 "${plainly[@]}" "$@" </dev/null >"$folder/stdout" 2>"$folder/err"; status=$?; }

plainly=("$EBB")
if [ "$(id -u)" -eq 0 ]; then
  cp "$EBB" "$top/ebb"
  chmod 755 "$top" "$folder" "$top/ebb"
  chmod 777 "$folder"
  plainly=(setpriv --reuid=65534 --regid=65534 --clear-groups "$top/ebb")
fi
run_plainly trim "$folder/in.json" --budget 2000 -o "$folder/plain"
if [ "$(id -u)" -eq 0 ] && [ "$status" != 0 ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
  echo "skipped: files and folders without permission (root may do everything, and setpriv makes nobody of it)"
else
  expect 0 "a folder that may be written"
  cp "$folder/in.json" "$folder/locked.json"; chmod 000 "$folder/locked.json"
  run_plainly trim "$folder/locked.json" --budget 2000; expect 7 "a file that may not be read"
  run_plainly trim "$folder/in.json" --budget 2000 -o "$folder/locked.json"; expect 7 "a file that may not be written"
  if cmp -s "$folder/in.json" "$folder/locked.json"; then good; else bad "a file that may not be written: changed"; fi
  mkdir "$folder/locked"; cp "$folder/old.json" "$folder/locked/out"; chmod 555 "$folder/locked"
  run_plainly trim "$folder/in.json" --budget 2000 -o "$folder/locked/new"; expect 7 "a folder that may not be written"
  run_plainly trim "$folder/in.json" --budget 2000 -o "$folder/locked/out"; expect 7 "a file in it"
  if cmp -s "$folder/old.json" "$folder/locked/out"; then good; else bad "a file in a folder that may not be written: changed"; fi
  chmod 000 "$folder/locked"
  run_plainly trim "$folder/locked/out" --budget 2000; expect 7 "a folder that may not be entered"
  for command in trim apply filter count; do
    arguments $command
    words=("${words[@]/in.json/locked.json}")
    chmod 000 "$folder/locked.json"
    run_plainly "${words[@]}"; expect 7 "$command of a file that may not be read"
  done
fi

wait
for log in "$top"/*.log; do
  head -n -1 "$log"
  read -r good bad < <(tail -n 1 "$log")
  passed=$((passed + good))
  failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
