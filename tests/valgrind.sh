#!/usr/bin/env bash
# The Lua specs under valgrind, with the build that has assertions: no errors,
# nothing lost. The last line is "N passed, N failed".
#
#     valgrind.sh [SAMPLE]     one spec in SAMPLE (1), which SEED chooses: all of them take an hour of a processor
#
# The library's specs run inside the command, so that valgrind sees the binding
# until its last line; the specs of the command run each of its processes under
# valgrind. What measures time (#time) is left out, and what the kernel would do to
# valgrind itself (#kernel). No error is suppressed; its remarks on system calls that
# it does not know are none.
set -u
cd "$(dirname "$0")/.."

if [ -d ../shared/data ]; then export EBB_SHARED=${EBB_SHARED:-$(cd ../shared && pwd)}; fi
# What makes random tests longer elsewhere would take days here.
unset WHOLE CONVERSATIONS DENSER STEPS MUTATIONS LIVES TURNS HISTORIES POLICIES

jobs=${JOBS:-3}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# A process that ends well and yet had errors says so by its status. One that a signal ends has blocks to which only
# registers or pointers into their middle lead: valgrind calls them possibly lost.
cat >"$logs/ebb" <<END
#!/bin/sh
exec valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
  --child-silent-after-fork=yes --log-file="$logs/errors.%p" "$PWD/build/debug/ebb" "\$@"
END
chmod +x "$logs/ebb"
# A process takes two seconds: fifty of the three thousand wrong files of places_spec are read.
export EBB=$logs/ebb EBB_BUILD=build/debug CALLS=5000 PLACES=60 SLOWER=100

# spec NAME COMMAND...: one runner of busted; its output and status stay in files
spec() {
  "${@:2}" --output=plainTerminal --exclude-tags=time,kernel >"$logs/$1.out" 2>&1
  echo $? >"$logs/$1.status"
}

sample=${1:-1}
chosen() { awk -v sample="$sample" -v seed="${SEED:-0}" 'NR % sample == seed % sample'; }
mapfile -t library < <(tests/specs.sh | grep -v -e cli_ -e safety_ | chosen)
mapfile -t commands < <(printf '%s\n' tests/lua/cli_*_spec.lua tests/lua/safety_spec.lua | chosen)
spec library "$logs/ebb" run tests/lua/under_ebb.lua -- "${library[@]}" &
for path in "${commands[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  LUA_PATH="build/debug/lua/?.lua;build/debug/lua/?/init.lua;;" LUA_CPATH="build/debug/lua/?.so;;" \
    spec "$(basename "$path" .lua)" busted "$path" &
done
wait

passed=0 failed=0
for out in "$logs"/*.out; do
  name=$(basename "$out" .out)
  good=$(sed -nE 's/^([0-9]+) success(es)? \/ .*/\1/p' "$out")
  if [ "$(cat "$logs/$name.status")" = 0 ] && [ -n "$good" ]; then
    passed=$((passed + good))
    echo "== $name under valgrind: $good passed"
  else
    failed=$((failed + 1))
    cat "$out"
    echo "== $name under valgrind: failed (exit status $(cat "$logs/$name.status"))"
  fi
done
for errors in "$logs"/errors.*; do
  if grep -q '^==' "$errors"; then
    failed=$((failed + 1))
    cat "$errors"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
