/*
** Counting goes through the pieces of a text a batch at a time:
**
**     pieces      "The" " lazy" " dog" " misunderestimated" "." ...
**       | seen before? then the memo has its count (memo.h, batch_recall.c)
**       v
**     unknown     " dog" " misunderestimated"
**       | by size, so that each list is probed in one way, without branches (batch_probe.c)
**       v
**     missed      " misunderestimated"
**       | waits in a group, for others to be merged with (waiting.h)
**       v
**     merged      3
**
** Encoding asks the vocabulary for all, keeps the numbers by place and merges one by one.
*/
#include "tokens/tokenizer.h"

#include <string.h>

#include "tokens/batch.h"
#include "tokens/regex_cut.h"
#include "tokens/vocab_image.h"
#include "tokens/waiting.h"

enum {
  SCRATCH_KEPT = 1 << 20,    /* bytes of a decoded text's block that stays for the next */
  MEMO_FROM = 512            /* misses before there is a memo: short texts do without */
};

struct Tokenizer {
  Memory memory;
  Vocab *vocab;
  RegexCut *regex;           /* PIECES_REGEX only */
  Bpe bpe;
  Buffer plain;              /* an escaped text, decoded */
  Memo *memo;                /* NULL: not yet */
  uint32_t missed;           /* up to MEMO_FROM */
  Waiting waiting;           /* while a text is counted */
};

static Status open_regex(Tokenizer *t) {
  RegexCutError error;
  if (vocab_pattern(t->vocab) != PIECES_REGEX) return STATUS_OK;
  return regex_cut_new(&t->memory, vocab_regex(t->vocab), &t->regex, &error);
}

Status tokenizer_new(const Memory *memory, Vocab *vocab, Tokenizer **tokenizer) {
  Tokenizer *t = memory_new(memory, sizeof *t);
  if (t == NULL) return STATUS_MEMORY;
  memset(t, 0, offsetof(Tokenizer, waiting));
  waiting_init(&t->waiting);
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

static uint32_t list_ends(Run *run, Batch *batch) {
  uint32_t count = run->left < PIECE_BATCH ? (uint32_t)run->left : PIECE_BATCH;
  for (uint32_t i = 0; i < count; i++) {
    batch->starts[i] = run->pieces.at;
    run->pieces.at = batch->ends[i] = run->ends[i];
  }
  run->ends += count;
  run->left -= count;
  return count;
}

/* False at the end of the text. */
static bool next_batch(Run *run, Batch *batch) {
  batch->from = run->pieces.at;
  if (batch->from == run->size) return false;
  batch->count = run->ends != NULL ? list_ends(run, batch) : pieces_next(&run->pieces, batch->starts, batch->ends);
  return true;
}

static void end_run(Tokenizer *t) {
  if (t->plain.capacity > SCRATCH_KEPT) buffer_free(&t->plain);
  bpe_shrink(&t->bpe);
}

/* ---- counting ---- */

static void open_memo(Tokenizer *t, uint32_t missed) {
  t->missed += missed;
  if (t->memo != NULL || t->missed < MEMO_FROM) return;
  t->memo = memo_new(&t->memory);
  t->missed = 0;             /* no memory for it now: later, perhaps */
}

static WaitingTools tools_of(Tokenizer *t) { return (WaitingTools){t->vocab, t->memo, &t->bpe}; }

static Status count_batch(Tokenizer *t, const Run *run, Batch *batch, uint64_t *tokens) {
  if (t->memo != NULL) batch_recall(t->memo, run, batch, tokens);
  else batch_all_unknown(batch);
  batch_probe(t->vocab, run, batch, t->memo, false);
  *tokens += run->pieces.singles + batch->unknown - batch->missed;
  open_memo(t, batch->missed);
  WaitingTools tools = tools_of(t);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < batch->missed && status == STATUS_OK; i++) {
    Piece piece = piece_at(run, batch, batch->by_miss[i]);
    status = waiting_add(&t->waiting, &tools, piece.at, piece.size, tokens);
  }
  return status;
}

Status tokenizer_count_up_to(Tokenizer *t, Text text, uint64_t limit, uint64_t *tokens) {
  Run run;
  Batch batch;
  uint64_t counted = 0;
  Status status = start_run(t, text, &run);
  while (status == STATUS_OK && counted + t->waiting.pieces <= limit &&   /* a piece has a token at least */
         next_batch(&run, &batch)) {
    status = count_batch(t, &run, &batch, &counted);
  }
  WaitingTools tools = tools_of(t);
  waiting_end(&t->waiting, &tools, &counted);
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

/* The bytes from `from` to `end` of the text, one by one: their numbers are what they are. */
static Status add_singles(const Vocab *v, const Run *run, size_t from, size_t end, Buffer *ids) {
  Status status = STATUS_OK;
  for (size_t at = from; at < end && status == STATUS_OK; at++) {
    status = add_number(v, (unsigned char)run->bytes[at], ids);
  }
  return status;
}

static Status encode_piece(Tokenizer *t, const char *bytes, size_t size, uint32_t number, Buffer *ids) {
  size_t count = 0;
  if (number != NUMBER_NONE) return add_number(t->vocab, number, ids);
  Status status = bpe_merge(&t->bpe, t->vocab, bytes, size, &count);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) status = add_number(t->vocab, t->bpe.tokens[i], ids);
  return status;
}

static Status encode_batch(Tokenizer *t, const Run *run, Batch *batch, Buffer *ids) {
  const Vocab *v = t->vocab;
  batch_all_unknown(batch);
  batch_probe(v, run, batch, NULL, true);
  size_t at = batch->from;
  for (uint32_t i = 0; i < batch->count; i++) {
    size_t start = batch->starts[i], end = batch->ends[i];
    Status status = add_singles(v, run, at, start, ids);
    if (status == STATUS_OK) status = encode_piece(t, run->bytes + start, end - start, batch->numbers[i], ids);
    if (status != STATUS_OK) return status;
    at = end;
  }
  return add_singles(v, run, at, run->pieces.at, ids);
}

Status tokenizer_encode(Tokenizer *t, Text text, Buffer *ids) {
  Run run;
  Batch batch;
  size_t before = ids->size;
  Status status = start_run(t, text, &run);
  while (status == STATUS_OK && next_batch(&run, &batch)) status = encode_batch(t, &run, &batch, ids);
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
