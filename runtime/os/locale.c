#define _POSIX_C_SOURCE 200809L   /* newlocale, uselocale */
#include "os/locale.h"

#include <assert.h>
#include <locale.h>

Locale locale_plain(void) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  assert(plain != (locale_t)0);
  return (Locale)uselocale(plain);
}

Locale locale_set(Locale locale) {
  return (Locale)uselocale((locale_t)locale);
}
