#include "tokens/batch.h"

/* Unknown pieces by the table of the memo that they may be in. */
typedef struct Lists {
  uint32_t smalls, lines, others;
  uint16_t of_small[PIECE_BATCH], of_line[PIECE_BATCH];
} Lists;

/* Most pieces. Without branches: what is known could not be foreseen. Pieces near the end of the text, which are not
   read in place, are left to the other tables. */
static void recall_shorts(const Memo *memo, const Run *run, Batch *batch, uint64_t *tokens) {
  uint64_t sum = 0, all = 0;
  size_t unknown = 0, inside = batch->count, start = batch->bounds[0];
  while (inside > 0 && batch->bounds[inside - 1] >= run->safe) inside--;
  for (size_t i = 0; i < inside; i++) {
    size_t end = batch->bounds[i + 1];
    uint64_t count = memo_find_short(memo, run->bytes + start, end - start);
    sum += count;
    all |= count;
    batch->by_unknown[unknown] = (uint16_t)i;
    unknown += count == 0;
    start = end;
  }
  for (size_t i = inside; i < batch->count; i++) batch->by_unknown[unknown++] = (uint16_t)i;
  batch->unknown = (uint32_t)unknown;
  if ((all & MEMO_EIGHT) != 0) batch_all_unknown(batch);
  else *tokens += sum;
}

/* What no table holds stays in the batch's list. */
static void sort_by_table(Batch *batch, Lists *lists) {
  lists->smalls = lists->lines = lists->others = 0;
  for (uint32_t i = 0; i < batch->unknown; i++) {
    uint16_t place = batch->by_unknown[i];
    size_t size = batch->bounds[place + 1] - batch->bounds[place];
    lists->of_small[lists->smalls] = lists->of_line[lists->lines] = batch->by_unknown[lists->others] = place;
    lists->smalls += size <= MEMO_SMALL_BYTES;
    lists->lines += size > MEMO_SMALL_BYTES && size <= MEMO_LINE_BYTES;
    lists->others += size > MEMO_LINE_BYTES;
  }
  batch->unknown = lists->others;
}

/* Short ones go to the nearest table again. */
static uint64_t recall_smalls(Memo *memo, const Run *run, Batch *batch, const Lists *lists) {
  MemoSmall keys[PIECE_BATCH];
  MemoSet *sets[PIECE_BATCH];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->smalls; i++) {
    Piece piece = piece_at(run, batch, lists->of_small[i]);
    keys[i] = memo_small_key(piece.at, piece.size);
    sets[i] = memo_set(memo, &keys[i]);
    __builtin_prefetch(sets[i]);
  }
  for (uint32_t i = 0; i < lists->smalls; i++) {
    uint32_t count = memo_find_small(sets[i], &keys[i]);
    sum += count;
    memo_put_short(memo, keys[i].words[0], memo_small_size(&keys[i]), count);
    batch->by_unknown[batch->unknown] = lists->of_small[i];
    batch->unknown += count == 0;
  }
  return sum;
}

static uint64_t recall_lines(Memo *memo, const Run *run, Batch *batch, const Lists *lists) {
  MemoKey keys[PIECE_BATCH];
  MemoLine *lines[PIECE_BATCH];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->lines; i++) {
    Piece piece = piece_at(run, batch, lists->of_line[i]);
    keys[i] = memo_line_key(piece.at, piece.size);
    lines[i] = memo_line(memo, &keys[i]);
    __builtin_prefetch(lines[i]);
  }
  for (uint32_t i = 0; i < lists->lines; i++) {
    uint32_t count = memo_find_line(lines[i], &keys[i]);
    sum += count;
    batch->by_unknown[batch->unknown] = lists->of_line[i];
    batch->unknown += count == 0;
  }
  return sum;
}

void batch_recall(Memo *memo, const Run *run, Batch *batch, uint64_t *tokens) {
  Lists lists;
  recall_shorts(memo, run, batch, tokens);
  sort_by_table(batch, &lists);
  *tokens += recall_smalls(memo, run, batch, &lists);
  *tokens += recall_lines(memo, run, batch, &lists);
}
