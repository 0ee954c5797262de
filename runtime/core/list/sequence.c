/*
** Sequence: owners, and the edits of one message.
**
** These edits work in place. They reserve all nodes before any change, so that a failed
** allocation leaves no trace: a copy of each node on the path below the first shared
** one, and a neighbour for each full node from the leaf up.
**
** The tree and its invariants are in sequence_node.h, cuts of ranges in sequence_cut.c,
** queries in sequence_query.c.
*/
#include "core/list/sequence_node.h"

#include <assert.h>

Status sequence_new(const Memory *memory, Store *store, Sequence **s) {
  Sequence *result = memory_new(memory, sizeof *result);
  if (result == NULL) return STATUS_MEMORY;
  *result = (Sequence){.memory = *memory, .store = store_share(store), .root = {.kid = NULL, .sum = SUM_ZERO},
                     .ranked = true};
  *s = result;
  return STATUS_OK;
}

Status sequence_share(const Sequence *s, Sequence **shared) {
  Sequence *result = memory_new(&s->memory, sizeof *result);
  if (result == NULL) return STATUS_MEMORY;
  *result = *s;
  store_share(result->store);
  if (result->root.kid != NULL) node_share(result->root.kid);
  *shared = result;
  return STATUS_OK;
}

/* Creates an empty list with token weights. */
static Status new_weighed(const Memory *memory, Store *store, TokenWeights *weights, Sequence **s) {
  Status status = sequence_new(memory, store, s);
  if (status == STATUS_OK) (*s)->weights = weights;
  return status;
}

static Status reweigh(const Sequence *s, Store *store, TokenWeights *weights, Sequence **result_list) {
  Sequence *result;
  Status status = new_weighed(&s->memory, store, weights, &result);
  if (status != STATUS_OK) return status;
  SequenceWalk walk = sequence_walk(s, 0, edge_count(&s->root));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) status = sequence_append(&result, walk.ids[i]);
  }
  if (status == STATUS_OK) *result_list = result;
  else sequence_release(result);
  return status;
}

Status sequence_move(const Sequence *s, Store *store, TokenWeights *weights, Sequence **moved) {
  if (!token_weights_equal(s->weights, weights)) return reweigh(s, store, weights, moved);
  Status status = new_weighed(&s->memory, store, weights, moved);
  if (status != STATUS_OK) return status;
  (*moved)->root = s->root;
  (*moved)->ranked = s->ranked;
  (*moved)->last = s->last;
  if (s->root.kid != NULL) node_share(s->root.kid);
  return STATUS_OK;
}

Store *sequence_store(const Sequence *s) { return s->store; }
TokenWeights *sequence_token_weights(const Sequence *s) { return s->weights; }
uint32_t sequence_weight(const Sequence *s, MessageId id) { return token_weights_get(s->weights, s->store, id); }

void sequence_release(Sequence *s) {
  if (s == NULL) return;
  node_release(s, s->root.kid);
  Memory memory = s->memory;
  store_release(s->store);
  memory_free(&memory, s, sizeof *s);
}

/* Reserved nodes for an edit, leaves and inner nodes on a stack each. */
typedef struct Reserve {
  Node *leaves[2];
  Node *inners[2 * SEQUENCE_HEIGHT];
  uint32_t leaf_count, inner_count;
} Reserve;

static void reserve_release(const Sequence *s, Reserve *reserve) {
  while (reserve->leaf_count > 0) node_release(s, reserve->leaves[--reserve->leaf_count]);
  while (reserve->inner_count > 0) node_release(s, reserve->inners[--reserve->inner_count]);
}

/* Reserves the nodes to copy the lowest `copies` levels of a path and to split the lowest
   `splits` of its `levels`, of which the last is the root. STATUS_MEMORY. */
static Status reserve_path(const Sequence *s, uint32_t copies, uint32_t splits, uint32_t levels, Reserve *reserve) {
  uint32_t leaves = (copies > 0) + (splits > 0);
  uint32_t inners = copies + splits - leaves + (splits == levels);   /* a split root gets a node above it */
  assert(copies <= levels && splits <= levels && levels <= SEQUENCE_HEIGHT);
  reserve->leaf_count = reserve->inner_count = 0;
  while (reserve->leaf_count < leaves) {
    Node *leaf = node_new(s, 0);
    if (leaf == NULL) goto failed;
    reserve->leaves[reserve->leaf_count++] = leaf;
  }
  while (reserve->inner_count < inners) {
    Node *inner = node_new(s, 1);
    if (inner == NULL) goto failed;
    reserve->inners[reserve->inner_count++] = inner;
  }
  return STATUS_OK;
failed:
  reserve_release(s, reserve);
  return STATUS_MEMORY;
}

static Node *reserve_take(Reserve *reserve, uint32_t height) {
  assert(height == 0 ? reserve->leaf_count > 0 : reserve->inner_count > 0);
  if (height == 0) return reserve->leaves[--reserve->leaf_count];
  Node *inner = reserve->inners[--reserve->inner_count];
  inner->height = (uint16_t)height;
  return inner;
}

/* The number of the path's lowest levels that have another owner: every node below a shared
   one is shared, even with an owner count of 1. */
static uint32_t shared_levels(const Path *path, uint32_t levels) {
  while (levels > 0 && path->steps[levels - 1].node->owners == 1) levels--;
  return levels;
}

static uint32_t full_levels(const Path *path, uint32_t levels) {
  uint32_t full = 0;
  while (full < levels && path->steps[full].node->used == node_room(full)) full++;
  return full;
}

/* Replaces the path's lowest `copies` nodes by copies. */
static void path_own(Sequence *s, Path *path, uint32_t copies, Reserve *reserve) {
  for (uint32_t level = copies; level-- > 0;) {
    Node *old = path->steps[level].node, *copy = reserve_take(reserve, level);
    node_extend(copy, old, 0, old->used);
    path_edge(s, path, level)->kid = copy;
    path->steps[level].node = copy;
    node_release(s, old);
  }
}

/* Adds a level to the tree: a root above the old root and `right`. */
static void root_grow(Sequence *s, const Edge *right, Reserve *reserve) {
  assert(s->root.kid->height + 1 < SEQUENCE_HEIGHT);
  Edge left = edge_to(s, s->root.kid);
  Node *root = reserve_take(reserve, left.kid->height + 1u);
  inner_place(root, 0, &left);
  inner_place(root, 1, right);
  s->root.kid = root;
}

/* A node that is full of appended slots keeps one slot in so many free, so that a later
   insert does not split all nodes up to the root. */
#define APPEND_SLACK 8u

/* Inserts `slot` at the end of the path, splitting its lowest `splits` nodes:
**
**     [ a b c d ]  + x after b   ->   [ a b ] [ x c d ]
**     [ a b c d ]  + x at the end of all   ->   [ a b c d ] [ x ]     (or nearly so)
**
** The path has no shared nodes, and its sums include the new slot. */
static void path_place(Sequence *s, const Path *path, uint32_t splits, bool at_end, const Slot *slot,
                       Reserve *reserve) {
  Edge above = {NULL, SUM_ZERO};   /* the new neighbour of the node one level below */
  for (uint32_t level = 0;; level++) {
    Node *node = path->steps[level].node, *right = NULL, *into = node;
    uint32_t at = path->steps[level].slot + (level > 0);
    if (level < splits) {
      uint32_t cut = at_end ? node->used - node->used / APPEND_SLACK : node->used / 2u;
      right = reserve_take(reserve, level);
      node_split(node, right, cut);
      if (at >= cut) {
        into = right;
        at -= cut;
      }
    }
    assert(node->height == level && at <= into->used);
    if (level == 0) leaf_place(node_leaf(into), at, slot);
    else inner_place(into, at, &above);
    if (right == NULL) return;

    above = edge_to(s, right);
    if (node == s->root.kid) {
      root_grow(s, &above, reserve);
      return;
    }
    path_edge(s, path, level)->sum = node_sum(s, node);
  }
}

static Status insert_first(Sequence *s, const Slot *slot) {
  Node *leaf = node_new(s, 0);
  if (leaf == NULL) return STATUS_MEMORY;
  leaf_place(node_leaf(leaf), 0, slot);
  s->root = edge_to(s, leaf);
  s->ranked = true;
  return STATUS_OK;
}

/* The rank of the message at `index`, which is near the path's `place`. */
static Rank rank_near(const Sequence *s, const Step *step, uint32_t place, uint32_t index) {
  const Leaf *leaf = node_leaf(step->node);
  uint32_t at = step->slot + index - place;      /* wraps to a large number before the leaf */
  return at < step->node->used ? rank_of(s, leaf->ids[at], leaf->marks[at]) : sequence_rank(s, index);
}

/* True if ranks still rise with `rank` at the path's `index`, before the message now at
   `next`. The tree has not changed yet. */
static bool rises(const Sequence *s, const Path *path, uint32_t index, uint32_t next, Rank rank) {
  if (!s->ranked) return false;
  if (index > 0 && !rank_below(rank_near(s, &path->steps[0], index, index - 1), rank)) return false;
  return next == edge_count(&s->root) || rank_below(rank, rank_near(s, &path->steps[0], index, next));
}

static Status insert(Sequence *s, uint32_t index, const Slot *slot) {
  Path path;
  Reserve reserve;
  path_find(s, index, &path);
  uint32_t levels = s->root.kid->height + 1u;
  uint32_t copies = shared_levels(&path, levels), splits = full_levels(&path, levels);
  Status status = reserve_path(s, copies, splits, levels, &reserve);
  if (status != STATUS_OK) return status;

  uint32_t count = edge_count(&s->root);
  bool at_end = index == count;
  s->ranked = rises(s, &path, index, index, rank_of(s, slot->id, slot->marks));
  path_own(s, &path, copies, &reserve);
  for (uint32_t level = 0; level < levels; level++) sum_put(&path_edge(s, &path, level)->sum, slot);
  path_place(s, &path, splits, at_end, slot, &reserve);
  assert(reserve.leaf_count == 0 && reserve.inner_count == 0 && edge_count(&s->root) == count + 1);
  (void)count;
  return STATUS_OK;
}

/* The common append: no node on the right edge is shared, and its leaf has room. Else it
   returns false, and nothing has changed. */
static bool append_in_place(Sequence *s, const Slot *slot) {
  Node *node = s->root.kid;
  for (; node->owners == 1 && node->height > 0; node = node_edges(node)[node->used - 1].kid) {}
  if (node->owners > 1 || node->used == SEQUENCE_LEAF) return false;

  Edge *edge = &s->root;
  s->ranked = s->ranked && rank_below(s->last, rank_of(s, slot->id, slot->marks));
  for (; edge->kid->height > 0; edge = &node_edges(edge->kid)[edge->kid->used - 1]) sum_put(&edge->sum, slot);
  sum_put(&edge->sum, slot);
  leaf_place(node_leaf(edge->kid), edge->kid->used, slot);
  return true;
}

static Status insert_any(Sequence *s, uint32_t index, const Slot *slot) {
  uint32_t count = edge_count(&s->root);
  if (count == 0) return insert_first(s, slot);
  if (index == count && append_in_place(s, slot)) return STATUS_OK;
  return insert(s, index, slot);
}

Status sequence_insert(Sequence **sequence, uint32_t index, MessageId id) {
  Sequence *s = *sequence;
  uint32_t count = edge_count(&s->root);
  if (index > count || id == 0 || id > store_count(s->store)) return STATUS_RANGE;
  Slot slot = slot_of(s, id);
  if (count == UINT32_MAX || s->root.sum.tokens[slot.marks & MARK_ROLE] > UINT32_MAX - slot.tokens) return STATUS_LIMIT;
  Status status = insert_any(s, index, &slot);
  if (status == STATUS_OK && index == count) s->last = rank_of(s, id, slot.marks);
  return status;
}

Status sequence_append(Sequence **s, MessageId id) { return sequence_insert(s, edge_count(&(*s)->root), id); }

/* Subtracts a message from the sum, except its time. */
static void sum_take(Sum *sum, const Slot *old) {
  uint32_t role = old->marks & MARK_ROLE, window = (old->marks & MARK_WINDOW) != 0;
  assert(sum->count[role] + sum->windows > 0 && sum->tokens[role] >= old->tokens);
  sum->count[role] -= 1 - window;
  sum->tokens[role] -= old->tokens;
  sum->windows -= window;
  sum->turns -= (old->marks & MARK_TURN) != 0;
  sum->moved -= (old->marks & MARK_MOVED) != 0;
}

/* Replaces a message in the sum. Times cannot be subtracted: if the old message may have been
   the first or the last, they are computed again from the nodes below, which must be up to
   date. */
static void edge_exchange(const Sequence *s, Edge *edge, const Slot *old, const Slot *new) {
  sum_take(&edge->sum, old);
  sum_put(&edge->sum, new);
  if (!(old->marks & MARK_TIMED)) return;
  if (old->time == edge->sum.earliest || old->time == edge->sum.latest) node_times(s, edge->kid, &edge->sum);
}

Status sequence_replace(Sequence **sequence, uint32_t index, MessageId id) {
  Sequence *s = *sequence;
  if (index >= edge_count(&s->root) || id == 0 || id > store_count(s->store)) return STATUS_RANGE;
  Path path;
  path_find(s, index, &path);
  uint32_t at = path.steps[0].slot, levels = s->root.kid->height + 1u;
  Slot new = slot_of(s, id), old = leaf_slot(s, node_leaf(path.steps[0].node), at);
  Sum sum = s->root.sum;
  sum_take(&sum, &old);
  if (sum.tokens[new.marks & MARK_ROLE] > UINT32_MAX - new.tokens) return STATUS_LIMIT;

  Reserve reserve;
  uint32_t copies = shared_levels(&path, levels);
  Status status = reserve_path(s, copies, 0, levels, &reserve);
  if (status != STATUS_OK) return status;

  Rank rank = rank_of(s, id, new.marks), was = rank_of(s, old.id, old.marks);
  bool same = rank.anchor == was.anchor && rank.step == was.step;
  s->ranked = same ? s->ranked : rises(s, &path, index, index + 1, rank);
  if (index + 1 == edge_count(&s->root)) s->last = rank;
  path_own(s, &path, copies, &reserve);
  leaf_set(node_leaf(path.steps[0].node), at, &new);
  for (uint32_t level = 0; level < levels; level++) edge_exchange(s, path_edge(s, &path, level), &old, &new);
  return STATUS_OK;
}
