/*
** The windows of a draft: which of its messages are items, and what the visible ones cost.
*/
#include "core/draft/draft_data.h"

#include <assert.h>
#include <string.h>

Status draft_start_windows(Draft *draft) {
  DraftWindows *windows = &draft->windows;
  map_init(&windows->numbers, draft->memory);
  Status status = window_items(&draft->memory, conversation_windows(draft->conversation), draft->store, draft->list,
                               &windows->items);
  for (uint32_t i = 0; i < windows->items.count && status == STATUS_OK; i++) {
    status = map_put(&windows->numbers, windows->items.list[i].id, i);
  }
  return status;
}

void draft_free_windows(Draft *draft) {
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

uint32_t draft_window_tokens(const Draft *draft, MessageId id) {
  const uint64_t *number = draft->windows.tokens == NULL ? NULL : map_find(&draft->windows.numbers, id);
  return number == NULL ? 0 : draft->windows.tokens[*number];
}

/* True if the item is rendered. */
static bool is_rendered(const Draft *draft, const WindowItem *item) {
  if (item->obsolete || item->window == WINDOW_NONE) return false;
  return !(windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_HIDDEN);
}

bool draft_window_is_pinned(const Draft *draft, const WindowItem *item) {
  return is_rendered(draft, item) &&
         windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_PINNED;
}

Status draft_set_window_tokens(Draft *draft, const uint32_t *tokens) {
  DraftWindows *windows = &draft->windows;
  uint32_t count = windows->items.count;
  assert(ledger_count(draft->ledger) == 0);
  if (count == 0) return STATUS_OK;
  if (windows->tokens == NULL) {
    windows->tokens = memory_new_array(&draft->memory, count, sizeof *windows->tokens);
    if (windows->tokens == NULL) return STATUS_MEMORY;
    memset(windows->tokens, 0, count * sizeof *windows->tokens);
  }
  for (uint32_t i = 0; i < count; i++) {
    const WindowItem *item = &windows->items.list[i];
    assert(draft->tokens >= windows->tokens[i]);
    draft->tokens -= windows->tokens[i];
    windows->tokens[i] = is_rendered(draft, item) ? tokens[item->window] : 0;
    draft->tokens += windows->tokens[i];
  }
  draft->before = draft->tokens;
  return STATUS_OK;
}
