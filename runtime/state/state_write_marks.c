/*
** Writes marks sorted by name and seq, so that equal states have equal bytes.
*/
#include <stdlib.h>

#include "core/message/mark.h"
#include "state/state_writer.h"

/* Room to sort in; NULL where there is no memory: then each next one is sought among all. */
typedef struct Sorting {
  const Marks *marks;
  Text *names;
  uint32_t name_count;
  MessageId *ids;
  uint32_t id_room;
} Sorting;

static int compare_names(const void *a, const void *b) { return text_compare(*(const Text *)a, *(const Text *)b); }

static int compare_ids(const void *a, const void *b) {
  MessageId left = *(const MessageId *)a, right = *(const MessageId *)b;
  return (left > right) - (left < right);
}

static void open_sorting(Sorting *sorting, const Memory *memory, const Marks *marks) {
  *sorting = (Sorting){.marks = marks, .name_count = marks_name_count(marks)};
  for (uint32_t i = 0; i < sorting->name_count; i++) {
    uint32_t size = marks_size(marks, marks_name(marks, i));
    if (size > sorting->id_room) sorting->id_room = size;
  }
  if (sorting->id_room == 0) return;
  sorting->names = memory_new_array(memory, sorting->name_count, sizeof *sorting->names);
  sorting->ids = memory_new_array(memory, sorting->id_room, sizeof *sorting->ids);
  for (uint32_t i = 0; sorting->names != NULL && i < sorting->name_count; i++) {
    sorting->names[i] = marks_name(marks, i);
  }
  if (sorting->names != NULL) qsort(sorting->names, sorting->name_count, sizeof *sorting->names, compare_names);
}

static void close_sorting(const Sorting *sorting, const Memory *memory) {
  memory_free(memory, sorting->names, sorting->name_count * sizeof *sorting->names);
  memory_free(memory, sorting->ids, sorting->id_room * sizeof *sorting->ids);
}

/* Finds the first name behind `last` (NULL: of all); false if there is none. */
static bool find_next(const Marks *marks, const Text *last, Text *next) {
  bool any = false;
  for (uint32_t i = 0; i < marks_name_count(marks); i++) {
    Text candidate = marks_name(marks, i);
    if (last != NULL && text_compare(candidate, *last) <= 0) continue;
    if (any && text_compare(candidate, *next) > 0) continue;
    *next = candidate;
    any = true;
  }
  return any;
}

/* Writes the seqs that have the name; nothing for a name that none has. */
static void write_set(StateWriter *w, const Sorting *sorting, Text name) {
  uint32_t count = 0;
  size_t at = 0;
  MessageId origin;
  if (marks_size(sorting->marks, name) == 0) return;
  json_out_name_text(&w->out, name);
  json_out_open(&w->out, '[');
  for (; sorting->ids != NULL && marks_next(sorting->marks, name, &at, &origin);) sorting->ids[count++] = origin;
  if (count > 0) qsort(sorting->ids, count, sizeof *sorting->ids, compare_ids);
  for (uint32_t i = 0; i < count; i++) json_out_integer(&w->out, sorting->ids[i]);
  for (MessageId id = 1; count == 0 && id <= store_count(w->store); id++) {
    if (marks_has(sorting->marks, name, id)) json_out_integer(&w->out, id);
  }
  json_out_close(&w->out, ']');
}

void state_write_marks(StateWriter *w) {
  Sorting sorting;
  Text name, last, *before = NULL;
  const Memory *memory = conversation_memory(w->conversation);
  open_sorting(&sorting, memory, conversation_marks(w->conversation));
  json_out_open(&w->out, '{');
  for (uint32_t i = 0; sorting.names != NULL && i < sorting.name_count; i++) write_set(w, &sorting, sorting.names[i]);
  for (; sorting.names == NULL && sorting.id_room > 0 && find_next(sorting.marks, before, &name); before = &last) {
    write_set(w, &sorting, name);
    last = name;
  }
  json_out_close(&w->out, '}');
  close_sorting(&sorting, memory);
}
