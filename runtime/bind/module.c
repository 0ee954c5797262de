/*
** The module ebb.core. Only lua/ebb/support/core.lua requires it; what users see
** is the library above.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/ledger.h"
#include "bind/list.h"
#include "bind/open.h"
#include "bind/selection.h"
#include "bind/type.h"
#include "bind/unit.h"
#include "bind/vocab.h"
#include "bind/window.h"
#include "os/os.h"
#include "sandbox/sandbox.h"

/* type(value) -> "Conversation", "Message" ... | nil */
static int l_type(lua_State *L) {
  const BindType *type = bind_type_of(L, 1);
  if (type != NULL) lua_pushstring(L, type->name);
  else lua_pushnil(L);
  return 1;
}

/* cpu_seconds() -> CPU time of this thread */
static int l_cpu_seconds(lua_State *L) {
  lua_pushnumber(L, (lua_Number)clock_thread_ns() / 1e9);
  return 1;
}

/* now() -> milliseconds since 1970; in libebb by the host's clock */
static int l_now(lua_State *L) {
  Clock clock = clock_system();
  lua_pushinteger(L, (lua_Integer)clock_now(&clock));
  return 1;
}

/* charge(name) -> "step", "path", "list", "text", "never" | nil */
static int l_charge(lua_State *L) {
  lua_pushstring(L, bind_charge_name(L, bind_string(L, 1, NULL)));
  return 1;
}

/* string.find as it is now: patterns are Lua's own. */
static void keep_find(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "string") != LUA_TTABLE) luaL_error(L, "ebb needs the string library");
  lua_getfield(L, -1, "find");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &BIND_FIND);
  lua_pop(L, 2);
}

/* methods.Type: where the library adds its own. */
static void push_method_tables(lua_State *L) {
  static const BindType *const types[] = {&BIND_CONVERSATION, &BIND_BATCH, &BIND_DRAFT, &BIND_MESSAGE,
                                          &BIND_SELECTION,    &BIND_UNIT,  &BIND_TURN,  &BIND_LEDGER,
                                          &BIND_TOKENIZER,    &BIND_WINDOWS};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    bind_push_methods(L, types[i]);
    lua_setfield(L, -2, types[i]->name);
  }
}

int luaopen_ebb_core(lua_State *L) {
  keep_find(L);
  lua_newtable(L);           /* core */
  bind_open_errors(L);
  bind_open_conversation(L);
  bind_open_edit(L);
  bind_open_batch(L);
  bind_open_message(L);
  bind_open_selection(L);
  bind_open_unit(L);
  bind_open_ledger(L);
  bind_open_load(L);
  bind_open_files(L);
  bind_open_limits(L);
  bind_open_draft(L);
  bind_open_draft_edit(L);
  lua_setfield(L, -2, "draft");
  bind_open_check(L);
  bind_open_convert(L);
  bind_open_replay(L);
  bind_open_words(L);
  bind_open_walk(L);
  bind_open_window(L);
  lua_setfield(L, -2, "window");
  bind_open_counter(L);
  lua_setfield(L, -2, "counter");
  bind_open_tokenizer(L);
  bind_open_encoding(L);
  bind_open_printable(L);
  bind_open_number(L);
  bind_open_canonical(L);
  bind_open_keywords(L);
  bind_open_folder(L);
  bind_open_vocab(L);
  lua_setfield(L, -2, "vocab");
  bind_open_regex(L);
  lua_setfield(L, -2, "regex");
  bind_open_working(L);
  bind_open_speech(L);
  lua_setfield(L, -2, "working");
  bind_open_json(L);
  lua_setfield(L, -2, "json");
  if (sandbox_of(L) == NULL) {                /* sandboxes do not stand in each other */
    bind_open_sandbox(L, luaopen_ebb_core);
    lua_setfield(L, -2, "sandbox");
  }
  push_method_tables(L);
  lua_setfield(L, -2, "methods");
  bind_push_parameters(L);
  lua_setfield(L, -2, "parameters");
  bind_push_descriptions(L);
  lua_setfield(L, -2, "descriptions");
  lua_pushcfunction(L, l_type);
  lua_setfield(L, -2, "type");
  lua_pushcfunction(L, bind_common_ends);
  lua_setfield(L, -2, "common_ends");
  lua_pushcfunction(L, l_charge);
  lua_setfield(L, -2, "charge");
  lua_pushcfunction(L, l_cpu_seconds);
  lua_setfield(L, -2, "cpu_seconds");
  lua_pushcfunction(L, l_now);
  lua_setfield(L, -2, "now");
  lua_pushliteral(L, EBB_VERSION);
  lua_setfield(L, -2, "version");
  return 1;
}
