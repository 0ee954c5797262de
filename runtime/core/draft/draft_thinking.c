#include "core/draft/draft_thinking.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "core/draft/draft_data.h"

static const Counter *counter_of_draft(const Draft *draft) {
  return draft->weights != NULL ? token_weights_counter(draft->weights) : conversation_counter(draft->conversation);
}

static bool has_reasoning(const Message *message) {
  Text text;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (message_part(message, i).kind == PART_REASONING) return true;
  }
  return message_field(message, FIELD_REASONING, &text);
}

static Status tokens_of(const Draft *draft, MessageId id, uint32_t *tokens) {
  const Message *message = store_message(draft->store, id);
  Cost cost = {0};
  Status status = STATUS_OK;
  if (has_reasoning(message)) status = cost_of_reasoning(counter_of_draft(draft), message, &cost);
  *tokens = min_u32(cost.tokens, token_weights_get(draft->weights, draft->store, id));
  return status;
}

/* ---- the list ---- */

uint32_t thinking_lower_bound(const DraftThinking *thinking, uint32_t slot) {
  uint32_t low = 0, high = thinking->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (thinking->list[middle].slot < slot) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint32_t thought_of(const DraftThinking *thinking, uint32_t slot) {
  uint32_t at = thinking_lower_bound(thinking, slot);
  return at < thinking->count && thinking->list[at].slot == slot ? at : UNIT_NONE;
}

static bool is_present(const Draft *draft, uint32_t thought) {
  return !draft->numbered || !(draft->slots.flags[draft->thinking.list[thought].slot] & SLOT_DROPPED);
}

static Status reserve(Draft *draft) {
  DraftThinking *thinking = &draft->thinking;
  void *grown = memory_grow(&draft->memory, thinking->list, &thinking->room, thinking->count, sizeof *thinking->list);
  if (grown == NULL) return STATUS_MEMORY;
  thinking->list = grown;
  return STATUS_OK;
}

/* Adds the tokens of the thoughts at positions [first, end) of a list without edits; lists them if `listing`. */
static Status walk_thoughts(Draft *draft, uint32_t first, uint32_t end, bool listing, uint64_t *sum) {
  DraftThinking *thinking = &draft->thinking;
  SequenceWalk walk = sequence_walk(draft->list, first, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      uint32_t tokens;
      Status status = tokens_of(draft, walk.ids[i], &tokens);
      if (status == STATUS_OK && listing && tokens > 0) status = reserve(draft);
      if (status != STATUS_OK) return status;
      if (listing && tokens > 0) {
        thinking->list[thinking->count++] = (Thought){.slot = walk.index + i, .tokens = tokens};
      }
      *sum += tokens;
    }
  }
  return STATUS_OK;
}

void thinking_leave_from(Draft *draft, uint32_t thought) {
  DraftThinking *thinking = &draft->thinking;
  while (thinking->from > thought) {
    thinking->from--;
    if (is_present(draft, thinking->from)) thinking->left += thinking->list[thinking->from].tokens;
  }
}

uint32_t thinking_first_of_start(const DraftThinking *thinking) {
  return thinking->first < thinking->end ? thinking_lower_bound(thinking, thinking->first) : thinking->count;
}

Status draft_list_thoughts(Draft *draft) {
  DraftThinking *thinking = &draft->thinking;
  uint64_t sum = 0;
  if (!thinking->is_bound || thinking->is_listed) return STATUS_OK;
  assert(ledger_count(draft->ledger) == 0 && thinking->left == 0);
  thinking->count = 0;
  Status status = walk_thoughts(draft, 0, sequence_count(draft->list), true, &sum);
  if (status != STATUS_OK) return status;
  thinking->is_listed = true;
  thinking->from = thinking->count;
  thinking_leave_from(draft, thinking_first_of_start(thinking));
  return STATUS_OK;
}

void draft_free_thoughts(Draft *draft) {
  memory_free(&draft->memory, draft->thinking.list, draft->thinking.room * sizeof *draft->thinking.list);
}

/* ---- before any edit ---- */

Status draft_bind_thinking(Draft *draft, uint32_t first, uint32_t end, const uint64_t *tokens) {
  DraftThinking *thinking = &draft->thinking;
  uint64_t sum = 0;
  if (ledger_count(draft->ledger) > 0 || thinking->is_listed) return STATUS_ARGUMENT;
  end = min_u32(end, sequence_count(draft->list));
  if (tokens != NULL) {
    sum = *tokens;
  } else if (first < end) {
    Status status = walk_thoughts(draft, first, end, false, &sum);
    if (status != STATUS_OK) return status;
  }
  if (sum > draft->tokens) return STATUS_ARGUMENT;
  thinking->is_bound = true;
  thinking->first = first;
  thinking->end = end;
  thinking->at_start = sum;
  return STATUS_OK;
}

bool draft_binds_thinking(const Draft *draft) { return draft->thinking.is_bound; }

/* ---- edits ---- */

void draft_leave_thoughts(Draft *draft, uint32_t slot) {
  DraftThinking *thinking = &draft->thinking;
  /* What was inserted stands behind a change already, or behind all that was there before. */
  if (!thinking->is_listed || slot >= draft->slots.numbered) return;
  thinking_leave_from(draft, thinking_lower_bound(thinking, slot));
}

void draft_drop_thought(Draft *draft, uint32_t slot) {
  DraftThinking *thinking = &draft->thinking;
  uint32_t at = thinking->is_listed ? thought_of(thinking, slot) : UNIT_NONE;
  if (at == UNIT_NONE) return;
  assert(at >= thinking->from && thinking->left >= thinking->list[at].tokens);
  thinking->left -= thinking->list[at].tokens;
}

Status draft_weigh_thought(Draft *draft, MessageId id, uint32_t *tokens) {
  *tokens = 0;
  if (!draft->thinking.is_listed) return STATUS_OK;
  Status status = reserve(draft);
  return status == STATUS_OK ? tokens_of(draft, id, tokens) : status;
}

void draft_put_thought(Draft *draft, uint32_t slot, uint32_t tokens) {
  DraftThinking *thinking = &draft->thinking;
  if (!thinking->is_listed || slot >= draft->slots.numbered) return;
  draft_drop_thought(draft, slot);
  uint32_t at = thinking_lower_bound(thinking, slot);
  bool exists = at < thinking->count && thinking->list[at].slot == slot;
  if (!exists && tokens == 0) return;
  if (!exists) {
    assert(thinking->count < thinking->room);
    memmove(thinking->list + at + 1, thinking->list + at, (thinking->count - at) * sizeof *thinking->list);
    thinking->count++;
  }
  thinking->list[at] = (Thought){.slot = slot, .tokens = tokens};
  assert(at >= thinking->from);      /* an edit leaves out what stands behind it */
  thinking->left += tokens;
}

/* ---- slots get other numbers ---- */

void draft_unplace_thoughts(Draft *draft) {
  DraftThinking *thinking = &draft->thinking;
  uint32_t kept = 0, from = 0;
  for (uint32_t i = 0; i < thinking->count; i++) {
    Thought thought = thinking->list[i];
    if (!is_present(draft, i)) continue;
    if (i < thinking->from) from = kept + 1;
    thought.slot = draft->slots.ids[thought.slot];
    thinking->list[kept++] = thought;
  }
  thinking->count = kept;
  thinking->from = from;
}

void draft_place_thoughts(Draft *draft) {
  DraftThinking *thinking = &draft->thinking;
  for (uint32_t i = 0; i < thinking->count; i++) {
    thinking->list[i].slot = slot_of_id(draft, thinking->list[i].slot);
    assert(thinking->list[i].slot != UNIT_NONE && (i == 0 || thinking->list[i].slot > thinking->list[i - 1].slot));
  }
}

/* ---- sums ---- */

uint64_t draft_thinking_left(const Draft *draft) {
  const DraftThinking *thinking = &draft->thinking;
  return ledger_count(draft->ledger) > 0 ? thinking->left : thinking->at_start;
}

/* The same of one message before any edit. */
static uint32_t left_at_start(const Draft *draft, MessageId id) {
  const DraftThinking *thinking = &draft->thinking;
  uint32_t tokens;
  if (thinking->at_start == 0) return 0;
  uint32_t at = draft->numbered ? slot_of_id(draft, id) : sequence_index_of(draft->list, id, 0);
  if (at < thinking->first || at >= thinking->end) return 0;
  return tokens_of(draft, id, &tokens) == STATUS_OK ? tokens : 0;
}

uint32_t draft_thought_left(const Draft *draft, MessageId id) {
  const DraftThinking *thinking = &draft->thinking;
  if (!thinking->is_bound) return 0;
  if (ledger_count(draft->ledger) == 0) return left_at_start(draft, id);
  uint32_t slot = slot_of_id(draft, id);
  if (slot == UNIT_NONE || draft->slots.ids[slot] != id) return 0;
  uint32_t at = thought_of(thinking, slot);
  return at != UNIT_NONE && at >= thinking->from ? thinking->list[at].tokens : 0;
}

void draft_check_thoughts(const Draft *draft) {
  const DraftThinking *thinking = &draft->thinking;
  uint64_t left = 0;
  for (uint32_t i = 0; i < thinking->count; i++) {
    assert(i == 0 || thinking->list[i - 1].slot < thinking->list[i].slot);
    if (i >= thinking->from && is_present(draft, i)) left += thinking->list[i].tokens;
  }
  assert(left == thinking->left && draft_thinking_left(draft) <= draft->tokens);
  (void)left;
}
