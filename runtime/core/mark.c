#include "core/mark.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "base/hash.h"
#include "base/map.h"
#include "os/entropy.h"

typedef struct MarkSet {
  char *name;
  size_t size;
  Map members;         /* origin -> 1 */
} MarkSet;

struct Marks {
  Memory memory;
  uint32_t owners;
  uint64_t edits;
  MarkSet *sets;
  uint32_t count, room;
  HashKey key;
  Map numbers;         /* hash of a name -> number of its set; of two names with one hash, either */
};

Status marks_new(const Memory *memory, Marks **result) {
  Marks *marks = memory_new(memory, sizeof *marks);
  if (marks == NULL) return STATUS_MEMORY;
  *marks = (Marks){.memory = *memory, .owners = 1, .key = entropy_hash_key()};
  map_init(&marks->numbers, *memory);
  *result = marks;
  return STATUS_OK;
}

static void drop_newest_set(Marks *marks) {
  assert(marks->count > 0);
  MarkSet *set = &marks->sets[--marks->count];
  map_remove(&marks->numbers, hash_text(text_plain(set->name, set->size), &marks->key));
  memory_free(&marks->memory, set->name, set->size + 1);
  map_free(&set->members);
}

Marks *marks_share(Marks *marks) {
  marks->owners++;
  return marks;
}

void marks_release(Marks *marks) {
  assert(marks == NULL || marks->owners > 0);
  if (marks == NULL || --marks->owners > 0) return;
  Memory memory = marks->memory;
  while (marks->count > 0) drop_newest_set(marks);
  map_free(&marks->numbers);
  memory_free(&memory, marks->sets, marks->room * sizeof *marks->sets);
  memory_free(&memory, marks, sizeof *marks);
}

static bool has_name(const MarkSet *set, Text name) { return text_equal(text_plain(set->name, set->size), name); }

static MarkSet *find(const Marks *marks, Text name) {
  const uint64_t *number = map_find(&marks->numbers, hash_text(name, &marks->key));
  if (number == NULL) return NULL;
  if (has_name(&marks->sets[*number], name)) return &marks->sets[*number];
  for (uint32_t i = 0; i < marks->count; i++) {
    if (has_name(&marks->sets[i], name)) return &marks->sets[i];
  }
  return NULL;
}

/* Adds an empty set under a copy of the name. STATUS_MEMORY. */
static Status add_set(Marks *marks, Text name, MarkSet **added) {
  size_t size = text_plain_size(name);
  void *grown = memory_grow(&marks->memory, marks->sets, &marks->room, marks->count, sizeof *marks->sets);
  if (grown == NULL) return STATUS_MEMORY;
  marks->sets = grown;
  char *copy = memory_new(&marks->memory, size + 1);
  Status status = copy == NULL ? STATUS_MEMORY : map_put(&marks->numbers, hash_text(name, &marks->key), marks->count);
  if (status != STATUS_OK) {
    memory_free(&marks->memory, copy, size + 1);
    return status;
  }
  size_t at = 0;
  char scratch[4];
  Text run;
  while (text_run(&name, scratch, &run)) {
    memcpy(copy + at, run.bytes, run.size);
    at += run.size;
  }
  assert(at == size);
  copy[size] = '\0';
  *added = &marks->sets[marks->count++];
  **added = (MarkSet){.name = copy, .size = size};
  map_init(&(*added)->members, marks->memory);
  return STATUS_OK;
}

Status marks_add(Marks *marks, Text name, MessageId origin) {
  assert(marks->owners == 1 && origin != 0);
  MarkSet *set = find(marks, name);
  marks->edits++;
  if (set != NULL) return map_put(&set->members, origin, 1);
  Status status = add_set(marks, name, &set);
  if (status != STATUS_OK) return status;
  status = map_put(&set->members, origin, 1);
  if (status != STATUS_OK) drop_newest_set(marks);
  return status;
}

bool marks_remove(Marks *marks, Text name, MessageId origin) {
  assert(marks->owners == 1);
  MarkSet *set = find(marks, name);
  bool had = set != NULL && map_remove(&set->members, origin);
  marks->edits += had;
  return had;
}

bool marks_has(const Marks *marks, Text name, MessageId origin) {
  const MarkSet *set = find(marks, name);
  return set != NULL && map_find(&set->members, origin) != NULL;
}

uint32_t marks_size(const Marks *marks, Text name) {
  const MarkSet *set = find(marks, name);
  return set == NULL ? 0 : (uint32_t)set->members.count;
}

bool marks_set_has(const Marks *marks, uint32_t index, MessageId origin) {
  assert(index < marks->count);
  return map_find(&marks->sets[index].members, origin) != NULL;
}

bool marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin) {
  const MarkSet *set = find(marks, name);
  uint64_t key, one;
  if (set == NULL || !map_next(&set->members, at, &key, &one)) return false;
  *origin = (MessageId)key;
  return true;
}

uint32_t marks_name_count(const Marks *marks) { return marks->count; }

Text marks_name(const Marks *marks, uint32_t index) {
  assert(index < marks->count);
  return text_plain(marks->sets[index].name, marks->sets[index].size);
}

uint64_t marks_edits(const Marks *marks) { return marks->edits; }

/* ---- copies ---- */

/* Copies the marks of the origins with a bit in `keep`; NULL: all. */
static Status copy_marks(const Marks *marks, const uint64_t *keep, Marks **copy) {
  Marks *result;
  Status status = marks_new(&marks->memory, &result);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < marks->count && status == STATUS_OK; i++) {
    MarkSet *set;
    size_t at = 0;
    uint64_t origin, one;
    status = add_set(result, marks_name(marks, i), &set);
    while (status == STATUS_OK && map_next(&marks->sets[i].members, &at, &origin, &one)) {
      if (keep == NULL || bitset_has(keep, origin)) status = map_put(&set->members, origin, one);
    }
  }
  result->edits = marks->edits;
  if (status == STATUS_OK) *copy = result;
  else marks_release(result);
  return status;
}

Status marks_make_private(Marks **marks) {
  Marks *copy;
  if ((*marks)->owners == 1) return STATUS_OK;
  Status status = copy_marks(*marks, NULL, &copy);
  if (status != STATUS_OK) return status;
  marks_release(*marks);
  *marks = copy;
  assert(copy->owners == 1);
  return STATUS_OK;
}

/* Adds the origins that `theirs` has under name number `i`, and `base` has not. */
static Status merge_added(Marks *into, const Marks *base, const Marks *theirs, uint32_t i, MessageId last,
                          uint32_t shift) {
  Text name = marks_name(theirs, i);
  size_t at = 0;
  uint64_t origin, one;
  while (map_next(&theirs->sets[i].members, &at, &origin, &one)) {
    if (marks_has(base, name, (MessageId)origin)) continue;
    MessageId target = (MessageId)origin > last ? (MessageId)origin + shift : (MessageId)origin;
    Status status = marks_add(into, name, target);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* Removes the origins that `base` has under name number `i`, and `theirs` has not. */
static void merge_removed(Marks *into, const Marks *base, const Marks *theirs, uint32_t i) {
  Text name = marks_name(base, i);
  size_t at = 0;
  uint64_t origin, one;
  while (map_next(&base->sets[i].members, &at, &origin, &one)) {
    if (!marks_has(theirs, name, (MessageId)origin)) marks_remove(into, name, (MessageId)origin);
  }
}

Status marks_merge(Marks **ours, const Marks *base, const Marks *theirs, MessageId last, uint32_t shift) {
  if (theirs->edits == base->edits) return STATUS_OK;
  Marks *merged;
  Status status = copy_marks(*ours, NULL, &merged);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < theirs->count && status == STATUS_OK; i++) {
    status = merge_added(merged, base, theirs, i, last, shift);
  }
  if (status != STATUS_OK) {
    marks_release(merged);
    return status;
  }
  for (uint32_t i = 0; i < base->count; i++) merge_removed(merged, base, theirs, i);
  marks_release(*ours);
  *ours = merged;
  return STATUS_OK;
}

Status marks_retain(Marks **marks, const uint64_t *keep) {
  Marks *remaining;
  Status status = copy_marks(*marks, keep, &remaining);
  if (status != STATUS_OK) return status;
  remaining->edits++;
  marks_release(*marks);
  *marks = remaining;
  return STATUS_OK;
}

