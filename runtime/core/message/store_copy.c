/*
** Copies of messages in other stores: taking those of a fork, compaction, succession.
*/
#include "core/message/store_data.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"

/* ---- messages of other stores ---- */

/* Copies the details of a message into this store's arena. Its calls do not wait yet. */
static Status copy_details(Store *store, Message *copy) {
  if (copy->details == NULL) return STATUS_OK;
  size_t size = details_size(copy->details);
  Details *details = store_allocate(store, size);
  if (details == NULL) return STATUS_MEMORY;
  memcpy(details, copy->details, size);
  details->rank = 0;
  for (uint32_t i = 0; i < details->call_count; i++) details_calls(details)[i].answered = 0;
  copy->details = details;
  return STATUS_OK;
}

static Status copy_bytes(Store *store, Message *copy) {
  char *raw = store_allocate(store, copy->raw_size);
  if (raw == NULL) return STATUS_MEMORY;
  copy->raw = memcpy(raw, copy->raw, copy->raw_size);
  return STATUS_OK;
}

/* Adds a message like `original`, of the same time, with the rank of an appended one. */
static Status add_message(Store *store, Message copy, int64_t time) {
  void *message, *place = NULL;
  bool timed = copy.details != NULL && copy.details->has_timestamp;
  Status status = store_reserve(store, timed, &message, &place);
  if (status != STATUS_OK) return status;
  *(Message *)message = copy;
  if (timed) *(int64_t *)place = time;
  store->count++;
  store->guesses += copy.details != NULL && copy.details->guessed;
  store->fragments += message_is_fragment(&copy);
  return store_push_calls(store, copy.details);
}

static int64_t time_of(const Store *store, MessageId id) {
  const Details *details = store_message(store, id)->details;
  return details != NULL && details->has_timestamp ? store_time(store, id) : 0;
}

/* Adds a copy of another store's message, with the rank of an appended one. */
static Status add_copy(Store *store, const Store *from, MessageId id) {
  Message copy = *store_message(from, id);
  Status status = copy_bytes(store, &copy);
  if (status == STATUS_OK) status = copy_details(store, &copy);
  return status == STATUS_OK ? add_message(store, copy, time_of(from, id)) : status;
}

void store_share_bytes_of(Store *store, const Store *lender) {
  assert(store->count == 0 && store->arena == NULL && store->inherited == NULL);
  Arena *bytes = lender->arena != NULL ? lender->arena : lender->inherited;
  store->inherited = bytes == NULL ? NULL : arena_share(bytes);
}

Status store_borrow(Store *store, const Store *lender, MessageId id, bool weighed, MessageId *borrowed) {
  Message copy = *store_message(lender, id);
  if (!store_can_add(store, copy.raw_size)) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  Status status = copy_details(store, &copy);
  if (status == STATUS_OK && copy.details != NULL) {
    copy.details->origin = 0;
    copy.details->guessed = weighed && copy.details->guessed;
    for (uint32_t i = 0; i < copy.details->result_count; i++) {
      details_results(copy.details)[i].answers = 0;
      details_results(copy.details)[i].ended_wait = 0;
    }
    if (details_key_count(copy.details) > 0) {     /* the other store may hash by another key */
      store_sort_calls(store, text_plain(copy.raw, copy.raw_size), copy.details);
    }
  }
  if (!weighed) copy.tokens = 0;
  if (status == STATUS_OK) status = add_message(store, copy, time_of(lender, id));
  if (status != STATUS_OK) store_rewind(store, mark);
  else *borrowed = store->count;
  return status;
}

static MessageId shifted(MessageId id, uint32_t base, uint32_t shift) { return id > base ? id + shift : id; }

/* Copies origin and rank from the original of the newest message. */
static Status take_place(Store *store, const Store *fork, MessageId id, uint32_t shift) {
  Details *details = store_message(store, store->count)->details;
  const Rank *rank = store_find_rank(fork, id);
  if (details == NULL) return STATUS_OK;
  if (details->origin != 0) details->origin = shifted(details->origin, fork->base, shift);
  if (rank == NULL) return STATUS_OK;
  return store_place(store, store->count,
                     (Rank){.anchor = shifted(rank->anchor, fork->base, shift), .step = rank->step});
}

Status store_take(Store *store, const Store *fork, MessageId id, uint32_t shift) {
  assert(id > fork->base && id + shift == store->count + 1);
  const Message *original = store_message(fork, id);
  if (!store_can_add(store, original->raw_size)) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  Status status = add_copy(store, fork, id);
  if (status == STATUS_OK) status = take_place(store, fork, id, shift);
  if (status != STATUS_OK) {
    store_rewind(store, mark);
    return status;
  }
  for (uint32_t i = 0; i < message_result_count(original); i++) {
    CallLink link = store_answers(fork, id, i);
    link.message = shifted(link.message, fork->base, shift);
    store_link(store, store->count, i, link);
  }
  return STATUS_OK;
}

Status store_skip(Store *store, uint32_t count) {
  assert(!store->closed);
  if (count > STORE_MESSAGES_MAX - store->count) return STATUS_LIMIT;
  Status status = pages_clear(&store->messages, store->count, store->count + count);
  if (status != STATUS_OK) return status;
  store->count += count;
  return STATUS_OK;
}

/* ---- compaction ---- */

typedef struct Compaction {
  const Store *from;
  Store *to;
  const uint64_t *keep;
  Map replacements;          /* origin -> its newest kept replacement */
} Compaction;

static Status note_replacements(Compaction *compaction) {
  const Store *from = compaction->from;
  for (MessageId id = store_next(from, 0); id != 0; id = store_next(from, id)) {
    if (!bitset_has(compaction->keep, id) || store_origin(from, id) == id) continue;
    Status status = map_put(&compaction->replacements, store_origin(from, id), id);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* The new link of a result; message 0 if no kept message has its call. To a replacement that is newer than the result
   leads the seq of its origin, though that was removed: lists find by it what replaced it. */
static CallLink kept_link(const Compaction *compaction, MessageId id, uint32_t result) {
  const Store *from = compaction->from;
  CallLink link = store_answers(from, id, result);
  if (link.message == 0 || bitset_has(compaction->keep, link.message)) return link;
  MessageId origin = store_origin(from, link.message);
  const uint64_t *kept = map_find(&compaction->replacements, origin);
  MessageId replacement = kept == NULL ? 0 : (MessageId)*kept;
  bool has_origin = bitset_has(compaction->keep, origin);
  MessageId caller = has_origin && (replacement == 0 || replacement > id) ? origin : replacement;
  CallLink moved = {.message = caller < id ? caller : origin};
  bool has = caller != 0 && store_call(from, caller, link, id, result, &moved.call);
  return has ? moved : (CallLink){0, 0};
}

static Status keep_message(Compaction *compaction, MessageId id) {
  const Rank *rank = store_find_rank(compaction->from, id);
  Status status = add_copy(compaction->to, compaction->from, id);
  if (status == STATUS_OK && rank != NULL) status = store_place(compaction->to, id, *rank);
  if (status == STATUS_OK) status = store_place_origin(compaction->to, id);
  if (status != STATUS_OK) return status;
  uint32_t results = message_result_count(store_message(compaction->to, id));
  for (uint32_t i = 0; i < results; i++) store_link(compaction->to, id, i, kept_link(compaction, id, i));
  return STATUS_OK;
}

/* Leaves the seqs up to `count` of a new store without messages: it has nothing that could be in their place. */
static void skip_to(Store *to, uint32_t count) {
  Status status = store_skip(to, count - to->count);
  assert(status == STATUS_OK);
  (void)status;
}

static Status keep_messages(Compaction *compaction) {
  const Store *from = compaction->from;
  Store *to = compaction->to;
  Status status = note_replacements(compaction);
  for (MessageId id = store_next(from, 0); id != 0 && status == STATUS_OK; id = store_next(from, id)) {
    if (!bitset_has(compaction->keep, id)) continue;
    skip_to(to, id - 1);
    status = keep_message(compaction, id);
  }
  if (status != STATUS_OK) return status;
  skip_to(to, from->count);
  store_link_removed(to);
  return STATUS_OK;
}

Status store_compact(const Store *store, const uint64_t *keep, Store **compacted) {
  Compaction compaction = {.from = store, .keep = keep};
  Status status = store_new(&store->memory, store->key, &compaction.to);
  if (status != STATUS_OK) return status;
  map_init(&compaction.replacements, store->memory);
  status = keep_messages(&compaction);
  if (status == STATUS_OK) status = store_fork_attachment(&store->attachment, &compaction.to->attachment);
  map_free(&compaction.replacements);
  assert(status != STATUS_OK || compaction.to->count == store->count);
  compaction.to->base = store->base;
  compaction.to->moved = store->count;
  if (status == STATUS_OK) *compacted = compaction.to;
  else store_release(compaction.to);
  return status;
}

/* ---- succession ---- */

void store_succeed(Store *store, Store *from) {
  uint32_t base = store->base;
  assert(from->count == base && from->base <= base);
  store->base = from->base;
  if (store->indexed < base) return;           /* a compaction put all calls into its map */
  map_free(&store->waiting);
  store->waiting = from->waiting;
  map_init(&from->waiting, from->memory);
  store->indexed = from->indexed;
  for (MessageId id = store_next(store, base); id != 0; id = store_next(store, id)) {
    const Message *message = store_message(store, id);
    for (uint32_t i = 0; i < message_result_count(message); i++) {
      CallLink link = store_answers(store, id, i);
      if (link.message != 0 && link.message <= base) store_pop_call(store, link);
    }
    for (uint32_t i = message_call_count(message); i-- > 0;) {
      CallLink link = {.message = id, .call = i};
      if (store_call_at(store, link)->answered || store_push_call(store, link) == STATUS_OK) continue;
      map_free(&store->waiting);               /* now all calls are found by searching lists */
      store->indexed = store->count;
      return;
    }
  }
}
