#include "core/sent.h"

#include <string.h>

#include "core/unit.h"

typedef struct Sender {
  Sent *sent;
  const WindowItems *items;
  const Units *units;
  uint32_t reach;            /* the last position of the units that have begun */
  uint32_t next, waiting;    /* items passed; the first of them that has not come yet */
  bool obsolete;
} Sender;

static void put(Sender *sender, MessageId id) { sender->sent->ids[sender->sent->count++] = id; }

static void put_waiting(Sender *sender) {
  for (; sender->waiting < sender->next; sender->waiting++) {
    const WindowItem *item = &sender->items->list[sender->waiting];
    if (!item->obsolete || sender->obsolete) put(sender, item->id);
  }
}

/* Does a unit of several messages begin here? Then nothing comes between them. */
static void reach_for(Sender *sender, uint32_t position) {
  const Units *units = sender->units;
  if (units->units[units->of[position]].first != position) return;
  for (uint32_t at = units->next[position]; at != UNIT_NONE; at = units->next[at]) {
    if (at > sender->reach) sender->reach = at;
  }
}

static void pass(Sender *sender, uint32_t position, MessageId id, uint8_t marks) {
  reach_for(sender, position);
  if (marks & MARK_WINDOW) sender->next++;
  else put(sender, id);
  if (position >= sender->reach) put_waiting(sender);
}

static void send(Sender *sender, const Sequence *list) {
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) pass(sender, walk.index + i, walk.ids[i], walk.marks[i]);
  }
  put_waiting(sender);
}

static void copy(const Sequence *list, Sent *sent) {
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) memcpy(sent->ids + walk.index, walk.ids, walk.count * sizeof *sent->ids);
  sent->count = sequence_count(list);
}

Status sent_with(const Memory *memory, const WindowItems *items, const Store *store, const Sequence *list,
                 bool obsolete, Sent *sent) {
  Units *units = NULL;
  *sent = (Sent){.memory = *memory, .room = sequence_count(list)};
  if (sent->room == 0) return STATUS_OK;
  sent->ids = memory_new_array(memory, sent->room, sizeof *sent->ids);
  if (sent->ids == NULL) return STATUS_MEMORY;
  if (items->count == 0) {
    copy(list, sent);
    return STATUS_OK;
  }
  Status status = units_new(memory, store, list, &units);
  Sender sender = {.sent = sent, .items = items, .units = units, .obsolete = obsolete};
  if (status == STATUS_OK) send(&sender, list);
  units_free(units);
  if (status != STATUS_OK) sent_free(sent);
  return status;
}

Status sent_of(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list, bool obsolete,
               Sent *sent) {
  WindowItems items;
  *sent = (Sent){0};
  Status status = window_items(memory, windows, store, list, &items);
  if (status != STATUS_OK) return status;
  status = sent_with(memory, &items, store, list, obsolete, sent);
  window_items_free(&items);
  return status;
}

void sent_free(Sent *sent) {
  memory_free(&sent->memory, sent->ids, sent->room * sizeof *sent->ids);
  sent->ids = NULL;
  sent->count = sent->room = 0;
}
