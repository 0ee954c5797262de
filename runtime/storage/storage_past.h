/*
** An earlier version of a session, read from the rows of a later one.
**
** Commits add rows, and replace few: parts, windows, and the growth and memory of the current batch. A reader of some
** rows of a version, who may need the others later, notes these few:
**
**     rows of version 7      p  w  g | m1 .. m90   b0 .. b2        p w g are noted in version 7
**     rows of version 9      p' w  g'| m1 .. m90   b0 .. b2   m91 m92
**
** The rows of version 9 without what is newer, with those that were noted in the place of their successors, are those
** of version 7, if they add up to its tally. Else a commit has replaced more, as a prune does.
*/
#ifndef EBB_STORAGE_STORAGE_PAST_H
#define EBB_STORAGE_STORAGE_PAST_H

#include "storage/storage.h"

typedef struct StoragePast {
  SessionInfo info;          /* of that version, without the name */
  uint64_t first, last;      /* numbers of the rows of its current batch that were noted */
  uint64_t own;              /* rows of batches from this number on were put by the reader */
  Buffer rows;               /* heads and bytes of the noted rows, in order */
} StoragePast;

void   storage_past_init(StoragePast *past, Memory memory);
void   storage_past_free(StoragePast *past);
/* Notes rows of a version in a look at it. `batch`: the current one. STATUS_MEMORY, and what `rows` gives. */
Status storage_past_note(StoragePast *past, const SessionInfo *info, uint32_t batch, StateRowSource rows);
/* Makes *to, which is empty, the same version. STATUS_MEMORY. */
Status storage_past_copy(StoragePast *to, const StoragePast *from);
/* Takes a row that a commit to the version puts: new messages and batches, and rows that are noted. STATUS_MEMORY. */
Status storage_past_put(StoragePast *past, const StateRow *row);
/* Makes *past the version after the commit of these rows. Cannot fail. */
void   storage_past_advance(StoragePast *past, const StorageCommit *commit);
/* Gives all rows of the version in order, as storage_read. CONFLICT, also after rows were given: later commits have
   replaced some; `error->actual` is the version now. A message that is shared with an origin, and was forgotten there,
   is given as it is now. */
Status storage_past_read(Storage *storage, const StoragePast *past, StateRowSink sink, StorageError *error);

#endif
