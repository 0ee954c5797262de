#!/usr/bin/env bash
#
# Hands what Ebb writes to the providers' own packages (check.mjs): a body of each dialect, or with WHOLE=1 fifty. The
# last line is "N passed, N failed".
#
#     tests/peers/sdk/run.sh     part of `make test` and `make check-hard`, where npm brings the packages

set -euo pipefail
cd "$(dirname "$0")/../../.."

packages=$(tests/peers/packages.sh sdk)
shared=${EBB_SHARED:-../shared}/data/conversations
bodies=$(mktemp -d)
trap 'rm -rf "$bodies"' EXIT

files=()
if [ -d "$shared" ]; then mapfile -t files < <(find "$shared/" -name '*.json' | sort); fi
LUA_PATH="build/lua/?.lua;build/lua/?/init.lua" LUA_CPATH="build/lua/?.so" \
  lua5.4 tests/peers/sdk/bodies.lua "$bodies" "${BODIES:-$([ -n "${WHOLE:-}" ] && echo 50 || echo 2)}" "${files[@]}"
node tests/peers/sdk/check.mjs "$packages" "$bodies"
