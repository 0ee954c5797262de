/*
** Convert list: a conversation's list in the form of one dialect, in the order of a request.
*/
#ifndef EBB_DOCUMENT_CONVERT_LIST_H
#define EBB_DOCUMENT_CONVERT_LIST_H

#include "dialect/convert/convert.h"
#include "document/document.h"

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
