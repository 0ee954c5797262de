/*
** Drafts: the edits that policies make. A refused edit answers false and an error object,
** and changes nothing; what is wrong with the arguments raises.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/draft.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/message.h"
#include "bind/open.h"
#include "bind/selection.h"
#include "bind/source.h"
#include "bind/type.h"
#include "bind/unit.h"
#include "bind/view.h"
#include "dialect/read/message_form.h"
#include "json/json_edit.h"
#include "sandbox/guard.h"

/* ---- what an edit is about ---- */

static Text reason_at(lua_State *L, int index, const char *otherwise) {
  if (lua_isnoneornil(L, index)) return text_of(otherwise);
  Text reason = bind_mended(L, index);
  bind_hold_text(L, reason);
  return reason;
}

/* The messages that the value at 2 stands for, in a block left on the stack. */
static uint32_t check_messages(lua_State *L, View *view, MessageId **ids) {
  Selection *selection = bind_test(L, 2, &BIND_SELECTION);
  Turn *turn = bind_test(L, 2, &BIND_TURN);
  if (bind_test(L, 2, &BIND_UNIT) != NULL) return bind_unit_messages(L, 2, ids);
  uint32_t count = selection != NULL ? selection->count : turn != NULL ? turn->count : 1;
  *ids = lua_newuserdatauv(L, count * sizeof **ids + 1, 0);
  if (selection != NULL) {
    for (uint32_t i = 0; i < count; i++) (*ids)[i] = bind_selected(selection, i).id;
  } else if (turn != NULL) {
    memcpy(*ids, turn->ids, count * sizeof **ids);
  } else {
    **ids = bind_message_argument(L, view, 2);
  }
  return count;
}

/* Answers false and an error object with the text on top, and keeps the first such text with its place. */
static int refuse_top(lua_State *L, Status status) {
  DraftHandle *handle = lua_touserdata(L, 1);
  if (handle->refused++ == 0) {
    luaL_where(L, 1);
    lua_pushvalue(L, -2);
    lua_concat(L, 2);
    lua_setiuservalue(L, 1, DRAFT_REFUSAL);
  }
  int count = bind_refuse(L, status_code(status), lua_tostring(L, -1));
  lua_pushboolean(L, 0);
  lua_replace(L, -1 - count);      /* the nil */
  return count;
}

static int refuse(lua_State *L, Status status, const char *why) {
  lua_pushstring(L, why);
  return refuse_top(L, status);
}

/* The first of the messages that is held, by its position. */
static int refuse_held(lua_State *L, View *view, const MessageId *ids, uint32_t count, Hold hold) {
  uint32_t index = 0;
  bind_view_list(L, view);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t slot = bind_view_slot(L, view, ids[i], 0);
    if (slot == UNIT_NONE || draft_slot_hold(view->draft, slot) == HOLD_NONE) continue;
    index = sequence_index_of(view->list, draft_slot_message(view->draft, slot), slot);
    break;
  }
  lua_pushfstring(L, "guarded: message %I %s", (lua_Integer)index + 1, hold_reason(hold));
  return refuse_top(L, STATUS_GUARDED);
}

/* draft:drop(what, reason) -> tokens freed | nil, error */
static int l_drop(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  View view = bind_look(L, 1);
  MessageId *ids;
  uint64_t freed;
  Hold hold;
  lua_settop(L, 3);
  uint32_t count = check_messages(L, &view, &ids);
  Status status = draft_drop(draft, ids, count, reason_at(L, 3, "dropped"), &freed, &hold);
  if (status == STATUS_GUARDED) return refuse_held(L, &view, ids, count, hold);
  if (status == STATUS_RANGE) return refuse(L, STATUS_RANGE, "it is not in the draft");
  if (status != STATUS_OK) return bind_raise_status(L, status, "drop");
  lua_pushinteger(L, (lua_Integer)freed);
  return 1;
}

/* draft:keep(what, reason) -> true | nil, error */
static int l_keep(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  View view = bind_look(L, 1);
  MessageId *ids;
  lua_settop(L, 3);
  uint32_t count = check_messages(L, &view, &ids);
  for (uint32_t i = 0; i < count; i++) {
    Status status = draft_keep(draft, ids[i], reason_at(L, 3, "kept"));
    if (status == STATUS_RANGE) return refuse(L, STATUS_RANGE, "it is not in the draft");
    if (status != STATUS_OK) return bind_raise_status(L, status, "keep");
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* draft:drop_oldest({to, keep, reason}) -> messages, tokens freed */
static int l_drop_oldest(lua_State *L) {
  static const char *const names[] = {"to", "keep", "reason", NULL};
  Draft *draft = bind_check_draft(L);
  uint32_t keep = 0, messages;
  uint64_t freed;
  Text reason = text_of("oldest");
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  bind_get_field(L, 2, "to");
  lua_Integer to = bind_integer(L, -1, "to", 0, INT64_MAX);
  bind_count_field(L, 2, "keep", &keep);
  if (bind_field(L, 2, "reason")) reason = reason_at(L, -1, "");
  Status status = draft_drop_oldest(draft, (uint64_t)to, keep, reason, &messages, &freed);
  if (status != STATUS_OK) return bind_raise_status(L, status, "drop_oldest");
  lua_pushinteger(L, messages);
  lua_pushinteger(L, (lua_Integer)freed);
  return 2;
}

/* ---- replacing and inserting ---- */

/* Raises: `field` of a message is fixed. Its number is what people look for. */
static int raise_fixed(lua_State *L, View *view, MessageId id, const char *field) {
  bind_view_list(L, view);
  lua_Integer index = (lua_Integer)sequence_index_of(view->list, id, 0) + 1;
  return bind_raise_argument(L, "argument", "drop the message and insert another",
                    "message %I: a draft never changes %s", index, field);
}

static bool is_among(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(name, *names) != 0) names++;
  return *names != NULL;
}

/* Pushes the message as a table. */
static void push_table_of(lua_State *L, const View *view, MessageId id) {
  bind_push_message(L, view->owner, id, 0);
  lua_getfield(L, -1, "totable");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

/* Raises if the field at the top but one may not be given so: a fixed one with
   another value (message:without gives them all), or one that neither the message
   nor anybody else has, but for a slip of the pen. */
static void check_edit(lua_State *L, View *view, MessageId id) {
  /* Calls are missing: draft_replace compares them. */
  static const char *const unchangeable[] = {"role", "id", "tool_call_id", NULL};
  static const char *const changeable[] = {"content", "name", "metadata", "reasoning_content", "reasoning", "refusal",
                                      "timestamp", "tool_calls", "function_call", NULL};
  const char *field = lua_tostring(L, -2);
  if (is_among(field, changeable)) return;
  push_table_of(L, view, id);
  int kind = lua_getfield(L, -1, field);
  if (is_among(field, unchangeable)) {
    if (!lua_rawequal(L, -1, -3)) raise_fixed(L, view, id, field);
  } else if (kind == LUA_TNIL) {
    const char *meant = bind_suggest(field, changeable);
    if (meant != NULL) {
      bind_raise_argument(L, "argument", lua_pushfstring(L, "did you mean '%s'?", meant),
                 "the message has no field '%s'", field);
    }
  }
  lua_pop(L, 2);
}

/* True if the field at the top of the stack, its key below it, is null: it is removed. Only
   content may stand as null, beside calls. */
static bool removes(lua_State *L) {
  bool is_null = lua_islightuserdata(L, -1) && lua_touserdata(L, -1) == NULL;
  return is_null && strcmp(lua_tostring(L, -2), "content") != 0;
}

/* The fields at 3 as edits of the message's members, in the order of their names; their JSON goes to `out`. */
static uint32_t read_edits(lua_State *L, View *view, MessageId id, MemberEdit edits[], uint32_t room, Buffer *out) {
  size_t count, starts[32];
  bind_expect(L, 3, NULL, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      bind_raise_argument(L, "argument", NULL, "fields are named, such as {content = ...}");
  }
  const Text *keys = bind_push_keys(L, 3, &count);
  if (count > room) bind_raise(L, "limit", NULL, "replace: more than %d fields", (int)room);
  for (size_t i = 0; i < count; i++) {
    lua_pushlstring(L, keys[i].bytes, keys[i].size);
    lua_pushvalue(L, -1);
    lua_rawget(L, 3);        /* ... key value */
    check_edit(L, view, id);
    starts[i] = out->size;
    edits[i].key = keys[i];
    if (!removes(L)) bind_encode(L, -1, out);
    lua_pop(L, 2);
  }
  for (size_t i = 0; i < count; i++) {      /* the buffer has stopped moving */
    size_t end = i + 1 < count ? starts[i + 1] : out->size;
    edits[i].value = text_plain(out->bytes + starts[i], end - starts[i]);
  }
  return (uint32_t)count;
}

/* Turns an edit of the content into one of the member that has it in this message. */
static void place_content(lua_State *L, const Message *message, MemberEdit *edit) {
  const char *key = message_content_key(message);
  if (key == NULL) {
    bind_raise_argument(L, "argument", "drop it, or edit its own members", "an item of this type has no content");
  }
  if (message_form(message) == FORM_PARTS && edit->value.size > 0 && edit->value.bytes[0] == '"') {
    Buffer *parts = bind_buffer(L);
    Status status = message_put_parts(message, edit->value, parts);
    if (status != STATUS_OK) bind_raise_status(L, status, "replace");
    edit->value = text_plain(parts->bytes, parts->size);
  }
  edit->key = text_of(key);
}

/* Raises nothing: the reader holds memory. */
static Status read_message(Reader *reader, Text json, Text *raw, MessageShape *shape, const char **expected) {
  Json cursor;
  json_open(&cursor, json.bytes, json.size);
  if (reader_message(reader, &cursor, raw, shape)) return STATUS_OK;
  *expected = cursor.expected;
  return cursor.status;
}

/* draft:replace(message, fields, reason) -> tokens freed | nil, error */
static int l_replace(lua_State *L) {
  MemberEdit edits[32];
  lua_settop(L, 4);
  int conversation = bind_enter_draft(L);
  Draft *draft = bind_check_draft(L);
  View view = bind_look(L, 1);
  Text reason = reason_at(L, 4, "replaced");
  MessageId id = bind_message_argument(L, &view, 2), new_id;
  Buffer *values = bind_buffer(L), *out = bind_buffer(L);
  uint32_t count = read_edits(L, &view, id, edits, 32, values);
  uint32_t slot = bind_view_slot(L, &view, id, 0);
  if (slot == UNIT_NONE) return refuse(L, STATUS_RANGE, "it is not in the draft");
  const Message *message = conversation_message(view.conversation, draft_slot_message(draft, slot));
  for (uint32_t i = 0; i < count; i++) {
    if (text_is(edits[i].key, "content")) place_content(L, message, &edits[i]);
  }
  Status status = json_edit_members(message_raw(message), edits, count, out);
  if (status != STATUS_OK) return bind_raise_status(L, status, "replace");
  bind_hold_draft(L, out->size);
  Reader reader;
  Text raw;
  MessageShape shape;
  const char *expected;
  Hold hold;
  int64_t freed;
  RoleAlias alias = {.spelling = message_role_text(message), .role = message_role(message)};
  reader_init(&reader, bind_memory(L));
  reader.all_items = true;
  reader.aliases = &alias;   /* a role that was mapped when it was loaded stays mapped */
  reader.alias_count = 1;
  status = read_message(&reader, text_plain(out->bytes, out->size), &raw, &shape, &expected);
  if (status != STATUS_OK) {
    reader_free(&reader);
    return bind_raise(L, status_code(status), NULL, "replace: expected %s", expected);
  }
  status = draft_replace(draft, id, raw, &shape, reason, &new_id, &freed, &hold);
  reader_free(&reader);
  if (status == STATUS_GUARDED) return refuse_held(L, &view, &id, 1, hold);
  if (status == STATUS_RANGE) return refuse(L, STATUS_RANGE, "it is not in the draft");
  if (status == STATUS_ARGUMENT) return refuse(L, STATUS_ARGUMENT, "a replacement keeps role, calls and results");
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "replace");
  lua_pushinteger(L, (lua_Integer)freed);
  return 1;
}

/* Reads the one message at `index`; its bytes live in a buffer left on the stack. Raises for none and a wrong one. */
static void read_one(lua_State *L, int conversation, int index, const char *what, Text *raw, MessageShape *shape) {
  MessageSource source = bind_source(L, index);
  bool more;
  Status status = source.next(source.user, &more, raw, shape);
  if (status != STATUS_OK) bind_raise_source(L, conversation, &source, status, what);
  if (!more) bind_raise_argument(L, "argument", NULL, "no message");
}

/* draft:insert(position, message, reason) -> Message | nil, error */
static int l_insert(lua_State *L) {
  lua_settop(L, 4);
  int conversation = bind_enter_draft(L);
  Draft *draft = bind_check_draft(L);
  uint32_t position = (uint32_t)bind_integer(L, 2, "position", 1, (lua_Integer)draft_count(draft) + 1) - 1;
  Text raw;
  MessageShape shape;
  MessageId new_id;
  read_one(L, conversation, 3, "insert", &raw, &shape);
  Text reason = reason_at(L, 4, "inserted");
  bind_hold_draft(L, raw.size);
  if (!draft_inserts_fast(draft, &shape)) guard_charge(L, 20 + draft_count(draft) / 4);
  bind_push_message(L, 1, 0, position);      /* before the edit, after which nothing may fail */
  Status status = draft_insert(draft, position, raw, &shape, reason, &new_id);
  if (status == STATUS_GUARDED) return refuse(L, STATUS_GUARDED, "guarded: a call and its results stay together");
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "insert");
  bind_set_message(L, -1, new_id);
  return 1;
}

/* draft:cost(message) -> tokens that such a message would add */
static int l_cost(lua_State *L) {
  lua_settop(L, 2);
  int conversation = bind_enter_draft(L);
  Draft *draft = bind_check_draft(L);
  Text raw;
  MessageShape shape;
  uint32_t tokens;
  read_one(L, conversation, 2, "cost", &raw, &shape);
  Status status = draft_measure(draft, raw, &shape, &tokens);
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "cost");
  lua_pushinteger(L, tokens);
  return 1;
}

/* For the library: core.draft.insert_all(draft, positions, messages, reason, bytes_max) -> true | nil, error;
   positions ascend and are those of the list before; bytes_max: of the messages as JSON, nil: no limit */
static int l_insert_all(lua_State *L) {
  lua_settop(L, 5);
  int conversation = bind_enter_draft(L);
  Draft *draft = bind_check_draft(L);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  uint32_t count = (uint32_t)lua_rawlen(L, 2);
  uint32_t *places = lua_newuserdatauv(L, count * sizeof *places + 1, 0);
  MessageId *new_ids = lua_newuserdatauv(L, count * sizeof *new_ids + 1, 0);
  lua_Integer lowest = 1, highest = (lua_Integer)draft_count(draft) + 1;
  for (uint32_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    lowest = bind_integer(L, -1, "position", lowest, highest);
    places[i] = (uint32_t)lowest - 1;
    lua_pop(L, 1);
  }
  lua_Integer most = lua_isnil(L, 5) ? PTRDIFF_MAX : bind_integer(L, 5, "bytes_max", 0, PTRDIFF_MAX);
  MessageSource source = bind_source_within(L, 3, (size_t)most);
  Insertion insertion = {.count = count, .places = places, .source = &source, .ids = new_ids};
  Status status = draft_insert_all(draft, &insertion, reason_at(L, 4, "inserted"));
  if (status == STATUS_GUARDED) return refuse(L, STATUS_GUARDED, "guarded: a call and its results stay together");
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "fewer messages than positions");
  if (status != STATUS_OK) return bind_raise_source(L, conversation, &source, status, "insert");
  lua_pushboolean(L, 1);
  return 1;
}

void bind_open_draft_edit(lua_State *L) {
  static const BindMethod methods[] = {
    {"drop", l_drop, "what reason", CHARGE_PATH},
    {"keep", l_keep, "what reason", CHARGE_PATH},
    {"drop_oldest", l_drop_oldest, "options", CHARGE_LIST},
    {"replace", l_replace, "message fields reason", CHARGE_PATH},
    {"insert", l_insert, "position message reason", CHARGE_PATH},
    {"cost", l_cost, "message", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"insert_all", l_insert_all, "draft positions messages reason bytes_max", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_DRAFT, methods);
  bind_functions(L, "core.draft", functions);
}
