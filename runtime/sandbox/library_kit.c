/*
** How the libraries are opened: Ebb's functions beside those of the stock library; and
** what several of them do.
*/
#include "sandbox/sandbox_state.h"

void library_push(lua_State *L, lua_CFunction function) {
  number_function(sandbox_of(L), function);
  lua_pushcfunction(L, function);
}

void library_set(lua_State *L, const LibraryFunction *functions) {
  for (; functions->name != NULL; functions++) {
    library_push(L, functions->function);
    lua_setfield(L, -2, functions->name);
  }
}

void library_wrap(lua_State *L, int stock, const LibraryFunction *functions) {
  for (; functions->name != NULL; functions++) {
    lua_getfield(L, stock, functions->name);
    lua_pushcclosure(L, functions->function, 1);
    lua_setfield(L, -2, functions->name);
  }
}

int library_stock(lua_State *L) {
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

#define INDEX_CHAIN 2000   /* of a chain of __index, as in Lua */

void library_index(lua_State *L, int table, lua_KContext context, lua_KFunction go_on) {
  lua_pushvalue(L, table);                   /* key object */
  for (int i = 0; i < INDEX_CHAIN; i++) {
    if (lua_type(L, -1) == LUA_TTABLE) {
      lua_pushvalue(L, -2);
      if (lua_rawget(L, -2) != LUA_TNIL || luaL_getmetafield(L, -2, "__index") == LUA_TNIL) {
        lua_replace(L, -3);
        lua_pop(L, 1);
        return;
      }
      lua_remove(L, -2);                     /* key object handler */
    } else if (luaL_getmetafield(L, -1, "__index") == LUA_TNIL) {
      lua_pushvalue(L, -2);
      lua_gettable(L, -2);                   /* raises */
    }
    if (lua_type(L, -1) == LUA_TFUNCTION) {
      lua_rotate(L, -3, 1);
      lua_rotate(L, -2, 1);                  /* handler object key */
      lua_callk(L, 2, 1, context, go_on);
      return;
    }
    lua_remove(L, -2);
  }
  luaL_error(L, "'__index' chain too long; possibly a loop");
}
