/*
** The state of a reading of a document, and what its steps share: where a byte stands in the file, warnings, ids.
** Internal to document.c and document_loader.c.
*/
#ifndef EBB_DOCUMENT_DOCUMENT_LOADER_H
#define EBB_DOCUMENT_DOCUMENT_LOADER_H

#include "base/map.h"
#include "document/document.h"
#include "document/salvage.h"

/* Bytes that the file does not have. */
typedef struct Inserted {
  size_t at, size;
} Inserted;

typedef struct DocumentLoader {
  Conversation *conversation;
  Reader reader;
  Document *document;
  DocumentWarnings *warnings;
  Map ids;                   /* hash of a message's id -> its seq */
  Map kinds;                 /* hash of an unknown part's type -> 1 */
  const char *bytes, *end;   /* of the file, or of its salvaged copy */
  DocumentComing coming;     /* wait not NULL: bytes are still being read, and the cursor ends where they do */
  bool lenient;
  Salvage salvage;                 /* of a lenient reading, else empty */
  bool copied;               /* `bytes` are a copy of the file's, owned by the store */
  const char *file_end;      /* of the file itself, once all of it is read */
  SourceWalk walk;            /* over the file itself, at the last warning */
  const char *value;         /* start of the line's value (JSONL) or of the file; paths start here */
  Json json;
  const char *last_end;      /* behind the last message read; NULL before the first */
  bool started;              /* the cursor is before a message */
  Text member;               /* of a body: the key of its messages */
  JsonValue single;          /* of a body: what it has instead of a list; bytes NULL: a list */
  const DocumentMessages *messages;    /* of an empty list; or NULL */
  MessageId lent;            /* the last one of those, if it need not be read again; else 0 */
  Inserted opening;          /* such a value was made a list by these; size 0: it was not */
  Inserted closing;          /* its offset is that before the opening was inserted */
} DocumentLoader;

/* The position in the file itself of a byte that was read. */
const char *document_origin(const DocumentLoader *loader, const char *at);
/* Checks that the id, which stands at `where`, is unique in the file; a lenient reading only warns. False: the cursor
   has the error; here and below. */
bool   document_check_id(DocumentLoader *loader, Text id, const char *where);
bool   document_shape_id(Text raw, const MessageShape *shape, Text *id);      /* false if the message has no id */
/* Warns once about each unknown type of part. Parts without a type, and calls, results, images and files in the form
   of another program are STATUS_SHAPE. */
bool   document_check_parts(DocumentLoader *loader, Text raw, const MessageShape *shape);
/* Appends all messages of a source. STATUS_MEMORY and those of the source. */
Status document_append_from(DocumentLoader *loader, MessageSource *source);

/* Appends the loader's `messages` to a list that has none in the text: those of another conversation, or other texts.
   Status of the reader; STATUS_DUPLICATE. */
Status document_load_apart(DocumentLoader *loader);

#endif
