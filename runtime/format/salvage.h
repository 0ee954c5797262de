/*
** Salvage: what a lenient reading makes of a file before it is read.
**
**     invalid UTF-8, a lone surrogate    U+FFFD in its place
**     a key of ours that comes again     only the last one stays
**     an element that is no message      left out
**     a line that is no message          left out
**
** Nothing else is touched: unknown roles, caps, and JSON that breaks off in an
** array or a body, where there is no safe place to go on, are errors still.
**
** A file is first looked through; only if something is to be mended a copy is
** made. Of the file the copy keeps segments, some of them with other texts:
**
**     file      | as it was | left out | with U+FFFD | as it was |
**     segments  | 0, clean  |          | 1, dirty    | 2, clean  |
*/
#ifndef EBB_FORMAT_SALVAGE_H
#define EBB_FORMAT_SALVAGE_H

#include "format/document_warnings.h"
#include "format/reader.h"

typedef struct SalvageSegment {
  size_t from, size;         /* in the file */
  size_t at;                 /* in the copy */
  bool dirty;
} SalvageSegment;

typedef struct Salvage {
  Memory memory;
  const char *bytes;         /* of the file; the caller's */
  size_t size;               /* of the copy */
  bool changed;              /* else no copy is needed */
  SalvageSegment *segments;
  uint32_t count, room;
} Salvage;

/* Looks through the file and warns of all that is to be mended. STATUS_MEMORY;
   salvage_free either way. */
Status salvage_scan(Salvage *mend, Reader *reader, const char *bytes, size_t size, DocumentWarnings *warnings);
void   salvage_free(Salvage *mend);

/* Writes the copy: `size` bytes. */
void   salvage_copy(const Salvage *mend, char *out);

/* Where in the file a byte of the copy was. */
size_t salvage_origin(const Salvage *mend, size_t offset);

#endif
