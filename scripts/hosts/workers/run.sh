#!/bin/sh
# Four workers append to one session; some are killed with SIGKILL and begin again. Then the session is compared with
# what they were told.
#
#     run.sh PLACE [APPENDS [KILLS]]       PLACE: a file, or postgresql://...; APPENDS of each worker, 50
#
# EBB names the command, CHAOS a command that runs once in the midst of it.
set -eu
place=$1 appends=${2:-50} kills=${3:-6}
ebb=${EBB:-ebb}
here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# A worker is begun again until it has ended by itself.
serve() {
  until [ -e "$logs/$1.done" ]; do
    "$ebb" run --quiet "$here/worker.lua" -- "$place" "$1" "$appends" "$logs/$1" </dev/null 2>"$logs/$1.error" &
    echo $! >"$logs/$1.pid"
    if { wait $!; } 2>/dev/null; then : >"$logs/$1.done"; elif [ -s "$logs/$1.error" ]; then cat "$logs/$1.error" >&2; exit 1; fi
  done
}

"$ebb" session new shared --db "$place" --quiet
workers=
for name in a b c d; do
  serve $name &
  workers="$workers $!"
done

killed=0
for try in $(seq "$kills"); do
  sleep 0.$((try % 4 * 5 + 10))
  name=$(echo a b c d | cut -d ' ' -f $((try % 4 + 1)))
  if [ ! -e "$logs/$name.done" ] && kill -KILL "$(cat "$logs/$name.pid")" 2>/dev/null; then killed=$((killed + 1)); fi
  if [ "$try" = $((kills / 2)) ]; then sh -c "${CHAOS:-:}"; fi
done
for worker in $workers; do wait "$worker"; done
echo "$killed workers killed"
"$ebb" run --quiet "$here/check.lua" -- "$place" "$logs/a" "$logs/b" "$logs/c" "$logs/d" </dev/null
