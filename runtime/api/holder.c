/*
** What the registry keeps for chats, branches and pipelines, under their addresses:
**
**     registry    { shelf 0 = { [chat] = conversation, [branch] = fork, .. }, .., shelf 255 = { .. } }
**
** The collector walks a table in one stretch. One table of all chats would make steps late by its length; of 256
** each is short, where a runtime has tens of thousands.
*/
#include <stdint.h>

#include "api/api.h"

enum { SHELF_BITS = 8 };

static const char SHELVES[1 << SHELF_BITS];   /* their addresses are the keys */

/* Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the low bits of addresses are those of their
   alignment. */
static const void *shelf_of(const void *holder) {
  return SHELVES + ((uint64_t)(uintptr_t)holder * 0x9E3779B97F4A7C15u >> (64 - SHELF_BITS));
}

void holder_push(lua_State *L, const void *holder) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) != LUA_TTABLE) return;
  lua_rawgetp(L, -1, holder);
  lua_replace(L, -2);
}

void holder_set(lua_State *L, const void *holder) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, shelf_of(holder));
  }
  lua_insert(L, -2);
  lua_rawsetp(L, -2, holder);
  lua_pop(L, 1);
}

void holder_clear(lua_State *L, const void *holder) {
  if (!lua_checkstack(L, 2)) return;         /* the collector does it with the runtime */
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) == LUA_TTABLE) {
    lua_pushnil(L);
    lua_rawsetp(L, -2, holder);
  }
  lua_pop(L, 1);
}
