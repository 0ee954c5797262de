#!/usr/bin/env bash
#
# Beside SQLite, Lua and QuickJS, in one run: opening and closing, memory, storing a message, the size of the library; and what
# a vocabulary costs runtimes that share it.
#
#     tests/bench/embedding.sh
#
# EBB_BUILD  the build that is measured (build/release)
# QUICKJS    a folder with quickjs.h and libquickjs.a, for Debian has no package; without it QuickJS is left out

set -euo pipefail
cd "$(dirname "$0")/../.."

BUILD=${EBB_BUILD:-build/release}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

if ! echo '#include <sqlite3.h>' | "${CC:-cc}" -E - >/dev/null 2>&1; then
  echo "embedding: skipped, libsqlite3-dev is missing"
  exit 0
fi
quickjs=()
if [ -n "${QUICKJS:-}" ]; then quickjs=(-DWITH_QUICKJS "-isystem$QUICKJS" "$QUICKJS/libquickjs.a"); fi
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -Iruntime/include $(pkg-config --cflags lua5.4) tests/bench/embedding.c \
  "${quickjs[@]}" "$BUILD/libebb.a" -lpcre2-8 -lsqlite3 $(pkg-config --libs lua5.4) -lm -ldl -lpthread -o "$top/embedding"
"$top/embedding" build/share/ebb/vocab

# Without symbols for debuggers, as packages ship them.
stripped() {
  local file
  file=$(ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }')
  cp "${file:-$1}" "$top/library" && strip "$top/library" && stat -c %s "$top/library"
}
echo
printf 'shared library, stripped, KB'
for library in "$BUILD/libebb.so" libsqlite3.so.0 liblua5.4.so.0; do
  printf '  %s %d' "$(basename "$library")" $(($(stripped "$library") / 1000))
done
echo
