#define _DEFAULT_SOURCE 1   /* getrandom, clock_gettime */
#include "os/entropy.h"

#include <sys/random.h>
#include <time.h>

HashKey entropy_hash_key(void) {
  HashKey key;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key) return key;
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  key.words[0] = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
  key.words[1] = (uint64_t)(uintptr_t)&key << 20 ^ (uint64_t)(uintptr_t)&entropy_hash_key;
  return key;
}
