/*
** Cells: how wide a terminal draws a character.
**
** libc has Unicode's table behind wcwidth, and keeps it up to date, but answers
** by the locale of the process, which is "C". So a UTF-8 locale of its own is
** opened for the question.
*/
#define _XOPEN_SOURCE 700
#include <locale.h>
#include <stdbool.h>
#include <wchar.h>

#include "host/host.h"

#include "lauxlib.h"

/* The cells of a code point by the C library's tables for UTF-8; -1 if it is not printable, or if the system has no
   UTF-8 locale. The locale is opened once and kept. */
static int width_in_utf8(lua_Integer point) {
  static locale_t locale;
  static bool opened;
  if (!opened) {
    opened = true;
    locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale == (locale_t)0) locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
  }
  if (locale == (locale_t)0) return -1;
  locale_t before = uselocale(locale);
  int width = wcwidth((wchar_t)point);
  uselocale(before);
  return width;
}

/* What libc does not know counts 2: a row may end too early, but never wraps. */
int host_cells(lua_State *L) {
  lua_Integer point = luaL_checkinteger(L, 1);
  luaL_argcheck(L, point >= 0 && point <= 0x10FFFF, 1, "a code point is expected");
  int width = width_in_utf8(point);
  lua_pushinteger(L, width < 0 ? 2 : width);
  return 1;
}
