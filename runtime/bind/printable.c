/*
** Texts of strangers as a terminal may show them: escape sequences, controls and what
** turns the direction of a line are written out, and so is what no terminal draws.
**
** Whole logs of scripts pass through here after the script's time is over, so a text
** costs one walk, and no call per character.
*/
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/open.h"
#include "bind/type.h"

#include "lauxlib.h"

/* "\n", "\u{200B}", or "\x9B" for a byte that is not UTF-8 */
typedef struct {
  char text[16];
  size_t size;
} Escape;

/* How a hidden code point is written. */
static Escape escape_point(uint32_t point) {
  static const struct {
    char point, letter;
  } NAMED[] = {{'\t', 't'}, {'\n', 'n'}, {'\r', 'r'}, {0x1B, 'e'}};
  Escape escape;
  for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
    if (point == (uint32_t)NAMED[i].point) return (Escape){{'\\', NAMED[i].letter}, 2};
  }
  escape.size = (size_t)snprintf(escape.text, sizeof escape.text, "\\u{%X}", (unsigned)point);
  assert(escape.size < sizeof escape.text);
  return escape;
}

/* How the character at `at` is written: its own bytes if escape->size is 0. Returns the bytes that it has. at < end */
static size_t read_character(const char *at, const char *end, uint32_t *point, Escape *escape) {
  size_t size = utf8_decode(at, end, point);
  escape->size = 0;
  if (size == 0) {
    escape->size = (size_t)snprintf(escape->text, sizeof escape->text, "\\x%02X", (unsigned)(unsigned char)*at);
    return 1;
  }
  if (utf8_is_hidden(*point)) *escape = escape_point(*point);
  return size;
}

/* printable(text, kept = "") -> the text with everything that is not printable escaped, but
   for the ASCII characters in `kept` */
static int l_printable(lua_State *L) {
  Text text = bind_text(L, 1);
  const char *kept = lua_isnoneornil(L, 2) ? "" : bind_string(L, 2, "kept");
  const char *at = text.bytes, *end = text.bytes + text.size, *copied = at;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  while (at < end) {
    uint32_t point;
    Escape escape;
    size_t size = 1;
    if ((*at >= 0x20 && *at < 0x7F) || (*at > 0 && strchr(kept, *at) != NULL)) escape.size = 0;
    else size = read_character(at, end, &point, &escape);
    if (escape.size > 0) {
      luaL_addlstring(&b, copied, (size_t)(at - copied));
      luaL_addlstring(&b, escape.text, escape.size);
      copied = at + size;
    }
    at += size;
  }
  luaL_addlstring(&b, copied, (size_t)(at - copied));
  luaL_pushresult(&b);
  return 1;
}

/* printable_character(text, at) -> shown, next_at, point: the character at byte `at` as it is
   shown, the byte after it, and its code point if it is shown as it is. at: 1 to #text */
static int l_printable_character(lua_State *L) {
  Text text = bind_text(L, 1);
  lua_Integer at = bind_integer(L, 2, "at", 1, (lua_Integer)text.size);
  const char *character = text.bytes + at - 1;
  uint32_t point = 0;
  Escape escape;
  size_t size = read_character(character, text.bytes + text.size, &point, &escape);
  if (escape.size > 0) lua_pushlstring(L, escape.text, escape.size);
  else lua_pushlstring(L, character, size);
  lua_pushinteger(L, at + (lua_Integer)size);
  if (escape.size > 0) return 2;
  lua_pushinteger(L, point);
  return 3;
}

void bind_open_printable(lua_State *L) {
  static const BindMethod functions[] = {
    {"printable", l_printable, "text kept", CHARGE_TEXT},
    {"printable_character", l_printable_character, "text at", CHARGE_STEP},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
