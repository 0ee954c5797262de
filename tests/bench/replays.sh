#!/usr/bin/env bash
#
# What each built-in policy costs and loses over recorded conversations with tools, beside no trimming and LangChain's
# trimMessages: at a half and at a third of each one's tokens, the long recordings by themselves.
#
#     tests/bench/replays.sh
#
# EBB      the program (build/release/ebb)
# FOLDER   the recordings (../shared/data/conversations; without them, one of our samples)
# SHARES   of each recording's tokens (50 33); 66 and 60 of the one that tests/lua/large_tools.lua writes

set -euo pipefail
cd "$(dirname "$0")/../.."

EBB=${EBB:-build/release/ebb}
FOLDER=${FOLDER:-../shared/data/conversations}
SHARES=${SHARES:-50 33}
LONG=200     # kilobytes from which a recording is long
CHAINS=(stable_prefix:low=0.8 trim_messages:strategy=last,include_system=true,start_on=user)

# Options --policy for all built-in policies but those that need options or a model. Policies that make a list smaller,
# but know no budget, are played before the two that cut; other chains are those that people use.
policies=()
for file in lua/ebb/policies/*.lua; do
  name=$(basename "$file" .lua)
  case $name in
    init | summarize | quota) ;;
    agent | digest | idle | keep_* | stable_prefix | trim_messages) policies+=(--policy "$name") ;;
    *) policies+=(--policy "$name,keep_recent" --policy "$name,stable_prefix") ;;
  esac
done
for chain in "${CHAINS[@]}"; do policies+=(--policy "$chain"); done

peers_ready() {
  [ -d tests/peers/node_modules/@langchain/core ] ||
    (cd tests/peers && timeout 180 npm install --silent --no-audit --no-fund --no-package-lock) >/dev/null 2>&1
}

# A table of Ebb's policies and one of LangChain's, for the recordings after the title.
table() {
  local title=$1 share
  shift
  [ $# -gt 0 ] || return 0
  for share in $SHARES; do
    echo
    echo "## $title, at $share % of the tokens"
    echo
    "$EBB" trim --replay "$@" --encoding o200k_base --cache general --budget "$share%" --quiet "${policies[@]}" |
      awk -v files=$# 'files == 1 || /^together/ { shown = 1 } shown'
    echo
    if peers_ready; then EBB=$EBB node tests/peers/replay_langchain.mjs "0.$share" "$@"
    else echo "LangChain is missing: npm cannot install it here"; fi
  done
}

long=() short=()
while IFS= read -r file; do
  if [ "$(stat -c %s "$file")" -ge $((LONG * 1000)) ]; then long+=("$file"); else short+=("$file"); fi
done < <(grep -l '"tool_calls"' "$FOLDER"/*.json 2>/dev/null)
if [ $((${#long[@]} + ${#short[@]})) -eq 0 ]; then short=(scripts/samples/support.json); fi

large=$(mktemp --suffix=.json)
trap 'rm -f "$large"' EXIT
LUA_PATH="build/lua/?.lua;build/lua/?/init.lua" LUA_CPATH="build/lua/?.so" lua5.4 tests/lua/large_tools.lua >"$large"

table "${#long[@]} long recordings" "${long[@]}"
table "${#short[@]} short recordings" "${short[@]}"
SHARES="66 60" table "an agent whose tools take half of the tokens" "$large"
