/*
** What all C tests share: cmocka, and a Memory that counts and can fail.
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

/* Counts the bytes in use, so that wrong sizes and leaks show as in_use != 0;
   from the fail_at-th allocation on (1 is the next one) nothing is given. */
typedef struct Fail {
  size_t in_use;
  size_t calls;      /* allocations and growths so far */
  size_t fail_at;    /* 0: never */
  bool once;         /* only that one fails */
} Fail;

static inline void *fail_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Fail *fail = user;
  if (new_size > 0) {
    fail->calls++;
    bool hit = fail->fail_at != 0 && (fail->once ? fail->calls == fail->fail_at : fail->calls >= fail->fail_at);
    if (hit) return NULL;
  }
  fail->in_use = fail->in_use - old_size + new_size;
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

/* SAMPLE=n: a long sweep takes every n-th of its steps; 1, all of them, without it. */
static inline size_t test_sample(void) {
  const char *text = getenv("SAMPLE");
  size_t sample = text != NULL ? strtoull(text, NULL, 10) : 1;
  return sample > 0 ? sample : 1;
}

/* The first step of such a sweep, 1 to SAMPLE, which SEED decides. */
static inline size_t test_sample_start(void) {
  static uint64_t state;
  size_t sample = test_sample();
  if (sample == 1) return 1;
  if (state == 0) state = test_seed();
  return 1 + (size_t)(test_random(&state) % sample);
}

#endif
