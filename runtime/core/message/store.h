/*
** Store: every message that a conversation ever had, by seq.
**
** Append-only. The bytes of a message are either copied (store_add) or lie in a block
** that the store adopted (a file). Addresses of messages are stable until the store is
** forked and changed.
**
** Forks: a fork starts with all messages of its store and shares them; additions of
** either are invisible to the other:
**
**     store   1 2 3 4 | 5 6          messages after the bar are its own,
**     fork    1 2 3 4 | 5            though they have the same seqs
**
** Removed messages: a compacted store keeps the seqs of the remaining messages, so a seq
** may have no message. store_has tells; store_message requires one.
**
** Links: each result has a link to the call that it answers: the nearest preceding
** call with its id that no earlier result answered (real logs reuse ids); of calls in one
** message, the first. Calls without an id have their function's name instead. Calls wait on
** one stack per id:
**
**     id "c1"  ->  [ seq 7, call 0 ]  ->  [ seq 7, call 1 ]  ->  [ seq 2, call 0 ]
**                    newest waiting          also waiting            also waiting
**
** A replacement takes over the place of a message in links and marks: both have the
** same `origin`, the seq of the first version.
**
** Ownership: reference counted by store_share and store_release. A sequence holds a
** share of the store of its messages.
*/
#ifndef EBB_CORE_STORE_H
#define EBB_CORE_STORE_H

#include "base/hash.h"
#include "core/message/arena.h"
#include "core/message/message.h"

typedef struct Store Store;

/* The most messages that a store ever has, removed ones among them: sets and tables of seqs have a place for each, so
   that a short file that names a high seq cannot ask for more. One message a second lasts for two years. */
#define STORE_MESSAGES_MAX 67108864

/* The order of a message among all messages that can share a list with it. No
   operation moves one message past another, so ranks rise along every list:
**
**     appended        its own seq, step 0
**     a replacement   the rank of the message it replaced
**     inserted        between its neighbours: the anchor of the one before, a
**                     step between theirs
*/
typedef struct Rank {
  MessageId anchor;
  uint64_t step;
} Rank;

static inline bool rank_below(Rank a, Rank b) { return a.anchor != b.anchor ? a.anchor < b.anchor : a.step < b.step; }

/* The call that a result answers; message 0: no call. */
typedef struct CallLink {
  MessageId message;   /* the message with the call, or one that replaced it; a removed one stands for those that
                          replaced it (call_links.h) */
  uint32_t call;       /* index of the call in that message */
} CallLink;

/* Creates an empty store with one owner; `key` hashes the ids of calls. STATUS_MEMORY. */
Status     store_new(const Memory *memory, HashKey key, Store **store);
/* Creates an independent store with the same messages and attachment. O(messages / 4096). STATUS_MEMORY. */
Status     store_fork(Store *store, Store **fork);
Store     *store_share(Store *store);        /* the same store, with one more owner */
void       store_release(Store *store);      /* NULL is allowed */
/* store_release for a conversation that ends. Other owners are lists of its forks, which
   need only the messages from before the last fork; the others are freed. Nothing may be
   added afterwards. NULL is allowed. */
void       store_close(Store *store);

/* Number of messages ever added: seqs are 1 to this number. */
uint32_t   store_count(const Store *store);
/* Number of messages at the fork from another store; 0 if it is not a fork. */
uint32_t   store_base(const Store *store);
/* The seq up to which calls do not wait: store_waiting does not find them. */
uint32_t   store_indexed(const Store *store);
/* The compaction of the store moved messages up to this seq to new addresses; 0: never compacted. */
uint32_t   store_moved(const Store *store);
bool       store_has(const Store *store, MessageId id);           /* false for a removed message too */
/* The next message after `id`, or 0: walks all messages from 0 on. Long runs of removed ones cost next to nothing. */
MessageId  store_next(const Store *store, MessageId id);
const HashKey *store_hash_key(const Store *store);     /* for other tables of the same texts */
const Message *store_message(const Store *store, MessageId id);   /* needs store_has */

/* The timestamp of a message, which must have one. The store keeps timestamps in an array,
   because sums over parts of leaves read those of neighbours. */
int64_t    store_time(const Store *store, MessageId id);

/* Gives the bytes of a message for redacting: overwriting without moving its spans.
   store_bytes gives the bytes that forks share, so they see the change; store_own_bytes
   a copy for this store alone. STATUS_MEMORY. */
char      *store_bytes(Store *store, MessageId id, size_t *size);
Status     store_own_bytes(Store *store, MessageId id, char **bytes, size_t *size);
/* Undoes store_own_bytes, right after it: the message has the bytes of before. Cannot fail. */
void       store_return_bytes(Store *store, MessageId id, char *bytes);

/* Shares the bytes of all messages so far, including adopted blocks, so that other spans
   into them outlive the store and its compaction. NULL if the store has no bytes. */
Arena     *store_share_bytes(Store *store);

/* Takes over a block of bytes for messages to point into, on success. STATUS_MEMORY. */
Status     store_adopt(Store *store, char *bytes, size_t size, size_t capacity);

/* Adds a message with the JSON `raw`. `adopted`: raw lies in an adopted block; else it is
   copied. Its calls wait, its results have no links, its tokens are 0. STATUS_MEMORY;
   STATUS_LIMIT when ids run out or raw has 2 GiB or more. */
Status     store_add(Store *store, Text raw, bool adopted, const MessageShape *shape, MessageId *id);
/* Sets the tokens of the message just added. tokens <= MESSAGE_TOKENS_MAX. STATUS_MEMORY, if the store was forked
   since it was added: by the host that counted it. */
Status     store_weigh(Store *store, MessageId id, uint32_t tokens);
/* Marks the tokens of a message as partly a guess. */
void       store_note_guess(Store *store, MessageId id);
bool       store_is_guess(const Store *store, MessageId id);
uint32_t   store_guesses(const Store *store);          /* number of messages so marked */
/* Number of fragments of replies (message_is_fragment). */
uint32_t   store_fragments(const Store *store);
const Memory *store_memory(const Store *store);

/* Data of another module for the messages of a store, which it calls at three events. */
typedef struct StoreAttachment {
  void *data;                                           /* NULL: none; then the calls are not made */
  Status (*fork)(const void *data, void **fork);        /* copies it for a fork. STATUS_MEMORY */
  void (*rewind)(void *data, uint32_t count);           /* messages after the first `count` were removed */
  void (*free)(void *data);                             /* the store ends */
} StoreAttachment;

/* The store's only attachment (core/message/token_weights.h), to be read or set. */
StoreAttachment *store_attachment(Store *store);

/* A state for store_rewind to restore, so that a refused operation leaves no trace: removes
   all later messages with their links and bytes. Forks keep theirs. The mark must not be
   older than the store's own fork from another store. Cannot fail. */
typedef struct StoreMark {
  uint32_t count, span, ranks;
  ArenaMark bytes;
} StoreMark;

StoreMark  store_mark(const Store *store);
void       store_rewind(Store *store, StoreMark mark);

/* Makes `id` a replacement of `replaced`: takes over its origin and rank. Call it before
   linking the results. STATUS_MEMORY. */
Status     store_replace(Store *store, MessageId id, MessageId replaced);
MessageId  store_origin(const Store *store, MessageId id);     /* id itself, mostly */

Rank       store_rank(const Store *store, MessageId id);
/* True if its rank is not that of an appended message. */
bool       store_is_moved(const Store *store, MessageId id);
/* Ranks the newest message between two neighbours; without a neighbour, `before` has anchor
   0, `after` anchor UINT32_MAX. If no step is left between them (after some forty
   insertions, each between the last two), it keeps the rank of an appended message, and
   lists with it are not ranked. STATUS_MEMORY. */
Status     store_insert(Store *store, MessageId id, Rank before, Rank after);
/* Gives the newest message exactly this rank, for reading saved state. STATUS_MEMORY. */
Status     store_place(Store *store, MessageId id, Rank rank);
/* Keeps the rank of the newest message's origin where that was removed: marks and links find their message by it.
   Call it after store_replace and store_place, in a store that no fork shares. STATUS_MEMORY. */
Status     store_place_origin(Store *store, MessageId id);

/* The newest waiting call with this key before message `before`, of calls in one message the
   first; or message 0. Searches only messages after store_indexed. */
CallLink       store_waiting(const Store *store, Text id, MessageId before);
/* Links a result of `id` to a call (message 0: no call), which stops waiting. */
void       store_link(Store *store, MessageId id, uint32_t result, CallLink link);
/* Measures links to removed messages again, for store_span: after the last store_place_origin. */
void       store_link_removed(Store *store);
/* The call that a result answers. result < message_result_count */
CallLink       store_answers(const Store *store, MessageId id, uint32_t result);

/* Finds the call of `caller` for a result of `id` with the link `link`, which names a version
   of `caller`. Tries the same index first, because a replacement may have its calls in
   another order. false if `caller` lacks the call. */
bool       store_call(const Store *store, MessageId caller, CallLink link, MessageId id, uint32_t result,
                      uint32_t *call);

/* ---- messages of other stores ---- */

/* Adds a copy of a message of a fork of this store. Adds `shift` to the ids above the
   fork's base in its links, origin and rank; those messages must have been taken before,
   in order. STATUS_MEMORY, STATUS_LIMIT. */
Status     store_take(Store *store, const Store *fork, MessageId id, uint32_t shift);

/* Shares the bytes of all messages of another store, which store_borrow takes; the store has no bytes yet. */
void       store_share_bytes_of(Store *store, const Store *lender);
/* Adds a message of that store, whose bytes it shares: as an appended one, of results without links. `weighed`: its
   tokens are right here, too; else they are 0. STATUS_MEMORY, STATUS_LIMIT. */
Status     store_borrow(Store *store, const Store *lender, MessageId id, bool weighed, MessageId *borrowed);

/* Leaves the next `count` seqs without messages. STATUS_LIMIT, STATUS_MEMORY. */
Status     store_skip(Store *store, uint32_t count);

/* Creates a store with copies of the messages that have a bit in `keep` (bit id % 64 of
   word id / 64), under the same seqs. A result whose call is removed answers a kept
   replacement of it, or no call. STATUS_MEMORY. */
Status     store_compact(const Store *store, const uint64_t *keep, Store **compacted);

/* Makes `store` the successor of `from`, from which it was forked and to which nothing is
   added any more: moves the waiting calls. If memory runs out it moves none, and their
   results are found by searching lists. */
void       store_succeed(Store *store, Store *from);

/* The most calls or results of a message with which store_span bounds a search. */
#define STORE_CALLS_MAX 64

/* The greatest difference between the anchors of a result and its call; UINT32_MAX once a
   message answered calls of two others, or has more than STORE_CALLS_MAX calls or results. */
uint32_t   store_span(const Store *store);
/* Number of inserted messages ever: many may share an anchor. */
uint32_t   store_insertions(const Store *store);

/* Asserts every invariant, for tests: O(messages). */
void       store_check(const Store *store);

#endif
