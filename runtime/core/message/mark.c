#include "core/message/mark.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "base/hash.h"
#include "base/map.h"
#include "os/os.h"

/* A set is found by its name, and the names of an origin by a chain through its sets, from the oldest name to the
   newest. Links are numbers of sets plus 1, 0 for none, two in one value:

       ends      origin -> first, last              sets[0]  "pinned"    members  7 -> 0, 3
                 7      -> 1, 3                     sets[1]  "draft"     members
                                                    sets[2]  "done"      members  7 -> 1, 0   */
typedef struct MarkSet {
  char *name;
  size_t size;
  Map members;         /* origin -> previous, next */
} MarkSet;

typedef struct Link {
  uint32_t first, second;
} Link;

static uint64_t pack_link(Link link) { return (uint64_t)link.second << 32 | link.first; }
static Link unpack_link(uint64_t packed) { return (Link){(uint32_t)packed, (uint32_t)(packed >> 32)}; }

struct Marks {
  Memory memory;
  uint32_t owners;
  uint64_t edits;
  MarkSet *sets;
  uint32_t count, room;
  HashKey key;
  Map numbers;         /* hash of a name -> number of its set; of two names with one hash, either */
  Map ends;            /* origin -> first, last of its chain; none: it has no marks */
};

Status marks_new(const Memory *memory, Marks **result) {
  Marks *marks = memory_new(memory, sizeof *marks);
  if (marks == NULL) return STATUS_MEMORY;
  *marks = (Marks){.memory = *memory, .owners = 1, .key = entropy_hash_key()};
  map_init(&marks->numbers, *memory);
  map_init(&marks->ends, *memory);
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
  map_free(&marks->ends);
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

/* ---- chains ---- */

static uint64_t *link_at(const Marks *marks, uint32_t link, MessageId origin) {
  assert(link > 0 && link <= marks->count);
  uint64_t *packed = map_find(&marks->sets[link - 1].members, origin);
  assert(packed != NULL);
  return packed;
}

/* Where a new link belongs between those that an origin has. */
static Link find_neighbours(const Marks *marks, uint32_t link, MessageId origin) {
  const uint64_t *packed = map_find(&marks->ends, origin);
  if (packed == NULL) return (Link){0, 0};
  Link ends = unpack_link(*packed), between = {ends.second, 0};
  if (link < ends.first) return (Link){0, ends.first};
  while (between.first > link) {
    between = (Link){unpack_link(*link_at(marks, between.first, origin)).first, between.first};
  }
  return between;
}

/* Makes `link` the neighbour of both, or one of the ends. */
static void set_neighbours(Marks *marks, Link between, Link link, MessageId origin) {
  uint64_t *ends = map_find(&marks->ends, origin);
  assert(ends != NULL);
  Link outer = unpack_link(*ends);
  if (between.first == 0) outer.first = link.second;
  else {
    uint64_t *before = link_at(marks, between.first, origin);
    *before = pack_link((Link){unpack_link(*before).first, link.second});
  }
  if (between.second == 0) outer.second = link.first;
  else {
    uint64_t *behind = link_at(marks, between.second, origin);
    *behind = pack_link((Link){link.first, unpack_link(*behind).second});
  }
  *ends = pack_link(outer);
}

/* Adds an origin that the set has not. STATUS_MEMORY: nothing has changed. */
static Status add_member(Marks *marks, MarkSet *set, MessageId origin) {
  uint32_t link = (uint32_t)(set - marks->sets) + 1;
  Link between = find_neighbours(marks, link, origin);
  Status status = map_put(&set->members, origin, pack_link(between));
  if (status == STATUS_OK && between.first == 0 && between.second == 0) {
    status = map_put(&marks->ends, origin, pack_link((Link){link, link}));
    if (status != STATUS_OK) map_remove(&set->members, origin);
    return status;
  }
  if (status == STATUS_OK) set_neighbours(marks, between, (Link){link, link}, origin);
  return status;
}

static bool remove_member(Marks *marks, MarkSet *set, MessageId origin) {
  const uint64_t *packed = map_find(&set->members, origin);
  if (packed == NULL) return false;
  Link between = unpack_link(*packed);
  map_remove(&set->members, origin);
  if (between.first == 0 && between.second == 0) map_remove(&marks->ends, origin);
  else set_neighbours(marks, between, between, origin);
  return true;
}

/* ---- sets ---- */

Status marks_add(Marks *marks, Text name, MessageId origin) {
  assert(marks->owners == 1 && origin != 0);
  MarkSet *set = find(marks, name);
  marks->edits++;
  if (set != NULL) return map_find(&set->members, origin) != NULL ? STATUS_OK : add_member(marks, set, origin);
  Status status = add_set(marks, name, &set);
  if (status != STATUS_OK) return status;
  status = add_member(marks, set, origin);
  if (status != STATUS_OK) drop_newest_set(marks);
  return status;
}

bool marks_remove(Marks *marks, Text name, MessageId origin) {
  assert(marks->owners == 1);
  MarkSet *set = find(marks, name);
  bool had = set != NULL && remove_member(marks, set, origin);
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

uint32_t marks_first(const Marks *marks, MessageId origin) {
  const uint64_t *ends = map_find(&marks->ends, origin);
  return ends == NULL ? MARK_NONE : unpack_link(*ends).first - 1;
}

uint32_t marks_after(const Marks *marks, uint32_t index, MessageId origin) {
  return unpack_link(*link_at(marks, index + 1, origin)).second - 1;
}

bool marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin) {
  const MarkSet *set = find(marks, name);
  uint64_t key, link;
  if (set == NULL || !map_next(&set->members, at, &key, &link)) return false;
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
    uint64_t origin, link;
    status = add_set(result, marks_name(marks, i), &set);
    while (status == STATUS_OK && map_next(&marks->sets[i].members, &at, &origin, &link)) {
      if (keep == NULL || bitset_has(keep, origin)) status = add_member(result, set, (MessageId)origin);
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
  uint64_t origin, link;
  while (map_next(&theirs->sets[i].members, &at, &origin, &link)) {
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
  uint64_t origin, link;
  while (map_next(&base->sets[i].members, &at, &origin, &link)) {
    if (!marks_has(theirs, name, (MessageId)origin)) marks_remove(into, name, (MessageId)origin);
  }
}

Status marks_merge(Marks **ours, const Marks *base, const Marks *theirs, MessageId last, uint32_t shift) {
  assert(theirs->edits != base->edits);
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

