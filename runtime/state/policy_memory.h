/*
** Policy memory: merges two JSON objects that have a member for each policy or pipeline, name by name.
**
**     merge_memories_by_name({"a":1}, {"a":1,"b":2}, {"a":3})      {"a":3,"b":2}
*/
#ifndef EBB_STATE_POLICY_MEMORY_H
#define EBB_STATE_POLICY_MEMORY_H

#include "base/buffer.h"
#include "base/text.h"

#define MEMORY_NAMES_MAX 128   /* objects with more names are one value: an edit of both is a conflict */

/* A MergeMemories (core/merge_branch.h). Empty texts are objects without names, in `merged` too; names that
   were added come before the first greater one. STATUS_MEMORY. */
Status merge_memories_by_name(Text base, Text ours, Text theirs, Buffer *merged, bool *conflict);

#endif
