/*
** What benchmarks of the C API share: a runtime, the processor's clock, and an end with the error's words.
*/
#ifndef EBB_BENCH_HOST_KIT_H
#define EBB_BENCH_HOST_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "include/ebb.h"

static ebb_runtime *runtime;

static double cpu_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must(ebb_status status, const char *what) {
  if (status == EBB_OK) return;
  fprintf(stderr, "%s: %s\n", what, ebb_last_error(runtime)->message);
  exit(1);
}

#endif
