/*
** Regular expressions and sets of rules. All of a state share one engine, which
** lives as long as the state: what it makes is finalised before it.
*/
#include <string.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/lazy_copy.h"
#include "bind/open.h"
#include "bind/type.h"
#include "regex/rule_set.h"
#include "sandbox/guard.h"


typedef struct Handle {
  union {
    Regex *regex;
    RuleSet *set;
  };
} Handle;

static void end_engine(void *block) { regex_engine_free(*(RegexEngine **)block); }

static void end_regex(void *block) {
  Handle *handle = block;
  regex_free(handle->regex);
  handle->regex = NULL;
}

static void end_set(void *block) {
  Handle *handle = block;
  rule_set_free(handle->set);
  handle->set = NULL;
}

static const BindType REGEX = {.name = "Regex", .end = end_regex}, SET = {.name = "RegexSet", .end = end_set};

/* The engine of this state, made on first use. */
static RegexEngine *engine_of(lua_State *L) {
  static const char PLACE;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &PLACE) == LUA_TNIL) {
    RegexEngine **engine = bind_own(L, sizeof *engine, end_engine);
    Memory memory = bind_memory(L);
    Status status = regex_engine_new(&memory, engine);
    if (status != STATUS_OK) bind_raise_status(L, status, "regex");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &PLACE);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &PLACE);
  }
  RegexEngine **engine = bind_test_owned(L, -1, end_engine);
  lua_pop(L, 2);             /* what was there before, and it */
  return *engine;
}

/* nil, "byte 3: missing closing parenthesis", "syntax" */
static int refuse(lua_State *L, Status status, const RegexError *error) {
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "regex");
  if (error->message[0] == '\0') {
    return bind_refuse(L, status_code(status),
                       status == STATUS_LIMIT ? "replacement or trim string: too long or too many"
                                              : "replacement or trim string: not valid UTF-8");
  }
  lua_pushfstring(L, "byte %I: %s", (lua_Integer)error->offset + 1, error->message);
  return bind_refuse(L, status == STATUS_ARGUMENT ? "syntax" : status_code(status), lua_tostring(L, -1));
}

/* The flags at `index`, letters such as "gi"; raises for others. */
static unsigned check_flags(lua_State *L, int index) {
  unsigned flags = 0;
  char bad = '\0';
  Text letters = lua_isnoneornil(L, index) ? text_of("") : bind_text(L, index);
  if (!regex_flags(letters.bytes, letters.size, &flags, &bad)) {
    bind_raise_argument(L, "argument", "flags are letters of \"gimsuy\", each once",
                        "flag '%c' is unknown or stands twice", bad);
  }
  return flags;
}

/* ---- one expression ---- */

/* compile(pattern, flags) -> Regex | nil, error */
static int l_compile(lua_State *L) {
  Text pattern = bind_text(L, 1);
  unsigned flags = check_flags(L, 2);
  RegexEngine *engine = engine_of(L);
  Handle *handle = bind_new(L, &REGEX, sizeof *handle, 0);
  RegexError error;
  Status status = regex_new(engine, pattern.bytes, pattern.size, flags | REGEX_ONCE, &handle->regex, &error);
  return status == STATUS_OK ? 1 : refuse(L, status, &error);
}

/* check(pattern, flags) -> true | nil, error: compiles it and keeps nothing */
static int l_check(lua_State *L) {
  int count = l_compile(L);
  if (count != 1) return count;
  end_regex(lua_touserdata(L, -1));
  lua_pushboolean(L, true);
  return 1;
}

/* regex:matches(text) -> boolean | nil, reason, "limit" */
static int l_matches(lua_State *L) {
  Regex *regex = ((Handle *)bind_check(L, 1, &REGEX))->regex;
  Text text = bind_text(L, 2);
  const size_t *ends;
  if (utf8_check(text.bytes, text.size) < text.size) return bind_refuse(L, "encoding", "the text is not valid UTF-8");
  regex_start(regex_engine(regex));
  Status status = regex_find(regex, text.bytes, text.size, 0, &ends);
  if (status == STATUS_LIMIT) {
    return bind_refuse(L, "limit", regex_reason_words(regex_engine_reason(regex_engine(regex))));
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "matches");
  lua_pushboolean(L, ends != NULL);
  return 1;
}

/* ---- sets ---- */

static RuleSet *check_set(lua_State *L) { return ((Handle *)bind_check(L, 1, &SET))->set; }

/* set() -> RegexSet */
static int l_set(lua_State *L) {
  RegexEngine *engine = engine_of(L);
  Handle *handle = bind_new(L, &SET, sizeof *handle, 0);
  Status status = rule_set_new(engine, &handle->set);
  return status == STATUS_OK ? 1 : bind_raise_status(L, status, "regex");
}

static Text text_field(lua_State *L, const char *name) {
  if (!bind_field(L, 2, name)) return text_plain("", 0);
  return bind_text(L, -1);   /* left on the stack, which holds it */
}

/* set:add{pattern, flags, replacement, trims, kinds, depth_first, depth_last} -> rule, from 1, and bytes of its
   expression | nil, error */
static int l_add(lua_State *L) {
  static const char *const names[] = {"pattern", "flags", "replacement", "trims", "kinds", "depth_first",
                                      "depth_last", NULL};
  RuleSet *set = check_set(L);
  bind_check_names(L, 2, NULL, names);
  RuleSource rule = {.depth_last = UINT32_MAX, .kinds = UINT32_MAX};
  rule.pattern = text_field(L, "pattern");
  rule.replacement = text_field(L, "replacement");
  lua_getfield(L, 2, "flags");
  rule.flags = check_flags(L, -1);
  TextList trims = bind_text_list(L, 2, "trims");
  rule.trims = trims.texts;
  rule.trim_count = trims.count;
  bind_count_field(L, 2, "kinds", &rule.kinds);
  bind_count_field(L, 2, "depth_first", &rule.depth_first);
  bind_count_field(L, 2, "depth_last", &rule.depth_last);
  RegexError error;
  Status status = rule_set_add(set, &rule, &error);
  if (status != STATUS_OK) return refuse(L, status, &error);
  uint32_t size = rule_set_size(set);
  lua_pushinteger(L, size);
  lua_pushinteger(L, (lua_Integer)rule_set_bytes(set, size - 1));
  return 2;
}

/* set:begin(): a new run, counts from 0 */
static int l_begin(lua_State *L) {
  rule_set_begin(check_set(L));
  return 0;
}

/* set:limit(microseconds, bytes): of all texts of the run; 0: no limit of time */
static int l_limit(lua_State *L) {
  RuleSet *set = check_set(L);
  uint64_t microseconds = (uint64_t)bind_integer(L, 2, "microseconds", 0, INT64_MAX / 1000);
  rule_set_limit(set, microseconds, (size_t)bind_integer(L, 3, "bytes", 0, PTRDIFF_MAX));
  return 0;
}

/* Pushes {{rule, reason, skipped_from_now}, ...}, or nil without failures. */
static void push_failures(lua_State *L, const RuleResult *result) {
  if (result->failure_count == 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, (int)result->failure_count, 0);
  for (uint32_t i = 0; i < result->failure_count; i++) {
    const RuleFailure *failure = &result->failures[i];
    lua_createtable(L, 0, 3);
    bind_set_integer(L, "rule", (lua_Integer)failure->rule + 1);
    lua_pushstring(L, regex_reason_words(failure->reason));
    lua_setfield(L, -2, "reason");
    lua_pushboolean(L, failure->skipped_from_now);
    lua_setfield(L, -2, "skipped_from_now");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes what came of a text, as l_apply returns it. */
static int push_result(lua_State *L, Status status, const RuleResult *result) {
  if (status == STATUS_ENCODING) return bind_refuse(L, "encoding", "the text is not valid UTF-8");
  if (status == STATUS_LIMIT) {
    lua_pushnil(L);
    lua_pushstring(L, result->reason == REGEX_TIME ? "time" : "growth");
    lua_pushinteger(L, (lua_Integer)result->stopped + 1);
    return 3;
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "apply");
  if (result->changed) lua_pushlstring(L, result->text.bytes, result->text.size);
  else lua_pushnil(L);
  push_failures(L, result);
  return 2;
}

/* set:apply(text, kind, depth) -> text | nil (as it was), failures | nil; nil, error for what is not UTF-8;
   nil, "time" or "growth", rule at a limit of the run */
static int l_apply(lua_State *L) {
  RuleSet *set = check_set(L);
  Text text = bind_text(L, 2);
  uint32_t kind = (uint32_t)bind_integer(L, 3, "kind", 0, UINT32_MAX);
  uint32_t depth = (uint32_t)bind_integer(L, 4, "depth", 0, UINT32_MAX);
  RuleResult result;
  return push_result(L, rule_set_apply(set, text, kind, depth, &result), &result);
}

enum { SWEEP_MESSAGES = 64 };   /* of one call, so that a task can end its slice between two */

enum { MESSAGES = 2, KINDS = 5, DECODED, SCRATCH, NAMES, COPY = NAMES + 2 };   /* stack indices of l_sweep */

typedef struct Sweep {
  RuleSet *set;
  LazyWalk walk;
  const Message *lazy;       /* of the message at COPY; NULL: it is a table like others */
  Buffer *decoded, *scratch;
  uint32_t depth;
  lua_Integer changed;       /* messages */
  lua_Integer growth;        /* bytes */
} Sweep;

/* The kind of the role on top, which it pops, by the table of kinds. */
static uint32_t pop_kind(lua_State *L) {
  if (!lua_isnil(L, -1)) lua_rawget(L, KINDS);
  uint32_t kind = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return kind;
}

/* What a sweep does with a content. */
typedef enum SweepContent { SWEEP_SKIP, SWEEP_TEXT, SWEEP_PARTS } SweepContent;

/* Reads the message at COPY, of a role that rules may touch. A message of a window is skipped, and has no depth.
   The content may lie on the stack. */
static SweepContent read_content(lua_State *L, Sweep *sweep, uint32_t *kind, Text *text) {
  const Message *lazy = sweep->lazy = lazy_copy_message(L, &sweep->walk, COPY);
  bool is_window = lazy == NULL && lua_getfield(L, COPY, "source") == LUA_TSTRING &&
                   strcmp(lua_tostring(L, -1), "window") == 0;
  sweep->depth -= !is_window && sweep->depth > 0;
  if (is_window) return SWEEP_SKIP;
  if (lazy != NULL) bind_push_text(L, message_role_text(lazy));
  else lua_getfield(L, COPY, "role");
  *kind = pop_kind(L);
  if (*kind == 0) return SWEEP_SKIP;
  if (lazy != NULL && message_content_kind(lazy) != CONTENT_STRING) return SWEEP_SKIP;
  if (lazy != NULL) {
    *text = lazy_copy_text(L, lazy, sweep->decoded);
    return SWEEP_TEXT;
  }
  int type = lua_getfield(L, COPY, "content");
  if (type == LUA_TSTRING) *text = bind_text(L, -1);
  return type == LUA_TSTRING ? SWEEP_TEXT : type == LUA_TTABLE ? SWEEP_PARTS : SWEEP_SKIP;
}

/* Applies the rules to a text of the message at COPY. False: what became of it is for Lua to tell. */
static bool sweep_text(lua_State *L, Sweep *sweep, Text text, uint32_t kind, Status *status, RuleResult *result) {
  guard_charge(L, text.size);
  *status = rule_set_apply(sweep->set, text, kind, sweep->depth, result);
  if (*status != STATUS_OK || result->failure_count > 0) return false;
  if (!result->changed) return true;
  if (result->text.size > text.size) sweep->growth += (lua_Integer)(result->text.size - text.size);
  lazy_copy_rewrite(L, &sweep->walk, COPY, sweep->lazy, result->text, sweep->scratch);
  sweep->changed++;
  return true;
}

static int push_sweep(lua_State *L, const Sweep *sweep, lua_Integer position) {
  lua_pushinteger(L, position);
  lua_pushinteger(L, sweep->depth);
  lua_pushinteger(L, sweep->changed);
  lua_pushinteger(L, sweep->growth);
  return 4;
}

/* set:sweep(messages, first, depth, kinds) -> position, depth, changed, growth, ...: rewrites the texts of the messages
   from `first` on by the rules, in place, without their `seq`. `depth`: one more than that of the first; `kinds`: by
   role. `changed`: the number of rewritten messages; `growth`: of bytes that they grew by. Stops behind some messages,
   or at one that fails or consists of parts; `...` is false for parts, else what apply returns, or nothing. */
static int l_sweep(lua_State *L) {
  Sweep sweep = {.set = check_set(L)};
  bind_expect(L, MESSAGES, "messages", LUA_TTABLE);
  lua_Integer first = bind_integer(L, 3, "first", 1, UINT32_MAX);
  sweep.depth = (uint32_t)bind_integer(L, 4, "depth", 0, UINT32_MAX);
  bind_expect(L, KINDS, "kinds", LUA_TTABLE);
  lua_settop(L, KINDS);
  sweep.decoded = bind_buffer(L);
  sweep.scratch = bind_buffer(L);
  sweep.walk = lazy_walk_begin(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, MESSAGES), last = first + SWEEP_MESSAGES - 1;
  if (last > count) last = count;
  for (lua_Integer i = first; i <= last; i++, lua_settop(L, COPY - 1)) {
    uint32_t kind;
    Text text;
    Status status;
    RuleResult result;
    int type = lua_rawgeti(L, MESSAGES, i);
    if (type != LUA_TTABLE) return bind_raise(L, "shape", NULL, "messages[%I] is not a table", i);
    SweepContent content = read_content(L, &sweep, &kind, &text);
    if (content == SWEEP_SKIP) continue;
    if (content == SWEEP_TEXT && sweep_text(L, &sweep, text, kind, &status, &result)) continue;
    int pushed = push_sweep(L, &sweep, i);
    if (content == SWEEP_TEXT) return pushed + push_result(L, status, &result);
    lua_pushboolean(L, false);
    return pushed + 1;
  }
  return push_sweep(L, &sweep, last);
}

/* set:count(rule) -> texts changed, replacements, failures */
static int l_count(lua_State *L) {
  RuleSet *set = check_set(L);
  uint32_t rule = (uint32_t)bind_integer(L, 2, "rule", 1, rule_set_size(set));
  RuleCounts count = rule_set_counts(set, rule - 1);
  lua_pushinteger(L, count.texts);
  lua_pushinteger(L, count.replacements);
  lua_pushinteger(L, count.failures);
  return 3;
}

static int l_size(lua_State *L) {
  lua_pushinteger(L, rule_set_size(check_set(L)));
  return 1;
}

static int l_index_regex(lua_State *L) { return bind_index_method(L, &REGEX); }
static int l_index_set(lua_State *L) { return bind_index_method(L, &SET); }

void bind_open_regex(lua_State *L) {
  static const BindMethod of_regex[] = {
    {"matches", l_matches, "text", CHARGE_TEXT},
    BIND_END,
  };
  static const BindMethod of_set[] = {
    {"add", l_add, "rule", CHARGE_PATH},
    {"apply", l_apply, "text kind depth", CHARGE_TEXT},
    {"begin", l_begin, "", CHARGE_STEP},
    {"count", l_count, "rule", CHARGE_STEP},
    {"limit", l_limit, "microseconds bytes", CHARGE_STEP},
    {"sweep", l_sweep, "messages first depth kinds", CHARGE_PATH},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"check", l_check, "pattern flags", CHARGE_PATH},
    {"compile", l_compile, "pattern flags", CHARGE_PATH},
    {"set", l_set, "", CHARGE_PATH},
    BIND_END,
  };
  bind_type(L, &REGEX, l_index_regex, NULL);
  bind_type(L, &SET, l_index_set, l_size);
  bind_methods(L, &REGEX, of_regex);
  bind_methods(L, &SET, of_set);
  lua_newtable(L);
  bind_functions(L, "core.regex", functions);
}
