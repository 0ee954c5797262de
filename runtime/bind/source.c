/*
** Messages from Lua. Tables are written as JSON and read again by the reader of
** files: one set of rules, one kind of error, for both.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/source.h"
#include "bind/type.h"

static void end_source(void *block) {
  LuaSource *source = block;
  if (source->reader.memory.allocate != NULL) reader_free(&source->reader);
}

static Status next(void *user, bool *more, Text *raw, MessageShape *shape) {
  LuaSource *source = user;
  *more = json_next_element(&source->json);
  if (*more) reader_message(&source->reader, &source->json, raw, shape);
  return source->json.status;
}

/* ebb.json.raw of a whole list stands for the messages in it. */
static bool is_raw_list(lua_State *L, int index) {
  if (!lua_istable(L, index)) return false;
  bool list = lua_rawgeti(L, index, 1) == LUA_TSTRING && lua_tostring(L, -1)[0] == '[';
  lua_pop(L, 1);
  return list;
}

/* One message: a Message, or a table. */
static void put_message(lua_State *L, int index, Buffer *out) {
  if (bind_test(L, index, &BIND_MESSAGE) != NULL) {
    lua_getfield(L, index, "json");
    Text raw = bind_text(L, -1);
    Status status = buffer_add(out, raw.bytes, raw.size);
    if (status != STATUS_OK) bind_raise_status(L, status, "message");
    lua_pop(L, 1);
  } else if (lua_istable(L, index)) {
    bind_encode_message(L, index, out);
  } else {
    bind_raise_type(L, index, NULL, "a message, a table with role and content,");
  }
}

static void put(lua_State *L, Buffer *out, const char *text) {
  Status status = buffer_add_string(out, text);
  if (status != STATUS_OK) bind_raise_status(L, status, "message");
}

static void put_list(lua_State *L, int index, size_t most, Buffer *out) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= count; i++) {
    if (i > 1) put(L, out, ",");
    lua_rawgeti(L, index, i);
    put_message(L, lua_gettop(L), out);
    lua_pop(L, 1);
    if (out->size <= most) continue;
    bind_raise(L, "limit", NULL, "the messages to add have more than %I bytes", (lua_Integer)most);
  }
}

static bool is_list(lua_State *L, int index) {
  if (!lua_istable(L, index)) return false;
  if (lua_rawgeti(L, index, 1) == LUA_TSTRING) {      /* ebb.json.raw holds its text there */
    lua_pop(L, 1);
    return false;
  }
  bool list = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (list) return true;
  lua_pushnil(L);
  if (lua_next(L, index) == 0) return true;           /* an empty one */
  lua_pop(L, 2);
  return false;
}

MessageSource bind_source(lua_State *L, int index) { return bind_source_within(L, index, SIZE_MAX); }

MessageSource bind_source_within(lua_State *L, int index, size_t most) {
  index = lua_absindex(L, index);
  if (lua_isnone(L, index)) lua_settop(L, index);     /* else the buffer would stand there */
  Buffer *out = bind_buffer(L);
  if (is_raw_list(L, index)) {
    bind_encode(L, index, out);
  } else {
    put(L, out, "[");
    if (is_list(L, index)) put_list(L, index, most, out);
    else put_message(L, index, out);
    put(L, out, "]");
  }
  LuaSource *source = bind_own(L, sizeof *source, end_source);
  reader_init(&source->reader, bind_memory(L));
  json_open(&source->json, out->bytes, out->size);
  json_enter(&source->json);
  return (MessageSource){.next = next, .user = source};
}

int bind_raise_source(lua_State *L, int conversation, const MessageSource *source, Status status, const char *what) {
  const Json *json = &((const LuaSource *)source->user)->json;
  if (json->status == STATUS_OK || status == STATUS_HOST) return bind_raise_edit(L, conversation, status, what);
  char path[120];
  source_path(json->start, (size_t)(json->end - json->start), (size_t)(json->error - json->start), false, path,
             sizeof path);
  unsigned long number = strtoul(path + (path[0] == '['), NULL, 10);
  const char *field = strchr(path, '.');
  const char *hint = status == STATUS_ROLE ? "roles are system, user, assistant and tool" : NULL;
  return bind_raise(L, status_code(status), hint, "%s: message %d%s%s: expected %s", what, (int)number + 1,
                    field == NULL ? "" : ", ", field == NULL ? "" : field + 1, json->expected);
}
