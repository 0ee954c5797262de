/*
** Draft: a private fork in which a policy trims.
**
** All functions of a draft see an edit at once; draft_commit gives all edits to the
** conversation as one batch with its ledger. While guards are on, system messages,
** pinned messages, pending units (core/list/unit.h) and the last user message are neither
** dropped nor replaced, and dropping a message drops its unit. Without guards any
** message can be dropped alone, except those that draft_keep holds.
**
** Window items (core/list/window.h): the visible item of a window costs the tokens of its
** rendering, an obsolete one costs nothing. Dropping the visible item drops the obsolete
** items of its window too, because the newest of them would become visible.
**
** Slots: the messages of the list at the draft's start are numbered 0, 1, 2 ... A slot
** keeps its number when its message is dropped or replaced. After an insertion
** draft_number_slots numbers the present messages anew, so all slots, units and
** turns_after read before are stale:
**
**     slot     0        1        2        3         4
**     message  system   user     calls    result    user
**     hold     system   -        -        -         last user
**     state    present  dropped  present  replaced  present
**     list     system            calls    new one   user
**
** Every edit may return STATUS_MEMORY and STATUS_LIMIT (a sum beyond 2^32 - 1, or the
** store is full); other statuses are named at the function. A failed edit changes
** nothing. Words such as batch, ledger, unit, turn: docs/internals/words.md.
**
** Ownership: the conversation outlives its drafts. draft_commit refuses if the
** conversation was edited after the draft began.
*/
#ifndef EBB_CORE_DRAFT_H
#define EBB_CORE_DRAFT_H

#include "core/conversation.h"
#include "core/draft/evict_oldest.h"

typedef struct Draft Draft;

/* The reason why a message may not be dropped. HOLD_REQUESTED is set by draft_keep. */
typedef enum Hold {
  HOLD_NONE, HOLD_SYSTEM, HOLD_PINNED, HOLD_PENDING, HOLD_LAST_USER, HOLD_REQUESTED
} Hold;

const char *hold_reason(Hold hold);     /* "is a system message", ...; static */

/* Starts a draft of the current list; `guarded`: with guards. STATUS_MEMORY. */
Status   draft_new(Conversation *conversation, bool guarded, Draft **draft);
/* Counts the messages of a draft without edits and slots with another counter; `overhead`:
   tokens of the rest of the request, without those for priming the reply (core/message/cost.h), which
   are added. The batch of a commit is counted with the conversation's counter again. O(n);
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   draft_recount(Draft *draft, const Counter *counter, Cost overhead);
/* Sets the tokens of the visible windows of a draft without edits: tokens[i] is for
   windows_at(i); figures of other windows are ignored. STATUS_MEMORY. */
Status   draft_set_window_tokens(Draft *draft, const uint32_t *tokens);
/* Has thinking at positions [first, end) of the list weigh nothing, and after an edit all thinking behind the first
   changed message: the request will leave it out (draft_thinking.h). `tokens`: what [first, end) comes to, or
   NULL if it is to be counted. STATUS_MEMORY, STATUS_LIMIT; STATUS_ARGUMENT if it is more than the request has, and
   for a draft with edits. */
Status   draft_bind_thinking(Draft *draft, uint32_t first, uint32_t end, const uint64_t *tokens);
bool     draft_binds_thinking(const Draft *draft);
/* Looks again at what is changed: edits that undo each other leave no thinking out. STATUS_MEMORY, STATUS_LIMIT. */
Status   draft_settle_thinking(Draft *draft);
uint64_t draft_thinking_left(const Draft *draft);    /* tokens of bound thinking, which no sum has */
/* True if the message is an obsolete window item of the draft's first list. */
bool     draft_is_obsolete(const Draft *draft, MessageId id);
void     draft_free(Draft *draft);      /* NULL is allowed; discards edits without a commit */

/* Sets the author, the name under which the next edits are recorded; copied. STATUS_MEMORY. */
Status   draft_set_author(Draft *draft, Text author);
Text     draft_author(const Draft *draft);           /* borrowed until draft_set_author; at first empty */

/* The current list, borrowed until the next edit. O(log n) for each edit that waits, at most
   O(n) for all. STATUS_MEMORY, STATUS_LIMIT: the edits stay, and a later call may succeed. */
Status   draft_list(Draft *draft, const Sequence **list);
uint32_t draft_waiting(const Draft *draft);          /* how many edits wait for draft_list */
bool     draft_lost_messages(const Draft *draft);        /* messages were freed since: it can only be ended */
uint32_t draft_count(const Draft *draft);            /* messages of the current list */
uint32_t draft_unchanged_count(const Draft *draft);  /* messages of the first list that are still in it, unreplaced */
uint64_t draft_tokens(const Draft *draft);           /* of the request with the current list */
uint32_t draft_message_tokens(const Draft *draft, MessageId id);   /* of any message of the store, as it is sent */
uint64_t draft_overhead(const Draft *draft);         /* tokens of the request outside messages: tools and framing */
Trust    draft_trust(const Draft *draft);            /* how exact these tokens are */
uint64_t draft_tokens_before(const Draft *draft);    /* of the request before all edits */
/* The present messages that have a hold, and their tokens; numbers the slots if it must. STATUS_MEMORY: *guarded has
   no meaning then. */
Status   draft_guarded(Draft *draft, GuardedSum *guarded);
/* The same, without thinking that is left out once all other messages are gone. O(messages). STATUS_LIMIT, too. */
Status   draft_guarded_sent(Draft *draft, GuardedSum *guarded);
Ledger  *draft_ledger(const Draft *draft);           /* borrowed until draft_free */

/* Numbers of messages by what finally became of them: unchanged + dropped + replaced are
   those of the first list; inserted ones, without those dropped again, come on top. */
typedef struct EditCounts {
  uint32_t unchanged, dropped, replaced, inserted;
} EditCounts;

EditCounts draft_edit_counts(const Draft *draft);    /* O(runs of the ledger) */

/* ---- slots ---- */

/* Numbers the slots in the order of the list, as the queries of this section require. O(messages) once, and
   after insertions. STATUS_MEMORY, STATUS_LIMIT. */
Status   draft_number_slots(Draft *draft);
/* The same, but behind insertions slots may be out of order: for what looks at single messages and units. */
Status   draft_prepare_slots(Draft *draft);
uint32_t draft_slot_count(const Draft *draft);
const Units *draft_units(const Draft *draft);        /* a position is a slot; borrowed until the next insertion */
uint32_t draft_slot_of(const Draft *draft, MessageId id);      /* also of a replaced message; UNIT_NONE: no slot */
MessageId draft_slot_message(const Draft *draft, uint32_t slot);
/* Per slot, the number of turns that begin after it; borrowed until the next insertion.
   Dropping messages does not change it, so ages stay constant while a policy works. STATUS_MEMORY. */
Status   draft_turns_after(Draft *draft, const uint32_t **turns);
bool     draft_slot_is_dropped(const Draft *draft, uint32_t slot);
Hold     draft_slot_hold(const Draft *draft, uint32_t slot);   /* of the message or its unit */

/* ---- edits; draft_insert, draft_insert_all and draft_replace also return STATUS_HOST, and
   STATUS_ARGUMENT if the conversation got another store by a merge or a compaction ---- */

/* Drops messages, with their units while guards are on; all or none. A message that is named
   twice is dropped once. *freed gets the tokens. STATUS_GUARDED if one has a hold, which *hold
   gets; STATUS_RANGE if one is not in the list. *hold has no meaning after other statuses. */
Status   draft_drop(Draft *draft, const MessageId *ids, uint32_t count, Text reason, uint64_t *freed, Hold *hold);

/* Drops units without a hold, the oldest first, until the request has at most `target` tokens;
   never the newest `keep` units, and no more units than needed. If too few can be dropped, the
   request stays above the target: STATUS_OK, too. *dropped and *freed get messages and tokens. */
Status   draft_drop_oldest(Draft *draft, uint64_t target, uint32_t keep, Text reason, uint32_t *dropped,
                           uint64_t *freed);

/* Replaces a message by one with the same role, calls and results, else STATUS_ARGUMENT; a
   window item cannot be replaced: STATUS_ARGUMENT. *freed gets the tokens before minus those
   after, which may be negative. STATUS_RANGE, STATUS_GUARDED and *hold as in draft_drop. */
Status   draft_replace(Draft *draft, MessageId id, Text raw, const MessageShape *shape, Text reason, MessageId *new_id,
                       int64_t *freed, Hold *hold);

/* Inserts before the message at `position` of the current list, or behind the last one; beyond
   that STATUS_RANGE. STATUS_GUARDED for a window item, and while guards are on between the
   messages of a unit. */
Status   draft_insert(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason,
                      MessageId *new_id);
/* True if draft_insert of such a message costs O(log n), once the slots are prepared; else O(n): with calls or
   results, and for a user message while a unit is pending. */
bool     draft_inserts_fast(const Draft *draft, const MessageShape *shape);

/* Many messages to insert, each at its own place. */
typedef struct Insertion {
  uint32_t count;
  const uint32_t *places;    /* positions of the list before the insertion, ascending, each <= draft_count */
  MessageSource *source;     /* gives `count` messages; fewer: STATUS_ARGUMENT */
  MessageId *ids;            /* gets the ids; room for `count` */
} Insertion;

/* Inserts all messages or none. O(messages of the store + count log n). Statuses as in
   draft_insert, and those of the source. */
Status   draft_insert_all(Draft *draft, const Insertion *insertion, Text reason);

/* Counts the tokens that a message would add; the draft stays as it is. STATUS_MEMORY,
   STATUS_LIMIT, STATUS_HOST; STATUS_ARGUMENT as in the other edits. */
Status   draft_measure(Draft *draft, Text raw, const MessageShape *shape, uint32_t *tokens);

/* Holds a message and its unit for the rest of the draft, with guards and without. The ledger
   records the messages that had no hold before. STATUS_RANGE if it is not in the list. */
Status   draft_keep(Draft *draft, MessageId id, Text reason);

/* Makes the commit add a batch, even without edits. */
void     draft_always_commits(Draft *draft);
/* Commits the edits as one batch; without edits it adds no batch, unless that was asked for. *batch gets the batch
   that is current afterwards. `policy_memory`: what policies remember from here on
   (history_policy_memory); NULL: inherited. After success only draft_ledger and draft_free
   may follow. STATUS_ARGUMENT if the conversation was edited, or forgot, after the draft began; STATUS_MEMORY,
   STATUS_LIMIT. */
Status   draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch);

/* Asserts every invariant, for tests: O(slots + runs). */
void     draft_check(const Draft *draft);

#endif
