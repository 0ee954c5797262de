/*
** Sequence: the visible messages in their order.
**
** A sequence is a value: `sequence_share` creates a second owner in O(1), and edits by
** one owner are invisible to the other. Edits change nodes with one owner in place and
** copy shared nodes along one path.
**
** Positions count from 0, ranges are half-open. Edits replace *s by the result; on
** failure *s is unchanged: STATUS_MEMORY, STATUS_RANGE, or STATUS_LIMIT if a sum would
** exceed 2^32 - 1. Queries borrow. Everything costs O(log n) unless stated otherwise.
**
** Ownership: a sequence holds a share of its store. An old list of a fork may have a
** closed store; it can still read its own messages.
**
** "Ranked", "moved" and token weights: core/message/store.h, core/message/token_weights.h.
*/
#ifndef EBB_CORE_SEQUENCE_H
#define EBB_CORE_SEQUENCE_H

#include <assert.h>

#include "base/map.h"
#include "core/message/token_weights.h"

/* ---- sums ----
**
** A sum has the figures that every edge of a sequence holds about the messages below it.
**
** Sums are a monoid: `sum_add` is associative, SUM_ZERO is its neutral element. So the
** sum of any prefix is computed along one path, and a search by any measure that grows
** along the sequence follows one path. */

/* Measures for searches. Measures per role come ROLE_COUNT in a row, in the order of Role:
   MEASURE_ROLE_COUNT + ROLE_USER counts user messages. */
typedef enum Measure {
  MEASURE_COUNT,                                        /* messages */
  MEASURE_TOKENS,
  MEASURE_TURNS,                                        /* messages that start a turn */
  MEASURE_WINDOWS,                                      /* items that name a window */
  MEASURE_ROLE_COUNT,                                   /* + role */
  MEASURE_ROLE_TOKENS = MEASURE_ROLE_COUNT + ROLE_COUNT /* + role */
} Measure;

typedef struct Sum {
  uint32_t count[ROLE_COUNT];
  uint32_t tokens[ROLE_COUNT];
  uint32_t windows;           /* window items, which have no tokens here */
  uint32_t turns;
  uint32_t moved;             /* replacements and inserted messages: those whose rank is not their seq (store.h) */
  int64_t earliest, latest;   /* timestamps; earliest > latest if no message has one */
} Sum;

extern const Sum SUM_ZERO;

/* Adds `part` to `sum`. No figure may exceed 2^32 - 1: sequence_insert refuses such messages. */
static inline void sum_add(Sum *sum, const Sum *part) {
  for (int role = 0; role < ROLE_COUNT; role++) {
    assert(sum->count[role] <= UINT32_MAX - part->count[role]);
    assert(sum->tokens[role] <= UINT32_MAX - part->tokens[role]);
  }
  for (int role = 0; role < ROLE_COUNT; role++) sum->count[role] += part->count[role];
  for (int role = 0; role < ROLE_COUNT; role++) sum->tokens[role] += part->tokens[role];
  sum->windows += part->windows;
  sum->turns += part->turns;
  sum->moved += part->moved;
  if (part->earliest < sum->earliest) sum->earliest = part->earliest;
  if (part->latest > sum->latest) sum->latest = part->latest;
}

/* The figure of one measure. */
uint64_t sum_measure(const Sum *sum, Measure measure);

/* ---- sequences ---- */

typedef struct Sequence Sequence;

/* Creates an empty sequence, counted by the messages' own tokens. STATUS_MEMORY. */
Status    sequence_new(const Memory *memory, Store *store, Sequence **s);
/* Gives a second owner in O(1). STATUS_MEMORY. */
Status    sequence_share(const Sequence *s, Sequence **shared);
void      sequence_release(Sequence *s);        /* NULL is allowed */

/* Copies a sequence for a store that has the same messages, with the store's `weights`
   (NULL: their own tokens), which have counted all of them. O(n); O(1) if the weights are
   equal (token_weights_equal). STATUS_MEMORY, STATUS_LIMIT. */
Status    sequence_move(const Sequence *s, Store *store, TokenWeights *weights, Sequence **moved);
/* The same for a list of a fork whose messages after `base` were taken into `store`
   (store_take): adds `shift` to each id above `base`. The weights must be equal. O(log n)
   for each leaf with such ids; O(n) with moved messages, and if it is not ranked. STATUS_MEMORY. */
Status    sequence_renumber(const Sequence *s, Store *store, TokenWeights *weights, MessageId base, uint32_t shift,
                            Sequence **renumbered);
Store    *sequence_store(const Sequence *s);       /* borrowed */
TokenWeights *sequence_token_weights(const Sequence *s);   /* borrowed; NULL: messages' own tokens */
uint32_t  sequence_weight(const Sequence *s, MessageId id);      /* tokens of any message of the store */

uint32_t  sequence_count(const Sequence *s);    /* O(1) */
Sum       sequence_sum(const Sequence *s);      /* O(1) */
MessageId sequence_at(const Sequence *s, uint32_t index);        /* index < count */
Sum       sequence_prefix(const Sequence *s, uint32_t end);      /* of [0, end); end <= count */

/* Index of the message at which `measure`, summed from the front, exceeds `amount`; the
   count if it never does. MEASURE_ROLE_COUNT + role finds the (amount + 1)th message of a role. */
uint32_t  sequence_find(const Sequence *s, Measure measure, uint64_t amount);

/* Conditions on a message that the tree can check. */
typedef struct MessageFilter {
  unsigned roles;            /* its role is one of these: bits 1 << Role */
  bool timed;                /* it has a timestamp from since to until, both included */
  int64_t since, until;
} MessageFilter;

/* Index of the first message from `from` on that matches the filter, or the count. Skips
   subtrees without a match: O(log n) if times rise. */
uint32_t  sequence_next(const Sequence *s, uint32_t from, const MessageFilter *filter);

/* True if ranks rise along it, as in every list of a conversation. Then ids rise too, unless
   its sum has moved messages. O(1) */
bool      sequence_is_ranked(const Sequence *s);
Rank      sequence_rank(const Sequence *s, uint32_t index);      /* index < count */
/* Index of the first message whose rank is not below `rank`, or the count. Requires a ranked
   sequence. O(log^2 n), like all functions below; those cost O(n) if it is not ranked. */
uint32_t  sequence_find_rank(const Sequence *s, Rank rank);

/* Index of a message, or the count if it is absent; tries `hint` first. */
uint32_t  sequence_index_of(const Sequence *s, MessageId id, uint32_t hint);
/* The same for the version of a message that the sequence has. */
uint32_t  sequence_index_of_origin(const Sequence *s, MessageId id);

/* Edits of messages of the store. STATUS_RANGE for positions outside; STATUS_MEMORY, STATUS_LIMIT. */
Status    sequence_append(Sequence **s, MessageId id);
Status    sequence_insert(Sequence **s, uint32_t index, MessageId id);
Status    sequence_replace(Sequence **s, uint32_t index, MessageId id);
Status    sequence_slice(Sequence **s, uint32_t first, uint32_t end);     /* keeps [first, end) */
Status    sequence_remove(Sequence **s, uint32_t first, uint32_t end);

/* Keeps the messages with a bit in `keep` (bit i % 64 of word i / 64 for index i).
   O(runs log n) or O(n), whichever is less. STATUS_MEMORY. */
Status    sequence_keep(Sequence **s, const uint64_t *keep);

/* Flags of each message in a leaf, so that walkers can skip messages without a look at the
   store. mark_role reads the role from the lowest two bits. */
typedef enum SequenceMark {
  MARK_ROLE = 3, MARK_TURN = 4, MARK_TIMED = 8, MARK_CALLS = 16, MARK_RESULTS = 32, MARK_MOVED = 64, MARK_WINDOW = 128
} SequenceMark;

static inline Role mark_role(uint8_t marks) { return marks & MARK_WINDOW ? ROLE_NONE : (Role)(marks & MARK_ROLE); }

/* A walk over [first, end) in order, leaf by leaf, O(1) per message on average: `ids` has
   `count` ids from `index` on. The sequence must not change during the walk. */
typedef struct SequenceWalk {
  const Sequence *sequence;
  uint32_t index, end;       /* position of ids[0]; end of the walk */
  const MessageId *ids;
  const uint8_t *marks;      /* flags of the same messages: SequenceMark */
  uint32_t count;
} SequenceWalk;

SequenceWalk sequence_walk(const Sequence *s, uint32_t first, uint32_t end);
bool      sequence_walk_next(SequenceWalk *walk);     /* the first call gives the first run */

/* Number of nodes that all searches visited. Only test builds have it (EBB_COUNT_PROBES). */
extern uint64_t sequence_visits;

/* Sets the bit of each message (bit id % 64 of word id / 64). Skips nodes in `seen`, which
   another list had, and adds shared nodes to it. STATUS_MEMORY. */
Status    sequence_collect(const Sequence *s, Map *seen, uint64_t *bits);

/* Asserts every invariant, for tests: O(n). */
void      sequence_check(const Sequence *s);

#endif
