/*
** RequestOrder: the messages of a list in the order in which a request has them.
**
** That is the list's own, but for items of windows: they become messages, and no
** message may stand between a call and its results. So an item inside a unit
** comes behind it, and obsolete items do not come at all:
**
**     list    calls   {todo}   result   {log}   user
**     order    calls   result   {todo}   {log}   user
*/
#ifndef EBB_CORE_REQUEST_ORDER_H
#define EBB_CORE_REQUEST_ORDER_H

#include "core/window.h"

typedef struct RequestOrder {
  Memory memory;
  uint32_t count, room;
  MessageId *ids;
} RequestOrder;

/* `obsolete`: obsolete items come too. O(n). STATUS_MEMORY. */
Status request_order_of(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                        bool obsolete, RequestOrder *order);
/* The same with the list's items at hand. */
Status request_order_of_items(const Memory *memory, const WindowItems *items, const Store *store, const Sequence *list,
                              bool obsolete, RequestOrder *order);
void   request_order_free(RequestOrder *order);

#endif
