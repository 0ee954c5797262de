/*
** Bound thinking of a draft: what a request will leave out, so that it weighs nothing.
**
** Some models bind thinking to all that stands before it (dialect/bound_thinking.h). The first
** edit of a draft therefore frees more than its own tokens: the thinking behind it, too.
**
**     list            s  u  a* u  a* u  a* u        * thinking
**     after a drop    s        a  u  a  u  a  u     all thinking behind the drop weighs 0
**     thoughts              0     1     2           `from` is the first that is left out: 0
**
** Thoughts are listed at the first edit, in the order of the list. Slots are numbered anew in
** the same order, so the thoughts follow them. Thinking of messages that a policy inserts is
** not listed: it keeps its weight.
*/
#ifndef EBB_CORE_DRAFT_THINKING_H
#define EBB_CORE_DRAFT_THINKING_H

#include "core/draft/draft.h"

typedef struct Thought {
  uint32_t slot;
  uint32_t tokens;
} Thought;

typedef struct DraftThinking {
  bool is_bound;             /* draft_bind_thinking was called */
  bool is_listed;
  uint32_t first, end;       /* positions of the draft's first list whose thinking is left out before any edit */
  uint64_t at_start;         /* tokens of these */
  Thought *list;
  uint32_t count, room;
  uint32_t from;             /* after an edit, thoughts from here on are left out */
  uint64_t left;             /* tokens of those of them that are in the list */
} DraftThinking;

/* What an edit that fails puts back. */
typedef struct ThinkingMark {
  uint32_t from;
  uint64_t left;
} ThinkingMark;

/* Lists the thoughts; required before an edit. O(messages) once. STATUS_MEMORY, STATUS_LIMIT. */
Status draft_list_thoughts(Draft *draft);
/* The message of the slot is about to change: what stands behind it is left out. */
void   draft_leave_thoughts(Draft *draft, uint32_t slot);
/* The message of the slot leaves the list. */
void   draft_drop_thought(Draft *draft, uint32_t slot);
/* Makes room for a thought of a message that replaces another, and counts it. STATUS_MEMORY, STATUS_LIMIT. */
Status draft_weigh_thought(Draft *draft, MessageId id, uint32_t *tokens);
/* Gives the slot the thought of its new message; 0 tokens: it has none. */
void   draft_put_thought(Draft *draft, uint32_t slot, uint32_t tokens);
/* Before and after the slots get other numbers: between them, `slot` of a thought is an id. */
void   draft_unplace_thoughts(Draft *draft);
void   draft_place_thoughts(Draft *draft);
/* Tokens of the request that are left out, of the whole list and of one message. */
uint64_t draft_thinking_left(const Draft *draft);
uint32_t draft_thought_left(const Draft *draft, MessageId id);
/* The first thought of a slot that is not before `slot`; the count if there is none. */
uint32_t thinking_lower_bound(const DraftThinking *thinking, uint32_t slot);
/* The first thought that any edit leaves out, since earlier batches have changed what stands before it. */
uint32_t thinking_first_of_start(const DraftThinking *thinking);
/* Leaves the thoughts from this one on out. */
void   thinking_leave_from(Draft *draft, uint32_t thought);
void   draft_free_thoughts(Draft *draft);
/* Asserts the sums. */
void   draft_check_thoughts(const Draft *draft);

#endif
