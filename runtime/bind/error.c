#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "bind/error.h"

static const char ERROR_METATABLE;

void bind_push_mended(lua_State *L, Text text) {
  const char *at = text.bytes, *end = text.bytes + text.size;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (;;) {
    size_t valid = utf8_check(at, (size_t)(end - at));
    luaL_addlstring(&b, at, valid);
    at += valid;
    if (at == end) break;
    luaL_addstring(&b, UTF8_REPLACEMENT);
    at += utf8_bad(at, end);
  }
  luaL_pushresult(&b);
}

/* Sets a field of the table on top to a text, as valid UTF-8: errors quote arbitrary bytes. */
static void set_words(lua_State *L, const char *field, Text words) {
  bind_push_mended(L, words);
  lua_setfield(L, -2, field);
}

/* Pushes {code, message}; a hint whose bytes are NULL is left out. The texts may contain NUL. */
static void push_error(lua_State *L, Text code, Text message, Text hint) {
  lua_createtable(L, 0, 3);
  set_words(L, "code", code);
  set_words(L, "message", message);
  if (hint.bytes != NULL) set_words(L, "hint", hint);
  bind_mark_error(L);
}

void bind_push_error(lua_State *L, const char *code, const char *message, const char *hint) {
  push_error(L, text_of(code), text_of(message), hint == NULL ? (Text){0} : text_of(hint));
}

int bind_raise(lua_State *L, const char *code, const char *hint, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const char *message = lua_pushvfstring(L, format, list);
  va_end(list);
  bind_push_error(L, code, message, hint);
  return lua_error(L);
}

/* The words of a status in messages of errors. */
static const char *status_words(Status status) {
  switch (status) {
  case STATUS_OK: break;
  case STATUS_MEMORY: return "not enough memory";
  case STATUS_RANGE: return "no such position";
  case STATUS_ARGUMENT: return "nothing to do with these values";
  case STATUS_LIMIT: return "too large";
  case STATUS_SYNTAX: return "not valid JSON";
  case STATUS_ENCODING: return "not valid UTF-8";
  case STATUS_SHAPE: return "not a message";
  case STATUS_ROLE: return "an unknown role";
  case STATUS_DUPLICATE: return "something that must be unique stands twice";
  case STATUS_GUARDED: return "a guard holds it";
  case STATUS_ABSENT: return "it cannot be opened";
  case STATUS_IO: return "reading or writing failed";
  case STATUS_FORBIDDEN: return "outside of what is allowed";
  case STATUS_CONFLICT: return "it has changed since it was read";
  case STATUS_HOST: return "a callback failed";
  }
  return "no error";
}

void bind_refuse_finalizer(lua_State *L, const char *what) {
  if (lua_gc(L, LUA_GCISRUNNING) >= 0) return;      /* the collector answers nothing while a finalizer runs */
  bind_raise(L, "busy", "note it there, and do it elsewhere", "a finalizer may not %s", what);
}

int bind_raise_status(lua_State *L, Status status, const char *what) {
  return bind_raise(L, status_code(status), NULL, "%s: %s", what, status_words(status));
}

int bind_refuse(lua_State *L, const char *code, const char *message) {
  lua_pushnil(L);
  bind_push_error(L, code, message, NULL);
  return 2;
}

/* ---- did you mean ---- */

#define NAME_MAX_SIZE 32

/* Letters alone: keepLast, keep_last and KEEP-LAST are one name. */
static size_t fold(const char *name, char out[NAME_MAX_SIZE]) {
  size_t size = 0;
  for (; *name != '\0' && size < NAME_MAX_SIZE; name++) {
    char c = *name;
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (c != '_' && c != '-') out[size++] = c;
  }
  return size;
}

/* Levenshtein's distance, one row at a time. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size) {
  size_t row[NAME_MAX_SIZE + 1];
  for (size_t j = 0; j <= b_size; j++) row[j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_size; j++) {
      size_t change = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      size_t smaller = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      row[j] = change < smaller ? change : smaller;
    }
  }
  return row[b_size];
}

const char *bind_suggest(const char *name, const char *const *names) {
  char folded[NAME_MAX_SIZE], other[NAME_MAX_SIZE];
  size_t size = fold(name, folded), best = 1 + size / 3;
  const char *meant = NULL;
  for (; *names != NULL; names++) {
    size_t apart = distance(folded, size, other, fold(*names, other));
    if (apart < best || (apart == best && meant == NULL)) {
      best = apart;
      meant = *names;
    }
  }
  return meant;
}

const char *bind_push_suggestion(lua_State *L, const char *name, const char *const *names, const char *otherwise) {
  const char *meant = bind_suggest(name, names);
  return meant == NULL ? otherwise : lua_pushfstring(L, "did you mean '%s'?", meant);
}

/* ---- for Lua ---- */

/* error:tostring() -> "message (hint)" */
static int l_tostring(lua_State *L) {
  bool has_message = lua_getfield(L, 1, "message") == LUA_TSTRING;
  if (!has_message) lua_pushstring(L, "error");
  if (lua_getfield(L, 1, "hint") != LUA_TSTRING) {
    lua_pop(L, 1);
    return 1;
  }
  lua_pushliteral(L, " (");
  lua_insert(L, -2);
  lua_pushliteral(L, ")");
  lua_concat(L, 4);      /* not lua_pushfstring, which would end the texts at a NUL */
  return 1;
}

/* A string argument; raises for other types. */
static Text text_argument(lua_State *L, int index) {
  size_t size = 0;
  const char *bytes = lua_tolstring(L, index, &size);
  if (bytes == NULL) bind_raise(L, "argument", NULL, "error: argument %d: a string is expected, not %s", index,
                                luaL_typename(L, index));
  return text_plain(bytes, size);
}

/* error(code, message, hint) -> error object */
static int l_error(lua_State *L) {
  push_error(L, text_argument(L, 1), text_argument(L, 2), lua_isnoneornil(L, 3) ? (Text){0} : text_argument(L, 3));
  return 1;
}

bool bind_is_error(lua_State *L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ERROR_METATABLE);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

void bind_mark_error(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ERROR_METATABLE);
  lua_setmetatable(L, -2);
}

/* utf8(text) -> the text, with U+FFFD in the place of bytes that are not UTF-8 */
static int l_utf8(lua_State *L) {
  Text text = text_argument(L, 1);
  lua_settop(L, 1);
  if (utf8_check(text.bytes, text.size) < text.size) bind_push_mended(L, text);
  return 1;
}

/* is_error(value) -> boolean */
static int l_is_error(lua_State *L) {
  lua_pushboolean(L, bind_is_error(L, 1));
  return 1;
}

void bind_open_errors(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, l_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushstring(L, "Error");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ERROR_METATABLE);
  lua_pushcfunction(L, l_error);
  lua_setfield(L, -2, "error");
  lua_pushcfunction(L, l_is_error);
  lua_setfield(L, -2, "is_error");
  lua_pushcfunction(L, l_utf8);
  lua_setfield(L, -2, "utf8");
}
