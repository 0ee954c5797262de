/*
** Drafts: their life, from conversation:draft to commit or discard, and what the library
** asks of them (core.draft). Edits: draft_edit.c.
**
** User values: 1 the conversation, 2 the table `memory`, 3 the first refusal as
** text, with its place: a policy that never looks at the answers is told later.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/counter.h"
#include "bind/draft.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/ledger.h"
#include "bind/list.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "dialect/bound_thinking.h"
#include "sandbox/guard.h"

#define POLICY_MEMORY_DEPTH 3    /* a saved chat's levels above what policies remember */

#define CONVERSATION 1
#define MEMORY 2
#define REFUSAL DRAFT_REFUSAL

/* Only who made a draft ends it. */
static void check_own(lua_State *L) {
  const DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  if (handle->borrowed) bind_raise(L, "sandbox", NULL, "a sandbox cannot end a draft that it borrows");
}

void bind_hold_draft(lua_State *L, size_t bytes) {
  const DraftHandle *handle = lua_touserdata(L, 1);
  if (handle->borrowed) guard_hold(L, bytes);
}

void bind_hold_text(lua_State *L, Text text) {
  const DraftHandle *handle = lua_touserdata(L, 1);
  if (!handle->borrowed) return;
  bind_hold_draft(L, text.size + LEDGER_ENTRY);
  if (ledger_text_bytes(draft_ledger(handle->draft)) + text.size <= LEDGER_TEXTS_MAX) return;
  bind_raise(L, "limit", NULL, "reasons and notes of one trim have at most %d MiB", (int)(LEDGER_TEXTS_MAX >> 20));
}

Draft *bind_check_draft(lua_State *L) {
  DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  if (handle->draft == NULL) bind_raise(L, "closed", NULL, "the draft has ended");
  lua_getiuservalue(L, 1, CONVERSATION);
  bind_check_conversation(L, -1);            /* the copy of a transaction ends before its drafts do */
  lua_pop(L, 1);
  bind_check_draft_lasts(L, handle->draft);
  return handle->draft;
}

int bind_enter_draft(lua_State *L) {
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

/* draft:note(text) */
static int l_note(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  Text text = bind_mended(L, 2);
  bind_hold_text(L, text);
  Status status = ledger_note(draft_ledger(draft), draft_author(draft), text);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "note");
}

/* ---- for the library: core.draft ---- */

/* info(draft) -> {tokens, before, thinking_left, guarded_messages, guarded_tokens and lasting_tokens (at most),
   overhead, changed, binds_thinking, dropped, replaced, inserted, kept} */
static int l_info(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  GuardedSum guarded;
  Status status = draft_guarded(draft, &guarded);
  if (status != STATUS_OK) return bind_raise_status(L, status, "draft");
  EditCounts counts = draft_edit_counts(draft);
  lua_createtable(L, 0, 13);
  bind_set_integer(L, "tokens", (lua_Integer)draft_tokens(draft));
  bind_set_integer(L, "thinking_left", (lua_Integer)draft_thinking_left(draft));
  bind_set_integer(L, "overhead", (lua_Integer)draft_overhead(draft));
  bind_set_integer(L, "before", (lua_Integer)draft_tokens_before(draft));
  bind_set_integer(L, "guarded_messages", guarded.messages);
  bind_set_integer(L, "guarded_tokens", (lua_Integer)(guarded.tokens + draft_overhead(draft)));
  bind_set_integer(L, "lasting_tokens", (lua_Integer)(guarded.lasting + draft_overhead(draft)));
  bind_set_integer(L, "dropped", counts.dropped);
  bind_set_integer(L, "replaced", counts.replaced);
  bind_set_integer(L, "inserted", counts.inserted);
  bind_set_integer(L, "kept", counts.unchanged);
  lua_pushboolean(L, ledger_count(draft_ledger(draft)) > 0);
  lua_setfield(L, -2, "changed");
  lua_pushboolean(L, draft_binds_thinking(draft));
  lua_setfield(L, -2, "binds_thinking");
  return 1;
}

/* guarded(draft) -> tokens of a request with the guarded messages alone, as it is sent */
static int l_guarded(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  GuardedSum guarded;
  Status status = draft_guarded_sent(draft, &guarded);
  if (status != STATUS_OK) return bind_raise_status(L, status, "draft");
  lua_pushinteger(L, (lua_Integer)(guarded.tokens + draft_overhead(draft)));
  return 1;
}

/* bind_thinking(draft, first | nil, past, tokens | nil): thinking behind changes weighs nothing. At positions from
   `first` up to `past` it weighs nothing already, `tokens` in all; without these, as the batches of the conversation
   say */
static int l_bind_thinking(lua_State *L) {
  Draft *draft = bind_check_draft(L);
  BoundRange range = {0};
  Status status;
  lua_settop(L, 4);
  if (lua_isnil(L, 2)) {
    lua_getiuservalue(L, 1, CONVERSATION);
    status = bound_thinking_of(bind_check_conversation(L, -1)->conversation, &range);
    if (status == STATUS_OK) status = draft_bind_thinking(draft, range.first, range.end, NULL);
  } else {
    uint64_t tokens = lua_isnil(L, 4) ? 0 : (uint64_t)bind_integer(L, 4, "tokens", 0, INT64_MAX);
    range.first = (uint32_t)bind_integer(L, 2, "first", 1, UINT32_MAX) - 1;
    range.end = (uint32_t)bind_integer(L, 3, "past", 1, UINT32_MAX) - 1;
    status = draft_bind_thinking(draft, range.first, range.end, lua_isnil(L, 4) ? NULL : &tokens);
  }
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "draft");
}

/* settle(draft): edits that undo each other leave no thinking out */
static int l_settle(lua_State *L) {
  Status status = draft_settle_thinking(bind_check_draft(L));
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "draft");
}

/* refusals(draft) -> how many edits were refused, the first one with its place */
static int l_refusals(lua_State *L) {
  const DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  lua_pushinteger(L, handle->refused);
  lua_getiuservalue(L, 1, REFUSAL);
  return 2;
}

/* by(draft, name) -> the name before */
static int l_by(lua_State *L) {
  Draft *draft = bind_check_draft(L);
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

/* commit(draft, {operation, description, memory, always}) -> batch; memory: what policies remember,
   an object as JSON, "" for nothing; nil: as it was; always: a batch even without edits */
static int l_commit(lua_State *L) {
  static const char *const names[] = {"operation", "description", "memory", "always", NULL};
  BatchKind kind;
  uint32_t batch;
  check_own(L);
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  bind_get_field(L, 2, "operation");
  bind_get_field(L, 2, "description");
  bind_get_field(L, 2, "memory");
  bool always = bind_flag_field(L, 2, "always", false);
  if (!batch_kind_parse(bind_string(L, 3, NULL), &kind))
    return bind_raise_argument(L, "argument", NULL, "unknown operation");
  Text description = bind_mended(L, 4), memory = lua_isnil(L, 5) ? (Text){0} : bind_text(L, 5);
  bind_enter_draft(L);
  Draft *draft = bind_check_draft(L);
  if (always) draft_always_commits(draft);
  Status status = draft_commit(draft, kind, description, lua_isnil(L, 5) ? NULL : &memory, &batch);
  if (status == STATUS_ARGUMENT) {
    return bind_raise(L, "conflict", "trim again", "the conversation was edited while it was being trimmed");
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "commit");
  lua_settop(L, 1);
  bind_end_draft(lua_touserdata(L, 1));   /* not through lua_call: that may find no memory, and it is done */
  lua_pushinteger(L, batch);
  return 1;
}

/* discard(draft) */
static int l_discard(lua_State *L) {
  check_own(L);
  bind_refuse_finalizer(L, "end a draft");
  lua_getiuservalue(L, 1, CONVERSATION);
  ConversationHandle *handle = bind_check(L, -1, &BIND_CONVERSATION);
  if (handle->callbacks != NULL && handle->callbacks->busy) {
    return bind_raise(L, "busy", "discard it after it has returned",
                      "a draft may not end inside a callback of its conversation");
  }
  bind_end_draft(lua_touserdata(L, 1));
  return 0;
}

/* ledger(draft) -> Ledger */
static int l_ledger(lua_State *L) {
  Draft *draft = bind_check_draft(L);
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
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "memory") != 0) return bind_refuse_field(L);
  bind_expect(L, 3, NULL, LUA_TTABLE);
  lua_settop(L, 3);
  lua_setiuservalue(L, 1, MEMORY);
  return 0;
}

static int l_length(lua_State *L) {
  lua_pushinteger(L, draft_count(bind_check_draft(L)));
  return 1;
}

/* draft:tokens() -> tokens of the request now; no need to look at the list */
static int l_tokens(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)draft_tokens(bind_check_draft(L)));
  return 1;
}

/* draft:trust() -> how far these tokens can be trusted */
static int l_trust(lua_State *L) {
  lua_pushstring(L, trust_name(draft_trust(bind_check_draft(L))));
  return 1;
}

void bind_open_draft(lua_State *L) {
  static const BindMethod of_conversation[] = {
    {"draft", l_draft, "options", CHARGE_PATH},
    BIND_END,
  };
  static const BindMethod methods[] = {
    {"note", l_note, "text", CHARGE_STEP},
    {"tokens", l_tokens, "", CHARGE_STEP},
    {"trust", l_trust, "", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"info", l_info, "draft", CHARGE_STEP},
    {"by", l_by, "draft name", CHARGE_STEP},
    {"commit", l_commit, "draft options", CHARGE_LIST},
    {"discard", l_discard, "draft", CHARGE_PATH},
    {"ledger", l_ledger, "draft", CHARGE_LIST},
    {"guarded", l_guarded, "draft", CHARGE_LIST},
    {"bind_thinking", l_bind_thinking, "draft first past tokens", CHARGE_LIST},
    {"settle", l_settle, "draft", CHARGE_LIST},
    {"refusals", l_refusals, "draft", CHARGE_STEP},
    {"recall", l_recall, "conversation", CHARGE_PATH},
    {"remembered", l_remembered, "value", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, of_conversation);
  bind_type(L, &BIND_DRAFT, l_index, l_length);
  bind_open_list(L, &BIND_DRAFT);
  bind_methods(L, &BIND_DRAFT, methods);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_DRAFT);
  lua_pushcfunction(L, l_newindex);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
  lua_newtable(L);
  bind_functions(L, "core.draft", functions);
}
