#include "tokens/merge/merge_queue.h"

#include <assert.h>

#include "tokens/merge/merge_in_order.h"

void merge_queue_init(MergeQueue *queue) {
  queue->pushes = queue->pops = 0;   /* leaves the rest: short texts never touch those pages */
  queue->occurrences = 0;
  memset(queue->recents, 0, sizeof queue->recents);
  for (int i = 0; i < LOCKSTEP_WIDTHS; i++) queue->groups[i].used = 0;
}

/* ---- recent pretokens ---- */

static inline uint32_t recent_place(const char *at, size_t size) {
  uint64_t first = count_cache_bytes(load_word(at), size < 8 ? size : 8);
  uint64_t last = size < 8 ? 0 : load_word(at + size - 8);
  return (uint32_t)count_cache_top(first + (last ^ size) * 0x9FB21C651E98DF25u, MERGE_QUEUE_RECENT_BITS);
}

/* Counts a pretoken if it is among the recent ones. */
static bool count_again(MergeQueue *queue, const char *at, size_t size, uint32_t place, uint64_t *tokens) {
  const MergeQueueRecent *recent = &queue->recents[place];
  if (recent->size != size || memcmp(recent->at, at, size) != 0) return false;
  if (recent->tokens > 0) {
    *tokens += recent->tokens;
  } else {
    uint32_t *times = recent->width == MERGE_QUEUE_RING ? &queue->ring[recent->row].times
                                                    : &queue->groups[recent->width].times[recent->row];
    ++*times;
    queue->occurrences++;
  }
  return true;
}

/* ---- long pretokens ---- */

/* Counts a pretoken if the cache has it among the larges. */
static bool recall_large(const MergeQueueTools *tools, const char *at, size_t size, uint64_t *tokens) {
  if (tools->cache == NULL || size <= CACHE_LINE_BYTES || size > CACHE_LARGE_BYTES) return false;
  const CacheLarge *slot = count_cache_large(tools->cache, at, size);
  if (!count_cache_is_large(slot, at, size)) return false;
  *tokens += slot->tokens;
  return true;
}

static Status count_alone(const MergeQueueTools *tools, const char *at, size_t size, uint64_t *tokens) {
  size_t count;
  Status status = bpe_merge(tools->bpe, tools->vocab, at, size, &count);
  if (status != STATUS_OK) return status;
  *tokens += count;
  if (tools->cache != NULL) count_cache_put(tools->cache, at, size, (uint32_t)count);
  return STATUS_OK;
}

/* ---- groups ---- */

static uint32_t *row_of(MergeQueue *queue, unsigned width, uint32_t row) {
  uint32_t *rows = queue->rows;
  for (unsigned i = 0; i < width; i++) rows += LOCKSTEP_ROWS * lockstep_row_words(i);
  return rows + row * lockstep_row_words(width);
}

static void merge_group(MergeQueue *queue, const MergeQueueTools *tools, unsigned width, uint64_t *tokens) {
  MergeQueueGroup *group = &queue->groups[width];
  assert(width < LOCKSTEP_WIDTHS && group->used <= LOCKSTEP_ROWS);
  lockstep_merge(row_of(queue, width, 0), group->used, tools->vocab, width);
  for (uint32_t i = 0; i < group->used; i++) {
    uint32_t count = lockstep_count(row_of(queue, width, i), width);
    MergeQueueRecent *recent = &queue->recents[group->recents[i]];
    assert(count > 0 && count <= group->sizes[i]);
    *tokens += (uint64_t)count * group->times[i];
    queue->occurrences -= group->times[i];
    if (recent->at == group->at[i]) recent->tokens = (uint8_t)count;
    if (tools->cache != NULL) count_cache_put(tools->cache, group->at[i], group->sizes[i], count);
  }
  group->used = 0;
}

/* Moves a premerged pretoken to its group, and merges the group if it is full. */
static void join_group(MergeQueue *queue, const MergeQueueTools *tools, const MergeQueuePremerge *entry,
                       uint64_t *tokens) {
  unsigned width = lockstep_width(&entry->parts);
  MergeQueueGroup *group = &queue->groups[width];
  uint32_t row = group->used++;
  uint8_t size = (uint8_t)entry->parts.size;
  group->at[row] = entry->at;
  group->sizes[row] = size;
  group->times[row] = entry->times;
  group->recents[row] = (uint16_t)entry->recent;
  queue->recents[entry->recent] = (MergeQueueRecent){entry->at, size, 0, (uint8_t)width, (uint8_t)row};
  lockstep_fill(row_of(queue, width, row), tools->vocab, &entry->parts, width);
  if (group->used == LOCKSTEP_ROWS) merge_group(queue, tools, width, tokens);
}

/* ---- the ring ---- */

/* Counts a pretoken of two parts: they do not merge, because the whole is not a token. */
static void count_two(MergeQueue *queue, const MergeQueueTools *tools, const MergeQueuePremerge *entry,
                      uint64_t *tokens) {
  *tokens += 2 * (uint64_t)entry->times;
  queue->occurrences -= entry->times;
  queue->recents[entry->recent] = (MergeQueueRecent){entry->at, (uint8_t)entry->parts.size, 2, 0, 0};
  if (tools->cache != NULL) count_cache_put(tools->cache, entry->at, entry->parts.size, 2);
}

/* Ends the premerging of the oldest pretoken of the ring. */
static void pop_oldest(MergeQueue *queue, const MergeQueueTools *tools, uint64_t *tokens) {
  assert(queue->pops < queue->pushes);
  MergeQueuePremerge *entry = &queue->ring[queue->pops++ % MERGE_QUEUE_PREMERGES];
  premerge_end(&entry->parts, tools->vocab);
  if (entry->parts.count == 2) count_two(queue, tools, entry, tokens);
  else join_group(queue, tools, entry, tokens);
}

Status merge_queue_add(MergeQueue *queue, const MergeQueueTools *tools, const char *at, size_t size, uint64_t *tokens) {
  if (size > PREMERGE_BYTES) return count_alone(tools, at, size, tokens);
  uint32_t place = recent_place(at, size);
  if (count_again(queue, at, size, place, tokens) || recall_large(tools, at, size, tokens)) return STATUS_OK;
  if (merge_may_be_late(tools->vocab, at, size)) return count_alone(tools, at, size, tokens);
  if (queue->pushes - queue->pops == MERGE_QUEUE_PREMERGES) pop_oldest(queue, tools, tokens);
  uint32_t row = queue->pushes++ % MERGE_QUEUE_PREMERGES;
  MergeQueuePremerge *entry = &queue->ring[row];
  entry->at = at;
  entry->recent = place;
  entry->times = 1;
  queue->recents[place] = (MergeQueueRecent){at, (uint8_t)size, 0, MERGE_QUEUE_RING, (uint8_t)row};
  queue->occurrences++;
  premerge_begin(&entry->parts, tools->vocab, at, size);
  return STATUS_OK;
}

void merge_queue_end(MergeQueue *queue, const MergeQueueTools *tools, uint64_t *tokens) {
  if (queue->pushes == 0) return;
  while (queue->pops < queue->pushes) pop_oldest(queue, tools, tokens);
  for (unsigned width = 0; width < LOCKSTEP_WIDTHS; width++) merge_group(queue, tools, width, tokens);
  assert(queue->occurrences == 0);
  merge_queue_init(queue);
}
