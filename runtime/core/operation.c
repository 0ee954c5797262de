#include "core/operation.h"

#include <assert.h>
#include <stdio.h>

#include "base/bitset.h"
#include "base/minmax.h"
#include "core/list/call_links.h"

/* Bytes of a batch's description, which names the operation and its numbers. */
#define DESCRIPTION_SIZE 160

/* ---- adding ---- */

/* An edit on a private share of the list: edit_end commits it or leaves no trace. */
typedef struct Edit {
  Conversation *conversation;
  StoreMark mark;
  Sequence *list;
} Edit;

static Status edit_start(Conversation *conversation, Edit *edit) {
  *edit = (Edit){.conversation = conversation, .mark = store_mark(conversation_store(conversation))};
  return sequence_share(conversation_list(conversation), &edit->list);
}

/* `own` describes the batch, unless the caller does. */
static Status edit_end(Edit *edit, Status status, BatchKind kind, const char *own, Text description) {
  if (description.size == 0) description = text_of(own);
  if (status == STATUS_OK) {
    status = conversation_commit(edit->conversation, edit->list, kind, description, NULL);
  }
  if (status == STATUS_OK) return status;
  sequence_release(edit->list);
  store_rewind(conversation_store(edit->conversation), edit->mark);
  return status;
}

/* New messages for the end of the current list. The first one waits until the source ends;
   if no other follows, it goes directly into the list. A second one starts a private
   share, so that all are added or none. The current list is read late, because a source
   may be a host that forks. */
typedef struct Append {
  Conversation *conversation;
  Sequence *share;
  CallIndex calls;
  MessageId first;
  uint32_t added;
} Append;

static Status append_start_share(Append *append) {
  Status status = sequence_share(conversation_list(append->conversation), &append->share);
  return status == STATUS_OK ? sequence_append(&append->share, append->first) : status;
}

static Status append_one(Append *append, const MessageSource *source, Text raw, const MessageShape *shape) {
  MessageId id, borrowed = source->lender == NULL ? 0 : *source->borrowed;
  Status status = append->added == 1 ? append_start_share(append) : STATUS_OK;
  if (status != STATUS_OK) return status;
  const Sequence *list = append->share != NULL ? append->share : conversation_list(append->conversation);
  Place end = {.list = list, .position = sequence_count(list), .calls = &append->calls};
  if (borrowed != 0) status = conversation_borrow_one(append->conversation, &end, source->lender, borrowed, &id);
  else status = conversation_store_one(append->conversation, &end, raw, source->adopted, shape, &id);
  if (status == STATUS_OK && append->share != NULL) status = sequence_append(&append->share, id);
  if (append->added++ == 0) append->first = id;
  return status;
}

static Status append_all(Append *append, MessageSource *source) {
  bool more = true;
  for (;;) {
    Text raw;
    MessageShape shape;
    Status status = source->next(source->user, &more, &raw, &shape);
    if (status == STATUS_OK && more) status = append_one(append, source, raw, &shape);
    if (status != STATUS_OK) return status;
    if (!more) return append->added > 0 ? STATUS_OK : STATUS_ARGUMENT;
  }
}

/* Installs the messages in the current list; the last step that may fail. */
static Status append_end(Append *append) {
  assert(append->added > 0 && (append->added == 1) == (append->share == NULL));
  Sequence **current;
  Status status = history_grow(conversation_history(append->conversation), &current);
  if (status != STATUS_OK) return status;
  if (append->share == NULL) return sequence_append(current, append->first);
  sequence_release(*current);
  *current = append->share;
  return STATUS_OK;
}

Status operation_append(Conversation *conversation, MessageSource *source) {
  Append append = {.conversation = conversation};
  StoreMark mark = store_mark(conversation_store(conversation));
  call_index_init(&append.calls, *conversation_memory(conversation));
  Status status = append_all(&append, source);
  call_index_free(&append.calls);
  if (status == STATUS_OK) status = append_end(&append);
  if (status == STATUS_OK) {
    conversation_touch(conversation);
  } else {
    sequence_release(append.share);
    store_rewind(conversation_store(conversation), mark);
  }
  return status;
}

Status operation_insert(Conversation *conversation, uint32_t position, MessageSource *source,
                        Text description) {
  if (position > sequence_count(conversation_list(conversation))) return STATUS_RANGE;
  Edit edit;
  uint32_t added = 0;
  char own[DESCRIPTION_SIZE];
  Status status = edit_start(conversation, &edit);
  if (status != STATUS_OK) return status;
  status = conversation_put(conversation, &edit.list, position, source, &added);
  if (status == STATUS_OK && added == 0) status = STATUS_ARGUMENT;
  snprintf(own, sizeof own, "insert %u at %u", (unsigned)added, (unsigned)position);
  return edit_end(&edit, status, BATCH_INSERT, own, description);
}

Status operation_replace(Conversation *conversation, uint32_t index, MessageSource *source, Text description) {
  if (index >= sequence_count(conversation_list(conversation))) return STATUS_RANGE;
  Edit edit;
  bool more;
  Text raw;
  MessageShape shape;
  MessageId id;
  char own[DESCRIPTION_SIZE];
  Status status = edit_start(conversation, &edit);
  if (status != STATUS_OK) return status;
  status = source->next(source->user, &more, &raw, &shape);
  if (status == STATUS_OK && !more) status = STATUS_ARGUMENT;
  if (status == STATUS_OK) {
    Place place = {.list = edit.list, .position = index, .replaced = sequence_at(edit.list, index)};
    status = conversation_store_one(conversation, &place, raw, source->adopted, &shape, &id);
  }
  if (status == STATUS_OK) status = sequence_replace(&edit.list, index, id);
  snprintf(own, sizeof own, "replace %u", (unsigned)index);
  return edit_end(&edit, status, BATCH_REPLACE, own, description);
}

/* ---- keeping ---- */

/* Sets the bits of whole units: of each unit with a bit in `keep`. */
static Status widen(Conversation *conversation, uint64_t *keep) {
  const Units *units;
  Status status = conversation_units(conversation, &units);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < units->count; i++) {
    bool any = false;
    for (uint32_t at = units->units[i].first; at != UNIT_NONE && !any; at = units->next[at]) any = bitset_has(keep, at);
    for (uint32_t at = units->units[i].first; at != UNIT_NONE && any; at = units->next[at]) bitset_add(keep, at);
  }
  return STATUS_OK;
}

static Status commit_kept(Conversation *conversation, uint64_t *keep, bool whole_units, BatchKind kind,
                          const char *own, Text description) {
  Edit edit;
  Status status = whole_units ? widen(conversation, keep) : STATUS_OK;
  if (status != STATUS_OK) return status;
  status = edit_start(conversation, &edit);
  if (status != STATUS_OK) return status;
  status = sequence_keep(&edit.list, keep);
  if (status == STATUS_OK && kind == BATCH_CLEAR) status = conversation_put_tools(conversation, &edit.list);
  return edit_end(&edit, status, kind, own, description);
}

/* ---- truncate ---- */

/* Cuts `count` items; [*start, *end) stay. */
static void cut(const Truncate *truncate, uint32_t count, uint32_t *start, uint32_t *end) {
  uint32_t from = 0, to = count;
  if (truncate->has_keep_first) to = min_u32(truncate->keep_first, to);
  if (truncate->has_keep_last) from = to - min_u32(truncate->keep_last, to);
  if (truncate->has_remove_first) from += min_u32(truncate->remove_first, to - from);
  if (truncate->has_remove_last) to -= min_u32(truncate->remove_last, to - from);
  if (truncate->has_range) {
    uint32_t length = to - from;
    to = from + min_u32(truncate->end, length);
    from += min_u32(truncate->start, to - from);
  }
  assert(from <= to && to <= count);
  *start = from;
  *end = to;
}

static int describe_part(char *out, size_t room, const char *name, bool has, uint32_t n) {
  return has && room > 0 ? snprintf(out, room, " %s %u", name, (unsigned)n) : 0;
}

static void describe_truncate(const Truncate *truncate, char out[DESCRIPTION_SIZE]) {
  size_t at = (size_t)snprintf(out, DESCRIPTION_SIZE, "truncate");
  if (truncate->has_role) {
    at += (size_t)snprintf(out + at, DESCRIPTION_SIZE - at, " %s %s", truncate->keep_others ? "within" : "only",
                           role_name(truncate->role));
  }
  at += (size_t)describe_part(out + at, DESCRIPTION_SIZE - at, "keepFirst", truncate->has_keep_first,
                              truncate->keep_first);
  at +=
      (size_t)describe_part(out + at, DESCRIPTION_SIZE - at, "keepLast", truncate->has_keep_last, truncate->keep_last);
  at += (size_t)describe_part(out + at, DESCRIPTION_SIZE - at, "removeFirst", truncate->has_remove_first,
                              truncate->remove_first);
  at += (size_t)describe_part(out + at, DESCRIPTION_SIZE - at, "removeLast", truncate->has_remove_last,
                              truncate->remove_last);
  if (truncate->has_range) {
    snprintf(out + at, DESCRIPTION_SIZE - at, " range %u to %u", (unsigned)truncate->start, (unsigned)truncate->end);
  }
}

/* Truncates without roles and units: the result is one slice. */
static Status truncate_all(Conversation *conversation, const Truncate *truncate, const char *own) {
  Edit edit;
  uint32_t start, end;
  Status status = edit_start(conversation, &edit);
  if (status != STATUS_OK) return status;
  cut(truncate, sequence_count(edit.list), &start, &end);
  status = sequence_slice(&edit.list, start, end);
  return edit_end(&edit, status, BATCH_TRUNCATE, own, truncate->description);
}

/* Sets the bits of the messages that a truncation keeps: its cuts count the messages of its role. */
static void mark_kept(const Sequence *list, const Truncate *truncate, uint64_t *keep) {
  uint32_t count = sequence_count(list), seen = 0, start, end;
  Sum sum = sequence_sum(list);
  cut(truncate, truncate->has_role ? sum.count[truncate->role] : count, &start, &end);
  SequenceWalk walk = sequence_walk(list, 0, count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      bool of_role = !truncate->has_role || mark_role(walk.marks[i]) == truncate->role;
      bool keeps = of_role ? seen >= start && seen < end : truncate->keep_others;
      seen += of_role;
      if (keeps) bitset_add(keep, walk.index + i);
    }
  }
}

Status operation_truncate(Conversation *conversation, const Truncate *truncate) {
  char own[DESCRIPTION_SIZE];
  if (!truncate->has_keep_first && !truncate->has_keep_last && !truncate->has_remove_first &&
      !truncate->has_remove_last && !truncate->has_range && !truncate->has_role) {
    return STATUS_ARGUMENT;
  }
  if (truncate->has_range && truncate->start > truncate->end) return STATUS_ARGUMENT;
  describe_truncate(truncate, own);
  if (!truncate->has_role && !truncate->whole_units) return truncate_all(conversation, truncate, own);
  uint32_t count = sequence_count(conversation_list(conversation));
  uint64_t *keep = bitset_new(conversation_memory(conversation), count);
  if (keep == NULL) return STATUS_MEMORY;
  mark_kept(conversation_list(conversation), truncate, keep);
  Status status = commit_kept(conversation, keep, truncate->whole_units, BATCH_TRUNCATE, own,
                              truncate->description);
  bitset_free(conversation_memory(conversation), keep, count);
  return status;
}

/* ---- clear ---- */

Status operation_clear(Conversation *conversation, bool keep_system, Text description) {
  const Sequence *list = conversation_list(conversation);
  uint32_t count = sequence_count(list);
  Sum sum = sequence_sum(list);
  uint64_t *keep = bitset_new(conversation_memory(conversation), count);
  if (keep == NULL) return STATUS_MEMORY;
  for (uint32_t i = 0; keep_system && i < sum.count[ROLE_SYSTEM]; i++) {
    bitset_add(keep, sequence_find(list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i));
  }
  Status status = commit_kept(conversation, keep, false, BATCH_CLEAR, keep_system ? "clear" : "clear all",
                              description);
  bitset_free(conversation_memory(conversation), keep, count);
  return status;
}

/* ---- filter ---- */

bool text_list_has(TextList list, Text text) {
  for (uint32_t i = 0; i < list.count; i++) {
    if (text_equal(list.texts[i], text)) return true;
  }
  return false;
}

/* True if the field is among `include` and not among `exclude`; an empty list is no condition. */
static bool field_passes(const Message *message, MessageField field, TextList include, TextList exclude) {
  Text value;
  bool has = message_field(message, field, &value);
  if (include.count > 0 && !(has && text_list_has(include, value))) return false;
  return !(exclude.count > 0 && has && text_list_has(exclude, value));
}

static Status contains_any(const Message *message, TextList needles, Buffer *scratch, bool *any) {
  *any = false;
  for (uint32_t i = 0; i < needles.count && !*any; i++) {
    Status status = message_contains(message, needles.texts[i], scratch, any);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static bool calls_excluded(const Filter *filter, Text name) {
  return filter->exclude_calls || text_list_has(filter->exclude_calls_of, name);
}

/* True if the message calls an excluded tool or answers such a call. An orphan result has no
   tool; it is excluded only with all calls. */
static bool has_excluded_call(Conversation *conversation, const Filter *filter, MessageId id) {
  if (!filter->exclude_calls && filter->exclude_calls_of.count == 0) return false;
  const Message *message = conversation_message(conversation, id);
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (calls_excluded(filter, message_text(message, message_call(message, i).name))) return true;
  }
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    if (filter->exclude_calls) return true;
    CallLink link = call_links_call(conversation_store(conversation), conversation_list(conversation), id, i);
    if (link.message == 0) continue;
    const Message *caller = conversation_message(conversation, link.message);
    if (calls_excluded(filter, message_text(caller, message_call(caller, link.call).name))) return true;
  }
  return false;
}

static Status passes(Conversation *conversation, const Filter *filter, uint32_t position, MessageId id, Buffer *scratch,
                     bool *keep) {
  const Message *message = conversation_message(conversation, id);
  bool any;
  *keep = false;
  if (!field_passes(message, FIELD_NAME, filter->include_names, filter->exclude_names)) return STATUS_OK;
  if (!field_passes(message, FIELD_ID, filter->include_ids, filter->exclude_ids)) return STATUS_OK;
  if (has_excluded_call(conversation, filter, id)) return STATUS_OK;
  Status status = contains_any(message, filter->contains, scratch, &any);
  if (status != STATUS_OK || (filter->contains.count > 0 && !any)) return status;
  status = contains_any(message, filter->excludes, scratch, &any);
  if (status != STATUS_OK || any) return status;
  *keep = true;
  return filter->where == NULL ? STATUS_OK : filter->where(filter->user, position, id, keep);
}

/* True if it has a condition besides roles, which the list itself can check. */
static bool asks_messages(const Filter *filter) {
  return filter->contains.count > 0 || filter->excludes.count > 0 || filter->include_names.count > 0 ||
         filter->exclude_names.count > 0 || filter->include_ids.count > 0 || filter->exclude_ids.count > 0 ||
         filter->exclude_calls || filter->exclude_calls_of.count > 0 || filter->where != NULL;
}

static Status mark_passing(Conversation *conversation, const Filter *filter, uint64_t *keep) {
  unsigned roles = filter->roles != 0 ? filter->roles : ROLES_ALL;
  bool asks = asks_messages(filter);
  Status status = STATUS_OK;
  Buffer scratch;
  buffer_init(&scratch, *conversation_memory(conversation));
  const Sequence *list = conversation_list(conversation);
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      bool keeps = roles >> mark_role(walk.marks[i]) & 1;
      if (keeps && asks) status = passes(conversation, filter, walk.index + i, walk.ids[i], &scratch, &keeps);
      if (status == STATUS_OK && keeps) bitset_add(keep, walk.index + i);
    }
  }
  buffer_free(&scratch);
  return status;
}

Status operation_filter(Conversation *conversation, const Filter *filter) {
  if (filter->roles == 0 && !asks_messages(filter)) return STATUS_ARGUMENT;
  uint32_t count = sequence_count(conversation_list(conversation));
  uint64_t *keep = bitset_new(conversation_memory(conversation), count);
  if (keep == NULL) return STATUS_MEMORY;
  Status status = mark_passing(conversation, filter, keep);
  if (status == STATUS_OK) {
    status = commit_kept(conversation, keep, filter->whole_units, BATCH_FILTER, "filter", filter->description);
  }
  bitset_free(conversation_memory(conversation), keep, count);
  return status;
}

/* ---- rollback ---- */

Status operation_rollback(Conversation *conversation, uint32_t batch, bool has_length, uint32_t length) {
  History *history = conversation_history(conversation);
  if (batch >= history_count(history)) return STATUS_RANGE;
  Status status = conversation_reweigh(conversation, batch);
  if (status != STATUS_OK) return status;
  if (!has_length || length == history_batch(history, batch).count) {
    status = history_rollback(history, batch);
    if (status == STATUS_OK) conversation_touch(conversation);
    return status;
  }
  char description[DESCRIPTION_SIZE];
  Sequence *list;
  status = history_state(history, batch, length, &list);
  if (status != STATUS_OK) return status;
  snprintf(description, sizeof description, "rollback to batch %u at %u", (unsigned)batch, (unsigned)length);
  NewBatch added = {.list = list, .parent = batch, .parent_length = length, .kind = BATCH_ROLLBACK,
                    .description = text_of(description), .timestamp = conversation_now(conversation)};
  status = history_add(history, &added);
  if (status == STATUS_OK) conversation_touch(conversation);
  else sequence_release(list);
  return status;
}
