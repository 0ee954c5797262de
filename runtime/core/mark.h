/*
** Marks: named sets of messages, such as "pinned". They are not part of batches: edits
** and rollbacks do not change them. Sets hold origins, so that a replacement keeps the
** marks of the message it replaced.
*/
#ifndef EBB_CORE_MARK_H
#define EBB_CORE_MARK_H

#include "core/message.h"

#define MARK_PINNED "pinned"

typedef struct Marks Marks;

Status marks_new(const Memory *memory, Marks **marks);
Marks *marks_share(Marks *marks);
void   marks_release(Marks *marks);    /* NULL is allowed */

/* Replaces *marks by a copy if they have another owner, so that they can be changed.
   STATUS_MEMORY. */
Status marks_own(Marks **marks);

/* Applies to *ours the additions and removals by which `theirs` differs from `base`. Adds
   `shift` to origins above `last`. On failure *ours is unchanged: STATUS_MEMORY. */
Status marks_merge(Marks **ours, const Marks *base, const Marks *theirs, MessageId last, uint32_t shift);
/* Number of additions and removals, including those before a copy. */
uint64_t marks_edits(const Marks *marks);
/* Removes the marks of all origins without a bit in `keep` (bit id % 64 of word id / 64).
   STATUS_MEMORY. */
Status marks_retain(Marks **marks, const uint64_t *keep);

/* ---- sets; marks_add and marks_remove need marks with one owner ---- */

Status marks_add(Marks *marks, Text name, MessageId origin);        /* STATUS_MEMORY */
bool   marks_remove(Marks *marks, Text name, MessageId origin);     /* true if it had the mark */
bool   marks_has(const Marks *marks, Text name, MessageId origin);
uint32_t marks_size(const Marks *marks, Text name);                 /* messages under a name */
/* Gives the next origin under a name, in no order; false at the end. Start with *at = 0;
   change no marks during the walk. */
bool     marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin);

/* The names in order of their first use, including names of empty sets. index < count */
uint32_t marks_name_count(const Marks *marks);
Text     marks_name(const Marks *marks, uint32_t index);

#endif
