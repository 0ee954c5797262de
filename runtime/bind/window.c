/*
** Windows: the table of a conversation, and the items of a list. What a window
** is made of and how it is shown, the library decides (lua/ebb/windows); here
** stands what must be exact: which item is obsolete, and the list in its order.
**
** Functions that a caller gives (a content, what actions run) are held in tables
** by number, in `windows` beside the caller's other functions, which forks share.
** A window names its table by the number; no number is used twice, for a fork may
** still have the window as it was.
*/
#include <string.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/open.h"
#include "bind/selection.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/window.h"
#include "sandbox/guard.h"

const BindType BIND_WINDOWS = {.name = "Windows"};

/* ---- functions ---- */

/* Pushes the table of tables. */
static void push_sources(lua_State *L, int conversation) {
  lua_getiuservalue(L, conversation, BIND_FUNCTIONS);
  if (bind_get_field(L, -1, "windows") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "windows");
  }
  lua_remove(L, -2);
}

/* Notes the table at `index` under a new number; 0 for nil. */
static uint64_t note_source(lua_State *L, int index, Callbacks *callbacks) {
  if (lua_isnil(L, index)) return 0;
  bind_expect(L, index, NULL, LUA_TTABLE);
  push_sources(L, 1);
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, ++callbacks->sources);
  lua_pop(L, 1);
  return (uint64_t)callbacks->sources;
}

/* Needs no memory. */
static void drop_source(lua_State *L, uint64_t source) {
  if (source == 0) return;
  push_sources(L, 1);
  lua_pushnil(L);
  lua_rawseti(L, -2, (lua_Integer)source);
  lua_pop(L, 1);
}

/* ---- putting and getting ---- */

static const struct {
  const char *name;
  WindowFlag flag;
} FLAGS[] = {
  {"closable", WINDOW_CLOSABLE}, {"pinned", WINDOW_PINNED}, {"important", WINDOW_IMPORTANT},
  {"compact", WINDOW_COMPACT},   {"append", WINDOW_APPEND}, {"hidden", WINDOW_HIDDEN},
  {"closed", WINDOW_CLOSED},
};
#define FLAG_COUNT (sizeof FLAGS / sizeof *FLAGS)

static const char *const TEXTS[WINDOW_TEXTS] = {"id", "description", "content", "actions", "summary"};
static const char *const KINDS[] = {"empty", "text", "elements", "source", NULL};

/* The fields of the table at 2; texts are held by it. */
static void read_window(lua_State *L, Window *window) {
  for (int i = 0; i < WINDOW_TEXTS; i++) {
    window->texts[i] = text_plain("", 0);
    if (!bind_field(L, 2, TEXTS[i])) continue;
    bind_expect(L, -1, TEXTS[i], LUA_TSTRING);
    Text text = window->texts[i] = bind_text(L, -1);
    size_t valid = utf8_check(text.bytes, text.size);
    if (valid < text.size) {
      lua_Integer byte = (lua_Integer)valid + 1;
      bind_raise(L, status_code(STATUS_ENCODING), NULL, "%s: byte %I: expected UTF-8", TEXTS[i], byte);
    }
    lua_pop(L, 1);
  }
  for (size_t i = 0; i < FLAG_COUNT; i++) {
    if (bind_flag_field(L, 2, FLAGS[i].name, false)) window->flags |= FLAGS[i].flag;
  }
  bind_get_field(L, 2, "kind");
  window->content = (WindowContent)bind_choice(L, -1, "kind", 0, KINDS);
  lua_pop(L, 1);
}

/* put(conversation, {id, kind, content, .., opened, functions}): makes a window or
   takes its place; opened: its life begins now */
static int l_put(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  lua_settop(L, 2);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  const Windows *windows = conversation_windows(handle->conversation);
  Window window = {.version = 1};
  read_window(L, &window);
  uint32_t index = windows_find(windows, window.texts[WINDOW_ID]);
  const Window *before = index == WINDOW_NONE ? NULL : windows_at(windows, index);
  uint64_t released = before != NULL && windows_is_sole(windows, index) ? before->source : 0;
  window.updated = window.created = store_count(conversation_store(handle->conversation));
  if (before != NULL) window.version = before->version + 1;
  if (before != NULL && !bind_flag_field(L, 2, "opened", false)) window.created = before->created;
  bind_get_field(L, 2, "functions");
  window.source = note_source(L, 3, handle->callbacks);
  Status status = conversation_put_window(handle->conversation, &window);
  drop_source(L, status == STATUS_OK ? released : window.source);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "window");
}

/* get(conversation, id) -> {id, kind, content, .., functions} | nil */
static int l_get(lua_State *L) {
  const ConversationHandle *handle = bind_check_conversation(L, 1);
  const Windows *windows = conversation_windows(handle->conversation);
  bind_expect(L, 2, NULL, LUA_TSTRING);
  uint32_t index = windows_find(windows, bind_text(L, 2));
  if (index == WINDOW_NONE) return 0;
  const Window *window = windows_at(windows, index);
  guard_charge_bytes(L, window->texts[WINDOW_CONTENT].size + window->texts[WINDOW_ACTIONS].size);
  lua_createtable(L, 0, 20);
  for (int i = 0; i < WINDOW_TEXTS; i++) bind_set_text(L, TEXTS[i], window->texts[i]);
  for (size_t i = 0; i < FLAG_COUNT; i++) {
    lua_pushboolean(L, (window->flags & FLAGS[i].flag) != 0);
    lua_setfield(L, -2, FLAGS[i].name);
  }
  bind_set_text(L, "kind", text_of(KINDS[window->content]));
  bind_set_integer(L, "created", window->created);
  bind_set_integer(L, "updated", window->updated);
  bind_set_integer(L, "version", window->version);
  if (window->source == 0) return 1;
  push_sources(L, 1);
  lua_rawgeti(L, -1, (lua_Integer)window->source);
  lua_setfield(L, -3, "functions");
  lua_pop(L, 1);
  return 1;
}

/* ids(conversation) -> list, in order of their creation */
static int l_ids(lua_State *L) {
  const Windows *windows = conversation_windows(bind_check_conversation(L, 1)->conversation);
  uint32_t count = windows_count(windows);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    bind_push_text(L, windows_at(windows, i)->texts[WINDOW_ID]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- items ---- */

/* The items of a list, and the list as it was when they were looked for. */
typedef struct ListItems {
  Sequence *list;
  WindowItems items;
} ListItems;

static void end_items(void *block) {
  ListItems *result = block;
  if (result->items.list != NULL) window_items_free(&result->items);
  sequence_release(result->list);
}

/* The items of a view's list, in a block left on the stack. */
static const WindowItems *push_items(lua_State *L, const View *view) {
  ListItems *result = bind_own(L, sizeof *result, end_items);
  guard_charge(L, (uint64_t)sequence_sum(view->list).windows * 8);
  Status status = window_items(conversation_memory(view->conversation), conversation_windows(view->conversation),
                               conversation_store(view->conversation), view->list, &result->items);
  if (status != STATUS_OK) bind_raise_status(L, status, "windows");
  return &result->items;
}

bool bind_is_obsolete(lua_State *L, const View *view, MessageId id) {
  if (!message_is_window(conversation_message(view->conversation, id))) return false;
  if (view->draft != NULL) return draft_is_obsolete(view->draft, id);
  const WindowItems *items = push_items(L, view);
  bool obsolete = false;
  for (uint32_t i = 0; i < items->count; i++) obsolete |= items->list[i].id == id && items->list[i].obsolete;
  lua_pop(L, 1);
  return obsolete;
}

uint32_t bind_keep_obsolete(lua_State *L, const View *view, bool obsolete, uint32_t *positions, uint32_t count) {
  const WindowItems *items = push_items(L, view);
  uint32_t count_kept = 0, item = 0;
  for (uint32_t i = 0; i < count; i++) {
    while (item < items->count && items->list[item].position < positions[i]) item++;
    bool is_item = item < items->count && items->list[item].position == positions[i];
    if (is_item && items->list[item].obsolete == obsolete) positions[count_kept++] = positions[i];
  }
  lua_pop(L, 1);
  return count_kept;
}

/* items(list) -> list of {position, window, obsolete, missing}, one per item of a window */
static int l_items(lua_State *L) {
  View view = bind_view(L, 1);
  const WindowItems *items = push_items(L, &view);
  lua_createtable(L, (int)items->count, 0);
  for (uint32_t i = 0; i < items->count; i++) {
    const WindowItem *item = &items->list[i];
    lua_createtable(L, 0, 4);
    bind_set_integer(L, "position", (lua_Integer)item->position + 1);
    bind_set_text(L, "window", message_content(conversation_message(view.conversation, item->id)));
    lua_pushboolean(L, item->obsolete);
    lua_setfield(L, -2, "obsolete");
    lua_pushboolean(L, item->window == WINDOW_NONE);
    lua_setfield(L, -2, "missing");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* rendered(list, all) -> ids of windows that have an item to render, each once, in order of their
   newest items; positions of items whose window does not exist, and the ids that they name; and a
   block of the items of the list, for `messages`. all: also windows whose items are all obsolete */
static int l_rendered(lua_State *L) {
  View view = bind_view(L, 1);
  bool all = lua_toboolean(L, 2);
  lua_Integer rendered = 0, missing = 0;
  lua_settop(L, 1);
  const WindowItems *items = push_items(L, &view);
  ListItems *items_block = bind_test_owned(L, 2, end_items);
  Status status = sequence_share(view.list, &items_block->list);
  if (status != STATUS_OK) bind_raise_status(L, status, "windows");
  lua_newtable(L);
  lua_newtable(L);
  lua_newtable(L);           /* list items ids positions names */
  for (uint32_t i = 0; i < items->count; i++) {
    const WindowItem *item = &items->list[i];
    if (item->window != WINDOW_NONE && (item->newest != i || (item->obsolete && !all))) continue;
    bind_push_text(L, message_content(conversation_message(view.conversation, item->id)));
    if (item->window != WINDOW_NONE) {
      lua_rawseti(L, 3, ++rendered);
    } else {
      lua_rawseti(L, 5, ++missing);
      lua_pushinteger(L, (lua_Integer)item->position + 1);
      lua_rawseti(L, 4, missing);
    }
  }
  lua_pushvalue(L, 2);
  return 4;
}

/* count(list) -> items of windows in it, in O(1) */
static int l_count(lua_State *L) {
  lua_pushinteger(L, sequence_sum(bind_view(L, 1).list).windows);
  return 1;
}

/* list:active() -> Selection of what is not obsolete */
int bind_active(lua_State *L) {
  View view = bind_view(L, 1);
  const WindowItems *items = push_items(L, &view);
  uint32_t obsolete = 0;
  for (uint32_t i = 0; i < items->count; i++) obsolete += items->list[i].obsolete;
  Selection *rest = bind_new_rest(L, 1, view.list, obsolete);
  for (uint32_t i = 0; i < items->count; i++) {
    if (items->list[i].obsolete) rest->gaps[rest->gap_count++] = items->list[i].position;
  }
  rest->count = sequence_count(view.list) - obsolete;
  return 1;
}

/* ---- conversation.windows ---- */

int bind_push_windows(lua_State *L) {
  bind_push_state(L, 1);
  if (bind_get_field(L, -1, "windows") != LUA_TNIL) return 1;
  lua_pop(L, 1);
  bind_new(L, &BIND_WINDOWS, 0, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "windows");
  return 1;
}

/* owner(windows) -> the conversation that they belong to */
static int l_owner(lua_State *L) {
  bind_check(L, 1, &BIND_WINDOWS);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

/* windows.seq: seq of the newest message of the store, 0 if it is empty */
static int l_windows_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "seq") != 0)
    return bind_index_method(L, &BIND_WINDOWS);
  l_owner(L);
  lua_pushinteger(L, store_count(conversation_store(bind_check_conversation(L, -1)->conversation)));
  return 1;
}

/* ---- lists in the order of a request ---- */

static void end_order(void *block) {
  RequestOrder *order = block;
  if (order->ids != NULL) request_order_free(order);
}

const RequestOrder *bind_push_request_order(lua_State *L, const View *view, bool obsolete, int items_index) {
  RequestOrder *order = bind_own(L, sizeof *order, end_order);
  const ListItems *items = items_index != 0 ? bind_test_owned(L, items_index, end_items) : NULL;
  const Memory *memory = conversation_memory(view->conversation);
  const Store *store = conversation_store(view->conversation);
  Status status = items != NULL && items->list != NULL
                    ? request_order_of_items(memory, &items->items, store, items->list, obsolete, order)
                    : request_order_of(memory, conversation_windows(view->conversation), store, view->list, obsolete,
                                       order);
  if (status != STATUS_OK) bind_raise_status(L, status, "windows");
  return order;
}

/* request_order(list) -> positions of its messages in the order of a request (core/list/request_order.h),
   without obsolete items */
static int l_request_order(lua_State *L) {
  View view = bind_view(L, 1);
  const RequestOrder *order = bind_push_request_order(L, &view, false, 0);
  lua_createtable(L, (int)order->count, 0);
  for (uint32_t i = 0; i < order->count; i++) {
    lua_pushinteger(L, (lua_Integer)sequence_index_of(view.list, order->ids[i], i) + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* As a table; most messages have nothing but a role and a content. */
static void push_table(lua_State *L, const Message *message) {
  Text raw = message_raw(message);
  size_t known = message_content(message).size + message_role_text(message).size + strlen("{'role':'','content':''}");
  if (message_content_kind(message) != CONTENT_STRING || raw.size > known + 4) {      /* and some spaces */
    bind_push_json(L, raw.bytes, raw.size);
    return;
  }
  lua_createtable(L, 0, 2);
  bind_set_text(L, "role", message_role_text(message));
  bind_set_text(L, "content", message_content(message));
}

/* Pushes what an item becomes, by the table of texts; false, and nothing, if that has none. */
static bool push_item(lua_State *L, int texts, const Message *message) {
  bind_push_text(L, message_content(message));
  if (lua_rawget(L, texts) != LUA_TSTRING) {
    lua_pop(L, 1);
    return false;
  }
  lua_createtable(L, 0, 3);
  lua_insert(L, -2);
  lua_setfield(L, -2, "content");
  bind_set_text(L, "role", text_of("user"));
  bind_set_text(L, "window", message_content(message));
  return true;
}

/* messages(list, texts, include_system, include_obsolete, items) -> list of tables, as they
   are sent; texts by window, and items without a text are left out. items: the block of `rendered`,
   whose list is taken, even if it was edited since */
static int l_messages(lua_State *L) {
  lua_settop(L, 5);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  bool system = lua_toboolean(L, 3), obsolete = lua_toboolean(L, 4);
  View view = bind_view(L, 1);
  const RequestOrder *order = bind_push_request_order(L, &view, obsolete, 5);
  lua_Integer count = 0;
  lua_createtable(L, (int)order->count, 0);
  for (uint32_t i = 0; i < order->count; i++) {
    const Message *message = conversation_message(view.conversation, order->ids[i]);
    if (message_is_window(message)) {
      if (!push_item(L, 2, message)) continue;
    } else {
      if (!system && message_role(message) == ROLE_SYSTEM) continue;
      push_table(L, message);
    }
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

/* ---- in a draft ---- */

/* weigh(draft, tokens by window) */
static int l_weigh(lua_State *L) {
  DraftHandle *handle = bind_check(L, 1, &BIND_DRAFT);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  View view = bind_look(L, 1);
  if (ledger_count(draft_ledger(handle->draft)) > 0) {
    return bind_raise_argument(L, "argument", NULL, "the draft has edits");
  }
  const Windows *windows = conversation_windows(view.conversation);
  uint32_t count = windows_count(windows);
  uint32_t *tokens = lua_newuserdatauv(L, count * sizeof *tokens + 1, 0);
  for (uint32_t i = 0; i < count; i++) {
    tokens[i] = 0;
    bind_push_text(L, windows_at(windows, i)->texts[WINDOW_ID]);
    if (lua_rawget(L, 2) != LUA_TNIL) tokens[i] = (uint32_t)bind_integer(L, -1, "tokens", 0, MESSAGE_TOKENS_MAX);
    lua_pop(L, 1);
  }
  Status status = draft_set_window_tokens(handle->draft, tokens);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "windows");
}

void bind_open_window(lua_State *L) {
  static const char *const fields[] = {"seq", NULL};
  static const BindMethod functions[] = {
    {"call", bind_limited_call, "f limit argument memory", CHARGE_STEP},
    {"escape", bind_escape_markup, "text attribute", CHARGE_STEP},
    {"put", l_put, "conversation fields", CHARGE_PATH},
    {"get", l_get, "conversation id", CHARGE_STEP},
    {"ids", l_ids, "conversation", CHARGE_PATH},
    {"items", l_items, "list", CHARGE_LIST},
    {"rendered", l_rendered, "list all", CHARGE_LIST},
    {"owner", l_owner, "windows", CHARGE_STEP},
    {"count", l_count, "list", CHARGE_STEP},
    {"weigh", l_weigh, "draft tokens", CHARGE_LIST},
    {"request_order", l_request_order, "list", CHARGE_LIST},
    {"messages", l_messages, "list texts include_system include_obsolete items", CHARGE_LIST},
    BIND_END,
  };
  bind_type(L, &BIND_WINDOWS, l_windows_index, NULL);
  bind_open_fields(L, &BIND_WINDOWS, fields);
  lua_newtable(L);
  bind_functions(L, "core.window", functions);
}

