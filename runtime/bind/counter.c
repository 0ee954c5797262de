/*
** Counters: how a conversation's messages are counted, anew by another counter,
** and against what providers report.
**
** Options of counters, as the library above resolves them: tokenizer, or encoding
** (an estimator's name); image (a rule, or {rule, base, tile, multiplier};
** false: none is known, what images cost is a guess).
*/
#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/vocab.h"

/* ---- options ---- */

static Estimator read_estimator(lua_State *L, const char *name) {
  static const char *const names[] = {"bytes4", "cjk", "utf16_2_5", "claude", "claude_4_7", NULL};
  Estimator estimator = ESTIMATE_CJK;
  if (!estimator_parse(name, &estimator)) {
    const char *hint =
      bind_push_suggestion(L, name, names, "estimators are bytes4, cjk, claude, claude_4_7 and utf16_2_5");
    bind_raise_argument(L, "unknown_name", hint, "unknown encoding '%s'", name);
  }
  return estimator;
}

static void read_rule(lua_State *L, const char *name, ImageRule *rule) {
  if (image_rule_parse(name, rule)) return;
  const char *hint =
    bind_push_suggestion(L, name, IMAGE_RULE_NAMES, "rules are tiles_512, patches_32, area, tiles_258 ...");
  bind_raise_argument(L, "unknown_name", hint, "unknown image rule '%s'", name);
}

/* A factor such as 1.62, in hundredths. */
static void read_multiplier(lua_State *L, int table, uint32_t *hundredths) {
  if (!bind_field(L, table, "multiplier")) return;
  lua_Number factor = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (!(factor >= 0.01 && factor <= 1000)) {
    bind_raise_argument(L, "argument", NULL, "image: multiplier is a number from 0.01 to 1000");
  }
  *hundredths = (uint32_t)(factor * 100 + 0.5);
  lua_pop(L, 1);
}

/* The rule at the top of the stack, which it pops. */
static void read_image(lua_State *L, Counter *counter) {
  static const char *const names[] = {"rule", "base", "tile", "multiplier", NULL};
  ImageRule *rule = &counter->image;
  if (lua_type(L, -1) == LUA_TBOOLEAN && !lua_toboolean(L, -1)) {
    counter->image_assumed = true;
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    read_rule(L, lua_tostring(L, -1), rule);
  } else {
    int table = lua_gettop(L);
    bind_check_names(L, table, "image", names);
    if (bind_get_field(L, table, "rule") != LUA_TSTRING) {
      bind_raise_argument(L, "argument", NULL, "image: {rule = name, ...} is expected");
    }
    read_rule(L, lua_tostring(L, -1), rule);
    bind_count_field(L, table, "base", &rule->base);
    bind_count_field(L, table, "tile", &rule->tile);
    read_multiplier(L, table, &rule->hundredths);
    lua_settop(L, table);
  }
  lua_pop(L, 1);
}

Counter bind_counter(lua_State *L, int conversation, int options) {
  Counter counter = counter_of(ESTIMATE_CJK);
  if (bind_field(L, options, "tokenizer")) {
    TokenizerHandle *handle = bind_check(L, -1, &BIND_TOKENIZER);
    counter = counter_of_tokenizer(handle->tokenizer);
    lua_getiuservalue(L, conversation, BIND_FUNCTIONS);
    lua_insert(L, -2);
    lua_rawsetp(L, -2, handle);      /* forks share that table */
    lua_pop(L, 1);
  } else if (bind_field(L, options, "encoding")) {
    counter = counter_of(read_estimator(L, bind_string(L, -1, "encoding")));
    lua_pop(L, 1);
  }
  if (bind_field(L, options, "image")) read_image(L, &counter);
  return counter;
}

/* ---- the caller's own ---- */

/* (conversation, id) -> tokens, as the caller's counter says */
static int l_ask_counter(lua_State *L) {
  lua_getiuservalue(L, 1, BIND_FUNCTIONS);
  lua_getfield(L, -1, "counter");
  bind_push_message(L, 1, (MessageId)lua_tointeger(L, 2), UINT32_MAX);
  lua_call(L, 1, 1);
  int is_integer;
  lua_Integer count = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || count < 0 || count > UINT32_MAX) {
    return bind_raise_argument(L, "argument", NULL, "the counter must answer a whole number of tokens, 0 or more");
  }
  lua_pushinteger(L, count);
  return 1;
}

Status bind_count_by_caller(void *user, MessageId id, uint32_t *tokens) {
  Callbacks *callbacks = user;
  lua_State *L = callbacks->L;
  if (!lua_checkstack(L, 8)) return STATUS_MEMORY;
  lua_pushvalue(L, callbacks->self);
  lua_pushinteger(L, id);
  if (!bind_call_back(L, callbacks, l_ask_counter, 2)) return STATUS_HOST;
  *tokens = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return STATUS_OK;
}

/* ---- other counters ---- */

static const char *const COUNTER_NAMES[] = {"encoding", "tokenizer", "image", NULL};

Cost bind_overhead(lua_State *L, const ConversationHandle *handle, const Counter *counter) {
  Cost cost;
  Status status = document_overhead(&handle->document, handle->conversation, counter, &cost);
  if (status != STATUS_OK) bind_raise_status(L, status, "tokens");
  return cost;
}

/* count(list, options) -> tokens by another counter, trust; nothing changes */
static int l_count(lua_State *L) {
  View view = bind_view(L, 1);
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, COUNTER_NAMES);
  int owner = view.owner;
  if (view.batch != NULL || view.draft != NULL) {
    lua_getiuservalue(L, 1, 1);
    owner = lua_gettop(L);
  }
  bind_enter(L, owner);
  Counter counter = bind_counter(L, owner, 2);
  Cost cost = bind_overhead(L, view.handle, &counter);
  uint64_t tokens;
  Status status = conversation_count_by(view.conversation, view.list, &counter, &tokens);
  if (status != STATUS_OK) return bind_raise_edit(L, owner, status, "tokens");
  lua_pushinteger(L, (lua_Integer)(tokens + cost.tokens + counter.per_request));
  lua_pushstring(L, trust_name(conversation_trust_by(view.conversation, view.list, &counter, cost.guessed)));
  return 2;
}

/* recount(conversation, options): from now on it is counted so */
static int l_recount(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, COUNTER_NAMES);
  Counter counter = bind_counter(L, 1, 2);
  Cost cost = bind_overhead(L, handle, &counter);
  Status status = conversation_recount(handle->conversation, &counter, cost);
  return status == STATUS_OK ? 0 : bind_raise_edit(L, 1, status, "recount");
}

Status bind_count_text(const Counter *counter, Text text, uint64_t *tokens) {
  Tally tally = tally_start(counter);
  Cost cost;
  tally_text(&tally, text);
  Status status = tally_end(&tally, &cost);
  if (status == STATUS_OK) *tokens = cost.tokens;
  return status;
}

/* text(conversation, text, lenient) -> tokens of a plain text by the conversation's
   counter, trust, the first byte that was mended or nil | nil, error */
static int l_text(lua_State *L) {
  const Counter *counter = conversation_counter(bind_check_conversation(L, 1)->conversation);
  Text text = bind_text(L, 2);
  uint64_t tokens;
  size_t valid = utf8_check(text.bytes, text.size);
  bool mended = valid < text.size && lua_toboolean(L, 3);
  if (valid < text.size && !mended) {
    const char *why = lua_pushfstring(L, "byte %I: expected UTF-8", (lua_Integer)valid + 1);
    return bind_refuse(L, status_code(STATUS_ENCODING), why);
  }
  Status status = bind_count_text(counter, mended ? bind_mended(L, 2) : text, &tokens);
  if (status == STATUS_LIMIT) {
    return bind_refuse(L, status_code(status), "the expression of its vocabulary takes too long for it");
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "text");
  lua_pushinteger(L, (lua_Integer)tokens);
  lua_pushstring(L, trust_name(counter->tokenizer != NULL ? TRUST_EXACT : TRUST_ESTIMATED));
  if (mended) lua_pushinteger(L, (lua_Integer)valid + 1);
  else lua_pushnil(L);
  return 3;
}

/* conversation:encoding() -> the name of what counts | nil for the caller's own counter */
static int l_encoding(lua_State *L) {
  const Counter *counter = conversation_counter(bind_check_conversation(L, 1)->conversation);
  if (counter->custom != NULL) lua_pushnil(L);
  else if (counter->tokenizer != NULL) lua_pushstring(L, vocab_name(tokenizer_vocab(counter->tokenizer)));
  else lua_pushstring(L, estimator_name(counter->estimator));
  return 1;
}

/* guesses(list) -> positions of the messages of whose cost a part is a guess, in order; true if a part of what the
   request has outside of its messages is one */
static int l_guesses(lua_State *L) {
  View view = bind_view(L, 1);
  const Counter *counter = conversation_counter(view.conversation);
  uint32_t count = sequence_count(view.list), index = 0;
  lua_newtable(L);
  for (lua_Integer n = 1;; n++, index++) {
    index = conversation_next_guess(view.conversation, view.list, counter, index);
    if (index == count) break;
    lua_pushinteger(L, (lua_Integer)index + 1);
    lua_rawseti(L, -2, n);
  }
  lua_pushboolean(L, conversation_overhead_is_guess(view.conversation));
  return 2;
}

/* ---- calibration ---- */

static lua_Number ratio_of(const Conversation *conversation) {
  Calibration calibration = conversation_calibration(conversation);
  return calibration.reported == 0 ? 1 : (lua_Number)calibration.reported / (lua_Number)calibration.counted;
}

/* conversation:report_usage({prompt_tokens = n}) -> ratio | nil, error */
static int l_report_usage(lua_State *L) {
  static const char *const names[] = {"prompt_tokens", NULL};
  ConversationHandle *handle = bind_enter(L, 1);
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  bind_get_field(L, 2, "prompt_tokens");
  uint64_t reported = (uint64_t)bind_integer(L, -1, "prompt_tokens", 1, (lua_Integer)CALIBRATION_REPORT_MAX);
  Status status = conversation_calibrate(handle->conversation, reported);
  if (status == STATUS_OK) {
    lua_pushnumber(L, ratio_of(handle->conversation));
    return 1;
  }
  return bind_refuse(L, status_code(status), status == STATUS_ARGUMENT
                                               ? "these counts are exact: there is nothing to calibrate"
                                               : "more than ten times the count: not a report of this request");
}

/* conversation:calibration() -> what estimates are multiplied by, 1 or more */
static int l_calibration(lua_State *L) {
  lua_pushnumber(L, ratio_of(bind_check_conversation(L, 1)->conversation));
  return 1;
}

static int convert(lua_State *L, uint64_t (*by)(Calibration calibration, uint64_t tokens)) {
  const Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  uint64_t tokens = (uint64_t)bind_integer(L, 2, "tokens", 0, INT64_MAX);
  lua_pushinteger(L, (lua_Integer)by(conversation_calibration(conversation), tokens));
  return 1;
}

/* calibrated(conversation, tokens) -> what so many by weight count for */
static int l_calibrated(lua_State *L) { return convert(L, calibration_apply); }

/* plain(conversation, budget) -> the most by weight that is within the budget */
static int l_plain(lua_State *L) { return convert(L, calibration_undo); }

void bind_open_counter(lua_State *L) {
  static const BindMethod methods[] = {
    {"encoding", l_encoding, "", CHARGE_STEP},
    {"report_usage", l_report_usage, "usage", CHARGE_STEP},
    {"calibration", l_calibration, "", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"tokens", l_count, "list options", CHARGE_LIST},
    {"recount", l_recount, "conversation options", CHARGE_LIST},
    {"guesses", l_guesses, "list", CHARGE_LIST},
    {"text", l_text, "conversation text lenient", CHARGE_TEXT},
    {"calibrated", l_calibrated, "conversation tokens", CHARGE_STEP},
    {"plain", l_plain, "conversation budget", CHARGE_STEP},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
  lua_newtable(L);
  bind_functions(L, "core.counter", functions);
}
