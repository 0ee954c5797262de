#include "bind/lazy_copy.h"

#include <assert.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "dialect/read/message_form.h"
#include "dialect/read/reader.h"
#include "json/json_sorted.h"

/* Their addresses are the keys of the fork in a metatable, and of a rewritten message's id in a copy. */
static const char FORK, REWRITTEN;

/* ---- which messages ---- */

/* The member of messages that refer to files. */
static bool is_attachments(Text key) { return text_is(key, "_attachments"); }

bool lazy_copy_fits(const Message *message) {
  ContentKind kind = message_content_kind(message);
  if ((kind != CONTENT_STRING && kind != CONTENT_NONE) || message_form(message) != FORM_CONTENT) return false;
  if (!copy_members_speaks(message)) return false;
  if (message_role_text(message).escaped) return false;
  if (message_is_bare(message)) return true;
  Text raw = message_raw(message), key;
  Json json;
  JsonValue value;
  json_open_valid(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    if (key.escaped || copy_members_is_added(key) || is_attachments(key)) return false;
    more = message_member_value(message, &json, key, &value);
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
  lua_pushliteral(L, "seq");
  lua_pushliteral(L, "content");
  return (LazyWalk){.names = lua_gettop(L) - 1};
}

int lazy_copy_content(lua_State *L, const LazyWalk *walk, int index) {
  index = lua_absindex(L, index);
  lua_pushvalue(L, walk->names + 1);
  return lua_rawget(L, index);
}

/* The message of an id in the fork; raises if it is not there. */
static const Message *fork_message(lua_State *L, const LazyWalk *walk, lua_Integer id) {
  const Store *store = conversation_store(walk->fork);
  if (id < 1 || id > store_count(store) || !store_has(store, (MessageId)id)) {
    bind_raise(L, "closed", NULL, "the conversation has no message %I", id);
  }
  return conversation_message(walk->fork, (MessageId)id);
}

/* The id of the message that the lazy copy at `index` has now: the stored one, whose `seq` is there, or the rewritten
   one; 0: its `seq` was taken away, so that it is neither. */
static lua_Integer id_of(lua_State *L, LazyWalk *walk, int index) {
  lua_pushvalue(L, walk->names);
  walk->rewritten = false;
  if (lua_rawget(L, index) == LUA_TNIL) {
    lua_pop(L, 1);
    walk->rewritten = lua_rawgetp(L, index, &REWRITTEN) != LUA_TNIL;
  }
  lua_Integer id = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return id;
}

/* Makes the lazy copy at `index`, whose `seq` was taken away, a table like others. */
static void fill_by_origin(lua_State *L, const LazyWalk *walk, int index) {
  bind_get_field(L, index, "origin");
  lua_Integer origin = lua_tointeger(L, -1);
  lua_pop(L, 1);
  lazy_copy_fill(L, index, fork_message(L, walk, origin));
}

const Message *lazy_copy_message(lua_State *L, LazyWalk *walk, int index) {
  index = lua_absindex(L, index);
  if (!lua_getmetatable(L, index)) return NULL;
  if (lua_topointer(L, -1) != walk->metatable) {
    if (lua_rawgetp(L, -1, &FORK) == LUA_TNIL) {
      lua_pop(L, 2);
      return NULL;
    }
    walk->fork = bind_check_conversation(L, -1)->conversation;
    walk->metatable = lua_topointer(L, -2);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_Integer id = id_of(L, walk, index);
  if (id == 0) {
    fill_by_origin(L, walk, index);
    return NULL;
  }
  const Message *message = fork_message(L, walk, id);
  walk->id = (MessageId)id;
  return message;
}

void lazy_copy_fill(lua_State *L, int index, const Message *message) {
  lua_pushvalue(L, index);
  copy_members_fill(L, message);
  lua_pushnil(L);
  lua_rawsetp(L, -2, &REWRITTEN);
  lua_pushnil(L);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

Text lazy_copy_text(lua_State *L, const Message *message, Buffer *decoded) {
  Text text = message_content(message);
  if (!text.escaped) return text;
  buffer_reset(decoded);
  Status status = text_decode(text, decoded);
  if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
  return text_plain(decoded->bytes, decoded->size);
}

/* ---- what Lua sees ---- */

static const Message *own_message(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "seq");
  LazyWalk walk = {.names = lua_gettop(L)};  /* no content is read */
  return lazy_copy_message(L, &walk, 1);     /* NULL: it has been filled, meanwhile or now */
}

/* Members that a lazy copy has as long as it is one; `seq`: of one that was rewritten. */
static bool push_known(lua_State *L, const Message *message) {
  Text key = bind_text(L, 2), id;
  bool is_text = message_content_kind(message) == CONTENT_STRING;
  if (is_text && text_is(key, "content")) bind_push_text(L, message_content(message));
  else if (text_is(key, "role")) bind_push_text(L, message_role_text(message));
  else if (!copy_members_is_added(key) && !is_attachments(key) && !(is_text && message_is_bare(message))) return false;
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

void lazy_copy_push_metatable(lua_State *L, int fork) {
  static const luaL_Reg methods[] = {
    {"__index", l_index}, {"__newindex", l_newindex}, {"__pairs", l_pairs}, {NULL, NULL}};
  fork = lua_absindex(L, fork);
  lua_createtable(L, 0, 4);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, fork);
  lua_rawsetp(L, -2, &FORK);
}

/* ---- rewriting ---- */

static void put(lua_State *L, Buffer *out, const char *bytes, size_t size) {
  Status status = buffer_add(out, bytes, size);
  if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
}

/* The members of a message by BIND_MESSAGE_KEYS; bytes NULL: absent. False if it has others. */
static bool read_members(const Message *message, JsonValue values[BIND_MESSAGE_KEY_COUNT]) {
  Text raw = message_raw(message), key;
  Json json;
  memset(values, 0, BIND_MESSAGE_KEY_COUNT * sizeof *values);
  json_open_valid(&json, raw.bytes, raw.size);
  for (bool more = json_enter(&json); more && json_next_member(&json, &key);) {
    size_t i = 0;
    while (i < BIND_MESSAGE_KEY_COUNT && !text_is(key, BIND_MESSAGE_KEYS[i])) i++;
    if (i == BIND_MESSAGE_KEY_COUNT) return false;
    more = message_member_value(message, &json, key, &values[i]);
  }
  return json.status == STATUS_OK;
}

/* Appends a value as it is written anew. */
static void put_value(lua_State *L, const JsonValue *value, Buffer *out) {
  bool written;
  Status status = json_sorted(value, out, &written);
  if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
  if (written) return;
  bind_push_json(L, value->bytes, value->size);
  bind_encode_within(L, -1, 1, 0, out);
  lua_pop(L, 1);
}

/* Appends the message with another content as JSON, as a table with its members would be written. False, and *out is as
   it was, if it has members that such a table would order. */
static bool write_anew(lua_State *L, const Message *message, Text content, Buffer *out) {
  JsonValue values[BIND_MESSAGE_KEY_COUNT];
  bool is_first = true;
  if (!read_members(message, values)) return false;
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
    if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
    put(L, out, "\"", 1);
  }
  put(L, out, "}", 1);
  return true;
}

/* The same of any message, by such a table. */
static void write_as_table(lua_State *L, const Message *message, Text content, Buffer *out) {
  lua_newtable(L);
  lua_pushlstring(L, content.bytes, content.size);
  lua_setfield(L, -2, "content");
  copy_members_fill(L, message);
  lua_pushnil(L);
  lua_setfield(L, -2, "source_id");
  bind_encode_message(L, -1, out);
  lua_pop(L, 1);
}

/* Adds a message of that JSON to the fork's store. False, and the store is as it was, if that is over a limit. Raises
   for want of memory, when nothing else is held. `reader`: holds the shape, and is freed; or NULL. */
static bool store_rewritten(lua_State *L, Conversation *fork, Text raw, const MessageShape *shape, Reader *reader,
                            MessageId *id) {
  StoreMark mark = store_mark(conversation_store(fork));
  Status status = conversation_weigh_one(fork, conversation_list(fork), raw, false, shape, id);
  if (reader != NULL) reader_free(reader);
  if (status != STATUS_OK) store_rewind(conversation_store(fork), mark);
  if (status == STATUS_MEMORY) bind_raise_status(L, status, "working copy");
  return status == STATUS_OK;
}

/* Stores a message that is a role and a text (message_is_bare) with another text: what it becomes needs no reading. */
static bool rewrite_bare(lua_State *L, Conversation *fork, const Message *message, Text content, Buffer *out,
                         MessageId *id) {
  Text raw = message_raw(message), role = message_role_text(message);
  size_t start = (size_t)(message_content(message).bytes - raw.bytes);
  put(L, out, raw.bytes, start);
  Status status = text_escape(content, out);
  if (status != STATUS_OK) bind_raise_status(L, status, "working copy");
  size_t size = out->size - start;
  put(L, out, "\"}", 2);
  if (out->size > MESSAGE_BYTES_MAX) return false;
  MessageShape shape = reader_bare_shape(message_role(message), role.size, size, size != content.size);
  assert(shape.content.at == start);
  return store_rewritten(L, fork, text_plain(out->bytes, out->size), &shape, NULL, id);
}

/* The same of any message. */
static bool rewrite_any(lua_State *L, Conversation *fork, const Message *message, Text content, Buffer *out,
                        MessageId *id) {
  Reader reader;
  MessageShape shape;
  Text raw;
  Json json;
  if (!write_anew(L, message, content, out)) write_as_table(L, message, content, out);
  reader_init(&reader, *conversation_memory(fork));
  json_open(&json, out->bytes, out->size);
  if (reader_message(&reader, &json, &raw, &shape)) return store_rewritten(L, fork, raw, &shape, &reader, id);
  reader_free(&reader);
  if (json.status == STATUS_MEMORY) bind_raise_status(L, json.status, "working copy");
  return false;
}

static bool rewrite_lazily(lua_State *L, const LazyWalk *walk, int index, const Message *message, Text content,
                           Buffer *scratch) {
  MessageId id;
  Text spelling;
  bool is_bare = message_is_bare(message) && message_role(message) != ROLE_TOOL;
  buffer_reset(scratch);
  if (is_bare && message_field(message, FIELD_SPELLING, &spelling)) is_bare = false;
  if (!(is_bare ? rewrite_bare : rewrite_any)(L, walk->fork, message, content, scratch, &id)) return false;
  lua_pushinteger(L, id);
  lua_rawsetp(L, index, &REWRITTEN);
  return true;
}

void lazy_copy_rewrite(lua_State *L, const LazyWalk *walk, int index, const Message *lazy, Text content,
                       Buffer *scratch) {
  index = lua_absindex(L, index);
  if (lazy == NULL || !rewrite_lazily(L, walk, index, lazy, content, scratch)) {
    if (lazy != NULL) lazy_copy_fill(L, index, lazy);
    lua_pushvalue(L, walk->names + 1);
    lua_pushlstring(L, content.bytes, content.size);
    lua_rawset(L, index);
  }
  lua_pushliteral(L, "seq");
  lua_pushnil(L);
  lua_rawset(L, index);
}
