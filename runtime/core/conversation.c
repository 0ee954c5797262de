#include "core/conversation_data.h"

#include <assert.h>
#include <string.h>

#include "core/list/call_links.h"

/* The heading that the seed's own projects use. */
#define SEED_HEADING "可用工具:"

/* ---- life ---- */

static Status make_history(Conversation *conversation) {
  Sequence *empty;
  Status status = sequence_new(&conversation->memory, conversation->store, &empty);
  if (status != STATUS_OK) return status;
  status = history_new(&conversation->memory, empty, conversation_now(conversation), &conversation->history);
  if (status != STATUS_OK) sequence_release(empty);
  return status;
}

Status conversation_new(const ConversationConfig *config, Conversation **result) {
  Conversation *conversation = memory_new(&config->memory, sizeof *conversation);
  if (conversation == NULL) return STATUS_MEMORY;
  *conversation = (Conversation){.memory = config->memory, .clock = config->clock,
                                 .counter = config->counter, .first = config->counter,
                                 .overhead = config->counter.custom ? 0 : config->counter.per_request};
  ring_init(&conversation->kin);
  Status status = store_new(&config->memory, config->hash_key, &conversation->store);
  if (status == STATUS_OK) status = marks_new(&config->memory, &conversation->marks);
  if (status == STATUS_OK) status = make_history(conversation);
  if (status == STATUS_OK) *result = conversation;
  else conversation_free(conversation);
  return status;
}

static void branch_base_free(Conversation *conversation) {
  BranchBase *base = conversation->base;
  if (base != NULL) marks_release(base->marks);
  if (base != NULL) policy_memory_release(&conversation->memory, base->policy_memory);
  memory_free(&conversation->memory, base, sizeof *base);
}

static Status copy_tools(const ToolDescription *from, const Memory *memory, ToolDescription *to) {
  *to = *from;
  return text_copy(memory, text_plain(from->bytes, from->size), &to->bytes);
}

/* The store's weights for the active counter, which it has; NULL: messages' own tokens. */
static TokenWeights *active_weights(const Conversation *conversation) {
  bool is_first = counter_equal(&conversation->counter, &conversation->first);
  return is_first ? NULL : token_weights_find(conversation->store, &conversation->counter);
}

Status conversation_reweigh(Conversation *conversation, uint32_t batch) {
  const Sequence *list = history_list(conversation->history, batch);
  if (list == NULL) return STATUS_OK;
  bool is_current = sequence_token_weights(list) == conversation->weights;
  if (is_current && sequence_store(list) == conversation->store) return STATUS_OK;
  Sequence *moved;
  Status status = sequence_move(list, conversation->store, conversation->weights, &moved);
  if (status != STATUS_OK) return status;
  status = history_put(conversation->history, batch, moved);
  if (status != STATUS_OK) sequence_release(moved);
  assert(status != STATUS_OK || sequence_store(history_list(conversation->history, batch)) == conversation->store);
  return status;
}

Status conversation_fork(Conversation *conversation, Conversation **result) {
  Conversation *fork = memory_new(&conversation->memory, sizeof *fork);
  if (fork == NULL) return STATUS_MEMORY;
  *fork = (Conversation){.memory = conversation->memory, .clock = conversation->clock,
                         .counter = conversation->counter, .first = conversation->first,
                         .calibration = conversation->calibration,
                         .overhead = conversation->overhead, .overhead_guessed = conversation->overhead_guessed,
                         .isolated = conversation->isolated,
                         .marks = marks_share(conversation->marks),
                         .windows = windows_share(conversation->windows)};
  ring_init(&fork->kin);
  ring_add(&conversation->kin, &fork->kin);
  Status status = store_fork(conversation->store, &fork->store);
  if (status == STATUS_OK) status = copy_tools(&conversation->tools, &fork->memory, &fork->tools);
  if (status == STATUS_OK) status = history_fork(conversation->history, &fork->history);
  if (status == STATUS_OK) {
    fork->weights = active_weights(fork);
    status = conversation_reweigh(fork, history_current(fork->history));
  }
  assert(status != STATUS_OK || store_count(fork->store) == store_count(conversation->store));
  if (status == STATUS_OK) *result = fork;
  else conversation_free(fork);
  return status;
}

void conversation_free(Conversation *conversation) {
  if (conversation == NULL) return;
  Memory memory = conversation->memory;
  ring_remove(&conversation->kin);
  units_free(conversation->units);
  history_free(conversation->history);
  marks_release(conversation->marks);
  windows_free(conversation->windows);
  store_close(conversation->store);
  branch_base_free(conversation);
  memory_free(&memory, conversation->redacted, conversation->redacted_room * sizeof *conversation->redacted);
  memory_free(&memory, conversation->lent, conversation->lent_room * sizeof *conversation->lent);
  memory_free(&memory, conversation->tools.bytes, conversation->tools.size);
  memory_free(&memory, conversation, sizeof *conversation);
}

/* ---- parts ---- */

const Memory *conversation_memory(const Conversation *conversation) { return &conversation->memory; }
Store *conversation_store(const Conversation *conversation) { return conversation->store; }
History *conversation_history(const Conversation *conversation) { return conversation->history; }
const Marks *conversation_marks(const Conversation *conversation) { return conversation->marks; }
const Windows *conversation_windows(const Conversation *conversation) { return conversation->windows; }
const Counter *conversation_counter(const Conversation *conversation) { return &conversation->counter; }
int64_t conversation_now(const Conversation *conversation) { return clock_now(&conversation->clock); }
uint64_t conversation_version(const Conversation *conversation) { return conversation->version; }
uint64_t conversation_overhead(const Conversation *conversation) { return conversation->overhead; }

const Message *conversation_message(const Conversation *conversation, MessageId id) {
  return store_message(conversation->store, id);
}

uint64_t conversation_forgettings(const Conversation *conversation) { return conversation->forgettings; }

const Sequence *conversation_list(const Conversation *conversation) {
  return history_list(conversation->history, history_current(conversation->history));
}

void conversation_touch(Conversation *conversation) {
  assert(conversation_list(conversation) != NULL);
  conversation->version++;
  units_free(conversation->units);
  conversation->units = NULL;
}

Status conversation_units(Conversation *conversation, const Units **units) {
  Status status = STATUS_OK;
  if (conversation->units == NULL) {
    status =
        units_new(&conversation->memory, conversation->store, conversation_list(conversation), &conversation->units);
  }
  *units = conversation->units;
  return status;
}

uint64_t conversation_tokens(const Conversation *conversation) {
  Sum sum = sequence_sum(conversation_list(conversation));
  return sum_measure(&sum, MEASURE_TOKENS) + conversation->overhead;
}

void conversation_set_overhead(Conversation *conversation, Cost cost) {
  const Counter *counter = &conversation->counter;
  conversation->overhead = (counter->custom != NULL ? 0 : counter->per_request) + (uint64_t)cost.tokens;
  conversation->overhead_guessed = cost.guessed;
}

void conversation_share_bytes(Conversation *conversation, const Conversation *lender) {
  store_share_bytes_of(conversation->store, lender->store);
  conversation->isolated = true;
}

void conversation_charge_as(Conversation *conversation, const Conversation *other) {
  conversation->overhead = other->overhead;
  conversation->overhead_guessed = other->overhead_guessed;
  conversation->calibration = other->calibration;
}

Status conversation_mark(Conversation *conversation, Text name, MessageId origin) {
  Status status = marks_make_private(&conversation->marks);
  return status == STATUS_OK ? marks_add(conversation->marks, name, origin) : status;
}

Status conversation_unmark(Conversation *conversation, Text name, MessageId origin) {
  if (!marks_has(conversation->marks, name, origin)) return STATUS_OK;
  Status status = marks_make_private(&conversation->marks);
  if (status == STATUS_OK) marks_remove(conversation->marks, name, origin);
  return status;
}

Status conversation_copy_marks(const Conversation *conversation, Marks **marks, MessageId from, MessageId to) {
  const Store *store = conversation->store;
  MessageId origin = store_origin(store, from), other = store_origin(store, to);
  if (marks_first(*marks == NULL ? conversation->marks : *marks, origin) == MARK_NONE) return STATUS_OK;
  if (*marks == NULL) *marks = marks_share(conversation->marks);
  Status status = marks_make_private(marks);
  if (status != STATUS_OK) return status;
  for (uint32_t i = marks_first(*marks, origin); i != MARK_NONE && status == STATUS_OK;
       i = marks_after(*marks, i, origin)) {
    status = marks_add(*marks, marks_name(*marks, i), other);
  }
  return status;
}

void conversation_take_marks(Conversation *conversation, Marks *marks) {
  marks_release(conversation->marks);
  conversation->marks = marks;
}

void conversation_take_windows(Conversation *conversation, Windows *windows) {
  windows_free(conversation->windows);
  conversation->windows = windows;
}

Status conversation_put_window(Conversation *conversation, const Window *fields) {
  if (conversation->windows == NULL) {
    Status status = windows_new(&conversation->memory, *store_hash_key(conversation->store), &conversation->windows);
    if (status != STATUS_OK) return status;
  }
  Status status = windows_put(&conversation->windows, fields);
  if (status == STATUS_OK) conversation_touch(conversation);
  return status;
}

void conversation_take_history(Conversation *conversation, History *history) {
  history_free(conversation->history);
  conversation->history = history;
  conversation_touch(conversation);
}

void conversation_take_calibration(Conversation *conversation, Calibration calibration) {
  conversation->calibration = calibration;
}

/* ---- removing for good ---- */

uint32_t conversation_redacted(const Conversation *branch, const MessageId **ids) {
  *ids = branch->redacted;
  return branch->redacted_count;
}

/* The place of a message among those that the merge has to redact, which are in order. */
static uint32_t redacted_place(const Conversation *branch, MessageId id) {
  uint32_t low = 0, high = branch->redacted_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (branch->redacted[middle] < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Gives a branch bytes of its own, and records the message for the merge. */
static Status redact_alone(Conversation *branch, MessageId id, char **bytes, size_t *size) {
  uint32_t at = redacted_place(branch, id), count = branch->redacted_count;
  void *grown = memory_grow(&branch->memory, branch->redacted, &branch->redacted_room, count, sizeof *branch->redacted);
  if (grown == NULL) return STATUS_MEMORY;
  branch->redacted = grown;
  grown = memory_grow(&branch->memory, branch->lent, &branch->lent_room, branch->lent_count, sizeof *branch->lent);
  if (grown == NULL) return STATUS_MEMORY;
  branch->lent = grown;
  Lent lent = {.id = id, .bytes = store_bytes(branch->store, id, size)};
  Status status = store_own_bytes(branch->store, id, bytes, size);
  if (status != STATUS_OK) return status;
  branch->lent[branch->lent_count++] = lent;
  memmove(branch->redacted + at + 1, branch->redacted + at, (count - at) * sizeof *branch->redacted);
  branch->redacted[at] = id;
  branch->redacted_count++;
  return STATUS_OK;
}

Status conversation_redact(Conversation *conversation, MessageId id, char **bytes, size_t *size) {
  uint32_t at = redacted_place(conversation, id);
  bool known = at < conversation->redacted_count && conversation->redacted[at] == id;
  conversation->removals++;      /* also where nothing is redacted in the end */
  if (conversation->isolated && !known) return redact_alone(conversation, id, bytes, size);
  *bytes = store_bytes(conversation->store, id, size);
  return STATUS_OK;
}

void conversation_settle_redactions(Conversation *conversation, bool keeps) {
  for (uint32_t i = 0; i < conversation->lent_count && !keeps; i++) {
    Lent lent = conversation->lent[i];
    uint32_t at = redacted_place(conversation, lent.id);
    assert(at < conversation->redacted_count && conversation->redacted[at] == lent.id);
    conversation->redacted_count--;
    memmove(conversation->redacted + at, conversation->redacted + at + 1,
            (conversation->redacted_count - at) * sizeof *conversation->redacted);
    size_t size;
    char *copy = store_bytes(conversation->store, lent.id, &size);
    memset(copy, 0, size);      /* which is in an arena: else it would keep what may be forgotten soon */
    store_return_bytes(conversation->store, lent.id, lent.bytes);
  }
  conversation->lent_count = 0;
}

/* ---- links ---- */

/* True if the place follows a list of all earlier messages of the store in order of seq.
   Then the newest waiting call is the nearest one. */
static bool shows_all(const Place *place, MessageId id) {
  return place->replaced == 0 && place->position == sequence_count(place->list) && place->position == id - 1 &&
         sequence_is_ranked(place->list) && sequence_sum(place->list).moved == 0;
}

/* Finds the nearest open call with this key; link->message 0: none. `all`: shows_all. */
static Status find_call(const Store *store, const Place *place, bool all, MessageId id, uint32_t result, Text key,
                        CallLink *link) {
  *link = all ? store_waiting(store, key, id) : (CallLink){0, 0};
  if (link->message != 0 || (all && store_indexed(store) == 0)) return STATUS_OK;
  return call_index_find(place->calls, place->list, place->position, place->replaced != 0, id, result, key, link);
}

/* Finds the call that a result answers. A result without an id may answer a call with one, and one
   with an id a call without: of the same name. */
static Status find_answered(const Store *store, const Place *place, bool all, MessageId id, uint32_t result,
                            CallLink *link) {
  const Message *message = store_message(store, id);
  Result answer = message_result(message, result);
  *link = (CallLink){0, 0};
  if (answer.id.at == 0) *link = call_links_named(store, place->list, place->position, id, result);
  if (link->message != 0) return STATUS_OK;
  Status status = find_call(store, place, all, id, result, message_result_key(message, result), link);
  bool missed = status == STATUS_OK && link->message == 0 && answer.id.at != 0 && answer.name.at != 0;
  return missed ? find_call(store, place, all, id, result, message_text(message, answer.name), link) : status;
}

static Status link_results(Conversation *conversation, const Place *place, MessageId id) {
  Store *store = conversation->store;
  uint32_t count = message_result_count(conversation_message(conversation, id));
  bool all = shows_all(place, id);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    CallLink link;
    status = find_answered(store, place, all, id, i, &link);
    if (status != STATUS_OK) return status;
    assert(link.message < id);
    store_link(store, id, i, link);
    status = call_index_add(place->calls, place->list, id, i);
  }
  return status;
}

static bool have_equal_results(const Message *a, const Message *b) {
  if (message_result_count(a) != message_result_count(b)) return false;
  for (uint32_t i = 0; i < message_result_count(a); i++) {
    if (!text_equal(message_result_key(a, i), message_result_key(b, i))) return false;
  }
  return true;
}

static Status inherit_links(Conversation *conversation, const Place *place, MessageId id) {
  uint32_t count = message_result_count(conversation_message(conversation, id));
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    store_link(conversation->store, id, i, store_answers(conversation->store, place->replaced, i));
    status = call_index_add(place->calls, place->list, id, i);
  }
  return status;
}

static Status take_links(Conversation *conversation, const Place *place, MessageId id) {
  uint32_t count = message_result_count(conversation_message(conversation, id));
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    assert(place->links[i].message < id);
    store_link(conversation->store, id, i, place->links[i]);
    status = call_index_add(place->calls, place->list, id, i);
  }
  return status;
}

/* Links the results of a new message: to the calls that the replaced one answers if both have the same results. */
static Status link_message(Conversation *conversation, const Place *place, MessageId id) {
  const Message *message = conversation_message(conversation, id);
  Status status = place->replaced != 0 ? call_index_leave(place->calls, place->list, place->position)
                                       : call_index_enter(place->calls, place->list, place->position);
  if (status != STATUS_OK) return status;
  if (place->links != NULL) return take_links(conversation, place, id);
  bool inherits =
    place->replaced != 0 && have_equal_results(message, conversation_message(conversation, place->replaced));
  return inherits ? inherit_links(conversation, place, id) : link_results(conversation, place, id);
}

/* ---- adding ---- */

/* Ranks a new message that is not appended. */
static Status rank_message(Conversation *conversation, const Place *place, MessageId id) {
  const Sequence *list = place->list;
  uint32_t position = place->position;
  assert(position <= sequence_count(list) && id == store_count(conversation->store));
  if (place->replaced != 0) return store_replace(conversation->store, id, place->replaced);
  if (position == sequence_count(list) || !sequence_is_ranked(list)) return STATUS_OK;
  Rank before = position == 0 ? (Rank){0, 0} : sequence_rank(list, position - 1);
  return store_insert(conversation->store, id, before, sequence_rank(list, position));
}

/* Counts a message with the first counter and stores the result in it. */
static Status weigh_first(Conversation *conversation, MessageId id) {
  Cost cost;
  Status status = token_weights_count(conversation->store, &conversation->first, id, &cost);
  if (status == STATUS_OK) status = store_weigh(conversation->store, id, cost.tokens);
  if (status == STATUS_OK && cost.guessed) store_note_guess(conversation->store, id);
  return status;
}

/* Counts a message with every counter in use but the first: the active one, and that of the list. */
static Status weigh_others(Conversation *conversation, const Sequence *list) {
  Status status = STATUS_OK;
  TokenWeights *weights[] = {conversation->weights, sequence_token_weights(list)};
  for (int i = 0; i < 2 && status == STATUS_OK; i++) {
    if (weights[i] != NULL) status = token_weights_fill(weights[i], conversation->store);
  }
  return status;
}

static Status weigh(Conversation *conversation, const Sequence *list, MessageId id) {
  Status status = weigh_first(conversation, id);
  return status == STATUS_OK ? weigh_others(conversation, list) : status;
}

Status conversation_weigh_one(Conversation *conversation, const Sequence *list, Text raw, bool adopted,
                              const MessageShape *shape, MessageId *id) {
  Status status = store_add(conversation->store, raw, adopted, shape, id);
  return status == STATUS_OK ? weigh(conversation, list, *id) : status;
}

Status conversation_store_one(Conversation *conversation, const Place *place, Text raw, bool adopted,
                              const MessageShape *shape, MessageId *id) {
  Status status = conversation_weigh_one(conversation, place->list, raw, adopted, shape, id);
  if (status == STATUS_OK) status = rank_message(conversation, place, *id);
  if (status != STATUS_OK || place->calls != NULL) {
    return status == STATUS_OK ? link_message(conversation, place, *id) : status;
  }
  CallIndex calls;
  Place alone = *place;
  alone.calls = &calls;
  call_index_init(&calls, conversation->memory);
  status = link_message(conversation, &alone, *id);
  call_index_free(&calls);
  return status;
}

Status conversation_borrow_one(Conversation *conversation, const Place *place, const Conversation *lender,
                               MessageId borrowed, MessageId *id) {
  bool weighed = counter_equal(&conversation->first, &lender->first);
  assert(conversation->isolated && place->calls != NULL && place->position == sequence_count(place->list));
  Status status = store_borrow(conversation->store, lender->store, borrowed, weighed, id);
  if (status == STATUS_OK && !weighed) status = weigh_first(conversation, *id);
  if (status == STATUS_OK) status = weigh_others(conversation, place->list);
  return status == STATUS_OK ? link_message(conversation, place, *id) : status;
}

Status conversation_restore_one(Conversation *conversation, Text raw, const MessageShape *shape, MessageId origin,
                                const Rank *rank, MessageId *id) {
  Status status = store_add(conversation->store, raw, false, shape, id);
  if (status == STATUS_OK) status = weigh_first(conversation, *id);
  if (status == STATUS_OK && origin != *id) status = store_replace(conversation->store, *id, origin);
  if (status == STATUS_OK && rank != NULL) status = store_place(conversation->store, *id, *rank);
  if (status == STATUS_OK) status = store_place_origin(conversation->store, *id);
  return status;
}

static Status put_all(Conversation *conversation, Sequence **list, uint32_t position, MessageSource *source,
                      CallIndex *calls, uint32_t *added) {
  bool more = true;
  assert(source->lender == NULL);
  for (*added = 0;; ++*added) {
    Text raw;
    MessageShape shape;
    MessageId id;
    Status status = source->next(source->user, &more, &raw, &shape);
    if (status != STATUS_OK || !more) return status;
    Place place = {.list = *list, .position = position + *added, .calls = calls};
    assert(place.position <= sequence_count(*list));
    status = conversation_store_one(conversation, &place, raw, source->adopted, &shape, &id);
    if (status == STATUS_OK) status = sequence_insert(list, place.position, id);
    if (status != STATUS_OK) return status;
  }
}

Status conversation_put(Conversation *conversation, Sequence **list, uint32_t position, MessageSource *source,
                        uint32_t *added) {
  CallIndex calls;
  call_index_init(&calls, conversation->memory);
  Status status = put_all(conversation, list, position, source, &calls, added);
  call_index_free(&calls);
  return status;
}

/* ---- the tool description ---- */

Status conversation_set_tools(Conversation *conversation, Text heading, Text raw, const MessageShape *shape) {
  assert(!heading.escaped && conversation->tools.bytes == NULL);
  assert(shape->part_count + shape->call_count + shape->result_count == 0);
  char *bytes = memory_new(&conversation->memory, heading.size + raw.size);
  if (bytes == NULL) return STATUS_MEMORY;
  memcpy(bytes, heading.bytes, heading.size);
  memcpy(bytes + heading.size, raw.bytes, raw.size);
  conversation->tools = (ToolDescription){.bytes = bytes, .heading_size = heading.size,
                                          .size = heading.size + raw.size, .shape = *shape};
  return STATUS_OK;
}

static bool describes_tools(const Conversation *conversation, const Message *message) {
  Text heading = text_plain(conversation->tools.bytes, conversation->tools.heading_size);
  uint32_t at = 0;
  Text text;
  return message_next_text(message, &at, &text) &&
         (text_starts_with(text, heading) || text_starts_with(text, text_of(SEED_HEADING)));
}

static bool has_tools(const Conversation *conversation, const Sequence *list) {
  Sum sum = sequence_sum(list);
  for (uint32_t i = 0; i < sum.count[ROLE_SYSTEM]; i++) {
    uint32_t position = sequence_find(list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i);
    if (describes_tools(conversation, conversation_message(conversation, sequence_at(list, position)))) return true;
  }
  return false;
}

bool conversation_has_tools(const Conversation *conversation) {
  return conversation->tools.bytes != NULL && has_tools(conversation, conversation_list(conversation));
}

Status conversation_put_tools(Conversation *conversation, Sequence **list) {
  const ToolDescription *tools = &conversation->tools;
  if (tools->bytes == NULL || has_tools(conversation, *list)) return STATUS_OK;
  Text raw = text_plain(tools->bytes + tools->heading_size, tools->size - tools->heading_size);
  MessageId id;
  Place place = {.list = *list, .position = sequence_count(*list)};
  Status status = conversation_store_one(conversation, &place, raw, false, &tools->shape, &id);
  return status == STATUS_OK ? sequence_append(list, id) : status;
}

Status conversation_describe_tools(Conversation *conversation) {
  Sequence *list, **current;
  Status status = sequence_share(conversation_list(conversation), &list);
  if (status != STATUS_OK) return status;
  status = conversation_put_tools(conversation, &list);      /* may call the host, which may fork */
  if (status == STATUS_OK) status = history_grow(conversation->history, &current);
  if (status == STATUS_OK) {
    Sequence *before = *current;
    *current = list;
    list = before;
    conversation_touch(conversation);
  }
  sequence_release(list);
  return status;
}

/* ---- committing ---- */

Status conversation_commit(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                           Ledger *ledger) {
  return conversation_commit_with(conversation, list, kind, description, ledger, NULL);
}

Status conversation_remember(Conversation *conversation, Text policy_memory) {
  uint64_t edits = history_memory_edits(conversation->history);
  Status status = history_remember(conversation->history, history_current(conversation->history), policy_memory);
  if (history_memory_edits(conversation->history) != edits) conversation_touch(conversation);
  return status;
}

Status conversation_commit_with(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                                Ledger *ledger, const Text *policy_memory) {
  NewBatch batch = {.list = list, .parent = history_current(conversation->history), .policy_memory = policy_memory,
                    .parent_length = sequence_count(conversation_list(conversation)), .kind = kind,
                    .description = description, .ledger = ledger, .timestamp = conversation_now(conversation)};
  Status status = STATUS_OK;
  assert(sequence_store(list) == conversation->store);
  if (sequence_token_weights(list) != conversation->weights) {
    status = sequence_move(list, conversation->store, conversation->weights, &batch.list);
  }
  if (status != STATUS_OK) return status;
  status = history_add(conversation->history, &batch);
  if (status == STATUS_OK) conversation_touch(conversation);
  if (batch.list != list) sequence_release(status == STATUS_OK ? list : batch.list);
  return status;
}

/* ---- invariants ---- */

void conversation_check(const Conversation *conversation) {
  const Sequence *list = conversation_list(conversation);
  store_check(conversation->store);
  history_check(conversation->history);
  windows_check(conversation->windows);
  assert(sequence_store(list) == conversation->store && sequence_token_weights(list) == conversation->weights);
  if (conversation->units == NULL) return;
  units_check(conversation->units);
  assert(conversation->units->message_count == sequence_count(list));
  (void)list;
}
