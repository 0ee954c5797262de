/*
** Request messages: what a request has of a list, with the JSON of each message and its
** position in the list. Items of windows stand elsewhere in a request (core/list/request_order.h).
**
**     for (uint32_t i = 0; i < messages.order.count; i++) {
**       Text raw = request_messages_raw(&messages, i);
**       ...
**     }
*/
#ifndef EBB_DOCUMENT_REQUEST_MESSAGES_H
#define EBB_DOCUMENT_REQUEST_MESSAGES_H

#include "base/map.h"
#include "core/list/request_order.h"
#include "document/document.h"

typedef struct RequestMessages {
  const Conversation *conversation;
  const WindowTexts *windows;
  RequestOrder order;
  Map positions;             /* id -> position in the list; empty where it has no items of windows */
} RequestMessages;

/* Fills *messages. `windows` as for document_write_windows; NULL: items of windows have no JSON. Borrows all but the
   list. The caller frees it with request_messages_free, after success only. O(n). STATUS_MEMORY. */
Status   request_messages_of(const Conversation *conversation, const Sequence *list, const WindowTexts *windows,
                             RequestMessages *messages);
void     request_messages_free(RequestMessages *messages);

/* The JSON of the message at `index` of the order, or of what stands for a window's item; size 0: nothing does. */
Text     request_messages_raw(const RequestMessages *messages, uint32_t index);
/* Its position in the list. */
uint32_t request_messages_position(const RequestMessages *messages, uint32_t index);

#endif
