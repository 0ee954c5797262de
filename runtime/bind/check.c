/*
** Checks: dialects, codes and violations as Lua sees them.
*/
#include "bind/argument.h"
#include "bind/check_target.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/open.h"
#include "bind/type.h"
#include "dialect/check/check.h"

/* ---- checking ---- */

static void end_report(void *block) {
  CheckReport *report = block;
  if (report->memory.allocate != NULL) check_report_free(report);
}

/* Pushes an empty report. */
static CheckReport *push_report(lua_State *L) {
  CheckReport *report = bind_own(L, sizeof *report, end_report);
  report->memory = bind_memory(L);
  return report;
}

/* What every violation of a rule says alike. */
static const char *const RULE_FIELDS[] = {"code", "hint", "servers", "models", "source"};
enum { RULE_FIELD_COUNT = sizeof RULE_FIELDS / sizeof *RULE_FIELDS };

/* Puts the hint of a rule for a target into `text`. */
static void describe_hint(lua_State *L, const CheckTarget *target, const CheckRule *rule, Buffer *text) {
  buffer_reset(text);
  Status status = check_add_hint(target, rule, text);
  if (status != STATUS_OK) bind_raise_status(L, status, "check");
}

/* Pushes a list of the values of RULE_FIELDS from the table at `rules`, which gets it at first: a list of a hundred
   thousand violations has each text once. */
static void push_rule_texts(lua_State *L, int rules, const CheckTarget *target, const CheckRule *rule, Buffer *text) {
  if (lua_rawgetp(L, rules, rule) == LUA_TTABLE) return;
  lua_pop(L, 1);
  describe_hint(L, target, rule, text);
  Text texts[RULE_FIELD_COUNT] = {text_of(check_code_name(rule->code)), text_plain(text->bytes, text->size),
                                  text_of(rule->servers), text_of(rule->models), text_of(rule->source)};
  lua_createtable(L, RULE_FIELD_COUNT, 0);
  for (int i = 0; i < RULE_FIELD_COUNT; i++) {
    lua_pushlstring(L, texts[i].bytes, texts[i].size);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushvalue(L, -1);
  lua_rawsetp(L, rules, rule);
}

static void push_violation(lua_State *L, int rules, const CheckTarget *target, const Violation *violation,
                           Buffer *text) {
  const CheckRule *rule = violation->rule;
  lua_createtable(L, 0, 10);
  push_rule_texts(L, rules, target, rule, text);
  for (int i = 0; i < RULE_FIELD_COUNT; i++) {
    lua_rawgeti(L, -1, i + 1);
    lua_setfield(L, -3, RULE_FIELDS[i]);
  }
  lua_pop(L, 1);
  if (violation->index != CHECK_BODY) {
    bind_set_integer(L, "index", (lua_Integer)violation->index + 1);
    bind_set_integer(L, "seq", violation->id);
  }
  buffer_reset(text);
  Status status = check_describe(violation, text);
  if (status != STATUS_OK) bind_raise_status(L, status, "check");
  bind_set_text(L, "text", text_plain(text->bytes, text->size));
  lua_pushstring(L, severity_name(violation->severity));
  lua_setfield(L, -2, "severity");
  lua_pushboolean(L, target_repairs(target, rule));
  lua_setfield(L, -2, "mendable");
}

static Severity least_of(lua_State *L, int options) {
  static const char *const names[] = {"changed", "strict", "refused", NULL};
  if (lua_type(L, options) != LUA_TTABLE) return SEVERITY_REFUSED;
  bind_get_field(L, options, "severity");
  int number = bind_choice(L, -1, "severity", 2, names);
  lua_pop(L, 1);
  return (Severity)(SEVERITY_CHANGED + number);
}

/* list:check(dialect | {dialect, profile, traits, model_known, severity, members}) -> violations, dialect */
static int l_check(lua_State *L) {
  lua_settop(L, 2);
  View view = bind_view(L, 1);
  CheckTarget target = bind_check_target(L, 2, &view);
  CheckReport *report = push_report(L);
  report->least = least_of(L, 2);
  Status status = check_list(&target, conversation_store(view.conversation), view.list, report);
  if (status != STATUS_OK) return bind_raise_status(L, status, "check");
  Buffer *text = bind_buffer(L);
  lua_newtable(L);
  int rules = lua_gettop(L);
  lua_createtable(L, (int)(report->count > INT32_MAX ? INT32_MAX : report->count), 0);
  for (uint32_t i = 0; i < report->count; i++) {
    push_violation(L, rules, &target, &report->list[i], text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushstring(L, dialect_name(target.dialect));
  return 2;
}

static void set_string(lua_State *L, const char *name, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

/* The hint is that of the first dialect that has the rule. */
static void push_rule(lua_State *L, const CheckRule *rule, Buffer *text) {
  CheckTarget target = {.dialect = DIALECT_OPENAI};
  while ((rule->dialects >> target.dialect & 1) == 0) target.dialect++;
  describe_hint(L, &target, rule, text);
  lua_createtable(L, 0, 10);
  set_string(L, "code", check_code_name(rule->code));
  set_string(L, "severity", severity_name(rule->severity));
  set_string(L, "text", rule->says);
  bind_set_text(L, "hint", text_plain(text->bytes, text->size));
  set_string(L, "servers", rule->servers);
  set_string(L, "models", rule->models);
  set_string(L, "source", rule->source);
  set_string(L, "example", rule->example);
  lua_pushboolean(L, rule->can_repair);
  lua_setfield(L, -2, "mendable");
  lua_newtable(L);
  for (unsigned i = 0, n = 0; i < DIALECT_COUNT; i++) {
    if ((rule->dialects >> i & 1) == 0) continue;
    lua_pushstring(L, dialect_name((Dialect)i));
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
  lua_setfield(L, -2, "dialects");
}

/* rules() -> a list of all rules: {code, severity, dialects, text, hint, servers, models, source, example, mendable} */
static int l_rules(lua_State *L) {
  uint32_t count;
  const CheckRule *rules = check_rules(&count);
  Buffer *text = bind_buffer(L);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    push_rule(L, &rules[i], text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* list:dialect() -> the dialect of the messages' own form */
static int l_dialect(lua_State *L) {
  View view = bind_view(L, 1);
  lua_pushstring(L, dialect_name(bind_own_dialect(&view)));
  return 1;
}

void bind_open_check(lua_State *L) {
  static const BindMethod methods[] = {
    {"check", l_check, "target", CHARGE_LIST},
    {"dialect", l_dialect, "", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"rules", l_rules, "", CHARGE_STEP},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_methods(L, &BIND_BATCH, methods);
  bind_methods(L, &BIND_DRAFT, methods);
  bind_functions(L, "core", functions);
}
