/*
** Clock: the system's, where the host has none of its own.
*/
#define _DEFAULT_SOURCE 1
#include "base/clock.h"

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
