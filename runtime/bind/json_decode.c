/*
** JSON becomes Lua values; see json.c for what stands for what.
*/
#include <assert.h>
#include <math.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/number.h"
#include "json/json.h"
#include "json/source_position.h"
#include "sandbox/guard.h"

typedef struct Decoder {
  lua_State *L;
  Json json;
  int raw_keys;              /* table of keys whose values stay raw; 0: none */
  bool unique;               /* a name that stands twice in an object is refused */
  bool stops;                /* at a script's limits, looked at after some values; nothing needs an end then */
  uint32_t values;
} Decoder;

enum { VALUES_OF_LOOK = 64 };

/* Does a double give back the digits it was read from? */
static bool survives(const JsonValue *value) {
  int digits = 0;
  bool leading = true;
  for (size_t i = 0; i < value->size; i++) {
    char c = value->bytes[i];
    if (c == 'e' || c == 'E') break;
    if (c < '0' || c > '9') continue;
    leading = leading && c == '0';
    digits += !leading;
  }
  return digits <= 17;
}

static void push_number(lua_State *L, const JsonValue *value) {
  int64_t integer;
  char text[64];
  if (json_integer(value, &integer)) {
    lua_pushinteger(L, integer);
    return;
  }
  bool whole = memchr(value->bytes, '.', value->size) == NULL && memchr(value->bytes, 'e', value->size) == NULL &&
               memchr(value->bytes, 'E', value->size) == NULL;
  if (whole || value->size >= sizeof text || !survives(value)) {
    bind_push_raw_json(L, value->bytes, value->size);
    return;
  }
  memcpy(text, value->bytes, value->size);
  text[value->size] = '\0';
  double number = bind_read_float(text);
  if (isfinite(number)) lua_pushnumber(L, number);
  else bind_push_raw_json(L, value->bytes, value->size);
}

static bool push_value(Decoder *decoder);

/* Elements, and names with their values, wait on the stack, up to so many, for a table of the right size: one that
   grows is built five times until it has nine of them. */
enum { WAITING_MAX = 32 };

/* Moves the values above `base` into a new list there. */
static void gather_list(lua_State *L, int base) {
  int count = lua_gettop(L) - base;
  lua_createtable(L, count, 0);
  bind_set_json_mark(L, JSON_MARK_LIST);
  lua_insert(L, base + 1);
  for (int i = count; i > 0; i--) lua_rawseti(L, base + 1, i);
  assert(lua_gettop(L) == base + 1);
}

static bool push_list(Decoder *decoder) {
  lua_State *L = decoder->L;
  int base = lua_gettop(L);
  lua_Integer count = 0;
  if (!json_enter(&decoder->json)) return false;
  while (json_next_element(&decoder->json)) {
    if (!push_value(decoder)) return false;
    if (++count == WAITING_MAX) gather_list(L, base);
    else if (count > WAITING_MAX) lua_rawseti(L, base + 1, count);
  }
  if (decoder->json.status != STATUS_OK) return false;
  if (count < WAITING_MAX) gather_list(L, base);
  return true;
}

/* True if the value of the name on top stays raw. */
static bool wants_raw(const Decoder *decoder) {
  lua_State *L = decoder->L;
  if (decoder->raw_keys == 0) return false;
  lua_pushvalue(L, -1);
  lua_rawget(L, decoder->raw_keys);
  bool wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return wanted;
}

/* True if the table under the name on top has that name. */
static bool has_name(lua_State *L) {
  lua_pushvalue(L, -1);
  bool has = lua_rawget(L, -3) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

/* Moves the names and values above `base` into a new table there; of one name the last value counts. */
static void gather_object(lua_State *L, int base) {
  int count = (lua_gettop(L) - base) / 2;
  lua_createtable(L, 0, count);
  lua_insert(L, base + 1);
  for (int i = 0; i < count; i++) {
    lua_pushvalue(L, base + 2 + 2 * i);
    lua_pushvalue(L, base + 3 + 2 * i);
    lua_rawset(L, base + 1);
  }
  lua_settop(L, base + 1);
}

/* Pushes the value of the name on top. */
static bool push_member(Decoder *decoder) {
  JsonValue value;
  if (!wants_raw(decoder)) return push_value(decoder);
  if (!json_value(&decoder->json, &value)) return false;
  bind_push_raw_json(decoder->L, value.bytes, value.size);
  return true;
}

static bool push_object(Decoder *decoder) {
  lua_State *L = decoder->L;
  Text key;
  int base = lua_gettop(L), waiting_max = decoder->unique ? 0 : WAITING_MAX, count = 0;
  if (decoder->unique) lua_newtable(L);
  if (!json_enter(&decoder->json)) return false;
  for (; json_next_member(&decoder->json, &key); count++) {
    if (count == waiting_max && !decoder->unique) gather_object(L, base);
    guard_check_stack(L, 6, "JSON is nested too deeply");
    bind_push_text(L, key);
    bool twice = decoder->unique && has_name(L);
    if (twice) return json_fail(&decoder->json, STATUS_SYNTAX, key.bytes - 1, "each name once");
    if (!push_member(decoder)) return false;
    if (count >= waiting_max) lua_rawset(L, base + 1);
  }
  if (decoder->json.status != STATUS_OK) return false;
  if (count <= waiting_max && !decoder->unique) gather_object(L, base);
  return true;
}

static bool push_value(Decoder *decoder) {
  lua_State *L = decoder->L;
  JsonKind kind;
  JsonValue value;
  guard_check_stack(L, 6, "JSON is nested too deeply");
  if (decoder->stops && ++decoder->values % VALUES_OF_LOOK == 0) guard_charge_objects(L, 0);   /* memory has paid */
  if (!json_peek(&decoder->json, &kind)) return false;
  if (kind == JSON_ARRAY) return push_list(decoder);
  if (kind == JSON_OBJECT) return push_object(decoder);
  if (!json_value(&decoder->json, &value)) return false;
  if (kind == JSON_STRING) bind_push_text(L, json_text(&value));
  else if (kind == JSON_NUMBER) push_number(L, &value);
  else if (kind == JSON_NULL) lua_pushlightuserdata(L, NULL);
  else lua_pushboolean(L, kind == JSON_TRUE);
  return true;
}

void bind_push_json(lua_State *L, const char *bytes, size_t size) {
  Decoder decoder = {.L = L};
  json_open(&decoder.json, bytes, size);
  push_value(&decoder);
}

bool bind_push_json_value(lua_State *L, Json *json) {
  Decoder decoder = {.L = L, .json = *json};
  bool good = push_value(&decoder);
  *json = decoder.json;
  return good;
}

/* Reads the options `raw` and `unique` of the table at `index`, which may be nil or absent. */
static void read_decode_options(lua_State *L, int index, Decoder *decoder) {
  static const char *const names[] = {"raw", "unique", NULL};
  if (lua_isnoneornil(L, index)) return;
  bind_check_names(L, index, NULL, names);
  if (bind_field(L, index, "unique")) {
    bind_expect(L, -1, "unique", LUA_TBOOLEAN);
    decoder->unique = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  if (!bind_field(L, index, "raw")) return;
  bind_expect(L, -1, "raw", LUA_TTABLE);
  decoder->raw_keys = lua_gettop(L);
}

/* nil and an error object with the place in the text, as "line:byte" */
static int refuse_syntax(lua_State *L, Text text, const Json *json) {
  SourcePosition place = source_position(text.bytes, text.size, (size_t)(json->error - text.bytes));
  const char *message = lua_pushfstring(L, "%I:%I: expected %s", (lua_Integer)place.line, (lua_Integer)place.byte,
                                        json->expected);
  return bind_refuse(L, status_code(json->status), message);
}

/* decode(text, {raw = {key = true}, unique = boolean}) -> value | nil, error. unique: an object that has a
   name twice is refused; else the last value counts. */
int bind_json_decode(lua_State *L) {
  Text text = bind_text(L, 1);
  Decoder decoder = {.L = L, .stops = true};
  lua_settop(L, 2);
  read_decode_options(L, 2, &decoder);
  json_open(&decoder.json, text.bytes, text.size);
  if (push_value(&decoder) && json_end(&decoder.json)) return 1;
  return refuse_syntax(L, text, &decoder.json);
}

/* decode_at(text, position, options as above) -> the value that begins at this byte, the position
   behind it | nil, error. What follows the value is not read. */
int bind_json_decode_at(lua_State *L) {
  Text text = bind_text(L, 1);
  Decoder decoder = {.L = L, .stops = true};
  lua_settop(L, 3);
  size_t start = (size_t)bind_integer(L, 2, "position", 1, (lua_Integer)text.size + 1) - 1;
  read_decode_options(L, 3, &decoder);
  json_open(&decoder.json, text.bytes + start, text.size - start);
  if (!push_value(&decoder)) return refuse_syntax(L, text, &decoder.json);
  lua_pushinteger(L, decoder.json.at - text.bytes + 1);
  return 2;
}
