/*
** Request order: the messages of a list in the order of a request.
**
** It is the order of the list except for window items: each becomes a message, and no
** message may stand between a call and its results. So an item inside a unit moves
** behind the unit; obsolete items are left out:
**
**     list     calls   {todo}   result   {log}    user
**     request  calls   result   {todo}   {log}    user
*/
#ifndef EBB_CORE_REQUEST_ORDER_H
#define EBB_CORE_REQUEST_ORDER_H

#include "core/list/window.h"

typedef struct RequestOrder {
  Memory memory;
  uint32_t count, room;
  MessageId *ids;
} RequestOrder;

/* Fills *order. `obsolete`: with obsolete items. The caller frees it with
   request_order_free, after success only. O(n). STATUS_MEMORY. */
Status request_order_of(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                        bool obsolete, RequestOrder *order);
/* The same for a caller who has the list's items. STATUS_MEMORY. */
Status request_order_of_items(const Memory *memory, const WindowItems *items, const Store *store, const Sequence *list,
                              bool obsolete, RequestOrder *order);
void   request_order_free(RequestOrder *order);

#endif
