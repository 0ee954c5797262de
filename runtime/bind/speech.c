/*
** Speech: what users and models say in working copies, as lorebooks search it.
**
**     copies      system  user  user (a window)  assistant  tool  user (blank)  user
**     positions           2                      4                              7
**
** A message speaks if its role is user or assistant, its text is not blank, and it is no window's. The text of a list
** of parts is that of its text parts, a line each. Nothing here fills lazy copies: they stay in the core. `holding`
** looks for a piece of text in all messages.
*/
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/lazy_copy.h"
#include "bind/open.h"

enum { COPIES = 1, POSITIONS = 2, LABELS = 3 };      /* stack indices of arguments */

typedef struct Speech {
  LazyWalk walk;
  Buffer *decoded;           /* an escaped text, or one of parts */
  const Message *lazy;       /* of the current copy; NULL: it is a table like others */
  int copy;                  /* its stack index */
  bool is_labelled;          /* false: nothing stands before texts */
  Text user, assistant;      /* what stands before texts of messages without a name */
} Speech;

static bool is_blank(Text text) {
  size_t i = 0;
  while (i < text.size && memchr(" \t\n\v\f\r", text.bytes[i], 6) != NULL) i++;
  return i == text.size;
}

/* Pushes copies[position], and makes it the current one. */
static void enter(lua_State *L, Speech *speech, lua_Integer position) {
  if (lua_rawgeti(L, COPIES, position) != LUA_TTABLE) {
    bind_raise(L, "shape", NULL, "messages[%I] is not a table", position);
  }
  speech->copy = lua_gettop(L);
  speech->lazy = lazy_copy_message(L, &speech->walk, speech->copy);
}

/* A field of the current copy that is a text; it is left on the stack. */
static bool text_field(lua_State *L, const Speech *speech, const char *name, Text *text) {
  bool is_text = bind_get_field(L, speech->copy, name) == LUA_TSTRING;
  if (is_text) *text = bind_text(L, -1);
  return is_text;
}

/* ROLE_USER or ROLE_ASSISTANT, as the current copy is spelt; ROLE_NONE for all others. */
static Role role_of(lua_State *L, const Speech *speech) {
  Text text = text_of("");
  if (speech->lazy != NULL) text = message_role_text(speech->lazy);
  else text_field(L, speech, "role", &text);
  return text_is(text, "user") ? ROLE_USER : text_is(text, "assistant") ? ROLE_ASSISTANT : ROLE_NONE;
}

/* The texts of the list of parts on top, a line each. */
static Text parts_text(lua_State *L, Buffer *out) {
  int list = lua_gettop(L);
  bool is_first = true;
  buffer_reset(out);
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++, lua_settop(L, list)) {
    if (!lua_istable(L, -1)) continue;
    bool is_text = bind_get_field(L, list + 1, "type") == LUA_TSTRING && text_is(bind_text(L, -1), "text");
    if (!is_text || bind_get_field(L, list + 1, "text") != LUA_TSTRING) continue;
    Text text = bind_text(L, -1);
    Status status = is_first ? STATUS_OK : buffer_add(out, "\n", 1);
    if (status == STATUS_OK) status = buffer_add(out, text.bytes, text.size);
    if (status != STATUS_OK) bind_raise_status(L, status, "speech");
    is_first = false;
  }
  lua_settop(L, list);
  return text_plain(out->bytes, out->size);
}

/* The text of the current copy, decoded; what holds it is left on the stack, or is `decoded`. */
static Text text_of_copy(lua_State *L, Speech *speech) {
  if (speech->lazy != NULL) return lazy_copy_text(L, speech->lazy, speech->decoded);
  int type = lazy_copy_content(L, &speech->walk, speech->copy);
  if (type == LUA_TSTRING) return bind_text(L, -1);
  return type == LUA_TTABLE ? parts_text(L, speech->decoded) : text_of("");
}

/* True if the current copy's text is not blank. That of a lazy copy is decoded only if its first character may be. */
static bool says_something(lua_State *L, Speech *speech) {
  Text content = speech->lazy == NULL ? text_of("") : message_content(speech->lazy);
  if (content.size > 0 && content.bytes[0] != '\\' && !is_blank(text_plain(content.bytes, 1))) return true;
  return !is_blank(text_of_copy(L, speech));
}

/* spoken(copies) -> positions of the messages that speak; the number of those of assistants */
static int l_spoken(lua_State *L) {
  Speech speech = {0};
  lua_Integer found = 0, replies = 0;
  bind_expect(L, COPIES, "copies", LUA_TTABLE);
  lua_settop(L, 1);
  speech.decoded = bind_buffer(L);
  speech.walk = lazy_walk_begin(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, COPIES);
  lua_newtable(L);
  int top = lua_gettop(L);
  for (lua_Integer i = 1; i <= count; i++, lua_settop(L, top)) {
    enter(L, &speech, i);
    Text source;
    Role role = role_of(L, &speech);
    if (role == ROLE_NONE) continue;
    if (speech.lazy == NULL && text_field(L, &speech, "source", &source) && text_is(source, "window")) continue;
    if (!says_something(L, &speech)) continue;
    lua_pushinteger(L, i);
    lua_rawseti(L, top, ++found);
    replies += role == ROLE_ASSISTANT;
  }
  lua_pushinteger(L, replies);
  return 2;
}

/* holding(copies, text) -> positions of the messages whose text has this one in it, whatever their roles */
static int l_holding(lua_State *L) {
  Speech speech = {0};
  lua_Integer found = 0;
  bind_expect(L, COPIES, "copies", LUA_TTABLE);
  bind_expect(L, 2, "text", LUA_TSTRING);
  lua_settop(L, 2);
  Text needle = bind_text(L, 2);
  speech.decoded = bind_buffer(L);
  speech.walk = lazy_walk_begin(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, COPIES);
  lua_newtable(L);
  int top = lua_gettop(L);
  for (lua_Integer i = 1; i <= count; i++, lua_settop(L, top)) {
    enter(L, &speech, i);
    Text text = text_of_copy(L, &speech);
    bool fits = needle.size > 0 && text.size >= needle.size;
    if (needle.size > 0 && (!fits || memmem(text.bytes, text.size, needle.bytes, needle.size) == NULL)) continue;
    lua_pushinteger(L, i);
    lua_rawseti(L, top, ++found);
  }
  return 1;
}

/* ---- what stands before a text ---- */

/* The current copy's own name, which may be empty; false if it has none. */
static bool own_name(lua_State *L, const Speech *speech, Text *name) {
  if (speech->lazy == NULL) return text_field(L, speech, "name", name);
  return message_field(speech->lazy, FIELD_NAME, name);
}

/* "Ann: " or "", by the message's own name, else by its role. It is left on the stack, or is one of the labels. */
static Text label_of(lua_State *L, const Speech *speech) {
  Text name;
  if (!speech->is_labelled) return text_of("");
  if (!own_name(L, speech, &name)) return role_of(L, speech) == ROLE_USER ? speech->user : speech->assistant;
  bind_push_text(L, name);
  if (lua_rawlen(L, -1) == 0) return text_of("");
  lua_pushliteral(L, ": ");
  lua_concat(L, 2);
  return bind_text(L, -1);
}

static Text read_label(lua_State *L, const char *role) {
  if (bind_get_field(L, LABELS, role) != LUA_TSTRING) bind_raise_type(L, -1, role, "a text");
  return bind_text(L, -1);
}

/* Reads the arguments copies, positions, labels of a function with `count` arguments. */
static Speech begin(lua_State *L, int count) {
  Speech speech = {0};
  bind_expect(L, COPIES, "copies", LUA_TTABLE);
  bind_expect(L, POSITIONS, "positions", LUA_TTABLE);
  lua_settop(L, count);
  speech.is_labelled = !lua_isnil(L, LABELS);
  if (speech.is_labelled) {
    bind_expect(L, LABELS, "labels", LUA_TTABLE);
    speech.user = read_label(L, "user");
    speech.assistant = read_label(L, "assistant");
  }
  speech.decoded = bind_buffer(L);
  speech.walk = lazy_walk_begin(L);
  return speech;
}

static void enter_spoken(lua_State *L, Speech *speech, lua_Integer number) {
  lua_rawgeti(L, POSITIONS, number);
  lua_Integer position = lua_tointeger(L, -1);
  lua_pop(L, 1);
  enter(L, speech, position);
}

/* said(copies, positions, labels, number) -> text, label: of the message that speaks as number `number`. labels: by
   role, what stands before texts of messages without a name; nil: nothing stands before any */
static int l_said(lua_State *L) {
  lua_Integer number = bind_integer(L, 4, "number", 1, UINT32_MAX);
  Speech speech = begin(L, 4);
  enter_spoken(L, &speech, number);
  Text label = label_of(L, &speech), text = text_of_copy(L, &speech);
  lua_pushlstring(L, text.bytes, text.size);
  lua_pushlstring(L, label.bytes, label.size);
  return 2;
}

enum { TEXTS = 4, TITLES = 5, FIRST = 6, LAST = 7 };

/* True if the current copy says texts[number], behind titles[number]. A text in the core is compared as it is written
   there: decoding it takes longer. */
static bool is_same(lua_State *L, Speech *speech, lua_Integer number) {
  Text text = speech->lazy != NULL ? message_content(speech->lazy) : text_of_copy(L, speech);
  if (lua_rawgeti(L, TEXTS, number) != LUA_TSTRING || !text_equal(text, bind_text(L, -1))) return false;
  Text label = label_of(L, speech);
  return lua_rawgeti(L, TITLES, number) == LUA_TSTRING && text_equal(label, bind_text(L, -1));
}

/* same_speech(copies, positions, labels, texts, titles, first, last) -> the last number from `first` on up to which
   messages say the texts, behind the titles; first - 1: none does */
static int l_same(lua_State *L) {
  bind_expect(L, TEXTS, "texts", LUA_TTABLE);
  bind_expect(L, TITLES, "titles", LUA_TTABLE);
  lua_Integer first = bind_integer(L, FIRST, "first", 1, UINT32_MAX);
  lua_Integer last = bind_integer(L, LAST, "last", 0, UINT32_MAX);
  Speech speech = begin(L, 7);
  int top = lua_gettop(L);
  lua_Integer i = first;
  for (; i <= last; i++, lua_settop(L, top)) {
    enter_spoken(L, &speech, i);
    if (!is_same(L, &speech, i)) break;
  }
  lua_pushinteger(L, i - 1);
  return 1;
}

void bind_open_speech(lua_State *L) {
  static const BindMethod functions[] = {
    {"holding", l_holding, "copies text", CHARGE_LIST},
    {"said", l_said, "copies positions labels number", CHARGE_TEXT},
    {"same_speech", l_same, "copies positions labels texts titles first last", CHARGE_LIST},
    {"spoken", l_spoken, "copies", CHARGE_LIST},
    BIND_END,
  };
  bind_functions(L, "core.working", functions);
}
