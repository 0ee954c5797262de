/*
** Nodes of a sequence: a persistent tree of message ids, with sums.
**
** Ids are in the leaves, in order. An edge to a node carries the sum over all messages
** below it, so the sum of any prefix is computed along one path from the root:
**
**                      root edge: 7 messages, 90 tokens
**                                     |
**                     [ 4 messages, 50 | 3 messages, 40 ]
**                          /                      \
**                  ids 0 1 2 3                ids 4 5 6
**
** Nodes have owner counts, and one with two owners is never changed. If the tree is
** shared, replacing id 5 by 9 builds only the right leaf and a new root node; both trees
** then own the left leaf.
**
** Leaves hold a copy of their messages' tokens, so that sums need the store only for
** timestamps.
**
** Invariants (asserted by sequence_check):
**   1. Leaves have height 0; a kid is one lower than its parent. Every node has
**      at least one slot; the empty tree has no node.
**   2. A node that is not on the left or the right edge of its tree is at least
**      half full. So appends leave full nodes, and a slice shares all nodes but
**      those on its two edges.
**   3. A root that is not a leaf has at least two kids; exactly two do not fit
**      into one node.
**   4. The sum of an edge is the sum over the slots below it.
**
** By 2, n messages have at most 2 n / SEQUENCE_LEAF + 2 leaves, and similarly for each
** level, whatever was cut out of the tree.
**
** Private to sequence*.c.
*/
#ifndef EBB_CORE_SEQUENCE_NODE_H
#define EBB_CORE_SEQUENCE_NODE_H

#include "core/list/sequence.h"

#ifndef SEQUENCE_FANOUT
#define SEQUENCE_FANOUT 16   /* wider nodes cost more to copy: an edge has 64 bytes */
#endif
#ifndef SEQUENCE_LEAF
#define SEQUENCE_LEAF 56     /* copies of a leaf and of the four levels above it stay below 5 KB */
#endif
_Static_assert(SEQUENCE_FANOUT >= 4 && SEQUENCE_FANOUT <= 1024, "a half full node has at least two kids");
_Static_assert(SEQUENCE_LEAF >= 4 && SEQUENCE_LEAF <= 1024, "sizes fit into 16 bits");

/* An upper bound of the height. A tree gets a level when its root overflows; then at least
   three of the root's kids are on no edge, and so have 2^(height + 1) messages or more.
   All trees have fewer than 2^32 messages. */
#define SEQUENCE_HEIGHT 32

typedef struct Node {
  uint32_t owners;
  uint16_t used;       /* slots: edges or messages */
  uint16_t height;
} Node;

typedef struct Edge {
  Node *kid;           /* a share; NULL: the empty tree */
  Sum sum;
} Edge;

typedef struct Inner {
  Node node;
  Edge edges[SEQUENCE_FANOUT];
} Inner;

/* A message of a leaf; `marks` are of SequenceMark. */
typedef struct Slot {
  MessageId id;
  uint32_t tokens;
  uint8_t marks;
  int64_t time;        /* only if MARK_TIMED; the store holds it, not the leaf */
} Slot;

typedef struct Leaf {
  Node node;
  MessageId ids[SEQUENCE_LEAF];
  uint32_t tokens[SEQUENCE_LEAF];
  uint8_t marks[SEQUENCE_LEAF];
} Leaf;

struct Sequence {
  Memory memory;
  Store *store;
  TokenWeights *weights;   /* token weights of its messages; NULL: their own tokens */
  Edge root;
  bool ranked;         /* ranks rise along it */
  Rank last;           /* rank of the last message; anchor 0: empty */
};

/* A path from the root, indexed by height: steps[0] is in the leaf. */
typedef struct Step {
  Node *node;
  uint32_t slot;
} Step;
typedef struct Path {
  Step steps[SEQUENCE_HEIGHT];
} Path;

#ifdef EBB_COUNT_PROBES
#define VISITED() ((void)sequence_visits++)
#else
#define VISITED() ((void)0)
#endif

static inline uint32_t node_room(uint32_t height) { return height > 0 ? SEQUENCE_FANOUT : SEQUENCE_LEAF; }
static inline Edge *node_edges(Node *inner) { return ((Inner *)inner)->edges; }
static inline Leaf *node_leaf(Node *leaf) { return (Leaf *)leaf; }

static inline uint32_t edge_count(const Edge *edge) {
  const uint32_t *count = edge->sum.count;
  return count[0] + count[1] + count[2] + count[3] + edge->sum.windows;
}

static inline void sum_put(Sum *sum, const Slot *slot) {
  uint32_t role = slot->marks & MARK_ROLE, window = (slot->marks & MARK_WINDOW) != 0;
  sum->count[role] += 1 - window;
  sum->tokens[role] += slot->tokens;      /* 0 for a window item */
  sum->windows += window;
  sum->turns += (slot->marks & MARK_TURN) != 0;
  sum->moved += (slot->marks & MARK_MOVED) != 0;
  if (!(slot->marks & MARK_TIMED)) return;
  if (slot->time < sum->earliest) sum->earliest = slot->time;
  if (slot->time > sum->latest) sum->latest = slot->time;
}

/* Creates a node without slots and with one owner; NULL if memory runs out. */
Node *node_new(const Sequence *s, uint32_t height);
Node *node_share(Node *node);
void  node_release(const Sequence *s, Node *node);     /* NULL is allowed */

/* Appends copies of the slots [first, end) of `from`, which has the same height. */
void  node_extend(Node *node, const Node *from, uint32_t first, uint32_t end);
/* Moves the slots from `cut` on to `right`, which has the same height and is empty. */
void  node_split(Node *node, Node *right, uint32_t cut);
void  leaf_set(Leaf *leaf, uint32_t at, const Slot *slot);
void  leaf_place(Leaf *leaf, uint32_t at, const Slot *slot);      /* inserts; the leaf has room */
void  inner_place(Node *inner, uint32_t at, const Edge *edge);    /* inserts, and takes over the edge's share */

Slot  slot_of(const Sequence *s, MessageId id);
/* Reads the store only for moved messages. */
static inline Rank rank_of(const Sequence *s, MessageId id, uint8_t marks) {
  return marks & MARK_MOVED ? store_rank(s->store, id) : (Rank){.anchor = id, .step = 0};
}
Slot  leaf_slot(const Sequence *s, const Leaf *leaf, uint32_t at);
Sum   leaf_sum(const Sequence *s, const Leaf *leaf, uint32_t end);      /* of the slots [0, end) */
Sum   node_sum(const Sequence *s, const Node *node);
void  node_times(const Sequence *s, const Node *node, Sum *sum);        /* sets only the times */
Edge  edge_to(const Sequence *s, Node *node);          /* with its sum; takes over the share */

/* Finds the path to the message at `index`; to the slot after the last one if index is
   the count. The tree is not empty. */
void  path_find(const Sequence *s, uint32_t index, Path *path);
/* The leaf with the message at *index < count; *index becomes its slot. */
const Leaf *sequence_leaf(const Sequence *s, uint32_t *index);
/* The edge that leads to the path's node at `level`. */
Edge *path_edge(Sequence *s, const Path *path, uint32_t level);

/* Replaces the tree of `s` by `root`, a subset of its messages in the same order; takes
   over the share. */
void  sequence_swap(Sequence *s, Edge root);

#endif
