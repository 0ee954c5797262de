/*
** JSON and Lua values.
*/
#ifndef EBB_BIND_JSON_H
#define EBB_BIND_JSON_H

#include <lua.h>
#include <stdbool.h>
#include "base/buffer.h"

void  bind_push_json(lua_State *L, const char *bytes, size_t size);     /* valid JSON, as Lua values */
/* Adds the value at index as JSON; raises {code = "argument"} for what has none. */
void  bind_encode(lua_State *L, int index, Buffer *out);
/* The same for what will stand below `depth` other values; raises {code = "limit"} beyond `most` bytes
   or JSON_DEPTH_MAX levels. */
void  bind_encode_within(lua_State *L, int index, int depth, size_t most, Buffer *out);
void  bind_encode_message(lua_State *L, int index, Buffer *out);        /* keys in a message's usual order */
bool  bind_is_json_list(lua_State *L, int index);                       /* a table that is marked as a list */
/* 0: a plain table, or no table; else how it is marked (a list, raw). Needs no memory. */
int   bind_json_mark(lua_State *L, int index);
void  bind_set_json_mark(lua_State *L, int mark);    /* of the table on top */

#endif
