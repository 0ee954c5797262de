# For flows in bash, sourced from the top of the checkout: results are counted, `finish` tells them, and `$top` is a
# folder that is gone at the end.

passed=0
failed=0
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

# ok WHAT GOT EXPECTED
ok() {
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s  expected: %s\n  got:      %s\n' "$1" "${repeat:+  $repeat$'\n'}" "$3" "$2"
  fi
}

# Shows what a command says only if it fails.
quietly() { "$@" >"$top/log" 2>&1 || cat "$top/log"; }

# Sets `mode` and `build` by MODE, release unless it says another.
choose_build() {
  mode=${MODE:-release}
  build=build/$mode
  if [ "$mode" = dev ]; then build=build; fi
}

# The last line, and the status.
finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
