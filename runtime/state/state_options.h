/*
** State options: what a saved conversation's options say about the text it was read from.
** What stands around the messages (document/document.h) is their first member:
**
**     {"document":{"before":"{\"messages\":[","gap":",","after":"]}"},   <- the library's
**      "model":"gpt-4o"}                                                <- the caller's
**
** Beside its texts a document says "single" where a body had one message without a list, and "read", how many messages
** it had, where its dialect is told by them.
*/
#ifndef EBB_STATE_STATE_OPTIONS_H
#define EBB_STATE_STATE_OPTIONS_H

#include "base/buffer.h"
#include "document/document.h"

/* Writes the caller's options, an object or nothing, with the texts of the document before its
   members. *size (NULL: not needed): the size of that part, with the comma behind it. STATUS_MEMORY. */
Status state_add_document(const Document *document, Text options, Buffer *out, size_t *size);
/* *state: true if the text around the messages of a body is a state's, whose version is not its first
   member: some other program has written it, or it is damaged. STATUS_MEMORY. */
Status state_is_reordered(const Document *document, const Memory *memory, bool *state);
/* The size of that part of saved options, with the bracket before it; 0 if they have none. */
size_t state_document_size(Text options);
/* Restores the document of options that have one: its texts go into an envelope, which is the
   caller's. On failure nothing has changed: STATUS_SHAPE (no texts around messages), STATUS_MEMORY. */
Status state_read_document(Text options, const Memory *memory, Document *document, Envelope **envelope);

#endif
