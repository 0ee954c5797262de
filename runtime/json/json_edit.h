/*
** Edit: a message with some of its members replaced, removed or added; all
** other bytes as they were.
*/
#ifndef EBB_JSON_JSON_EDIT_H
#define EBB_JSON_JSON_EDIT_H

#include "base/buffer.h"
#include "base/text.h"

typedef struct MemberEdit {
  Text key;            /* plain */
  Text value;          /* JSON; size 0: the member is removed */
} MemberEdit;

/* Adds the edited object to `out`. `raw` is a valid JSON object. Keys that it
   lacks come last, in the order of the edits. STATUS_MEMORY. */
Status json_edit_members(Text raw, const MemberEdit *edits, uint32_t count, Buffer *out);

#endif
