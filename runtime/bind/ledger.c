/*
** Ledgers: userdata with a reference to a Ledger, and the conversation of its messages as user value.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/ledger.h"
#include "bind/open.h"
#include "bind/type.h"
#include "core/explain.h"


typedef struct LedgerHandle {
  Ledger *ledger;
} LedgerHandle;

static void end_ledger(void *block) {
  LedgerHandle *handle = block;
  ledger_release(handle->ledger);
  handle->ledger = NULL;
}

const BindType BIND_LEDGER = {.name = "Ledger", .end = end_ledger};

void bind_push_ledger(lua_State *L, int conversation, Ledger *ledger) {
  conversation = lua_absindex(L, conversation);
  LedgerHandle *handle = bind_new(L, &BIND_LEDGER, sizeof *handle, 1);
  handle->ledger = ledger_share(ledger);
  lua_pushvalue(L, conversation);
  lua_setiuservalue(L, -2, 1);
}

static const Ledger *check(lua_State *L) { return ((LedgerHandle *)bind_check(L, 1, &BIND_LEDGER))->ledger; }

static int l_length(lua_State *L) {
  lua_pushinteger(L, ledger_count(check(L)));
  return 1;
}

static void push_run(lua_State *L, const Ledger *ledger, LedgerRun run) {
  lua_createtable(L, 0, 8);
  bind_set_text(L, "action", text_of(action_name(run.action)));
  bind_set_text(L, "by", ledger_text(ledger, run.cause.author));
  bind_set_text(L, "reason", ledger_text(ledger, run.cause.reason));
  if (run.action == ACTION_REPLACED) bind_set_integer(L, "replacement", run.replacement);
}

const Ledger *bind_test_ledger(lua_State *L, int index) {
  const LedgerHandle *handle = bind_test(L, index, &BIND_LEDGER);
  return handle == NULL ? NULL : handle->ledger;
}

/* As push_entry. */
static void write_entry(JsonOut *out, const Ledger *ledger, const LedgerRun *run, uint32_t place, Store *store) {
  MessageId seq = run->first + place;
  bool single = run->count == 1, stored = single || store_has(store, seq);
  Role role = single || !stored ? run->role : message_role(store_message(store, seq));
  json_out_open(out, '{');
  json_out_member_string(out, "action", action_name(run->action));
  json_out_member_text(out, "by", ledger_text(ledger, run->cause.author));
  json_out_member_text(out, "reason", ledger_text(ledger, run->cause.reason));
  if (run->action == ACTION_REPLACED) json_out_member_integer(out, "replacement", run->replacement);
  json_out_member_string(out, "role", role_name(role));
  json_out_member_integer(out, "seq", seq);
  if (stored) {
    const TokenWeights *weights = ledger_token_weights(ledger, store);
    json_out_member_integer(out, "tokens", single ? run->freed : (int64_t)token_weights_get(weights, store, seq));
  }
  json_out_close(out, '}');
}

void bind_write_ledger(lua_State *L, int index, JsonOut *out) {
  const Ledger *ledger = bind_test_ledger(L, index);
  lua_getiuservalue(L, index, 1);
  const ConversationHandle *handle = bind_test(L, -1, &BIND_CONVERSATION);
  lua_pop(L, 1);
  json_out_open(out, '[');
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) {
    LedgerRun run = ledger_run(ledger, i);
    for (uint32_t place = 0; place < run.count && out->status == STATUS_OK; place++) {
      write_entry(out, ledger, &run, place, conversation_store(handle->conversation));
    }
  }
  json_out_close(out, ']');
}

/* One message of a run of several, which are dropped ones. Of messages that were
   pruned since, only the run's sum is known: their entries have no tokens. */
static int push_entry(lua_State *L, const Ledger *ledger, uint32_t entry) {
  uint32_t place;
  LedgerRun run = ledger_run_of(ledger, entry, &place);
  MessageId seq = run.first + place;
  bool stored = true;
  push_run(L, ledger, run);
  bind_set_integer(L, "seq", seq);
  if (run.count > 1) {
    lua_getiuservalue(L, 1, 1);
    Store *store = conversation_store(bind_check_conversation(L, -1)->conversation);
    lua_pop(L, 1);
    stored = store_has(store, seq);
    if (stored) run.role = message_role(store_message(store, seq));
    if (stored) run.freed = token_weights_get(ledger_token_weights(ledger, store), store, seq);
  }
  bind_set_text(L, "role", text_of(role_name(run.role)));
  if (stored) bind_set_integer(L, "tokens", (lua_Integer)run.freed);
  return 1;
}

static int l_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) return bind_index_method(L, &BIND_LEDGER);
  const Ledger *ledger = check(L);
  lua_Integer i = lua_tointeger(L, 2);
  if (i < 1 || i > ledger_count(ledger)) return 0;
  return push_entry(L, ledger, (uint32_t)(i - 1));
}

/* ledger:runs() -> list of {action, by, reason, seq, count, tokens, replacement} */
static int l_runs(lua_State *L) {
  const Ledger *ledger = check(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) {
    LedgerRun run = ledger_run(ledger, i);
    push_run(L, ledger, run);
    bind_set_integer(L, "seq", run.first);
    bind_set_integer(L, "count", run.count);
    bind_set_integer(L, "tokens", (lua_Integer)run.freed);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ledger:notes() -> list of {by, text} */
static int l_notes(lua_State *L) {
  const Ledger *ledger = check(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < ledger_note_count(ledger); i++) {
    Text author, note;
    ledger_note_at(ledger, i, &author, &note);
    lua_createtable(L, 0, 2);
    bind_set_text(L, "by", author);
    bind_set_text(L, "text", note);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ledger:keeps() -> list of {seq, by, reason} */
static int l_keeps(lua_State *L) {
  const Ledger *ledger = check(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < ledger_keep_count(ledger); i++) {
    LedgerKeep keep = ledger_keep_at(ledger, i);
    lua_createtable(L, 0, 3);
    bind_set_integer(L, "seq", keep.id);
    bind_set_text(L, "by", ledger_text(ledger, keep.cause.author));
    bind_set_text(L, "reason", ledger_text(ledger, keep.cause.reason));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ledger:json() -> the runs as JSON, a run per line */
static int l_json(lua_State *L) {
  check(L);
  lua_settop(L, 1);
  l_runs(L);
  Buffer *out = bind_buffer(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
  Status status = buffer_add_string(out, "[");
  for (lua_Integer i = 1; i <= count && status == STATUS_OK; i++) {
    status = buffer_add_string(out, i > 1 ? ",\n" : "\n");
    if (status != STATUS_OK) break;
    lua_rawgeti(L, 2, i);
    bind_encode(L, -1, out);
    lua_pop(L, 1);
  }
  if (status == STATUS_OK) status = buffer_add_string(out, count > 0 ? "\n]" : "]");
  if (status != STATUS_OK) return bind_raise_status(L, status, "ledger");
  lua_pushlstring(L, out->bytes, out->size);
  return 1;
}

/* ---- of a conversation ---- */

/* conversation:ledger(batch) -> Ledger | nil */
static int l_of_batch(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const History *history = conversation_history(handle->conversation);
  uint32_t length, batch = history_current(history);
  bool has_length;
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) batch = bind_batch_argument(L, handle, 2, &has_length, &length);
  Ledger *ledger = history_ledger(history, batch);
  if (ledger == NULL) lua_pushnil(L);
  else bind_push_ledger(L, 1, ledger);
  return 1;
}

/* An explanation under way; the collector frees it whatever is raised. */
static void end_explanation(void *block) { explanation_free(block); }

static MessageId explained(lua_State *L, const Conversation *conversation) {
  if (bind_test(L, 2, &BIND_MESSAGE) != NULL) return bind_check_message(L, 2);
  return (MessageId)bind_integer(L, 2, "seq", 1, store_count(conversation_store(conversation)));
}

/* {action, by, reason, batch, seq, before, after, replacement} */
static void push_event(lua_State *L, const Conversation *conversation, const Event *event) {
  uint32_t tokens = sequence_weight(conversation_list(conversation), event->id);
  bool inserted = event->action == ACTION_INSERTED;
  uint32_t after = inserted || event->action == ACTION_KEPT ? tokens : 0;
  lua_createtable(L, 0, 8);
  bind_set_text(L, "action", text_of(action_name(event->action)));
  bind_set_text(L, "by", event->author);
  bind_set_text(L, "reason", event->reason);
  bind_set_integer(L, "batch", event->batch);
  bind_set_integer(L, "seq", event->id);
  bind_set_integer(L, "before", inserted ? 0 : tokens);
  if (event->replacement != 0) {
    bind_set_integer(L, "replacement", event->replacement);
    after = sequence_weight(conversation_list(conversation), event->replacement);
  }
  bind_set_integer(L, "after", after);
}

/* A message to which nothing happened. */
static void push_no_event(lua_State *L, const Conversation *conversation, const Explanation *explanation) {
  uint32_t tokens = sequence_weight(conversation_list(conversation), explanation->id);
  lua_createtable(L, 0, 8);
  bind_set_text(L, "action", text_of(explanation->visible ? "kept" : "absent"));
  bind_set_integer(L, "batch", history_current(conversation_history(conversation)));
  bind_set_integer(L, "seq", explanation->id);
  bind_set_integer(L, "before", tokens);
  bind_set_integer(L, "after", explanation->visible ? tokens : 0);
}

/* conversation:explain(message) -> the last event, with `events`: all of them */
static int l_explain(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  lua_settop(L, 2);
  MessageId id = explained(L, handle->conversation);
  Explanation *explanation = bind_own(L, sizeof *explanation, end_explanation);
  explanation->memory = bind_memory(L);
  Status status = explain_message(handle->conversation, id, explanation);
  if (status != STATUS_OK) return bind_raise_status(L, status, "explain");
  lua_createtable(L, (int)explanation->count, 0);            /* 4 */
  for (uint32_t i = 0; i < explanation->count; i++) {
    push_event(L, handle->conversation, &explanation->events[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  if (explanation->count > 0) push_event(L, handle->conversation, &explanation->events[explanation->count - 1]);
  else push_no_event(L, handle->conversation, explanation);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "events");
  lua_pushboolean(L, explanation->visible);
  lua_setfield(L, -2, "visible");
  return 1;
}

/* appended(conversation, first, last) -> the seqs between them of messages that were appended on the way to the
   current batch, in order */
static int l_appended(lua_State *L) {
  lua_settop(L, 3);
  const Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  lua_Integer count = store_count(conversation_store(conversation));
  lua_Integer first = bind_integer(L, 2, "first", 1, INT64_MAX), last = bind_integer(L, 3, "last", 1, INT64_MAX);
  if (last > count) last = count;
  lua_newtable(L);
  if (first > last) return 1;
  size_t size = (size_t)(last - first) + 1;
  uint8_t *marks = lua_newuserdatauv(L, size, 0);
  memset(marks, 0, size);
  Memory memory = bind_memory(L);
  Status status = explain_appended(conversation, (MessageId)first, (MessageId)last, &memory, marks);
  if (status != STATUS_OK) return bind_raise_status(L, status, "appended");
  lua_Integer found = 0;
  for (size_t i = 0; i < size; i++) {
    if (marks[i] == 0) continue;
    lua_pushinteger(L, first + (lua_Integer)i);
    lua_rawseti(L, 4, ++found);
  }
  lua_settop(L, 4);
  return 1;
}

void bind_open_ledger(lua_State *L) {
  static const BindMethod methods[] = {
    {"runs", l_runs, "", CHARGE_LIST},
    {"notes", l_notes, "", CHARGE_LIST},
    {"keeps", l_keeps, "", CHARGE_STEP},
    {"json", l_json, "", CHARGE_LIST},
    BIND_END,
  };
  static const BindMethod of_conversation[] = {
    {"ledger", l_of_batch, "batch", CHARGE_LIST},
    {"explain", l_explain, "message", CHARGE_LIST},
    BIND_END,
  };
  bind_type(L, &BIND_LEDGER, l_index, l_length);
  bind_methods(L, &BIND_LEDGER, methods);
  static const BindMethod functions[] = {
    {"appended", l_appended, "conversation first last", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, of_conversation);
  bind_functions(L, "core", functions);
}
