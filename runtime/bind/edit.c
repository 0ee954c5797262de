/*
** The operations of a conversation: Lua's 1-based, inclusive spelling becomes
** the core's here, and nowhere else.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/list.h"
#include "bind/message.h"
#include "bind/open.h"
#include "bind/source.h"
#include "bind/type.h"
#include "bind/view.h"
#include "sandbox/guard.h"

/* The position in a list for which `index` stands: a number or a Message. */
static uint32_t check_index(lua_State *L, int index) {
  View view = bind_view(L, 1);
  if (bind_test(L, index, &BIND_MESSAGE) == NULL) {
    return (uint32_t)bind_integer(L, index, "index", 1, sequence_count(view.list)) - 1;
  }
  MessageId id = bind_message_argument(L, &view, index);
  uint32_t list_index = sequence_index_of(view.list, id, 0);
  bool visible = list_index < sequence_count(view.list);
  if (!visible) bind_raise_argument(L, "out_of_range", NULL, "the message is not visible");
  return list_index;
}

/* The caller's own description of the batch, in the table of options at `index`, or size 0. Leaves it on the stack. */
static Text read_description(lua_State *L, int index) {
  if (!bind_field(L, index, "description")) return (Text){0};
  bind_expect(L, -1, "description", LUA_TSTRING);
  Text description = bind_name(L, -1, "description");
  if (description.size > BATCH_DESCRIPTION_MAX) {
    bind_raise(L, "limit", NULL, "description: at most %d bytes", BATCH_DESCRIPTION_MAX);
  }
  return description;
}

/* The same of an optional table that has nothing else. */
static Text check_description(lua_State *L, int index) {
  static const char *const names[] = {"description", NULL};
  if (lua_isnoneornil(L, index)) return (Text){0};
  bind_check_names(L, index, NULL, names);
  return read_description(L, index);
}

/* conversation:append(messages) -> batch */
static int l_append(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  MessageSource source = bind_source(L, 2);
  Status status = operation_append(handle->conversation, &source);
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "no messages");
  if (status != STATUS_OK) return bind_raise_source(L, 1, &source, status, "append");
  bind_check_limit(L, 1);
  return bind_push_batch(L, handle);
}

/* conversation:insert(position, messages, {description}) -> batch */
static int l_insert(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  uint32_t count = sequence_count(conversation_list(handle->conversation));
  if (lua_isinteger(L, 2) && lua_tointeger(L, 2) == -1) {
    bind_raise_argument(L, "out_of_range", "use append", "there is no position -1");
  }
  uint32_t position = (uint32_t)bind_integer(L, 2, "position", 1, (lua_Integer)count + 1) - 1;
  Text description = check_description(L, 4);
  MessageSource source = bind_source(L, 3);
  Status status = operation_insert(handle->conversation, position, &source, description);
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "no messages");
  if (status != STATUS_OK) return bind_raise_source(L, 1, &source, status, "insert");
  return bind_push_batch(L, handle);
}

/* conversation:replace(index, message, {description}) -> batch */
static int l_replace(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  uint32_t index = check_index(L, 2);
  Text description = check_description(L, 4);
  MessageSource source = bind_source(L, 3);
  Status status = operation_replace(handle->conversation, index, &source, description);
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "no message");
  if (status != STATUS_OK) return bind_raise_source(L, 1, &source, status, "replace");
  return bind_push_batch(L, handle);
}

/* range = {first, last}, from 1, both included */
static void read_range(lua_State *L, Truncate *truncate) {
  if (!bind_field(L, 2, "range")) return;
  bind_expect(L, -1, "range", LUA_TTABLE);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_Integer first = bind_integer(L, -2, "range[1]", 1, UINT32_MAX),
              last = bind_integer(L, -1, "range[2]", 0, UINT32_MAX);
  if (first > last + 1) bind_raise_argument(L, "out_of_range", NULL, "range: %I is past %I", first, last);
  truncate->has_range = true;
  truncate->start = (uint32_t)(first - 1);
  truncate->end = (uint32_t)last;
  lua_pop(L, 3);
}

static void read_scope(lua_State *L, Truncate *truncate) {
  static const char *const scopes[] = {"only", "within", NULL};
  if (bind_field(L, 2, "role")) {
    truncate->has_role = true;
    truncate->role = bind_role(L, -1);
    lua_pop(L, 1);
  }
  if (!bind_field(L, 2, "scope")) return;
  truncate->keep_others = bind_choice(L, -1, "scope", -1, scopes) == 1;
  if (!truncate->has_role) bind_raise_argument(L, "argument", "name a role", "a scope needs a role");
  lua_pop(L, 1);
}

/* conversation:truncate(options) -> batch */
static int l_truncate(lua_State *L) {
  static const char *const names[] = {"keep_first", "keep_last", "remove_first", "remove_last", "range",
                                      "role", "scope", "whole_units", "description", NULL};
  ConversationHandle *handle = bind_enter(L, 1);
  Truncate truncate = {0};
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  truncate.has_keep_first = bind_count_field(L, 2, "keep_first", &truncate.keep_first);
  truncate.has_keep_last = bind_count_field(L, 2, "keep_last", &truncate.keep_last);
  truncate.has_remove_first = bind_count_field(L, 2, "remove_first", &truncate.remove_first);
  truncate.has_remove_last = bind_count_field(L, 2, "remove_last", &truncate.remove_last);
  truncate.whole_units = bind_flag_field(L, 2, "whole_units", false);
  read_range(L, &truncate);
  read_scope(L, &truncate);
  truncate.description = read_description(L, 2);
  Status status = operation_truncate(handle->conversation, &truncate);
  if (status == STATUS_ARGUMENT) {
    return bind_raise_argument(L, "argument", "give keep_first, keep_last, remove_first, remove_last, range or role",
                      "nothing is asked");
  }
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_status(L, status, "truncate");
}

/* conversation:clear(options) -> batch */
static int l_clear(lua_State *L) {
  static const char *const names[] = {"keep_system_message", "description", NULL};
  ConversationHandle *handle = bind_enter(L, 1);
  bool keep_system = true;
  Text description = {0};
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    bind_check_names(L, 2, NULL, names);
    keep_system = bind_flag_field(L, 2, "keep_system_message", true);
    description = read_description(L, 2);
  }
  Status status = operation_clear(handle->conversation, keep_system, description);
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_edit(L, 1, status, "clear");
}

/* ---- filter ---- */

/* What the core does not know of: a Lua function, an LPeg pattern, marks, time. */
typedef struct Where {
  lua_State *L;
  View view;
  Conditions conditions;
  bool has_function, has_pattern;
} Where;

/* (conversation, conditions, id, position) -> what `where` answers */
static int l_ask_function(lua_State *L) {
  bind_get_field(L, 2, "where");
  bind_push_message(L, 1, (MessageId)lua_tointeger(L, 3), (uint32_t)lua_tointeger(L, 4));
  lua_call(L, 1, 1);
  return 1;
}

/* (conversation, conditions, id, position) -> what pattern:match(text) answers */
static int l_ask_pattern(lua_State *L) {
  bind_get_field(L, 2, "pattern");
  lua_getfield(L, -1, "match");
  lua_insert(L, -2);
  bind_push_message(L, 1, (MessageId)lua_tointeger(L, 3), (uint32_t)lua_tointeger(L, 4));
  lua_getfield(L, -1, "text");
  lua_remove(L, -2);
  lua_call(L, 2, 1);
  return 1;
}

/* What the caller's function or pattern answers decides. */
static Status ask(const Where *where, lua_CFunction function, uint32_t position, MessageId id, bool *keep) {
  lua_State *L = where->L;
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushinteger(L, id);
  lua_pushinteger(L, position);
  if (!bind_call_back(L, where->view.handle->callbacks, function, 4)) return STATUS_HOST;
  *keep = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return STATUS_OK;
}

static Status where_passes(void *user, uint32_t position, MessageId id, bool *keep) {
  Where *where = user;
  Status status = STATUS_OK;
  *keep = bind_passes(where->L, &where->view, &where->conditions, id);
  if (*keep && where->has_pattern) status = ask(where, l_ask_pattern, position, id, keep);
  if (status == STATUS_OK && *keep && where->has_function) status = ask(where, l_ask_function, position, id, keep);
  return status;
}

static const char *const FILTER_NAMES[] = {
  "roles", "content_contains", "content_excludes", "include_names", "exclude_names", "include_ids", "exclude_ids",
  "exclude_tool_calls", "where", "pattern", "marked", "since", "before", "whole_units",
  "description", NULL};

static void read_conditions(lua_State *L, Filter *filter) {
  if (bind_field(L, 2, "roles")) {
    filter->roles = bind_roles(L, -1);
    lua_pop(L, 1);
  }
  filter->contains = bind_text_list(L, 2, "content_contains");
  filter->excludes = bind_text_list(L, 2, "content_excludes");
  filter->include_names = bind_text_list(L, 2, "include_names");
  filter->exclude_names = bind_text_list(L, 2, "exclude_names");
  filter->include_ids = bind_text_list(L, 2, "include_ids");
  filter->exclude_ids = bind_text_list(L, 2, "exclude_ids");
  filter->whole_units = bind_flag_field(L, 2, "whole_units", false);
  bind_get_field(L, 2, "exclude_tool_calls");
  if (lua_isboolean(L, -1)) filter->exclude_calls = lua_toboolean(L, -1);
  else filter->exclude_calls_of = bind_text_list(L, 2, "exclude_tool_calls");
}

/* Those conditions that a `Where` looks after; false if there are none. */
static bool read_where(lua_State *L, Where *where) {
  static const char *const handed_on[] = {"marked", "since", "before", NULL};
  int type = bind_get_field(L, 2, "where");
  where->has_function = type == LUA_TFUNCTION;
  if (type != LUA_TNIL && !where->has_function) {
    bind_raise_type(L, -1, "where", "a function");
  }
  where->has_pattern = bind_get_field(L, 2, "pattern") != LUA_TNIL;
  if (where->has_pattern && luaL_getmetafield(L, -1, "__index") == LUA_TNIL) {
    bind_raise_type(L, -1, "pattern", "an LPeg pattern");
  }
  lua_newtable(L);
  for (int i = 0; handed_on[i] != NULL; i++) {
    bind_get_field(L, 2, handed_on[i]);
    lua_setfield(L, -2, handed_on[i]);
  }
  where->conditions = bind_conditions(L, -1, handed_on);
  return where->has_function || where->has_pattern || where->conditions.has_marked || where->conditions.has_since ||
         where->conditions.has_before;
}

/* conversation:filter(conditions) -> batch */
static int l_filter(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  Filter filter = {0};
  Where where = {.L = L, .view = bind_view(L, 1)};
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, FILTER_NAMES);
  read_conditions(L, &filter);
  if (read_where(L, &where)) {
    filter.where = where_passes;
    filter.user = &where;
  }
  filter.description = read_description(L, 2);
  guard_check_stack(L, 16, NULL);
  Status status = operation_filter(handle->conversation, &filter);
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "no condition is given");
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_edit(L, 1, status, "filter");
}

/* ---- rollback ---- */

/* conversation:rollback(batch, length) -> batch */
static int l_rollback(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  bool has_length;
  uint32_t length = 0, batch = bind_batch_argument(L, handle, 2, &has_length, &length);
  if (!lua_isnoneornil(L, 3)) {
    BatchInfo info = history_batch(conversation_history(handle->conversation), batch);
    length = (uint32_t)bind_integer(L, 3, "length", info.born, info.count);
    has_length = true;
  }
  Status status = operation_rollback(handle->conversation, batch, has_length, length);
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_status(L, status, "rollback");
}

/* conversation:checkpoint(name) -> the current batch, whose state it names */
static int l_checkpoint(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  Text name = bind_name(L, 2, "checkpoint");
  if (name.size == 0) return bind_raise_argument(L, "argument", NULL, "a name is expected");
  Status status = history_name(conversation_history(handle->conversation), name);
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_status(L, status, "checkpoint");
}

void bind_open_edit(lua_State *L) {
  static const BindMethod methods[] = {
    {"append", l_append, "messages", CHARGE_LIST},
    {"insert", l_insert, "position messages options", CHARGE_LIST},
    {"replace", l_replace, "index message options", CHARGE_LIST},
    {"truncate", l_truncate, "options", CHARGE_PATH},
    {"clear", l_clear, "options", CHARGE_PATH},
    {"filter", l_filter, "conditions", CHARGE_LIST},
    {"rollback", l_rollback, "batch length", CHARGE_PATH},
    {"checkpoint", l_checkpoint, "name", CHARGE_PATH},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
}
