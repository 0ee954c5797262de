/*
** Counting takes the pretokens of a text batch by batch:
**
**     pretokens   "The" " lazy" " dog" " misunderestimated" "." ...
**       | the cache has the counts of earlier ones (count_cache.h, cache_probe.c)
**       v
**     unknown     " dog" " misunderestimated"
**       | the vocabulary is probed by size, each list without branches (vocab_probe.c)
**       v
**     missed      " misunderestimated"
**       | waits in a group to be merged with others (merge_queue.h)
**       v
**     merged      3
**
** Encoding probes the vocabulary for all, stores the numbers by place, and merges missed
** pretokens one by one.
*/
#include "tokens/tokenizer.h"

#include <assert.h>
#include <string.h>

#include "tokens/pretoken_batch.h"
#include "tokens/regex_cut.h"
#include "tokens/vocab_image.h"
#include "tokens/merge_queue.h"

enum {
  SCRATCH_KEPT = 1 << 20,    /* the largest block, in bytes, that stays for the next decoded text */
  CACHE_FROM = 512           /* misses before the cache is created: short texts need none */
};

struct Tokenizer {
  Memory memory;
  Vocab *vocab;
  RegexCut *regex;           /* PRETOKEN_REGEX only */
  Bpe bpe;
  Buffer plain;              /* the decoded form of an escaped text */
  CountCache *cache;                /* NULL: not yet */
  uint32_t missed;           /* misses without a cache, up to CACHE_FROM */
  MergeQueue queue;          /* empty between texts */
};

static Status open_regex(Tokenizer *t) {
  RegexCutError error;
  if (vocab_pattern(t->vocab) != PRETOKEN_REGEX) return STATUS_OK;
  return regex_cut_new(&t->memory, vocab_regex(t->vocab), &t->regex, &error);
}

Status tokenizer_new(const Memory *memory, Vocab *vocab, Tokenizer **tokenizer) {
  Tokenizer *t = memory_new(memory, sizeof *t);
  if (t == NULL) return STATUS_MEMORY;
  memset(t, 0, offsetof(Tokenizer, queue));
  merge_queue_init(&t->queue);
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
  count_cache_free(&memory, t->cache);
  memory_free(&memory, t, sizeof *t);
}

const Vocab *tokenizer_vocab(const Tokenizer *tokenizer) { return tokenizer->vocab; }

/* ---- a text and its pretokens ---- */

static Status start_run(Tokenizer *t, Text text, TextRun *run) {
  *run = (TextRun){.bytes = text.bytes, .size = text.size};
  if (text.escaped) {
    buffer_reset(&t->plain);
    Status status = text_decode(text, &t->plain);
    if (status != STATUS_OK) return status;
    run->bytes = t->plain.bytes;
    run->size = t->plain.size;
  }
  run->safe = run->size < KEY_READS ? 0 : run->size - KEY_READS + 1;
  assert(run->size - run->safe < sizeof run->tail);
  if (run->size > 0) memcpy(run->tail, run->bytes + run->safe, run->size - run->safe);
  if (t->regex != NULL) return regex_cut_text(t->regex, run->bytes, run->size, &run->ends, &run->left);
  run->scanner = pretoken_start(vocab_pattern(t->vocab), run->bytes, run->size);
  return STATUS_OK;
}

static uint32_t list_ends(TextRun *run, PretokenBatch *batch) {
  uint32_t count = run->left < PRETOKEN_BATCH ? (uint32_t)run->left : PRETOKEN_BATCH;
  for (uint32_t i = 0; i < count; i++) {
    batch->starts[i] = run->scanner.at;
    run->scanner.at = batch->ends[i] = run->ends[i];
  }
  run->ends += count;
  run->left -= count;
  return count;
}

/* Cuts the next batch; false at the end of the text. */
static bool next_batch(TextRun *run, PretokenBatch *batch) {
  batch->from = run->scanner.at;
  if (batch->from == run->size) return false;
  batch->count = run->ends != NULL ? list_ends(run, batch) : pretoken_next(&run->scanner, batch->starts, batch->ends);
  return true;
}

static void end_run(Tokenizer *t) {
  if (t->plain.capacity > SCRATCH_KEPT) buffer_free(&t->plain);
  bpe_shrink(&t->bpe);
}

/* ---- counting ---- */

static void open_cache(Tokenizer *t, uint32_t missed) {
  t->missed += missed;
  if (t->cache != NULL || t->missed < CACHE_FROM) return;
  t->cache = count_cache_new(&t->memory);
  t->missed = 0;             /* if memory ran out, the next attempt comes later */
}

static MergeQueueTools tools_of(Tokenizer *t) { return (MergeQueueTools){t->vocab, t->cache, &t->bpe}; }

static Status count_batch(Tokenizer *t, const TextRun *run, PretokenBatch *batch, uint64_t *tokens) {
  if (t->cache != NULL) count_cache_probe(t->cache, run, batch, tokens);
  else pretoken_batch_all_unknown(batch);
  vocab_probe(t->vocab, run, batch, t->cache, false);
  assert(batch->missed <= batch->unknown);
  *tokens += run->scanner.singles + batch->unknown - batch->missed;
  open_cache(t, batch->missed);
  MergeQueueTools tools = tools_of(t);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < batch->missed && status == STATUS_OK; i++) {
    Pretoken pretoken = pretoken_at(run, batch, batch->by_miss[i]);
    status = merge_queue_add(&t->queue, &tools, pretoken.at, pretoken.size, tokens);
  }
  return status;
}

Status tokenizer_count_up_to(Tokenizer *t, Text text, uint64_t limit, uint64_t *tokens) {
  TextRun run;
  PretokenBatch batch;
  uint64_t counted = 0;
  Status status = start_run(t, text, &run);
  while (status == STATUS_OK && counted + t->queue.occurrences <= limit &&   /* a pretoken has at least one token */
         next_batch(&run, &batch)) {
    status = count_batch(t, &run, &batch, &counted);
  }
  MergeQueueTools tools = tools_of(t);
  merge_queue_end(&t->queue, &tools, &counted);
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

/* Adds the bytes from `from` to `end` of the text; the number of a byte is its value. */
static Status add_singles(const Vocab *v, const TextRun *run, size_t from, size_t end, Buffer *ids) {
  Status status = STATUS_OK;
  for (size_t at = from; at < end && status == STATUS_OK; at++) {
    status = add_number(v, (unsigned char)run->bytes[at], ids);
  }
  return status;
}

static Status encode_pretoken(Tokenizer *t, const char *bytes, size_t size, uint32_t number, Buffer *ids) {
  size_t count = 0;
  if (number != NUMBER_NONE) return add_number(t->vocab, number, ids);
  Status status = bpe_merge(&t->bpe, t->vocab, bytes, size, &count);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) status = add_number(t->vocab, t->bpe.tokens[i], ids);
  return status;
}

static Status encode_batch(Tokenizer *t, const TextRun *run, PretokenBatch *batch, Buffer *ids) {
  const Vocab *v = t->vocab;
  pretoken_batch_all_unknown(batch);
  vocab_probe(v, run, batch, NULL, true);
  size_t at = batch->from;
  for (uint32_t i = 0; i < batch->count; i++) {
    size_t start = batch->starts[i], end = batch->ends[i];
    assert(at <= start && start < end);
    Status status = add_singles(v, run, at, start, ids);
    if (status == STATUS_OK) status = encode_pretoken(t, run->bytes + start, end - start, batch->numbers[i], ids);
    if (status != STATUS_OK) return status;
    at = end;
  }
  return add_singles(v, run, at, run->scanner.at, ids);
}

Status tokenizer_encode(Tokenizer *t, Text text, Buffer *ids) {
  TextRun run;
  PretokenBatch batch;
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
