/*
** Counting goes through the pieces of a text a batch at a time:
**
**     pieces      "The" " lazy" " dog" " misunderestimated" "." ...
**       | by size, so that each list is probed in one way, without branches
**       v
**     shorts "The" " lazy" " dog" "."     middles ...     longs ...
**       | one probe each
**       v
**     missed      " misunderestimated"    seen before? its count is in the memo (memo.h)
**       | else it waits in a group, for others to be merged with (bpe_lanes.h)
**       v
**     merged      3
**
** Encoding does the same, keeps the numbers by place and merges one by one.
*/
#include "tokens/tokenizer.h"

#include <string.h>

#include "tokens/bpe.h"
#include "tokens/bpe_lanes.h"
#include "tokens/memo.h"
#include "tokens/regex_cut.h"
#include "tokens/vocab_image.h"

enum {
  SCRATCH_KEPT = 1 << 20,    /* bytes of a decoded text's block that stays for the next */
  MEMO_FROM = 512            /* misses before there is a memo: short texts do without */
};

/* A group of pieces that wait to be merged. */
typedef struct Waiting {
  LanesGroup group;
  MemoKey keys[LANES_ROWS];  /* the last word 0: not for the memo */
} Waiting;

struct Tokenizer {
  Memory memory;
  Vocab *vocab;
  RegexCut *regex;           /* PIECES_REGEX only */
  Bpe bpe;
  Buffer plain;              /* an escaped text, decoded */
  Memo *memo;                /* NULL: not yet */
  uint32_t missed;           /* up to MEMO_FROM */
  Waiting waiting[LANES_WIDTHS];   /* while a text is counted */
};

static Status open_regex(Tokenizer *t) {
  RegexError error;
  if (vocab_pattern(t->vocab) != PIECES_REGEX) return STATUS_OK;
  return regex_cut_new(&t->memory, vocab_regex(t->vocab), &t->regex, &error);
}

Status tokenizer_new(const Memory *memory, Vocab *vocab, Tokenizer **tokenizer) {
  Tokenizer *t = memory_new(memory, sizeof *t);
  if (t == NULL) return STATUS_MEMORY;
  memset(t, 0, offsetof(Tokenizer, waiting));   /* not the rows: pages that short texts never touch */
  for (int i = 0; i < LANES_WIDTHS; i++) t->waiting[i].group.used = 0;
  t->memory = *memory;
  t->vocab = vocab_share(vocab);
  bpe_init(&t->bpe, memory);
  buffer_init(&t->plain, *memory);
  Status status = open_regex(t);
  if (status != STATUS_OK) {
    tokenizer_free(t);
    return status;
  }
  *tokenizer = t;
  return STATUS_OK;
}

void tokenizer_free(Tokenizer *t) {
  if (t == NULL) return;
  Memory memory = t->memory;
  vocab_release(t->vocab);
  regex_cut_free(t->regex);
  bpe_free(&t->bpe);
  buffer_free(&t->plain);
  memo_free(&memory, t->memo);
  memory_free(&memory, t, sizeof *t);
}

const Vocab *tokenizer_vocab(const Tokenizer *tokenizer) { return tokenizer->vocab; }

/* ---- a text and its pieces ---- */

enum { KEY_READS = MEMO_READS };   /* bytes from its start that a piece's keys may read */

typedef struct Run {
  const char *bytes;
  size_t size, safe;         /* pieces that start below `safe` are read in place */
  Pieces pieces;
  const size_t *ends;        /* PIECES_REGEX: all of them, `left` still to come */
  size_t left;
  char tail[2 * KEY_READS];  /* the text from `safe` on, and zeros */
} Run;

static Status start_run(Tokenizer *t, Text text, Run *run) {
  *run = (Run){.bytes = text.bytes, .size = text.size};
  if (text.escaped) {
    buffer_reset(&t->plain);
    Status status = text_decode(text, &t->plain);
    if (status != STATUS_OK) return status;
    run->bytes = t->plain.bytes;
    run->size = t->plain.size;
  }
  run->safe = run->size < KEY_READS ? 0 : run->size - KEY_READS + 1;
  if (run->size > 0) memcpy(run->tail, run->bytes + run->safe, run->size - run->safe);
  if (t->regex != NULL) return regex_cut_text(t->regex, run->bytes, run->size, &run->ends, &run->left);
  run->pieces = pieces_start(vocab_pattern(t->vocab), run->bytes, run->size);
  return STATUS_OK;
}

static uint32_t next_batch(Run *run, size_t ends[PIECE_BATCH]) {
  if (run->ends == NULL) return pieces_next(&run->pieces, ends);
  uint32_t count = run->left < PIECE_BATCH ? (uint32_t)run->left : PIECE_BATCH;
  memcpy(ends, run->ends, count * sizeof *ends);
  run->ends += count;
  run->left -= count;
  return count;
}

static void end_run(Tokenizer *t) {
  if (t->plain.capacity > SCRATCH_KEPT) buffer_free(&t->plain);
  bpe_shrink(&t->bpe);
}

/* KEY_READS bytes that may be read, whatever follows the text. */
static inline const char *piece_at(const Run *run, size_t start) {
  return start < run->safe ? run->bytes + start : run->tail + (start - run->safe);
}

/* ---- pieces that are tokens ---- */

/* Pieces of a batch, by place in it. */
typedef struct Batch {
  size_t bounds[PIECE_BATCH + 1];    /* where they start, and where the last one ends */
  uint32_t count;
  uint32_t unknown, missed;
  uint16_t by_unknown[PIECE_BATCH];  /* those that are to be looked up */
  uint16_t by_miss[PIECE_BATCH];     /* those that are no tokens */
  uint32_t numbers[PIECE_BATCH];     /* when encoding; NUMBER_NONE for the missed */
} Batch;

typedef struct Sizes {
  uint32_t shorts, middles, longs;
  uint16_t of_short[PIECE_BATCH], of_middle[PIECE_BATCH], of_long[PIECE_BATCH];
} Sizes;

static void sort_by_size(const Batch *batch, Sizes *sizes) {
  sizes->shorts = sizes->middles = sizes->longs = 0;
  for (uint32_t i = 0; i < batch->unknown; i++) {
    uint16_t place = batch->by_unknown[i];
    size_t size = batch->bounds[place + 1] - batch->bounds[place];
    sizes->of_short[sizes->shorts] = sizes->of_middle[sizes->middles] = sizes->of_long[sizes->longs] = place;
    sizes->shorts += size <= 8;
    sizes->middles += size > 8 && size <= 16;
    sizes->longs += size > 16;
  }
}

static inline void settle(Batch *batch, uint32_t place, bool hit, const uint32_t *number, bool keep) {
  if (keep) batch->numbers[place] = hit ? *number : NUMBER_NONE;
  batch->by_miss[batch->missed] = (uint16_t)place;
  batch->missed += !hit;
}

/*
** Each list goes twice: once to ask for the slots, all together, and once to
** look at what has come. One look-up after the other would wait for memory.
** Pieces that short keys cannot tell from others go over to the long ones.
*/
static inline void probe_shorts(const Vocab *v, const Run *run, Batch *batch, Sizes *sizes, Memo *memo, bool keep) {
  uint64_t keys[PIECE_BATCH];
  uint32_t slots[PIECE_BATCH], count = 0;
  for (uint32_t i = 0; i < sizes->shorts; i++) {
    uint16_t place = sizes->of_short[i];
    size_t start = batch->bounds[place], size = batch->bounds[place + 1] - start;
    keys[count] = short_key(piece_at(run, start), size);
    slots[count] = vocab_short_slot(v, keys[count]);
    __builtin_prefetch(&v->short_keys[slots[count]]);
    sizes->of_short[count] = place;
    if (short_key_unfit(keys[count], size)) sizes->of_long[sizes->longs++] = place;
    else count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint16_t place = sizes->of_short[i];
    bool hit = v->short_keys[slots[i]] == keys[i];
    if (memo != NULL && hit) {
      size_t start = batch->bounds[place], size = batch->bounds[place + 1] - start;
      memo_put_short(memo, memo_short_key(piece_at(run, start), size), size, 1);
    }
    settle(batch, place, hit, &v->short_numbers[slots[i]], keep);
  }
}

static inline void probe_middles(const Vocab *v, const Run *run, Batch *batch, Sizes *sizes, bool keep) {
  uint64_t keys[PIECE_BATCH][2];
  uint32_t slots[PIECE_BATCH], count = 0;
  for (uint32_t i = 0; i < sizes->middles; i++) {
    uint16_t place = sizes->of_middle[i];
    size_t start = batch->bounds[place], size = batch->bounds[place + 1] - start;
    const char *at = piece_at(run, start);
    keys[count][0] = load_word(at);
    keys[count][1] = short_key(at + 8, size - 8);
    slots[count] = vocab_middle_slot(v, keys[count][0], keys[count][1]);
    __builtin_prefetch(&v->middle_keys[(size_t)slots[count] * 2]);
    sizes->of_middle[count] = place;
    if (short_key_unfit(keys[count][1], size - 8)) sizes->of_long[sizes->longs++] = place;
    else count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool hit = vocab_is_middle(v, slots[i], keys[i][0], keys[i][1]);
    settle(batch, sizes->of_middle[i], hit, &v->middle_numbers[slots[i]], keep);
  }
}

/* Looks up the unknown ones. With `keep`, their numbers are kept; with a memo, it learns of short tokens. */
static inline void probe(const Vocab *v, const Run *run, Batch *batch, Memo *memo, bool keep) {
  Sizes sizes;
  sort_by_size(batch, &sizes);
  batch->missed = 0;
  probe_shorts(v, run, batch, &sizes, memo, keep);
  probe_middles(v, run, batch, &sizes, keep);
  for (uint32_t i = 0; i < sizes.longs; i++) {
    uint32_t place = sizes.of_long[i];
    size_t start = batch->bounds[place];
    uint32_t number = vocab_find_long(v, run->bytes + start, batch->bounds[place + 1] - start);
    settle(batch, place, number != NUMBER_NONE, &number, keep);
  }
}

static void all_unknown(Batch *batch) {
  batch->unknown = batch->count;
  for (uint32_t i = 0; i < batch->count; i++) batch->by_unknown[i] = (uint16_t)i;
}

/* Adds the counts of short pieces that the memo knows; the others are unknown. */
static void count_known(const Memo *memo, const Run *run, Batch *batch, uint64_t *tokens) {
  uint64_t sum = 0;
  batch->unknown = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    size_t start = batch->bounds[i], size = batch->bounds[i + 1] - start;
    uint32_t count = memo_find_short(memo, memo_short_key(piece_at(run, start), size), size);
    sum += count;
    batch->by_unknown[batch->unknown] = (uint16_t)i;
    batch->unknown += count == 0;
  }
  *tokens += sum;
}

/* ---- the others ---- */

static void open_memo(Tokenizer *t, uint32_t missed) {
  t->missed += missed;
  if (t->memo != NULL || t->missed < MEMO_FROM) return;
  t->memo = memo_new(&t->memory);
  t->missed = 0;             /* no memory for it now: later, perhaps */
}

/* Merges the pieces that wait in one of the groups. */
static void merge_waiting(Tokenizer *t, unsigned width, uint64_t *tokens) {
  Waiting *waiting = &t->waiting[width];
  LanesGroup *group = &waiting->group;
  lanes_merge(group->rows, group->used, t->vocab, width);
  for (uint32_t i = 0; i < group->used; i++) {
    const MemoKey *key = &waiting->keys[i];
    *tokens += group->rows[i].tokens;
    if (t->memo != NULL && key->words[3] != 0) memo_put(memo_line(t->memo, key), key, group->rows[i].tokens);
  }
  group->used = 0;
}

/* Counts a piece when its group is full; false if it is too large for one. */
static bool count_later(Tokenizer *t, const char *piece, size_t size, const MemoKey *key, uint64_t *tokens) {
  LanesParts parts;
  if (!lanes_cut(t->vocab, piece, size, &parts)) return false;
  unsigned width = lanes_width(&parts);
  LanesGroup *group = &t->waiting[width].group;
  t->waiting[width].keys[group->used] = *key;
  lanes_fill(&group->rows[group->used++], t->vocab, &parts, width);
  if (group->used == LANES_ROWS) merge_waiting(t, width, tokens);
  return true;
}

static Status count_large(Tokenizer *t, const char *piece, size_t size, uint64_t *tokens) {
  MemoLarge *slot = t->memo != NULL && size <= MEMO_LARGE_BYTES ? memo_large(t->memo, piece, size) : NULL;
  if (slot != NULL && memo_is_large(slot, piece, size)) {
    *tokens += slot->tokens;
    return STATUS_OK;
  }
  size_t count;
  Status status = bpe_merge(&t->bpe, t->vocab, piece, size, &count);
  if (status != STATUS_OK) return status;
  *tokens += count;
  if (slot != NULL) memo_put_large(slot, piece, size, (uint32_t)count);
  return STATUS_OK;
}

/* ---- counting ---- */

static Status count_batch(Tokenizer *t, const Run *run, Batch *batch, uint64_t *tokens) {
  MemoKey keys[PIECE_BATCH];
  if (t->memo != NULL) count_known(t->memo, run, batch, tokens);
  else all_unknown(batch);
  probe(t->vocab, run, batch, t->memo, false);
  *tokens += batch->unknown - batch->missed;
  open_memo(t, batch->missed);
  for (uint32_t i = 0; i < batch->missed; i++) {
    size_t start = batch->bounds[batch->by_miss[i]], size = batch->bounds[batch->by_miss[i] + 1] - start;
    keys[i] = size <= MEMO_LINE_BYTES ? memo_key(piece_at(run, start), size) : (MemoKey){{0}};
    if (t->memo != NULL) __builtin_prefetch(memo_line(t->memo, &keys[i]));
  }
  for (uint32_t i = 0; i < batch->missed; i++) {
    size_t start = batch->bounds[batch->by_miss[i]], size = batch->bounds[batch->by_miss[i] + 1] - start;
    const char *piece = run->bytes + start;
    bool large = size > MEMO_LINE_BYTES;
    uint32_t known = t->memo != NULL && !large ? memo_find(memo_line(t->memo, &keys[i]), &keys[i]) : 0;
    if (known > 0) {
      *tokens += known;
      if (size <= 8) memo_put_short(t->memo, memo_short_key(piece_at(run, start), size), size, known);
    } else if (!count_later(t, piece, size, &keys[i], tokens)) {
      Status status = count_large(t, piece, size, tokens);
      if (status != STATUS_OK) return status;
    }
  }
  return STATUS_OK;
}

Status tokenizer_count_up_to(Tokenizer *t, Text text, uint64_t limit, uint64_t *tokens) {
  Run run;
  Batch batch;
  uint64_t counted = 0;
  Status status = start_run(t, text, &run);
  batch.bounds[0] = 0;
  while (status == STATUS_OK && counted <= limit && (batch.count = next_batch(&run, batch.bounds + 1)) > 0) {
    status = count_batch(t, &run, &batch, &counted);
    batch.bounds[0] = batch.bounds[batch.count];
  }
  for (unsigned width = 0; width < LANES_WIDTHS; width++) {
    if (status == STATUS_OK) merge_waiting(t, width, &counted);
    else t->waiting[width].group.used = 0;
  }
  end_run(t);
  if (status == STATUS_OK) *tokens = counted;
  return status;
}

Status tokenizer_count(Tokenizer *t, Text text, uint64_t *tokens) {
  return tokenizer_count_up_to(t, text, UINT64_MAX, tokens);
}

/* ---- encoding ---- */

static Status add_number(const Vocab *v, uint32_t number, Buffer *ids) {
  uint32_t id = number < v->token_count ? v->ids[number] : 0;
  return buffer_add(ids, &id, sizeof id);
}

static Status encode_batch(Tokenizer *t, const Run *run, Batch *batch, Buffer *ids) {
  const Vocab *v = t->vocab;
  all_unknown(batch);
  probe(v, run, batch, NULL, true);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < batch->count && status == STATUS_OK; i++) {
    size_t start = batch->bounds[i], count = 0;
    if (batch->numbers[i] != NUMBER_NONE) {
      status = add_number(v, batch->numbers[i], ids);
      continue;
    }
    status = bpe_merge(&t->bpe, v, run->bytes + start, batch->bounds[i + 1] - start, &count);
    for (size_t k = 0; k < count && status == STATUS_OK; k++) status = add_number(v, t->bpe.tokens[k], ids);
  }
  return status;
}

Status tokenizer_encode(Tokenizer *t, Text text, Buffer *ids) {
  Run run;
  Batch batch;
  size_t before = ids->size;
  Status status = start_run(t, text, &run);
  batch.bounds[0] = 0;
  while (status == STATUS_OK && (batch.count = next_batch(&run, batch.bounds + 1)) > 0) {
    status = encode_batch(t, &run, &batch, ids);
    batch.bounds[0] = batch.bounds[batch.count];
  }
  end_run(t);
  if (status != STATUS_OK) ids->size = before;
  return status;
}

/* ---- decoding ---- */

Status tokenizer_decode(const Tokenizer *t, const uint32_t *ids, size_t count, Buffer *bytes, size_t *bad) {
  const Vocab *v = t->vocab;
  size_t before = bytes->size;
  for (size_t i = 0; i < count; i++) {
    uint32_t number = ids[i] < vocab_size(v) ? v->by_id[ids[i]] : NUMBER_NONE;
    const char *token = NULL;
    size_t size = number < v->token_count ? vocab_token_bytes(v, number, &token) : 0;
    Status status = token == NULL ? STATUS_RANGE : buffer_add(bytes, token, size);
    if (status == STATUS_OK) continue;
    if (status == STATUS_RANGE) *bad = i;
    bytes->size = before;
    return status;
  }
  return STATUS_OK;
}
