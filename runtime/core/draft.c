/*
** A draft's life, its list, and how it ends.
*/
#include "core/draft_data.h"

#include <assert.h>
#include <string.h>

#include "core/evict_oldest.h"

const char *hold_reason(Hold hold) {
  static const char *const reasons[] = {"is held by nothing",         "is a system message",      "is pinned",
                                        "waits for its results", "is the last user message", "is kept by the policy"};
  return reasons[hold];
}

/* ---- life ---- */

Status draft_new(Conversation *conversation, bool guarded, Draft **result) {
  const Memory *memory = conversation_memory(conversation);
  Draft *draft = memory_new(memory, sizeof *draft);
  if (draft == NULL) return STATUS_MEMORY;
  *draft = (Draft){.memory = *memory, .conversation = conversation,
                   .store = store_share(conversation_store(conversation)), .guarded = guarded, .settled = true,
                   .version = conversation_version(conversation), .before = conversation_tokens(conversation),
                   .began = store_count(conversation_store(conversation))};
  draft->tokens = draft->before;
  Status status = sequence_share(conversation_list(conversation), &draft->list);
  if (status == STATUS_OK) status = draft_windows_start(draft);
  if (status == STATUS_OK) status = ledger_new(memory, *store_hash_key(draft->store), &draft->ledger);
  if (status == STATUS_OK) {
    draft->weights = sequence_token_weights(draft->list);
    ledger_set_token_weights(draft->ledger, draft->weights);
    draft->overhead = conversation_overhead(conversation);
    draft->trust = conversation_trust(conversation, draft->list);
    draft->live = draft->untouched = sequence_count(draft->list);
    *result = draft;
  } else {
    draft_free(draft);
  }
  return status;
}

Status draft_weigh_by(Draft *draft, const Counter *counter, Cost overhead) {
  Sequence *list;
  assert(!draft->numbered && ledger_count(draft->ledger) == 0);
  TokenWeights *weights;
  Status status = conversation_token_weights(draft->conversation, counter, &weights);
  if (status == STATUS_OK) status = sequence_move(draft->list, draft->store, weights, &list);
  if (status != STATUS_OK) return status;
  draft->weights = weights;
  draft_take_list(draft, list);
  ledger_set_token_weights(draft->ledger, draft->weights);
  Sum sum = sequence_sum(list);
  draft->overhead = overhead.tokens + (counter->custom ? 0 : counter->per_request);
  draft->before = draft->tokens = sum_measure(&sum, MEASURE_TOKENS) + draft->overhead;
  draft->trust = conversation_trust_by(draft->conversation, list, counter, overhead.guessed);
  return STATUS_OK;
}

/* What the draft stored goes again, unless others have stored since. */
static void rewind_store(Draft *draft) {
  if (!draft->done && draft->stored > 0 && store_count(draft->store) == draft->mark.count + draft->stored) {
    store_rewind(draft->store, draft->mark);
  }
}

void draft_free(Draft *draft) {
  if (draft == NULL) return;
  Memory memory = draft->memory;
  sequence_release(draft->list);
  slots_free(&memory, &draft->slots);
  draft_windows_free(draft);
  memory_free(&memory, draft->slot_of, draft->slot_of_room * sizeof *draft->slot_of);
  ledger_release(draft->ledger);
  rewind_store(draft);
  store_release(draft->store);
  memory_free(&memory, draft->by, draft->by_size);
  memory_free(&memory, draft, sizeof *draft);
}

Ledger *draft_ledger(const Draft *draft) { return draft->ledger; }
uint32_t draft_count(const Draft *draft) { return draft->live; }
uint32_t draft_untouched(const Draft *draft) { return draft->untouched; }
uint64_t draft_overhead(const Draft *draft) { return draft->overhead; }
Trust draft_trust(const Draft *draft) { return draft->trust; }
uint64_t draft_tokens(const Draft *draft) { return draft->tokens; }
uint64_t draft_tokens_before(const Draft *draft) { return draft->before; }
Text draft_by(const Draft *draft) { return text_plain(draft->by, draft->by_size); }

Status draft_set_by(Draft *draft, Text by) {
  char *copy = by.size == 0 ? NULL : memory_new(&draft->memory, by.size);
  if (by.size > 0 && copy == NULL) return STATUS_MEMORY;
  if (by.size > 0) memcpy(copy, by.bytes, by.size);
  memory_free(&draft->memory, draft->by, draft->by_size);
  draft->by = copy;
  draft->by_size = by.size;
  return STATUS_OK;
}

Status draft_guarded_tokens(Draft *draft, uint64_t *tokens) {
  *tokens = draft->overhead;
  if (!draft->numbered && !draft->guarded) return STATUS_OK;
  if (!draft->numbered && evict_oldest_can_search(draft->conversation, draft->list)) {
    uint64_t guarded = 0;
    Status status = evict_oldest_guarded(draft->conversation, draft->list, &guarded);
    *tokens += guarded;
    return status;
  }
  Status status = draft_number(draft);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    bool counts = !draft_slot_is_gone(draft, slot) && draft_slot_hold(draft, slot) != HOLD_NONE;
    if (counts) *tokens += slot_tokens(draft, slot);
  }
  return status;
}

bool draft_may_store(const Draft *draft) { return conversation_store(draft->conversation) == draft->store; }

/* ---- the list ---- */

void draft_take_list(Draft *draft, Sequence *list) {
  sequence_release(draft->list);
  draft->list = list;
}

/* Brings `list`, a share of the draft's, up to date with the slots. */
static Status apply_slots(Draft *draft, Sequence **list, uint64_t *keep) {
  uint32_t index = 0;
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    uint8_t flags = draft->slots.flags[slot];
    if (flags & SLOT_SETTLED) continue;
    if (!(flags & SLOT_GONE)) keep[index / 64] |= (uint64_t)1 << (index % 64);
    if ((flags & SLOT_CHANGED) && !(flags & SLOT_GONE)) {
      Status status = sequence_replace(list, index, draft->slots.ids[slot]);
      if (status != STATUS_OK) return status;
    }
    index++;
  }
  return sequence_keep(list, keep);
}

Status draft_settle(Draft *draft) {
  if (draft->settled) return STATUS_OK;
  size_t words = (size_t)sequence_count(draft->list) / 64 + 1;
  uint64_t *keep = memory_new_array(&draft->memory, words, sizeof *keep);
  if (keep == NULL) return STATUS_MEMORY;
  memset(keep, 0, words * sizeof *keep);
  Sequence *list;
  Status status = sequence_share(draft->list, &list);
  if (status == STATUS_OK) {
    status = apply_slots(draft, &list, keep);
    if (status == STATUS_OK) {
      draft_take_list(draft, list);
      draft->settled = true;
      for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
        if (draft->slots.flags[slot] & SLOT_GONE) draft->slots.flags[slot] |= SLOT_SETTLED;
        draft->slots.flags[slot] &= (uint8_t)~SLOT_CHANGED;
      }
    } else {
      sequence_release(list);
    }
  }
  memory_free(&draft->memory, keep, words * sizeof *keep);
  return status;
}

Status draft_list(Draft *draft, const Sequence **list) {
  Status status = draft_settle(draft);
  *list = draft->list;
  return status;
}

bool draft_is_settled(const Draft *draft) {
  return draft->settled;
}

/* ---- the ledger ---- */

Status draft_cause(Draft *draft, Text reason, Cause *cause) {
  return ledger_cause(draft->ledger, draft_by(draft), reason, cause);
}

void draft_record(Draft *draft, Cause cause, LedgerRun entry) {
  entry.role = message_role(store_message(draft->store, entry.first));
  if (entry.count == 0) entry.count = 1;
  ledger_add(draft->ledger, cause, entry);
}

/* ---- the end ---- */

Status draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch) {
  Conversation *conversation = draft->conversation;
  assert(!draft->done);
  if (conversation_version(conversation) != draft->version) return STATUS_ARGUMENT;
  if (ledger_count(draft->ledger) > 0) {
    Status status = draft_settle(draft);
    if (status != STATUS_OK) return status;
    status = conversation_commit_with(conversation, draft->list, kind, description, draft->ledger, policy_memory);
    if (status != STATUS_OK) return status;
    draft->list = NULL;
    ledger_share(draft->ledger);      /* the history took the share that was the draft's */
  } else if (policy_memory != NULL) {
    Status status = conversation_remember(conversation, *policy_memory);
    if (status != STATUS_OK) return status;
  }
  draft->done = true;
  *batch = history_current(conversation_history(conversation));
  return STATUS_OK;
}
