/*
** Times: how long the frames took, as counts by 10 us, so that any number of
** frames takes the same room.
*/
#ifndef TIMES_H
#define TIMES_H

#include <stdint.h>

enum { TIMES_STEP_US = 10, TIMES_BUCKETS = 10000 };

typedef struct Times {
  uint32_t buckets[TIMES_BUCKETS];
  uint64_t count, last, longest;         /* last, longest: us */
} Times;

uint64_t times_wall(void);               /* us of the system's clock */
uint64_t times_cpu(void);                /* us that this thread has worked: other programs do not disturb it */
void     times_add(Times *times, uint64_t us);
uint64_t times_share(const Times *times, double share);      /* us below which that share of the frames was */
uint64_t times_above(const Times *times, uint64_t us);       /* how many frames took longer */

#endif
