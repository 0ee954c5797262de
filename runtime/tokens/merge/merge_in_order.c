#include "tokens/merge/merge_in_order.h"

#include <assert.h>

/* A part of the pretoken, in a list. */
typedef struct Part {
  uint32_t number;           /* NUMBER_NONE: it was merged into its left neighbour */
  uint32_t merged;           /* what it and the next part merge into, or NUMBER_NONE */
  uint32_t before, next;     /* `count` of the parts: none */
} Part;

/* A heap of pairs, the one to merge next on top: its order, and below it the place of its left part. A pair that has
   changed since stays, and is skipped when it is on top. */
typedef struct PairHeap {
  uint64_t *pairs;
  size_t count;
} PairHeap;

static uint64_t pair_of(const Vocab *v, const Part *parts, uint32_t place) {
  return (uint64_t)v->orders[parts[place].merged] << 32 | place;
}

/* ---- the heap ---- */

static void push(PairHeap *heap, uint64_t pair) {
  size_t at = heap->count++;
  while (at > 0 && heap->pairs[(at - 1) / 2] > pair) {
    heap->pairs[at] = heap->pairs[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->pairs[at] = pair;
}

/* Moves a pair down from `at` to its place. */
static void sink_pair(PairHeap *heap, size_t at, uint64_t pair) {
  for (size_t kid; (kid = 2 * at + 1) < heap->count; at = kid) {
    kid += kid + 1 < heap->count && heap->pairs[kid + 1] < heap->pairs[kid];
    if (heap->pairs[kid] >= pair) break;
    heap->pairs[at] = heap->pairs[kid];
  }
  heap->pairs[at] = pair;
}

static uint64_t pop(PairHeap *heap) {
  assert(heap->count > 0);
  uint64_t top = heap->pairs[0], last = heap->pairs[--heap->count];
  if (heap->count > 0) sink_pair(heap, 0, last);
  return top;
}

/* ---- merging ---- */

/* What two tokens merge into; NUMBER_NONE, in a damaged image too, for what has no order. */
static uint32_t merged_of(const Vocab *v, uint32_t left, uint32_t right) {
  uint32_t merged = vocab_pair(v, left, right);
  return merged < v->merged_count ? merged : NUMBER_NONE;
}

static void start(const Vocab *v, const unsigned char *bytes, uint32_t count, Part *parts, PairHeap *heap) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t merged = i + 1 < count ? vocab_byte_pair(v, bytes[i], bytes[i + 1]).merged : NUMBER_NONE;
    if (merged >= v->merged_count) merged = NUMBER_NONE;
    parts[i] = (Part){.number = bytes[i], .merged = merged, .before = i > 0 ? i - 1 : count, .next = i + 1};
    if (merged != NUMBER_NONE) heap->pairs[heap->count++] = pair_of(v, parts, i);
  }
  for (size_t i = heap->count / 2; i-- > 0;) sink_pair(heap, i, heap->pairs[i]);
}

/* Looks up the pair of a part and the next one. */
static void look_up(const Vocab *v, Part *parts, uint32_t place, uint32_t count, PairHeap *heap) {
  Part *part = &parts[place];
  part->merged = part->next < count ? merged_of(v, part->number, parts[part->next].number) : NUMBER_NONE;
  if (part->merged != NUMBER_NONE) push(heap, pair_of(v, parts, place));
}

static void merge_all(const Vocab *v, Part *parts, uint32_t count, PairHeap *heap) {
  while (heap->count > 0) {
    uint64_t pair = pop(heap);
    uint32_t place = (uint32_t)pair;
    Part *part = &parts[place];
    if (part->number == NUMBER_NONE || part->merged == NUMBER_NONE || pair_of(v, parts, place) != pair) continue;
    Part *right = &parts[part->next];
    assert(right->before == place && right->number != NUMBER_NONE);
    part->number = part->merged;
    part->next = right->next;
    right->number = NUMBER_NONE;
    if (part->next < count) parts[part->next].before = place;
    look_up(v, parts, place, count, heap);
    if (part->before < count) look_up(v, parts, part->before, count, heap);
  }
}

static size_t write_tokens(const Part *parts, uint32_t count, uint32_t *tokens) {
  size_t used = 0;
  for (uint32_t i = 0; i < count; i = parts[i].next) tokens[used++] = parts[i].number;
  assert(used > 0 && used <= count);
  return used;
}

enum { FEW = 128 };          /* bytes that need no allocation */

Status merge_in_order(const Memory *memory, const Vocab *v, const char *bytes, size_t size, uint32_t *tokens,
                      size_t *count) {
  Part few_parts[FEW], *parts = few_parts;
  uint64_t few_pairs[2 * FEW];                 /* a merge takes one pair from the heap, and adds two at most */
  PairHeap heap = {.pairs = few_pairs};
  assert(size > 0 && v->orders != NULL);
  if (size > UINT32_MAX / 2) return STATUS_MEMORY;     /* scratch of 64 GiB */
  if (size > FEW) {
    parts = memory_new_array(memory, size, sizeof *parts);
    heap.pairs = memory_new_array(memory, size, 2 * sizeof *heap.pairs);
  }
  bool has_room = parts != NULL && heap.pairs != NULL;
  if (has_room) {
    start(v, (const unsigned char *)bytes, (uint32_t)size, parts, &heap);
    merge_all(v, parts, (uint32_t)size, &heap);
    *count = write_tokens(parts, (uint32_t)size, tokens);
  }
  if (size > FEW) {
    memory_free(memory, parts, size * sizeof *parts);
    memory_free(memory, heap.pairs, size * 2 * sizeof *heap.pairs);
  }
  return has_room ? STATUS_OK : STATUS_MEMORY;
}
