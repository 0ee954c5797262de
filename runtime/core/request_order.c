#include "core/request_order.h"

#include <string.h>

#include "core/unit.h"

typedef struct Sender {
  RequestOrder *order;
  const WindowItems *items;
  const Units *units;
  uint32_t reach;            /* the last position of the units that have begun */
  uint32_t next, waiting;    /* items passed; the first of them that has not come yet */
  bool obsolete;
} Sender;

static void put(Sender *sender, MessageId id) { sender->order->ids[sender->order->count++] = id; }

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

static void copy(const Sequence *list, RequestOrder *order) {
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) memcpy(order->ids + walk.index, walk.ids, walk.count * sizeof *order->ids);
  order->count = sequence_count(list);
}

Status request_order_of_items(const Memory *memory, const WindowItems *items, const Store *store, const Sequence *list,
                              bool obsolete, RequestOrder *order) {
  Units *units = NULL;
  *order = (RequestOrder){.memory = *memory, .room = sequence_count(list)};
  if (order->room == 0) return STATUS_OK;
  order->ids = memory_new_array(memory, order->room, sizeof *order->ids);
  if (order->ids == NULL) return STATUS_MEMORY;
  if (items->count == 0) {
    copy(list, order);
    return STATUS_OK;
  }
  Status status = units_new(memory, store, list, &units);
  Sender sender = {.order = order, .items = items, .units = units, .obsolete = obsolete};
  if (status == STATUS_OK) send(&sender, list);
  units_free(units);
  if (status != STATUS_OK) request_order_free(order);
  return status;
}

Status request_order_of(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                        bool obsolete, RequestOrder *order) {
  WindowItems items;
  *order = (RequestOrder){0};
  Status status = window_items(memory, windows, store, list, &items);
  if (status != STATUS_OK) return status;
  status = request_order_of_items(memory, &items, store, list, obsolete, order);
  window_items_free(&items);
  return status;
}

void request_order_free(RequestOrder *order) {
  memory_free(&order->memory, order->ids, order->room * sizeof *order->ids);
  order->ids = NULL;
  order->count = order->room = 0;
}
