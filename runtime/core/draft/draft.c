/*
** The life of a draft, and how it ends.
*/
#include "core/draft/draft_data.h"

#include <assert.h>

#include "core/draft/evict_oldest.h"

/* ---- life ---- */

Status draft_new(Conversation *conversation, bool guarded, Draft **result) {
  const Memory *memory = conversation_memory(conversation);
  Draft *draft = memory_new(memory, sizeof *draft);
  if (draft == NULL) return STATUS_MEMORY;
  *draft = (Draft){.memory = *memory, .conversation = conversation,
                   .store = store_share(conversation_store(conversation)), .guarded = guarded,
                   .version = conversation_version(conversation), .removals = conversation_removals(conversation),
                   .forgettings = conversation_forgettings(conversation), .before = conversation_tokens(conversation),
                   .base = store_count(conversation_store(conversation))};
  draft->tokens = draft->before;
  pages_init(&draft->slot_of, *memory, sizeof(uint32_t));
  Status status = sequence_share(conversation_list(conversation), &draft->list);
  if (status == STATUS_OK) status = draft_start_windows(draft);
  if (status == STATUS_OK) status = ledger_new(memory, *store_hash_key(draft->store), &draft->ledger);
  if (status == STATUS_OK) {
    draft->weights = sequence_token_weights(draft->list);
    ledger_set_token_weights(draft->ledger, draft->weights);
    draft->overhead = conversation_overhead(conversation);
    draft->trust = conversation_trust(conversation, draft->list);
    draft->live = draft->unchanged = sequence_count(draft->list);
    *result = draft;
  } else {
    draft_free(draft);
  }
  return status;
}

Status draft_recount(Draft *draft, const Counter *counter, Cost overhead) {
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

/* Removes the draft's additions from the store, unless others were added behind them. */
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
  draft_free_windows(draft);
  draft_free_thoughts(draft);
  memory_free(&memory, draft->waiting, draft->waiting_room * sizeof *draft->waiting);
  pages_free(&draft->slot_of);
  ledger_release(draft->ledger);
  rewind_store(draft);
  store_release(draft->store);
  memory_free(&memory, draft->author, draft->author_size);
  memory_free(&memory, draft, sizeof *draft);
}

Ledger *draft_ledger(const Draft *draft) { return draft->ledger; }
bool draft_lost_messages(const Draft *draft) {
  const Conversation *conversation = draft->conversation;
  return draft->store != conversation_store(conversation) && draft->removals != conversation_removals(conversation);
}
uint32_t draft_count(const Draft *draft) { return draft->live; }
uint32_t draft_unchanged_count(const Draft *draft) { return draft->unchanged; }
uint64_t draft_overhead(const Draft *draft) { return draft->overhead; }
Trust draft_trust(const Draft *draft) { return draft->trust; }
uint64_t draft_tokens(const Draft *draft) { return draft->tokens - draft_thinking_left(draft); }
uint64_t draft_tokens_before(const Draft *draft) { return draft->before - draft->thinking.at_start; }
Text draft_author(const Draft *draft) { return text_plain(draft->author, draft->author_size); }

Status draft_set_author(Draft *draft, Text author) {
  char *copy;
  Status status = text_copy(&draft->memory, author, &copy);
  if (status != STATUS_OK) return status;
  memory_free(&draft->memory, draft->author, draft->author_size);
  draft->author = copy;
  draft->author_size = author.size;
  return STATUS_OK;
}

Status draft_guarded(Draft *draft, GuardedSum *guarded) {
  *guarded = (GuardedSum){0};
  if (!draft->numbered && !draft->guarded) return STATUS_OK;
  if (!draft->numbered && evict_oldest_can_search(draft->conversation, draft->list)) {
    return evict_oldest_guarded(draft->conversation, draft->list, guarded);
  }
  Status status = draft_number_slots(draft);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    Hold hold = draft_slot_hold(draft, slot);
    if (draft_slot_is_dropped(draft, slot) || hold == HOLD_NONE) continue;
    guarded->tokens += slot_tokens(draft, slot);
    if (hold != HOLD_PENDING && hold != HOLD_LAST_USER) guarded->lasting += slot_tokens(draft, slot);
    guarded->messages++;
  }
  return status;
}

bool draft_may_store(const Draft *draft) { return conversation_store(draft->conversation) == draft->store; }

/* ---- the ledger ---- */

Status draft_cause(Draft *draft, Text reason, Cause *cause) {
  return ledger_cause(draft->ledger, draft_author(draft), reason, cause);
}

void draft_record(Draft *draft, Cause cause, LedgerRun entry) {
  entry.role = message_role(store_message(draft->store, entry.first));
  if (entry.count == 0) entry.count = 1;
  ledger_add(draft->ledger, cause, entry);
}

/* ---- the end ---- */

void draft_check(const Draft *draft) {
  uint64_t tokens = draft->overhead;
  uint32_t live = 0, listed = 0;
  if (draft->done) return;
  ledger_check(draft->ledger);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    bool dropped = draft_slot_is_dropped(draft, slot), removed = draft->slots.flags[slot] & SLOT_REMOVED;
    assert(dropped || draft_slot_of(draft, draft->slots.ids[slot]) == slot);
    assert(dropped || !removed);
    listed += !removed;
    live += !dropped;
    tokens += dropped ? 0 : slot_tokens(draft, slot);
  }
  if (!draft->numbered) listed = live = sequence_count(draft->list);
  else units_check(draft->slots.units);
  assert(live == draft->live && draft->unchanged <= live && listed == sequence_count(draft->list));
  assert(!draft->numbered || tokens == draft->tokens);
  draft_check_thoughts(draft);
  (void)tokens, (void)live, (void)listed;
}

void draft_always_commits(Draft *draft) { draft->always = true; }

Status draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch) {
  Conversation *conversation = draft->conversation;
  assert(!draft->done);
  if (conversation_version(conversation) != draft->version ||
      conversation_forgettings(conversation) != draft->forgettings) {
    return STATUS_ARGUMENT;
  }
  Ledger *ledger = ledger_count(draft->ledger) > 0 ? draft->ledger : NULL;
  if (ledger != NULL || draft->always) {
    Status status = draft_apply_edits(draft);
    if (status != STATUS_OK) return status;
    status = conversation_commit_with(conversation, draft->list, kind, description, ledger, policy_memory);
    if (status != STATUS_OK) return status;
    draft->list = NULL;
    if (ledger != NULL) ledger_share(ledger);      /* the history took over the draft's share */
  } else if (policy_memory != NULL) {
    Status status = conversation_remember(conversation, *policy_memory);
    if (status != STATUS_OK) return status;
  }
  draft->done = true;
  *batch = history_current(conversation_history(conversation));
  return STATUS_OK;
}
