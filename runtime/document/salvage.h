/*
** Salvage: repairs a file before a lenient reading.
**
**     invalid UTF-8, a lone surrogate    replaced by U+FFFD
**     a duplicate of a known key         only the last one is kept
**     an element that is not a message   skipped
**     a line that is not a message       skipped
**
** All else stays an error: unknown roles, caps, and JSON that breaks off in an array or a
** body, where there is no safe place to continue.
**
** The file is scanned first, and copied only if something must change. The copy keeps
** segments of the file, some of them with replacements:
**
**     file      | unchanged | cut      | with U+FFFD | unchanged |
**     segments  | 0, clean  |          | 1, dirty    | 2, clean  |
*/
#ifndef EBB_DOCUMENT_SALVAGE_H
#define EBB_DOCUMENT_SALVAGE_H

#include "document/document.h"
#include "dialect/read/reader.h"

typedef struct SalvageSegment {
  size_t from, size;         /* in the file */
  size_t at;                 /* in the copy */
  bool dirty;
} SalvageSegment;

typedef struct Salvage {
  Memory memory;
  const char *bytes;         /* of the file; the caller's */
  size_t size;               /* of the copy */
  bool changed;              /* false: no copy is needed */
  SalvageSegment *segments;
  uint32_t count, room;
} Salvage;

/* Scans the file and warns about everything that the copy changes. STATUS_MEMORY. Call
   salvage_free in any case. */
Status salvage_scan(Salvage *salvage, Reader *reader, const char *bytes, size_t size, DocumentWarnings *warnings);
void   salvage_free(Salvage *salvage);

/* Writes the copy: `size` bytes. */
void   salvage_copy(const Salvage *salvage, char *out);

/* The offset in the file of a byte of the copy. */
size_t salvage_origin(const Salvage *salvage, size_t offset);

#endif
