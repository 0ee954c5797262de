#include "core/mark.h"

#include <string.h>

#include "base/map.h"

typedef struct MarkSet {
  char *name;
  size_t size;
  Map members;         /* origin -> 1 */
} MarkSet;

struct Marks {
  Memory memory;
  MarkSet *sets;
  uint32_t count, room;
};

Status marks_new(const Memory *memory, Marks **made) {
  Marks *marks = memory_new(memory, sizeof *marks);
  if (marks == NULL) return STATUS_MEMORY;
  *marks = (Marks){.memory = *memory};
  *made = marks;
  return STATUS_OK;
}

static void drop_newest_set(Marks *marks) {
  MarkSet *set = &marks->sets[--marks->count];
  memory_free(&marks->memory, set->name, set->size + 1);
  map_free(&set->members);
}

void marks_free(Marks *marks) {
  if (marks == NULL) return;
  Memory memory = marks->memory;
  while (marks->count > 0) drop_newest_set(marks);
  memory_free(&memory, marks->sets, marks->room * sizeof *marks->sets);
  memory_free(&memory, marks, sizeof *marks);
}

static MarkSet *find(const Marks *marks, Text name) {
  for (uint32_t i = 0; i < marks->count; i++) {
    if (text_equal(text_plain(marks->sets[i].name, marks->sets[i].size), name)) return &marks->sets[i];
  }
  return NULL;
}

static Status add_set(Marks *marks, Text name, MarkSet **added) {
  size_t size = text_plain_size(name);
  void *grown = memory_grow(&marks->memory, marks->sets, &marks->room, marks->count, sizeof *marks->sets);
  if (grown == NULL) return STATUS_MEMORY;
  marks->sets = grown;
  char *copy = memory_new(&marks->memory, size + 1);
  if (copy == NULL) return STATUS_MEMORY;
  size_t at = 0;
  char scratch[4];
  Text run;
  while (text_run(&name, scratch, &run)) {
    memcpy(copy + at, run.bytes, run.size);
    at += run.size;
  }
  copy[size] = '\0';
  *added = &marks->sets[marks->count++];
  **added = (MarkSet){.name = copy, .size = size};
  map_init(&(*added)->members, marks->memory);
  return STATUS_OK;
}

Status marks_add(Marks *marks, Text name, MessageId origin) {
  MarkSet *set = find(marks, name);
  if (set != NULL) return map_put(&set->members, origin, 1);
  Status status = add_set(marks, name, &set);
  if (status != STATUS_OK) return status;
  status = map_put(&set->members, origin, 1);
  if (status != STATUS_OK) drop_newest_set(marks);
  return status;
}

bool marks_remove(Marks *marks, Text name, MessageId origin) {
  MarkSet *set = find(marks, name);
  return set != NULL && map_remove(&set->members, origin);
}

bool marks_has(const Marks *marks, Text name, MessageId origin) {
  const MarkSet *set = find(marks, name);
  return set != NULL && map_find(&set->members, origin) != NULL;
}

uint32_t marks_size(const Marks *marks, Text name) {
  const MarkSet *set = find(marks, name);
  return set == NULL ? 0 : (uint32_t)set->members.count;
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
  return text_plain(marks->sets[index].name, marks->sets[index].size);
}

Status marks_copy(const Marks *marks, Marks **copy) {
  Marks *made;
  Status status = marks_new(&marks->memory, &made);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < marks->count && status == STATUS_OK; i++) {
    MarkSet *set;
    size_t at = 0;
    uint64_t origin, one;
    status = add_set(made, marks_name(marks, i), &set);
    while (status == STATUS_OK && map_next(&marks->sets[i].members, &at, &origin, &one)) {
      status = map_put(&set->members, origin, one);
    }
  }
  if (status == STATUS_OK) *copy = made;
  else marks_free(made);
  return status;
}
