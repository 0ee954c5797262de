#!/usr/bin/env bash
# A file that is edited in its place, while a signal ends the command or another
# command edits it too.
#
# What holds for every run: status 0 and the new file, or the status of the signal and the
# old one; only SIGKILL leaves a temporary file, and the next run removes it; an edit
# that is acknowledged is in the file. The signals come at every call that touches a
# file (through io_shim.c), and at random moments. SEED repeats a run; WHOLE=1 takes many
# more moments; EBB names another build.
set -u

# Who started this may ignore signals, as nohup does; a shell cannot take that back.
if [ -z "${SIGNALS_RESET:-}" ]; then SIGNALS_RESET=1 exec env --default-signal "$0" "$@"; fi
cd "$(dirname "$0")/../.."

EBB=${EBB:-build/ebb}
SEED=${SEED:-$(date +%s)}
MOMENTS=${MOMENTS:-$([ -n "${WHOLE:-}" ] && echo 1000 || echo 40)}
ROUNDS=${ROUNDS:-$([ -n "${WHOLE:-}" ] && echo 100 || echo 20)}
RANDOM=$((SEED % 32768))
ulimit -c 0
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

passed=0
failed=0
top=$(mktemp -d)
trap 'if [ "$BASHPID" = $$ ]; then rm -rf "$top"; fi' EXIT     # not in a child that a signal ends before its exec
mkfifo "$top/never"
exec 9<>"$top/never"
chat=$top/chat.jsonl

good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED (SEED=$SEED): $*"; }

edit() {   # FILE TEXT: appends a message in its place
  exec "$EBB" apply "{\"operation\":\"append\",\"messages\":[{\"role\":\"user\",\"content\":\"$2\"}]}" "$1" -o "$1" \
    </dev/null >/dev/null 2>"$top/err"
}

temporaries() { compgen -G "$top/.*.ebb-*" | wc -l; }
wait_for() { read -r -t "$1" -u 9 _ || true; }   # SECONDS, without another process

# What is wrong with a run that got a signal, or nothing; $left: temporaries after it.
fault_of() {   # SIGNAL STATUS OLD NEW
  local is=torn
  if cmp -s "$chat" "$4"; then is=new; elif cmp -s "$chat" "$3"; then is=old; fi
  case "$1 $2 $is" in
    *" 0 new" | "KILL 137 old" | "KILL 137 new" | *" $((128 + $(kill -l "$1"))) old") ;;
    *) echo "the file is $is"; return ;;
  esac
  if [ "$1" != KILL ] && [ "$left" != 0 ]; then echo "a temporary is left"; return; fi
  if [ "$left" = 0 ]; then return; fi
  (edit "$chat" again) || echo "the next run fails"
  if [ "$(temporaries)" != 0 ]; then echo "the next run leaves the temporary"; fi
}

# ---- a signal at every call ----

echo '{"role":"user","content":"first"}' >"$top/small"
cp "$top/small" "$chat"
(edit "$chat" new) || bad "an edit without a signal"
mv "$chat" "$top/small.new"
for name in INT TERM HUP KILL; do
  struck=0
  for call in open read write fsync rename close; do
    for ((k = 1; k < 200; k++)); do
      cp "$top/small" "$chat"
      rm -f "$top/hit"
      {   # the shell says which signal ended it
        (
          export LD_PRELOAD=$PWD/build/faults/io_shim.so SHIM_CALL=$call SHIM_FAULT=SIG$name SHIM_AT=$k SHIM_HIT=$top/hit
          edit "$chat" new
        )
        status=$?
      } 2>/dev/null
      left=$(temporaries)
      wrong=$(fault_of $name $status "$top/small" "$top/small.new")
      if [ -n "$wrong" ]; then bad "SIG$name at $call $k: status $status, $wrong"; else good; fi
      if [ ! -e "$top/hit" ]; then break; fi
      struck=$((struck + 1))
    done
  done
  if [ $struck -ge 15 ]; then good; else bad "SIG$name struck $struck times only"; fi
done

# ---- signals at random moments ----

yes '{"role":"user","content":"The rain in Spain stays mainly in the plain."}' | head -n 60000 >"$top/old"
cp "$top/old" "$chat"
(edit "$chat" new) || bad "an edit without a signal"
mv "$chat" "$top/new"

duration() {   # microseconds of a run
  cp "$top/old" "$chat"
  local begin=${EPOCHREALTIME/./}
  (edit "$chat" new)
  echo $((${EPOCHREALTIME/./} - begin))
}
whole=$({ duration; duration; duration; duration; duration; } | sort -n | sed -n 3p)

end_at() {   # SIGNAL MICROSECONDS: status in $status
  cp "$top/old" "$chat"
  edit "$chat" new &
  local process=$!
  wait_for "$(printf '%d.%06d' $(($2 / 1000000)) $(($2 % 1000000)))"
  kill "-$1" $process 2>/dev/null
  wait $process 2>/dev/null
  status=$?
}

ended=0 swept=0
SIGNALS=(INT TERM HUP KILL INT TERM HUP KILL QUIT USR1 ALRM XCPU)
for ((i = 0; i < MOMENTS; i++)); do
  name=${SIGNALS[RANDOM % ${#SIGNALS[@]}]}
  at=$((whole * 110 / 100 * (RANDOM % 1000) / 1000))
  end_at "$name" $at
  left=$(temporaries)
  if [ "$status" != 0 ]; then ended=$((ended + 1)); fi
  if [ "$left" != 0 ]; then swept=$((swept + 1)); fi
  wrong=$(fault_of "$name" "$status" "$top/old" "$top/new")
  if [ -n "$wrong" ]; then bad "SIG$name after $at of $whole us: status $status, $wrong"; else good; fi
done
echo "ended by a signal: $ended of $MOMENTS; $swept temporaries swept"

# ---- what is swept; test_file_write.c has the temporaries of the living ----

live=$top/.chat.jsonl.ebb-0123456789abcdef
cp "$top/old" "$live"
(edit "$chat" again) || bad "an edit beside a temporary without a lock"
if [ -e "$live" ]; then bad "a temporary without a lock stays"; else good; fi
notes=$top/.chat.jsonl.ebb-backup
cp "$top/old" "$notes"
(edit "$chat" again) || bad "an edit beside a file of the user's"
if [ -e "$notes" ]; then good; rm "$notes"; else bad "a file of the user's is swept"; fi

# ---- two writers ----

echo '{"role":"user","content":"first"}' >"$chat"
acknowledged=0 conflicts=0
for ((round = 0; round < ROUNDS; round++)); do
  edit "$chat" "a$round." &
  first=$!
  edit "$chat" "b$round." &
  second=$!
  for writer in "a $first" "b $second"; do
    wait "${writer#* }"
    status=$?
    case $status in
      0) acknowledged=$((acknowledged + 1)); echo "${writer% *}$round." >>"$top/acknowledged" ;;
      7) conflicts=$((conflicts + 1)) ;;
      *) bad "a writer of two: status $status" ;;
    esac
  done
done
while read -r edit; do
  if grep -q "\"$edit\"" "$chat"; then good; else bad "an acknowledged edit is lost: $edit"; fi
done <"$top/acknowledged"
if [ "$(wc -l <"$chat")" = $((acknowledged + 1)) ]; then good; else bad "the file has other edits than the acknowledged"; fi
if [ "$acknowledged" -ge "$ROUNDS" ]; then good; else bad "of two writers, none succeeds"; fi
if [ "$(temporaries)" = 0 ]; then good; else bad "two writers leave a temporary"; fi
echo "two writers: $acknowledged edits acknowledged, $conflicts conflicts"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
