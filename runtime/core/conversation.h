/*
** Conversation: store + history + marks + counter. Everything above talks to it;
** operation.h edits it, draft.h trims it.
**
** Ownership: a fork shares the store; everything else is its own. All calls on
** a conversation and its forks come from one thread at a time.
*/
#ifndef EBB_CORE_CONVERSATION_H
#define EBB_CORE_CONVERSATION_H

#include "base/clock.h"
#include "core/cost.h"
#include "core/history.h"
#include "core/mark.h"
#include "core/unit.h"

typedef struct Conversation Conversation;

typedef struct ConversationConfig {
  Memory memory;
  Clock clock;
  Counter counter;
  HashKey hash_key;          /* secret: hash_key_system() where ids may be a stranger's */
} ConversationConfig;

Status   conversation_new(const ConversationConfig *config, Conversation **conversation);
Status   conversation_fork(Conversation *conversation, Conversation **fork);
void     conversation_free(Conversation *conversation);     /* NULL is allowed */
/* Each becomes what the other was, in the eyes of who holds a pointer to it;
   drafts of either no longer commit. */
void     conversation_swap(Conversation *conversation, Conversation *other);

const Memory *conversation_memory(const Conversation *conversation);
Store   *conversation_store(const Conversation *conversation);
History *conversation_history(const Conversation *conversation);
Marks   *conversation_marks(const Conversation *conversation);
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
void     conversation_add_overhead(Conversation *conversation, uint32_t tokens);

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
/* Makes *list the current batch, as a child of the one that was; takes list and ledger over on success. */
Status   conversation_commit(Conversation *conversation, Sequence *list, BatchKind kind, Text description, Ledger *ledger);
void     conversation_touch(Conversation *conversation);    /* the list has changed */

#endif
