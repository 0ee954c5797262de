/*
** A text is one run, mostly. Only the texts of some vocabularies are several: those with
** atoms, which are tokens between the runs, and each run is brought to the vocabulary's
** form by itself (text_form.h).
**
** Counting takes the pretokens of a run batch by batch:
**
**     pretokens   "The" " lazy" " dog" " misunderestimated" "." ...
**       | the cache has the counts of earlier ones (count_cache.h)
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

#include "tokens/merge/border_cut.h"
#include "tokens/merge/merge_queue.h"
#include "tokens/merge/pretoken_batch.h"
#include "tokens/pretoken/regex_cut.h"
#include "tokens/pretoken/text_form.h"
#include "tokens/vocab/vocab_image.h"

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
  Buffer formed;             /* a run in the vocabulary's form */
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
  buffer_init(&t->formed, *memory);
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
  buffer_free(&t->formed);
  count_cache_free(&memory, t->cache);
  memory_free(&memory, t, sizeof *t);
}

const Vocab *tokenizer_vocab(const Tokenizer *tokenizer) { return tokenizer->vocab; }

/* ---- a text and its runs ---- */

/* A text during counting or encoding: from `at` on it is still to be divided. */
typedef struct Runs {
  const char *at, *end;
  bool single;               /* the whole text is one run */
} Runs;

/* A run, or an atom between two runs. */
typedef struct Run {
  const char *bytes;         /* a run in the vocabulary's form; NULL: an atom */
  size_t size;
  uint32_t number;           /* of an atom's token */
} Run;

/* True if the whole text can be one run. Cutting at borders recognizes atoms itself, but for those with U+2581, which
   have another form than the text around them. */
static bool is_single_run(const Vocab *v, const char *bytes, size_t size) {
  if (size == 0) return true;
  if (!text_form_has(v->header->forms, bytes, size)) return false;
  return v->cuts != NULL || vocab_atom_next(v, bytes, bytes + size) == bytes + size;
}

static Status start_text(Tokenizer *t, Text text, Runs *runs) {
  const char *bytes = text.bytes;
  size_t size = text.size;
  if (text.escaped) {
    buffer_reset(&t->plain);
    Status status = text_decode(text, &t->plain);
    if (status != STATUS_OK) return status;
    bytes = t->plain.bytes;
    size = t->plain.size;
  }
  *runs = (Runs){.at = bytes, .end = size == 0 ? bytes : bytes + size, .single = is_single_run(t->vocab, bytes, size)};
  return STATUS_OK;
}

/* Takes the next run or atom of a text that is not at its end. */
static Status next_run(Tokenizer *t, Runs *runs, Run *run) {
  const Vocab *v = t->vocab;
  const char *start = runs->at;
  assert(start < runs->end);
  *run = (Run){.bytes = start, .size = (size_t)(runs->end - start)};
  runs->at = runs->end;
  if (runs->single) return STATUS_OK;
  size_t size = vocab_atom_at(v, start, runs->end, &run->number);
  if (size > 0) {
    *run = (Run){.number = run->number};
    runs->at = start + size;
    return STATUS_OK;
  }
  runs->at = vocab_atom_next(v, start, runs->end);
  run->size = (size_t)(runs->at - start);
  if (text_form_has(v->header->forms, start, run->size)) return STATUS_OK;
  buffer_reset(&t->formed);
  Status status = text_form_write(v->header->forms, start, run->size, &t->formed);
  run->bytes = t->formed.bytes;
  run->size = t->formed.size;
  return status;
}

/* ---- a run and its pretokens ---- */

static Status start_run(Tokenizer *t, const Runs *runs, const Run *part, TextRun *run) {
  *run = (TextRun){.bytes = part->bytes, .size = part->size, .atoms = runs->single};
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

/* Cuts the next batch; false at the end of the run. */
static bool next_batch(const Vocab *v, TextRun *run, PretokenBatch *batch) {
  batch->from = run->scanner.at;
  if (batch->from == run->size) return false;
  if (run->ends != NULL) batch->count = list_ends(run, batch);
  else if (v->cuts == NULL) batch->count = pretoken_next(&run->scanner, batch->starts, batch->ends);
  else batch->count = border_cut_next(v, &run->scanner, run->atoms, batch->starts, batch->ends);
  return true;
}

static void end_text(Tokenizer *t) {
  if (t->plain.capacity > SCRATCH_KEPT) buffer_free(&t->plain);
  if (t->formed.capacity > SCRATCH_KEPT) buffer_free(&t->formed);
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

/* Counts a run, as long as *tokens is not above the limit. */
static Status count_run(Tokenizer *t, const Runs *runs, const Run *part, uint64_t limit, uint64_t *tokens) {
  TextRun run;
  PretokenBatch batch;
  Status status = start_run(t, runs, part, &run);
  while (status == STATUS_OK && *tokens + t->queue.occurrences <= limit &&   /* a pretoken has at least one token */
         next_batch(t->vocab, &run, &batch)) {
    status = count_batch(t, &run, &batch, tokens);
  }
  MergeQueueTools tools = tools_of(t);
  merge_queue_end(&t->queue, &tools, tokens);
  return status;
}

Status tokenizer_count_up_to(Tokenizer *t, Text text, uint64_t limit, uint64_t *tokens) {
  Runs runs;
  uint64_t counted = 0;
  Status status = start_text(t, text, &runs);
  while (status == STATUS_OK && counted <= limit && runs.at < runs.end) {
    Run run;
    status = next_run(t, &runs, &run);
    if (status == STATUS_OK && run.bytes == NULL) counted++;
    else if (status == STATUS_OK) status = count_run(t, &runs, &run, limit, &counted);
  }
  end_text(t);
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

/* Adds the bytes from `from` to `end` of the run, which are atoms or tokens of one byte; the number of a byte is its
   value. */
static Status add_singles(const Vocab *v, const TextRun *run, size_t from, size_t end, Buffer *ids) {
  Status status = STATUS_OK;
  bool atoms = run->atoms && v->cuts != NULL && v->atom_starts != NULL;
  for (size_t at = from, size; at < end && status == STATUS_OK; at += size) {
    uint32_t number = (unsigned char)run->bytes[at];
    size = atoms ? vocab_atom_at(v, run->bytes + at, run->bytes + run->size, &number) : 0;
    status = add_number(v, number, ids);
    if (size == 0) size = 1;
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

static Status encode_run(Tokenizer *t, const Runs *runs, const Run *part, Buffer *ids) {
  TextRun run;
  PretokenBatch batch;
  if (part->bytes == NULL) return add_number(t->vocab, part->number, ids);
  Status status = start_run(t, runs, part, &run);
  while (status == STATUS_OK && next_batch(t->vocab, &run, &batch)) status = encode_batch(t, &run, &batch, ids);
  return status;
}

Status tokenizer_encode(Tokenizer *t, Text text, Buffer *ids) {
  Runs runs;
  size_t before = ids->size;
  Status status = start_text(t, text, &runs);
  while (status == STATUS_OK && runs.at < runs.end) {
    Run run;
    status = next_run(t, &runs, &run);
    if (status == STATUS_OK) status = encode_run(t, &runs, &run, ids);
  }
  end_text(t);
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
  bool prefixed = (v->header->forms & TEXT_PREFIX) != 0 && bytes->size > before && bytes->bytes[before] == ' ';
  if (prefixed) memmove(bytes->bytes + before, bytes->bytes + before + 1, --bytes->size - before);
  return STATUS_OK;
}
