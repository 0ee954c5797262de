/*
** Draft: a private fork in which a policy trims.
**
** Edits take effect at once for every reader of the draft, and reach the
** conversation as one batch with its ledger, or not at all. While guards hold,
** system messages, pinned ones, the pending units and the last user message are
** neither dropped nor replaced, and a dropped message takes its unit along.
**
** An item that names a window weighs what the window was rendered to, if it is the
** one that is shown, and nothing if it is obsolete. Dropping the one that is shown
** takes the obsolete ones along, or one of those would be shown in its place.
**
** A draft numbers the messages it began with: slots. A slot keeps its number
** while its message is dropped or replaced; an insert numbers all slots anew.
**
**     slot     0       1      2      3        4
**     message  system  user   calls  result   user
**     hold     system  -      -      -        last user
**     state    there   gone   there  replaced there      -> the list
**
** Ownership: the conversation outlives its drafts. If it is edited meanwhile,
** draft_commit refuses.
*/
#ifndef EBB_CORE_DRAFT_H
#define EBB_CORE_DRAFT_H

#include "core/conversation.h"

typedef struct Draft Draft;

/* Why a message stays. */
typedef enum Hold { HOLD_NONE, HOLD_SYSTEM, HOLD_PINNED, HOLD_PENDING, HOLD_LAST_USER, HOLD_KEPT } Hold;

const char *hold_reason(Hold hold);     /* "is a system message", ...; static */

Status   draft_new(Conversation *conversation, bool guarded, Draft **draft);
/* Weighs a draft that nobody has edited by another counter; `overhead` is what the
   request carries besides, less the reply's priming. What it becomes weighs by the
   conversation's own. O(n); STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   draft_weigh_by(Draft *draft, const Counter *counter, Cost overhead);
/* What the windows that are shown weigh, for a draft that nobody has edited: tokens[i] is for
   windows_at(i); those of others are not looked at. STATUS_MEMORY. */
Status   draft_weigh_windows(Draft *draft, const uint32_t *tokens);
/* Is there an item of a window that this message is, and is it obsolete? */
bool     draft_is_obsolete(const Draft *draft, MessageId id);
void     draft_free(Draft *draft);      /* NULL is allowed; nothing of it remains */

/* The name under which the next edits are recorded; copied. */
Status   draft_set_by(Draft *draft, Text by);
Text     draft_by(const Draft *draft);

/* The list as it is now; borrowed until the next edit. O(slots) after edits. */
Status   draft_list(Draft *draft, const Sequence **list);
bool     draft_is_settled(const Draft *draft);       /* no edit since: the list costs nothing */
uint32_t draft_count(const Draft *draft);            /* messages now */
uint32_t draft_untouched(const Draft *draft);        /* of those it began with: neither dropped nor replaced */
uint64_t draft_tokens(const Draft *draft);           /* of the request now */
uint32_t draft_weight(const Draft *draft, MessageId id);      /* of any message of the store */
uint64_t draft_overhead(const Draft *draft);         /* of the tokens, what is no message: tools and framing */
Trust    draft_trust(const Draft *draft);            /* of these */
uint64_t draft_tokens_before(const Draft *draft);
Status   draft_guarded_tokens(Draft *draft, uint64_t *tokens);   /* of a request with nothing but what guards hold */
Ledger  *draft_ledger(const Draft *draft);           /* borrowed */

/* Messages by what became of them in the end: kept + dropped + replaced are those
   that the draft began with; inserted ones come on top. O(runs of the ledger). */
typedef struct Fates {
  uint32_t kept, dropped, replaced, inserted;
} Fates;

Fates    draft_fates(const Draft *draft);

/* Slots are numbered on first need: before any of the queries below. Units are
   those of the list from which the slots were numbered. O(messages) once. */
Status   draft_number(Draft *draft);
uint32_t draft_slot_count(const Draft *draft);
const Units *draft_units(const Draft *draft);
uint32_t draft_slot_of(const Draft *draft, MessageId id);      /* or UNIT_NONE */
MessageId draft_slot_message(const Draft *draft, uint32_t slot);
/* Per slot, how many turns begin after it. Like the slots' numbers they do not
   change when messages are dropped: ages hold still while a policy works. */
Status   draft_turns_after(Draft *draft, const uint32_t **turns);
bool     draft_slot_is_gone(const Draft *draft, uint32_t slot);
Hold     draft_slot_hold(const Draft *draft, uint32_t slot);   /* its own, or its unit's */

/* Drops messages, with their units while guards hold; all or none. *freed gets
   the tokens. STATUS_GUARDED with *why if one is held; STATUS_RANGE if one is
   not there. */
Status   draft_drop(Draft *draft, const MessageId *ids, uint32_t count, Text reason, uint64_t *freed, Hold *why);

/* Drops units that nothing holds, the oldest first, until the request has at
   most `to` tokens; never the newest `keep` units. No more than needed. */
Status   draft_drop_oldest(Draft *draft, uint64_t to, uint32_t keep, Text reason, uint32_t *messages, uint64_t *freed);

/* Puts another message in the place of one; same role, calls and results, else
   STATUS_ARGUMENT. So for an item of a window, in whose place nothing comes. */
Status   draft_replace(Draft *draft, MessageId id, Text raw, const MessageShape *shape, Text reason, MessageId *new_id,
                       int64_t *freed, Hold *why);

/* Inserts at a position of the list, position <= count. STATUS_GUARDED between
   the messages of a unit, and for an item that names a window. */
Status   draft_insert(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason,
                      MessageId *new_id);

/* Many insertions as one; all or none. */
typedef struct Insertion {
  uint32_t count;
  const uint32_t *places;    /* positions of the list as it is, ascending, each <= its count */
  MessageSource *source;     /* gives `count` messages, else STATUS_ARGUMENT */
  MessageId *ids;              /* room for `count` */
} Insertion;

Status   draft_insert_all(Draft *draft, const Insertion *insertion, Text reason);

/* The tokens that such a message would add; nothing changes. */
Status   draft_measure(Draft *draft, Text raw, const MessageShape *shape, uint32_t *tokens);

/* Holds a message and its unit for the rest of the draft; what nothing held before
   the ledger tells. STATUS_RANGE, STATUS_MEMORY. */
Status   draft_keep(Draft *draft, MessageId id, Text reason);

/* Makes it one batch, or none if no message has changed; *batch gets the current
   one. What policies remember there is `policy_memory` (history_policy_memory); NULL: as
   it was. On success the draft is done: only draft_ledger and draft_free follow.
   STATUS_ARGUMENT if the conversation was edited since the draft began. */
Status   draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch);

#endif
