/*
** A locale with a decimal comma, for any glibc: nothing needs to be installed.
*/
#ifndef EBB_TESTS_LOCALE_KIT_H
#define EBB_TESTS_LOCALE_KIT_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"

/* glibc's file of LC_NUMERIC: a magic number, the count of items, their offsets,
   the items: decimal point, thousands separator, grouping, both as wide characters,
   codeset. */
static inline void write_comma_numeric(const char *path) {
  static const uint32_t head[] = {0x20031115u ^ 1u, 6, 32, 36, 40, 44, 48, 52};
  static const char items[] = ",\0\0\0" "\0\0\0\0" "\177\0\0\0" ",\0\0\0" "\0\0\0\0" "UTF-8";
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
  assert_int_equal(fwrite(items, sizeof items, 1, file), 1);
  assert_int_equal(fclose(file), 0);
}

/* The whole process writes 1.5 as "1,5" from here on, until setlocale(LC_ALL, "C"). */
static inline void use_comma_locale(void) {
  char folder[] = P_tmpdir "/ebb-locale-XXXXXX", path[100], number[8];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/comma", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
  write_comma_numeric(path);
  assert_int_equal(setenv("LOCPATH", folder, 1), 0);
  assert_non_null(setlocale(LC_NUMERIC, "comma"));
  remove(path);
  snprintf(path, sizeof path, "%s/comma", folder);
  remove(path);
  remove(folder);
  snprintf(number, sizeof number, "%.1f", 1.5);
  assert_string_equal(number, "1,5");
}

#endif
