/*
** Clock: the host's time, so that runs can be repeated.
*/
#ifndef EBB_BASE_CLOCK_H
#define EBB_BASE_CLOCK_H

#include <stdint.h>

typedef struct Clock {
  int64_t (*now_ms)(void *user);   /* milliseconds since 1970, UTC */
  void *user;
} Clock;

Clock clock_system(void);
int64_t clock_now(const Clock *clock);

#endif
