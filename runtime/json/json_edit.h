/*
** JSON edit: replaces, removes and adds members of an object. All other bytes stay.
*/
#ifndef EBB_JSON_JSON_EDIT_H
#define EBB_JSON_JSON_EDIT_H

#include "base/buffer.h"
#include "base/text.h"

#define JSON_EDITS_MAX 64

typedef struct MemberEdit {
  Text key;            /* plain */
  Text value;          /* JSON; size 0: the member is removed */
} MemberEdit;

/* Adds the edited object to `out`. `raw` is a valid JSON object. New members come last,
   in the order of the edits; count <= JSON_EDITS_MAX. STATUS_MEMORY. */
Status json_edit_members(Text raw, const MemberEdit *edits, uint32_t count, Buffer *out);

#endif
