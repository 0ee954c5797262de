/*
** How the libraries are opened: Ebb's functions beside those of the stock library.
*/
#include "sandbox/sandbox_state.h"

void library_push(lua_State *L, lua_CFunction function) {
  lua_pushnil(L);
  lua_pushcclosure(L, function, 1);
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
