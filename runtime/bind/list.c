/*
** Queries on a list, for conversations, batches and drafts alike.
*/
#include <assert.h>
#include <stdlib.h>

#include "bind/argument.h"
#include "bind/list.h"
#include "bind/message.h"
#include "bind/handle.h"
#include "bind/selection.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/window.h"
#include "core/message/word_search.h"
#include "sandbox/guard.h"

/* list:tokens() -> tokens of the request */
static int l_tokens(lua_State *L) {
  View view = bind_view(L, 1);
  Calibration calibration = conversation_calibration(view.conversation);
  lua_pushinteger(L, (lua_Integer)calibration_apply(calibration, bind_view_tokens(&view)));
  return 1;
}

/* list:trust() -> how far its tokens can be trusted: "derived", "estimated", "calibrated", "given" */
static int l_trust(lua_State *L) {
  View view = bind_view(L, 1);
  lua_pushstring(L, trust_name(conversation_trust(view.conversation, view.list)));
  return 1;
}

/* Messages of these roles; ROLE_NONE: items of windows. */
static uint32_t count_roles(const View *view, unsigned roles) {
  Sum sum = sequence_sum(view->list);
  uint32_t count = roles >> ROLE_NONE & 1 ? sum.windows : 0;
  for (unsigned role = 0; role < ROLE_COUNT; role++) {
    if (roles >> role & 1) count += sum.count[role];
  }
  return count;
}

/* list:count(role) -> messages */
static int l_count(lua_State *L) {
  View view = bind_view(L, 1);
  lua_pushinteger(L, count_roles(&view, lua_isnoneornil(L, 2) ? ROLES_ALL : bind_roles(L, 2)));
  return 1;
}

static void end_search(void *block) { word_search_free(block); }

/* list:shows(texts) -> per text, whether it stands in a text of the list */
static int l_shows(lua_State *L) {
  View view = bind_view(L, 1);
  lua_settop(L, 2);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  lua_createtable(L, 0, 1);
  lua_insert(L, 2);
  lua_setfield(L, 2, "texts");                       /* list {texts} */
  TextList words = bind_text_list(L, 2, "texts");
  WordSearch *search = bind_own(L, sizeof *search, end_search);
  Store *store = conversation_store(view.conversation);
  Status status = word_search_init(search, bind_memory(L), *store_hash_key(store), words.texts, words.count);
  SequenceWalk walk = sequence_walk(view.list, 0, sequence_count(view.list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      const Message *message = store_message(store, walk.ids[i]);
      guard_charge_bytes(L, message_raw(message).size);
      status = word_search_message(search, message);
    }
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "shows");
  lua_createtable(L, (int)words.count, 0);
  for (uint32_t i = 0; i < words.count; i++) {
    lua_pushboolean(L, word_search_found(search, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- by role: the tree is the index ---- */

/* Selects the messages numbered [first, end) among those of the roles. */
static int select_roles(lua_State *L, const View *view, unsigned roles, uint32_t first, uint32_t end) {
  uint32_t next[ROLE_COUNT];     /* per role: where its next message stands */
  uint32_t seen[ROLE_COUNT] = {0};
  uint32_t count = sequence_count(view->list);
  Selection *selection = bind_new_selection(L, view->owner, end - first);
  for (unsigned role = 0; role < ROLE_COUNT; role++) {
    next[role] = roles >> role & 1 ? sequence_find(view->list, MEASURE_ROLE_COUNT + role, 0) : count;
  }
  if ((roles & (roles - 1)) == 0 && roles != 0) {      /* one role: start where it matters */
    unsigned role = (unsigned)__builtin_ctz(roles);
    seen[role] = first;
    next[role] = sequence_find(view->list, MEASURE_ROLE_COUNT + role, first);
  }
  for (uint32_t i = seen[0] + seen[1] + seen[2] + seen[3]; i < end; i++) {
    unsigned role = 0;
    for (unsigned other = 1; other < ROLE_COUNT; other++) {
      if (next[other] < next[role]) role = other;
    }
    if (i >= first) {
      selection->items[selection->count++] =
        (Selected){.id = sequence_at(view->list, next[role]), .position = next[role]};
    }
    next[role] = sequence_find(view->list, MEASURE_ROLE_COUNT + role, ++seen[role]);
  }
  return 1;
}

/* The last n of several roles, found from the end. */
static int select_recent(lua_State *L, const View *view, unsigned roles, uint32_t n) {
  Sum sum = sequence_sum(view->list);
  uint32_t left[ROLE_COUNT];
  Selection *selection = bind_new_selection(L, view->owner, n);
  for (unsigned role = 0; role < ROLE_COUNT; role++) left[role] = roles >> role & 1 ? sum.count[role] : 0;
  for (uint32_t i = n; i-- > 0;) {
    unsigned newest = ROLE_COUNT;
    uint32_t at = 0;
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
      if (left[role] == 0) continue;
      uint32_t position = sequence_find(view->list, MEASURE_ROLE_COUNT + role, left[role] - 1);
      if (newest == ROLE_COUNT || position > at) {
        newest = role;
        at = position;
      }
    }
    assert(newest < ROLE_COUNT);
    left[newest]--;
    selection->items[i] = (Selected){.id = sequence_at(view->list, at), .position = at};
  }
  selection->count = n;
  return 1;
}

/* Selects the messages at [first, end), items of windows among them. */
static int select_all(lua_State *L, const View *view, uint32_t first, uint32_t end) {
  uint32_t count = end - first;
  Selection *selection = bind_new_selection(L, view->owner, count);
  for (uint32_t i = 0; i < count; i++) {
    selection->items[i] = (Selected){.id = sequence_at(view->list, first + i), .position = first + i};
  }
  selection->count = count;
  return 1;
}

/* list:recent(role, n) or recent(n) -> Selection */
static int l_recent(lua_State *L) {
  View view = bind_view(L, 1);
  bool all = lua_type(L, 2) == LUA_TNUMBER && lua_isnoneornil(L, 3);
  unsigned roles = all ? ROLES_ALL : bind_roles(L, 2);
  uint32_t total = count_roles(&view, roles);
  lua_Integer n = bind_integer(L, all ? 2 : 3, "n", 0, UINT32_MAX);
  if (n > total) n = total;
  return all ? select_all(L, &view, total - (uint32_t)n, total) : select_recent(L, &view, roles, (uint32_t)n);
}

/* list:range(role, i, j) or range(i, j) -> Selection; what lies outside is left out */
static int l_range(lua_State *L) {
  View view = bind_view(L, 1);
  bool all = lua_type(L, 2) == LUA_TNUMBER && lua_isnoneornil(L, 4);
  unsigned roles = all ? ROLES_ALL : bind_roles(L, 2);
  uint32_t total = count_roles(&view, roles);
  int at = all ? 2 : 3;
  lua_Integer i = bind_integer(L, at, "i", 1, UINT32_MAX), j = bind_integer(L, at + 1, "j", 0, UINT32_MAX);
  if (i > j + 1) bind_raise_argument(L, "out_of_range", NULL, "i = %I is past j = %I", i, j);
  if (j > total) j = total;
  if (i > j) i = j + 1;
  uint32_t first = (uint32_t)(i - 1), end = (uint32_t)j;
  return all ? select_all(L, &view, first, end) : select_roles(L, &view, roles, first, end);
}

/* ---- by conditions ---- */

static bool field_is_among(const Message *message, MessageField field, TextList list) {
  Text value;
  return list.count == 0 || (message_field(message, field, &value) && text_list_has(list, value));
}

static bool in_time(const Message *message, const Conditions *conditions) {
  int64_t time;
  if (!conditions->has_since && !conditions->has_before) return true;
  if (!message_timestamp(message, &time)) return false;
  return (!conditions->has_since || time >= conditions->since) &&
         (!conditions->has_before || time < conditions->before);
}

/* True if the message has a part of one of the kinds (bits, 1 << PartKind), or what stands for one in a field. */
static bool has_kind(const Message *message, unsigned kinds) {
  unsigned fields = 0;
  Text text;
  if (message_content_kind(message) == CONTENT_STRING) fields |= 1u << PART_TEXT;
  if (message_call_count(message) > 0) fields |= 1u << PART_TOOL_USE;
  if (message_result_count(message) > 0) fields |= 1u << PART_TOOL_RESULT;
  if (message_field(message, FIELD_REASONING, &text)) fields |= 1u << PART_REASONING;
  if ((fields & kinds) != 0) return true;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if ((1u << message_part(message, i).kind & kinds) != 0) return true;
  }
  return false;
}

/* True if it has neither text nor parts, calls, results, reasoning or a refusal. A window item is not empty. */
static bool is_empty(const Message *message) {
  Text text;
  bool listed = message_content_kind(message) == CONTENT_PARTS;
  size_t size = listed ? message_part_count(message) : message_content(message).size;
  return size == 0 && !message_is_window(message) && message_call_count(message) == 0 &&
         message_result_count(message) == 0 && !message_field(message, FIELD_REASONING, &text) &&
         !message_field(message, FIELD_REFUSAL, &text);
}

static bool calls_tool(const Message *message, Text name) {
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (text_equal(message_text(message, message_call(message, i).name), name)) return true;
  }
  return false;
}

/* Windows and what they are: of items only. Which are obsolete the draft knows; of
   other lists it is asked once for all (select_where). */
static bool is_window(const View *view, const Conditions *conditions, MessageId id) {
  const Message *message = conversation_message(view->conversation, id);
  if (!message_is_window(message)) return false;
  if (conditions->has_window && !text_equal(message_content(message), conditions->window)) return false;
  bool checks_obsolete = conditions->has_obsolete && view->draft != NULL;
  if (checks_obsolete && draft_is_obsolete(view->draft, id) != conditions->obsolete) return false;
  if (!conditions->has_important) return true;
  const Windows *windows = conversation_windows(view->conversation);
  uint32_t index = windows_find(windows, message_content(message));
  bool important = index != WINDOW_NONE && windows_at(windows, index)->flags & WINDOW_IMPORTANT;
  return important == conditions->important;
}

/* Raises the error of string.find that is on top: what is wrong in the pattern, which shows when matching comes to it,
   or that there is no memory. */
static void raise_pattern(lua_State *L, int status) {
  const char *message = lua_tostring(L, -1);
  if (message == NULL || status == LUA_ERRMEM) lua_error(L);
  bind_raise_argument(L, "argument", NULL, "matches: %s", message);
}

/* string.find(message.text, pattern) */
static bool matches(lua_State *L, const View *view, const Conditions *conditions, MessageId id) {
  guard_check_stack(L, 8, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_FIND);
  bind_push_message(L, view->owner, id, 0);
  lua_getfield(L, -1, "text");
  lua_remove(L, -2);
  lua_getfield(L, conditions->table, "matches");
  int status = lua_pcall(L, 2, 1, 0);
  if (status != LUA_OK) raise_pattern(L, status);
  bool passes = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return passes;
}

bool bind_passes(lua_State *L, const View *view, const Conditions *conditions, MessageId id) {
  const Message *message = conversation_message(view->conversation, id);
  if (!(conditions->roles >> message_role(message) & 1) || !in_time(message, conditions)) return false;
  if (!field_is_among(message, FIELD_NAME, conditions->names)) return false;
  if (!field_is_among(message, FIELD_ID, conditions->ids)) return false;
  if (conditions->kinds != 0 && !has_kind(message, conditions->kinds)) return false;
  if (conditions->empty && !is_empty(message)) return false;
  if (conditions->has_calls && !calls_tool(message, conditions->calls)) return false;
  if (conditions->windows && !is_window(view, conditions, id)) return false;
  if (conditions->has_marked) {
    MessageId origin = store_origin(conversation_store(view->conversation), id);
    if (!marks_has(conversation_marks(view->conversation), conditions->marked, origin)) return false;
  }
  return !conditions->has_matches || matches(L, view, conditions, id);
}

static bool read_time(lua_State *L, int index, const char *name, int64_t *time) {
  if (!bind_field(L, index, name)) return false;
  *time = bind_integer(L, -1, name, INT64_MIN, INT64_MAX);
  lua_pop(L, 1);
  return true;
}

static bool read_text(lua_State *L, int index, const char *name, Text *text) {
  if (!bind_field(L, index, name)) return false;
  if (lua_type(L, -1) != LUA_TSTRING)
    bind_raise_type(L, -1, name, "a string");
  *text = bind_text(L, -1);      /* held by the table */
  lua_pop(L, 1);
  return true;
}

/* window = true or an id, obsolete and important = booleans: any of them asks for items of windows. */
static void read_windows(lua_State *L, int index, Conditions *conditions) {
  if (bind_field(L, index, "window")) {
    if (lua_type(L, -1) == LUA_TSTRING) {
      conditions->has_window = true;
      conditions->window = bind_text(L, -1);
    } else if (!lua_isboolean(L, -1) || !lua_toboolean(L, -1)) {
      bind_raise_type(L, -1, "window", "an id or true");
    }
    conditions->windows = true;
    lua_pop(L, 1);
  }
  conditions->has_obsolete = bind_get_field(L, index, "obsolete") != LUA_TNIL;
  conditions->has_important = bind_get_field(L, index, "important") != LUA_TNIL;
  lua_pop(L, 2);
  conditions->obsolete = bind_flag_field(L, index, "obsolete", false);
  conditions->important = bind_flag_field(L, index, "important", false);
  conditions->windows |= conditions->has_obsolete || conditions->has_important;
  if (conditions->windows) conditions->roles &= 1u << ROLE_NONE;
}

static unsigned kind_number(lua_State *L, int index) { return bind_part_kind(L, index); }

Conditions bind_conditions(lua_State *L, int index, const char *const *names) {
  Conditions conditions = {.table = lua_absindex(L, index), .roles = ROLES_ALL};
  Text pattern;
  bind_check_names(L, index, NULL, names);
  index = conditions.table;
  if (bind_field(L, index, "role")) {
    conditions.roles = bind_roles(L, -1);
    if (conditions.roles == 0) conditions.roles = ROLES_ALL;     /* an empty list is no condition */
    lua_pop(L, 1);
  }
  conditions.has_since = read_time(L, index, "since", &conditions.since);
  conditions.has_before = read_time(L, index, "before", &conditions.before);
  conditions.has_marked = read_text(L, index, "marked", &conditions.marked);
  conditions.has_matches = read_text(L, index, "matches", &pattern);
  conditions.has_calls = read_text(L, index, "calls", &conditions.calls);
  if (bind_field(L, index, "has")) {
    conditions.kinds = bind_bits(L, -1, kind_number);       /* an empty list is no condition */
    lua_pop(L, 1);
  }
  conditions.empty = bind_flag_field(L, index, "empty", false);
  conditions.names = bind_text_list(L, index, "name");
  conditions.ids = bind_text_list(L, index, "id");
  read_windows(L, index, &conditions);
  return conditions;
}

static const char *const WHERE_NAMES[] = {"role", "since", "before", "marked", "matches", "name",
                                          "id", "window", "obsolete", "important", NULL};

static int by_position(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Where messages under a mark stand, in order. */
static uint32_t find_marked(const View *view, Text name, uint32_t *positions) {
  MessageId origin;
  uint32_t count = sequence_count(view->list), count_marked = 0;
  for (size_t at = 0; marks_next(conversation_marks(view->conversation), name, &at, &origin);) {
    uint32_t position = sequence_index_of_origin(view->list, origin);
    if (position < count) positions[count_marked++] = position;
  }
  qsort(positions, count_marked, sizeof *positions, by_position);
  return count_marked;
}

/* Pushes a block with the positions, ascending, of messages that may pass: those that satisfy the
   conditions which the tree or the marks can check. *candidate_count gets their number. */
static uint32_t *push_candidates(lua_State *L, const View *view, const Conditions *conditions,
                                 uint32_t *candidate_count) {
  MessageFilter filter = {.roles = conditions->roles, .timed = conditions->has_since || conditions->has_before,
                          .since = conditions->has_since ? conditions->since : INT64_MIN,
                          .until = conditions->has_before ? (int64_t)((uint64_t)conditions->before - 1) : INT64_MAX};
  if (conditions->has_before && conditions->before == INT64_MIN) filter.roles = 0;      /* nothing is before it */
  uint32_t count = sequence_count(view->list);
  uint32_t room =
      conditions->has_marked ? marks_size(conversation_marks(view->conversation), conditions->marked)
                             : count_roles(view, conditions->roles);
  uint32_t *positions = guard_userdata(L, room * sizeof *positions + 1, 0);
  *candidate_count = 0;
  if (conditions->has_marked) {
    *candidate_count = find_marked(view, conditions->marked, positions);
  } else {
    for (uint32_t at = 0; (at = sequence_next(view->list, at, &filter)) < count; at++) {
      positions[(*candidate_count)++] = at;
    }
  }
  return positions;
}

static int select_where(lua_State *L, const View *view, const Conditions *conditions) {
  uint32_t candidates, passing = 0, *positions = push_candidates(L, view, conditions, &candidates);
  if (conditions->has_obsolete && view->draft == NULL) {
    candidates = bind_keep_obsolete(L, view, conditions->obsolete, positions, candidates);
  }
  for (uint32_t i = 0; i < candidates; i++) {
    if (bind_passes(L, view, conditions, sequence_at(view->list, positions[i]))) positions[passing++] = positions[i];
  }
  Selection *selection = bind_new_selection(L, view->owner, passing);
  for (uint32_t i = 0; i < passing; i++) {
    selection->items[i] = (Selected){.id = sequence_at(view->list, positions[i]), .position = positions[i]};
  }
  selection->count = passing;
  return 1;
}

/* list:where(conditions) -> Selection */
static int l_where(lua_State *L) {
  View view = bind_view(L, 1);
  lua_settop(L, 2);
  Conditions conditions = bind_conditions(L, 2, WHERE_NAMES);
  return select_where(L, &view, &conditions);
}

/* list:marked(name) -> Selection */
static int l_marked(lua_State *L) {
  View view = bind_view(L, 1);
  bind_expect(L, 2, NULL, LUA_TSTRING);
  Conditions conditions = {.roles = ROLES_ALL, .has_marked = true, .marked = bind_text(L, 2)};
  return select_where(L, &view, &conditions);
}

/* ---- positions ---- */

int bind_view_get(lua_State *L) {
  View view = bind_view(L, 1);
  lua_Integer i = lua_tointeger(L, 2);
  if (i < 1 || i > sequence_count(view.list)) return 0;
  bind_push_message(L, 1, sequence_at(view.list, (uint32_t)(i - 1)), (uint32_t)(i - 1));
  return 1;
}

int bind_view_length(lua_State *L) {
  lua_pushinteger(L, sequence_count(bind_view(L, 1).list));
  return 1;
}

/* True if the messages have the same JSON, byte by byte. */
static bool same_bytes(const View *a, uint32_t place_a, const View *b, uint32_t place_b) {
  const Message *first = store_message(conversation_store(a->conversation), sequence_at(a->list, place_a));
  const Message *second = store_message(conversation_store(b->conversation), sequence_at(b->list, place_b));
  return text_equal(message_raw(first), message_raw(second));
}

int bind_common_ends(lua_State *L) {
  View a = bind_view(L, 1), b = bind_view(L, 2);
  uint32_t count_a = sequence_count(a.list), count_b = sequence_count(b.list);
  uint32_t shorter = count_a < count_b ? count_a : count_b, front = 0, back = 0;
  while (front < shorter && same_bytes(&a, front, &b, front)) front++;
  while (back < shorter - front && same_bytes(&a, count_a - back - 1, &b, count_b - back - 1)) back++;
  lua_pushinteger(L, front);
  lua_pushinteger(L, back);
  return 2;
}

const char BIND_FIND = 0;

void bind_open_list(lua_State *L, const BindType *type) {
  static const BindMethod methods[] = {
    {"tokens", l_tokens, "", CHARGE_STEP},
    {"trust", l_trust, "", CHARGE_STEP},
    {"count", l_count, "role", CHARGE_STEP},
    {"recent", l_recent, "role n", CHARGE_LIST},
    {"range", l_range, "role i j", CHARGE_LIST},
    {"where", l_where, "conditions", CHARGE_LIST},
    {"marked", l_marked, "name", CHARGE_LIST},
    {"active", bind_active, "", CHARGE_PATH},
    {"shows", l_shows, "texts", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, type, methods);
}
