/*
** JSON and Lua values.
**
**     null        ebb.null, a light userdata      number  integer or float
**     [..]        a table marked as a list        {..}    a table
**
** A number that no Lua number holds comes as raw: a table that is written as
** the text it holds.
*/
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/json_shape.h"
#include "bind/number.h"
#include "bind/open.h"
#include "bind/type.h"
#include "json/json.h"
#include "sandbox/guard.h"

static void push_null(lua_State *L) { lua_pushlightuserdata(L, NULL); }

/* ---- encoding ---- */

enum { TABLE_UNITS = 60, VALUE_UNITS = 10 };     /* fuel */
enum { SHAPE_DEPTHS = 6, SHAPE_TABLES = 16 };    /* shapes are kept at so many depths, of lists of so many elements */

typedef struct Encoder {
  lua_State *L;
  Buffer *out;
  int depth, indent;         /* indent 0: on one line */
  bool keep_raw;             /* raw JSON stays byte for byte in an indented text, too */
  size_t most;               /* bytes; 0: as many as there is memory for */
  Shape *shapes;             /* of the tables that were written last, by depth; NULL outside of a long list */
} Encoder;

static void put(Encoder *encoder, const char *bytes, size_t size) {
  if (encoder->most > 0 && encoder->out->size + size > encoder->most) {
    bind_raise_argument(encoder->L, "limit", NULL, "more than %I bytes", (lua_Integer)encoder->most);
  }
  Status status = buffer_add(encoder->out, bytes, size);
  if (status != STATUS_OK) bind_raise_status(encoder->L, status, "json.encode");
}

static void put_newline(Encoder *encoder) {
  static const char SPACES[] = "                                ";
  if (encoder->indent == 0) return;
  put(encoder, "\n", 1);
  for (size_t left = (size_t)(encoder->indent * encoder->depth); left > 0;) {
    size_t size = min_size(left, sizeof SPACES - 1);
    put(encoder, SPACES, size);
    left -= size;
  }
}

static void put_colon(Encoder *encoder) { put(encoder, ": ", encoder->indent > 0 ? 2 : 1); }

static void put_text(Encoder *encoder, Text text) {
  size_t valid = utf8_check(text.bytes, text.size);
  if (valid < text.size) {
    bind_raise_argument(encoder->L, "encoding", NULL, "a string is not UTF-8 at byte %I", (lua_Integer)valid + 1);
  }
  put(encoder, "\"", 1);
  Status status = text_escape(text, encoder->out);
  if (status != STATUS_OK) bind_raise_status(encoder->L, status, "json.encode");
  put(encoder, "\"", 1);
}

static void put_string(Encoder *encoder, int index) { put_text(encoder, bind_text(encoder->L, index)); }

static void put_number(Encoder *encoder, int index) {
  char text[BIND_NUMBER];
  size_t size;
  if (lua_isinteger(encoder->L, index)) {
    size = bind_write_integer(lua_tointeger(encoder->L, index), text);
  } else {
    double number = lua_tonumber(encoder->L, index);
    if (!isfinite(number)) bind_raise_argument(encoder->L, "argument", NULL, "JSON has no %f", number);
    size = bind_write_float(number, true, text);
  }
  put(encoder, text, size);
}

/* Writes the value at index; raises for functions, userdata and threads, which have no JSON form. */
static void put_value(Encoder *encoder, int index);

/* Pushes room for shapes if the list is long and none has been pushed; true if it did. */
static bool push_shapes(Encoder *encoder, lua_Integer count) {
  if (encoder->shapes != NULL || count < SHAPE_TABLES) return false;
  encoder->shapes = lua_newuserdatauv(encoder->L, SHAPE_DEPTHS * sizeof *encoder->shapes, 0);
  for (int i = 0; i < SHAPE_DEPTHS; i++) encoder->shapes[i].count = 0;
  return true;
}

static void put_list(Encoder *encoder, int index) {
  lua_Integer count = (lua_Integer)lua_rawlen(encoder->L, index);
  bool pushed = push_shapes(encoder, count);
  put(encoder, "[", 1);
  encoder->depth++;
  for (lua_Integer i = 1; i <= count; i++) {
    if (i > 1) put(encoder, ",", 1);
    put_newline(encoder);
    lua_rawgeti(encoder->L, index, i);
    put_value(encoder, lua_gettop(encoder->L));
    lua_pop(encoder->L, 1);
  }
  encoder->depth--;
  if (count > 0) put_newline(encoder);
  put(encoder, "]", 1);
  if (!pushed) return;
  encoder->shapes = NULL;
  lua_pop(encoder->L, 1);
}

static int compare_texts(const void *a, const void *b) { return text_compare(*(const Text *)a, *(const Text *)b); }

/* Pushes the name of a key that is no text, for errors: of several the least, so that it is the same in each run. */
static const char *push_other_key(lua_State *L, int index) {
  const char *least = NULL;
  lua_pushnil(L);            /* ... least */
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    int kind = lua_type(L, -2);
    if (kind == LUA_TSTRING) continue;
    if (kind == LUA_TNUMBER) luaL_tolstring(L, -2, NULL);
    else lua_pushstring(L, lua_typename(L, kind));
    if (least == NULL || strcmp(lua_tostring(L, -1), least) < 0) {
      least = lua_tostring(L, -1);
      lua_copy(L, -1, -4);
    }
    lua_pop(L, 1);
  }
  return least;
}

Text *bind_push_keys(lua_State *L, int index, size_t *count) {
  size_t keys = 0, at = 0;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) keys++;
  Text *texts = lua_newuserdatauv(L, keys * sizeof *texts + 1, 0);
  for (lua_pushnil(L); lua_next(L, index) != 0 && at < keys; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      bind_raise_argument(L, "argument", NULL, "a table is a list (1 to n) or has string keys, but this has %s",
                          push_other_key(L, index));
    }
    texts[at++] = bind_text(L, -2);
  }
  qsort(texts, at, sizeof *texts, compare_texts);
  *count = at;
  return texts;
}

static void put_member(Encoder *encoder, int index, bool first) {
  lua_State *L = encoder->L;               /* ... key */
  if (!first) put(encoder, ",", 1);
  put_newline(encoder);
  put_string(encoder, -1);
  put_colon(encoder);
  lua_rawget(L, index);                    /* ... value */
  put_value(encoder, lua_gettop(L));
  lua_pop(L, 1);
}

/* Fills in what stands before each value, by writing it; without the comma before the first. */
static void fill_leads(Encoder *encoder, Shape *shape) {
  size_t from = encoder->out->size;
  for (uint32_t i = 0; i < shape->count; i++) {
    Text key = shape->keys[shape->order[i]];
    if (i > 0) put(encoder, ",", 1);
    put_newline(encoder);
    put_text(encoder, key);
    put_colon(encoder);
    size_t size = encoder->out->size - from;
    if (size > SHAPE_BYTES) {
      shape->count = 0;
      break;
    }
    shape->ends[i] = (uint16_t)size;
  }
  if (shape->count > 0) memcpy(shape->leads, encoder->out->bytes + from, encoder->out->size - from);
  encoder->out->size = from;
}

/* Writes the members of a table with the keys of the one before it at this depth; false, with nothing written, if it
   has others: then its keys are learned. */
static bool put_members_alike(Encoder *encoder, int index) {
  lua_State *L = encoder->L;
  if (encoder->shapes == NULL || encoder->depth > SHAPE_DEPTHS) return false;
  Shape *shape = &encoder->shapes[encoder->depth - 1];
  if (!shape_push_values(L, index, shape)) {
    if (shape_learn(L, index, shape)) fill_leads(encoder, shape);
    return false;
  }
  int first = lua_gettop(L) + 1 - (int)shape->count;
  guard_charge(L, VALUE_UNITS * shape->count);
  for (uint32_t i = 0, from = 0; i < shape->count; from = shape->ends[i++]) {
    put(encoder, shape->leads + from, shape->ends[i] - from);
    put_value(encoder, first + shape->order[i]);
  }
  lua_settop(L, first - 1);
  return true;
}

static void put_members(Encoder *encoder, int index) {
  lua_State *L = encoder->L;
  size_t count;
  Text *keys = bind_push_keys(L, index, &count);
  guard_charge(L, VALUE_UNITS * count);
  for (size_t i = 0; i < count; i++) {
    lua_pushlstring(L, keys[i].bytes, keys[i].size);
    put_member(encoder, index, i == 0);
  }
  lua_pop(L, 1);
}

static void put_object(Encoder *encoder, int index) {
  size_t before = encoder->out->size + 1;
  put(encoder, "{", 1);
  encoder->depth++;
  if (!put_members_alike(encoder, index)) put_members(encoder, index);
  encoder->depth--;
  if (encoder->out->size > before) put_newline(encoder);
  put(encoder, "}", 1);
}

/* Valid JSON may stand too deep within other values. */
static void check_depth(Encoder *encoder, Text raw) {
  Json json;
  JsonValue value;
  if (encoder->depth == 0) return;
  json_open(&json, raw.bytes, raw.size);
  json.depth = (uint32_t)encoder->depth;
  if (json_value(&json, &value)) return;
  bind_raise(encoder->L, "limit", NULL, "more than %d levels", JSON_DEPTH_MAX);
}

/* Writes the next value of valid JSON with the white space of this encoder. */
static void put_indented(Encoder *encoder, Json *json) {
  JsonKind kind;
  JsonValue value;
  Text key;
  bool follows = false;
  if (!json_peek(json, &kind)) return;
  if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
    if (json_value(json, &value)) put(encoder, value.bytes, value.size);
    return;
  }
  json_enter(json);
  put(encoder, kind == JSON_OBJECT ? "{" : "[", 1);
  encoder->depth++;
  for (; kind == JSON_OBJECT ? json_next_member(json, &key) : json_next_element(json); follows = true) {
    if (follows) put(encoder, ",", 1);
    put_newline(encoder);
    if (kind == JSON_OBJECT) {
      put(encoder, "\"", 1);
      put(encoder, key.bytes, key.size);
      put(encoder, "\"", 1);
      put_colon(encoder);
    }
    put_indented(encoder, json);
  }
  encoder->depth--;
  if (follows) put_newline(encoder);
  put(encoder, kind == JSON_OBJECT ? "}" : "]", 1);
}

/* Byte for byte on one line, or if so asked; numbers, strings and the order of keys stay in an indented text, too. */
static void put_raw(Encoder *encoder, Text raw) {
  Json json;
  if (encoder->indent == 0 || encoder->keep_raw) {
    put(encoder, raw.bytes, raw.size);
    return;
  }
  json_open(&json, raw.bytes, raw.size);
  put_indented(encoder, &json);
  assert(json.status == STATUS_OK);
}

/* Writes a table: raw JSON as it is, a list if it has elements or the mark of lists, else an object. Raises for
   mixed keys and above JSON_DEPTH_MAX levels, where a table that contains itself ends, too. */
static void put_table(Encoder *encoder, int index) {
  lua_State *L = encoder->L;
  if (bind_json_mark(L, index) == JSON_MARK_RAW) {
    lua_rawgeti(L, index, 1);
    Text raw = bind_text(L, -1);
    check_depth(encoder, raw);
    put_raw(encoder, raw);
    lua_pop(L, 1);
    return;
  }
  if (encoder->depth >= JSON_DEPTH_MAX) {
    bind_raise_argument(L, "limit", "does a table hold itself?", "more than %d levels", JSON_DEPTH_MAX);
  }
  guard_check_stack(L, 8, "JSON is nested too deeply");
  guard_charge(L, TABLE_UNITS);
  if (lua_rawlen(L, index) > 0 || bind_json_mark(L, index) == JSON_MARK_LIST) {
    lua_Integer keys = 0;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) keys++;
    guard_charge(L, VALUE_UNITS * (uint64_t)keys);
    if (keys != (lua_Integer)lua_rawlen(L, index)) {
      bind_raise_argument(L, "argument", NULL, "a table is a list (1 to n) or has string keys, not both");
    }
    put_list(encoder, index);
  } else {
    put_object(encoder, index);
  }
}

static void put_value(Encoder *encoder, int index) {
  lua_State *L = encoder->L;
  switch (lua_type(L, index)) {
  case LUA_TBOOLEAN:
    if (lua_toboolean(L, index)) put(encoder, "true", 4);
    else put(encoder, "false", 5);
    return;
  case LUA_TNUMBER: put_number(encoder, index); return;
  case LUA_TSTRING: put_string(encoder, index); return;
  case LUA_TTABLE: put_table(encoder, index); return;
  case LUA_TLIGHTUSERDATA:
    if (lua_touserdata(L, index) == NULL) {
      put(encoder, "null", 4);
      return;
    }
    break;
  default: break;
  }
  bind_raise_argument(L, "argument", NULL, "a %s has no JSON form", luaL_typename(L, index));
}

void bind_encode(lua_State *L, int index, Buffer *out) {
  Encoder encoder = {.L = L, .out = out};
  put_value(&encoder, lua_absindex(L, index));
}

void bind_encode_within(lua_State *L, int index, int depth, size_t most, Buffer *out) {
  Encoder encoder = {.L = L, .out = out, .depth = depth, .most = most};
  put_value(&encoder, lua_absindex(L, index));
}

const char *const BIND_MESSAGE_KEYS[BIND_MESSAGE_KEY_COUNT] = {"id",         "role",         "name",      "content",
                                                               "tool_calls", "tool_call_id", "timestamp", "metadata"};

static bool is_message_key(Text key) {
  for (size_t i = 0; i < BIND_MESSAGE_KEY_COUNT; i++) {
    if (text_equal(key, text_of(BIND_MESSAGE_KEYS[i]))) return true;
  }
  return false;
}

#define WINDOW_TYPE "\"type\":\"window\""

/* {window = "todo"} is short for {type = "window", window = "todo"}. */
static bool names_window(lua_State *L, int index) {
  int top = lua_gettop(L);
  bool names = bind_get_field(L, index, "window") == LUA_TSTRING && bind_get_field(L, index, "role") == LUA_TNIL &&
               bind_get_field(L, index, "type") == LUA_TNIL;
  lua_settop(L, top);
  return names;
}

void bind_encode_message(lua_State *L, int index, Buffer *out) {
  Encoder encoder = {.L = L, .out = out};
  bool first = true;
  index = lua_absindex(L, index);
  if (bind_json_mark(L, index) == JSON_MARK_RAW || lua_rawlen(L, index) > 0) {
    put_value(&encoder, index);
    return;
  }
  put(&encoder, "{", 1);
  encoder.depth++;
  if (names_window(L, index)) {
    put(&encoder, WINDOW_TYPE, strlen(WINDOW_TYPE));
    first = false;
  }
  for (size_t i = 0; i < BIND_MESSAGE_KEY_COUNT; i++) {
    lua_pushstring(L, BIND_MESSAGE_KEYS[i]);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, index) == LUA_TNIL) {
      lua_pop(L, 2);
      continue;
    }
    lua_pop(L, 1);
    put_member(&encoder, index, first);
    first = false;
  }
  size_t count;
  Text *keys = bind_push_keys(L, index, &count);
  for (size_t i = 0; i < count; i++) {
    if (is_message_key(keys[i])) continue;
    lua_pushlstring(L, keys[i].bytes, keys[i].size);
    put_member(&encoder, index, first);
    first = false;
  }
  lua_pop(L, 1);
  put(&encoder, "}", 1);
}

/* encode(value, {indent = n, keep_raw = boolean, newline = boolean}) -> text, on request with a newline at its end */
static int l_encode(lua_State *L) {
  static const char *const names[] = {"indent", "keep_raw", "newline", NULL};
  uint32_t indent = 0;
  bool keep_raw = false, newline = false;
  bind_expect_any(L, 1);
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    bind_check_names(L, 2, NULL, names);
    bind_count_field(L, 2, "indent", &indent);
    keep_raw = bind_flag_field(L, 2, "keep_raw", false);
    newline = bind_flag_field(L, 2, "newline", false);
  }
  Buffer *out = bind_buffer(L);
  Encoder encoder = {.L = L, .out = out, .indent = indent > 16 ? 16 : (int)indent, .keep_raw = keep_raw};
  put_value(&encoder, 1);
  if (newline) put(&encoder, "\n", 1);
  lua_pushlstring(L, out->bytes, out->size);
  return 1;
}

/* array(list) -> list */
static int l_array(lua_State *L) {
  bind_expect(L, 1, NULL, LUA_TTABLE);
  lua_settop(L, 1);
  bind_set_json_mark(L, JSON_MARK_LIST);
  return 1;
}

/* raw(text) -> table */
static int l_raw(lua_State *L) {
  Text text = bind_text(L, 1);
  Json json;
  JsonValue value;
  json_open(&json, text.bytes, text.size);
  if (!json_value(&json, &value) || !json_end(&json)) {
    return bind_raise(L, status_code(json.status), NULL, "expected %s at byte %I", json.expected,
                      (lua_Integer)(json.error - text.bytes) + 1);
  }
  bind_push_raw_json(L, value.bytes, value.size);
  return 1;
}

void bind_open_json(lua_State *L) {
  static const BindMethod functions[] = {
    {"decode", bind_json_decode, "text options", CHARGE_TEXT},
    {"decode_at", bind_json_decode_at, "text position options", CHARGE_TEXT},
    {"encode", l_encode, "value options", CHARGE_TEXT},
    {"array", l_array, "list", CHARGE_STEP},
    {"raw", l_raw, "text", CHARGE_STEP},
    BIND_END,
  };
  bind_open_json_marks(L);
  lua_newtable(L);
  bind_functions(L, "ebb.json", functions);
  push_null(L);
  lua_setfield(L, -2, "null");
}
