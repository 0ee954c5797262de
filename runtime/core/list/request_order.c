#include "core/list/request_order.h"

#include <assert.h>
#include <string.h>

#include "core/list/unit.h"

typedef struct Arranger {
  RequestOrder *order;
  const WindowItems *items;
  const Units *units;
  uint32_t reach;            /* the last position of all units so far */
  uint32_t next, waiting;    /* items so far; the first of them that waits for the end of a unit */
  bool obsolete;
} Arranger;

static void put(Arranger *arranger, MessageId id) { arranger->order->ids[arranger->order->count++] = id; }

static void put_waiting(Arranger *arranger) {
  for (; arranger->waiting < arranger->next; arranger->waiting++) {
    const WindowItem *item = &arranger->items->list[arranger->waiting];
    if (!item->obsolete || arranger->obsolete) put(arranger, item->id);
  }
}

/* Extends `reach` if a unit of several messages starts here. */
static void reach_for(Arranger *arranger, uint32_t position) {
  const Units *units = arranger->units;
  if (units->units[units->unit_of[position]].first != position) return;
  for (uint32_t at = units->next[position]; at != UNIT_NONE; at = units->next[at]) {
    if (at > arranger->reach) arranger->reach = at;
  }
}

static void pass(Arranger *arranger, uint32_t position, MessageId id, uint8_t marks) {
  reach_for(arranger, position);
  if (marks & MARK_WINDOW) arranger->next++;
  else put(arranger, id);
  if (position >= arranger->reach) put_waiting(arranger);
}

static void arrange(Arranger *arranger, const Sequence *list) {
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) pass(arranger, walk.index + i, walk.ids[i], walk.marks[i]);
  }
  put_waiting(arranger);
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
  Arranger arranger = {.order = order, .items = items, .units = units, .obsolete = obsolete};
  if (status == STATUS_OK) arrange(&arranger, list);
  units_free(units);
  assert(status != STATUS_OK || (order->count <= order->room && (!obsolete || order->count == order->room)));
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
