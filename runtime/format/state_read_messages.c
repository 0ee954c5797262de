/*
** The messages of a state. What is said of some of them stands in lists of its
** own, which rise by seq and are read beside them, in one pass.
*/
#include "format/reader.h"
#include "format/state_read.h"

/* ---- what is said of messages: three lists that rise by seq ---- */

typedef struct Said {
  Json json;
  int64_t id;                /* of the entry that comes next, whose list is entered; INT64_MAX: none */
} Said;

static bool said_next(StateLoader *l, Said *said) {
  int64_t before = said->id;
  if (!json_next_element(&said->json)) {
    said->id = INT64_MAX;
    return said->json.status == STATUS_OK ? true : state_fail_json(l, &said->json, "a list");
  }
  if (!state_enter(l, &said->json, JSON_ARRAY, "a list")) return false;
  return state_integer(l, &said->json, before + 1, UINT32_MAX - 1, &said->id, "a seq, greater than the one before");
}

static bool said_open(StateLoader *l, Said *said, int field) {
  said->id = 0;
  return state_open_field(l, &said->json, field, JSON_ARRAY) && said_next(l, said);
}

static bool said_end(StateLoader *l, const Said *said) {
  return said->id == INT64_MAX ? true : state_fail_json(l, &said->json, "the seq of a message");
}

/* ---- messages ---- */

typedef struct MessageLists {
  Said origins, moved, answers;
  Json removed;
  int64_t removed_first, removed_count;      /* the next run of removed messages; first INT64_MAX: none */
} MessageLists;

/* ---- removed messages ---- */

static bool next_removed(StateLoader *l, MessageLists *lists) {
  int64_t least = lists->removed_first + lists->removed_count + (lists->removed_count > 0);
  if (!json_next_element(&lists->removed)) {
    lists->removed_first = INT64_MAX;
    return lists->removed.status == STATUS_OK ? true : state_fail_json(l, &lists->removed, "a list");
  }
  return state_value_integer(l, &lists->removed, least, UINT32_MAX - 1, &lists->removed_first,
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

/* Leaves out the seqs that come next if their messages were removed. */
static bool skip_removed(StateLoader *l, MessageLists *lists) {
  if (lists->removed_first != (int64_t)store_count(l->store) + 1) return true;
  Status status = store_skip(l->store, (uint32_t)lists->removed_count);
  if (status != STATUS_OK) return state_fail(l->error, status, 0, "fewer messages");
  return next_removed(l, lists);
}

static bool end_removed(StateLoader *l, MessageLists *lists) {
  if (!skip_removed(l, lists)) return false;
  return lists->removed_first == INT64_MAX ? true : state_fail_json(l, &lists->removed, "the seq of a removed message");
}

static bool read_origin(StateLoader *l, MessageLists *lists, MessageId id, MessageId *origin) {
  int64_t value;
  *origin = id;
  if (lists->origins.id != id) return true;
  if (!state_integer(l, &lists->origins.json, 1, (int64_t)id - 1, &value, "the seq of an older message")) return false;
  *origin = (MessageId)value;
  if (store_origin(l->store, *origin) != *origin)
    return state_fail_json(l, &lists->origins.json, "a message that replaced none");
  return state_end_list(l, &lists->origins.json) && said_next(l, &lists->origins);
}

static bool read_rank(StateLoader *l, MessageLists *lists, MessageId id, Rank *rank, bool *moved) {
  int64_t anchor, high, low;
  Json *json = &lists->moved.json;
  *moved = lists->moved.id == id;
  if (!*moved) return true;
  if (!state_integer(l, json, 0, (int64_t)id - 1, &anchor, "the seq of an older message") ||
      !state_integer(l, json, 0, UINT32_MAX, &high, "half a step") ||
      !state_integer(l, json, 0, UINT32_MAX, &low, "half a step"))
    return false;
  *rank = (Rank){.anchor = (MessageId)anchor, .step = (uint64_t)high << 32 | (uint64_t)low};
  if (rank->step == 0) return state_fail_json(l, json, "a step");
  return state_end_list(l, json) && said_next(l, &lists->moved);
}

/* A link names a call of the result's own id in an older message, or nothing. */
static bool read_link(StateLoader *l, Json *json, MessageId id, uint32_t result) {
  int64_t caller, call;
  const Message *message = store_message(l->store, id);
  if (!state_integer(l, json, 0, (int64_t)id - 1, &caller, "the seq of an older message") ||
      !state_integer(l, json, 0, UINT32_MAX, &call, "the number of a call")) return false;
  if (caller != 0 && !store_has(l->store, (MessageId)caller)) {
    return state_fail_json(l, json, "a message that is there");
  }
  if (caller != 0) {
    const Message *other = store_message(l->store, (MessageId)caller);
    bool named =
        call < message_call_count(other) &&
        text_equal(message_call_key(other, (uint32_t)call), message_text(message, message_result(message, result).id));
    if (!named) return state_fail_json(l, json, "a call of the result's id");
  }
  store_link(l->store, id, result, (CallLink){.message = (MessageId)caller, .call = (uint32_t)call});
  return true;
}

static bool read_answers(StateLoader *l, MessageLists *lists, MessageId id) {
  uint32_t count = message_result_count(store_message(l->store, id));
  if ((lists->answers.id == id) != (count > 0))
    return state_fail_json(l, &lists->answers.json, "what each result answers");
  if (count == 0) return true;
  for (uint32_t i = 0; i < count; i++) {
    if (!read_link(l, &lists->answers.json, id, i)) return false;
  }
  return state_end_list(l, &lists->answers.json) && said_next(l, &lists->answers);
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
  if (status != STATUS_OK)
    return state_fail(l->error, status, (size_t)(raw.bytes - l->bytes), "a message that can be stored");
  return read_answers(l, lists, id);
}

bool state_read_messages(StateLoader *l) {
  Json json;
  MessageLists lists;
  if (!state_open_field(l, &json, STATE_MESSAGES, JSON_ARRAY) || !said_open(l, &lists.origins, STATE_ORIGINS) ||
      !said_open(l, &lists.moved, STATE_MOVED) || !said_open(l, &lists.answers, STATE_ANSWERS) ||
      !open_removed(l, &lists))
    return false;
  Reader reader;
  reader_init(&reader, *conversation_memory(l->conversation));
  reader.aliases = l->aliases;
  reader.alias_count = l->alias_count;
  reader.message_bytes_max = SIZE_MAX;       /* caps are for what comes from outside */
  bool good = true;
  while (good && json_next_element(&json)) good = read_message(l, &json, &reader, &lists);
  reader_free(&reader);
  if (good && json.status != STATUS_OK) good = state_fail_json(l, &json, "a message");
  good = good && end_removed(l, &lists) && said_end(l, &lists.origins);
  return good && said_end(l, &lists.moved) && said_end(l, &lists.answers);
}
