#!/usr/bin/env bash
# Random policies repeat: POLICIES of them (20), which walk over sets of messages, units, tables and functions, are run
# in RUNS processes (20), whose addresses differ. All give the same bytes, in the command and in libebb, and both the
# same messages. SEED repeats a run; MODE=dev tests that build instead of the release. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/golden/kit.bash

choose_build
policies=${POLICIES:-20}
runs=${RUNS:-20}
seed=${SEED:-1}
repeat="SEED=$seed POLICIES=$policies"
budget=300

# The different results of RUNS runs, each with how often it came.
repeated() { for _ in $(seq "$runs"); do "$@" 2>&1 | cksum; done | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' '; }
# What is the same in all hosts: labels count up through a runtime of libebb, and begin anew in each sandbox.
without_labels() { "$@" | grep -v '^  label'; }

quietly make --no-print-directory MODE="$mode" products
# shellcheck disable=SC2046
"${CC:-gcc}" -std=c11 -O1 -Iruntime/include -Itests/random tests/random/trims.c "$build/libebb.a" -o "$top/trims" \
  $(pkg-config --libs libpcre2-8) -lm -ldl -pthread || exit 1
lua5.4 tests/random/policies.lua "$seed" "$policies" "$top" || exit 1

command=("$build/ebb" run tests/random/trims.lua "$top" "$policies" "$budget")
library=("$top/trims" "$top" "$policies" "$budget")
ok "policies trim" "$("${command[@]}" | grep -c '^trimmed' | awk -v all="$policies" '{ print ($1 > all / 2) }')" 1
ok "the command repeats" "$(repeated "${command[@]}")" "$runs "
ok "libebb repeats" "$(repeated "${library[@]}")" "$runs "
ok "command and libebb agree" "$(without_labels "${command[@]}" | cksum)" "$(without_labels "${library[@]}" | cksum)"
for i in 1 2 3; do
  ok "ebb trim repeats: policy $i" "$(repeated "$build/ebb" trim "$top/chat.json" --budget "$budget" --policy "$top/$i.lua")" "$runs "
done

# Droppable messages in a set, dropped until the rest fits: as anyone would write it.
cat >"$top/set.lua" <<'LUA'
return function(draft, budget)
  local droppable = {}
  for message in draft:messages {} do droppable[message] = true end
  for message in pairs(droppable) do
    if draft:tokens() <= budget then return end
    pcall(draft.drop, draft, message)
  end
end
LUA
ok "a set of messages repeats" "$(repeated "$build/ebb" trim "$top/chat.json" --budget "$budget" --policy "$top/set.lua")" "$runs "
"$build/ebb" trim "$top/chat.json" --budget "$budget" --policy "$top/set.lua" >"$top/set.json"
ok "and drops the oldest first" "$(grep -c ' 60"' "$top/set.json") $(grep -c ' 1"' "$top/set.json")" "1 0"

finish
