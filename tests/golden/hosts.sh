#!/usr/bin/env bash
# The smaller hosts of scripts/hosts, from the examples and libraries of an install: each
# must build without a warning, do what its README says, leak nothing, and the server
# must be free of races. (The game has game.sh.) MODE=dev tests that build instead of
# the release. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/golden/kit.bash

choose_build
project=$PWD
prefix=$top/prefix
hosts=$prefix/share/doc/ebb/examples/hosts
strict="-std=c11 -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Werror"

quietly make --no-print-directory MODE="$mode" products
quietly make --no-print-directory MODE="$mode" install-files PREFIX="$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
static=$(pkg-config --cflags --libs ebb-static)
# The text that a README shows behind a command.
shown() { awk -v command="\$ $1" 'index($0, command) == 1 { on = 1; next } /^(```|\$ )/ { on = 0 } on' "$hosts/README.md"; }
cd "$top" || exit 1

# compile NAME SOURCE: by each compiler; what is run is checked for leaks and undefined behaviour.
compile() {
  if command -v clang >/dev/null; then
    # shellcheck disable=SC2086
    ok "$1 compiles by clang without a warning" "$(clang $strict "$hosts/$2" $static -c -o /dev/null -Wno-unused-command-line-argument 2>&1)" ""
  else
    echo "skipped: there is no clang"
  fi
  # shellcheck disable=SC2086
  ok "$1 compiles by gcc without a warning" "$(gcc $strict -fsanitize=address,undefined "$hosts/$2" $static -o "$1" 2>&1)" ""
}

# ---- the tool ----

compile trim tool/trim.c
long=$(seq -s ' ' 200)
body='{"model": "gpt-4o",  "top_p": 1.0, "messages": [{"role":"system","content":"Be brief."},
  {"role":"user","content":"'$long'"}, {"role":"assistant","content":"b"},   {"role":"user","content":"c","x": [1]}]}'
kept='{"model": "gpt-4o",  "top_p": 1.0, "messages": [{"role":"system","content":"Be brief."}, {"role":"assistant","content":"b"},   {"role":"user","content":"c","x": [1]}]}'
echo "$body" >body.json
ok "a body is trimmed, and the rest stays byte for byte" "$(./trim 60 body.json 2>&1)" "$kept"
ok "also from stdin" "$(./trim 60 <body.json 2>&1)" "$kept"
ok "within the budget nothing changes" "$(./trim 100000 body.json 2>&1)" "$body"
ok "a budget that is too small" "$(./trim 5 body.json 2>&1 | grep -o '^trim: cannot fit')" "trim: cannot fit"
ok "nothing is written then" "$(./trim 5 body.json 2>/dev/null; echo $?)" 1
ok "a message with an unknown role" "$(echo '{"messages": [{"role": "pirate"}]}' | ./trim 60 2>&1 | grep -o '1:24: expected a role')" "1:24: expected a role"
ok "a file that does not exist" "$(./trim 60 nowhere.json 2>&1; echo $?)" $'nowhere.json: No such file or directory\n1'
ok "a folder" "$(./trim 60 . 2>&1; echo $?)" $'.: Is a directory\n1'
ok "no budget" "$(./trim body.json 2>&1; echo $?)" $'usage: trim BUDGET [FILE]\n2'
ok "a device that is full" "$(./trim 60 body.json 2>&1 >/dev/full; echo $?)" $'stdout: No space left on device\n1'

# ---- the server ----

compile server server/server.c
body=$(tr -d '\n' <<<"$body")

# start COMMAND...: sets `server` to its pid and `port`
start() {
  : >served
  "$@" "$hosts/server/latest.lua" >>served 2>&1 &
  server=$!
  port=
  until [ -n "$port" ] || ! kill -0 "$server" 2>/dev/null; do
    port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\), .*/\1/p' served)
    sleep 0.05
  done
}
# stop: sets `ended` to its last line and its exit status
stop() {
  local status
  kill "$server"
  wait "$server"
  status=$?
  ended="$(sed 1d served), $status"
}
# ask COUNT LINE...: sends the lines so many times through one connection, prints each answer
ask() {
  local i line answer
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return
  for ((i = 0; i < $1; i++)); do
    for line in "${@:2}"; do
      printf '%s\n' "$line" >&3
      read -r -t 60 answer <&3 || answer="no answer"
      printf '%s\n' "$answer"
    done
  done
  exec 3>&-
}
# six clients at once, of whom each asks 20 times; all answers, each once
crowd() {
  local i clients=()
  for i in 1 2 3 4 5 6; do
    ask 20 "$body" >"answers.$i" 2>&1 &
    clients+=($!)
  done
  wait "${clients[@]}"
  sort -u answers.*
}

vocab=$prefix/share/ebb/vocab/o200k_base.vocab
exact=()
if [ -f "$vocab" ]; then exact=(--vocab "$vocab"); else echo "skipped: o200k_base is not there"; fi
trimmed=$(tr -d '\n' <<<"$kept")
start ./server --threads 3 --budget 60 "${exact[@]}"
ok "six clients of three threads get the same" "$(crowd)" "$trimmed"
ok "a refusal, and the next one is answered" "$(ask 1 '{"messages": [{"role": "pirate"}]}' "$body" | sed 's/expected.*//')" \
  "error role: text:1:24: "$'\n'"$trimmed"
ok "what cannot fit" "$(ask 1 '[{"role":"user","content":"'"$long"'"}]' | grep -o '^error cannot_fit')" "error cannot_fit"
exec 4<>"/dev/tcp/127.0.0.1/$port"   # a client that only waits
printf '{"mess' >&4
sleep 0.2
stop
ok "it ends while clients are connected, without a leak" "$ended" "121 answered, 2 refused, 0"
exec 4>&-
ok "a file that is not a policy" "$(echo 'return 7' >bad.lua; ./server bad.lua 2>&1 | grep -o '^server: bad.lua: server')" "server: bad.lua: server"
ok "a file that is not a vocabulary" "$(./server --vocab body.json bad.lua 2>&1 | grep -o '^server: body.json: a vocabulary: syntax')" "server: body.json: a vocabulary: syntax"
ok "an unknown option" "$(./server --thread 3 bad.lua 2>&1 | grep -o '^Usage: server')" "Usage: server"

threads=$project/build/threads/libebb.a
quietly make --no-print-directory -C "$project" MODE=threads build/threads/libebb.a
# shellcheck disable=SC2046,SC2086
ok "with ThreadSanitizer" "$(${CC:-cc} $strict -fsanitize=thread "$hosts/server/server.c" $(pkg-config --cflags ebb) \
  "$threads" -lpcre2-8 -lm -ldl -lpthread -o server_threads 2>&1)" ""
start ./server_threads --threads 4 --budget 60 "${exact[@]}"
ok "answers under ThreadSanitizer" "$(crowd)" "$trimmed"
stop
ok "and no race" "$ended" "120 answered, 0 refused, 0"

# ---- Python ----

if python3 -c 'import ctypes' 2>/dev/null; then
  inn=$(LD_LIBRARY_PATH=$prefix/lib python3 "$hosts/python/inn.py" 2>&1)
  ok "Python prints what its README shows" "$inn" "$(shown 'python3 inn.py')"
  ok "that has an answer, an error of a script and one of a call" "$(cut -c1-21 <<<"$inn")" \
    $'talk about room ended\ntalk about dragon end\nerror: append: 1:10: '
else
  echo "skipped: Python, there is no python3 with ctypes"
fi

finish
