#include "bind/copy_members.h"

#include <string.h>

#include "bind/argument.h"
#include "bind/json.h"
#include "sandbox/guard.h"

static const char *const ADDED_NAMES[ADDED_COUNT] = {"attachments", "origin", "own", "seq", "source", "source_id",
                                          "sources",     "trusted"};

AddedNames copy_members_push_names(lua_State *L) {
  AddedNames added = {.first = lua_gettop(L) + 1};
  guard_check_stack(L, ADDED_COUNT + 16, "working copies");
  for (size_t i = 0; i < ADDED_COUNT; i++) added.names[i] = lua_pushstring(L, ADDED_NAMES[i]);
  return added;
}

int copy_members_added(lua_State *L, const AddedNames *added, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return -1;
  const char *name = lua_tostring(L, index);
  for (size_t i = 0; i < ADDED_COUNT; i++) {
    if (name == added->names[i]) return (int)i;
  }
  return -1;
}

/* Pops the key and the value on top into the table under them, or a key with an added name into its new
   or old table `own`, at `own`; 0: it has none yet. */
static void put_member(lua_State *L, const AddedNames *added, int *own) {
  if (copy_members_added(L, added, -2) < 0) {
    lua_rawset(L, -3 - (*own != 0));
    return;
  }
  if (*own == 0) {
    lua_newtable(L);
    lua_insert(L, -3);                       /* copy own key value */
    *own = lua_gettop(L) - 2;
  }
  lua_rawset(L, *own);
}

void copy_members_set(lua_State *L, const AddedNames *added, AddedName name) {
  lua_pushvalue(L, added->first + (int)name);
  lua_insert(L, -2);
  lua_rawset(L, -3);
}

/* True for a text with more than white space, escaped or not. */
static bool says_something(Text content) {
  static const char blank_or_escape[7] = " \t\n\v\f\r\\";
  char scratch[4];
  Text run;
  if (content.size > 0 && memchr(blank_or_escape, content.bytes[0], 7) == NULL) return true;   /* most do */
  while (text_run(&content, scratch, &run)) {
    for (size_t i = 0; i < run.size; i++) {
      if (memchr(blank_or_escape, run.bytes[i], 6) == NULL) return true;
    }
  }
  return false;
}

bool copy_members_speaks(const Message *message) {
  ContentKind kind = message_content_kind(message);
  if (kind == CONTENT_STRING && says_something(message_content(message))) return true;
  bool is_text = kind == CONTENT_STRING || kind == CONTENT_NONE;
  return is_text && message_form(message) == FORM_CONTENT && message_call_count(message) > 0;
}

bool copy_members_push(lua_State *L, const AddedNames *added, const Message *message, MessageId id) {
  Text raw = message_raw(message), key;
  Json json;
  int own = 0;
  bool refers = false;
  lua_createtable(L, 0, 8);                  /* role, content, source, seq, origin, and some more */
  json_open_valid(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    bind_push_text(L, key);
    more = bind_push_json_value(L, &json);
    if (text_equal(key, text_of("_attachments"))) refers = true;
    put_member(L, added, &own);
  }
  refers = refers || own != 0;
  if (own != 0) copy_members_set(L, added, ADDED_OWN);
  lua_pushliteral(L, "history");
  copy_members_set(L, added, ADDED_SOURCE);
  bind_get_field(L, -1, "id");
  copy_members_set(L, added, ADDED_SOURCE_ID);
  lua_pushinteger(L, id);
  copy_members_set(L, added, ADDED_SEQ);
  lua_pushinteger(L, id);
  copy_members_set(L, added, ADDED_ORIGIN);
  return !refers && copy_members_speaks(message);
}

bool copy_members_is_added(Text key) {
  if (!key.escaped && (key.size == 0 || memchr("aost", key.bytes[0], 4) == NULL)) return false;   /* most keys */
  for (size_t i = 0; i < ADDED_COUNT; i++) {
    if (text_is(key, ADDED_NAMES[i])) return true;
  }
  return false;
}

void copy_members_fill(lua_State *L, const Message *message) {
  Text raw = message_raw(message), key;
  Json json;
  JsonValue value;
  bool has_content = bind_get_field(L, -1, "content") != LUA_TNIL;
  lua_pop(L, 1);
  json_open_valid(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    if (has_content && text_is(key, "content")) {
      more = json_value(&json, &value);
      continue;
    }
    bind_push_text(L, key);
    more = bind_push_json_value(L, &json);
    lua_rawset(L, -3);
  }
  lua_pushliteral(L, "source_id");
  bind_get_field(L, -2, "id");
  lua_rawset(L, -3);
}
