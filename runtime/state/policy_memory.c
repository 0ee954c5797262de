#include "state/policy_memory.h"

#include <assert.h>
#include <string.h>

#include "json/json.h"

typedef struct Remembered {
  Text name, value;          /* of a name that is missing: value.size 0 */
} Remembered;

typedef struct Names {
  uint32_t count;
  Remembered list[2 * MEMORY_NAMES_MAX];     /* the merged ones may be those of both */
} Names;

static uint32_t find(const Names *names, Text name) {
  uint32_t i = 0;
  while (i < names->count && !text_equal(names->list[i].name, name)) i++;
  return i;
}

static Text value_of(const Names *names, Text name) {
  uint32_t i = find(names, name);
  return i < names->count ? names->list[i].value : (Text){0};
}

/* False if the object has too many names. Of equal names the last one counts, as for readers of it. */
static bool read_names(Text object, Names *names) {
  Json json;
  Text name;
  JsonValue value;
  names->count = 0;
  if (object.size == 0) return true;
  json_open(&json, object.bytes, object.size);
  json.tolerant = true;
  if (!json_enter(&json)) return false;
  while (json_next_member(&json, &name) && json_value(&json, &value)) {
    uint32_t i = find(names, name);
    if (i == MEMORY_NAMES_MAX) return false;
    names->list[i] = (Remembered){.name = name, .value = text_plain(value.bytes, value.size)};
    if (i == names->count) names->count++;
  }
  return json.status == STATUS_OK;
}

static void remove_at(Names *names, uint32_t at) {
  names->count--;
  memmove(names->list + at, names->list + at + 1, (names->count - at) * sizeof *names->list);
}

/* Order by the bytes, escapes included. */
static int compare(Text a, Text b) {
  return text_compare(text_plain(a.bytes, a.size), text_plain(b.bytes, b.size));
}

static void insert(Names *names, const Remembered *added) {
  uint32_t at = names->count++;
  assert(names->count <= 2 * MEMORY_NAMES_MAX);
  for (; at > 0 && compare(names->list[at - 1].name, added->name) > 0; at--) {
    names->list[at] = names->list[at - 1];
  }
  names->list[at] = *added;
}

/* Sets a name in `ours` to their value, or removes it, if they changed it. */
static void take(Names *ours, const Names *base, const Remembered *theirs, bool *conflict) {
  Text before = value_of(base, theirs->name), here = value_of(ours, theirs->name);
  if (text_equal(theirs->value, before) || text_equal(theirs->value, here)) return;
  *conflict |= !text_equal(here, before);
  uint32_t at = find(ours, theirs->name);
  if (theirs->value.size == 0) remove_at(ours, at);
  else if (at < ours->count) ours->list[at].value = theirs->value;
  else insert(ours, theirs);
}

static Status write_names(const Names *names, Buffer *out) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < names->count && status == STATUS_OK; i++) {
    const Remembered *item = &names->list[i];
    status = buffer_add_byte(out, i == 0 ? '{' : ',');
    if (status == STATUS_OK) status = buffer_add(out, item->name.bytes - 1, item->name.size + 2);      /* its quotes */
    if (status == STATUS_OK) status = buffer_add_byte(out, ':');
    if (status == STATUS_OK) status = buffer_add(out, item->value.bytes, item->value.size);
  }
  return status != STATUS_OK || names->count == 0 ? status : buffer_add_byte(out, '}');
}

static Status copy(Text text, Buffer *out) {
  return out == NULL ? STATUS_OK : buffer_add(out, text.bytes, text.size);
}

Status merge_memories_by_name(Text base, Text ours, Text theirs, Buffer *merged, bool *conflict) {
  Names before, here, there;
  *conflict = false;
  if (text_equal(theirs, base) || text_equal(theirs, ours)) return copy(ours, merged);
  if (text_equal(ours, base)) return copy(theirs, merged);
  if (!read_names(base, &before) || !read_names(ours, &here) || !read_names(theirs, &there)) {
    *conflict = true;
    return copy(theirs, merged);
  }
  for (uint32_t i = 0; i < there.count; i++) take(&here, &before, &there.list[i], conflict);
  for (uint32_t i = 0; i < before.count; i++) {
    Remembered removed = {.name = before.list[i].name};
    if (find(&there, removed.name) == there.count) take(&here, &before, &removed, conflict);
  }
  return merged == NULL ? STATUS_OK : write_names(&here, merged);
}
