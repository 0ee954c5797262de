/*
** The options that a conversation is made with.
*/
#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/source.h"
#include "bind/type.h"
#include "os/os.h"

/* Lua takes `model` out before; it stands here for "did you mean". */
static const char *const OPTION_NAMES[] = {"model", "encoding", "counter", "clock", "limit", "on_limit",
                                           "tools", "tools_heading", "image", "tokenizer", "max_message",
                                           "max_file", "lenient", "role_map", NULL};

/* Keeps the function in field `name`, if there is one, for later calls. */
static bool keep_function(lua_State *L, int conversation, int options, const char *name) {
  if (!bind_field(L, options, name)) return false;
  if (!lua_isfunction(L, -1))
    bind_raise_type(L, -1, name, "a function");
  lua_getiuservalue(L, conversation, BIND_FUNCTIONS);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
  return true;
}

/* Adds "- name: description" for the tool at the top, and pops it. */
static void describe_tool(lua_State *L, lua_Integer i, luaL_Buffer *text) {
  if (!lua_istable(L, -1) || bind_get_field(L, -1, "name") != LUA_TSTRING ||
      bind_get_field(L, -2, "description") != LUA_TSTRING) {
    bind_raise_argument(L, "argument", NULL, "tools[%I]: {name = string, description = string} is expected", i);
  }
  lua_pushfstring(L, "\n- %s: %s", lua_tostring(L, -2), lua_tostring(L, -1));
  lua_replace(L, -4);
  lua_pop(L, 2);
  luaL_addvalue(text);
}

/* Pushes {role = "system", content = heading and lines}. */
static void push_tool_message(lua_State *L, int options, const char *heading) {
  luaL_Buffer text;
  lua_newtable(L);
  lua_pushstring(L, "system");
  lua_setfield(L, -2, "role");
  bind_get_field(L, options, "tools");
  int tools = lua_gettop(L);
  bind_expect(L, tools, "tools", LUA_TTABLE);
  lua_Integer count = (lua_Integer)lua_rawlen(L, tools);
  luaL_buffinit(L, &text);
  luaL_addstring(&text, heading);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, tools, i);
    describe_tool(L, i, &text);
  }
  luaL_pushresult(&text);
  lua_setfield(L, tools - 1, "content");
  lua_settop(L, tools - 1);
}

static void read_tools(lua_State *L, int options, ConversationHandle *handle) {
  if (!bind_field(L, options, "tools")) return;
  const char *heading = "Available tools:";
  if (bind_field(L, options, "tools_heading")) heading = bind_string(L, -1, "tools_heading");
  push_tool_message(L, options, heading);
  MessageSource source = bind_source(L, lua_gettop(L));
  bool more;
  Text raw;
  MessageShape shape;
  Status status = source.next(source.user, &more, &raw, &shape);
  if (status == STATUS_OK) status = conversation_set_tools(handle->conversation, text_of(heading), raw, &shape);
  if (status != STATUS_OK) bind_raise_status(L, status, "tools");
}

static const char CONVERSATION_MEMORY;

void bind_set_conversation_memory(lua_State *L, const Memory *memory) {
  Memory *current;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &CONVERSATION_MEMORY) == LUA_TNIL) {
    current = lua_newuserdatauv(L, sizeof *current, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &CONVERSATION_MEMORY);
  } else {
    current = lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  *current = *memory;
}

Memory bind_conversation_memory(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &CONVERSATION_MEMORY);
  const Memory *current = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return current != NULL && current->allocate != NULL ? *current : bind_memory(L);
}

void bind_configure(lua_State *L, int conversation_index, int options_index) {
  int conversation = lua_absindex(L, conversation_index), options = options_index;
  ConversationHandle *handle = bind_test(L, conversation, &BIND_CONVERSATION);
  int top = lua_gettop(L);
  if (lua_isnoneornil(L, options)) {
    lua_newtable(L);
    options = lua_gettop(L);
  }
  bind_check_names(L, options, NULL, OPTION_NAMES);
  handle->callbacks->has_counter = keep_function(L, conversation, options, "counter");
  handle->callbacks->has_clock = keep_function(L, conversation, options, "clock");
  keep_function(L, conversation, options, "on_limit");
  bind_ask_clock(L, conversation, handle->callbacks);
  ConversationConfig config = {.memory = bind_conversation_memory(L), .clock = bind_clock(handle->callbacks),
                               .counter = bind_counter(L, conversation, options), .hash_key = entropy_hash_key()};
  if (bind_field(L, options, "limit")) {
    handle->limit = (uint64_t)bind_integer(L, -1, "limit", 0, INT64_MAX);
    handle->has_limit = true;
    lua_pop(L, 1);
  }
  if (handle->callbacks->has_counter) {
    config.counter.custom = bind_count_by_caller;
    config.counter.user = handle->callbacks;
  }
  Status status = conversation_new(&config, &handle->conversation);
  if (status != STATUS_OK) bind_raise_status(L, status, "conversation");
  read_tools(L, options, handle);
  lua_settop(L, top);
}

void bind_read_aliases(lua_State *L, int options, DocumentLimits *limits) {
  if (lua_isnoneornil(L, options) || !bind_field(L, options, "role_map")) return;
  if (!lua_istable(L, -1)) bind_raise_argument(L, "argument", NULL, "role_map: a table of {old = \"new\"} is expected");
  int map = lua_gettop(L);
  uint32_t count = 0;
  for (lua_pushnil(L); lua_next(L, map) != 0; lua_pop(L, 1)) count++;
  RoleAlias *list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  for (lua_pushnil(L); lua_next(L, map) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) {
      bind_raise_argument(L, "argument", NULL, "role_map: names of roles are expected on both sides");
    }
    RoleAlias *alias = &list[limits->alias_count++];
    alias->spelling = bind_text(L, -2);
    if (!role_parse(bind_text(L, -1), &alias->role)) {
      bind_raise_argument(L, "unknown_name", "roles are system, user, assistant and tool",
                          "role_map: unknown role '%s'", lua_tostring(L, -1));
    }
  }
  limits->aliases = list;
}
