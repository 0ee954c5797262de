/*
** Numbers as texts, the same under every locale: Lua's own tostring, tonumber and
** string.format follow the program's, which writes 1.5 as "1,5" in half the world.
** In sandboxes they do not (sandbox.c), so this is for JSON and for the library in
** a program's own state.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/number.h"
#include "bind/open.h"
#include "bind/type.h"
#include "os/os.h"

double bind_read_float(const char *text) {
  Locale before = locale_plain();
  double number = strtod(text, NULL);
  locale_set(before);
  return number;
}

/* The shorter of two formats that reads back as the number. */
static int write_exact(double number, char text[BIND_NUMBER]) {
  int size = snprintf(text, BIND_NUMBER, "%.15g", number);
  if (strtod(text, NULL) == number) return size;
  return snprintf(text, BIND_NUMBER, "%.17g", number);
}

/* Lists of messages have a position, a seq and a count in each row: this is a tenth of snprintf. */
size_t bind_write_integer(lua_Integer number, char text[BIND_NUMBER]) {
  char digits[BIND_NUMBER];
  size_t at = sizeof digits;
  lua_Unsigned rest = number < 0 ? 0 - (lua_Unsigned)number : (lua_Unsigned)number;
  digits[--at] = '\0';
  do digits[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0) digits[--at] = '-';
  memcpy(text, digits + at, sizeof digits - at);
  return sizeof digits - 1 - at;
}

size_t bind_write_float(double number, bool exact, char text[BIND_NUMBER]) {
  Locale before = locale_plain();
  int size = exact ? write_exact(number, text) : snprintf(text, BIND_NUMBER, LUA_NUMBER_FMT, number);
  locale_set(before);
  bool integral = text[strspn(text, "-0123456789")] == '\0';
  if (integral) size += snprintf(text + size, BIND_NUMBER - (size_t)size, ".0");
  return (size_t)size;
}

/* tostring(value) -> text, as Lua's own of a number, boolean or string; of another
   value its type */
static int l_tostring(lua_State *L) {
  char text[BIND_NUMBER];
  bind_expect_any(L, 1);
  if (lua_type(L, 1) == LUA_TNUMBER && !lua_isinteger(L, 1)) {
    size_t size = bind_write_float(lua_tonumber(L, 1), false, text);
    lua_pushlstring(L, text, size);
  } else if (lua_isstring(L, 1) || lua_isboolean(L, 1)) {
    luaL_tolstring(L, 1, NULL);
  } else {
    lua_pushstring(L, luaL_typename(L, 1));
  }
  return 1;
}

/* tonumber(text) -> number | nil, as Lua's own */
static int l_tonumber(lua_State *L) {
  Text text = bind_text(L, 1);
  Locale before = locale_plain();
  bool is_number = lua_stringtonumber(L, text.bytes) == text.size + 1;      /* never raises */
  locale_set(before);
  if (!is_number) lua_pushnil(L);
  return 1;
}

void bind_open_number(lua_State *L) {
  static const BindMethod functions[] = {
    {"tostring", l_tostring, "value", CHARGE_TEXT},
    {"tonumber", l_tonumber, "text", CHARGE_TEXT},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
