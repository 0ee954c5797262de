/*
** Convert list: a conversation's list in the form of one dialect, in the order of a request.
*/
#ifndef EBB_DOCUMENT_CONVERT_LIST_H
#define EBB_DOCUMENT_CONVERT_LIST_H

#include "base/map.h"
#include "core/list/request_order.h"
#include "dialect/convert/convert.h"
#include "document/document.h"

/* ---- what a request has of a list ----
**
** The JSON of each message and its position in the list. Items of windows are elsewhere in a request
** (core/list/request_order.h).
**
**     for (uint32_t i = 0; i < messages.order.count; i++) {
**       Text raw = request_messages_raw(&messages, i);
**       ...
**     } */

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

/* ---- converting ---- */

/* Where the parts of a request go. */
typedef struct ConvertSinks {
  Sink system;               /* a JSON list of system texts; nothing is written if there are none */
  Sink messages;             /* a JSON list of messages or items; with ConvertOptions.lines one per line */
} ConvertSinks;

/* Writes the messages. `system`, a system message as JSON, stands before them (size 0: none): the text that another
   dialect's body has beside its messages. `windows` as for document_write_windows. Indices in the report count the
   list's own messages from 0; what is lost of `system` has CONVERT_NEVER. *changed: some message was not written
   byte for byte. STATUS_MEMORY, or the sinks' status. */
Status convert_list(const Conversation *conversation, const Sequence *list, const WindowTexts *windows, Text system,
                    const ConvertOptions *options, ConvertSinks sinks, ConvertReport *report, bool *changed);

/* True if convert_list would write every message as it is, for sure: found out without taking messages apart, of plain
   texts, calls and results in OpenAI's form. False tells nothing. */
bool   convert_list_keeps(const Conversation *conversation, const Sequence *list, const ConvertOptions *options);

#endif
