/*
** Nodes of a sequence: a persistent tree of message ids, with sums.
**
** Ids sit in the leaves, in order. An edge to a node carries the sum of all
** that is below it, so any prefix is summed along one path from the root:
**
**                      root edge: 7 messages, 90 tokens
**                                     |
**                     [ 4 messages, 50 | 3 messages, 40 ]
**                          /                      \
**                  ids 0 1 2 3                ids 4 5 6
**
** Nodes are counted, and one with two owners is never changed. Replacing id 5
** by 9 builds only the right leaf and a new root node if the tree is shared;
** both trees then own the left leaf.
**
** Leaves repeat what their messages weighed when they entered, so that sums
** need the store for nothing but times.
**
** Invariants (asserted by sequence_check):
**   1. Leaves have height 0; a kid is one lower than its parent. Every node has
**      a slot at least; the empty tree has no node.
**   2. A node that is not on the left or the right edge of its tree is at least
**      half full. So appending can leave full nodes behind, and a slice can
**      share all but its two edges.
**   3. A root that is not a leaf has two kids at least; if just two, they do
**      not fit into one node.
**   4. An edge's sum is that of the slots below it.
**
** By 2, n messages have at most 2 n / SEQUENCE_LEAF + 2 leaves, and so on for
** each level, whatever was cut out of the tree before.
**
** Private to sequence*.c.
*/
#ifndef EBB_CORE_SEQUENCE_NODE_H
#define EBB_CORE_SEQUENCE_NODE_H

#include "core/sequence.h"

#ifndef SEQUENCE_FANOUT
#define SEQUENCE_FANOUT 16   /* wider nodes are dearer to copy: an edge has 64 bytes */
#endif
#ifndef SEQUENCE_LEAF
#define SEQUENCE_LEAF 56     /* with four levels above it, a leaf copied leaves a snapshot within 5 KB */
#endif
_Static_assert(SEQUENCE_FANOUT >= 4 && SEQUENCE_FANOUT <= 1024, "a half full node has two kids at least");
_Static_assert(SEQUENCE_LEAF >= 4 && SEQUENCE_LEAF <= 1024, "sizes fit into 16 bits");

/* A tree grows by a level when its root overflows. Then at least three of the
   root's kids are on no edge, and so have 2^(height + 1) messages or more. With
   fewer than 2^32 messages in all no height reaches this. */
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

/* A message, as it weighs; `marks` as in SequenceMark. */
typedef struct Slot {
  MessageId id;
  uint32_t tokens;
  uint8_t marks;
  int64_t time;        /* only if MARK_TIMED; leaves leave it to the store */
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
  TokenWeights *weights;        /* by which its messages weigh; NULL: their own tokens */
  Edge root;
  bool ranked;         /* ranks rise along it */
  Rank last;           /* of the last message; anchor 0: empty */
};

/* A path from the root, by height: steps[0] is in the leaf. */
typedef struct Step {
  Node *node;
  uint32_t slot;
} Step;
typedef struct Path {
  Step steps[SEQUENCE_HEIGHT];
} Path;

static inline uint32_t node_room(uint32_t height) { return height > 0 ? SEQUENCE_FANOUT : SEQUENCE_LEAF; }
static inline Edge *node_edges(Node *inner) { return ((Inner *)inner)->edges; }
static inline Leaf *node_leaf(Node *leaf) { return (Leaf *)leaf; }

static inline uint32_t edge_count(const Edge *edge) {
  const uint32_t *count = edge->sum.count;
  return count[0] + count[1] + count[2] + count[3] + edge->sum.windows;
}

/* sum_add for parts of one sequence: its whole sum was checked, so they fit. */
static inline void sum_join(Sum *sum, const Sum *part) {
  for (int role = 0; role < ROLE_COUNT; role++) sum->count[role] += part->count[role];
  for (int role = 0; role < ROLE_COUNT; role++) sum->tokens[role] += part->tokens[role];
  sum->windows += part->windows;
  sum->turns += part->turns;
  sum->moved += part->moved;
  if (part->earliest < sum->earliest) sum->earliest = part->earliest;
  if (part->latest > sum->latest) sum->latest = part->latest;
}

static inline void sum_put(Sum *sum, const Slot *slot) {
  uint32_t role = slot->marks & MARK_ROLE, window = (slot->marks & MARK_WINDOW) != 0;
  sum->count[role] += 1 - window;
  sum->tokens[role] += slot->tokens;      /* a window item's: 0 */
  sum->windows += window;
  sum->turns += (slot->marks & MARK_TURN) != 0;
  sum->moved += (slot->marks & MARK_MOVED) != 0;
  if (!(slot->marks & MARK_TIMED)) return;
  if (slot->time < sum->earliest) sum->earliest = slot->time;
  if (slot->time > sum->latest) sum->latest = slot->time;
}

/* A node without slots and with one owner, or NULL. */
Node *node_new(const Sequence *s, uint32_t height);
Node *node_share(Node *node);
void  node_release(const Sequence *s, Node *node);     /* NULL is allowed */

/* Adds the slots [first, end) of `from`, which is as high; they stay there too. */
void  node_extend(Node *node, const Node *from, uint32_t first, uint32_t end);
/* Moves the slots from `cut` on to `right`, which is as high and empty. */
void  node_split(Node *node, Node *right, uint32_t cut);
void  leaf_set(Leaf *leaf, uint32_t at, const Slot *slot);
void  leaf_place(Leaf *leaf, uint32_t at, const Slot *slot);
void  inner_place(Node *inner, uint32_t at, const Edge *edge);    /* takes the edge's share over */

Slot  slot_of(const Sequence *s, MessageId id);
/* The store is asked only where the mark says that it knows better. */
static inline Rank rank_of(const Sequence *s, MessageId id, uint8_t marks) {
  return marks & MARK_MOVED ? store_rank(s->store, id) : (Rank){.anchor = id, .step = 0};
}
Slot  leaf_slot(const Sequence *s, const Leaf *leaf, uint32_t at);
Sum   leaf_sum(const Sequence *s, const Leaf *leaf, uint32_t end);      /* of the slots [0, end) */
Sum   node_sum(const Sequence *s, const Node *node);
void  node_times(const Sequence *s, const Node *node, Sum *sum);        /* sets only the times */
Edge  edge_to(const Sequence *s, Node *node);          /* with its sum; takes the share over */

/* The way to the message at `index`; to behind the last one if index is the
   count. The tree is not empty. */
void  path_find(const Sequence *s, uint32_t index, Path *path);
/* The leaf with the message at *index < count, which becomes its place there. */
const Leaf *find_leaf(const Sequence *s, uint32_t *index);
/* Where the path's node at `level` hangs. */
Edge *path_edge(Sequence *s, const Path *path, uint32_t level);

/* Makes `root`, which has some of the messages in their order, and no longer
   what it was, the tree of `s`; takes the share over. */
void  sequence_swap(Sequence *s, Edge root);

#endif
