#include "bind/check_target.h"

#include "bind/argument.h"
#include "dialect/bound_thinking.h"
#include "json/json.h"

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

Dialect bind_own_dialect(const View *view) {
  return document_dialect(&view->handle->document, conversation_store(view->conversation), view->list);
}

Dialect bind_dialect(lua_State *L, int index, const View *view) {
  Dialect dialect;
  if (lua_isnoneornil(L, index)) return bind_own_dialect(view);
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

CodeSet bind_codes(lua_State *L, int index, const char *field, CodeSet otherwise) {
  if (!bind_field(L, index, field)) return otherwise;
  bind_expect(L, -1, field, LUA_TTABLE);
  CodeSet codes = {{0}};
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    CheckCode code = CHECK_ORPHAN_RESULT;
    if (lua_type(L, -1) != LUA_TSTRING || !check_code_parse(bind_text(L, -1), &code)) {
      const char *name = luaL_tolstring(L, -1, NULL);      /* not its position: hosts count from 0 */
      bind_raise_argument(L, "unknown_name", NULL, "%s: there is no violation '%s'", field, name);
    }
    codes_add(&codes, code);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return codes;
}

/* ---- profiles ---- */

static void read_call_id(lua_State *L, int profile, CheckProfile *result) {
  static const char *const characters[] = {"word", "alphanumeric", "any", NULL};
  if (!bind_field(L, profile, "call_id")) return;
  int table = lua_gettop(L);
  bind_expect(L, table, "call_id", LUA_TTABLE);
  result->has_call_id = true;
  bind_count_field(L, table, "min", &result->call_id.min);
  bind_count_field(L, table, "max", &result->call_id.max);
  bind_get_field(L, table, "characters");
  result->call_id.characters = (IdCharacters)bind_choice(L, -1, "characters", ID_WORD, characters);
  lua_pop(L, 2);
}

/* A field of a number of bytes; 0: absent. */
static uint64_t read_bytes(lua_State *L, int table, const char *field) {
  if (!bind_field(L, table, field)) return 0;
  uint64_t bytes = (uint64_t)bind_integer(L, -1, field, 1, INT64_MAX);
  lua_pop(L, 1);
  return bytes;
}

static void read_limits(lua_State *L, int profile, CheckProfile *result) {
  if (!bind_field(L, profile, "limits")) return;
  int table = lua_gettop(L);
  bind_expect(L, table, "limits", LUA_TTABLE);
  bind_count_field(L, table, "images", &result->images_max);
  bind_count_field(L, table, "messages", &result->messages_max);
  bind_count_field(L, table, "image_side", &result->image_side_max);
  bind_count_field(L, table, "many_images", &result->many_images);
  bind_count_field(L, table, "many_images_side", &result->many_side_max);
  result->bytes_max = read_bytes(L, table, "bytes");
  result->image_bytes_max = read_bytes(L, table, "image_bytes");
  lua_pop(L, 1);
}

/* Leaves the list of members on the stack. */
static void read_profile(lua_State *L, int profile, CheckProfile *result) {
  static const char *const reasoning[] = {"", "drop", "keep", "require", "require_with_calls", NULL};
  result->refuses = bind_codes(L, profile, "refuses", (CodeSet){{0}});
  result->accepts = bind_codes(L, profile, "accepts", (CodeSet){{0}});
  read_call_id(L, profile, result);
  bind_count_field(L, profile, "tool_name", &result->tool_name_max);
  read_limits(L, profile, result);
  bind_get_field(L, profile, "reasoning");
  result->reasoning = (ReasoningRule)bind_choice(L, -1, "reasoning", REASONING_DIALECT, reasoning);
  lua_pop(L, 1);
  TextList members = bind_text_list(L, profile, "members");
  result->members = members.texts;
  result->member_count = members.count;
}

static void read_traits(lua_State *L, int options, CheckProfile *result) {
  const char *names[MODEL_COUNT + 1] = {NULL};
  result->model_known = bind_flag_field(L, options, "model_known", false);
  if (!bind_field(L, options, "traits")) return;
  bind_expect(L, -1, "traits", LUA_TTABLE);
  for (unsigned i = 0; i < MODEL_COUNT; i++) names[i] = model_trait_name((ModelTrait)i);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    result->traits |= 1u << bind_choice(L, -1, "traits", -1, names);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

/* ---- the request ---- */

/* The other members of the body that the conversation was loaded from: what stands before its messages and behind
   them, in a buffer that stays on the stack. */
static Text read_body(lua_State *L, const View *view) {
  const Document *document = &view->handle->document;
  Json json;
  JsonValue value;
  if (document->shape != DOCUMENT_BODY || !document->loaded) return (Text){0};
  Buffer *body = bind_buffer(L);
  Status status = buffer_add(body, document->before.bytes, document->before.size);
  if (status == STATUS_OK) status = buffer_add(body, document->after.bytes, document->after.size);
  if (status != STATUS_OK) bind_raise_status(L, status, "check");
  json_open(&json, body->bytes, body->size);
  json.tolerant = true;
  if (!json_value(&json, &value) || value.kind != JSON_OBJECT) return (Text){0};
  return text_plain(value.bytes, value.size);
}

/* Only a conversation has a history. */
static void find_bound_thinking(lua_State *L, const View *view, CheckTarget *target) {
  BoundRange range;
  bool has_history = view->draft == NULL && view->batch == NULL;
  if (!has_history || target_severity(target, CHECK_BOUND_THINKING) == SEVERITY_NONE) return;
  Status status = bound_thinking_of(view->conversation, &range);
  if (status != STATUS_OK) bind_raise_status(L, status, "check");
  target->bound_first = range.first;
  target->bound_end = range.end;
}

CheckTarget bind_check_target(lua_State *L, int index, const View *view) {
  static const char *const names[] = {"dialect", "profile", "traits", "model_known", "severity", "members", "calls",
                                      "codes", NULL};
  CheckTarget target = {.dialect = DIALECT_OPENAI};
  if (lua_type(L, index) == LUA_TTABLE) {
    bind_check_names(L, index, NULL, names);
    bind_get_field(L, index, "dialect");
    target.dialect = dialect_at(L, lua_gettop(L), view);
    read_traits(L, index, &target.profile);
    target.skips_members = !bind_flag_field(L, index, "members", true);
    if (bind_field(L, index, "profile")) {
      bind_expect(L, -1, "profile", LUA_TTABLE);
      read_profile(L, lua_gettop(L), &target.profile);
    }
  } else {
    target.dialect = dialect_at(L, index, view);
  }
  target.body = read_body(L, view);
  find_bound_thinking(L, view, &target);
  return target;
}
