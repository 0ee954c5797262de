#include "tokens/merge/pretoken_batch.h"

/* Unknown pretokens, by the table of the vocabulary that may have them. */
typedef struct Sizes {
  uint32_t shorts, middles, longs;
  uint16_t of_short[PRETOKEN_BATCH], of_middle[PRETOKEN_BATCH], of_long[PRETOKEN_BATCH];
} Sizes;

/* The arguments of a probe. */
typedef struct Probe {
  const Vocab *v;
  const TextRun *run;
  PretokenBatch *batch;
  CountCache *cache;                /* NULL: none */
  bool keep;                 /* store numbers in the batch */
} Probe;

static void sort_by_size(const PretokenBatch *batch, Sizes *sizes) {
  sizes->shorts = sizes->middles = sizes->longs = 0;
  for (uint32_t i = 0; i < batch->unknown; i++) {
    uint16_t place = batch->by_unknown[i];
    assert(place < batch->count);
    size_t size = batch->ends[place] - batch->starts[place];
    sizes->of_short[sizes->shorts] = sizes->of_middle[sizes->middles] = sizes->of_long[sizes->longs] = place;
    sizes->shorts += size <= 8;
    sizes->middles += size > 8 && size <= 16;
    sizes->longs += size > 16;
  }
}

static inline void record_result(const Probe *p, uint32_t place, bool hit, const uint32_t *number) {
  if (p->keep) p->batch->numbers[place] = hit ? *number : NUMBER_NONE;
  p->batch->by_miss[p->batch->missed] = (uint16_t)place;
  p->batch->missed += !hit;
  if (p->cache == NULL || !hit) return;
  Pretoken pretoken = pretoken_at(p->run, p->batch, place);
  count_cache_put(p->cache, pretoken.at, pretoken.size, 1);
}

/* Looks up short pretokens; moves those without an unambiguous short key to the long ones. */
static inline void probe_shorts(const Probe *p, Sizes *sizes) {
  uint64_t keys[PRETOKEN_BATCH];
  uint32_t slots[PRETOKEN_BATCH], count = 0;
  for (uint32_t i = 0; i < sizes->shorts; i++) {
    uint16_t place = sizes->of_short[i];
    Pretoken pretoken = pretoken_at(p->run, p->batch, place);
    keys[count] = short_key(pretoken.at, pretoken.size);
    slots[count] = vocab_short_slot(p->v, keys[count]);
    __builtin_prefetch(&p->v->short_keys[slots[count]]);
    sizes->of_short[count] = place;
    if (short_key_unfit(keys[count], pretoken.size)) sizes->of_long[sizes->longs++] = place;
    else count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool hit = p->v->short_keys[slots[i]] == keys[i];
    record_result(p, sizes->of_short[i], hit, &p->v->short_numbers[slots[i]]);
  }
}

static inline void probe_middles(const Probe *p, Sizes *sizes) {
  uint64_t keys[PRETOKEN_BATCH][2];
  uint32_t slots[PRETOKEN_BATCH], count = 0;
  for (uint32_t i = 0; i < sizes->middles; i++) {
    uint16_t place = sizes->of_middle[i];
    Pretoken pretoken = pretoken_at(p->run, p->batch, place);
    keys[count][0] = load_word(pretoken.at);
    keys[count][1] = short_key(pretoken.at + 8, pretoken.size - 8);
    slots[count] = vocab_middle_slot(p->v, keys[count][0], keys[count][1]);
    __builtin_prefetch(&p->v->middle_keys[(size_t)slots[count] * 2]);
    sizes->of_middle[count] = place;
    if (short_key_unfit(keys[count][1], pretoken.size - 8)) sizes->of_long[sizes->longs++] = place;
    else count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool hit = vocab_is_middle(p->v, slots[i], keys[i][0], keys[i][1]);
    record_result(p, sizes->of_middle[i], hit, &p->v->middle_numbers[slots[i]]);
  }
}

void vocab_probe(const Vocab *vocab, const TextRun *run, PretokenBatch *batch, CountCache *cache, bool keep) {
  Probe probe = {vocab, run, batch, cache, keep};
  Sizes sizes;
  assert(batch->unknown <= batch->count && batch->count <= PRETOKEN_BATCH);
  sort_by_size(batch, &sizes);
  batch->missed = 0;
  probe_shorts(&probe, &sizes);
  probe_middles(&probe, &sizes);
  for (uint32_t i = 0; i < sizes.longs; i++) {
    uint32_t place = sizes.of_long[i];
    Pretoken pretoken = pretoken_at(run, batch, place);
    uint32_t number = vocab_find_long(vocab, pretoken.at, pretoken.size);
    record_result(&probe, place, number != NUMBER_NONE, &number);
  }
  assert(batch->missed <= batch->unknown);
}
