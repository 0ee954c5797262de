#!/usr/bin/env bash
#
# Prints the folder of the npm packages that package.json here names; installs them there first where they are missing
# (170 MB, kept for later runs in ebb-bench beneath TMPDIR). Ends with 1 if npm cannot.

set -euo pipefail
cd "$(dirname "$0")"

folder=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}/token-peers
if ! cmp -s package.json "$folder/package.json" || [ ! -d "$folder/node_modules/tiktoken" ]; then
  mkdir -p "$folder"
  cp package.json "$folder/package.json"
  if ! (cd "$folder" && timeout 300 npm install --silent --no-audit --no-fund --no-package-lock) >&2; then
    rm "$folder/package.json"   # so that the next run tries again
    exit 1
  fi
fi
echo "$folder"
