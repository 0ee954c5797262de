/*
** Messages that Lua hands in.
*/
#ifndef EBB_BIND_SOURCE_H
#define EBB_BIND_SOURCE_H

#include "bind/handle.h"
#include "core/operation.h"
#include "dialect/read/reader.h"
#include "json/json.h"

/* Messages from Lua: a table, ebb.json.raw or a list of these at index, as a
   source; its bytes live in a buffer left on the stack. */
typedef struct LuaSource {
  Json json;
  Reader reader;
} LuaSource;

MessageSource bind_source(lua_State *L, int index);
/* The same; raises if a list has more than `most` bytes as JSON. */
MessageSource bind_source_within(lua_State *L, int index, size_t most);
/* After an edit with a source failed: says what was wrong with which message. */
int   bind_raise_source(lua_State *L, int conversation, const MessageSource *source, Status status, const char *what);

#endif
