/*
** Clock: times of day and durations.
**
** A host may replace the time of day by one of its own, so that runs can be repeated.
*/
#ifndef EBB_OS_CLOCK_H
#define EBB_OS_CLOCK_H

#include <stdint.h>

typedef struct Clock {
  int64_t (*now_ms)(void *user);   /* milliseconds since 1970, UTC */
  void *user;
} Clock;

/* The system's time of day. */
Clock clock_system(void);
int64_t clock_now(const Clock *clock);      /* milliseconds since 1970, UTC */

/* For measuring durations: the time that has passed since some moment. It never falls and is cheap to read. 0 if the
   system has no such clock. */
uint64_t clock_monotonic_ns(void);
static inline int64_t clock_monotonic_us(void) { return (int64_t)(clock_monotonic_ns() / 1000); }
static inline int64_t clock_monotonic_ms(void) { return (int64_t)(clock_monotonic_ns() / 1000000); }
/* Waits about so many microseconds; a signal may end it earlier. */
void clock_sleep_us(int64_t us);
/* CPU time of this thread; 0 if the system has no such clock. */
uint64_t clock_thread_ns(void);

#endif
