#include "tokens/merge_queue.h"

void merge_queue_init(MergeQueue *w) {
  w->begun = w->ended = 0;   /* not the rest: pages that short texts never touch */
  w->pretokens = 0;
  memset(w->recents, 0, sizeof w->recents);
  for (int i = 0; i < LOCKSTEP_WIDTHS; i++) w->groups[i].used = 0;
}

/* ---- pretokens that came up before ---- */

static inline uint32_t recent_place(const char *at, size_t size) {
  uint64_t first = count_cache_bytes(load_word(at), size < 8 ? size : 8);
  uint64_t last = size < 8 ? 0 : load_word(at + size - 8);
  return (uint32_t)count_cache_top(first + (last ^ size) * 0x9FB21C651E98DF25u, MERGE_QUEUE_RECENT_BITS);
}

static bool count_again(MergeQueue *w, const char *at, size_t size, uint32_t place, uint64_t *tokens) {
  const MergeQueueRecent *recent = &w->recents[place];
  if (recent->size != size || memcmp(recent->at, at, size) != 0) return false;
  if (recent->tokens > 0) {
    *tokens += recent->tokens;
  } else {
    uint32_t *times = recent->width == MERGE_QUEUE_RING ? &w->ring[recent->row].times
                                                    : &w->groups[recent->width].times[recent->row];
    ++*times;
    w->pretokens++;
  }
  return true;
}

/* ---- pretokens that are merged alone, or seldom ---- */

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

static uint32_t *row_of(MergeQueue *w, unsigned width, uint32_t row) {
  uint32_t *rows = w->rows;
  for (unsigned i = 0; i < width; i++) rows += LOCKSTEP_ROWS * lockstep_row_words(i);
  return rows + row * lockstep_row_words(width);
}

static void merge_group(MergeQueue *w, const MergeQueueTools *tools, unsigned width, uint64_t *tokens) {
  MergeQueueGroup *group = &w->groups[width];
  lockstep_merge(row_of(w, width, 0), group->used, tools->vocab, width);
  for (uint32_t i = 0; i < group->used; i++) {
    uint32_t count = lockstep_count(row_of(w, width, i), width);
    MergeQueueRecent *recent = &w->recents[group->recents[i]];
    *tokens += (uint64_t)count * group->times[i];
    w->pretokens -= group->times[i];
    if (recent->at == group->at[i]) recent->tokens = (uint8_t)count;
    if (tools->cache != NULL) count_cache_put(tools->cache, group->at[i], group->sizes[i], count);
  }
  group->used = 0;
}

static void join_group(MergeQueue *w, const MergeQueueTools *tools, const MergeQueuePremerge *begun, uint64_t *tokens) {
  unsigned width = lockstep_width(&begun->parts);
  MergeQueueGroup *group = &w->groups[width];
  uint32_t row = group->used++;
  uint8_t size = (uint8_t)begun->parts.size;
  group->at[row] = begun->at;
  group->sizes[row] = size;
  group->times[row] = begun->times;
  group->recents[row] = (uint16_t)begun->recent;
  w->recents[begun->recent] = (MergeQueueRecent){begun->at, size, 0, (uint8_t)width, (uint8_t)row};
  lockstep_fill(row_of(w, width, row), tools->vocab, &begun->parts, width);
  if (group->used == LOCKSTEP_ROWS) merge_group(w, tools, width, tokens);
}

/* ---- the way through ---- */

/* Two parts would merge into the whole pretoken, which is no token. */
static void settle_two(MergeQueue *w, const MergeQueueTools *tools, const MergeQueuePremerge *begun, uint64_t *tokens) {
  *tokens += 2 * (uint64_t)begun->times;
  w->pretokens -= begun->times;
  w->recents[begun->recent] = (MergeQueueRecent){begun->at, (uint8_t)begun->parts.size, 2, 0, 0};
  if (tools->cache != NULL) count_cache_put(tools->cache, begun->at, begun->parts.size, 2);
}

static void end_oldest(MergeQueue *w, const MergeQueueTools *tools, uint64_t *tokens) {
  MergeQueuePremerge *begun = &w->ring[w->ended++ % MERGE_QUEUE_PREMERGES];
  premerge_end(&begun->parts, tools->vocab);
  if (begun->parts.count == 2) settle_two(w, tools, begun, tokens);
  else join_group(w, tools, begun, tokens);
}

Status merge_queue_add(MergeQueue *w, const MergeQueueTools *tools, const char *at, size_t size, uint64_t *tokens) {
  if (size > PREMERGE_BYTES) return count_alone(tools, at, size, tokens);
  uint32_t place = recent_place(at, size);
  if (count_again(w, at, size, place, tokens) || recall_large(tools, at, size, tokens)) return STATUS_OK;
  if (w->begun - w->ended == MERGE_QUEUE_PREMERGES) end_oldest(w, tools, tokens);
  uint32_t row = w->begun++ % MERGE_QUEUE_PREMERGES;
  MergeQueuePremerge *begun = &w->ring[row];
  begun->at = at;
  begun->recent = place;
  begun->times = 1;
  w->recents[place] = (MergeQueueRecent){at, (uint8_t)size, 0, MERGE_QUEUE_RING, (uint8_t)row};
  w->pretokens++;
  premerge_begin(&begun->parts, tools->vocab, at, size);
  return STATUS_OK;
}

void merge_queue_end(MergeQueue *w, const MergeQueueTools *tools, uint64_t *tokens) {
  if (w->begun == 0) return;
  while (w->ended < w->begun) end_oldest(w, tools, tokens);
  for (unsigned width = 0; width < LOCKSTEP_WIDTHS; width++) merge_group(w, tools, width, tokens);
  merge_queue_init(w);
}
