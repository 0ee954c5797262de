/*
** Working copies: the messages of a list as Lua tables, which a pipeline may edit freely.
**
**     stored message --copies--> {role, content, ..., source, seq} --text--> JSON
**
** A copy has the members of its message and some that the pipeline adds (copy_members.h),
** or is lazy (lazy_copy.h). While a copy equals its message, it stands for that: `text` writes the message's bytes, and
** the conversation that `parse` makes borrows the message itself. So no script has to be trusted to report what it
** edited, and a message that no script edited is not written, read or counted again.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/copy_members.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/lazy_copy.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/type.h"
#include "sandbox/guard.h"

/* What stands before the first message of a request, and between two. */
#define INDENT "\n  "
#define GAP ",\n  "

/* Pushes a copy of a message; true if it is a plain one (copy_members_push). `metatable`: of lazy copies, or 0. */
static bool push_copy(lua_State *L, const AddedNames *added, int metatable, const Message *message, MessageId id) {
  if (metatable == 0 || !lazy_copy_fits(message)) return copy_members_push(L, added, message, id);
  lazy_copy_push(L, added, metatable, id);
  return true;
}

/* copies(conversation, lazy) -> the messages of the current list as working copies, tables that may be edited freely;
   and the positions of those that are not plain, in order. Where the caller counts by a function, none is lazy. Only
   finalizers can run in between; they must not edit, because the list is borrowed. */
static int l_copies(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  Conversation *conversation = handle->conversation;
  int metatable = lua_toboolean(L, 2) && !handle->callbacks->has_counter ? 4 : 0;
  lua_settop(L, 2);
  if (metatable != 0) {
    bind_push_quiet_fork(L, handle);
    lazy_copy_push_metatable(L, 3);
  }
  const Sequence *list = conversation_list(conversation);
  uint32_t count = sequence_count(list);
  AddedNames added = copy_members_push_names(L);
  lua_Integer odd = 0;
  lua_createtable(L, (int)count, 0);
  lua_newtable(L);                           /* copies odd */
  for (uint32_t i = 0; i < count; i++) {
    MessageId id = sequence_at(list, i);
    bool plain = push_copy(L, &added, metatable, store_message(conversation_store(conversation), id), id);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    if (plain) continue;
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_rawseti(L, -2, ++odd);
  }
  return 2;
}

/* fill(copies): makes the lazy ones among them tables like others */
static int l_fill(lua_State *L) {
  bind_expect(L, 1, "copies", LUA_TTABLE);
  lua_settop(L, 1);
  LazyWalk walk = lazy_walk_begin(L);
  int top = lua_gettop(L);
  for (lua_Integer i = 1, count = (lua_Integer)lua_rawlen(L, 1); i <= count; i++) {
    lua_rawgeti(L, 1, i);
    const Message *message = lazy_copy_message(L, &walk, -1);
    if (message != NULL) lazy_copy_fill(L, -1, message);
    lua_settop(L, top);
  }
  return 0;
}

/* seqs(conversation) -> those of the messages of the current list */
static int l_seqs(lua_State *L) {
  const Sequence *list = conversation_list(bind_check_conversation(L, 1)->conversation);
  uint32_t count = sequence_count(list);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    lua_pushinteger(L, sequence_at(list, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- comparing a copy with its message ---- */

static bool same_value(lua_State *L, Json *json);

/* True if the table at the top equals the JSON array at the cursor, which it passes. */
static bool same_list(lua_State *L, Json *json) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1), i = 0;
  if (!json_enter(json)) return false;
  while (json_next_element(json)) {
    if (++i > count) return false;
    lua_rawgeti(L, -1, i);
    bool same = same_value(L, json);
    lua_pop(L, 1);
    if (!same) return false;
  }
  return i == count && (count > 0 || bind_json_mark(L, -1) == JSON_MARK_LIST);
}

/* Number of members of the table at the top, without added ones. `added` NULL: of all. */
static lua_Integer member_count(lua_State *L, const AddedNames *added) {
  lua_Integer count = 0;
  int table = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    count += added == NULL || copy_members_added(L, added, -2) < 0;
  }
  return count;
}

/* Replaces the name at the top by the message's member with that name of the table at `table`:
   from its `own` for an added name. */
static void push_member(lua_State *L, const AddedNames *added, int table) {
  if (added != NULL && copy_members_added(L, added, -1) >= 0) {
    if (bind_get_field(L, table, "own") == LUA_TTABLE) {
      lua_insert(L, -2);
      lua_rawget(L, -2);
      lua_remove(L, -2);
      return;
    }
    lua_pop(L, 2);
    lua_pushnil(L);
    return;
  }
  lua_rawget(L, table);
}

/* True if the table at the top equals the JSON object at the cursor, which it passes. `added` is
   not NULL for a whole message. */
static bool same_object(lua_State *L, Json *json, const AddedNames *added) {
  int table = lua_gettop(L);
  lua_Integer members = 0, moved = 0;
  Text key;
  if (!json_enter(json)) return false;
  while (json_next_member(json, &key)) {
    bind_push_text(L, key);
    moved += added != NULL && copy_members_added(L, added, -1) >= 0;
    push_member(L, added, table);
    bool same = same_value(L, json);
    lua_pop(L, 1);
    if (!same) return false;
    members++;
  }
  if (members == 0 && bind_json_mark(L, table) == JSON_MARK_LIST) return false;
  return member_count(L, added) == members - moved;
}

static bool same_text(lua_State *L, const JsonValue *value) {
  return lua_type(L, -1) == LUA_TSTRING && text_equal(bind_text(L, -1), json_text(value));
}

/* Numbers that Lua has none for come as tables that hold their text. */
static bool same_number(lua_State *L, const JsonValue *value) {
  bool same;
  bind_push_json(L, value->bytes, value->size);
  if (lua_istable(L, -1) && lua_istable(L, -2)) {
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -3, 1);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  } else {
    same = lua_rawequal(L, -1, -2) && lua_isinteger(L, -1) == lua_isinteger(L, -2);
  }
  lua_pop(L, 1);
  return same;
}

/* The value at the top and the one at the cursor, which it steps over. */
static bool same_value(lua_State *L, Json *json) {
  JsonKind kind;
  JsonValue value;
  guard_check_stack(L, 8, "JSON is nested too deeply");
  if (!json_peek(json, &kind)) return false;
  if (kind == JSON_ARRAY) return lua_istable(L, -1) && same_list(L, json);
  if (kind == JSON_OBJECT) return lua_istable(L, -1) && same_object(L, json, NULL);
  if (!json_value(json, &value)) return false;
  if (kind == JSON_STRING) return same_text(L, &value);
  if (kind == JSON_NUMBER) return same_number(L, &value);
  if (kind == JSON_NULL) return lua_islightuserdata(L, -1) && lua_touserdata(L, -1) == NULL;
  return lua_isboolean(L, -1) && lua_toboolean(L, -1) == (kind == JSON_TRUE);
}

/* The stored message that the copy at the top equals, or NULL. */
static const Message *stored_message(lua_State *L, const AddedNames *added, const Store *store) {
  bind_get_field(L, -1, "seq");
  lua_Integer seq = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
  lua_pop(L, 1);
  if (seq < 1 || seq > store_count(store) || !store_has(store, (MessageId)seq)) return NULL;
  const Message *message = store_message(store, (MessageId)seq);
  Text raw = message_raw(message);
  Json json;
  json_open_valid(&json, raw.bytes, raw.size);
  return same_object(L, &json, added) ? message : NULL;
}

/* ---- text ---- */

/* Pushes the message of the copy at the top: without added members, and with those of `own`. */
static void push_plain(lua_State *L, const AddedNames *added) {
  int copy = lua_gettop(L);
  lua_newtable(L);
  if (bind_get_field(L, copy, "own") == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, copy + 2) != 0;) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, copy + 1);
    }
  }
  lua_settop(L, copy + 1);
  for (lua_pushnil(L); lua_next(L, copy) != 0;) {
    if (copy_members_added(L, added, -2) >= 0) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, copy + 1);
  }
}

static void add(lua_State *L, Buffer *out, const char *bytes, size_t size) {
  Status status = buffer_add(out, bytes, size);
  if (status != STATUS_OK) bind_raise_status(L, status, "working.text");
}

/* Pushes copies[position]. */
static void push_element(lua_State *L, int copies, lua_Integer position) {
  if (lua_rawgeti(L, copies, position) != LUA_TTABLE) {
    bind_raise(L, "shape", NULL, "messages[%I] is not a table", position);
  }
}

/* Appends the copy at the top as JSON that is written anew. */
static void write_anew(lua_State *L, const AddedNames *added, Buffer *out) {
  push_plain(L, added);
  bind_encode_message(L, -1, out);
  lua_pop(L, 1);
}

/* Appends the message of the copy at the top as JSON; true if that is the stored message. */
static bool add_message(lua_State *L, const AddedNames *added, const Store *store, LazyWalk *walk, Buffer *out) {
  const Message *lazy = lazy_copy_message(L, walk, -1);
  const Message *message = lazy != NULL ? lazy : stored_message(L, added, store);
  if (message == NULL) {
    write_anew(L, added, out);
    return false;
  }
  add(L, out, message_raw(message).bytes, message_raw(message).size);
  return lazy == NULL || !walk->rewritten;
}

/* Appends the messages of the copies at an index as JSON, with commas, between two texts; returns how many differ from
   stored messages. */
static lua_Integer write_copies(lua_State *L, const Store *store, int copies, Text before, Text after, Buffer *out) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, copies), edited = 0;
  AddedNames added = copy_members_push_names(L);
  LazyWalk walk = lazy_walk_begin(L);
  add(L, out, before.bytes, before.size);
  for (lua_Integer i = 1; i <= count; i++) {
    add(L, out, i > 1 ? GAP : INDENT, i > 1 ? sizeof GAP - 1 : sizeof INDENT - 1);
    push_element(L, copies, i);
    edited += !add_message(L, &added, store, &walk, out);
    lua_pop(L, 1);
  }
  if (count > 0) add(L, out, "\n", 1);
  add(L, out, after.bytes, after.size);
  lua_settop(L, added.first - 1);
  return edited;
}

/* text(conversation, copies, before, after) -> text, edited: the messages of the copies between the two texts; and the
   number of those that differ from stored messages */
static int l_text(lua_State *L) {
  const Store *store = conversation_store(bind_check_conversation(L, 1)->conversation);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  Text before = bind_text(L, 3), after = bind_text(L, 4);
  lua_settop(L, 4);
  Buffer *out = bind_buffer(L);
  lua_Integer edited = write_copies(L, store, 2, before, after, out);
  lua_pushlstring(L, out->bytes, out->size);
  lua_pushinteger(L, edited);
  return 2;
}

/* ---- conversations ---- */

/* A message of a request: one of the lender, or JSON in the request's block if `lent` is 0. */
typedef struct RequestMessage {
  MessageId lent;
  size_t at, size;
} RequestMessage;

typedef struct RequestMessages {
  const Conversation *lender;
  const RequestMessage *list;
  uint32_t count, next;
  const char *bytes;         /* the block; set once it is complete */
} RequestMessages;

static bool next_message(void *user, MessageId *lent, Text *raw) {
  RequestMessages *messages = user;
  if (messages->next == messages->count) return false;
  const RequestMessage *message = &messages->list[messages->next++];
  *lent = message->lent;
  *raw = text_plain(messages->bytes + message->at, message->size);
  return true;
}

/* Who has the messages: the fork of the first lazy copy, which has all those of the conversation, or that itself. */
static const Conversation *find_lender(lua_State *L, int copies, const Conversation *conversation) {
  LazyWalk walk = lazy_walk_begin(L);
  int top = lua_gettop(L);
  const Message *lazy = NULL;
  for (lua_Integer i = 1, count = (lua_Integer)lua_rawlen(L, copies); i <= count && lazy == NULL; i++) {
    push_element(L, copies, i);
    lazy = lazy_copy_message(L, &walk, -1);
    lua_settop(L, top);
  }
  lua_settop(L, top - 2);
  return lazy != NULL ? walk.fork : conversation;
}

/* The lender's message that the copy at the top stands for; 0: none. */
static MessageId find_lent(lua_State *L, const AddedNames *added, const Conversation *lender, LazyWalk *walk) {
  const Message *lazy = lazy_copy_message(L, walk, -1);
  if (lazy != NULL && walk->fork == lender) return walk->id;
  if (lazy != NULL) lazy_copy_fill(L, -1, lazy);
  if (stored_message(L, added, conversation_store(lender)) == NULL) return 0;
  bind_get_field(L, -1, "seq");
  MessageId id = (MessageId)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return id;
}

/* Lists the messages of the copies at an index, in a block that it pushes; writes those that the lender lacks behind
   what is in the buffer. */
static RequestMessages list_messages(lua_State *L, const Conversation *lender, int copies, Buffer *out) {
  uint32_t count = (uint32_t)lua_rawlen(L, copies);
  RequestMessage *list = lua_newuserdatauv(L, count * sizeof *list + 1, 0);
  int top = lua_gettop(L);
  AddedNames added = copy_members_push_names(L);
  LazyWalk walk = lazy_walk_begin(L);
  for (uint32_t i = 0; i < count; i++) {
    push_element(L, copies, (lua_Integer)i + 1);
    list[i] = (RequestMessage){.lent = find_lent(L, &added, lender, &walk), .at = out->size};
    if (list[i].lent == 0) write_anew(L, &added, out);
    list[i].size = out->size - list[i].at;
    lua_pop(L, 1);
  }
  lua_settop(L, top);
  return (RequestMessages){.lender = lender, .list = list, .count = count};
}

enum { COPIES = 4, BEFORE, AFTER };  /* stack indices of l_parse, behind conversation, options and nil */

static Buffer *push_block(lua_State *L) {
  Buffer *block = bind_buffer(L);
  buffer_init(block, bind_conversation_memory(L));
  return block;
}

/* The text without messages. */
static Text push_envelope(lua_State *L) {
  lua_pushvalue(L, BEFORE);
  lua_pushvalue(L, AFTER);
  lua_concat(L, 2);
  return bind_text(L, -1);
}

/* Parses a request that borrows what it can. */
static int parse_borrowing(lua_State *L, const Conversation *conversation) {
  Text before = bind_text(L, BEFORE), after = bind_text(L, AFTER), envelope = push_envelope(L);
  Buffer *block = push_block(L);
  const Conversation *lender = find_lender(L, COPIES, conversation);
  bool is_empty = lua_rawlen(L, COPIES) == 0;
  add(L, block, before.bytes, before.size);
  if (!is_empty) add(L, block, INDENT "\n", sizeof INDENT);
  add(L, block, after.bytes, after.size);
  size_t size = block->size;
  RequestMessages list = list_messages(L, lender, COPIES, block);
  guard_charge(L, block->size + list.count);
  buffer_trim(block);
  list.bytes = block->bytes;
  DocumentMessages messages = {.next = next_message, .user = &list, .lender = lender, .indent = sizeof INDENT - 1,
                               .gap = text_of(GAP)};
  return bind_parse_buffer(L, block, size, envelope, is_empty ? NULL : &messages);
}

static int parse_text(lua_State *L, const Conversation *conversation) {
  Text envelope = push_envelope(L);
  Buffer *block = push_block(L);
  write_copies(L, conversation_store(conversation), COPIES, bind_text(L, BEFORE), bind_text(L, AFTER), block);
  guard_charge(L, block->size);
  return bind_parse_buffer(L, block, block->size, envelope, NULL);
}

/* parse(conversation, options, copies, before, after) -> Conversation | nil, error: what core.parse makes of the text
   of those copies with those options. The text is written only if it is refused, so that the error has its place. */
static int l_parse(lua_State *L) {
  const Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  bind_expect(L, 3, NULL, LUA_TTABLE);
  bind_text(L, 4), bind_text(L, 5);          /* which may raise */
  lua_settop(L, 5);
  lua_pushnil(L);
  lua_insert(L, 3);
  int results = parse_borrowing(L, conversation);
  if (!lua_isnil(L, -results)) return results;
  lua_settop(L, AFTER + 1);
  lua_remove(L, COPIES);                     /* the bytes of that request, which were put there */
  return parse_text(L, conversation);
}

/* marks(conversation) -> {[name] = list of seqs, in no order} */
static int l_marks(lua_State *L) {
  const Marks *marks = conversation_marks(bind_check_conversation(L, 1)->conversation);
  uint32_t names = marks_name_count(marks);
  lua_newtable(L);
  for (uint32_t i = 0; i < names; i++) {
    Text name = marks_name(marks, i);
    MessageId origin;
    lua_Integer count = 0;
    bind_push_text(L, name);
    lua_createtable(L, (int)marks_size(marks, name), 0);
    for (size_t at = 0; marks_next(marks, name, &at, &origin);) {
      lua_pushinteger(L, origin);
      lua_rawseti(L, -2, ++count);
    }
    lua_rawset(L, -3);
  }
  return 1;
}

void bind_open_working(lua_State *L) {
  static const BindMethod functions[] = {
    {"copies", l_copies, "conversation lazy", CHARGE_LIST},
    {"fill", l_fill, "copies", CHARGE_LIST},
    {"marks", l_marks, "conversation", CHARGE_LIST},
    {"parse", l_parse, "conversation options copies before after", CHARGE_LIST},
    {"seqs", l_seqs, "conversation", CHARGE_LIST},
    {"text", l_text, "conversation copies before after", CHARGE_LIST},
    BIND_END,
  };
  lua_newtable(L);
  bind_functions(L, "core.working", functions);
}
