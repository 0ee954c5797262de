#!/bin/sh
# Is there a clang that links fuzzers with sanitizers? Says why not.
answer=$(echo 'int LLVMFuzzerTestOneInput(const char *, long); int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n == 1; }' |
  clang -x c -fsanitize=fuzzer,address - -o /dev/null 2>&1) && exit 0
echo "skipped: fuzzing (clang with libFuzzer is missing: $(echo "$answer" | tail -n 1))" >&2
exit 1
