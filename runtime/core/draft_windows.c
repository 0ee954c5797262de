/*
** The windows that a draft's list shows: what they weigh, and who holds them.
*/
#include "core/draft_data.h"

#include <string.h>

Status draft_windows_start(Draft *draft) {
  DraftWindows *windows = &draft->windows;
  map_init(&windows->numbers, draft->memory);
  Status status = window_items(&draft->memory, conversation_windows(draft->conversation), draft->store, draft->list,
                               &windows->items);
  for (uint32_t i = 0; i < windows->items.count && status == STATUS_OK; i++) {
    status = map_put(&windows->numbers, windows->items.list[i].id, i);
  }
  return status;
}

void draft_windows_free(Draft *draft) {
  DraftWindows *windows = &draft->windows;
  memory_free(&draft->memory, windows->tokens, windows->items.count * sizeof *windows->tokens);
  if (windows->items.list != NULL) window_items_free(&windows->items);
  map_free(&windows->numbers);
}

const WindowItem *draft_window_item(const Draft *draft, MessageId id) {
  const uint64_t *number = map_find(&draft->windows.numbers, id);
  return number == NULL ? NULL : &draft->windows.items.list[*number];
}

const WindowItem *draft_window_older(const Draft *draft, const WindowItem *item) {
  return item->older == WINDOW_NONE ? NULL : &draft->windows.items.list[item->older];
}

bool draft_is_obsolete(const Draft *draft, MessageId id) {
  const WindowItem *item = draft_window_item(draft, id);
  return item != NULL && item->obsolete;
}

/* ---- weights ---- */

uint32_t draft_window_tokens(const Draft *draft, MessageId id) {
  const uint64_t *number = draft->windows.tokens == NULL ? NULL : map_find(&draft->windows.numbers, id);
  return number == NULL ? 0 : draft->windows.tokens[*number];
}

/* Is the item rendered? */
static bool is_shown(const Draft *draft, const WindowItem *item) {
  if (item->obsolete || item->window == WINDOW_NONE) return false;
  return !(windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_HIDDEN);
}

Status draft_weigh_windows(Draft *draft, const uint32_t *tokens) {
  DraftWindows *windows = &draft->windows;
  uint32_t count = windows->items.count;
  if (count == 0) return STATUS_OK;
  if (windows->tokens == NULL) {
    windows->tokens = memory_new_array(&draft->memory, count, sizeof *windows->tokens);
    if (windows->tokens == NULL) return STATUS_MEMORY;
    memset(windows->tokens, 0, count * sizeof *windows->tokens);
  }
  for (uint32_t i = 0; i < count; i++) {
    const WindowItem *item = &windows->items.list[i];
    draft->tokens -= windows->tokens[i];
    windows->tokens[i] = is_shown(draft, item) ? tokens[item->window] : 0;
    draft->tokens += windows->tokens[i];
  }
  draft->before = draft->tokens;
  return STATUS_OK;
}

/* ---- holds ---- */

static bool is_pinned(const Draft *draft, const WindowItem *item) {
  return is_shown(draft, item) &&
         windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_PINNED;
}

/* The list may have lost items, but the others stand in the order they had. */
void draft_windows_hold(const Draft *draft, const Sequence *list, Slots *slots) {
  const WindowItem *items = draft->windows.items.list;
  uint32_t windows = sequence_sum(list).windows;
  for (uint32_t i = windows; i-- > 0;) {
    uint32_t slot = sequence_find(list, MEASURE_WINDOWS, i);
    const WindowItem *item = draft_window_item(draft, slots->ids[slot]);
    if (is_pinned(draft, item)) slots_hold_unit(slots, slots->units->of[slot], HOLD_PINNED);
    bool has_hold = slots->flags[slot] & SLOT_HOLD;
    if (!has_hold || !item->obsolete || items[item->newest].obsolete) continue;
    uint32_t shown = sequence_index_of(list, items[item->newest].id, slot);
    if (shown < slots->count) slots_hold_unit(slots, slots->units->of[shown], HOLD_PINNED);
  }
}
