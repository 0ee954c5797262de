#include "tokens/waiting.h"

void waiting_init(Waiting *w) {
  w->begun = w->ended = 0;   /* not the rest: pages that short texts never touch */
  w->pieces = 0;
  memset(w->recents, 0, sizeof w->recents);
  for (int i = 0; i < LANES_WIDTHS; i++) w->groups[i].used = 0;
}

/* ---- pieces that came up before ---- */

static inline uint32_t recent_place(const char *at, size_t size) {
  uint64_t first = memo_bytes(load_word(at), size < 8 ? size : 8), last = size < 8 ? 0 : load_word(at + size - 8);
  return (uint32_t)memo_top(first + (last ^ size) * 0x9FB21C651E98DF25u, WAITING_RECENT_BITS);
}

static bool count_again(Waiting *w, const char *at, size_t size, uint32_t place, uint64_t *tokens) {
  const WaitingRecent *recent = &w->recents[place];
  if (recent->size != size || memcmp(recent->at, at, size) != 0) return false;
  if (recent->tokens > 0) {
    *tokens += recent->tokens;
  } else {
    uint32_t *times = recent->width == WAITING_RING ? &w->ring[recent->row].times
                                                    : &w->groups[recent->width].times[recent->row];
    ++*times;
    w->pieces++;
  }
  return true;
}

/* ---- pieces that are merged alone, or seldom ---- */

static bool recall_large(const WaitingTools *tools, const char *at, size_t size, uint64_t *tokens) {
  if (tools->memo == NULL || size <= MEMO_LINE_BYTES || size > MEMO_LARGE_BYTES) return false;
  const MemoLarge *slot = memo_large(tools->memo, at, size);
  if (!memo_is_large(slot, at, size)) return false;
  *tokens += slot->tokens;
  return true;
}

static Status count_alone(const WaitingTools *tools, const char *at, size_t size, uint64_t *tokens) {
  size_t count;
  Status status = bpe_merge(tools->bpe, tools->vocab, at, size, &count);
  if (status != STATUS_OK) return status;
  *tokens += count;
  if (tools->memo != NULL) memo_put(tools->memo, at, size, (uint32_t)count);
  return STATUS_OK;
}

/* ---- groups ---- */

static uint32_t *row_of(Waiting *w, unsigned width, uint32_t row) {
  uint32_t *rows = w->rows;
  for (unsigned i = 0; i < width; i++) rows += LANES_ROWS * lanes_row_words(i);
  return rows + row * lanes_row_words(width);
}

static void merge_group(Waiting *w, const WaitingTools *tools, unsigned width, uint64_t *tokens) {
  WaitingGroup *group = &w->groups[width];
  lanes_merge(row_of(w, width, 0), group->used, tools->vocab, width);
  for (uint32_t i = 0; i < group->used; i++) {
    uint32_t count = lanes_count(row_of(w, width, i), width);
    WaitingRecent *recent = &w->recents[group->recents[i]];
    *tokens += (uint64_t)count * group->times[i];
    w->pieces -= group->times[i];
    if (recent->at == group->at[i]) recent->tokens = (uint8_t)count;
    if (tools->memo != NULL) memo_put(tools->memo, group->at[i], group->sizes[i], count);
  }
  group->used = 0;
}

static void join_group(Waiting *w, const WaitingTools *tools, const WaitingBegun *begun, uint64_t *tokens) {
  unsigned width = lanes_width(&begun->parts);
  WaitingGroup *group = &w->groups[width];
  uint32_t row = group->used++;
  uint8_t size = (uint8_t)begun->parts.size;
  group->at[row] = begun->at;
  group->sizes[row] = size;
  group->times[row] = begun->times;
  group->recents[row] = (uint16_t)begun->recent;
  w->recents[begun->recent] = (WaitingRecent){begun->at, size, 0, (uint8_t)width, (uint8_t)row};
  lanes_fill(row_of(w, width, row), tools->vocab, &begun->parts, width);
  if (group->used == LANES_ROWS) merge_group(w, tools, width, tokens);
}

/* ---- the way through ---- */

/* Two parts would merge into the whole piece, which is no token. */
static void settle_two(Waiting *w, const WaitingTools *tools, const WaitingBegun *begun, uint64_t *tokens) {
  *tokens += 2 * (uint64_t)begun->times;
  w->pieces -= begun->times;
  w->recents[begun->recent] = (WaitingRecent){begun->at, (uint8_t)begun->parts.size, 2, 0, 0};
  if (tools->memo != NULL) memo_put(tools->memo, begun->at, begun->parts.size, 2);
}

static void end_oldest(Waiting *w, const WaitingTools *tools, uint64_t *tokens) {
  WaitingBegun *begun = &w->ring[w->ended++ % WAITING_BEGUN];
  parts_end(&begun->parts, tools->vocab);
  if (begun->parts.count == 2) settle_two(w, tools, begun, tokens);
  else join_group(w, tools, begun, tokens);
}

Status waiting_add(Waiting *w, const WaitingTools *tools, const char *at, size_t size, uint64_t *tokens) {
  if (size > PARTS_BYTES) return count_alone(tools, at, size, tokens);
  uint32_t place = recent_place(at, size);
  if (count_again(w, at, size, place, tokens) || recall_large(tools, at, size, tokens)) return STATUS_OK;
  if (w->begun - w->ended == WAITING_BEGUN) end_oldest(w, tools, tokens);
  uint32_t row = w->begun++ % WAITING_BEGUN;
  WaitingBegun *begun = &w->ring[row];
  begun->at = at;
  begun->recent = place;
  begun->times = 1;
  w->recents[place] = (WaitingRecent){at, (uint8_t)size, 0, WAITING_RING, (uint8_t)row};
  w->pieces++;
  parts_begin(&begun->parts, tools->vocab, at, size);
  return STATUS_OK;
}

void waiting_end(Waiting *w, const WaitingTools *tools, uint64_t *tokens) {
  if (w->begun == 0) return;
  while (w->ended < w->begun) end_oldest(w, tools, tokens);
  for (unsigned width = 0; width < LANES_WIDTHS; width++) merge_group(w, tools, width, tokens);
  waiting_init(w);
}
