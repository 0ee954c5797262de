/*
** Wide: what is compiled once more for processors with wider instructions, and
** chosen at run time. Where there are none, or with EBB_PORTABLE, WIDE_CODE is not
** defined and the plain code does it all.
*/
#ifndef EBB_TOKENS_WIDE_H
#define EBB_TOKENS_WIDE_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(EBB_PORTABLE)   /* the tests build with that too */

#define WIDE_CODE
#define WIDE        __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE

/* May functions that are WIDE be called on this machine? */
static inline bool wide_works(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

#endif

#endif
