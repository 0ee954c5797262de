/*
** Wide: marks functions that are compiled a second time for processors with wider
** instructions, and chosen at run time. On other machines, or with EBB_PORTABLE,
** WIDE_CODE is not defined, and only the plain code exists.
*/
#ifndef EBB_TOKENS_WIDE_H
#define EBB_TOKENS_WIDE_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(EBB_PORTABLE)   /* the tests build with that too */

#define WIDE_CODE
#define WIDE        __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE

/* True if this machine can run WIDE functions. */
static inline bool wide_works(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

#endif

#endif
