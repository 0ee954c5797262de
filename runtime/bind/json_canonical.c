/*
** One spelling for JSON that says the same: names sorted, each once (the last one counts), no white space, strings
** and numbers as the encoder writes them. Two messages are equal if these texts are.
**
** Members of the objects that are open stand in one stack; an object sorts its own, on top of it. The stack may move
** while the values are written, so members are found by their index.
*/
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/json.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "json/json.h"
#include "sandbox/guard.h"

typedef struct Member {
  Text name;                 /* as it is written: without escapes, or the canonical ones */
  JsonValue value;
  size_t place;              /* in its object */
} Member;

typedef struct Canonical {
  lua_State *L;
  Buffer *out, *members;     /* members: an array of Member */
} Canonical;

static void add(Canonical *c, const char *bytes, size_t size) {
  if (buffer_add(c->out, bytes, size) != STATUS_OK) bind_raise_status(c->L, STATUS_MEMORY, "json");
}

static void add_string(Canonical *c, Text text) {
  char scratch[4];
  Text run;
  add(c, "\"", 1);
  if (!text.escaped) add(c, text.bytes, text.size);
  while (text.escaped && text_run(&text, scratch, &run)) {
    if (text_escape(text_plain(run.bytes, run.size), c->out) != STATUS_OK) {
      bind_raise_status(c->L, STATUS_MEMORY, "json");
    }
  }
  add(c, "\"", 1);
}

/* Others than whole numbers go through Lua, as the decoder and the encoder have them. */
static void add_number(Canonical *c, const JsonValue *value) {
  char text[24];
  int64_t integer;
  if (json_integer(value, &integer)) {
    add(c, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)integer));
    return;
  }
  bind_push_json(c->L, value->bytes, value->size);
  bind_encode(c->L, -1, c->out);
  lua_pop(c->L, 1);
}

/* By name, then by place. Names are compared as plain bytes. */
static int compare_members(const void *a, const void *b) {
  const Member *one = a, *other = b;
  Text rest = one->name, other_rest = other->name, run = {0}, other_run = {0};
  char scratch[4], other_scratch[4];
  for (;;) {
    bool more = run.size > 0 || text_run(&rest, scratch, &run);
    bool other_more = other_run.size > 0 || text_run(&other_rest, other_scratch, &other_run);
    if (!more || !other_more) {
      if (more != other_more) return more ? 1 : -1;
      return one->place < other->place ? -1 : one->place > other->place;
    }
    size_t size = run.size < other_run.size ? run.size : other_run.size;
    int order = memcmp(run.bytes, other_run.bytes, size);
    if (order != 0) return order;
    run = text_plain(run.bytes + size, run.size - size);
    other_run = text_plain(other_run.bytes + size, other_run.size - size);
  }
}

/* A member of the stack; valid until another one is added. */
static Member *member_at(const Canonical *c, size_t index) {
  assert(index < c->members->size / sizeof(Member));
  return (Member *)(void *)c->members->bytes + index;
}

/* Adds the members of the object at the cursor to the stack, sorted; returns their number. */
static size_t read_members(Canonical *c, Json *json) {
  size_t base = c->members->size / sizeof(Member), count = 0;
  for (Member member; json_next_member(json, &member.name) && json_value(json, &member.value); count++) {
    member.place = count;
    if (buffer_add(c->members, &member, sizeof member) != STATUS_OK) {
      bind_raise_status(c->L, STATUS_MEMORY, "json");
    }
  }
  if (count > 1) qsort(member_at(c, base), count, sizeof(Member), compare_members);
  return count;
}

static void add_next(Canonical *c, Json *json);

static void add_object(Canonical *c, Json *json) {
  size_t base = c->members->size / sizeof(Member), count = read_members(c, json);
  bool follows = false;
  add(c, "{", 1);
  for (size_t i = base; i < base + count; i++) {
    Member member = *member_at(c, i);
    Json value;
    if (i + 1 < base + count && text_equal(member.name, member_at(c, i + 1)->name)) continue;
    if (follows) add(c, ",", 1);
    follows = true;
    add_string(c, member.name);
    add(c, ":", 1);
    json_open_value(&value, &member.value);
    value.tolerant = true;
    add_next(c, &value);
  }
  add(c, "}", 1);
  c->members->size = base * sizeof(Member);
}

static void add_list(Canonical *c, Json *json) {
  add(c, "[", 1);
  for (bool follows = false; json_next_element(json); follows = true) {
    if (follows) add(c, ",", 1);
    add_next(c, json);
  }
  add(c, "]", 1);
}

static void add_scalar(Canonical *c, Json *json) {
  JsonValue value;
  if (!json_value(json, &value)) return;
  if (value.kind == JSON_STRING) add_string(c, json_text(&value));
  else if (value.kind == JSON_NUMBER) add_number(c, &value);
  else add(c, value.bytes, value.size);
}

/* Adds the next value of valid JSON, which may have halves of surrogate pairs. */
static void add_next(Canonical *c, Json *json) {
  JsonKind kind;
  guard_check_stack(c->L, 4, "JSON is nested too deeply");
  if (!json_peek(json, &kind)) return;
  if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
    add_scalar(c, json);
  } else if (json_enter(json)) {
    if (kind == JSON_ARRAY) add_list(c, json);
    else add_object(c, json);
  }
}

static void push_canonical(Canonical *c, Text raw) {
  Json json;
  json_open(&json, raw.bytes, raw.size);
  json.tolerant = true;
  guard_charge_bytes(c->L, raw.size);
  buffer_reset(c->out);
  buffer_reset(c->members);
  add_next(c, &json);
  assert(json.status == STATUS_OK);
  lua_pushlstring(c->L, c->out->bytes, c->out->size);
}

static void push_role(lua_State *L, const Message *message) {
  bool window = message_content_kind(message) == CONTENT_WINDOW;
  lua_pushstring(L, window ? "window" : role_name(message_role(message)));
}

/* canonical_messages(list, first, last) -> their JSON in one spelling; their ids, by place from 1, of those that have
   one; their roles, "window" for items of windows */
static int l_canonical_messages(lua_State *L) {
  enum { TEXTS = 6, IDS, ROLES };
  View view = bind_view(L, 1);
  lua_Integer count = sequence_count(view.list);
  lua_Integer first = bind_integer(L, 2, "first", 1, count + 1), last = bind_integer(L, 3, "last", first - 1, count);
  int size = (int)(last - first + 1);
  lua_settop(L, 3);
  Canonical c = {.L = L, .out = bind_buffer(L), .members = bind_buffer(L)};
  lua_createtable(L, size, 0);
  lua_newtable(L);
  lua_createtable(L, size, 0);
  assert(lua_gettop(L) == ROLES);
  for (lua_Integer i = 1; i <= size; i++) {
    MessageId id = sequence_at(view.list, (uint32_t)(first + i - 2));
    const Message *message = store_message(conversation_store(view.conversation), id);
    Text name;
    push_canonical(&c, message_raw(message));
    lua_rawseti(L, TEXTS, i);
    push_role(L, message);
    lua_rawseti(L, ROLES, i);
    if (!message_field(message, FIELD_ID, &name)) continue;
    bind_push_text(L, name);
    lua_rawseti(L, IDS, i);
  }
  return 3;
}

static bool enter_object(Json *json) {
  JsonKind kind;
  return json_peek(json, &kind) && kind == JSON_OBJECT && json_enter(json);
}

static bool next_member(Json *json, Member *member) {
  return json_next_member(json, &member->name) && json_value(json, &member->value);
}

static bool same_value(const JsonValue *a, const JsonValue *b) {
  return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* differing_members(a, b) -> the names of the members that two canonical objects do not share, sorted */
static int l_differing_members(lua_State *L) {
  Text a = bind_text(L, 1), b = bind_text(L, 2);
  Json one, other;
  Member old = {0}, new = {0};
  json_open(&one, a.bytes, a.size);
  json_open(&other, b.bytes, b.size);
  lua_newtable(L);
  if (!enter_object(&one) || !enter_object(&other))
    return bind_raise_argument(L, "argument", NULL, "two objects are expected");
  bool has_old = next_member(&one, &old), has_new = next_member(&other, &new);
  for (lua_Integer n = 0; has_old || has_new;) {
    int order = !has_old ? 1 : !has_new ? -1 : compare_members(&old, &new);     /* places are all 0 */
    if (order != 0 || !same_value(&old.value, &new.value)) {
      bind_push_text(L, order > 0 ? new.name : old.name);
      lua_rawseti(L, -2, ++n);
    }
    if (order <= 0) has_old = next_member(&one, &old);
    if (order >= 0) has_new = next_member(&other, &new);
  }
  return 1;
}

void bind_open_canonical(lua_State *L) {
  static const BindMethod functions[] = {
    {"canonical_messages", l_canonical_messages, "list first last", CHARGE_LIST},
    {"differing_members", l_differing_members, "a b", CHARGE_TEXT},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
