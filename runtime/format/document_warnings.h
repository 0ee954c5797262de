/*
** Warnings of a file that is read: what was kept although it is odd, and what a
** lenient reading mended or left out.
*/
#ifndef EBB_FORMAT_DOCUMENT_WARNINGS_H
#define EBB_FORMAT_DOCUMENT_WARNINGS_H

#include "base/text.h"
#include "json/source_position.h"

/* All but the first are errors unless the reading is lenient. */
typedef enum DocumentOddity {
  ODD_PART,                  /* a content part of a kind that nobody knows: kept */
  ODD_RECORD,                /* no message: left out */
  ODD_TEXT,                  /* invalid UTF-8 or a lone surrogate: now U+FFFD */
  ODD_KEY,                   /* a key that comes again: the last one is kept */
  ODD_ID                     /* an id that another message has: kept */
} DocumentOddity;

typedef struct DocumentWarning {
  DocumentOddity what;
  SourcePosition place;
  Text kind;                 /* of a part; or the key, or the id */
  Status status;             /* of a record: what was wrong, */
  const char *expected;      /* and what should have stood there; static */
} DocumentWarning;

typedef struct DocumentWarnings {
  Memory memory;
  DocumentWarning *list;
  uint32_t count, room;
} DocumentWarnings;

/* STATUS_MEMORY */
Status document_warn(DocumentWarnings *warnings, DocumentWarning warning);

#endif
