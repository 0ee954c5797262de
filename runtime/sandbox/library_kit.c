/*
** How the libraries are opened: Ebb's functions beside those of the stock library; and
** what several of them do.
*/
#include <string.h>

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

/* ---- getmetatable and setmetatable: no finalizers, no weak keys ----
**
** The collector looks through tables with weak keys again and again, until a pass finds nothing new. Along a chain of
** such keys this takes the square of its length, in a single step that no hook and no signal ends: minutes for
** 90,000 keys. Weak values are looked at once.
**
** The collector reads "__mode" of a metatable whenever it comes by, and a script may write that field at any time, by
** an instruction that calls no function of the sandbox. But the collector finds the field by the address of a string
** that Lua keeps. mode_open writes another word into that string before a script runs. From then on the "__mode" of
** scripts is a second string and a field like any other, and setmetatable alone tells the collector:
**
**     metatable.__mode       "v"    the script's; setmetatable reads it, a later change has no effect
**     metatable[word]        "v"    the collector's; pairs and next skip it, and no text is equal to it */

#define WORD_SIZE  6    /* of "__mode" */
#define WORD_TRIES 100

/* Key of the registry: the string in which the collector looks for modes. */
static const char WORD;

/* Lua finds short strings by a hash over their bytes. The word is chosen such that its hash would lead elsewhere than
   to the collector's string, which therefore is never found by its bytes. Lua's table of strings has its least size
   now, so this stays true when it grows. */
void mode_open(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  lua_pushliteral(L, "__mode");
  const char *mode = lua_tostring(L, -1);
  char *bytes = (char *)(uintptr_t)mode, word[] = "_m_0__";      /* it lies in a block of our allocator's */
  bool is_apart = !holds(sandbox, GUARD_WEAK);
  for (int i = 0; i < WORD_TRIES && !is_apart; i++) {
    word[4] = (char)('0' + i / 10);
    word[5] = (char)('0' + i % 10);
    memcpy(bytes, word, WORD_SIZE);
    is_apart = lua_pushlstring(L, word, WORD_SIZE) != mode;
    lua_pop(L, 1);
  }
  if (!is_apart) luaL_error(L, "no word for modes");
  sandbox->mode_word = mode;
  lua_rawsetp(L, LUA_REGISTRYINDEX, &WORD);
}

void mode_set(lua_State *L, const char *mode) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &WORD);
  lua_pushstring(L, mode);
  lua_rawset(L, -3);
}

/* ---- the functions ---- */

static int l_getmetatable(lua_State *L) {
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1)) {
    lua_pushnil(L);
    return 1;
  }
  luaL_getmetafield(L, 1, "__metatable");
  return 1;                  /* the field, or the table below it */
}

/* Upvalues of setmetatable. OWN: true for the library's own, which may have weak keys. */
enum { UP_GC = 1, UP_MODE, UP_OWN, UPVALUES = UP_OWN };

/* Passes the mode of the metatable at 2 on to the collector. In a deterministic sandbox the values of scripts stay:
   when they would go depends on addresses. */
static void pass_mode(lua_State *L, Sandbox *sandbox) {
  lua_pushvalue(L, lua_upvalueindex(UP_MODE));
  const char *mode = lua_rawget(L, 2) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  if (mode == NULL && !sandbox->has_modes) return;
  bool own = lua_toboolean(L, lua_upvalueindex(UP_OWN));
  if (!own && mode != NULL && strchr(mode, 'k') != NULL && holds(sandbox, GUARD_WEAK)) {
    luaL_error(L, "weak keys (__mode \"%s\") are not available to sandboxed scripts; weak values (\"v\") are", mode);
  }
  if (!own && sandbox->config.deterministic) return;
  if (mode != NULL && !own) sandbox->has_modes = true;
  lua_pushvalue(L, 2);
  mode_set(L, mode);
}

static int l_setmetatable(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  int kind = lua_type(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table");
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return luaL_error(L, "cannot change a protected metatable");
  if (kind == LUA_TTABLE) {
    lua_pushvalue(L, lua_upvalueindex(UP_GC));
    if (lua_rawget(L, 2) != LUA_TNIL && holds(sandbox, GUARD_FINALIZER)) {
      return luaL_error(L, "__gc is not available to sandboxed scripts");
    }
    pass_mode(L, sandbox);
  }
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

void library_setmetatable(lua_State *L, bool own) {
  lua_pushliteral(L, "__gc");
  lua_pushliteral(L, "__mode");
  lua_pushboolean(L, own);
  lua_pushcclosure(L, l_setmetatable, UPVALUES);
  lua_setfield(L, -2, "setmetatable");
}

void library_metatable(lua_State *L) {
  static const LibraryFunction functions[] = {{"getmetatable", l_getmetatable}, {NULL, NULL}};
  library_set(L, functions);
  library_setmetatable(L, false);
}
