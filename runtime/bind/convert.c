/*
** Conversions and repairs as Lua sees them: a list in the form of a dialect, or one that its target takes, and what
** that leaves out.
*/
#include "bind/argument.h"
#include "bind/check_target.h"
#include "bind/error.h"
#include "bind/ledger.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/type.h"
#include "dialect/bound_thinking.h"
#include "document/convert_own.h"
#include "dialect/repair/repair.h"

static void end_report(void *block) {
  ConvertReport *report = block;
  if (report->memory.allocate != NULL) convert_report_free(report);
}

static bool flag(lua_State *L, const char *name) {
  if (!bind_field(L, 3, name)) return false;
  bind_expect(L, -1, name, LUA_TBOOLEAN);
  bool set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return set;
}

/* Notes which messages have reasoning that an edit has made invalid. */
static void find_bound(lua_State *L, const View *view, ConvertOptions *options) {
  BoundRange range = {0};
  Status status = bound_thinking_of(view->conversation, &range);
  if (status != STATUS_OK) bind_raise_status(L, status, "convert");
  if (range.first >= range.end) return;
  options->unbound_from = range.first;
  options->unbound_end = range.end;
}

/* Reads the profile on top of the stack, {call_id, members}, which stays there as long as the texts are used. */
static void read_profile(lua_State *L, ConvertOptions *options) {
  int profile = lua_gettop(L);
  if (lua_getfield(L, profile, "call_id") == LUA_TTABLE) {
    lua_getfield(L, -1, "min");
    lua_getfield(L, -2, "max");
    lua_getfield(L, -3, "characters");
    if (lua_isinteger(L, -3)) options->id_min = (size_t)lua_tointeger(L, -3);
    if (lua_isinteger(L, -2)) options->id_max = (size_t)lua_tointeger(L, -2);
    if (options->id_min > CALL_ID_MADE || (options->id_max > 0 && options->id_max < CALL_ID_LEAST)) {
      bind_raise_argument(L, "argument", NULL, "profile: call_id: expected min <= %d and max >= %d", CALL_ID_MADE,
                          CALL_ID_LEAST);
    }
    options->alphanumeric_ids = lua_type(L, -1) == LUA_TSTRING && text_is(bind_text(L, -1), "alphanumeric");
  }
  lua_settop(L, profile);
  if (lua_getfield(L, profile, "members") != LUA_TTABLE) return;
  lua_Unsigned count = lua_rawlen(L, -1);
  Text *members = lua_newuserdatauv(L, (size_t)count * sizeof *members + 1, 0);
  for (lua_Unsigned i = 0; i < count; i++) {
    lua_rawgeti(L, profile + 1, (lua_Integer)i + 1);
    members[i] = bind_text(L, -1);
    lua_pop(L, 1);
  }
  options->members = members;
  options->member_count = (uint32_t)count;
}

/* Reads the member that has thought signatures. */
static SignaturePlace read_place(lua_State *L) {
  if (!bind_field(L, 3, "signatures")) return SIGNATURE_NOWHERE;
  bool in_details = text_is(bind_text(L, -1), "reasoning_details");
  lua_pop(L, 1);
  return in_details ? SIGNATURE_IN_DETAILS : SIGNATURE_IN_EXTRA_CONTENT;
}

/* Reads the options at 3. */
static ConvertOptions read_options(lua_State *L, const View *view, Text *system) {
  static const char *const names[] = {"to", "system", "foreign", "keep_extra", "developer", "late_system",
                                      "reasoning_text", "signs_calls", "bound", "profile", "lines", "unbound_from",
                                      "probe", "origins", "unbound_past", "all", "keep_ids", "signatures",
                                      "unsigned_thinking", "keeps_references", NULL};
  bind_check_names(L, 3, NULL, names);
  bind_get_field(L, 3, "to");                       /* 4 */
  ConvertOptions options = {.target = bind_dialect(L, 4, view), .unbound_from = CONVERT_NEVER,
                            .unbound_end = CONVERT_NEVER};
  bind_get_field(L, 3, "system");                   /* 5 */
  *system = lua_isnil(L, 5) ? text_plain("", 0) : bind_text(L, 5);
  options.is_foreign = flag(L, "foreign");
  options.keep_extra = flag(L, "keep_extra");
  options.keep_ids = flag(L, "keep_ids");
  options.developer = flag(L, "developer");
  options.late_system = flag(L, "late_system");
  options.reasoning_text = flag(L, "reasoning_text");
  options.unsigned_thinking = flag(L, "unsigned_thinking");
  options.keeps_references = flag(L, "keeps_references");
  options.signs_calls = flag(L, "signs_calls");
  options.lines = flag(L, "lines");
  options.signatures = read_place(L);
  if (bind_field(L, 3, "unbound_from")) {
    options.unbound_from = (uint32_t)bind_integer(L, -1, "unbound_from", 1, UINT32_MAX) - 1;
    lua_pop(L, 1);
  }
  if (bind_field(L, 3, "unbound_past")) {
    options.unbound_end = (uint32_t)bind_integer(L, -1, "unbound_past", 1, UINT32_MAX) - 1;
    lua_pop(L, 1);
  }
  if (flag(L, "bound")) find_bound(L, view, &options);
  if (bind_field(L, 3, "profile")) read_profile(L, &options);
  return options;
}

static void push_losses(lua_State *L, const ConvertReport *report, Buffer *text) {
  lua_createtable(L, (int)(report->count > INT32_MAX ? INT32_MAX : report->count), 0);
  for (uint32_t i = 0; i < report->count; i++) {
    const Loss *loss = &report->list[i];
    buffer_reset(text);
    Status status = loss_describe(report, i, text);
    if (status != STATUS_OK) bind_raise_status(L, status, "convert");
    lua_createtable(L, 0, 5);
    bind_set_text(L, "code", text_of(loss_name(loss->kind)));
    bind_set_text(L, "text", text_plain(text->bytes, text->size));
    bind_set_text(L, "subject", loss_subject(report, i));
    lua_pushboolean(L, loss_is_change(loss->kind));
    lua_setfield(L, -2, "changed");
    if (loss->index != CONVERT_NEVER) bind_set_integer(L, "index", (lua_Integer)loss->index + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_json(lua_State *L, const Buffer *json) {
  if (json->size == 0) lua_pushnil(L);
  else lua_pushlstring(L, json->bytes, json->size);
}

static Status discard(void *user, const char *bytes, size_t size) {
  (void)user, (void)bytes, (void)size;
  return STATUS_OK;
}

/* Pushes {first, last, first, last, ..}: positions in the list from 1, by message of the output; 0: not in the list. */
static void push_origins(lua_State *L, const ConvertReport *report) {
  lua_createtable(L, (int)(report->origin_count > INT32_MAX / 2 ? INT32_MAX : 2 * report->origin_count), 0);
  for (uint32_t i = 0; i < report->origin_count; i++) {
    const ConvertOrigin *origin = &report->origins[i];
    lua_pushinteger(L, origin->first == CONVERT_NEVER ? 0 : (lua_Integer)origin->first + 1);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 1);
    lua_pushinteger(L, origin->last == CONVERT_NEVER ? 0 : (lua_Integer)origin->last + 1);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 2);
  }
}

/* bound_thinking(conversation) -> first, past: positions that batches have left without the thinking that is bound to
   what stood before it; first >= past: none */
static int l_bound_thinking(lua_State *L) {
  BoundRange range;
  Status status = bound_thinking_of(bind_check_conversation(L, 1)->conversation, &range);
  if (status != STATUS_OK) return bind_raise_status(L, status, "bound_thinking");
  lua_pushinteger(L, (lua_Integer)range.first + 1);
  lua_pushinteger(L, (lua_Integer)range.end + 1);
  return 2;
}

static int raise_too_deep(lua_State *L) {
  return bind_raise(L, "limit", NULL, "write: a message would stand more than %d levels deep", JSON_DEPTH_MAX);
}

/* convert(list, texts, options) -> messages as JSON, system texts as JSON | nil, losses,
   true if some message is not written byte for byte, and with options.origins the origins of the messages.
   options.probe: writes nothing. */
static int l_convert(lua_State *L) {
  lua_settop(L, 3);
  View view = bind_view(L, 1);
  ViewTexts texts;
  Text system;
  ConvertOptions options = read_options(L, &view, &system);
  bind_view_texts(L, &texts, &view, 2);
  ConvertReport *report = bind_own(L, sizeof *report, end_report);
  convert_report_init(report, bind_memory(L));
  Buffer *messages = bind_buffer(L), *apart = bind_buffer(L), *text = bind_buffer(L);
  bool changed = true;
  report->with_origins = flag(L, "origins");
  report->with_ranges = report->with_origins && options.target != DIALECT_OPENAI;
  ConvertSinks sinks = {.system = sink_to_buffer(apart), .messages = sink_to_buffer(messages)};
  bool is_probe = flag(L, "probe");
  if (is_probe) sinks.system = sinks.messages = (Sink){.write = discard};
  Status status = STATUS_OK;
  if (is_probe && system.size == 0 && convert_list_keeps(view.conversation, view.list, &options)) changed = false;
  else {
    status = convert_list(view.conversation, view.list, texts.has ? &texts.windows : NULL, system, &options, sinks,
                          report, &changed);
  }
  if (status == STATUS_LIMIT) return raise_too_deep(L);
  if (status != STATUS_OK) return bind_raise_status(L, status, "convert");
  push_json(L, messages);
  push_json(L, apart);
  push_losses(L, report, text);
  lua_pushboolean(L, changed);
  if (!report->with_origins) return 4;
  push_origins(L, report);
  return 5;
}

/* ---- a body's own form ---- */

static void end_own_form(void *block) {
  OwnForm *form = block;
  if (form->memory.allocate != NULL) own_form_free(form);
}

/* may_lack_form(list, all) -> boolean: may the body that is written of it have messages in another form? `all`: those
   that were read count, too. */
static int l_may_lack_form(lua_State *L) {
  View view = bind_view(L, 1);
  bool all = lua_toboolean(L, 2);
  lua_pushboolean(L, own_form_may_lack(&view.handle->document, view.conversation, view.list, all));
  return 1;
}

/* has_wrapped(list) -> boolean: does some message have parts of the message array, which no dialect has? */
static int l_has_wrapped(lua_State *L) {
  View view = bind_view(L, 1);
  SequenceWalk walk = sequence_walk(view.list, 0, sequence_count(view.list));
  bool any = false;
  while (!any && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && !any; i++) {
      const Message *message = conversation_message(view.conversation, walk.ids[i]);
      any = !message_is_window(message) && message_is_wrapped(message);
    }
  }
  lua_pushboolean(L, any);
  return 1;
}

/* own_form(list, texts, options) -> texts by seq | nil if every message has the form, system texts as JSON | nil,
   losses. options.all: messages that were read count, too, not those alone that were added. */
static int l_own_form(lua_State *L) {
  lua_settop(L, 3);
  View view = bind_view(L, 1);
  ViewTexts texts;
  Text system, text;
  ConvertOptions options = read_options(L, &view, &system);
  bool all = flag(L, "all");
  bind_view_texts(L, &texts, &view, 2);
  ConvertReport *report = bind_own(L, sizeof *report, end_report);
  convert_report_init(report, bind_memory(L));
  OwnForm *form = bind_own(L, sizeof *form, end_own_form);
  Buffer *words = bind_buffer(L);
  Status status = own_form_of(&view.handle->document, view.conversation, view.list,
                              texts.has ? &texts.windows : NULL, system, &options, all, form, report);
  if (status == STATUS_LIMIT) return raise_too_deep(L);
  if (status != STATUS_OK) return bind_raise_status(L, status, "own_form");
  MessageId id;
  size_t at = 0;
  if (form->count == 0) lua_pushnil(L);
  else lua_createtable(L, 0, (int)(form->count > INT32_MAX ? INT32_MAX : form->count));
  while (own_form_next(form, &at, &id, &text)) {
    bind_push_text(L, text);
    lua_rawseti(L, -2, (lua_Integer)id);
  }
  push_json(L, &form->system);
  push_losses(L, report, words);
  return 3;
}

/* ---- repairing: for the library ---- */

static void end_ledger(void *block) { ledger_release(*(Ledger **)block); }

/* repair(conversation, {calls = "drop" | "synthesize", codes, and a target's fields}) -> Ledger | nil,
   losses. Edits the conversation: it is a fork that will be written. */
static int l_repair(lua_State *L) {
  static const char *const ways[] = {"drop", "synthesize", NULL};
  lua_settop(L, 2);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  bind_get_field(L, 2, "calls");                    /* 3 */
  RepairOptions options = {.codes = bind_codes(L, 2, "codes", CODES_ALL),
                           .synthesize = bind_choice(L, 3, "calls", 0, ways) == 1};
  ConversationHandle *handle = bind_enter(L, 1);
  View view = bind_view(L, 1);
  options.target = bind_check_target(L, 2, &view);
  Ledger **ledger = bind_own(L, sizeof *ledger, end_ledger);
  ConvertReport *report = bind_own(L, sizeof *report, end_report);
  convert_report_init(report, bind_memory(L));
  Buffer *text = bind_buffer(L);
  Status status = repair_conversation(handle->conversation, &options, ledger, report);
  if (status != STATUS_OK) return bind_raise_edit(L, 1, status, "repair");
  if (*ledger == NULL) lua_pushnil(L);
  else bind_push_ledger(L, 1, *ledger);
  push_losses(L, report, text);
  return 2;
}

void bind_open_convert(lua_State *L) {
  static const BindMethod functions[] = {
    {"convert", l_convert, "list texts options", CHARGE_LIST},
    {"may_lack_form", l_may_lack_form, "list all", CHARGE_LIST},
    {"has_wrapped", l_has_wrapped, "list", CHARGE_LIST},
    {"own_form", l_own_form, "list texts options", CHARGE_LIST},
    {"repair", l_repair, "conversation options", CHARGE_LIST},
    {"bound_thinking", l_bound_thinking, "conversation", CHARGE_LIST},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
