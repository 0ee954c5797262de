/*
** Marks: named sets of messages, such as "pinned". They stand outside the
** batches: no edit and no rollback changes them. Messages are named by their
** origin, so that a replacement keeps the marks of what it replaced.
*/
#ifndef EBB_CORE_MARK_H
#define EBB_CORE_MARK_H

#include "core/message.h"

#define MARK_PINNED "pinned"

typedef struct Marks Marks;

Status marks_new(const Memory *memory, Marks **marks);
Marks *marks_share(Marks *marks);
void   marks_release(Marks *marks);    /* NULL is allowed */

/* Makes *marks its owner's alone, to be changed; another owner's stay as they are.
   STATUS_MEMORY. */
Status marks_own(Marks **marks);

/* Brings back what was done to `theirs` since both were `base`: what they added and
   removed. Of theirs, origins above `last` are greater by `shift` here. On failure
   *ours is as it was: STATUS_MEMORY. */
Status marks_merge(Marks **ours, const Marks *base, const Marks *theirs, MessageId last, uint32_t shift);
/* How often marks were added or removed, those included that copies had from the start. */
uint64_t marks_edits(const Marks *marks);
/* Removes the marks of all messages whose bit is not set in `keep` (bit id % 64 of
   word id / 64). STATUS_MEMORY. */
Status marks_retain(Marks **marks, const uint64_t *keep);

/* ---- below: only on marks with one owner, for what changes them ---- */

Status marks_add(Marks *marks, Text name, MessageId origin);
bool   marks_remove(Marks *marks, Text name, MessageId origin);     /* had it the mark? */
bool   marks_has(const Marks *marks, Text name, MessageId origin);
uint32_t marks_size(const Marks *marks, Text name);                 /* messages under a name */
/* Takes the next message under a name, in no order; false at the end. Start with
   *at = 0; nothing may be added or removed meanwhile. */
bool     marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin);

/* The names in order of their first use, also of sets that are empty again. */
uint32_t marks_name_count(const Marks *marks);
Text     marks_name(const Marks *marks, uint32_t index);

#endif
