/*
** Drafts: edits for policies. A refused edit answers nil and an error object; what is
** wrong with the arguments raises.
**
** User values: 1 the conversation, 2 the table `memory`, 3 the first refusal as
** text, with its place: a policy that never looks at the answers is told later.
*/
#include <string.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/ledger.h"
#include "bind/list.h"
#include "bind/message.h"
#include "bind/open.h"
#include "bind/reference.h"
#include "bind/selection.h"
#include "bind/source.h"
#include "bind/type.h"
#include "bind/unit.h"
#include "bind/view.h"
#include "json/json_edit.h"
#include "sandbox/guard.h"

#define POLICY_MEMORY_DEPTH 3    /* a saved chat's levels above what policies remember */

#define CONVERSATION 1
#define MEMORY 2
#define REFUSAL DRAFT_REFUSAL

int bind_free_draft(lua_State *L) {
  DraftHandle *handle = lua_touserdata(L, 1);
  if (!handle->borrowed) draft_free(handle->draft);
  handle->draft = NULL;
  return 0;
}

/* Only who made a draft ends it. */
static void check_own(lua_State *L) {
  const DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  if (handle->borrowed) bind_raise(L, "sandbox", NULL, "a sandbox cannot end a draft that it borrows");
}

/* Charges a sandbox for bytes that an edit of a borrowed draft keeps in the program's memory. */
static void hold_bytes(lua_State *L, size_t bytes) {
  const DraftHandle *handle = lua_touserdata(L, 1);
  if (handle->borrowed) guard_hold(L, bytes);
}

/* The draft at 1. What is called next must not run a script's code, which could end it. */
static Draft *check(lua_State *L) {
  DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  if (handle->draft == NULL) bind_raise(L, "closed", NULL, "the draft has ended");
  lua_getiuservalue(L, 1, CONVERSATION);
  bind_check_conversation(L, -1);            /* the copy of a transaction ends before its drafts do */
  lua_pop(L, 1);
  return handle->draft;
}

/* Before an edit that may call back: the conversation stands at the answer. Comes
   before `check`: the clock that it asks may end the draft. */
static int enter(lua_State *L) {
  bind_check(L, 1, &BIND_DRAFT);
  lua_getiuservalue(L, 1, CONVERSATION);
  bind_enter(L, -1);
  return lua_gettop(L);
}

/* By the counter whose options are on top, which it pops. */
static void measure(lua_State *L, ConversationHandle *handle, Draft *draft) {
  Counter counter = bind_counter(L, 1, lua_gettop(L));
  Status status = draft_recount(draft, &counter, bind_overhead(L, handle, &counter));
  if (status != STATUS_OK) bind_raise_edit(L, 1, status, "draft");
  lua_pop(L, 1);
}

/* conversation:draft({guards = boolean, by = options of a counter}) -> Draft */
static int l_draft(lua_State *L) {
  static const char *const names[] = {"guards", "by", NULL};
  ConversationHandle *conversation = bind_enter(L, 1);
  bool guards = true;
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    bind_check_names(L, 2, NULL, names);
    guards = bind_flag_field(L, 2, "guards", true);
  }
  DraftHandle *handle = bind_new(L, &BIND_DRAFT, sizeof *handle, 3);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CONVERSATION);
  lua_newtable(L);
  lua_setiuservalue(L, -2, MEMORY);
  Status status = draft_new(conversation->conversation, guards, &handle->draft);
  if (status != STATUS_OK) return bind_raise_status(L, status, "draft");
  if (lua_istable(L, 2) && bind_field(L, 2, "by")) measure(L, conversation, handle->draft);
  return 1;
}

/* ---- what an edit is about ---- */

static Text reason_at(lua_State *L, int index, const char *otherwise) {
  if (lua_isnoneornil(L, index)) return text_of(otherwise);
  Text reason = bind_mended(L, index);
  hold_bytes(L, reason.size);
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

/* Answers nil and an error object with the text on top, and keeps the first such text with its place. */
static int refuse_top(lua_State *L, Status status) {
  DraftHandle *handle = lua_touserdata(L, 1);
  if (handle->refused++ == 0) {
    luaL_where(L, 1);
    lua_pushvalue(L, -2);
    lua_concat(L, 2);
    lua_setiuservalue(L, 1, REFUSAL);
  }
  return bind_refuse(L, status_code(status), lua_tostring(L, -1));
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
  Draft *draft = check(L);
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
  Draft *draft = check(L);
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
  Draft *draft = check(L);
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
  static const char *const fixed[] = {"role", "id", "tool_call_id", NULL};      /* calls: draft_replace compares them */
  static const char *const known[] = {"content", "name", "metadata", "reasoning_content", "reasoning", "refusal",
                                      "timestamp", "tool_calls", "function_call", NULL};
  const char *field = lua_tostring(L, -2);
  if (is_among(field, known)) return;
  push_table_of(L, view, id);
  int kind = lua_getfield(L, -1, field);
  if (is_among(field, fixed)) {
    if (!lua_rawequal(L, -1, -3)) raise_fixed(L, view, id, field);
  } else if (kind == LUA_TNIL) {
    const char *meant = bind_suggest(field, known);
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

/* The fields at 3 as edits of the message's members; their JSON goes to `out`. */
static uint32_t read_edits(lua_State *L, View *view, MessageId id, MemberEdit edits[], uint32_t room, Buffer *out) {
  uint32_t count = 0;
  size_t starts[32];
  bind_expect(L, 3, NULL, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      bind_raise_argument(L, "argument", NULL, "fields are named, such as {content = ...}");
    check_edit(L, view, id);
    if (count == room) bind_raise(L, "limit", NULL, "replace: more than %d fields", (int)room);
    starts[count] = out->size;
    edits[count++].key = bind_text(L, -2);
    if (!removes(L)) bind_encode(L, -1, out);
  }
  for (uint32_t i = 0; i < count; i++) {      /* the buffer has stopped moving */
    size_t end = i + 1 < count ? starts[i + 1] : out->size;
    edits[i].value = text_plain(out->bytes + starts[i], end - starts[i]);
  }
  return count;
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
  int conversation = enter(L);
  Draft *draft = check(L);
  View view = bind_look(L, 1);
  Text reason = reason_at(L, 4, "replaced");
  MessageId id = bind_message_argument(L, &view, 2), made;
  Buffer *values = bind_buffer(L), *out = bind_buffer(L);
  uint32_t count = read_edits(L, &view, id, edits, 32, values);
  uint32_t slot = bind_view_slot(L, &view, id, 0);
  if (slot == UNIT_NONE) return refuse(L, STATUS_RANGE, "it is not in the draft");
  const Message *message = conversation_message(view.conversation, draft_slot_message(draft, slot));
  Status status = json_edit_members(message_raw(message), edits, count, out);
  if (status != STATUS_OK) return bind_raise_status(L, status, "replace");
  hold_bytes(L, out->size);
  Reader reader;
  Text raw;
  MessageShape shape;
  const char *expected;
  Hold hold;
  int64_t freed;
  RoleAlias alias = {.spelling = message_role_text(message), .role = message_role(message)};
  reader_init(&reader, bind_memory(L));
  reader.aliases = &alias;   /* a role that was mapped when it was loaded stays mapped */
  reader.alias_count = 1;
  status = read_message(&reader, text_plain(out->bytes, out->size), &raw, &shape, &expected);
  if (status != STATUS_OK) {
    reader_free(&reader);
    return bind_raise(L, status_code(status), NULL, "replace: expected %s", expected);
  }
  status = draft_replace(draft, id, raw, &shape, reason, &made, &freed, &hold);
  reader_free(&reader);
  if (status == STATUS_GUARDED) return refuse_held(L, &view, &id, 1, hold);
  if (status == STATUS_RANGE) return refuse(L, STATUS_RANGE, "it is not in the draft");
  if (status == STATUS_ARGUMENT) return refuse(L, STATUS_ARGUMENT, "a replacement keeps role, calls and results");
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "replace");
  lua_pushinteger(L, (lua_Integer)freed);
  return 1;
}

/* draft:insert(position, message, reason) -> Message | nil, error */
static int l_insert(lua_State *L) {
  lua_settop(L, 4);
  int conversation = enter(L);
  Draft *draft = check(L);
  uint32_t position = (uint32_t)bind_integer(L, 2, "position", 1, (lua_Integer)draft_count(draft) + 1) - 1;
  MessageSource source = bind_source(L, 3);
  bool more;
  Text raw;
  MessageShape shape;
  MessageId made;
  Status status = source.next(source.user, &more, &raw, &shape);
  if (status != STATUS_OK) return bind_raise_source(L, conversation, &source, status, "insert");
  if (!more) return bind_raise_argument(L, "argument", NULL, "no message");
  Text reason = reason_at(L, 4, "inserted");
  hold_bytes(L, raw.size);
  bind_push_message(L, 1, 0, position);      /* before the edit, after which nothing may fail */
  status = draft_insert(draft, position, raw, &shape, reason, &made);
  if (status == STATUS_GUARDED) return refuse(L, STATUS_GUARDED, "guarded: a call and its results stay together");
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "insert");
  bind_set_message(L, -1, made);
  return 1;
}

/* draft:cost(message) -> tokens that such a message would add */
static int l_cost(lua_State *L) {
  lua_settop(L, 2);
  int conversation = enter(L);
  Draft *draft = check(L);
  MessageSource source = bind_source(L, 2);
  bool more;
  Text raw;
  MessageShape shape;
  uint32_t tokens;
  Status status = source.next(source.user, &more, &raw, &shape);
  if (status != STATUS_OK) return bind_raise_source(L, conversation, &source, status, "cost");
  if (!more) return bind_raise_argument(L, "argument", NULL, "no message");
  status = draft_measure(draft, raw, &shape, &tokens);
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "cost");
  lua_pushinteger(L, tokens);
  return 1;
}

/* draft:note(text) */
static int l_note(lua_State *L) {
  Draft *draft = check(L);
  Text text = bind_mended(L, 2);
  hold_bytes(L, text.size);
  Status status = ledger_note(draft_ledger(draft), draft_author(draft), text);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "note");
}

/* ---- for the library: core.draft ---- */

/* info(draft) -> {tokens, before, guarded_tokens, overhead, changed, dropped, replaced, inserted, kept} */
static int l_info(lua_State *L) {
  Draft *draft = check(L);
  uint64_t guarded;
  Status status = draft_guarded_tokens(draft, &guarded);
  if (status != STATUS_OK) return bind_raise_status(L, status, "draft");
  EditCounts counts = draft_edit_counts(draft);
  lua_createtable(L, 0, 9);
  bind_set_integer(L, "tokens", (lua_Integer)draft_tokens(draft));
  bind_set_integer(L, "overhead", (lua_Integer)draft_overhead(draft));
  bind_set_integer(L, "before", (lua_Integer)draft_tokens_before(draft));
  bind_set_integer(L, "guarded_tokens", (lua_Integer)guarded);
  bind_set_integer(L, "dropped", counts.dropped);
  bind_set_integer(L, "replaced", counts.replaced);
  bind_set_integer(L, "inserted", counts.inserted);
  bind_set_integer(L, "kept", counts.unchanged);
  lua_pushboolean(L, ledger_count(draft_ledger(draft)) > 0);
  lua_setfield(L, -2, "changed");
  return 1;
}

/* refusals(draft) -> how many edits were refused, the first one with its place */
static int l_refusals(lua_State *L) {
  const DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  lua_pushinteger(L, handle->refused);
  lua_getiuservalue(L, 1, REFUSAL);
  return 2;
}

/* insert_all(draft, positions, messages, reason) -> true | nil, error; positions
   ascend and are those of the list before */
static int l_insert_all(lua_State *L) {
  lua_settop(L, 4);
  int conversation = enter(L);
  Draft *draft = check(L);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  uint32_t count = (uint32_t)lua_rawlen(L, 2);
  uint32_t *places = lua_newuserdatauv(L, count * sizeof *places + 1, 0);
  MessageId *made = lua_newuserdatauv(L, count * sizeof *made + 1, 0);
  lua_Integer lowest = 1, highest = (lua_Integer)draft_count(draft) + 1;
  for (uint32_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    lowest = bind_integer(L, -1, "position", lowest, highest);
    places[i] = (uint32_t)lowest - 1;
    lua_pop(L, 1);
  }
  MessageSource source = bind_source(L, 3);
  Insertion insertion = {.count = count, .places = places, .source = &source, .ids = made};
  Status status = draft_insert_all(draft, &insertion, reason_at(L, 4, "inserted"));
  if (status == STATUS_GUARDED) return refuse(L, STATUS_GUARDED, "guarded: a call and its results stay together");
  if (status == STATUS_ARGUMENT) return bind_raise_argument(L, "argument", NULL, "fewer messages than positions");
  if (status != STATUS_OK) return bind_raise_source(L, conversation, &source, status, "insert");
  lua_pushboolean(L, 1);
  return 1;
}

/* by(draft, name) -> the name before */
static int l_by(lua_State *L) {
  Draft *draft = check(L);
  Text name = bind_mended(L, 2);
  bind_push_text(L, draft_author(draft));
  Status status = draft_set_author(draft, name);
  return status == STATUS_OK ? 1 : bind_raise_status(L, status, "by");
}

/* recall(conversation) -> what policies remember at the current batch, as JSON | nil */
static int l_recall(lua_State *L) {
  const History *history = conversation_history(bind_check_conversation(L, 1)->conversation);
  Text memory = history_policy_memory(history, history_current(history));
  if (memory.size == 0) lua_pushnil(L);
  else lua_pushlstring(L, memory.bytes, memory.size);
  return 1;
}

/* remembered(value) -> its JSON, as commit takes it; raises if it has none, or is too big */
static int l_remembered(lua_State *L) {
  Buffer *out = bind_buffer(L);
  bind_expect_any(L, 1);
  bind_encode_within(L, 1, POLICY_MEMORY_DEPTH, POLICY_MEMORY_MAX, out);
  lua_pushlstring(L, out->bytes, out->size);
  return 1;
}

/* commit(draft, {operation, description, memory}) -> batch; memory: what policies remember,
   an object as JSON, "" for nothing; nil: as it was */
static int l_commit(lua_State *L) {
  static const char *const names[] = {"operation", "description", "memory", NULL};
  BatchKind kind;
  uint32_t batch;
  check_own(L);
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  bind_get_field(L, 2, "operation");
  bind_get_field(L, 2, "description");
  bind_get_field(L, 2, "memory");
  if (!batch_kind_parse(bind_string(L, 3, NULL), &kind))
    return bind_raise_argument(L, "argument", NULL, "unknown operation");
  Text description = bind_mended(L, 4), memory = lua_isnil(L, 5) ? (Text){0} : bind_text(L, 5);
  enter(L);
  Status status = draft_commit(check(L), kind, description, lua_isnil(L, 5) ? NULL : &memory, &batch);
  if (status == STATUS_ARGUMENT) {
    return bind_raise(L, "conflict", "trim again", "the conversation was edited while it was being trimmed");
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "commit");
  lua_settop(L, 1);
  bind_free_draft(L);                 /* not through lua_call: that may find no memory, and it is done */
  lua_pushinteger(L, batch);
  return 1;
}

/* discard(draft) */
static int l_discard(lua_State *L) {
  check_own(L);
  lua_getiuservalue(L, 1, CONVERSATION);
  ConversationHandle *handle = bind_check(L, -1, &BIND_CONVERSATION);
  if (handle->callbacks != NULL && handle->callbacks->busy) {
    return bind_raise(L, "busy", "discard it after it has returned",
                      "a draft may not end inside a callback of its conversation");
  }
  return bind_free_draft(L);
}

/* ledger(draft) -> Ledger */
static int l_ledger(lua_State *L) {
  Draft *draft = check(L);
  lua_getiuservalue(L, 1, CONVERSATION);
  bind_push_ledger(L, -1, draft_ledger(draft));
  return 1;
}

/* ---- the type ---- */

static int l_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TNUMBER) return bind_view_get(L);
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "memory") == 0) {
    lua_getiuservalue(L, 1, MEMORY);
    return 1;
  }
  return bind_index_method(L, &BIND_DRAFT);
}

/* draft.memory = table; nothing else is set */
static int l_newindex(lua_State *L) {
  bind_check(L, 1, &BIND_DRAFT);
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "memory") != 0) {
    return bind_raise_argument(L, "unknown_name", "draft.memory is the one field that may be set",
                      "a Draft has no such field to set");
  }
  bind_expect(L, 3, NULL, LUA_TTABLE);
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, MEMORY);
  return 0;
}

static int l_length(lua_State *L) {
  lua_pushinteger(L, draft_count(check(L)));
  return 1;
}

/* draft:tokens() -> tokens of the request now; no need to look at the list */
static int l_tokens(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)draft_tokens(check(L)));
  return 1;
}

/* draft:trust() -> how far these tokens can be trusted */
static int l_trust(lua_State *L) {
  lua_pushstring(L, trust_name(draft_trust(check(L))));
  return 1;
}

void bind_open_draft(lua_State *L) {
  static const BindMethod of_conversation[] = {
    {"draft", l_draft, "options", CHARGE_PATH},
    BIND_END,
  };
  static const BindMethod methods[] = {
    {"drop", l_drop, "what reason", CHARGE_PATH},
    {"keep", l_keep, "what reason", CHARGE_PATH},
    {"drop_oldest", l_drop_oldest, "options", CHARGE_LIST},
    {"replace", l_replace, "message fields reason", CHARGE_PATH},
    {"insert", l_insert, "position message reason", CHARGE_PATH},
    {"note", l_note, "text", CHARGE_STEP},
    {"tokens", l_tokens, "", CHARGE_STEP},
    {"trust", l_trust, "", CHARGE_STEP},
    {"cost", l_cost, "message", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"info", l_info, "draft", CHARGE_STEP},
    {"by", l_by, "draft name", CHARGE_STEP},
    {"commit", l_commit, "draft options", CHARGE_LIST},
    {"discard", l_discard, "draft", CHARGE_PATH},
    {"ledger", l_ledger, "draft", CHARGE_LIST},
    {"refusals", l_refusals, "draft", CHARGE_STEP},
    {"insert_all", l_insert_all, "draft positions messages reason", CHARGE_LIST},
    {"recall", l_recall, "conversation", CHARGE_PATH},
    {"remembered", l_remembered, "value", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, of_conversation);
  bind_type(L, &BIND_DRAFT, l_index, l_length, bind_free_draft);
  bind_open_list(L, &BIND_DRAFT);
  bind_methods(L, &BIND_DRAFT, methods);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_DRAFT);
  lua_pushcfunction(L, l_newindex);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
  lua_newtable(L);
  bind_functions(L, "core.draft", functions);
}
