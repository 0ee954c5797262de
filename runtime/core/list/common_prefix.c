#include "core/list/common_prefix.h"

#include <assert.h>

#include "base/minmax.h"
#include "core/list/sequence_diff.h"

static bool are_equal(const Store *store, MessageId a, MessageId b) {
  return a == b || text_equal(message_raw(store_message(store, a)), message_raw(store_message(store, b)));
}

Status common_prefix_count(const Memory *memory, const Store *store, const Sequence *a, const Sequence *b,
                           uint32_t *messages) {
  uint32_t end = min_u32(sequence_count(a), sequence_count(b)), same = end;
  SequenceDiff diff = {.memory = *memory};
  Status status = sequence_diff(a, b, &diff);
  /* Messages keep their order, so both lists are the same up to the first message that one of them lacks. */
  if (diff.removed_count > 0) same = min_u32(same, diff.removed[0].index);
  if (diff.added_count > 0) same = min_u32(same, diff.added[0].index);
  sequence_diff_free(&diff);
  if (status != STATUS_OK) return status;
  while (same < end && are_equal(store, sequence_at(a, same), sequence_at(b, same))) same++;
  assert(same <= sequence_count(a) && same <= sequence_count(b));
  *messages = same;
  return STATUS_OK;
}
