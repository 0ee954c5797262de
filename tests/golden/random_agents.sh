#!/usr/bin/env bash
# AGENTS random agents (200) make the same requests, byte for byte, in the command and in libebb: in a preview, in a real
# run, and in one more turn, when timers of lorebooks have begun. SEED repeats a run; MODE=dev tests that build instead
# of the release. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/golden/kit.bash

choose_build
agents=${AGENTS:-200}
seed=${SEED:-1}
repeat="SEED=$seed AGENTS=$agents"

quietly make --no-print-directory MODE="$mode" products
# shellcheck disable=SC2046
"${CC:-gcc}" -std=c11 -O1 -Iruntime/include -Itests/random tests/random/pipelines.c "$build/libebb.a" -o "$top/pipelines" \
  $(pkg-config --libs libpcre2-8) -lm -ldl -pthread || exit 1

"$build/ebb" run tests/random/pipelines.lua "$seed" "$agents" "$top" >"$top/command" || exit 1
"$top/pipelines" "$top" "$agents" >"$top/library"
ok "all agents ran" "$(grep -c '^agent' "$top/command")" "$agents"
ok "most runs made a request" "$(grep -c '"messages"' "$top/command" | awk -v all="$agents" '{ print ($1 > all * 3 / 2) }')" 1
ok "command and libebb agree" "$(diff "$top/library" "$top/command" | head -20)" ""

finish
