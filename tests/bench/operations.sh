#!/usr/bin/env bash
#
# One operation at a time, side by side, one table per size: Ebb; a plain array of ids in C; the design of Ebb's seeds
# and immutable.js in Node; LangChain's trimMessages. Ends with the growth of each operation and the figures to reach.
#
#     tests/bench/operations.sh
#
# SIZES       numbers of messages, ascending (100 1000 10000 100000 1000000)
# TIMESTAMPS  1: all messages of the C programs have one, which the tree then keeps track of (0)
# OPERATIONS  the C program (build/release/bench/operations; make bench builds it)
#
# Figures are medians of several rounds, which operations.c and operations.mjs describe with what they measure. The C
# program runs three times, for where its memory happens to lie makes more difference than anything within a run.

set -euo pipefail
cd "$(dirname "$0")/../.."

SIZES=${SIZES:-100 1000 10000 100000 1000000}
OPERATIONS=${OPERATIONS:-build/release/bench/operations}
PEERS=tests/peers

die() { echo "operations: $*" >&2; exit 2; }

peers_ready() {
  [ -d $PEERS/node_modules/@langchain/core ] && [ -d $PEERS/node_modules/immutable ] && return
  (cd $PEERS && timeout 180 npm install --silent --no-audit --no-fund --no-package-lock) >/dev/null 2>&1
}

# Lines "SIZE ROW COLUMN NUMBER", three times where a program runs three times, and "note TEXT".
measure() {
  local flags=() run
  if [ "${TIMESTAMPS:-0}" = 1 ]; then flags=(--timestamps); fi
  # shellcheck disable=SC2086
  for run in 1 2 3; do "$OPERATIONS" ${flags[@]+"${flags[@]}"} $SIZES; done
  if ! command -v node >/dev/null; then
    echo 'note the peers in Node are skipped: node is missing'
  elif ! peers_ready; then
    echo 'note the peers in Node are skipped: npm has no network'
  else
    # shellcheck disable=SC2086
    node --expose-gc --max-old-space-size=8192 $PEERS/operations.mjs $SIZES
  fi
}

# The tables. A row has a figure of Ebb's and, for each peer, its figure and how many times Ebb's that is.
tables() {
  awk -v sizes="$SIZES" '
  BEGIN {
    rows = split("append append_first insert insert_result replace truncate rollback recent suffix trim keep_recent " \
                 "keep_recent_edited filter list snapshots bytes_snapshot bytes_message", row, " ")
    title["append"] = "append 1, in place"
    title["append_first"] = "append 1, first after a snapshot"
    title["insert"] = "insert at random, old kept"
    title["insert_result"] = "insert a tool result at random"
    title["replace"] = "replace at random, old kept"
    title["truncate"] = "truncate keepLast n/2, old kept"
    title["rollback"] = "rollback"
    title["recent"] = "recent 3 of role user"
    title["suffix"] = "longest suffix in half the tokens"
    title["trim"] = "the same and truncate: trim"
    title["keep_recent"] = "trim by units: keep_recent"
    title["keep_recent_edited"] = "the same, a result was replaced"
    title["filter"] = "filter roles user, assistant"
    title["list"] = "list all visible, touch each"
    title["snapshots"] = "1000 x (snapshot + replace), each"
    title["bytes_snapshot"] = "memory: snapshot + replace"
    title["bytes_message"] = "memory: list, per message"
    peers = split("array seeds immutable langchain", peer, " ")
    counts = split(sizes, size, " ")
  }

  $1 == "note" { notes[++note_count] = substr($0, 6); next }
  { add($1 SUBSEP $2 SUBSEP $3, $4 + 0) }

  # Keeps the numbers of a key in order, and its median in `value`.
  function add(key, x,    i) {
    for (i = seen[key]++; i > 0 && sorted[key, i] > x; i--) sorted[key, i + 1] = sorted[key, i]
    sorted[key, i + 1] = x
    value[key] = sorted[key, int((seen[key] + 1) / 2)]
  }

  function pick(n, r, c) { return (n, r, c) in value ? value[n, r, c] : "-" }
  function duration(ns) {
    if (ns == "-") return ns
    if (ns < 1000) return sprintf(ns < 10 ? "%.1f ns" : "%.0f ns", ns)
    if (ns < 1e6) return sprintf("%.2f us", ns / 1e3)
    if (ns < 1e9) return sprintf("%.2f ms", ns / 1e6)
    return sprintf("%.2f s", ns / 1e9)
  }
  function bytes(b) {
    if (b == "-") return b
    if (b < 1000) return sprintf("%.1f B", b)
    if (b < 1e6) return sprintf("%.2f KB", b / 1e3)
    return sprintf("%.2f MB", b / 1e6)
  }
  function shown(r, x) { return r ~ /^bytes/ ? bytes(x) : duration(x) }
  function ratio(a, b) {
    if (a == "-" || b == "-" || b == 0) return "-"
    a /= b
    return sprintf(a < 0.0095 ? "%.4f" : a < 0.095 ? "%.3f" : a < 0.95 ? "%.2f" : a < 9.95 ? "%.1f" : "%.0f", a)
  }

  function print_row(n, r, c, text,    i, ours, theirs) {
    ours = pick(n, r, c)
    if (ours == "-") return
    printf "%-36s %9s |", text, shown(r, ours)
    for (i = 1; i <= peers; i++) {
      theirs = pick(n, r, peer[i])
      printf " %9s %8s", shown(r, theirs), ratio(theirs, ours)
    }
    print ""
  }
  function print_size(n,    i, r, text) {
    printf "\n%-36s %9s | %9s %8s %9s %8s %9s %8s %9s %8s\n", n " messages", "Ebb", "C array", "ratio", "seeds",
      "ratio", "immutable", "ratio", "LangChain", "ratio"
    for (i = 1; i <= rows; i++) {
      r = row[i]
      print_row(n, r, "ebb", title[r])
      text = (n, r, "ebb") in value ? "    the tree alone" : title[r]
      print_row(n, r, "tree", text)
    }
  }

  function growth(r, c) { return ratio(pick(1000000, r, c), pick(10000, r, c)) }
  function print_growth(    i, r) {
    printf "\n%-36s %9s %9s | %9s %9s %9s\n", "growth, 10000 to 1000000: times", "Ebb", "tree", "C array", "seeds",
      "immutable"
    for (i = 1; i <= rows - 2; i++) {
      r = row[i]
      printf "%-36s %9s %9s | %9s %9s %9s\n", title[r], growth(r, "ebb"), growth(r, "tree"), growth(r, "array"),
        growth(r, "seeds"), growth(r, "immutable")
    }
  }

  # The dearest of all sizes from `least` on.
  function dearest(r, c, least,    i, x, most) {
    most = "-"
    for (i = 1; i <= counts; i++) {
      x = pick(size[i], r, c)
      if (size[i] + 0 >= least && x != "-" && (most == "-" || x + 0 > most + 0)) most = x
    }
    return most
  }
  function goal(text, limit, measured, limit_shown, measured_shown) {
    printf "%-58s %9s %9s   %s\n", text, limit_shown, measured_shown,
      measured == "-" ? "-" : measured + 0 <= limit ? "yes" : "no"
  }
  function goal_time(text, limit, measured) { goal(text, limit, measured, duration(limit), duration(measured)) }
  function goal_bytes(text, limit, measured) { goal(text, limit, measured, bytes(limit), bytes(measured)) }
  function goal_growth(text, r, c,    x) {
    x = growth(r, c)
    goal(text, 5, x, "5", x)
  }
  function print_goals(    i, n, r, edit) {
    printf "\n%-58s %9s %9s   %s\n", "figures to reach", "at most", "measured", "reached"
    n = split("insert replace truncate rollback", edit, " ")
    for (i = 1; i <= n; i++) {
      r = edit[i]
      goal_time(title[r] ", 10000 to 1000000", 2200, dearest(r, "ebb", 10000))
      if (dearest(r, "tree", 10000) != "-") goal_time("    the tree alone", 2200, dearest(r, "tree", 10000))
      goal_growth("    times dearer at 1000000 than at 10000", r, "ebb")
      if (growth(r, "tree") != "-") goal_growth("    the tree alone", r, "tree")
    }
    goal_time("append in the tree, any size", 80, dearest("append", "tree", 0))
    goal_time("trim to a budget, counts known, any size", 1200, dearest("trim", "ebb", 0))
    goal_time("    the tree alone", 1200, dearest("trim", "tree", 0))
    goal_time("keep_recent at 1000000", 2e6, pick(1000000, "keep_recent", "ebb"))
    goal_time("    a result was replaced before", 2e6, pick(1000000, "keep_recent_edited", "ebb"))
    goal_bytes("snapshot + replace at 1000000", 5000, pick(1000000, "bytes_snapshot", "ebb"))
    goal_bytes("    the tree alone", 5000, pick(1000000, "bytes_snapshot", "tree"))
    goal_bytes("tree per message at 1000000", 16, pick(1000000, "bytes_message", "tree"))
  }

  END {
    print "Operations, medians; ratio: how many times Ebb'"'"'s figure of that row."
    print "Ebb: the operation on a conversation, a batch made and kept; the tree alone: on its list, without the rest."
    for (i = 1; i <= counts; i++) print_size(size[i])
    if ((10000, "insert", "ebb") in value && (1000000, "insert", "ebb") in value) print_growth()
    print_goals()
    print ""
    for (i = 1; i <= note_count; i++) print notes[i]
    print "C array at 1000000: 1000 snapshots not run, they would keep 4 GB"
    print "queries, list and append after a snapshot are the tree alone; rollback has no part in it"
    print "messages are tiny (40 to 150 bytes), to the good of peers that copy all of them; Ebb stores the new one"
  }'
}

[ -x "$OPERATIONS" ] || die "$OPERATIONS is missing; run make bench"
command -v awk >/dev/null || die "awk is missing"
measure | tables
