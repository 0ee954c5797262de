#!/usr/bin/env bash
# The game of scripts/hosts/game, headless: it is what people copy, so it must
# build without a warning, keep its frames, survive bad policies, and replay.
# FRAMES=n plays longer, and then the time of its frames counts too: `make bench`.
# MODE=dev tests that build instead of the release.
# Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/golden/kit.bash

frames=${FRAMES:-${STEPS:+10000}}
frames=${frames:-2400}
measured=${FRAMES:-}   # otherwise the machine may be busy with other tests

holds() { ok "$1: $2" "$(lua5.4 -e "print($2)")" true; }

build=build/${MODE:-release}
library=$PWD/${build%/dev}/libebb.a
flags="-I$PWD/runtime/include $library -lpcre2-8 -lm -ldl"
strict="-std=c11 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"
cp -r scripts/hosts/game "$top/game"
cd "$top/game" || exit 1
# compile NAME CC FLAGS...
compile() { ok "$1: $2 builds it by its Makefile" "$(make -s OUT="$1" CC="$2" CFLAGS="$strict ${*:3}" EBB_FLAGS="$flags" 2>&1)" ""; }
compile game "${CC:-cc}"
if command -v clang >/dev/null; then compile game_clang clang; else echo "skipped: there is no clang"; fi

# Figures, printed on request.
show() { if [ "$frames" -ge 10000 ]; then sed 's/^/swept: /' <<<"$1"; fi; }
game() { ./game "$@" 2>&1; }
digest() { sed -n 's/^digest //p' <<<"$1"; }
# The number that stands before some words of a report.
number() { grep -oE "[0-9.]+ $2" <<<"$1" | head -1 | grep -oE '^[0-9.]+'; }

# ---- frames ----

report=$(game --frames "$frames")
show "$report"
ok "all frames were played" "$(number "$report" frames)" "$frames"
ok "no task failed" "$(number "$report" failed)" 0
holds "people talk" "$(number "$report" talks) > $frames / 6"
holds "an idle runtime's KB" "$(grep -oE 'runtime [0-9.]+' <<<"$report" | grep -oE '[0-9.]+') <= 220"
holds "an idle chat's KB" "$(grep -oE 'chat [0-9.]+' <<<"$report" | grep -oE '[0-9.]+') <= 4"

slow() { grep '^scripts by cpu' <<<"$1" | grep -oE '[0-9]+ frames above' | grep -oE '^[0-9]+'; }
lost() { grep '^scripts by cpu' <<<"$1" | grep -oE '[0-9]+ lost' | grep -oE '^[0-9]+'; }
if [ -n "$measured" ]; then holds "frames of 1,000 above 1.2 ms" "$(slow "$report") <= $frames / 1000"; fi

# ---- bad policies: slow, endless, none ----

bad=(--policy Mara-innkeeper=trials/slow.lua --policy Odo-guard=trials/runaway.lua --policy Tilda-bard=trials/broken.lua)
long=$((frames < 4000 ? 4000 : frames))
report=$(game --frames $long --deterministic "${bad[@]}")
show "$report"
holds "a policy that needs 50 ms takes frames" "$(grep -oE 'took [0-9]+' <<<"$report" | grep -oE '[0-9]+') >= 50"
ok "and ends" "$(grep -oE 'of Mara-innkeeper$' <<<"$report" | head -1)" "of Mara-innkeeper"
ok "one that never ends fails, once" "$(number "$report" failed)" 1
ok "a file that is not a policy is refused" "$(number "$report" refused)" 1
if [ -n "$measured" ]; then
  ok "no frame is lost to them" "$(lost "$report")" 0
  holds "frames of 1,000 above 1.2 ms, with bad policies, by fuel" "$(slow "$report") <= $long / 1000"
  report=$(game --frames "$frames" "${bad[@]}")
  show "$report"
  holds "frames of 1,000 above 1.2 ms, with bad policies" "$(slow "$report") <= $frames / 1000"
fi

# ---- the same again: seeds, recordings, saved games ----

first=$(digest "$(game --frames "$frames" --deterministic)")
ok "the same seed, the same digest" "$(digest "$(game --frames "$frames" --deterministic)")" "$first"
other=$(digest "$(game --frames "$frames" --deterministic --seed 2)")
ok "another seed, another" "$([ "$other" != "$first" ] && echo other)" other

recorded=$(game --frames "$frames" --record one.rec --save one.save "${bad[@]}")
mv policies policies.away
replayed=$(game --replay one.rec)
ok "a recording replays, without the files" "$(digest "$replayed")" "$(digest "$recorded")"
holds "its digests are compared" "$(number "$replayed" digests) >= $frames / 600 + 1"
mv policies.away policies
sed 's/Is there a free room?/Is there any room?/' one.rec >bent.rec
ok "a recording that was changed is found out" "$(game --replay bent.rec | grep "^game:")" "game: the recording is damaged"
sed 's/Is there a free room?/Is there a full room?/' one.rec >bent.rec
ok "also with another text of the same length" "$(game --replay bent.rec | grep "^game:")" "game: the replay is different"
loaded=$(game --frames 60 --load one.save --record two.rec)
ok "a saved game goes on where it ended" "$(grep -a -A1 -m1 '^0 digest' two.rec | tail -1)" "$(digest "$recorded")"
ok "and can be recorded" "$(digest "$(game --replay two.rec)")" "$(digest "$loaded")"

# Killed by the size that a file may have: what was saved before stays, and nothing else.
saved=$(sha256sum <one.save)
ok "a save that fails is told" "$(trap '' XFSZ; ulimit -f 16; game --frames 60 --save one.save | grep '^game:')" \
  "game: the game cannot be saved"
ok "and leaves the one that was there" "$(sha256sum <one.save; ls one.save*)" "$saved"$'\none.save'

# ---- a model on another thread, its refusals, visitors who leave, what if ----

ok "the model reads the window: rooms that were free then" \
  "$(game --frames 4000 --deterministic --save rooms.save >/dev/null; grep -ao 'Room [^ ]* is free' rooms.save | sort -u | head -2)" \
  $'Room 1 is free\nRoom 2 is free'
ok "and what a bard's lorebook tells of the bell that was mentioned" \
  "$(grep -ao 'there are 9 verses' rooms.save | sort -u)" 'there are 9 verses'
report=$(game --frames "$frames" --deterministic)
holds "answers are refused, visitors leave, some wonder" \
  "$(number "$report" 'answers were refused') * $(number "$report" 'visitors left') * $(number "$report" 'only wondered') > 0"

# inputs LINE...: a recording of the frame, the kind and the text of each
inputs() {
  local frame kind text
  echo "recording of the inn, seed 1"
  for line in "$@" "90 left "; do
    read -r frame kind text <<<"$line"
    printf '%s %s Mara-innkeeper %s\n%s\n' "$frame" "$kind" "${#text}" "$text"
  done
}
said='{"role":"user","content":"Is there a room?"}'
play() { inputs "$@" >some.rec; game --replay some.rec; }
nothing=$(digest "$(play)")
wondered=$(play "0 wondered $said" '30 answered "Upstairs."')
ok "who wonders is told" "$(grep -o 'Mara-innkeeper would say: .*' <<<"$wondered")" "Mara-innkeeper would say: Upstairs."
ok "and the chat never sees it" "$(digest "$wondered")" "$nothing"
waits=$(digest "$(play "0 said $said")")
ok "one who leaves gets no answer" "$(digest "$(play "0 said $said" '30 left ' '31 answered "Upstairs."')")" "$waits"
refused=$(play "0 said $said" '30 refused overloaded')
ok "a refusal is caught" "$(grep -oE '[0-9]+ answers were refused|[0-9]+ failed' <<<"$refused")" $'0 failed\n1 answers were refused'
ok "and answered with a shrug" "$(digest "$refused")" "$(digest "$(play "0 said $said" '30 answered "(shrugs)"')")"

# The same digest whatever the thread's speed, without a leak or a race.
first=$(digest "$(./game --frames 1200 --deterministic)")
for sanitizer in address,undefined thread; do
  compile sanitized "${CC:-cc}" -g -fsanitize=$sanitizer
  ok "the same digest with -fsanitize=$sanitizer" \
    "$(./sanitized --frames 1200 --deterministic --save other.save >sanitized.txt 2>&1; echo $?; sed -n 's/^digest //p' sanitized.txt; grep -o 'Sanitizer.*' sanitized.txt)" \
    $'0\n'"$first"
  rm sanitized
done

# ---- policies that are edited while it runs ----

# wait_for COMMAND...: until it succeeds or the game has ended
wait_for() { until "$@"; do kill -0 "$playing" 2>/dev/null || break; sleep 0.05; done; }

game --live --frames 300 >live.txt &
playing=$!
wait_for test -s live.txt
sleep 1   # the file's time must be another one
echo 'return { trim = ' >guard.new && mv guard.new policies/guard.lua      # whole: the game may look at any time
wait_for grep -aq 'policy: guard:2:' live.txt
sleep 1
printf 'return function(draft, budget) draft:drop_oldest { to = budget } end\n' >guard.new && mv guard.new policies/guard.lua
wait "$playing"
ok "a broken file is told" "$(grep -ao 'policy: guard:[0-9]*:' live.txt | head -1)" "policy: guard:2:"
report=$(tail -8 live.txt)
ok "and that its text must end" "$(game --frames 3 --policy Odo-guard=trials/endless.lua | grep -o 'used up its fuel of 1000000$')" "used up its fuel of 1000000"
ok "and changes nothing; the mended one counts" "$(grep '^policies' <<<"$report")" "policies: 6 loaded, 1 refused"
if [ -n "$measured" ]; then ok "no frame is lost" "$(lost "$report")" 0; fi

# ---- errors, memory ----

ok "help" "$(game --help | head -1)" "Usage: game [options]"
ok "an unknown option" "$(game --frame 3 | head -1)" "Usage: game [options]"
ok "a folder that does not exist" "$(game --frames 3 --data nowhere)" "game: talk.txt cannot be read; --data says where it lies"
ok "an unknown character" "$(game --frames 3 --policy Zoe=trials/slow.lua)" "game: --policy: no character has this name"
ok "a file that is not a recording" "$(game --replay talk.txt)" "game: this is no recording"
if command -v valgrind >/dev/null; then
  game --frames 120 --record v.rec --policy Odo-guard=trials/runaway.lua >/dev/null
  ok "clean under valgrind" "$(valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all ./game --replay v.rec | grep -c 'the same')" 1
  ok "and no block is left" "$(valgrind --leak-check=full ./game --replay v.rec 2>&1 | grep -oE 'in use at exit: 0 bytes|ERROR SUMMARY: 0 errors')" $'in use at exit: 0 bytes\nERROR SUMMARY: 0 errors'
else
  echo "skipped: valgrind is not there"
fi

finish
