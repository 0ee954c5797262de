/*
** Counting a conversation with other counters, the trust in its counts, and calibration
** by providers' reports.
**
** Invariant: the current list has the conversation's token weights and store. Lists of
** other batches may have older weights, and the store of the conversation that this one
** was forked from, until conversation_reweigh.
*/
#include <assert.h>

#include "core/conversation_data.h"

/* ---- other counters ---- */

Status conversation_token_weights(Conversation *conversation, const Counter *counter, TokenWeights **weights) {
  *weights = NULL;
  if (counter_equal(counter, &conversation->first)) return STATUS_OK;
  Status status = token_weights_open(conversation->store, &conversation->memory, counter, weights);
  return status == STATUS_OK ? token_weights_fill(*weights, conversation->store) : status;
}

Status conversation_count_by(Conversation *conversation, const Sequence *list, const Counter *counter,
                             uint64_t *tokens) {
  TokenWeights *weights;
  Status status = conversation_token_weights(conversation, counter, &weights);
  if (status != STATUS_OK) return status;
  *tokens = 0;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) *tokens += token_weights_get(weights, conversation->store, walk.ids[i]);
  }
  return STATUS_OK;
}

Status conversation_recount(Conversation *conversation, const Counter *counter, Cost overhead) {
  TokenWeights *weights, *before = conversation->weights;
  Status status = conversation_token_weights(conversation, counter, &weights);
  if (status != STATUS_OK || counter_equal(counter, &conversation->counter)) return status;
  conversation->weights = weights;
  status = conversation_reweigh(conversation, history_current(conversation->history));
  if (status != STATUS_OK) {
    conversation->weights = before;
    return status;
  }
  conversation->counter = *counter;
  conversation->calibration = (Calibration){0};
  conversation_set_overhead(conversation, overhead);
  conversation_touch(conversation);
  return STATUS_OK;
}

/* ---- trust ---- */

uint32_t conversation_next_guess(const Conversation *conversation, const Sequence *list, const Counter *counter,
                                 uint32_t from) {
  Store *store = conversation->store;
  uint32_t count = sequence_count(list), index = from;
  assert(from <= count);
  bool is_first = counter_equal(counter, &conversation->first);
  const TokenWeights *weights = is_first ? NULL : token_weights_find(store, counter);
  if (token_weights_guesses(weights, store) == 0) return count;
  SequenceWalk walk = sequence_walk(list, from, count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++, index++) {
      if (token_weights_is_guess(weights, store, walk.ids[i])) return index;
    }
  }
  assert(index == count);
  return count;
}

Trust conversation_trust_by(const Conversation *conversation, const Sequence *list, const Counter *counter,
                            bool guessed) {
  Trust trust = counter_trust(counter);
  if (trust != TRUST_DERIVED) return trust;
  guessed = guessed || conversation_next_guess(conversation, list, counter, 0) < sequence_count(list);
  return guessed ? TRUST_ESTIMATED : TRUST_DERIVED;
}

Trust conversation_trust(const Conversation *conversation, const Sequence *list) {
  Trust trust = conversation_trust_by(conversation, list, &conversation->counter, conversation->overhead_guessed);
  bool calibrated = conversation->calibration.reported > 0 && counter_trust(&conversation->counter) == TRUST_ESTIMATED;
  return calibrated ? TRUST_CALIBRATED : trust;
}

bool conversation_overhead_is_guess(const Conversation *conversation) { return conversation->overhead_guessed; }

Calibration conversation_calibration(const Conversation *conversation) { return conversation->calibration; }

/* Keeps the greatest ratio of all reports, at least 1. */
Status conversation_calibrate(Conversation *conversation, uint64_t reported) {
  uint64_t counted = conversation_tokens(conversation);
  if (counter_trust(&conversation->counter) != TRUST_ESTIMATED) return STATUS_ARGUMENT;
  if (reported == 0 || reported > CALIBRATION_REPORT_MAX) return STATUS_RANGE;
  if (reported / CALIBRATION_RATIO_MAX > counted) return STATUS_RANGE;
  if (reported < counted || counted == 0) reported = counted = 1;
  Calibration *best = &conversation->calibration;
  if (best->reported == 0 || reported * best->counted > best->reported * counted) {
    *best = (Calibration){.reported = reported, .counted = counted};
  }
  return STATUS_OK;
}

uint64_t calibration_apply(Calibration calibration, uint64_t tokens) {
  assert(calibration.reported >= calibration.counted);
  if (calibration.reported == 0) return tokens;
  return (tokens * calibration.reported + calibration.counted - 1) / calibration.counted;
}

uint64_t calibration_undo(Calibration calibration, uint64_t budget) {
  uint64_t reported = calibration.reported, counted = calibration.counted;
  assert(reported >= counted);
  if (reported == 0) return budget;
  return budget / reported * counted + budget % reported * counted / reported;      /* without overflow */
}
