#define _DEFAULT_SOURCE 1
#include "times.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t times_wall(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t times_cpu(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void times_add(Times *times, uint64_t us) {
  uint64_t bucket = us / TIMES_STEP_US;
  times->buckets[bucket < TIMES_BUCKETS ? bucket : TIMES_BUCKETS - 1]++;
  times->count++;
  times->last = us;
  if (us > times->longest) times->longest = us;
}

uint64_t times_share(const Times *times, double share) {
  uint64_t seen = 0, wanted = (uint64_t)(share * (double)times->count);
  for (int i = 0; i < TIMES_BUCKETS; i++) {
    seen += times->buckets[i];
    if (seen >= wanted) return (uint64_t)(i + 1) * TIMES_STEP_US;
  }
  return times->longest;
}

uint64_t times_above(const Times *times, uint64_t us) {
  uint64_t above = 0;
  for (uint64_t i = us / TIMES_STEP_US; i < TIMES_BUCKETS; i++) above += times->buckets[i];
  return above;
}
