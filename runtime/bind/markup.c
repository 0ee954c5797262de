/*
** Escaping for the markup of windows: lua/ebb/windows/markup.lua says what is escaped
** and why. In C, for contents that functions make are escaped at each rendering.
*/
#include <stdio.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "sandbox/guard.h"

/* What stands for the `size` bytes of a character, or NULL: itself. `room` holds a reference. */
static const char *entity_of(const unsigned char *at, size_t size, bool attribute, char *room) {
  unsigned code = at[0];
  if (size == 1) {
    if (code == '&') return "&amp;";
    if (code == '<') return "&lt;";
    if (code == '>') return "&gt;";
    if (code == '"') return attribute ? "&quot;" : NULL;
    bool plain = code == '\t' || code == '\n' ? !attribute : code >= 32 && code != 127;
    if (plain) return NULL;
  } else if (size == 2 && code == 0xC2 && at[1] < 0xA0) {
    code = at[1];
  } else if (size == 3 && code == 0xEF && at[1] == 0xBF && at[2] >= 0xBE) {
    code = 0xFFC0u + (at[2] & 0x3Fu);
  } else {
    return NULL;
  }
  snprintf(room, 16, "&#%u;", code);
  return room;
}

static size_t size_of(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Adds valid UTF-8. */
static Status add_valid(const char *text, size_t size, bool attribute, Buffer *out) {
  char room[16];
  size_t from = 0, step;
  Status status = STATUS_OK;
  for (size_t at = 0; at < size && status == STATUS_OK; at += step) {
    const unsigned char *character = (const unsigned char *)text + at;
    step = size_of(*character);
    const char *entity = entity_of(character, step, attribute, room);
    if (entity == NULL) continue;
    status = buffer_add(out, text + from, at - from);
    if (status == STATUS_OK) status = buffer_add_string(out, entity);
    from = at + step;
  }
  return status == STATUS_OK ? buffer_add(out, text + from, size - from) : status;
}

static bool is_plain(Text text) {
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.bytes[i];
    if (c < ' ' || c > '~' || c == '&' || c == '<' || c == '>' || c == '"') return false;
  }
  return true;
}

/* escape(text, attribute) -> text; each byte that is not UTF-8 becomes U+FFFD */
int bind_escape_markup(lua_State *L) {
  bind_expect(L, 1, NULL, LUA_TSTRING);
  Text text = bind_text(L, 1);
  bool attribute = lua_toboolean(L, 2);
  guard_charge_bytes(L, text.size * 8);
  lua_settop(L, 1);
  if (is_plain(text)) return 1;
  Buffer *out = bind_buffer(L);
  Status status = STATUS_OK;
  for (size_t at = 0; at < text.size && status == STATUS_OK;) {
    size_t valid = utf8_check(text.bytes + at, text.size - at);
    status = add_valid(text.bytes + at, valid, attribute, out);
    at += valid;
    if (status == STATUS_OK && at++ < text.size) status = buffer_add_string(out, "\xEF\xBF\xBD");
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "markup");
  lua_pushlstring(L, out->bytes == NULL ? "" : out->bytes, out->size);
  return 1;
}
