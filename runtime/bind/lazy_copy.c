#include "bind/lazy_copy.h"

#include <assert.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "json/json_sorted.h"

static const char CONVERSATION;      /* its address is the key of the conversation in a metatable */

/* ---- which messages ---- */

/* True if the message is {"role":"..","content":".."} and nothing else, as most are written. */
static bool is_bare(const Message *message) {
  static const char head[] = "{\"role\":\"", middle[] = "\",\"content\":\"";
  Text raw = message_raw(message), role = message_role_text(message), content = message_content(message);
  size_t start = sizeof head - 1 + role.size + sizeof middle - 1;
  if (raw.size != start + content.size + 2 || content.bytes != raw.bytes + start) return false;
  return memcmp(raw.bytes, head, sizeof head - 1) == 0 && role.bytes == raw.bytes + sizeof head - 1 &&
         memcmp(role.bytes + role.size, middle, sizeof middle - 1) == 0;
}

/* Moves the cursor from a key to the value behind it; over the content, whose end is known, in one step. */
static bool skip_member(Json *json, Text key, Text content) {
  JsonValue value;
  if (!text_is(key, "content")) return json_value(json, &value);
  json_skip_blank(json);
  assert(json->at + 1 == content.bytes);
  json->at = content.bytes + content.size + 1;
  return true;
}

bool lazy_copy_fits(const Message *message) {
  if (message_content_kind(message) != CONTENT_STRING || message_form(message) != FORM_CONTENT) return false;
  Text content = message_content(message), raw = message_raw(message), key;
  if (content.size == 0 || memchr(" \t\n\v\f\r\\", content.bytes[0], 7) != NULL) return false;   /* it may be blank */
  if (message_role_text(message).escaped) return false;
  if (is_bare(message)) return true;
  Json json;
  json_open(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    if (key.escaped || copy_members_is_added(key) || text_is(key, "_attachments")) return false;
    more = skip_member(&json, key, content);
  }
  return json.status == STATUS_OK;
}

/* ---- copies ---- */

void lazy_copy_push(lua_State *L, const AddedNames *added, int metatable, MessageId id) {
  lua_createtable(L, 0, 4);                  /* source, seq, origin; and a content */
  lua_pushliteral(L, "history");
  copy_members_set(L, added, ADDED_SOURCE);
  lua_pushinteger(L, id);
  copy_members_set(L, added, ADDED_SEQ);
  lua_pushinteger(L, id);
  copy_members_set(L, added, ADDED_ORIGIN);
  lua_pushvalue(L, metatable);
  lua_setmetatable(L, -2);
}

LazyWalk lazy_walk_begin(lua_State *L) {
  lua_pushliteral(L, "origin");
  lua_pushliteral(L, "content");
  return (LazyWalk){.names = lua_gettop(L) - 1};
}

/* Pushes a member of the table at `index`, whose name lies at `name`. */
static int get_member(lua_State *L, int index, int name) {
  index = lua_absindex(L, index);
  lua_pushvalue(L, name);
  return lua_rawget(L, index);
}

int lazy_copy_own_content(lua_State *L, const LazyWalk *walk, int index) {
  return get_member(L, index, walk->names + 1);
}

const Message *lazy_copy_message(lua_State *L, LazyWalk *walk, int index) {
  index = lua_absindex(L, index);
  if (!lua_getmetatable(L, index)) return NULL;
  if (lua_topointer(L, -1) != walk->metatable) {
    if (lua_rawgetp(L, -1, &CONVERSATION) == LUA_TNIL) {
      lua_pop(L, 2);
      return NULL;
    }
    walk->store = conversation_store(bind_check_conversation(L, -1)->conversation);
    walk->metatable = lua_topointer(L, -2);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  get_member(L, index, walk->names);
  lua_Integer id = lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (id < 1 || id > store_count(walk->store) || !store_has(walk->store, (MessageId)id)) {
    bind_raise(L, "closed", "read the messages of a result before batches are pruned",
               "the conversation no longer has message %I", id);
  }
  return store_message(walk->store, (MessageId)id);
}

void lazy_copy_fill(lua_State *L, int index, const Message *message) {
  lua_pushvalue(L, index);
  copy_members_fill(L, message);
  lua_pushnil(L);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

Text lazy_copy_text(lua_State *L, const LazyWalk *walk, int index, const Message *message, Buffer *decoded) {
  if (lazy_copy_own_content(L, walk, index) != LUA_TNIL) return bind_text(L, -1);
  Text text = message_content(message);
  if (!text.escaped) return text;
  buffer_reset(decoded);
  Status status = text_decode(text, decoded);
  if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
  return text_plain(decoded->bytes, decoded->size);
}

void lazy_copy_rewrite(lua_State *L, int index, Text content) {
  index = lua_absindex(L, index);
  lua_pushliteral(L, "content");
  lua_pushlstring(L, content.bytes, content.size);
  lua_rawset(L, index);
  lua_pushliteral(L, "seq");
  lua_pushnil(L);
  lua_rawset(L, index);
}

/* ---- what Lua sees ---- */

static const Message *own_message(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "origin");
  LazyWalk walk = {.names = lua_gettop(L)};  /* no content is read */
  return lazy_copy_message(L, &walk, 1);     /* NULL: it has been filled meanwhile */
}

/* Members that a lazy copy has as long as it is one; `seq`: of one that was rewritten. */
static bool push_known(lua_State *L, const Message *message) {
  Text key = bind_text(L, 2), id;
  if (text_is(key, "content")) bind_push_text(L, message_content(message));
  else if (text_is(key, "role")) bind_push_text(L, message_role_text(message));
  else if (!copy_members_is_added(key) && !is_bare(message)) return false;
  else if (text_is(key, "source_id") && message_field(message, FIELD_ID, &id)) bind_push_text(L, id);
  else lua_pushnil(L);
  return true;
}

/* __index(copy, key) -> value */
static int l_index(lua_State *L) {
  const Message *message = own_message(L);
  if (message != NULL && lua_type(L, 2) != LUA_TSTRING) return 0;
  if (message != NULL && push_known(L, message)) return 1;
  if (message != NULL) lazy_copy_fill(L, 1, message);
  lua_settop(L, 2);
  lua_rawget(L, 1);
  return 1;
}

/* __newindex(copy, key, value) */
static int l_newindex(lua_State *L) {
  const Message *message = own_message(L);
  if (message != NULL) lazy_copy_fill(L, 1, message);
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 0;
}

static int l_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_next(L, 1) != 0) return 2;
  lua_pushnil(L);
  return 1;
}

/* __pairs(copy) -> next, copy */
static int l_pairs(lua_State *L) {
  const Message *message = own_message(L);
  if (message != NULL) lazy_copy_fill(L, 1, message);
  lua_pushcfunction(L, l_next);
  lua_pushvalue(L, 1);
  return 2;
}

void lazy_copy_push_metatable(lua_State *L, int conversation) {
  static const luaL_Reg methods[] = {
    {"__index", l_index}, {"__newindex", l_newindex}, {"__pairs", l_pairs}, {NULL, NULL}};
  conversation = lua_absindex(L, conversation);
  lua_createtable(L, 0, 4);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, conversation);
  lua_rawsetp(L, -2, &CONVERSATION);
}

/* ---- JSON ---- */

bool lazy_copy_is_stored(lua_State *L, int index) {
  bool stored = bind_get_field(L, index, "content") == LUA_TNIL;
  stored = bind_get_field(L, index - (index < 0), "seq") != LUA_TNIL && stored;
  lua_pop(L, 2);
  return stored;
}

static void put(lua_State *L, Buffer *out, const char *bytes, size_t size) {
  Status status = buffer_add(out, bytes, size);
  if (status != STATUS_OK) bind_raise_status(L, status, "working.text");
}

/* The members of a message by BIND_MESSAGE_KEYS; bytes NULL: absent. False if it has others. */
static bool read_members(const Message *message, JsonValue values[BIND_MESSAGE_KEY_COUNT]) {
  Text raw = message_raw(message), key;
  Json json;
  memset(values, 0, BIND_MESSAGE_KEY_COUNT * sizeof *values);
  json_open(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    size_t i = 0;
    while (i < BIND_MESSAGE_KEY_COUNT && !text_is(key, BIND_MESSAGE_KEYS[i])) i++;
    if (i == BIND_MESSAGE_KEY_COUNT) return false;
    if (text_is(key, "content")) values[i].bytes = message_content(message).bytes;
    more = values[i].bytes != NULL ? skip_member(&json, key, message_content(message)) : json_value(&json, &values[i]);
  }
  return json.status == STATUS_OK;
}

/* Appends a value as it is written anew. */
static void put_value(lua_State *L, const JsonValue *value, Buffer *out) {
  bool written;
  Status status = json_sorted(value, out, &written);
  if (status != STATUS_OK) bind_raise_status(L, status, "working.text");
  if (written) return;
  bind_push_json(L, value->bytes, value->size);
  bind_encode_within(L, -1, 1, 0, out);
  lua_pop(L, 1);
}

bool lazy_copy_write(lua_State *L, int index, const Message *message, Buffer *out) {
  JsonValue values[BIND_MESSAGE_KEY_COUNT];
  bool is_first = true;
  if (bind_get_field(L, index, "content") != LUA_TSTRING || !read_members(message, values)) {
    lua_pop(L, 1);
    return false;
  }
  Text content = bind_text(L, -1);
  for (size_t i = 0; i < BIND_MESSAGE_KEY_COUNT; i++) {
    if (values[i].bytes == NULL) continue;
    put(L, out, is_first ? "{\"" : ",\"", 2);
    put(L, out, BIND_MESSAGE_KEYS[i], strlen(BIND_MESSAGE_KEYS[i]));
    put(L, out, "\":", 2);
    is_first = false;
    if (strcmp(BIND_MESSAGE_KEYS[i], "content") != 0) {
      put_value(L, &values[i], out);
      continue;
    }
    put(L, out, "\"", 1);
    Status status = text_escape(content, out);
    if (status != STATUS_OK) bind_raise_status(L, status, "working.text");
    put(L, out, "\"", 1);
  }
  put(L, out, "}", 1);
  lua_pop(L, 1);
  return true;
}
