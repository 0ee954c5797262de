/*
** Marks: named sets of messages, such as "pinned". They are not part of batches: edits
** and rollbacks do not change them.
**
** Sets have origins. The origin of a message is its own id, or if it replaced another
** message, the origin of that one (store_origin). So a replacement has the marks of the
** message that it replaced.
**
** Ownership: marks_share gives a second owner in O(1), which sees changes; before a change
** an owner calls marks_make_private. One thread at a time uses marks and their shares.
*/
#ifndef EBB_CORE_MARK_H
#define EBB_CORE_MARK_H

#include "core/message/message.h"

#define MARK_PINNED "pinned"

typedef struct Marks Marks;

Status marks_new(const Memory *memory, Marks **marks);     /* empty, with one owner. STATUS_MEMORY */
Marks *marks_share(Marks *marks);      /* the same marks, with one more owner */
void   marks_release(Marks *marks);    /* NULL is allowed */

/* Replaces *marks by a copy if they have another owner, so that a change is seen by this owner
   alone. STATUS_MEMORY: *marks is unchanged. */
Status marks_make_private(Marks **marks);

/* Applies to *ours the additions and removals that a fork has made: by which `theirs` differs from
   `base`, the marks at the fork, of which there are some. `last` is the newest message at the fork; those that the fork
   added later have got ids greater by `shift`, so `shift` is added to origins of `theirs` above
   `last`. STATUS_MEMORY: *ours is unchanged. */
Status marks_merge(Marks **ours, const Marks *base, const Marks *theirs, MessageId last, uint32_t shift);
/* Number of additions and removals ever made. A copy continues the count of its original, so
   that marks and an older copy of them are equal if the counts are. */
uint64_t marks_edits(const Marks *marks);
/* Removes the marks of all origins without a bit in `keep` (bit id % 64 of word id / 64), which
   has a bit for every message of the store. STATUS_MEMORY: *marks is unchanged. */
Status marks_retain(Marks **marks, const uint64_t *keep);

#define MARK_NONE UINT32_MAX

/* ---- sets; marks_add and marks_remove need marks with one owner (marks_make_private) ---- */

/* Adds an origin to a set, whose name is copied; no change if the set has it. STATUS_MEMORY. */
Status marks_add(Marks *marks, Text name, MessageId origin);
bool   marks_remove(Marks *marks, Text name, MessageId origin);     /* true if the set had it */
bool   marks_has(const Marks *marks, Text name, MessageId origin);
uint32_t marks_size(const Marks *marks, Text name);                 /* origins in a set */
/* Gives the next origin of a set, in no order; false at the end. Start with *at = 0; change no
   marks during the walk. */
bool     marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin);

/* The names in order of their first use, including names of empty sets. index < count; borrowed
   until the next change. */
uint32_t marks_name_count(const Marks *marks);
Text     marks_name(const Marks *marks, uint32_t index);
/* The indices of the names that an origin has, rising; MARK_NONE at the end. O(1) each. */
uint32_t marks_first(const Marks *marks, MessageId origin);
uint32_t marks_after(const Marks *marks, uint32_t index, MessageId origin);     /* the origin has that name */

#endif
