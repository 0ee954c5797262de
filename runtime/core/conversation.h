/*
** Conversation: store + history + marks + windows + counter. Everything above talks to it;
** operation.h edits it, draft.h trims it.
**
** Forks: a fork begins with all that its conversation has, shares it, and goes its
** own way; neither sees what the other does. A branch is a fork that may come back
** (merge_branch.h). All calls on a conversation and its forks come from one thread at a time.
*/
#ifndef EBB_CORE_CONVERSATION_H
#define EBB_CORE_CONVERSATION_H

#include "os/clock.h"
#include "core/cost.h"
#include "core/history.h"
#include "core/mark.h"
#include "core/unit.h"
#include "core/window.h"

typedef struct Conversation Conversation;

typedef struct ConversationConfig {
  Memory memory;
  Clock clock;
  Counter counter;
  HashKey hash_key;          /* secret: entropy_hash_key() where ids may be a stranger's */
} ConversationConfig;

Status   conversation_new(const ConversationConfig *config, Conversation **conversation);
Status   conversation_fork(Conversation *conversation, Conversation **fork);
void     conversation_free(Conversation *conversation);     /* NULL is allowed */

const Memory *conversation_memory(const Conversation *conversation);
Store   *conversation_store(const Conversation *conversation);
History *conversation_history(const Conversation *conversation);
const Marks *conversation_marks(const Conversation *conversation);
/* Marks a message by its origin, or takes the mark away. STATUS_MEMORY. */
Status   conversation_mark(Conversation *conversation, Text name, MessageId origin);
Status   conversation_unmark(Conversation *conversation, Text name, MessageId origin);
/* NULL: it never had one. */
const Windows *conversation_windows(const Conversation *conversation);
/* Puts a window (core/window.h). Its messages stay as they are, but what their items show
   may change, so drafts of the conversation no longer commit. STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_put_window(Conversation *conversation, const Window *fields);
const Counter *conversation_counter(const Conversation *conversation);
int64_t  conversation_now(const Conversation *conversation);      /* ms, by the host's clock */
const Message *conversation_message(const Conversation *conversation, MessageId id);

/* The visible messages; borrowed until the next edit. */
const Sequence *conversation_list(const Conversation *conversation);
/* Their units, made on first use and kept until the next edit; borrowed. */
Status   conversation_units(Conversation *conversation, const Units **units);
/* Grows with every edit. */
uint64_t conversation_version(const Conversation *conversation);

/* Tokens of a request with these messages: they, and `overhead`, which is what
   the request carries besides (the reply's priming, tool schemas). */
uint64_t conversation_tokens(const Conversation *conversation);
uint64_t conversation_overhead(const Conversation *conversation);
void     conversation_add_overhead(Conversation *conversation, Cost cost);
/* The overhead and the calibration of another, which has the same counter. */
void     conversation_charge_as(Conversation *conversation, const Conversation *other);
/* How far these can be trusted, for a list of the conversation. O(1), but O(n)
   where there are messages whose cost was guessed in part. */
Trust    conversation_trust(const Conversation *conversation, const Sequence *list);
/* The same by another counter, and an overhead that was guessed in part or not. */
Trust    conversation_trust_by(const Conversation *conversation, const Sequence *list, const Counter *counter,
                               bool guessed);

/* ---- other counters ---- */

/* The weights of a counter, with every message of the store counted; NULL is that of the first.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_token_weights(Conversation *conversation, const Counter *counter, TokenWeights **weights);
/* What the messages of a list would weigh by another counter, without overhead.
   Each message of the store is counted once per counter; then O(n) additions.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_count_by(Conversation *conversation, const Sequence *list, const Counter *counter,
                               uint64_t *tokens);
/* From now on that counter is the conversation's; `overhead` is what the request
   carries besides by it, less the reply's priming. The current list is weighed
   anew in O(n), other batches when they are looked at; forks stay as they are. */
Status   conversation_recount(Conversation *conversation, const Counter *counter, Cost overhead);
/* Makes a batch's list one of the conversation's store and weighed by its counter, as
   the current one is: before it is made current, or read by weight. */
Status   conversation_reweigh(Conversation *conversation, uint32_t batch);

/* ---- calibration ---- */

/* What providers reported for a request, over what was counted for it; never
   below 1. Weights stay as they are: it applies to totals of requests, and the
   other way round to budgets. reported 0: nothing was reported. */
typedef struct Calibration {
  uint64_t reported, counted;
} Calibration;

#define CALIBRATION_REPORT_MAX ((uint64_t)1 << 29)   /* tokens in one request */
#define CALIBRATION_RATIO_MAX  10                    /* more is no error of an estimate */

/* Learns what a request with the present messages cost. STATUS_ARGUMENT if the
   counter is no estimator; STATUS_RANGE for 0 and for reports beyond the limits. */
Status   conversation_calibrate(Conversation *conversation, uint64_t reported);
Calibration conversation_calibration(const Conversation *conversation);
uint64_t calibration_apply(Calibration calibration, uint64_t tokens);    /* rounded up */
/* The most tokens that calibration_apply makes no more than `budget`. */
uint64_t calibration_undo(Calibration calibration, uint64_t budget);

/* The tool description: a system message that is there at creation and after a
   clear. It is added to the list whenever no visible system message starts with
   `heading` (or with the seed's own heading). Copied. */
Status   conversation_set_tools(Conversation *conversation, Text heading, Text raw, const MessageShape *shape);

/* Appends it to the current list now, if that has none. STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status   conversation_describe_tools(Conversation *conversation);

/* Where new messages come from: `next` gives them one by one; *more = false at
   the end. What it gives is valid until it is called again. Any status but OK
   stops the operation, which then leaves no trace. */
typedef struct MessageSource {
  Status (*next)(void *user, bool *more, Text *raw, MessageShape *shape);
  void *user;
  bool adopted;              /* the bytes lie in a block that the store adopted */
} MessageSource;

/* ---- removing for good ---- */

/* The bytes of a message, to be overwritten so that spans stay (format/forget.h): in
   a branch a copy, whose changes reach the conversation with the join; else those
   that all forks share. STATUS_MEMORY. */
Status   conversation_redact(Conversation *conversation, MessageId id, char **bytes, size_t *size);

/* Lets go of all batches but the newest `keep`, the current one and those with a
   checkpoint, then of every message that no batch shows any more, and gives their
   memory back. Seqs stay. *pruned and *removed get how many went. O(all messages
   and batches). STATUS_MEMORY: nothing has changed. */
Status   conversation_compact(Conversation *conversation, uint32_t keep, uint32_t *pruned, uint32_t *removed);

/* ---- for what reads a conversation back, or joins two ---- */

/* Takes over marks in the place of its own. Cannot fail. */
void     conversation_take_marks(Conversation *conversation, Marks *marks);
/* The same for its history. */
void     conversation_take_history(Conversation *conversation, History *history);
/* The same for its windows; NULL: none. */
void     conversation_take_windows(Conversation *conversation, Windows *windows);
void     conversation_take_calibration(Conversation *conversation, Calibration calibration);
/* A message as it was stored once: its cost is counted, and nothing else looked for. `origin` is
   its own id, or an older message's that it stands for; `rank` NULL: where an appended one is. */
Status   conversation_restore_one(Conversation *conversation, Text raw, const MessageShape *shape, MessageId origin,
                                  const Rank *rank, MessageId *id);

/* ---- for operation.c and draft.c ---- */

/* Adds the messages of a source to the store and, at `position` on, to *list;
   counts, links. *added gets how many. Takes nothing back on failure: the
   caller rewinds the store and drops the list. */
Status   conversation_put(Conversation *conversation, Sequence **list, uint32_t position, MessageSource *source,
                          uint32_t *added);
/* Adds one message to the store in the place of `replaced` (0: none), weighed
   and linked as if it stood at `position` of `list`. */
Status   conversation_store_one(Conversation *conversation, const Sequence *list, uint32_t position, Text raw,
                                bool adopted, const MessageShape *shape, MessageId replaced, MessageId *id);
/* Appends the tool description to *list if it has none. */
Status   conversation_put_tools(Conversation *conversation, Sequence **list);
/* Makes *list the current batch, as a child of the one that was, weighed by the conversation's counter;
   takes list and ledger over on success. What policies remember stays as it was. */
Status   conversation_commit(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                             Ledger *ledger);
/* The same, with what policies remember from there on; NULL: as it was. */
Status   conversation_commit_with(Conversation *conversation, Sequence *list, BatchKind kind, Text description,
                                  Ledger *ledger, const Text *policy_memory);
/* What policies remember at the current batch, in the place of what they did (history_remember); an
   edit if that is something else. STATUS_MEMORY, STATUS_LIMIT. */
Status   conversation_remember(Conversation *conversation, Text policy_memory);
void     conversation_touch(Conversation *conversation);    /* the list has changed */

#endif
