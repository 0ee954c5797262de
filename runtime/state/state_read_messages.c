/*
** Reads the messages of a state. Origins, ranks and links are in lists of their own,
** sorted by seq, which are read beside the messages in one pass.
*/
#include <assert.h>

#include "state/state_parts.h"

/* ---- lists of entries [seq, ...], sorted by seq ---- */

typedef struct EntryList {
  Json json;
  int64_t id;                /* seq of the current entry, whose list is entered; INT64_MAX: none is left */
} EntryList;

static bool entry_next(StateLoader *l, EntryList *list) {
  int64_t before = list->id;
  if (!json_next_element(&list->json)) {
    list->id = INT64_MAX;
    return state_end(l, &list->json, "a list");
  }
  if (!state_enter(l, &list->json, JSON_ARRAY, "a list")) return false;
  return state_integer(l, &list->json, before + 1, UINT32_MAX - 1, &list->id, "a seq, greater than the one before");
}

static bool entry_open(StateLoader *l, EntryList *list, StateField field) {
  list->id = 0;
  return state_open_field(l, &list->json, field, JSON_ARRAY) && entry_next(l, list);
}

/* Fails if an entry is left: its message does not exist. */
static bool entry_end(StateLoader *l, const EntryList *list) {
  return list->id == INT64_MAX || state_fail_json(l, &list->json, "the seq of a message");
}

typedef struct MessageLists {
  EntryList origins, moved, answers;
  Json removed;
  int64_t removed_first, removed_count;      /* the next run of removed messages; first INT64_MAX: none */
} MessageLists;

/* ---- removed messages ---- */

static bool next_removed(StateLoader *l, MessageLists *lists) {
  int64_t low = lists->removed_first + lists->removed_count + (lists->removed_count > 0);
  if (!json_next_element(&lists->removed)) {
    lists->removed_first = INT64_MAX;
    return state_end(l, &lists->removed, "a list");
  }
  return state_value_integer(l, &lists->removed, low, UINT32_MAX - 1, &lists->removed_first,
                             "a seq, behind the removed messages before") &&
         state_integer(l, &lists->removed, 1, UINT32_MAX - 1 - lists->removed_first, &lists->removed_count, "a count");
}

static bool open_removed(StateLoader *l, MessageLists *lists) {
  lists->removed_first = INT64_MAX;
  if (l->fields[STATE_REMOVED].bytes == NULL) return true;
  lists->removed_first = 1;
  lists->removed_count = 0;
  return state_open_field(l, &lists->removed, STATE_REMOVED, JSON_ARRAY) && next_removed(l, lists);
}

static_assert(STORE_MESSAGES_MAX == 67108864, "as the error says");

/* Skips the next seqs if their messages were removed. */
static bool skip_removed(StateLoader *l, MessageLists *lists) {
  if (lists->removed_first != (int64_t)store_count(l->store) + 1) return true;
  Status status = store_skip(l->store, (uint32_t)lists->removed_count);
  if (status != STATUS_OK) {
    return state_fail(l, status, lists->removed.at, "at most 67108864 messages, removed ones among them");
  }
  return next_removed(l, lists);
}

static bool end_removed(StateLoader *l, MessageLists *lists) {
  if (!skip_removed(l, lists)) return false;
  return lists->removed_first == INT64_MAX || state_fail_json(l, &lists->removed, "the seq of a removed message");
}

static bool read_origin(StateLoader *l, MessageLists *lists, MessageId id, MessageId *origin) {
  int64_t value;
  *origin = id;
  if (lists->origins.id != id) return true;
  if (!state_integer(l, &lists->origins.json, 1, (int64_t)id - 1, &value, "the seq of an older message")) return false;
  *origin = (MessageId)value;
  if (store_origin(l->store, *origin) != *origin) {
    return state_fail_json(l, &lists->origins.json, "a message that replaced none");
  }
  return state_end_list(l, &lists->origins.json) && entry_next(l, &lists->origins);
}

static bool read_rank(StateLoader *l, MessageLists *lists, MessageId id, Rank *rank, bool *moved) {
  int64_t anchor, high, low;
  Json *json = &lists->moved.json;
  *moved = lists->moved.id == id;
  if (!*moved) return true;
  if (!state_integer(l, json, 0, (int64_t)id - 1, &anchor, "the seq of an older message") ||
      !state_integer(l, json, 0, UINT32_MAX, &high, "half a step") ||
      !state_integer(l, json, 0, UINT32_MAX, &low, "half a step")) {
    return false;
  }
  *rank = (Rank){.anchor = (MessageId)anchor, .step = (uint64_t)high << 32 | (uint64_t)low};
  if (rank->step == 0) return state_fail_json(l, json, "a step");
  return state_end_list(l, json) && entry_next(l, &lists->moved);
}

/* Reads the link of a result: a call of the same id in an older message, or none. A removed message stands for what
   replaced it. */
static bool read_link(StateLoader *l, Json *json, MessageId id, uint32_t result) {
  int64_t caller, call;
  const Message *message = store_message(l->store, id);
  if (!state_integer(l, json, 0, (int64_t)id - 1, &caller, "the seq of an older message") ||
      !state_integer(l, json, 0, UINT32_MAX, &call, "the number of a call")) {
    return false;
  }
  if (store_has(l->store, (MessageId)caller)) {
    const Message *other = store_message(l->store, (MessageId)caller);
    bool named = call < message_call_count(other) && message_may_answer(message, result, other, (uint32_t)call);
    if (!named) return state_fail_json(l, json, "a call of the result's id");
  }
  store_link(l->store, id, result, (CallLink){.message = (MessageId)caller, .call = (uint32_t)call});
  return true;
}

static bool read_answers(StateLoader *l, MessageLists *lists, MessageId id) {
  uint32_t count = message_result_count(store_message(l->store, id));
  if ((lists->answers.id == id) != (count > 0)) {
    return state_fail_json(l, &lists->answers.json, "what each result answers");
  }
  if (count == 0) return true;
  for (uint32_t i = 0; i < count; i++) {
    if (!read_link(l, &lists->answers.json, id, i)) return false;
  }
  return state_end_list(l, &lists->answers.json) && entry_next(l, &lists->answers);
}

static bool read_message(StateLoader *l, Json *json, Reader *reader, MessageLists *lists) {
  Text raw;
  MessageShape shape;
  if (!skip_removed(l, lists)) return false;
  MessageId id = store_count(l->store) + 1, origin;
  Rank rank;
  bool moved;
  if (!reader_message(reader, json, &raw, &shape)) return state_fail_json(l, json, "a message");
  if (!read_origin(l, lists, id, &origin) || !read_rank(l, lists, id, &rank, &moved)) return false;
  if (origin != id && moved && store_has(l->store, origin)) {
    return state_fail_json(l, json, "a message that is a replacement or inserted, not both");
  }
  Status status = conversation_restore_one(l->conversation, raw, &shape, origin, moved ? &rank : NULL, &id);
  if (status != STATUS_OK) return state_fail(l, status, raw.bytes, "a message that can be stored");
  assert(id == store_count(l->store));
  return read_answers(l, lists, id);
}

bool state_read_messages(StateLoader *l) {
  Json json;
  MessageLists lists;
  if (!state_open_field(l, &json, STATE_MESSAGES, JSON_ARRAY) || !entry_open(l, &lists.origins, STATE_ORIGINS) ||
      !entry_open(l, &lists.moved, STATE_MOVED) || !entry_open(l, &lists.answers, STATE_ANSWERS) ||
      !open_removed(l, &lists)) {
    return false;
  }
  json.depth_max++;                          /* the list's own level */
  Reader reader;
  reader_init(&reader, *conversation_memory(l->conversation));
  reader.aliases = l->aliases;
  reader.alias_count = l->alias_count;
  reader.message_bytes_max = SIZE_MAX;       /* the cap held when the message was first read */
  reader.all_items = true;
  bool good = true;
  while (good && json_next_element(&json)) good = read_message(l, &json, &reader, &lists);
  reader_free(&reader);
  if (good && json.status != STATUS_OK) good = state_fail_json(l, &json, "a message");
  good = good && end_removed(l, &lists) && entry_end(l, &lists.origins);
  if (good) store_link_removed(l->store);
  return good && entry_end(l, &lists.moved) && entry_end(l, &lists.answers);
}
