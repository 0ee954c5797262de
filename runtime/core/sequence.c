/*
** Sequence: owners, and the edits that change one message.
**
** These work in place. What they need is reserved before anything changes, so
** that a failed allocation leaves no trace; it is known exactly: a copy of each
** node on the path from the first shared one down, and a neighbour for each
** full node from the leaf up.
**
** The tree, its picture and its invariants are in sequence_node.h. Ranges are
** cut in sequence_cut.c, queries are in sequence_query.c.
*/
#include "core/sequence_node.h"

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

/* An empty list that weighs by a weights. */
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

/* Nodes that an edit will take, each height's kind on its own stack. */
typedef struct Reserve {
  Node *leaves[2];
  Node *inners[2 * SEQUENCE_HEIGHT];
  uint32_t leaf_count, inner_count;
} Reserve;

static void reserve_release(const Sequence *s, Reserve *reserve) {
  while (reserve->leaf_count > 0) node_release(s, reserve->leaves[--reserve->leaf_count]);
  while (reserve->inner_count > 0) node_release(s, reserve->inners[--reserve->inner_count]);
}

/* Reserves what is needed to copy the lowest `copies` levels of a path and to
   split the lowest `splits` of its `levels`, the last of which is the root. */
static Status reserve_path(const Sequence *s, uint32_t copies, uint32_t splits, uint32_t levels, Reserve *reserve) {
  uint32_t leaves = (copies > 0) + (splits > 0);
  uint32_t inners = copies + splits - leaves + (splits == levels);   /* a split root gets a node above it */
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
  if (height == 0) return reserve->leaves[--reserve->leaf_count];
  Node *inner = reserve->inners[--reserve->inner_count];
  inner->height = (uint16_t)height;
  return inner;
}

/* How many of the path's lowest levels have another owner: all below a shared
   node are shared, whatever their own counts say. */
static uint32_t shared_levels(const Path *path, uint32_t levels) {
  while (levels > 0 && path->steps[levels - 1].node->owners == 1) levels--;
  return levels;
}

static uint32_t full_levels(const Path *path, uint32_t levels) {
  uint32_t full = 0;
  while (full < levels && path->steps[full].node->used == node_room(full)) full++;
  return full;
}

/* Puts copies in the place of the path's lowest `copies` nodes. */
static void path_own(Sequence *s, Path *path, uint32_t copies, Reserve *reserve) {
  for (uint32_t level = copies; level-- > 0;) {
    Node *old = path->steps[level].node, *copy = reserve_take(reserve, level);
    node_extend(copy, old, 0, old->used);
    path_edge(s, path, level)->kid = copy;
    path->steps[level].node = copy;
    node_release(s, old);
  }
}

/* The tree gets one level more: a root over what was the root, and `right`. */
static void root_grow(Sequence *s, const Edge *right, Reserve *reserve) {
  assert(s->root.kid->height + 1 < SEQUENCE_HEIGHT);
  Edge left = edge_to(s, s->root.kid);
  Node *root = reserve_take(reserve, left.kid->height + 1u);
  inner_place(root, 0, &left);
  inner_place(root, 1, right);
  s->root.kid = root;
}

/* A node that fills up by appending leaves one slot in so many free, so that an
   insert later on does not split all the way to the root. */
#define APPEND_SLACK 8u

/* Puts `slot` where the path leads, splitting its lowest `splits` nodes:
**
**     [ a b c d ]  + x after b   ->   [ a b ] [ x c d ]
**     [ a b c d ]  + x at the end of all   ->   [ a b c d ] [ x ]     (or nearly so)
**
** The path is owned, and the sums on it have the new slot in them. */
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

/* The rank of the message at `index`, which stands near what a path leads to. */
static Rank rank_near(const Sequence *s, const Step *step, uint32_t place, uint32_t index) {
  const Leaf *leaf = node_leaf(step->node);
  uint32_t at = step->slot + index - place;      /* wraps beyond the leaf's other end */
  return at < step->node->used ? rank_of(s, leaf->ids[at], leaf->marks[at]) : sequence_rank(s, index);
}

/* Do ranks still rise with `rank` at the path's `index`, before what stands at
   `next`? The tree is still that of before. */
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

  bool at_end = index == edge_count(&s->root);
  s->ranked = rises(s, &path, index, index, rank_of(s, slot->id, slot->marks));
  path_own(s, &path, copies, &reserve);
  for (uint32_t level = 0; level < levels; level++) sum_put(&path_edge(s, &path, level)->sum, slot);
  path_place(s, &path, splits, at_end, slot, &reserve);
  assert(reserve.leaf_count == 0 && reserve.inner_count == 0);
  return STATUS_OK;
}

/* The common append: nothing is shared on the right edge, and its leaf has
   room. Else false, and nothing has changed. */
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

/* Takes a message out of the sum; times stay. */
static void sum_take(Sum *sum, const Slot *old) {
  uint32_t role = old->marks & MARK_ROLE, window = (old->marks & MARK_WINDOW) != 0;
  sum->count[role] -= 1 - window;
  sum->tokens[role] -= old->tokens;
  sum->windows -= window;
  sum->turns -= (old->marks & MARK_TURN) != 0;
  sum->moved -= (old->marks & MARK_MOVED) != 0;
}

/* Times cannot be subtracted: where the old message may have been the first or
   the last, they are looked up again. So all below must be up to date. */
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
