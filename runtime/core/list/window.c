/*
** The table of windows: records with owners, in order of their creation, and a map from
** the hash of an id to the newest entry; older entries with the same hash, which hardly
** ever exist, follow by `below`.
**
**     map      hash("todo") -> 2
**     entries  [ log ][ x ][ todo ]      entry.below: an older entry of the same hash
**
** The items of a list are numbered from the front and linked from the end: the first one
** of each name is the newest.
*/
#include "core/list/window.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

typedef struct Entry {
  Window *window;
  uint32_t below;
} Entry;

struct Windows {
  Memory memory;
  HashKey key;
  uint32_t owners;
  uint32_t count, room;
  uint64_t edits;
  Entry *entries;
  Map by_hash;
};

/* ---- records: one block, with the texts after the struct ---- */

static size_t record_size(const Window *window) {
  size_t size = sizeof *window;
  for (int i = 0; i < WINDOW_TEXTS; i++) size += window->texts[i].size;
  return size;
}

static void record_release(const Memory *memory, Window *window) {
  assert(window->owners > 0);
  if (--window->owners == 0) memory_free(memory, window, record_size(window));
}

static Status record_new(const Memory *memory, const Window *fields, Window **result) {
  for (int i = 0; i < WINDOW_TEXTS; i++) {
    if (fields->texts[i].size >= (size_t)1 << 31) return STATUS_LIMIT;
  }
  Window *window = memory_new(memory, record_size(fields));
  if (window == NULL) return STATUS_MEMORY;
  *window = *fields;
  window->owners = 1;
  char *at = (char *)(window + 1);
  for (int i = 0; i < WINDOW_TEXTS; i++) {
    size_t size = fields->texts[i].size;
    if (size > 0) memcpy(at, fields->texts[i].bytes, size);
    window->texts[i] = text_plain(at, size);
    at += size;
  }
  *result = window;
  return STATUS_OK;
}

/* ---- life ---- */

Status windows_new(const Memory *memory, HashKey key, Windows **result) {
  Windows *windows = memory_new(memory, sizeof *windows);
  if (windows == NULL) return STATUS_MEMORY;
  *windows = (Windows){.memory = *memory, .key = key, .owners = 1};
  map_init(&windows->by_hash, *memory);
  *result = windows;
  return STATUS_OK;
}

Windows *windows_share(Windows *windows) {
  if (windows != NULL) windows->owners++;
  return windows;
}

void windows_free(Windows *windows) {
  assert(windows == NULL || windows->owners > 0);
  if (windows == NULL || --windows->owners > 0) return;
  Memory memory = windows->memory;
  for (uint32_t i = 0; i < windows->count; i++) record_release(&memory, windows->entries[i].window);
  memory_free(&memory, windows->entries, windows->room * sizeof *windows->entries);
  map_free(&windows->by_hash);
  memory_free(&memory, windows, sizeof *windows);
}

/* Adds a record, and takes over the caller's share on success. */
static Status add(Windows *windows, Window *window) {
  assert(windows->owners == 1);
  if (windows->count == WINDOW_COUNT_MAX) return STATUS_LIMIT;
  Entry *grown = memory_grow(&windows->memory, windows->entries, &windows->room, windows->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  windows->entries = grown;
  uint64_t hash = hash_text(window->texts[WINDOW_ID], &windows->key);
  const uint64_t *top = map_find(&windows->by_hash, hash);
  uint32_t below = top == NULL ? WINDOW_NONE : (uint32_t)*top;
  Status status = map_put(&windows->by_hash, hash, windows->count);
  if (status == STATUS_OK) grown[windows->count++] = (Entry){.window = window, .below = below};
  return status;
}

static Status copy(const Windows *windows, Windows **result) {
  Status status = windows_new(&windows->memory, windows->key, result);
  for (uint32_t i = 0; i < windows->count && status == STATUS_OK; i++) {
    Window *window = windows->entries[i].window;
    status = add(*result, window);
    if (status == STATUS_OK) window->owners++;
    else windows_free(*result);
  }
  if (status == STATUS_OK) (*result)->edits = windows->edits;
  return status;
}

static MessageId shifted(MessageId time, MessageId base, uint32_t shift) { return time > base ? time + shift : time; }

/* Replaces a record with times above `base` by one with later times. */
static Status renumber_record(const Memory *memory, Window **place, MessageId base, uint32_t shift) {
  Window *old = *place, *result, fields = *old;
  if (old->created <= base && old->updated <= base) return STATUS_OK;
  fields.created = shifted(old->created, base, shift);
  fields.updated = shifted(old->updated, base, shift);
  Status status = record_new(memory, &fields, &result);
  if (status != STATUS_OK) return status;
  record_release(memory, old);
  *place = result;
  return STATUS_OK;
}

Status windows_renumber(const Windows *windows, MessageId base, uint32_t shift, Windows **renumbered) {
  Windows *result;
  Status status = copy(windows, &result);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < result->count && status == STATUS_OK; i++) {
    status = renumber_record(&result->memory, &result->entries[i].window, base, shift);
  }
  if (status == STATUS_OK) *renumbered = result;
  else windows_free(result);
  return status;
}

/* ---- queries ---- */

uint32_t windows_count(const Windows *windows) { return windows == NULL ? 0 : windows->count; }

uint64_t windows_edits(const Windows *windows) { return windows == NULL ? 0 : windows->edits; }

const Window *windows_at(const Windows *windows, uint32_t index) {
  assert(index < windows->count);
  return windows->entries[index].window;
}

uint32_t windows_find(const Windows *windows, Text id) {
  if (windows == NULL) return WINDOW_NONE;
  const uint64_t *top = map_find(&windows->by_hash, hash_text(id, &windows->key));
  uint32_t index = top == NULL ? WINDOW_NONE : (uint32_t)*top;
  while (index != WINDOW_NONE && !text_equal(windows->entries[index].window->texts[WINDOW_ID], id)) {
    assert(windows->entries[index].below == WINDOW_NONE || windows->entries[index].below < index);
    index = windows->entries[index].below;
  }
  return index;
}

void windows_check(const Windows *windows) {
  for (uint32_t i = 0; i < windows_count(windows); i++) {
    const Window *window = windows_at(windows, i);
    assert(window->owners > 0 && windows_find(windows, window->texts[WINDOW_ID]) == i);
    assert(window->created <= window->updated);
    (void)window;
  }
}

bool windows_is_sole(const Windows *windows, uint32_t index) {
  return windows->owners == 1 && windows->entries[index].window->owners == 1;
}

/* ---- putting ---- */

Status windows_put(Windows **windows, const Window *fields) {
  Windows *target = *windows;
  Window *window;
  Status status = record_new(&target->memory, fields, &window);
  if (status != STATUS_OK) return status;
  if (target->owners > 1) status = copy(*windows, &target);
  if (status != STATUS_OK) goto release;

  uint32_t index = windows_find(target, window->texts[WINDOW_ID]);
  if (index == WINDOW_NONE) {
    status = add(target, window);
  } else {
    record_release(&target->memory, target->entries[index].window);
    target->entries[index].window = window;
  }
  if (status == STATUS_OK) {
    if (target != *windows) windows_free(*windows);
    target->edits++;
    *windows = target;
    return STATUS_OK;
  }
  if (target != *windows) windows_free(target);
release:
  memory_free(&(*windows)->memory, window, record_size(window));
  return status;
}

/* ---- items ---- */

typedef struct Finder {
  const Store *store;
  const Windows *windows;
  WindowItems *items;
  Map newest;                /* hash of a name -> item; a name with a taken hash uses the next number */
  HashKey key;
} Finder;

static Text name_of(const Finder *finder, uint32_t item) {
  return message_content(store_message(finder->store, finder->items->list[item].id));
}

/* Links an item with the next later item of its name, and enters it in the place of that one. */
static Status link_item(Finder *finder, uint32_t item) {
  WindowItem *current = &finder->items->list[item];
  Text name = name_of(finder, item);
  uint64_t hash = hash_text(name, &finder->key);
  uint64_t *match = map_find(&finder->newest, hash);
  while (match != NULL && !text_equal(name, name_of(finder, (uint32_t)*match))) {
    match = map_find(&finder->newest, ++hash);
  }
  current->older = WINDOW_NONE;
  current->newest = match == NULL ? item : finder->items->list[*match].newest;
  current->window = match == NULL ? windows_find(finder->windows, name) : finder->items->list[*match].window;
  bool closed = current->window != WINDOW_NONE && windows_at(finder->windows, current->window)->flags & WINDOW_CLOSED;
  current->obsolete = match != NULL || closed;
  if (match != NULL) {
    finder->items->list[*match].older = item;
    *match = item;
    return STATUS_OK;
  }
  return map_put(&finder->newest, hash, item);
}

/* Finds the positions of the items: by sums, one path for each leaf with items. */
static void collect(const Sequence *list, WindowItems *items) {
  uint32_t end = sequence_count(list), count = 0;
  while (count < items->count) {
    SequenceWalk walk = sequence_walk(list, sequence_find(list, MEASURE_WINDOWS, count), end);
    sequence_walk_next(&walk);
    for (uint32_t i = 0; i < walk.count; i++) {
      if (!(walk.marks[i] & MARK_WINDOW)) continue;
      assert(count < items->count);
      items->list[count++] = (WindowItem){.id = walk.ids[i], .position = walk.index + i};
    }
  }
}

Status window_items(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                    WindowItems *items) {
  uint32_t count = sequence_sum(list).windows;
  *items = (WindowItems){.memory = *memory, .room = count};
  if (count == 0) return STATUS_OK;
  items->list = memory_new_array(memory, count, sizeof *items->list);
  if (items->list == NULL) return STATUS_MEMORY;
  items->count = count;
  Finder finder = {.store = store, .windows = windows, .items = items, .key = *store_hash_key(store)};
  map_init(&finder.newest, *memory);
  collect(list, items);
  Status status = STATUS_OK;
  for (uint32_t i = count; i-- > 0 && status == STATUS_OK;) status = link_item(&finder, i);
  map_free(&finder.newest);
  if (status != STATUS_OK) window_items_free(items);
  return status;
}

void window_items_free(WindowItems *items) {
  memory_free(&items->memory, items->list, items->room * sizeof *items->list);
  items->list = NULL;
  items->count = items->room = 0;
}
