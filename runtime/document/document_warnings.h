/*
** Warnings about a file: oddities that were kept, and what a lenient reading mended or
** skipped.
*/
#ifndef EBB_DOCUMENT_DOCUMENT_WARNINGS_H
#define EBB_DOCUMENT_DOCUMENT_WARNINGS_H

#include "base/text.h"
#include "json/source_position.h"

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

#endif
