#define _POSIX_C_SOURCE 200809L   /* newlocale, uselocale */
#include "os/locale.h"

#include <assert.h>
#include <locale.h>
#include <stdatomic.h>

Locale locale_plain(void) {
  static _Atomic(locale_t) c_locale;            /* asked for once: each thread would get the same */
  locale_t plain = atomic_load_explicit(&c_locale, memory_order_relaxed);
  if (plain == (locale_t)0) {
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    atomic_store_explicit(&c_locale, plain, memory_order_relaxed);
  }
  assert(plain != (locale_t)0);
  return (Locale)uselocale(plain);
}

Locale locale_set(Locale locale) {
  return (Locale)uselocale((locale_t)locale);
}
