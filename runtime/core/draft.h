/*
** Draft: a private fork in which a policy trims.
**
** Every reader of the draft sees an edit at once; draft_commit gives all edits to the
** conversation as one batch with its ledger. While guards are on, system messages,
** pinned messages, pending units and the last user message are neither dropped nor
** replaced, and dropping a message drops its unit.
**
** A window item weighs the tokens of the window's rendering if it is visible, and
** nothing if it is obsolete. Dropping the visible item drops the obsolete items of its
** window too, because the newest of them would become visible.
**
** A draft numbers its first messages: slots. A slot keeps its number when its message
** is dropped or replaced; an insert renumbers all slots.
**
**     slot     0        1        2        3         4
**     message  system   user     calls    result    user
**     hold     system   -        -        -         last user
**     state    present  dropped  present  replaced  present      -> the list
**
** Ownership: the conversation outlives its drafts. draft_commit refuses if the
** conversation was edited after the draft began.
*/
#ifndef EBB_CORE_DRAFT_H
#define EBB_CORE_DRAFT_H

#include "core/conversation.h"

typedef struct Draft Draft;

/* The reason why a message may not be dropped. */
typedef enum Hold { HOLD_NONE, HOLD_SYSTEM, HOLD_PINNED, HOLD_PENDING, HOLD_LAST_USER, HOLD_KEPT } Hold;

const char *hold_reason(Hold hold);     /* "is a system message", ...; static */

/* Starts a draft of the current list; `guarded`: with guards. STATUS_MEMORY. */
Status   draft_new(Conversation *conversation, bool guarded, Draft **draft);
/* Recounts an unedited draft with another counter; `overhead`: tokens of the rest of the
   request, without the reply's priming. A commit counts with the conversation's counter
   again. O(n); STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   draft_weigh_by(Draft *draft, const Counter *counter, Cost overhead);
/* Sets the tokens of the visible windows of an unedited draft: tokens[i] is for windows_at(i);
   figures of other windows are ignored. STATUS_MEMORY. */
Status   draft_weigh_windows(Draft *draft, const uint32_t *tokens);
/* True if the message is an obsolete window item. */
bool     draft_is_obsolete(const Draft *draft, MessageId id);
void     draft_free(Draft *draft);      /* NULL is allowed; discards edits without a commit */

/* Sets the name under which the next edits are recorded; copied. STATUS_MEMORY. */
Status   draft_set_by(Draft *draft, Text by);
Text     draft_by(const Draft *draft);

/* The current list, borrowed until the next edit. O(slots) after edits. STATUS_MEMORY, STATUS_LIMIT. */
Status   draft_list(Draft *draft, const Sequence **list);
bool     draft_is_settled(const Draft *draft);       /* the list includes all edits: draft_list is O(1) */
uint32_t draft_count(const Draft *draft);            /* messages of the current list */
uint32_t draft_untouched(const Draft *draft);        /* first messages that were neither dropped nor replaced */
uint64_t draft_tokens(const Draft *draft);           /* of the request with the current list */
uint32_t draft_weight(const Draft *draft, MessageId id);      /* tokens of any message of the store */
uint64_t draft_overhead(const Draft *draft);         /* tokens of the request outside messages: tools and framing */
Trust    draft_trust(const Draft *draft);            /* in these tokens */
uint64_t draft_tokens_before(const Draft *draft);    /* of the request before all edits */
Status   draft_guarded_tokens(Draft *draft, uint64_t *tokens);   /* of a request with only the guarded messages */
Ledger  *draft_ledger(const Draft *draft);           /* borrowed */

/* Counts of messages by their final state: kept + dropped + replaced are the draft's
   first messages; inserted ones come on top. O(runs of the ledger). */
typedef struct Fates {
  uint32_t kept, dropped, replaced, inserted;
} Fates;

Fates    draft_fates(const Draft *draft);

/* Numbers the slots; required before every query below. O(messages) once. STATUS_MEMORY. */
Status   draft_number(Draft *draft);
uint32_t draft_slot_count(const Draft *draft);
const Units *draft_units(const Draft *draft);        /* of the slots */
uint32_t draft_slot_of(const Draft *draft, MessageId id);      /* or UNIT_NONE */
MessageId draft_slot_message(const Draft *draft, uint32_t slot);
/* Per slot, the number of turns that begin after it. Dropping messages does not change
   it, so ages stay constant while a policy works. STATUS_MEMORY. */
Status   draft_turns_after(Draft *draft, const uint32_t **turns);
bool     draft_slot_is_gone(const Draft *draft, uint32_t slot);
Hold     draft_slot_hold(const Draft *draft, uint32_t slot);   /* of the message or its unit */

/* Drops messages, with their units while guards are on; all or none. *freed gets the
   tokens. STATUS_GUARDED with *why if one has a hold; STATUS_RANGE if one is not in the
   list; STATUS_MEMORY. */
Status   draft_drop(Draft *draft, const MessageId *ids, uint32_t count, Text reason, uint64_t *freed, Hold *why);

/* Drops units without a hold, the oldest first, until the request has at most `to`
   tokens; never the newest `keep` units, and no more units than needed. STATUS_MEMORY. */
Status   draft_drop_oldest(Draft *draft, uint64_t to, uint32_t keep, Text reason, uint32_t *messages, uint64_t *freed);

/* Replaces a message by one with the same role, calls and results. STATUS_ARGUMENT if those
   differ, and for a window item; STATUS_RANGE, STATUS_GUARDED as draft_drop; STATUS_MEMORY,
   STATUS_LIMIT, STATUS_HOST. */
Status   draft_replace(Draft *draft, MessageId id, Text raw, const MessageShape *shape, Text reason, MessageId *new_id,
                       int64_t *freed, Hold *why);

/* Inserts at a position of the list, position <= count, else STATUS_RANGE. STATUS_GUARDED
   between the messages of a unit, and for a window item. */
Status   draft_insert(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason,
                      MessageId *new_id);

/* Many insertions as one; all or none. */
typedef struct Insertion {
  uint32_t count;
  const uint32_t *places;    /* positions of the list before the insertion, ascending, each <= its count */
  MessageSource *source;     /* returns `count` messages, else STATUS_ARGUMENT */
  MessageId *ids;              /* room for `count` */
} Insertion;

Status   draft_insert_all(Draft *draft, const Insertion *insertion, Text reason);

/* Counts the tokens that a message would add; the draft stays as it is. */
Status   draft_measure(Draft *draft, Text raw, const MessageShape *shape, uint32_t *tokens);

/* Holds a message and its unit for the rest of the draft. The ledger records the messages
   that had no hold before. STATUS_RANGE, STATUS_MEMORY. */
Status   draft_keep(Draft *draft, MessageId id, Text reason);

/* Commits the edits as one batch, or as none if no message has changed; *batch gets the
   current batch. `policy_memory`: its memory of policies (history_policy_memory); NULL:
   inherited. After success only draft_ledger and draft_free may follow.
   STATUS_ARGUMENT if the conversation was edited after the draft began. */
Status   draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch);

/* Asserts every invariant, for tests: O(slots + runs). */
void     draft_check(const Draft *draft);

#endif
