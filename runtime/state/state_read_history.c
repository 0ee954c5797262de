/*
** Reads the batches of a state: each is a delta over the state of its parent from
** which it came, so its list shares what was shared.
*/
#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "state/state_parts.h"

typedef struct BatchRead {
  JsonValue values[BATCH_FIELDS];
  NewBatch batch;
  Text policy_memory;
  int64_t parent, parent_length, born, count;
} BatchRead;

static bool batch_integer(StateLoader *l, const BatchRead *read, BatchField field, int64_t low, int64_t high,
                          int64_t *value) {
  Json json;
  json_open_value(&json, &read->values[field]);
  return state_value_integer(l, &json, low, high, value, BATCH_NAMES[field]);
}

static bool batch_kind(StateLoader *l, const BatchRead *read, BatchKind *kind) {
  Json json;
  Text label;
  char copy[16];
  json_open_value(&json, &read->values[BATCH_OPERATION]);
  if (!state_value_text(l, &json, &label)) return false;
  if (label.escaped || label.size >= sizeof copy) return state_fail_json(l, &json, "an operation");
  memcpy(copy, label.bytes, label.size);
  copy[label.size] = '\0';
  return batch_kind_parse(copy, kind) || state_fail_json(l, &json, "an operation");
}

static bool read_batch_fields(StateLoader *l, BatchRead *read) {
  uint32_t index = history_count(l->history);
  int64_t most = store_count(l->store);
  if (!batch_integer(l, read, BATCH_PARENT, index == 0 ? -1 : 0, (int64_t)index - 1, &read->parent)) return false;
  int64_t longest = index == 0 ? 0 : history_batch(l->history, (uint32_t)read->parent).count;
  int64_t shortest = index == 0 ? 0 : history_batch(l->history, (uint32_t)read->parent).born;
  if (!batch_integer(l, read, BATCH_PARENT_LENGTH, shortest, longest, &read->parent_length) ||
      !batch_integer(l, read, BATCH_COUNT, 0, most, &read->count) ||
      !batch_integer(l, read, BATCH_BORN, 0, read->count, &read->born) ||
      !batch_integer(l, read, BATCH_TIMESTAMP, INT64_MIN, INT64_MAX, &read->batch.timestamp) ||
      !batch_kind(l, read, &read->batch.kind)) {
    return false;
  }
  read->batch.parent = index == 0 ? BATCH_NONE : (uint32_t)read->parent;
  read->batch.parent_length = (uint32_t)read->parent_length;
  return true;
}

/* A walk over the runs of "keep": positions of the parent's state, rising. */
typedef struct KeepWalk {
  Json json;
  int64_t start, end, length;          /* the current run; how many messages that state has */
} KeepWalk;

static bool keep_open(StateLoader *l, const BatchRead *read, KeepWalk *walk) {
  assert(read->parent_length >= 0);
  *walk = (KeepWalk){.length = read->parent_length};
  json_open_value(&walk->json, &read->values[BATCH_KEEP]);
  return state_enter(l, &walk->json, JSON_ARRAY, "a list");
}

/* Reads the next run; *more is false at the end. */
static bool keep_next(StateLoader *l, KeepWalk *walk, bool *more) {
  int64_t count;
  *more = json_next_element(&walk->json);
  if (!*more) return state_end(l, &walk->json, "a position");
  if (!state_value_integer(l, &walk->json, walk->end, walk->length - 1, &walk->start,
                           "a position behind the ones before") ||
      !state_integer(l, &walk->json, 1, walk->length - walk->start, &count, "a count")) {
    return false;
  }
  walk->end = walk->start + count;
  return true;
}

static bool count_runs(StateLoader *l, const BatchRead *read, int64_t *runs) {
  KeepWalk walk;
  bool more = true;
  *runs = 0;
  if (!keep_open(l, read, &walk)) return false;
  for (; more; *runs += more) {
    if (!keep_next(l, &walk, &more)) return false;
  }
  return true;
}

/* Removes what stands between the runs: costs nothing for messages that stay. */
static bool remove_gaps(StateLoader *l, const BatchRead *read, Sequence **list) {
  KeepWalk walk;
  bool more = true;
  Status status = STATUS_OK;
  int64_t at = 0, removed = 0;         /* the end of the run before; messages removed so far */
  if (!keep_open(l, read, &walk)) return false;
  while (more && status == STATUS_OK) {
    if (!keep_next(l, &walk, &more)) return false;
    int64_t gap = (more ? walk.start : walk.length) - at;
    if (gap > 0) status = sequence_remove(list, (uint32_t)(at - removed), (uint32_t)(at - removed + gap));
    removed += gap;
    at = walk.end;
  }
  return status == STATUS_OK || state_fail_memory(l);
}

/* Builds the list anew if that is cheaper than removing each gap. */
static bool keep_positions(StateLoader *l, const BatchRead *read, Sequence **list) {
  KeepWalk walk;
  bool more = true;
  const Memory *memory = conversation_memory(l->conversation);
  uint64_t *keep = bitset_new(memory, (size_t)read->parent_length);
  if (keep == NULL) return state_fail_memory(l);
  bool good = keep_open(l, read, &walk);
  while (good && more) {
    good = keep_next(l, &walk, &more);
    for (int64_t i = walk.start; good && more && i < walk.end; i++) bitset_add(keep, (size_t)i);
  }
  if (good && sequence_keep(list, keep) != STATUS_OK) good = state_fail_memory(l);
  bitset_free(memory, keep, (size_t)read->parent_length);
  return good;
}

enum { RUN_MESSAGES = 64 };            /* messages that may be looked at for each run */

/* Makes the list of the parent's messages that the batch keeps. */
static bool keep_of_parent(StateLoader *l, const BatchRead *read, Sequence **list) {
  int64_t runs;
  if (!count_runs(l, read, &runs)) return false;
  Status status = history_state(l->history, read->batch.parent, (uint32_t)read->parent_length, list);
  if (status != STATUS_OK) return state_fail_memory(l);
  bool few = runs * RUN_MESSAGES < read->parent_length;
  return few ? remove_gaps(l, read, list) : keep_positions(l, read, list);
}

/* ---- which messages may be put ---- */

/* The parent's messages may be kept, not put. They are searched in its list, in O(log n) as a rule, so that a
   batch costs no walk over it; only a list without an order is walked, and its messages are added here. */
static const Sequence *searched_parent(const StateLoader *l, const BatchRead *read) {
  if (read->values[BATCH_KEEP].bytes == NULL) return NULL;
  const Sequence *parent = history_list(l->history, read->batch.parent);
  return sequence_is_ranked(parent) ? parent : NULL;
}

/* Adds or removes all messages of the parent's state where it is not searched. */
static void mark_parent(StateLoader *l, const BatchRead *read, bool add) {
  if (read->values[BATCH_KEEP].bytes == NULL || searched_parent(l, read) != NULL) return;
  SequenceWalk walk = sequence_walk(history_list(l->history, read->batch.parent), 0, (uint32_t)read->parent_length);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (add) bitset_add(l->seen, walk.ids[i]);
      else bitset_remove(l->seen, walk.ids[i]);
    }
  }
}

/* True if the parent's state or the batch has the message already. */
static bool is_seen(const StateLoader *l, const BatchRead *read, MessageId id) {
  const Sequence *parent = searched_parent(l, read);
  if (bitset_has(l->seen, id)) return true;
  return parent != NULL && sequence_index_of(parent, id, UINT32_MAX) < (uint32_t)read->parent_length;
}

/* Messages that a batch puts: where the first of them goes, its seq, and how many follow each other from there. */
typedef struct PutRun {
  int64_t position, first, left;
} PutRun;

/* Reads the run at the cursor, whose position is from `low` to `high`. */
static bool read_run(StateLoader *l, Json *json, int64_t low, int64_t high, PutRun *run) {
  int64_t most = store_count(l->store);
  return state_value_integer(l, json, low, high, &run->position, "a position of the list") &&
         state_integer(l, json, 1, most, &run->first, "a seq") &&
         state_integer(l, json, 1, most - run->first + 1, &run->left, "a count");
}

/* Empties the set of what the batch put, run by run. */
static bool clear_put(StateLoader *l, const BatchRead *read) {
  Json json;
  PutRun run;
  json_open_value(&json, &read->values[BATCH_PUT]);
  bool good = state_enter(l, &json, JSON_ARRAY, "a list");
  while (good && json_next_element(&json)) {
    good = read_run(l, &json, 0, INT64_MAX, &run);
    for (int64_t i = 0; good && i < run.left; i++) bitset_remove(l->seen, (size_t)(run.first + i));
  }
  return good && state_end(l, &json, "a position");
}

/* ---- what a batch puts ---- */

/* Puts a message at `position` of the list, which must not have it yet. */
static bool put_one(StateLoader *l, const BatchRead *read, Sequence **list, const Json *json, uint32_t position,
                    MessageId id) {
  assert(position <= sequence_count(*list));
  if (!store_has(l->store, id)) return state_fail_json(l, json, "a message that was not removed");
  if (is_seen(l, read, id)) return state_fail_json(l, json, "a message that is not in the list");
  bitset_add(l->seen, id);
  bool end = position == sequence_count(*list);
  Status status = end ? sequence_append(list, id) : sequence_insert(list, position, id);
  if (status == STATUS_LIMIT) return state_fail(l, status, l->bytes, "a list with fewer tokens");
  return status == STATUS_OK || state_fail_memory(l);
}

/* A walk over the runs of "put". */
typedef struct PutWalk {
  Json json;
  PutRun run;                /* what is left of the current one */
  bool end, growing;         /* growing: messages may only be appended */
} PutWalk;

static bool put_next(StateLoader *l, PutWalk *walk, int64_t high) {
  if (walk->run.left > 0 || walk->end) return true;
  walk->end = !json_next_element(&walk->json);
  if (walk->end) return state_end(l, &walk->json, "a position");
  return read_run(l, &walk->json, walk->run.position, high, &walk->run);
}

/* Puts messages until the list has `length` of them; fails if it cannot. */
static bool put_until(StateLoader *l, const BatchRead *read, PutWalk *walk, Sequence **list, int64_t length) {
  for (;;) {
    if (!put_next(l, walk, sequence_count(*list))) return false;
    if (walk->end || sequence_count(*list) == length) break;
    PutRun *run = &walk->run;
    bool behind = run->position == sequence_count(*list);
    if (walk->growing && !behind) return state_fail_json(l, &walk->json, "a position behind the list");
    if (!put_one(l, read, list, &walk->json, (uint32_t)run->position, (MessageId)run->first)) return false;
    run->position++, run->first++, run->left--;
  }
  return sequence_count(*list) == length || state_fail_json(l, &walk->json, "as many messages as the batch has");
}

/* The description lies in l->scratch if it has escapes: nothing may decode a text until the history has copied it. */
static bool read_description(StateLoader *l, BatchRead *read) {
  Json json;
  json_open_value(&json, &read->values[BATCH_DESCRIPTION]);
  return state_value_text(l, &json, &read->batch.description) && state_plain(l, &read->batch.description);
}

/* Reads what policies remember, where the batch has it: a table by the name of each policy. */
static bool read_memory(StateLoader *l, BatchRead *read) {
  const JsonValue *value = &read->values[BATCH_MEMORY];
  Json json;
  JsonValue table;
  Text name;
  bool empty = true;
  if (value->bytes == NULL) return true;
  if (value->size > POLICY_MEMORY_MAX) {
    return state_fail(l, STATUS_SHAPE, value->bytes, "at most 1 MiB of what policies remember");
  }
  json_open_value(&json, value);
  if (!state_enter(l, &json, JSON_OBJECT, "what policies remember, an object")) return false;
  for (; json_next_member(&json, &name); empty = false) {
    if (!json_value(&json, &table)) break;
    if (table.kind != JSON_OBJECT && table.kind != JSON_ARRAY) {
      return state_fail(l, STATUS_SHAPE, table.bytes, "what a policy remembers, a table");
    }
  }
  if (json.status != STATUS_OK) return state_fail_json(l, &json, "what a policy remembers");
  read->policy_memory = empty ? text_of("") : text_plain(value->bytes, value->size);
  read->batch.policy_memory = &read->policy_memory;
  return true;
}

/* Makes the list that the batch starts from: what it keeps of its parent's, which it
   must say if that was not pruned, else an empty one. */
static bool start_list(StateLoader *l, const BatchRead *read, Sequence **list) {
  uint32_t index = history_count(l->history);
  bool of_parent = index > 0 && history_list(l->history, (uint32_t)read->parent) != NULL;
  if (of_parent != (read->values[BATCH_KEEP].bytes != NULL)) {
    return state_fail(l, STATUS_SHAPE, read->values[BATCH_PARENT].bytes, "what is kept of the parent");
  }
  if (of_parent) return keep_of_parent(l, read, list);
  return sequence_new(conversation_memory(l->conversation), l->store, list) == STATUS_OK || state_fail_memory(l);
}

/* Adds the batch with the list of its birth; then appends the messages that came later. */
static bool add_batch(StateLoader *l, BatchRead *read) {
  assert(read->born <= read->count);
  PutWalk walk = {0};
  Sequence **grown;
  json_open_value(&walk.json, &read->values[BATCH_PUT]);
  if (!state_enter(l, &walk.json, JSON_ARRAY, "a list") || !start_list(l, read, &read->batch.list)) return false;
  mark_parent(l, read, true);
  if (sequence_count(read->batch.list) > read->born) {
    return state_fail_json(l, &walk.json, "a batch that keeps no more than it was born with");
  }
  if (!put_until(l, read, &walk, &read->batch.list, read->born)) return false;
  const JsonValue *ledger = &read->values[BATCH_LEDGER];
  if (ledger->bytes != NULL && !state_read_ledger(l, ledger, &read->batch.ledger)) return false;
  if (!read_memory(l, read) || !read_description(l, read)) return false;
  Status status = history_add(l->history, &read->batch);
  if (status != STATUS_OK) return state_fail_memory(l);
  read->batch.list = NULL;
  read->batch.ledger = NULL;
  if (history_grow(l->history, &grown) != STATUS_OK) return state_fail_memory(l);
  walk.growing = true;
  if (!put_until(l, read, &walk, grown, read->count)) return false;
  if (!walk.end) return state_fail_json(l, &walk.json, "no more messages than the batch has");
  mark_parent(l, read, false);
  return clear_put(l, read);
}

static bool add_pruned(StateLoader *l, BatchRead *read) {
  const JsonValue *values = read->values;
  if (values[BATCH_KEEP].bytes != NULL || values[BATCH_LEDGER].bytes != NULL || values[BATCH_MEMORY].bytes != NULL) {
    return state_fail(l, STATUS_SHAPE, values[BATCH_PARENT].bytes, "a pruned batch without messages");
  }
  if (!read_description(l, read)) return false;
  Status status = history_add_pruned(l->history, &read->batch, (uint32_t)read->born, (uint32_t)read->count);
  return status == STATUS_OK || state_fail_memory(l);
}

static bool read_batch(StateLoader *l, Json *json) {
  BatchRead read = {0};
  bool good = state_fields(l, json, BATCH_NAMES, BATCH_FIELDS, BATCH_KEEP, "a batch with all its fields, once each",
                           read.values) &&
              read_batch_fields(l, &read) &&
              (read.values[BATCH_PUT].bytes != NULL ? add_batch(l, &read) : add_pruned(l, &read));
  sequence_release(read.batch.list);
  ledger_release(read.batch.ledger);
  return good;
}

static bool read_batches(StateLoader *l) {
  Json json;
  int64_t current;
  Status status = history_new_empty(conversation_memory(l->conversation), store_hash_key(l->store), &l->history);
  if (status != STATUS_OK) return state_fail_memory(l);
  if (!state_open_field(l, &json, STATE_BATCHES, JSON_ARRAY)) return false;
  while (json_next_element(&json)) {
    if (!read_batch(l, &json)) return false;
  }
  if (json.status != STATUS_OK) return state_fail_json(l, &json, "a batch");
  json_open_value(&json, &l->fields[STATE_CURRENT]);
  if (!state_value_integer(l, &json, 0, (int64_t)history_count(l->history) - 1, &current, "the number of a batch")) {
    return false;
  }
  bool visible = history_rollback(l->history, (uint32_t)current) == STATUS_OK;
  return visible || state_fail_json(l, &json, "a batch that was not pruned");
}

/* Reads a checkpoint and adds it; its batch must have a list. False with an error noted. */
static bool read_checkpoint(StateLoader *l, Json *json) {
  Text label;
  int64_t batch, length;
  uint32_t known_batch, known_length;
  if (!state_enter(l, json, JSON_ARRAY, "a list") || !state_text(l, json, &label) || !state_plain(l, &label) ||
      !state_integer(l, json, 0, (int64_t)history_count(l->history) - 1, &batch, "the number of a batch")) {
    return false;
  }
  BatchInfo info = history_batch(l->history, (uint32_t)batch);
  if (!state_integer(l, json, info.born, info.count, &length, "a length that the batch had") ||
      !state_end_list(l, json)) {
    return false;
  }
  bool twice = history_find(l->history, label, &known_batch, &known_length);
  if (info.pruned || twice) {
    return state_fail_json(l, json, "a checkpoint of its own name, in a batch that was not pruned");
  }
  Status status = history_add_checkpoint(l->history, label, (uint32_t)batch, (uint32_t)length);
  return status == STATUS_OK || state_fail_memory(l);
}

static bool read_checkpoints(StateLoader *l) {
  Json json;
  if (!state_open_field(l, &json, STATE_CHECKPOINTS, JSON_ARRAY)) return false;
  while (json_next_element(&json)) {
    if (!read_checkpoint(l, &json)) return false;
  }
  return state_end(l, &json, "a checkpoint");
}

bool state_read_history(StateLoader *l) {
  l->seen = bitset_new(conversation_memory(l->conversation), (size_t)store_count(l->store) + 1);
  if (l->seen == NULL) return state_fail_memory(l);
  return read_batches(l) && read_checkpoints(l);
}
