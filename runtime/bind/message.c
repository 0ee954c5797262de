/*
** Messages: a seq, and the owner in whose list it stands.
*/
#include <string.h>

#include "base/minmax.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/message.h"
#include "bind/open.h"
#include "bind/handle.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/window.h"
#include "core/list/call_links.h"
#include "dialect/read/message_form.h"
#include "sandbox/guard.h"

/* Do both have the message under this seq? Forks share what they began with; the tail of a session and all of it have
   copies of the same bytes. */
static bool is_same_message(const View *a, const View *b, MessageId id) {
  const Store *one = conversation_store(a->conversation), *other = conversation_store(b->conversation);
  if (!store_has(one, id) || !store_has(other, id)) return false;
  Text raw = message_raw(store_message(one, id)), copy = message_raw(store_message(other, id));
  return one == other || raw.bytes == copy.bytes || (a->handle->is_tail != b->handle->is_tail && text_equal(raw, copy));
}

MessageId bind_message_argument(lua_State *L, View *view, int index) {
  MessageHandle *handle = bind_test(L, index, &BIND_MESSAGE);
  if (handle == NULL) {
    bind_view_list(L, view);
    if (!lua_isnumber(L, index)) {
      bind_raise_type(L, index, NULL, "a message or its position");
    }
    lua_Integer i = bind_integer(L, index, "position", 1, sequence_count(view->list));
    return sequence_at(view->list, (uint32_t)(i - 1));
  }
  lua_getiuservalue(L, index, 1);
  View other = bind_look(L, -1);
  bool same = is_same_message(&other, view, handle->id);
  lua_pop(L, 1);
  if (!same) bind_raise_argument(L, "argument", NULL, "the message belongs to another conversation, or was pruned");
  return handle->id;
}

/* ---- fields ---- */

typedef struct Access {
  View view;
  MessageHandle *handle;
  const Message *message;
} Access;

static void push_optional(lua_State *L, const Message *message, MessageField field) {
  Text value;
  if (message_field(message, field, &value)) bind_push_text(L, value);
  else lua_pushnil(L);
}

static void push_content(lua_State *L, const Message *message) {
  Text content = message_content(message);
  switch (message_content_kind(message)) {
  case CONTENT_NONE: lua_pushnil(L); return;
  case CONTENT_STRING: bind_push_text(L, content); return;
  case CONTENT_PARTS: bind_push_json(L, content.bytes, content.size); return;
  case CONTENT_WINDOW: lua_pushnil(L); return;
  }
}

/* Bytes of all texts with a line break between two; *count gets their number. */
static size_t all_text_size(const Message *message, uint32_t *count) {
  uint32_t at = 0;
  size_t size = 0;
  Text text;
  for (*count = 0; message_next_text(message, &at, &text); ++*count) size += text_plain_size(text) + (*count > 0);
  return size;
}

static void push_all_text(lua_State *L, const Message *message) {
  uint32_t at = 0, count;
  size_t size = all_text_size(message, &count);
  Text text, run;
  char scratch[4];
  luaL_Buffer buffer;
  guard_charge(L, count);
  guard_charge_bytes(L, size);
  char *out = luaL_buffinitsize(L, &buffer, size);
  for (uint32_t i = 0; message_next_text(message, &at, &text); i++) {
    if (i > 0) *out++ = '\n';
    while (text_run(&text, scratch, &run)) {
      memcpy(out, run.bytes, run.size);
      out += run.size;
    }
  }
  luaL_pushresultsize(&buffer, size);
}

static void push_part(lua_State *L, const Message *message, Part part) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, part_kind_name((PartKind)part.kind));
  lua_setfield(L, -2, "kind");
  if (part.text.at != 0 && part.kind != PART_IMAGE) {
    bind_push_text(L, message_text(message, part.text));
    lua_setfield(L, -2, "text");
  }
  Text value = message_text(message, part.value);
  bind_push_json(L, value.bytes, value.size);
  lua_setfield(L, -2, "value");
}

/* A string content is one text part. */
static void push_parts(lua_State *L, const Message *message) {
  lua_Integer n = 0;
  lua_newtable(L);
  if (message_content_kind(message) == CONTENT_STRING) {
    lua_createtable(L, 0, 3);
    lua_pushliteral(L, "text");
    lua_setfield(L, -2, "kind");
    bind_push_text(L, message_content(message));
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "text");
    lua_setfield(L, -2, "value");
    lua_rawseti(L, -2, ++n);
  }
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    push_part(L, message, part);
    lua_rawseti(L, -2, ++n);
  }
}

void bind_push_call(lua_State *L, const Message *message, uint32_t index) {
  Call call = message_call(message, index);
  lua_createtable(L, 0, 3);
  if (call.id.at != 0) {
    bind_push_text(L, message_text(message, call.id));
    lua_setfield(L, -2, "id");
  }
  bind_push_text(L, message_text(message, call.name));
  lua_setfield(L, -2, "name");
  if (call.arguments.at != 0) bind_push_text(L, message_text(message, call.arguments));
  else lua_pushliteral(L, "");
  lua_setfield(L, -2, "arguments");
}

static void push_calls(lua_State *L, const Message *message) {
  uint32_t count = message_call_count(message);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    bind_push_call(L, message, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The ids of the calls that the message answers; the name where a result has no id. A legacy function result
   names a function, too, and is left out. */
static void push_answers(lua_State *L, const Message *message) {
  bool legacy = message_form(message) == FORM_CONTENT && text_is(message_role_text(message), "function");
  uint32_t count = legacy ? 0 : message_result_count(message);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    bind_push_text(L, message_result_key(message, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The call that the message answers first. */
static void push_answered(lua_State *L, Access *access) {
  if (message_result_count(access->message) > 0) {
    const Store *store = conversation_store(access->view.conversation);
    CallLink link = store_answers(store, access->handle->id, 0);
    if (link.message != 0 && !store_has(store, link.message)) {
      bind_view_list(L, &access->view);
      link = call_links_call(store, access->view.list, access->handle->id, 0);
    }
    if (link.message != 0) {
      bind_push_call(L, conversation_message(access->view.conversation, link.message), link.call);
      return;
    }
  }
  lua_pushnil(L);
}

static void push_marks(lua_State *L, const Access *access) {
  const Marks *marks = conversation_marks(access->view.conversation);
  MessageId origin = store_origin(conversation_store(access->view.conversation), access->handle->id);
  lua_Integer n = 0;
  lua_newtable(L);
  for (uint32_t i = marks_first(marks, origin); i != MARK_NONE; i = marks_after(marks, i, origin)) {
    bind_push_text(L, marks_name(marks, i));
    lua_rawseti(L, -2, ++n);
  }
}

static uint32_t index_of(lua_State *L, Access *access) {
  bind_view_list(L, &access->view);
  return sequence_index_of(access->view.list, access->handle->id, access->handle->hint);
}

static void push_index(lua_State *L, Access *access) {
  uint32_t index = index_of(L, access);
  bool is_whole = access->view.batch == NULL && access->view.draft == NULL;
  lua_Integer hidden = is_whole ? bind_hidden(access->view.handle) : 0;
  if (index < sequence_count(access->view.list)) lua_pushinteger(L, hidden + index + 1);
  else lua_pushnil(L);
}

static void push_ages(lua_State *L, lua_Integer messages, lua_Integer units, lua_Integer turns) {
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, messages);
  lua_setfield(L, -2, "messages");
  lua_pushinteger(L, units);
  lua_setfield(L, -2, "units");
  lua_pushinteger(L, turns);
  lua_setfield(L, -2, "turns");
}

/* Of a draft's message by its slot: a policy that edits and asks in turns does not
   bring the list up to date each time. */
static void push_draft_age(lua_State *L, Access *access) {
  const Units *units = bind_view_units(L, &access->view);
  uint32_t slot = bind_view_slot(L, &access->view, access->handle->id, 0);
  const uint32_t *turns;
  if (slot == UNIT_NONE || bind_view_slot_is_dropped(&access->view, slot)) {
    lua_pushnil(L);
    return;
  }
  Status status = draft_turns_after(access->view.draft, &turns);
  if (status != STATUS_OK) bind_raise_status(L, status, "age");
  lua_Integer slots = draft_slot_count(access->view.draft);
  push_ages(L, slots - 1 - slot, (lua_Integer)units->count - 1 - units->unit_of[slot], turns[slot]);
}

/* {messages, units, turns}: how many stand after it. */
static void push_age(lua_State *L, Access *access) {
  uint32_t index = index_of(L, access), count = sequence_count(access->view.list);
  const Units *units = bind_view_units(L, &access->view);
  uint32_t slot = bind_view_slot(L, &access->view, access->handle->id, index);
  if (index >= count || slot == UNIT_NONE) {
    lua_pushnil(L);
    return;
  }
  Sum sum = sequence_sum(access->view.list), before = sequence_prefix(access->view.list, index + 1);
  push_ages(L, (lua_Integer)count - 1 - index, (lua_Integer)units->count - 1 - units->unit_of[slot],
            (lua_Integer)sum.turns - before.turns);
}

static void push_unit(lua_State *L, Access *access) {
  const Units *units = bind_view_groups(L, &access->view);
  uint32_t slot = bind_view_slot(L, &access->view, access->handle->id, access->handle->hint);
  if (slot == UNIT_NONE) {
    lua_pushnil(L);
    return;
  }
  uint32_t first = units->units[units->unit_of[slot]].first;
  bind_push_unit(L, access->view.owner, bind_view_slot_message(&access->view, first));
}

typedef enum Field {
  FIELD_OF_INDEX, FIELD_OF_SEQ, FIELD_OF_ROLE, FIELD_OF_SPELLING, FIELD_OF_CONTENT, FIELD_OF_TEXT, FIELD_OF_PARTS,
  FIELD_OF_CALLS, FIELD_OF_CALL, FIELD_OF_ANSWERS, FIELD_OF_TOKENS, FIELD_OF_AGE, FIELD_OF_MARKS,
  FIELD_OF_UNIT, FIELD_OF_ID, FIELD_OF_NAME, FIELD_OF_TIMESTAMP, FIELD_OF_METADATA, FIELD_OF_REASONING, FIELD_OF_JSON,
  FIELD_OF_WINDOW, FIELD_OF_OBSOLETE, FIELD_OF_REASONING_TOKENS, FIELD_OF_COUNT
} Field;

static const char *const FIELD_NAMES[FIELD_OF_COUNT + 1] = {
  "index", "seq", "role", "spelling", "content", "text", "parts", "calls", "call", "answers", "tokens", "age", "marks",
  "unit", "id", "name", "timestamp", "metadata", "reasoning", "json", "window", "obsolete", "reasoning_tokens",
  NULL};

static void push_reasoning_tokens(lua_State *L, const Access *access) {
  Cost cost;
  guard_charge_bytes(L, message_raw(access->message).size);
  Status status = cost_of_reasoning(conversation_counter(access->view.conversation), access->message, &cost);
  if (status != STATUS_OK) bind_raise_status(L, status, "reasoning_tokens");
  lua_pushinteger(L, min_u32(cost.tokens, bind_view_message_tokens(&access->view, access->handle->id)));
}

/* Pushes the value of one field of a message, as its owner shows it; nil if the message lacks it. */
static void push_field(lua_State *L, Access *access, Field field) {
  const Message *message = access->message;
  int64_t timestamp;
  Text text;
  switch (field) {
  case FIELD_OF_INDEX: push_index(L, access); return;
  case FIELD_OF_SEQ: lua_pushinteger(L, access->handle->id); return;
  case FIELD_OF_ROLE:
    if (message_is_window(message)) lua_pushnil(L);
    else lua_pushstring(L, role_name(message_role(message)));
    return;
  case FIELD_OF_SPELLING:
    if (message_is_window(message)) lua_pushnil(L);
    else bind_push_text(L, message_role_text(message));
    return;
  case FIELD_OF_WINDOW:
    if (message_is_window(message)) bind_push_text(L, message_content(message));
    else lua_pushnil(L);
    return;
  case FIELD_OF_OBSOLETE:
    bind_view_list(L, &access->view);
    lua_pushboolean(L, bind_is_obsolete(L, &access->view, access->handle->id));
    return;
  case FIELD_OF_CONTENT: push_content(L, message); return;
  case FIELD_OF_TEXT: push_all_text(L, message); return;
  case FIELD_OF_PARTS: push_parts(L, message); return;
  case FIELD_OF_CALLS: push_calls(L, message); return;
  case FIELD_OF_CALL: push_answered(L, access); return;
  case FIELD_OF_ANSWERS: push_answers(L, message); return;
  case FIELD_OF_TOKENS: lua_pushinteger(L, bind_view_message_tokens(&access->view, access->handle->id)); return;
  case FIELD_OF_REASONING_TOKENS: push_reasoning_tokens(L, access); return;
  case FIELD_OF_AGE:
    if (access->view.draft != NULL) push_draft_age(L, access);
    else push_age(L, access);
    return;
  case FIELD_OF_MARKS: push_marks(L, access); return;
  case FIELD_OF_UNIT: push_unit(L, access); return;
  case FIELD_OF_ID: push_optional(L, message, FIELD_ID); return;
  case FIELD_OF_NAME: push_optional(L, message, FIELD_NAME); return;
  case FIELD_OF_REASONING: push_optional(L, message, FIELD_REASONING); return;
  case FIELD_OF_JSON: bind_push_text(L, message_raw(message)); return;
  case FIELD_OF_TIMESTAMP:
    if (message_timestamp(message, &timestamp)) lua_pushinteger(L, timestamp);
    else lua_pushnil(L);
    return;
  case FIELD_OF_METADATA:
    if (message_field(message, FIELD_METADATA, &text)) bind_push_json(L, text.bytes, text.size);
    else lua_pushnil(L);
    return;
  case FIELD_OF_COUNT: break;
  }
  lua_pushnil(L);
}

static Access access_of(lua_State *L) {
  Access access = {.handle = bind_check(L, 1, &BIND_MESSAGE)};
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  access.view = bind_look(L, 3);
  bind_check_there(L, &access.view, access.handle->id);
  access.message = conversation_message(access.view.conversation, access.handle->id);
  return access;
}

static int l_index(lua_State *L) {
  int field = bind_find_field(L, FIELD_NAMES);
  if (field < 0) return bind_index_method(L, &BIND_MESSAGE);
  Access access = access_of(L);
  push_field(L, &access, (Field)field);
  return 1;
}

/* message:totable() -> its JSON as a table */
static int l_totable(lua_State *L) {
  Access access = access_of(L);
  Text raw = message_raw(access.message);
  bind_push_json(L, raw.bytes, raw.size);
  return 1;
}

/* Copies the list at the top without the parts of a kind; nested parts go with theirs. */
static void drop_parts(lua_State *L, const Message *message, PartKind kind) {
  lua_Integer from = 0, to = 0;
  int list = lua_gettop(L);
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    from++;
    if ((PartKind)part.kind == kind) continue;
    lua_rawgeti(L, list, from);
    lua_rawseti(L, list, ++to);
  }
  while (from > to) {
    lua_pushnil(L);
    lua_rawseti(L, list, from--);
  }
}

PartKind bind_part_kind(lua_State *L, int index) {
  const char *name = bind_string(L, index, NULL);
  for (int i = PART_TEXT; i <= PART_OTHER; i++) {
    if (strcmp(name, part_kind_name((PartKind)i)) == 0) return (PartKind)i;
  }
  bind_raise_argument(L, "unknown_name",
                      "kinds are text, image, file, audio, asset, tool_use, tool_result, reasoning and other",
             "unknown part kind '%s'", name);
  return PART_OTHER;
}

/* message:without(kind) -> table */
static int l_without(lua_State *L) {
  PartKind kind = bind_part_kind(L, 2);
  Access access = access_of(L);
  Text raw = message_raw(access.message);
  bind_push_json(L, raw.bytes, raw.size);
  if (kind == PART_REASONING) {
    lua_pushnil(L);
    lua_setfield(L, -2, "reasoning_content");
  } else if (kind == PART_TOOL_USE) {
    lua_pushnil(L);
    lua_setfield(L, -2, "tool_calls");
  }
  Text content = message_content(access.message);
  if (message_content_kind(access.message) == CONTENT_PARTS && content.bytes[0] == '[') {
    lua_getfield(L, -1, message_content_key(access.message));
    drop_parts(L, access.message, kind);
    lua_pop(L, 1);
  }
  return 1;
}

static int l_equal(lua_State *L) {
  MessageHandle *a = bind_test(L, 1, &BIND_MESSAGE), *b = bind_test(L, 2, &BIND_MESSAGE);
  bool same = a != NULL && b != NULL && a->id == b->id;
  if (same) {
    lua_getiuservalue(L, 1, 1);
    lua_getiuservalue(L, 2, 1);
    View one = bind_look(L, -2), other = bind_look(L, -1);
    same = conversation_store(one.conversation) == conversation_store(other.conversation) ||
           (one.handle->is_tail != other.handle->is_tail && is_same_message(&one, &other, a->id));
  }
  lua_pushboolean(L, same);
  return 1;
}

static int l_tostring(lua_State *L) {
  Access access = access_of(L);
  lua_pushfstring(L, "message %d (%s, %d tokens)", (int)access.handle->id, role_name(message_role(access.message)),
                  (int)bind_view_message_tokens(&access.view, access.handle->id));
  return 1;
}

void bind_open_message(lua_State *L) {
  static const BindMethod methods[] = {
    {"without", l_without, "kind", CHARGE_PATH},
    {"totable", l_totable, "", CHARGE_PATH},
    BIND_END,
  };
  bind_type(L, &BIND_MESSAGE, l_index, NULL);
  bind_methods(L, &BIND_MESSAGE, methods);
  bind_open_fields(L, &BIND_MESSAGE, FIELD_NAMES);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_MESSAGE);
  lua_pushcfunction(L, l_equal);
  lua_setfield(L, -2, "__eq");
  lua_pushcfunction(L, l_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
