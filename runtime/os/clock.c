#define _POSIX_C_SOURCE 200809L   /* clock_gettime */
#include "os/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t system_now_ms(void *user) {
  (void)user;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

Clock clock_system(void) {
  return (Clock){.now_ms = system_now_ms, .user = NULL};
}

int64_t clock_now(const Clock *clock) {
  return clock->now_ms(clock->user);
}

static uint64_t read_ns(clockid_t which) {
  struct timespec now;
  if (clock_gettime(which, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void) { return read_ns(CLOCK_MONOTONIC); }
uint64_t clock_thread_ns(void) { return read_ns(CLOCK_THREAD_CPUTIME_ID); }

void clock_sleep_us(int64_t us) {
  struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
  nanosleep(&time, NULL);
}
