/*
** Checks and repairs: dialects, codes and violations as Lua sees them.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/ledger.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "format/check.h"
#include "format/repair.h"

/* ---- names ---- */

static int raise_unknown(lua_State *L, const char *name) {
  const char *names[DIALECT_COUNT + 1] = {NULL}, *all = "dialects are";
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    names[i] = dialect_name((Dialect)i);
    all = lua_pushfstring(L, i == 0 ? "%s %s" : "%s, %s", all, names[i]);
  }
  const char *hint = bind_push_suggestion(L, name, names, all);
  return bind_raise_argument(L, "unknown_name", hint, "no dialect '%s'", name);
}

Dialect bind_dialect(lua_State *L, int index, const View *view) {
  Dialect dialect;
  if (lua_isnoneornil(L, index)) return dialect_detect(conversation_store(view->conversation), view->list);
  if (!dialect_parse(bind_text(L, index), &dialect)) raise_unknown(L, bind_string(L, index, NULL));
  return dialect;
}

/* The same; the dialect has rules. */
static Dialect dialect_at(lua_State *L, int index, const View *view) {
  Dialect dialect = bind_dialect(L, index, view);
  if (dialect_form(dialect)->check == NULL) {
    bind_raise_argument(L, "argument", "name a dialect that has rules", "no rules for the dialect '%s' yet",
                        dialect_name(dialect));
  }
  return dialect;
}

/* The list of codes in field `codes` as bits; without the field, all of them. */
static unsigned codes_field(lua_State *L, int options) {
  if (!bind_field(L, options, "codes")) return CHECK_ALL;
  bind_expect(L, -1, "codes", LUA_TTABLE);
  unsigned codes = 0;
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    CheckCode code = CHECK_ORPHAN_RESULT;
    if (lua_type(L, -1) != LUA_TSTRING || !check_code_parse(bind_text(L, -1), &code)) {
      bind_raise_argument(L, "unknown_name", NULL, "codes[%I]: no such violation", i);
    }
    codes |= 1u << code;
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return codes;
}

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

static void push_violation(lua_State *L, const Violation *violation, Buffer *text) {
  buffer_reset(text);
  Status status = check_describe(violation, text);
  if (status != STATUS_OK) bind_raise_status(L, status, "check");
  lua_createtable(L, 0, 6);
  bind_set_text(L, "code", text_of(check_code_name(violation->code)));
  bind_set_integer(L, "index", (lua_Integer)violation->index + 1);
  bind_set_integer(L, "seq", violation->id);
  bind_set_text(L, "text", text_plain(text->bytes, text->size));
  bind_set_text(L, "hint", text_of(check_hint(violation->code)));
  lua_pushboolean(L, check_can_repair(violation->code));
  lua_setfield(L, -2, "mendable");
}

/* list:check(dialect) -> violations, dialect */
static int l_check(lua_State *L) {
  lua_settop(L, 2);
  View view = bind_view(L, 1);
  Dialect dialect = dialect_at(L, 2, &view);
  CheckReport *report = push_report(L);
  Status status = check_list(dialect, conversation_store(view.conversation), view.list, report);
  if (status != STATUS_OK) return bind_raise_status(L, status, "check");
  Buffer *text = bind_buffer(L);
  lua_createtable(L, (int)(report->count > INT32_MAX ? INT32_MAX : report->count), 0);
  for (uint32_t i = 0; i < report->count; i++) {
    push_violation(L, &report->list[i], text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushstring(L, dialect_name(dialect));
  return 2;
}

/* list:dialect() -> the dialect of the messages' own form */
static int l_dialect(lua_State *L) {
  View view = bind_view(L, 1);
  lua_pushstring(L, dialect_name(dialect_detect(conversation_store(view.conversation), view.list)));
  return 1;
}

/* ---- repairing: for the library ---- */

static void end_ledger(void *block) { ledger_release(*(Ledger **)block); }

/* repair(conversation, {dialect, calls = "drop" | "synthesize", codes}) -> Ledger | nil.
   Edits the conversation: it is a fork that will be written. */
static int l_repair(lua_State *L) {
  static const char *const names[] = {"dialect", "calls", "codes", NULL};
  static const char *const ways[] = {"drop", "synthesize", NULL};
  lua_settop(L, 2);
  bind_check_names(L, 2, NULL, names);
  bind_get_field(L, 2, "dialect");                  /* 3 */
  bind_get_field(L, 2, "calls");                    /* 4 */
  RepairOptions options = {.codes = codes_field(L, 2), .synthesize = bind_choice(L, 4, "calls", 0, ways) == 1};
  ConversationHandle *handle = bind_enter(L, 1);
  View view = bind_view(L, 1);
  options.dialect = dialect_at(L, 3, &view);
  Ledger **ledger = bind_own(L, sizeof *ledger, end_ledger);
  Status status = repair_conversation(handle->conversation, &options, ledger);
  if (status != STATUS_OK) return bind_raise_edit(L, 1, status, "repair");
  if (*ledger == NULL) lua_pushnil(L);
  else bind_push_ledger(L, 1, *ledger);
  return 1;
}

void bind_open_check(lua_State *L) {
  static const BindMethod methods[] = {
    {"check", l_check, "dialect", CHARGE_LIST},
    {"dialect", l_dialect, "", CHARGE_STEP},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"repair", l_repair, "conversation options", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_methods(L, &BIND_BATCH, methods);
  bind_methods(L, &BIND_DRAFT, methods);
  bind_functions(L, "core", functions);
}
