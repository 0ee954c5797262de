/*
** Document: reads a file of messages and writes it back.
**
** There are three shapes, detected from the contents, not the file's name:
**
**     array    [ {message}, {message} ]
**     jsonl    {message} newline {message} newline
**     body     {"model": .., "messages": [ {message}, .. ], "tools": .. }
**
** The member of a body that has the messages is that of a dialect (dialect/dialect.h).
** A document keeps the text before the first message and behind the last one, and messages
** stay where they were read. So everything that was not edited is written back byte for
** byte, white space between messages included:
**
**     before | message 1 | gap | message 2 | gap | message 3 | after
**
** A gap belongs to the message behind it, or to its replacement: it is written before
** that message unless it is the first one. New messages get the first gap of the file.
**
** Ownership: the file's bytes belong to the store; a Document only points into them and
** may be copied. Compacting the store frees them: document_keep gives the document an
** envelope before, with its own copy of all texts but the gaps.
*/
#ifndef EBB_DOCUMENT_DOCUMENT_H
#define EBB_DOCUMENT_DOCUMENT_H

#include "base/sink.h"
#include "core/operation.h"
#include "json/source_position.h"
#include "dialect/dialect.h"
#include "dialect/read/reader.h"
#include "document/request_cost.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)     /* default cap of arrays and bodies; JSONL has none */

typedef enum DocumentShape { DOCUMENT_ARRAY, DOCUMENT_JSONL, DOCUMENT_BODY } DocumentShape;

/* A body may have, instead of a list, the text of the only message, a user's, or that message. */
typedef enum DocumentSingle { SINGLE_NONE, SINGLE_STRING, SINGLE_OBJECT } DocumentSingle;

const char *document_shape_name(DocumentShape shape);     /* "array", "jsonl", "body"; static */

typedef struct Document {
  DocumentShape shape;
  bool loaded;               /* read from a file; false for document_new */
  DocumentSingle single;     /* of a body: `before` ends in a bracket and `after` starts with one that the file lacks */
  unsigned dialects;         /* of a body: those whose bodies have the messages in this member, as bits */
  unsigned likely;           /* those of them that its other members tell (dialect/dialect_members.h) */
  Text before, after, gap;   /* plain */
  MessageId first;           /* the messages read have the ids first, first + 1, ...; 0: unknown, and count is 0 */
  uint32_t count;
  Text block;                /* the bytes they were read from; gaps are found there as long as the store has them */
  JsonValue members[REQUEST_MEMBERS]; /* of a body: what the model reads besides messages; bytes NULL: absent */
  Text model;                /* of a body: its model, as in JSON without the quotes; size 0: none */
} Document;

/* A document for writing a conversation that was not read from a file. */
Document document_new(DocumentShape shape);

/* ---- warnings: oddities of a file that were kept, and what a lenient reading mended or skipped ---- */

/* Except for the first, these are errors unless the reading is lenient. */
typedef enum DocumentOddity {
  ODD_PART,                  /* a content part of unknown type: kept */
  ODD_RECORD,                /* not a message: skipped */
  ODD_TEXT,                  /* invalid UTF-8 or a lone surrogate: replaced by U+FFFD */
  ODD_KEY,                   /* a duplicate key: the last one is kept */
  ODD_ID,                    /* a duplicate id: kept */
  ODD_MARK,                  /* byte order marks behind the first: left out */
  ODD_DIGEST                 /* the digest of a saved conversation differs: read without it */
} DocumentOddity;

typedef struct DocumentWarning {
  DocumentOddity what;
  SourcePosition place;
  Text kind;                 /* the type of the part, the key, or the id */
  Status status;             /* of a record: its error */
  const char *expected;      /* of a record: what was expected; static */
} DocumentWarning;

typedef struct DocumentWarnings {
  Memory memory;
  DocumentWarning *list;
  uint32_t count, room;
} DocumentWarnings;

/* Adds a warning. STATUS_MEMORY. */
Status document_warn(DocumentWarnings *warnings, DocumentWarning warning);

/* ---- reading ---- */

/* A file that is read while it is parsed. */
typedef struct DocumentComing {
  /* Waits until more than *have bytes are read, or all. *have: bytes read so far; *size:
     bytes in the end, which may become fewer. The first bytes that document_cap needs
     are there from the start. STATUS_IO. */
  Status (*wait)(void *user, size_t *have, size_t *size);
  void *user;
} DocumentComing;

/* Messages from elsewhere for the list of a file that has only white space in it. */
typedef struct DocumentMessages {
  /* The next one: a message of `lender`, or JSON in the block of the file, behind its text, if *lent is 0. False at the
     end. */
  bool (*next)(void *user, MessageId *lent, Text *raw);
  void *user;
  const Conversation *lender;
  size_t indent;             /* bytes of the white space that stand before the first message */
  Text gap;                  /* static; between messages */
} DocumentMessages;

/* Options for reading a file. */
typedef struct DocumentLimits {
  size_t message_bytes_max, file_bytes_max;
  bool lenient;              /* errors that can be mended or skipped become warnings: see salvage.h */
  const RoleAlias *aliases;
  uint32_t alias_count;
  DocumentComing coming;     /* wait NULL: all bytes are read */
  Text envelope;             /* the file with no messages in its list: it tells the format without a walk over them.
                                bytes NULL: not known */
  const DocumentMessages *messages;    /* NULL: those of the file. Errors of others have no place in the file */
} DocumentLimits;

typedef struct DocumentError {
  Status status;
  SourcePosition place;
  char path[120];            /* JSON path in the file, or in the line of JSONL; may be empty */
  const char *expected;      /* static */
} DocumentError;

/* Determines from the first bytes of a file how many bytes it may have: *cap. False if
   more bytes are needed: *needed in all. A cap of at most `size` means that these bytes alone
   will be refused, with a more precise error. */
bool document_cap(const DocumentLimits *limits, const char *bytes, size_t size, size_t *cap, size_t *needed);

/* The error for a file over the cap of arrays and bodies. */
DocumentError document_over_cap(void);

/* The dialect of a list of the document: of the messages that were read, and of the members around them where these
   messages fit several, or are in several forms; what was added since tells it where nothing else does. O(messages and
   their parts). */
Dialect document_dialect(const Document *document, const Store *store, const Sequence *list);

/* The cost of a body's members besides its messages (request_cost.h); 0 for other shapes. Tools share
   the frame of a system message that was the first one.
   STATUS_MEMORY, STATUS_LIMIT. */
Status document_overhead(const Document *document, const Conversation *conversation, const Counter *counter,
                         Cost *cost);

/* Appends the messages of a file to an empty conversation without other owners. On
   success the store owns `bytes` (of `capacity`; may be NULL if size is 0); a lenient
   reading that salvages them replaces them by a copy. On failure `bytes` belong to the
   caller, who must free the conversation first: it is unusable then; *error has the status,
   the place and what was expected there. STATUS_SYNTAX, STATUS_ENCODING, STATUS_SHAPE,
   STATUS_ROLE, STATUS_DUPLICATE (of JSON or messages); STATUS_LIMIT (DocumentLimits, depth, sums);
   STATUS_IO (DocumentComing); STATUS_HOST; STATUS_MEMORY. */
Status document_load(Conversation *conversation, const DocumentLimits *limits, char *bytes, size_t size,
                     size_t capacity, Document *document, DocumentWarnings *warnings, DocumentError *error);

/* The texts around the messages, in a block with shared ownership. */
typedef struct Envelope Envelope;

/* Moves the texts of a document and its warnings into an envelope: a copy, or, above
   1 MiB, a share of the bytes of `store`, which owns the file's (NULL: no store does).
   STATUS_MEMORY: nothing has changed. */
Status document_keep(Document *document, DocumentWarnings *warnings, const Memory *memory, Store *store,
                     Envelope **envelope);
/* NULL is allowed for both. */
Envelope *envelope_share(Envelope *envelope);
void   envelope_release(Envelope *envelope);

/* The messages that replace items of windows, and others that are written in another form. */
typedef struct WindowTexts {
  /* The item as a JSON message, valid until writing ends; size 0: skip the item. */
  Text (*text)(void *user, MessageId id);
  /* The same of any message or item: what stands in its place, one JSON message or several; NULL: it stands
     itself. May be NULL. */
  const Text *(*instead)(void *user, MessageId id);
  void *user;
} WindowTexts;

/* Writes a list of the conversation's messages. Adjacent bytes are written with one call
   of the sink; items of windows are skipped. STATUS_LIMIT, before the first call, if a
   message would be nested more than 256 levels deep; else the sink's status. */
Status document_write(const Document *document, const Conversation *conversation, const Sequence *list, Sink sink);

/* The same with messages for items of windows, in the order of core/list/request_order.h. Statuses as
   above, and STATUS_MEMORY. */
Status document_write_windows(const Document *document, const Conversation *conversation, const Sequence *list,
                              const WindowTexts *windows, Sink sink);

#endif
