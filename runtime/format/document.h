/*
** Document: a file of messages, and how to write it back.
**
** Three shapes are read, told apart by what stands there, not by a name:
**
**     array    [ {message}, {message} ]
**     jsonl    {message} newline {message} newline
**     body     {"model": .., "messages": [ {message}, .. ], "tools": .. }
**
** A document remembers what stands before the first message and behind the last
** one, and each message lies where it was read; so what nobody edited is written
** back byte for byte, the space between messages included:
**
**     before | message 1 | gap | message 2 | gap | message 3 | after
**
** A gap belongs to the message behind it, or to what replaced that: it is
** written if the message is, and not first. New messages get the first gap of
** the file.
**
** Ownership: the file's bytes are the store's; a Document only points into them
** and may be copied. A store that is compacted lets go of them: document_keep gives
** the document an envelope, bytes of its own for all but the gaps.
*/
#ifndef EBB_FORMAT_DOCUMENT_H
#define EBB_FORMAT_DOCUMENT_H

#include "base/sink.h"
#include "core/operation.h"
#include "json/source_position.h"
#include "format/document_warnings.h"
#include "format/reader.h"
#include "format/request_cost.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)     /* of an array or a body, by default; JSONL has no cap */

typedef enum DocumentShape { DOCUMENT_ARRAY, DOCUMENT_JSONL, DOCUMENT_BODY } DocumentShape;

const char *document_shape_name(DocumentShape shape);     /* "array", "jsonl", "body"; static */

typedef struct Document {
  DocumentShape shape;
  bool loaded;               /* from a file; else it was made empty */
  Text before, after, gap;   /* plain */
  MessageId first;           /* of the messages that were read: first, first + 1, ... */
  uint32_t count;
  Text block;                /* where they were read; gaps are looked up there while the store has it */
  JsonValue parts[REQUEST_PARTS];   /* of a body: what the model reads besides its messages; bytes NULL: absent */
  Text model;                /* of a body: its model; size 0: none. As in JSON, inside the quotes */
} Document;

/* What writes an array (or JSONL) for a conversation that was not loaded. */
Document document_new(DocumentShape shape);

/* A file whose bytes are still coming in. */
typedef struct DocumentComing {
  /* Waits until more than *have bytes are there, or all: *have gets how many,
     *size how many there will be, which may turn out to be less. The first time
     there are as many as document_cap needed. STATUS_IO. */
  Status (*wait)(void *user, size_t *have, size_t *size);
  void *user;
} DocumentComing;

/* How a file is read. */
typedef struct DocumentLimits {
  size_t message_bytes_max, file_bytes_max;
  bool lenient;              /* what can be mended or left out is no error but a warning: see mend.h */
  const RoleAlias *aliases;
  uint32_t alias_count;
  DocumentComing coming;     /* wait NULL: all bytes are there */
} DocumentLimits;

typedef struct DocumentError {
  Status status;
  SourcePosition place;
  char path[120];            /* within the file, or within the line of JSONL; may be empty */
  const char *expected;      /* static */
} DocumentError;

/* What the first bytes of a file of more than these tell of how many may follow:
   *cap. False: not enough to tell; *wanted is how many would be. A cap of no more
   than `size` means that these bytes alone will be refused, with a better word. */
bool document_cap(const DocumentLimits *limits, const char *bytes, size_t size, size_t *cap, size_t *wanted);

/* That the file is larger than the cap of arrays and bodies. */
DocumentError document_over_cap(void);

/* What the parts of a body cost. STATUS_MEMORY, STATUS_LIMIT. */
Status document_overhead(const Document *document, const Counter *counter, const Memory *memory, Cost *cost);

/* Appends the messages of a file to a conversation that is empty and nobody
   else's. On success the store owns `bytes` (of `capacity`; may be NULL if size
   is 0); a lenient reading that mends them frees them and has a copy. On failure
   they are the caller's still, and the conversation good for nothing but
   conversation_free, before the bytes are freed. */
Status document_load(Conversation *conversation, const DocumentLimits *limits, char *bytes, size_t size,
                     size_t capacity, Document *document, DocumentWarnings *warnings, DocumentError *error);

/* What stands around the messages, in a block that handles share. */
typedef struct Envelope Envelope;

/* Gives a document and its warnings an envelope that keeps their texts: a copy, or, of
   more than 1 MiB, a share of the bytes of `store`, which took the file over (NULL:
   none did). STATUS_MEMORY, and nothing has changed. */
Status document_keep(Document *document, DocumentWarnings *warnings, const Memory *memory, Store *store,
                     Envelope **envelope);
/* NULL is allowed in both. */
Envelope *envelope_share(Envelope *envelope);
void   envelope_release(Envelope *envelope);

/* What stands in the place of items that name windows. */
typedef struct WindowTexts {
  /* Its JSON as a message, valid until the writing is over; or none: size 0, and it is left out. */
  Text (*text)(void *user, MessageId id);
  void *user;
} WindowTexts;

/* Writes a list of the conversation's messages. Neighbours that lay together
   are written with one call; items of windows are left out. STATUS_LIMIT, before
   the first call, if a message would stand more than 256 levels deep. */
Status document_write(const Document *document, const Conversation *conversation, const Sequence *list, Sink sink);

/* The same with texts in the place of items, in the order of core/request_order.h. STATUS_MEMORY. */
Status document_write_windows(const Document *document, const Conversation *conversation, const Sequence *list,
                              const WindowTexts *windows, Sink sink);

#endif
