/*
** Sequence: which messages are visible, in which order.
**
** A sequence is a value: `sequence_share` gives a second owner in O(1), and an
** edit by one owner is never seen by another. Edits that find a node with one
** owner change it in place; shared nodes are copied along one path.
**
** Positions count from 0, ranges are half-open. Edits consume *s and leave the
** result there; on failure *s is as it was: STATUS_MEMORY, STATUS_RANGE, or
** STATUS_LIMIT when a sum would pass 2^32 - 1. Queries borrow. All of them cost
** O(log n) where nothing else is said.
**
** Ownership: a sequence holds a share of its store. It may be a fork's list of an
** older time, whose store was closed since: it still reads what it shows.
*/
#ifndef EBB_CORE_SEQUENCE_H
#define EBB_CORE_SEQUENCE_H

#include "base/map.h"
#include "core/token_weights.h"
#include "core/sum.h"

typedef struct Sequence Sequence;

Status    sequence_new(const Memory *memory, Store *store, Sequence **s);
/* A second owner in O(1), or STATUS_MEMORY. */
Status    sequence_share(const Sequence *s, Sequence **shared);
void      sequence_release(Sequence *s);        /* NULL is allowed */

/* The same messages looked up in a store that has them too, weighed by a weights of
   it (NULL: by their own tokens) that has counted them all. O(n); O(1), as
   sequence_share, where both weights weigh alike (token_weights_equal). */
Status    sequence_move(const Sequence *s, Store *store, TokenWeights *weights, Sequence **moved);
/* The same with each id above `base` made greater by `shift`: a list of a fork
   whose messages after its base were taken into `store` (store_take). The weights
   weigh alike. O(log n) for each part that has such ids; O(n) if there are moved
   messages or the list is not ranked. */
Status    sequence_renumber(const Sequence *s, Store *store, TokenWeights *weights, MessageId base, uint32_t shift,
                            Sequence **renumbered);
Store    *sequence_store(const Sequence *s);       /* borrowed */
TokenWeights    *sequence_token_weights(const Sequence *s);
uint32_t  sequence_weight(const Sequence *s, MessageId id);      /* of any message of the store */

uint32_t  sequence_count(const Sequence *s);    /* O(1) */
Sum       sequence_sum(const Sequence *s);      /* O(1) */
MessageId sequence_at(const Sequence *s, uint32_t index);        /* index < count */
Sum       sequence_prefix(const Sequence *s, uint32_t end);      /* of [0, end); end <= count */

/* Index of the message that lifts `measure`, summed from the front, above
   `amount`; the count if none does. With a measure per role that is the
   (amount + 1)th message of the role. */
uint32_t  sequence_find(const Sequence *s, Measure measure, uint64_t amount);

/* What a message must be, as far as the tree knows it. */
typedef struct MessageFilter {
  unsigned roles;            /* one of these: bits 1 << Role */
  bool timed;                /* with a timestamp from since to until, both included */
  int64_t since, until;
} MessageFilter;

/* Index of the first message from `from` on that is filter, or the count. Whole
   branches without one are passed over: O(log n) where times rise. */
uint32_t  sequence_next(const Sequence *s, uint32_t from, const MessageFilter *filter);

/* Do ranks rise along it, as they do in every list of a conversation? O(1). Ids
   do too if none of its messages was moved (its sum tells). */
bool      sequence_is_ranked(const Sequence *s);
Rank      sequence_rank(const Sequence *s, uint32_t index);      /* index < count */
/* Index of the first message whose rank is not below `rank`, or the count. Only
   if ranked. O(log^2 n), as all below; O(n) where it is not ranked. */
uint32_t  sequence_find_rank(const Sequence *s, Rank rank);

/* Index of a message, or the count if it is not in; `hint` is tried first. */
uint32_t  sequence_index_of(const Sequence *s, MessageId id, uint32_t hint);
/* The same, for whatever stands in the place of it now. */
uint32_t  sequence_index_of_origin(const Sequence *s, MessageId id);

Status    sequence_append(Sequence **s, MessageId id);
Status    sequence_insert(Sequence **s, uint32_t index, MessageId id);
Status    sequence_replace(Sequence **s, uint32_t index, MessageId id);
Status    sequence_slice(Sequence **s, uint32_t first, uint32_t end);     /* keeps [first, end) */
Status    sequence_remove(Sequence **s, uint32_t first, uint32_t end);

/* Keeps the messages whose bit is set in `keep` (bit i of word i / 64 for index
   i). O(runs log n) or O(n), whichever is less. */
Status    sequence_keep(Sequence **s, const uint64_t *keep);

/* What a leaf knows of each message, so that walkers need not look at those that
   are none of theirs. The role is in the lowest two bits: ask mark_role. */
typedef enum SequenceMark {
  MARK_ROLE = 3, MARK_TURN = 4, MARK_TIMED = 8, MARK_CALLS = 16, MARK_RESULTS = 32, MARK_MOVED = 64, MARK_WINDOW = 128
} SequenceMark;

static inline Role mark_role(uint8_t marks) { return marks & MARK_WINDOW ? ROLE_NONE : (Role)(marks & MARK_ROLE); }

/* A walk over [first, end) in order, O(1) a step on average. Ids come a leaf at
   a time: `ids` has `count` of them from `index` on. The sequence must not be
   edited meanwhile. */
typedef struct SequenceWalk {
  const Sequence *sequence;
  uint32_t index, end;       /* of the run in `ids`; where the walk ends */
  const MessageId *ids;
  const uint8_t *marks;      /* of the same messages */
  uint32_t count;
} SequenceWalk;

SequenceWalk sequence_walk(const Sequence *s, uint32_t first, uint32_t end);
bool      sequence_walk_next(SequenceWalk *walk);     /* the first call gives the first run */

/* Nodes that searches in all sequences have visited. Only builds for tests have it (EBB_COUNT_PROBES). */
extern uint64_t sequence_visits;

/* Sets the bit of each message (bit id % 64 of word id / 64). Nodes that stand in
   `seen` were collected from another list and are skipped. STATUS_MEMORY. */
Status    sequence_collect(const Sequence *s, Map *seen, uint64_t *bits);

/* Walks every node and asserts every invariant, for tests: O(n). */
void      sequence_check(const Sequence *s);

#endif
