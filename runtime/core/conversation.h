/*
** Conversation: store + history + marks + windows + counter, the interface for all layers
** above. operation.h edits it, draft.h trims it.
**
** Forks: a fork starts with everything its conversation has and shares it. Later edits of
** either are invisible to the other. A branch is a fork that can be merged back
** (merge_branch.h). Only one thread at a time may use a conversation and its forks.
**
** Words such as batch, mark, unit, overhead: docs/internals/words.md.
*/
#ifndef EBB_CORE_CONVERSATION_H
#define EBB_CORE_CONVERSATION_H

#include "os/os.h"
#include "core/list/call_index.h"
#include "core/message/cost.h"
#include "core/history/history.h"
#include "core/message/mark.h"
#include "core/list/unit.h"
#include "core/list/window.h"

typedef struct Conversation Conversation;
/* Overwrites the text of a message in place: the same number of bytes, and spans into them stay valid. */
typedef void (*Redact)(char *raw, size_t size);

typedef struct ConversationConfig {
  Memory memory;
  Clock clock;
  Counter counter;
  HashKey hash_key;          /* secret: entropy_hash_key() where ids may be a stranger's */
} ConversationConfig;

/* Creates a conversation with an empty batch 0. STATUS_MEMORY. */
Status   conversation_new(const ConversationConfig *config, Conversation **conversation);
/* Creates an independent conversation that shares the state of this one. STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_fork(Conversation *conversation, Conversation **fork);
/* Exchanges what a conversation has for what its unedited fork has: an undo of all edits since the fork, except
   redactions, whose bytes both share. Branches of the conversation from before the fork can be merged as before.
   Cannot fail; the fork can only be freed then. (forget.c) */
void     conversation_exchange(Conversation *conversation, Conversation *fork);
void     conversation_free(Conversation *conversation);     /* NULL is allowed */

/* Its parts; borrowed as long as the conversation lives, history, marks and windows until the next
   function here that changes them. */
const Memory *conversation_memory(const Conversation *conversation);
Store   *conversation_store(const Conversation *conversation);
History *conversation_history(const Conversation *conversation);
const Marks *conversation_marks(const Conversation *conversation);
/* Adds or removes a mark (core/message/mark.h); no change if the message has it, or lacks it. Not an edit:
   the version stays. STATUS_MEMORY, both. */
Status   conversation_mark(Conversation *conversation, Text name, MessageId origin);
Status   conversation_unmark(Conversation *conversation, Text name, MessageId origin);
/* NULL if it never had a window. */
const Windows *conversation_windows(const Conversation *conversation);
/* Adds or replaces a window (windows_put). The messages stay as they are, but their items
   may render differently, so open drafts can no longer commit. STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_put_window(Conversation *conversation, const Window *fields);
const Counter *conversation_counter(const Conversation *conversation);
int64_t  conversation_now(const Conversation *conversation);      /* ms, from the host's clock */
const Message *conversation_message(const Conversation *conversation, MessageId id);

/* The visible messages; borrowed until the next edit. */
const Sequence *conversation_list(const Conversation *conversation);
/* Their units, computed on first use and cached until the next edit; borrowed. STATUS_MEMORY. */
Status   conversation_units(Conversation *conversation, const Units **units);
/* A number that every edit increases. */
uint64_t conversation_version(const Conversation *conversation);

/* Tokens of a request with the visible messages: theirs, and `overhead` for everything
   else in the request (the reply's priming, tool schemas). */
uint64_t conversation_tokens(const Conversation *conversation);
uint64_t conversation_overhead(const Conversation *conversation);
/* `cost`: of the rest of the request, without the priming. */
void     conversation_set_overhead(Conversation *conversation, Cost cost);
/* Copies overhead and calibration of another conversation with the same counter. */
void     conversation_charge_as(Conversation *conversation, const Conversation *other);
/* How exact the token count of a list is with the active counter, overhead included. O(1); O(n) if
   the store has messages whose cost is partly a guess. */
Trust    conversation_trust(const Conversation *conversation, const Sequence *list);
/* The same for another counter; `guessed`: part of the overhead is a guess. */
Trust    conversation_trust_by(const Conversation *conversation, const Sequence *list, const Counter *counter,
                               bool guessed);
/* The index of the first message from `from` on (at most the count) of whose cost a part is a guess; the count
   if there is none. The counter has counted all messages. O(count - from), O(1) if nothing stored is a guess. */
uint32_t conversation_next_guess(const Conversation *conversation, const Sequence *list, const Counter *counter,
                                 uint32_t from);
/* True if a part of what the request has outside of its messages, such as tools, is a guess. */
bool     conversation_overhead_is_guess(const Conversation *conversation);

/* ---- other counters ---- */

/* Token weights under a counter, with every message of the store counted; NULL for the first
   counter, whose weights the messages hold. STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_token_weights(Conversation *conversation, const Counter *counter, TokenWeights **weights);
/* Counts the messages of a list with another counter, without overhead. Each message of
   the store is counted once per counter; then O(n) additions.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_count_by(Conversation *conversation, const Sequence *list, const Counter *counter,
                               uint64_t *tokens);
/* Makes the counter the active one. `overhead`: tokens of the rest of the request under it,
   without those for priming the reply (core/message/cost.h), which are added. Recounts the current
   list in O(n), other batches on first use; forks stay as they are.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_recount(Conversation *conversation, const Counter *counter, Cost overhead);
/* Recounts a batch with the active counter, and moves its list to the conversation's store.
   Call it before the batch becomes current and before its weights are read.
   STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_reweigh(Conversation *conversation, uint32_t batch);

/* ---- calibration ---- */

/* Ratio of the tokens that a provider reported for a request to the tokens counted for
   it, never below 1. It scales totals of requests, and its inverse budgets; weights of
   messages stay. reported 0: no report yet. */
typedef struct Calibration {
  uint64_t reported, counted;
} Calibration;

#define CALIBRATION_REPORT_MAX ((uint64_t)1 << 29)   /* tokens in one request */
#define CALIBRATION_RATIO_MAX  10                    /* larger ratios are rejected as implausible */

/* Takes the provider's report for a request with the visible messages. STATUS_ARGUMENT if the
   counter is not an estimator; STATUS_RANGE for 0 and for reports beyond the limits. */
Status   conversation_calibrate(Conversation *conversation, uint64_t reported);
Calibration conversation_calibration(const Conversation *conversation);
uint64_t calibration_apply(Calibration calibration, uint64_t tokens);    /* rounded up */
/* The most tokens for which calibration_apply returns at most `budget`. */
uint64_t calibration_undo(Calibration calibration, uint64_t budget);

/* Sets the tool description: a system message that creation and each clear add to the
   list unless a visible system message starts with `heading` (or with the heading of
   older files). Copied. Call it once. STATUS_MEMORY. */
Status   conversation_set_tools(Conversation *conversation, Text heading, Text raw, const MessageShape *shape);

/* Appends the tool description to the current list unless that has one. STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_describe_tools(Conversation *conversation);
/* True if a message of the current list describes the tools that were set. O(system messages). */
bool     conversation_has_tools(const Conversation *conversation);

/* A source of new messages: `next` returns them one by one, valid until its next call,
   and sets *more = false at the end. Any status but OK stops the operation, which then
   leaves no trace. */
typedef struct MessageSource {
  Status (*next)(void *user, bool *more, Text *raw, MessageShape *shape);
  void *user;
  bool adopted;              /* the bytes lie in a block that the store adopted (store_adopt) */
  /* For operation_append alone: a conversation whose bytes this one shares (conversation_share_bytes), and where
     `next` names one of its messages to add instead of *raw and *shape; 0: those. NULL: it names none. */
  const Conversation *lender;
  const MessageId *borrowed;
} MessageSource;

/* Has an empty conversation share the bytes of another one, for messages to borrow. It never overwrites them, as
   branches do not: what it redacts gets bytes of its own. */
void     conversation_share_bytes(Conversation *conversation, const Conversation *lender);

/* ---- removing for good ---- */

/* How often what came of a message was forgotten here. It is no edit: forks that share the message forget, too. */
uint64_t conversation_forgettings(const Conversation *conversation);

/* Gives the bytes of a message for overwriting in place (document/redact.h): in a branch a
   copy, whose changes reach the conversation with the merge; else the bytes that all
   forks share. conversation_settle_redactions ends it. STATUS_MEMORY. */
Status   conversation_redact(Conversation *conversation, MessageId id, char **bytes, size_t *size);

/* Ends what calls of conversation_redact prepared: `keeps`: the copies are overwritten; else a branch shares the bytes
   of these messages again. Cannot fail. */
void     conversation_settle_redactions(Conversation *conversation, bool keeps);

/* The messages that conversation_redact gave the bytes of in a branch, in order, each once; *ids is borrowed until the
   next one. */
uint32_t conversation_redacted(const Conversation *branch, const MessageId **ids);
/* True if conversation_compact changed anything since the conversation was created, or forked. */
bool     conversation_is_compacted(const Conversation *conversation);
/* How often bytes of messages were overwritten or freed, here and in merged branches, since the conversation was
   created or forked. */
uint64_t conversation_removals(const Conversation *conversation);

/* Prunes all batches but the newest `keep`, the current one and those with a checkpoint,
   then frees every message that no remaining batch shows. Seqs stay. *pruned and
   *removed get the numbers of batches and messages. O(all messages and batches).
   STATUS_MEMORY: nothing has changed. */
Status   conversation_compact(Conversation *conversation, uint32_t keep, uint32_t *pruned, uint32_t *removed);

/* ---- for reading saved state, and for merging a branch ---- */

/* Gives a message the marks of another one in *marks; NULL: in a copy of the conversation's, which *marks gets if the
   other one has marks. STATUS_MEMORY. */
Status   conversation_copy_marks(const Conversation *conversation, Marks **marks, MessageId from, MessageId to);
/* Replace marks, history or windows (NULL: none), and take the new ones over. Cannot fail. */
void     conversation_take_marks(Conversation *conversation, Marks *marks);
void     conversation_take_history(Conversation *conversation, History *history);
void     conversation_take_windows(Conversation *conversation, Windows *windows);
void     conversation_take_calibration(Conversation *conversation, Calibration calibration);
/* Restores a message from saved state: counts its tokens, does not link its results. `origin`: its
   own id, or that of the older message that it replaces; `rank` NULL: that of an appended message.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST: the message may be added; the caller drops the conversation. */
Status   conversation_restore_one(Conversation *conversation, Text raw, const MessageShape *shape, MessageId origin,
                                  const Rank *rank, MessageId *id);

/* ---- for operation.c and draft.c: functions that add to the store return STATUS_MEMORY, STATUS_LIMIT
   (the store is full, a sum exceeds 2^32 - 1, a message costs too much) and STATUS_HOST ---- */

/* Adds the messages of a source to the store and, from `position` on, to *list; counts
   and links them. *added gets their number. Also returns the statuses of the source. Undoes
   nothing on failure: the caller rewinds the store and releases the list. */
Status   conversation_put(Conversation *conversation, Sequence **list, uint32_t position, MessageSource *source,
                          uint32_t *added);
/* The future place of a new message. `calls`: the index of a series of edits at places that do
   not fall, which the caller keeps up to date about other edits; NULL: a single edit. */
typedef struct Place {
  const Sequence *list;
  uint32_t position;
  MessageId replaced;        /* the message at the position, which the new one replaces; 0: none */
  CallIndex *calls;
  const CallLink *links;     /* what its results answer, one for each; NULL: it is found */
} Place;

/* Adds one message to the store and counts it for a list; its results answer no calls. Undoes
   nothing on failure. */
Status   conversation_weigh_one(Conversation *conversation, const Sequence *list, Text raw, bool adopted,
                                const MessageShape *shape, MessageId *id);
/* Adds a message of a conversation whose bytes this one shares, as if it was read again; it is counted again only if
   the other one counted otherwise. The place is the end of its list. Undoes nothing on failure. */
Status   conversation_borrow_one(Conversation *conversation, const Place *place, const Conversation *lender,
                                 MessageId borrowed, MessageId *id);
/* The same, and links and ranks it for its place. */
Status   conversation_store_one(Conversation *conversation, const Place *place, Text raw, bool adopted,
                                const MessageShape *shape, MessageId *id);
/* Appends the tool description to *list unless that has one. Undoes nothing on failure. */
Status   conversation_put_tools(Conversation *conversation, Sequence **list);
/* Makes `list` the current batch, a child of the one before, counted with the active counter.
   Takes over list and ledger on success. The batch inherits the policy memory. STATUS_MEMORY,
   STATUS_LIMIT. */
Status   conversation_commit(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                             Ledger *ledger);
/* The same with another policy memory, which is copied; NULL: inherited. STATUS_LIMIT also beyond
   POLICY_MEMORY_MAX. */
Status   conversation_commit_with(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                                  Ledger *ledger, const Text *policy_memory);
/* Replaces the policy memory of the current batch (history_remember); counts as an edit if the
   text differs. STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_remember(Conversation *conversation, Text policy_memory);
void     conversation_touch(Conversation *conversation);    /* after each change of the list: next version */

/* Asserts every invariant of its parts, for tests: O(all messages of all batches). */
void     conversation_check(const Conversation *conversation);

#endif
