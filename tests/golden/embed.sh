#!/usr/bin/env bash
# libebb as a stranger meets it: installed into an empty folder, found by
# pkg-config alone, of all symbols showing ebb_* only. The program of the guide
# is compiled as it stands there. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/golden/kit.bash

prefix=$top/prefix
strict="-Wall -Wextra -pedantic -Werror"

# ---- symbols ----

declared=$(grep -oE '^EBB_API .*\(' runtime/include/ebb*.h | grep -oE 'ebb_[a-z_0-9]+\($' | tr -d '(' | sort)
versioned=$(nm -D --defined-only --with-symbol-versions build/release/libebb.so | awk '$2 == "T" { print $3 }' | sort)
ok "libebb.so shows what the header declares, each with a version" "$versioned" "$(sed 's/$/@@EBB_1/' <<<"$declared")"
ok "libebb.so shows nothing else" "$(nm -D --defined-only build/release/libebb.so | awk '$2 != "T" { print $2, $3 }')" "A EBB_1"
ok "libebb.a too" "$(nm -g --defined-only build/release/libebb.a | awk 'NF == 3 { print $3 }' | sort)" "$declared"
ok "libebb.so needs no other Lua" "$(readelf -d build/release/libebb.so | grep -c 'NEEDED.*lua')" 0
ok "libebb.so has its name" "$(readelf -d build/release/libebb.so | grep -o 'libebb\.so\.[0-9]*')" "libebb.so.0"

# What it asks of the system is the same without optimisation, which takes half of the time.
make --no-print-directory MODE=minimal LTO= OPTIMISE=-O0 build/minimal/libebb.a >"$top/log" 2>&1 || cat "$top/log"
ok "MODE=minimal asks the system for none of these" \
  "$(nm -u build/minimal/libebb.a | grep -E 'mmap|dlopen|dlsym|dladdr|pthread|jit|sqlite|curl')" ""

# ---- the install ----

install() { make --no-print-directory "$1" "${@:2}" >"$top/log" 2>&1 || cat "$top/log"; }
install install PREFIX="$prefix"
install install DESTDIR="$top/stage" PREFIX=/opt/ebb
ok "DESTDIR comes before PREFIX, and nothing else is different" \
  "$(cd "$top/stage/opt/ebb" && find . | sort)" "$(cd "$prefix" && find . | sort)"
ok "ebb.pc names PREFIX, not DESTDIR" "$(head -1 "$top/stage/opt/ebb/lib/pkgconfig/ebb.pc")" "prefix=/opt/ebb"

ok "LICENSE, annotations and examples are installed" \
  "$(cd "$prefix/share" && ls doc/ebb/LICENSE doc/ebb/examples/hosts/tool/notebook.lua; cd ebb/lua && ls)" \
  $'doc/ebb/LICENSE\ndoc/ebb/examples/hosts/tool/notebook.lua\n'"$(ls lua/ebb/meta)"
ok "all documents are installed" "$(cd "$prefix/share/doc/ebb" && find docs -type f | sort)" "$(find docs -type f | sort)"
ok "man page and completions are installed" \
  "$(cd "$prefix/share" && cksum <man/man1/ebb.1 && cksum <bash-completion/completions/ebb && cksum <zsh/site-functions/_ebb && cksum <fish/vendor_completions.d/ebb.fish)" \
  "$(cksum <docs/man/ebb.1 && cksum <docs/completions/ebb.bash && cksum <docs/completions/_ebb && cksum <docs/completions/ebb.fish)"
ok "an example's command works in the documents' folder" \
  "$(cd "$prefix/share/doc/ebb" && "$prefix/bin/ebb" trim scripts/policies/agent.json --encoding cjk --budget 300 --policy keep_recent:keep=4 | cksum)" \
  "$(cksum <scripts/policies/keep_recent.out.json)"
binaries=("$prefix/bin/ebb" "$prefix/lib/libebb.so.0" "$prefix/lib/libebb.a" "$prefix/lib/lua/5.4/ebb/core.so")
ok "what is installed does not name the folder it was built in" "$(grep -c "$PWD" "${binaries[@]}" | grep -v ':0$')" ""
ok "it has no debug information" "$(for file in "${binaries[@]}"; do readelf -S "$file" 2>&1 | grep -o '\.debug_info'; done)" ""
install install-files MODE=release PREFIX="$top/multi" LIBDIR="$top/multi/lib/here-there"
ok "LIBDIR holds all that depends on the machine" "$(cd "$top/multi/lib" && find . -maxdepth 1 -mindepth 1)" "./here-there"
ok "pkg-config finds libraries in LIBDIR" \
  "$(PKG_CONFIG_PATH=$top/multi/lib/here-there/pkgconfig pkg-config --variable=libdir ebb)" "$top/multi/lib/here-there"
install uninstall PREFIX="$top/multi" LIBDIR="$top/multi/lib/here-there"
ok "uninstall takes LIBDIR, too" "$(find "$top/multi" ! -type d)" ""

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
flags() { pkg-config --cflags --libs ebb; }
run() { if "${@:2}" >"$top/log" 2>&1; then "$1"; else cat "$top/log"; fi; }
cd "$top" || exit 1
source=$OLDPWD/tests/embed
expected=$'12 messages, within budget\ndigests are equal'

# shellcheck disable=SC2046,SC2086
{
  host=$(run ./host ${CC:-cc} -std=c11 $strict "$source/host.c" $(flags) -o host)
  ok "a C11 program with pkg-config alone" "$(sed 's/^[0-9]* messages/12 messages/' <<<"$host")" "$expected"
  static=$(pkg-config --cflags --libs ebb-static)
  ok "the same with libebb.a" "$(run ./host_a ${CC:-cc} -std=c11 $strict "$source/host.c" $static -o host_a)" "$host"
  ok "libebb.a leaves no need of libebb.so" "$(readelf -d host_a | grep -c 'libebb')" 0
  ok "a host of the first version's header" "$(run ./first ${CC:-cc} -std=c11 $strict "$source/first_header.c" $(flags) -o first)" "first header: fine"
  ok "its functions are those of EBB_1" "$(nm -D --with-symbol-versions first | grep -c ' U ebb_.*@EBB_1$')" \
    "$(nm -D first | grep -c ' U ebb_')"
  if command -v g++ >/dev/null; then
    ok "a C++17 program" "$(run ./host_cpp g++ -std=c++17 $strict "$source/host.cpp" $(flags) -o host_cpp)" $'Good evening\t5'
  else
    echo "skipped: C++17, there is no g++"
  fi
  ok "a host with lua_* of its own, libebb.a" "$(run ./own_a ${CC:-cc} -std=c11 $strict "$source/own_lua.c" $static -rdynamic -o own_a)" "1 message"
  ok "a host with lua_* of its own, libebb.so" "$(run ./own ${CC:-cc} -std=c11 $strict "$source/own_lua.c" $(flags) -rdynamic -o own)" "1 message"

  # ---- exact counts, by the installed vocabularies ----

  text="Antidisestablishmentarianism, said the innkeeper: 40 gold for room 7."
  run true ${CC:-cc} -std=c11 $strict "$source/count.c" $(flags) -o count
  for encoding in o200k_base cl100k_base; do
    if [ ! -f "$prefix/share/ebb/vocab/$encoding.vocab" ]; then echo "skipped: $encoding is not there"; continue; fi
    counted=$(printf '[{"role":"user","content":"%s"}]' "$text" | "$prefix/bin/ebb" count --encoding $encoding --by message - | awk 'NR == 2 { print $1 }')
    ok "libebb counts by $encoding as the command does" "$(./count "$prefix/share/ebb" $encoding "$text")" "$counted"
  done
  ok "an encoding that is not there" "$(./count "$top" o200k_base x)" "there is no encoding 'o200k_base' here (there are bytes4, cjk, claude, claude_4_7, utf16_2_5)"

  # ---- the guide, followed to the letter ----
  guide=$OLDPWD/docs/guide/embedding-in-c.md
  block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$guide" | sed '/^```/d'; }
  block c >inn.c
  ok "the guide's program" "$(run ./inn bash -c "$(block sh | grep -oE '^cc inn\.c .*')")" "$(block text)"
}

# ---- the Lua module ----

say='local ebb = require "ebb" local c = ebb.conversation {} c:append { role = "user", content = "a" } print(#c, ebb.version)'
lua_of() { LUA_PATH="$1/?.lua;$1/?/init.lua" LUA_CPATH="$2/?.so" lua5.4 -e "$say" 2>&1; }
ok "require \"ebb\" from the install" "$(lua_of "$prefix/share/lua/5.4" "$prefix/lib/lua/5.4")" $'1\t0.1.0'
ok "require \"ebb\" from the build" "$(lua_of "$OLDPWD/build/lua" "$OLDPWD/build/lua")" $'1\t0.1.0'

# ---- a plain Lua program with the installed module ----

notebook() {
  LUA_PATH="$1/?.lua;$1/?/init.lua" LUA_CPATH="$2/?.so" \
    lua5.4 "$OLDPWD/scripts/hosts/tool/notebook.lua" book.json "${@:3}" 2>&1 >request.json
}
for folders in "$prefix/share/lua/5.4 $prefix/lib/lua/5.4" "$OLDPWD/build/lua $OLDPWD/build/lua"; do
  read -r lua cpath <<<"$folders"
  rm -f book.json
  ok "the notebook opens" "$(notebook "$lua" "$cpath" "note: three eggs and a lamp")" "notebook: 2 of 2 messages, 33 tokens"
  for i in 1 2 3 4; do notebook "$lua" "$cpath" "what about the weather of day $i, is it any good?" >/dev/null; done
  ok "its talk goes before its notes" "$(notebook "$lua" "$cpath" "What did I want to buy?" 80 >/dev/null; grep -c 'three eggs' request.json; grep -c 'day 1' request.json)" $'1\n0'
  ok "its file keeps all" "$(grep -c 'day 1' book.json)" "1"
done

cd "$OLDPWD" || exit 1
install uninstall PREFIX="$prefix"
ok "uninstall leaves no file" "$(find "$prefix" ! -type d)" ""
ok "nor a folder of its own" "$(find "$prefix" -name '*ebb*')" ""

finish
