#include "tokens/batch.h"

/* Unknown pieces by the table of the memo that they may be in. */
typedef enum Table { OF_NEAR, OF_FAR, OF_LINE, OF_NONE, TABLE_COUNT } Table;
typedef struct Lists {
  uint32_t counts[TABLE_COUNT];
  uint16_t places[TABLE_COUNT][PIECE_BATCH];
} Lists;

/* Most pieces. Without branches: what is known could not be foreseen. Pieces near the end of the text, which are not
   read in place, are left to the other tables. */
static void recall_shorts(const Memo *memo, const Run *run, Batch *batch, uint64_t *tokens) {
  uint64_t sum = 0, all = 0;
  size_t unknown = 0, inside = batch->count;
  while (inside > 0 && batch->starts[inside - 1] >= run->safe) inside--;
  for (size_t i = 0; i < inside; i++) {
    size_t start = batch->starts[i];
    uint64_t count = memo_find_short(memo, run->bytes + start, batch->ends[i] - start);
    sum += count;
    all |= count;
    batch->by_unknown[unknown] = (uint16_t)i;
    unknown += count == 0;
  }
  for (size_t i = inside; i < batch->count; i++) batch->by_unknown[unknown++] = (uint16_t)i;
  batch->unknown = (uint32_t)unknown;
  if ((all & MEMO_EIGHT) != 0) batch_all_unknown(batch);
  else *tokens += sum;
}

/* What no table holds stays in the batch's list. */
static void sort_by_table(Batch *batch, Lists *lists) {
  static const uint8_t tables[MEMO_LINE_BYTES + 2] = {
    OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR,
    OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR,
    OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE,
    OF_LINE, OF_LINE, OF_LINE, OF_NONE};
  memset(lists->counts, 0, sizeof lists->counts);
  for (uint32_t i = 0; i < batch->unknown; i++) {
    uint16_t place = batch->by_unknown[i];
    size_t size = batch->ends[place] - batch->starts[place];
    uint32_t table = tables[size <= MEMO_LINE_BYTES ? size : MEMO_LINE_BYTES + 1];
    lists->places[table][lists->counts[table]++] = place;
  }
  batch->unknown = lists->counts[OF_NONE];
  memcpy(batch->by_unknown, lists->places[OF_NONE], batch->unknown * sizeof *batch->by_unknown);
}

/* Pieces of up to eight bytes, which go to the nearest table again, or of more: made for each. */
static inline __attribute__((always_inline)) uint64_t recall_smalls(Memo *memo, const Run *run, Batch *batch,
                                                                    const Lists *lists, Table table) {
  MemoSmall keys[PIECE_BATCH];
  MemoSet *sets[PIECE_BATCH];
  const uint16_t *places = lists->places[table];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->counts[table]; i++) {
    Piece piece = piece_at(run, batch, places[i]);
    keys[i] = table == OF_NEAR ? memo_near_key(piece.at, piece.size) : memo_far_key(piece.at, piece.size);
    sets[i] = memo_set(memo, &keys[i]);
    __builtin_prefetch(sets[i]);
  }
  for (uint32_t i = 0; i < lists->counts[table]; i++) {
    uint32_t count = memo_find_small(sets[i], &keys[i]);
    sum += count;
    if (table == OF_NEAR) memo_put_short(memo, keys[i].words[0], memo_small_size(&keys[i]), count);
    batch->by_unknown[batch->unknown] = places[i];
    batch->unknown += count == 0;
  }
  return sum;
}

static uint64_t recall_lines(Memo *memo, const Run *run, Batch *batch, const Lists *lists) {
  MemoKey keys[PIECE_BATCH];
  MemoLine *lines[PIECE_BATCH];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->counts[OF_LINE]; i++) {
    Piece piece = piece_at(run, batch, lists->places[OF_LINE][i]);
    keys[i] = memo_line_key(piece.at, piece.size);
    lines[i] = memo_line(memo, &keys[i]);
    __builtin_prefetch(lines[i]);
  }
  for (uint32_t i = 0; i < lists->counts[OF_LINE]; i++) {
    uint32_t count = memo_find_line(lines[i], &keys[i]);
    sum += count;
    batch->by_unknown[batch->unknown] = lists->places[OF_LINE][i];
    batch->unknown += count == 0;
  }
  return sum;
}

void batch_recall(Memo *memo, const Run *run, Batch *batch, uint64_t *tokens) {
  Lists lists;
  recall_shorts(memo, run, batch, tokens);
  sort_by_table(batch, &lists);
  *tokens += recall_smalls(memo, run, batch, &lists, OF_NEAR);
  *tokens += recall_smalls(memo, run, batch, &lists, OF_FAR);
  *tokens += recall_lines(memo, run, batch, &lists);
}
