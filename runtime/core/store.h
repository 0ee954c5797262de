/*
** Store: every message that a conversation ever saw, by seq.
**
** Append-only. A message's bytes are either copied in (store_add) or lie in a
** block that the store adopted whole (a file that was read). Addresses of messages
** stay until the store is forked and changed.
**
** Forks: a fork begins with all messages of its store and shares them; from then
** on each goes its own way, and neither sees what the other adds:
**
**     store   1 2 3 4 | 5 6          messages after the bar are its own,
**     fork    1 2 3 4 | 5            though they have the same numbers
**
** Removed messages: a compacted store keeps the seqs of the rest, so there may be
** no message under a seq. store_has tells; store_message needs one that is there.
**
** Links: each result knows the call that it answers: the nearest preceding
** call of its id that no result had answered (real logs reuse ids). Calls wait
** on one stack per id:
**
**     id "c1"  ->  [ seq 7, call 0 ]  ->  [ seq 2, call 0 ]
**                    newest waiting          waits still
**
** A message that replaces another takes over its place in links and marks:
** both have the same `origin`, the seq of the first of them.
**
** Ownership: reference counted by store_share and store_release. Sequences hold a
** share of the store that their messages are looked up in.
*/
#ifndef EBB_CORE_STORE_H
#define EBB_CORE_STORE_H

#include "base/hash.h"
#include "core/arena.h"
#include "core/message.h"

typedef struct Store Store;

/* Where a message stands among all that may ever be in one list with it. No
   operation moves one message past another, so ranks rise along every list:
**
**     appended        its own seq, step 0
**     a replacement   the rank of what it replaced
**     inserted        between its neighbours: the anchor of the one before, a
**                     step between theirs
*/
typedef struct Rank {
  MessageId anchor;
  uint64_t step;
} Rank;

static inline bool rank_below(Rank a, Rank b) { return a.anchor != b.anchor ? a.anchor < b.anchor : a.step < b.step; }

/* Where a result's call is; message 0: it answers none. */
typedef struct CallLink {
  MessageId message;   /* the one with the call, or that one's later replacement */
  uint32_t call;       /* its index there */
} CallLink;

/* Ids are looked up by their hashes under `key`. */
Status     store_new(const Memory *memory, HashKey key, Store **store);
/* An independent store with the same messages and token weights, in O(messages / 4096). STATUS_MEMORY. */
Status     store_fork(Store *store, Store **fork);
Store     *store_share(Store *store);
void       store_release(Store *store);      /* NULL is allowed */
/* store_release for a conversation that ends: lists that still hold the store,
   which are those of its forks, need only what it had when it was forked last;
   the rest is freed. Nothing may be added to it any more. NULL is allowed. */
void       store_close(Store *store);

/* Messages ever added: seqs go from 1 to this number. */
uint32_t   store_count(const Store *store);
/* Messages that the store had when it was forked from another; 0 if it was not. */
uint32_t   store_base(const Store *store);
/* Calls of messages up to this seq are not among those of store_waiting. */
uint32_t   store_indexed(const Store *store);
/* Messages up to this seq lie no longer where they were added: the store was compacted. */
uint32_t   store_moved(const Store *store);
bool       store_has(const Store *store, MessageId id);           /* false for a removed message too */
const HashKey *store_hash_key(const Store *store);     /* for other tables of the same texts */
const Message *store_message(const Store *store, MessageId id);   /* needs store_has */

/* The timestamp of a message that has one. The store keeps those of neighbours
   side by side, as sums over a part of a leaf read them. */
int64_t    store_time(const Store *store, MessageId id);

/* A message's bytes, to be overwritten without changing what its spans name: how
   a text is redacted. store_bytes gives those that forks share, so they see the
   change; store_own_bytes makes a copy that is this store's alone. STATUS_MEMORY. */
char      *store_bytes(Store *store, MessageId id, size_t *size);
Status     store_own_bytes(Store *store, MessageId id, char **bytes, size_t *size);

/* A share of the bytes of all messages so far and of what was adopted with them, for what
   else points into those: they outlive the store and its compaction. NULL: it has none. */
Arena     *store_share_bytes(Store *store);

/* Takes a block of bytes that messages will point into. On success the store
   frees it at its end; on failure it stays the caller's. */
Status     store_adopt(Store *store, char *bytes, size_t size, size_t capacity);

/* Adds one message whose JSON is `raw`. `adopted`: raw lies in an adopted
   block; else it is copied. Its calls wait, its results are not linked, it
   weighs nothing yet. STATUS_LIMIT when ids run out or raw is 2 GiB or more. */
Status     store_add(Store *store, Text raw, bool adopted, const MessageShape *shape, MessageId *id);
void       store_weigh(Store *store, MessageId id, uint32_t tokens);     /* tokens <= MESSAGE_TOKENS_MAX */
/* Notes that part of what store_weigh said had to be guessed. */
void       store_note_guess(Store *store, MessageId id);
bool       store_is_guess(const Store *store, MessageId id);
uint32_t   store_guesses(const Store *store);                            /* how many are noted */
/* Where token_weights.h keeps its list; the store frees that at its end. */
struct TokenWeights **store_token_weights(Store *store);
const Memory *store_memory(const Store *store);

/* How a refused operation leaves no trace: everything that was added after the
   mark goes, links and bytes included. Forks made since keep what they have.
   The mark is not older than the store's own fork from another. Cannot fail. */
typedef struct StoreMark {
  uint32_t count, span, ranks;
  ArenaMark bytes;
} StoreMark;

StoreMark  store_mark(const Store *store);
void       store_rewind(Store *store, StoreMark mark);

/* Makes `id` stand for `replaced` in links and marks. Before its results are linked. */
Status     store_replace(Store *store, MessageId id, MessageId replaced);
MessageId  store_origin(const Store *store, MessageId id);     /* id itself, mostly */

Rank       store_rank(const Store *store, MessageId id);
/* Is it somewhere else than where an appended message would be? */
bool       store_is_moved(const Store *store, MessageId id);
/* Ranks the newest message, just added, between two neighbours; `before` has
   anchor 0 where there is none, `behind` UINT32_MAX. Where no step is left
   between them (after some forty insertions, each between the last two) its rank
   stays that of an appended one, and no list that it enters is ranked. */
Status     store_insert(Store *store, MessageId id, Rank before, Rank after);
/* Ranks the newest message, just added, at exactly `rank`: for a store that is read back. STATUS_MEMORY. */
Status     store_place(Store *store, MessageId id, Rank rank);

/* The newest call of this id before message `before` that waits still, or message 0.
   Only among the messages after store_indexed. */
CallLink       store_waiting(const Store *store, Text id, MessageId before);
/* Notes that `id`'s result answers `link` (message 0: nothing). The call waits no more. */
void       store_link(Store *store, MessageId id, uint32_t result, CallLink link);
CallLink       store_answers(const Store *store, MessageId id, uint32_t result);

/* Which of the message's calls does a result named `key` answer that is linked to
   `link`, a version of this message? Its own place first: a replacement may have
   its calls in another order. false if it has lost that call. */
bool       store_call(const Store *store, MessageId caller, CallLink link, Text key, uint32_t *call);

/* ---- stores made of another's messages ---- */

/* Adds a message of a fork of this store, as it is there. Its links, origin and
   rank may name messages of the fork after its base: those are taken already, in
   order, and have here seqs greater by `shift`. STATUS_MEMORY, STATUS_LIMIT. */
Status     store_take(Store *store, const Store *fork, MessageId id, uint32_t shift);

/* Leaves out the next `count` seqs: their messages were removed. STATUS_LIMIT. */
Status     store_skip(Store *store, uint32_t count);

/* A store with only the messages whose bit is set in `keep` (bit id % 64 of word
   id / 64), under their seqs, in memory of its own. A result whose call is removed
   answers a kept replacement of it, or nothing. STATUS_MEMORY. */
Status     store_compact(const Store *store, const uint64_t *keep, Store **compacted);

/* `store` was forked from `from`, which nobody adds to any more, and takes its
   place: calls that wait there wait here from now on. May do nothing for want of
   memory; then results of such calls are searched for in the list. */
void       store_succeed(Store *store, Store *from);

/* The greatest distance in anchors that a result ever had from its call;
   UINT32_MAX once a message answered calls of two others. */
uint32_t   store_span(const Store *store);

#endif
