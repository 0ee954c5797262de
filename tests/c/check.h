/*
** The kit of all C tests: cmocka, an allocator that counts and can fail, random numbers.
*/
#ifndef EBB_TESTS_CHECK_H
#define EBB_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"

#define UNUSED __attribute__((unused))

/* An allocator that counts the bytes in use, so that wrong sizes and leaks show as
   in_use != 0. Allocation number `fail_at` (1 is the next one) and all later ones fail. */
typedef struct Fail {
  size_t in_use;
  size_t peak;       /* the most that was in use; a test may set it back */
  size_t calls;      /* allocations and resizes */
  size_t fail_at;    /* 0: none fails */
  bool once;         /* only that one fails */
  bool shrinks;      /* shrinking always succeeds and is not counted, as Lua requires */
  size_t failed;     /* failures */
} Fail;

static inline void *fail_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Fail *fail = user;
  if (new_size > (fail->shrinks ? old_size : 0)) {
    fail->calls++;
    bool hit = fail->fail_at != 0 && (fail->once ? fail->calls == fail->fail_at : fail->calls >= fail->fail_at);
    fail->failed += hit;
    if (hit) return NULL;
  }
  fail->in_use = fail->in_use - old_size + new_size;
  if (fail->in_use > fail->peak) fail->peak = fail->in_use;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

static inline Memory fail_memory(Fail *fail) {
  return (Memory){.allocate = fail_allocate, .user = fail};
}

/* The seed of this run: SEED repeats one. Printed, so that a failed run can be. */
static inline uint64_t test_seed(void) {
  const char *given = getenv("SEED");
  uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  printf("SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

static inline uint64_t test_random(uint64_t *state) {
  uint64_t x = *state += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* The random numbers of a test: `chance` is its state, usually set by test_seed. A fuzz target
   defines TEST_BELOW and a `below` that reads its input. */
#ifdef TEST_BELOW
static uint32_t below(uint32_t limit);
#else
static UNUSED uint64_t chance = 1;

static UNUSED uint32_t below(uint32_t limit) { return (uint32_t)(test_random(&chance) % limit); }
#endif
static UNUSED bool one_in(uint32_t n) { return below(n) == 0; }

/* The number in an environment variable, else `otherwise`. */
static inline uint64_t test_setting(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value != NULL ? strtoull(value, NULL, 10) : otherwise;
}

/* STEPS=n sets the length of a test of random steps. */
static inline uint32_t test_steps(uint32_t otherwise) { return (uint32_t)test_setting("STEPS", otherwise); }

/* SAMPLE=n: a long sweep takes every n-th of its steps; 1, all of them, without it. */
static inline size_t test_sample(void) {
  size_t sample = test_setting("SAMPLE", 1);
  return sample > 0 ? sample : 1;
}

/* From one step of a long sweep to the next, `stride` or less: DENSER divides it, SAMPLE multiplies it. */
static inline size_t test_stride(size_t stride) {
  size_t denser = test_setting("DENSER", 1);
  if (denser > 1) stride /= denser;
  return (stride > 0 ? stride : 1) * test_sample();
}

/* The first step of such a sweep, 1 to `stride`, which SEED decides. */
static inline size_t test_start(size_t stride) {
  static uint64_t state;
  if (stride == 1) return 1;
  if (state == 0) state = test_seed();
  return 1 + (size_t)(test_random(&state) % stride);
}

#endif
