/*
** Conversions as Lua sees them: a list in the form of a dialect, and what that leaves out.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/type.h"
#include "format/convert_list.h"

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

/* Reads the options at 3. */
static ConvertOptions read_options(lua_State *L, const View *view, Text *system) {
  static const char *const names[] = {"to", "system", "foreign", "keep_extra", "developer", "late_system",
                                      "reasoning_text", "lines", "unbound_from", "probe", NULL};
  bind_check_names(L, 3, NULL, names);
  bind_get_field(L, 3, "to");                       /* 4 */
  ConvertOptions options = {.target = bind_dialect(L, 4, view), .unbound_from = CONVERT_NEVER};
  bind_get_field(L, 3, "system");                   /* 5 */
  *system = lua_isnil(L, 5) ? text_plain("", 0) : bind_text(L, 5);
  options.is_foreign = flag(L, "foreign");
  options.keep_extra = flag(L, "keep_extra");
  options.developer = flag(L, "developer");
  options.late_system = flag(L, "late_system");
  options.reasoning_text = flag(L, "reasoning_text");
  options.lines = flag(L, "lines");
  if (bind_field(L, 3, "unbound_from")) {
    options.unbound_from = (uint32_t)bind_integer(L, -1, "unbound_from", 1, UINT32_MAX) - 1;
    lua_pop(L, 1);
  }
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
    bind_set_text(L, "subject", text_plain(report->subjects.bytes + loss->at, loss->size));
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

/* convert(list, texts, options) -> messages as JSON, system texts as JSON | nil, losses,
   true if some message is not written byte for byte. options.probe: writes nothing. */
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
  ConvertSinks sinks = {.system = sink_to_buffer(apart), .messages = sink_to_buffer(messages)};
  if (flag(L, "probe")) sinks.system = sinks.messages = (Sink){.write = discard};
  Status status = convert_list(view.conversation, view.list, texts.has ? &texts.windows : NULL, system, &options,
                               sinks, report, &changed);
  if (status != STATUS_OK) return bind_raise_status(L, status, "convert");
  push_json(L, messages);
  push_json(L, apart);
  push_losses(L, report, text);
  lua_pushboolean(L, changed);
  return 4;
}

void bind_open_convert(lua_State *L) {
  static const BindMethod functions[] = {
    {"convert", l_convert, "list texts options", CHARGE_LIST},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
