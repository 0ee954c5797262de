/*
** Coroutines that Ctrl-C can stop.
**
** Hooks are a coroutine's own, so the interrupt must know which one is running:
** resume and wrap tell it, and once it has come, each of them raises it again in
** the coroutine that resumed, until nothing is left.
*/
#include "host/host.h"

#include "lauxlib.h"
#include "lualib.h"

/* Moves the arguments to the coroutine and its results back; -1, and the error on
   top, if it failed. */
static int resume_with_arguments(lua_State *L, lua_State *co, int arguments) {
  if (!lua_checkstack(co, arguments)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, arguments);
  lua_State *before = host_watch_coroutine(co);
  int results, status = lua_resume(co, L, arguments, &results);      /* never raises in L */
  host_watch_coroutine(before);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, results + 1)) {
    lua_pop(co, results);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, results);
  return results;
}

/* resume(co, ...) -> true, ... | false, error */
static int l_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "thread");
  int results = resume_with_arguments(L, co, lua_gettop(L) - 1);
  host_raise_interrupt(L);
  lua_pushboolean(L, results >= 0);
  if (results < 0) results = 1;
  lua_insert(L, -(results + 1));
  return results + 1;
}

/* What a failed coroutine leaves open is closed; the error says where it was. */
static int raise_from(lua_State *L, lua_State *co) {
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    status = lua_resetthread(co);
    lua_xmove(co, L, 1);
  }
  host_raise_interrupt(L);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int l_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int results = resume_with_arguments(L, co, lua_gettop(L));
  if (results < 0) return raise_from(L, co);
  host_raise_interrupt(L);
  return results;
}

/* wrap(f) -> function(...) -> ... */
static int l_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, l_wrapped, 1);
  return 1;
}

void host_open_coroutines(lua_State *L) {
  lua_getglobal(L, LUA_COLIBNAME);
  lua_pushcfunction(L, l_resume);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, l_wrap);
  lua_setfield(L, -2, "wrap");
  lua_pop(L, 1);
}
