/*
** Sequence: ranges are cut out, without changing a node.
**
** Nothing here works in place: new nodes are built along the cuts, all others
** are shared, and only then the root is swapped. Whatever is borrowed gets a
** new owner when it goes into a new node; so what failed is simply released.
**
** A slice copies the two paths along which it is cut, as far as they stay:
**
**             [ a b c d ]                       [ a' b c' ]
**              /     \             ->            /      \
**     [ 0 1 2 3 ]   [ 8 9 10 11 ]          [ 2 3 ]      [ 8 9 ]
**
** To remove a range is to close the gap between two such paths from the leaves
** up. `middle` is what has been closed below: one node or two neighbours.
**
**     level 1     left of the path   +  middle  +   right of the path
**     level 0             slots left of the gap + slots right of it
**
** A single middle node may be less than half full, or lower than it should be
** if a level had nothing beside the gap. Then it is joined to a neighbour
** before it gets one at its side.
*/
#include "core/sequence_node.h"

#include <assert.h>

/* One node, or two neighbours of the same height, each at least half full. */
typedef struct Pair {
  Edge edges[2];
  uint32_t count;
} Pair;

static void pair_release(const Sequence *s, Pair *pair) {
  while (pair->count > 0) node_release(s, pair->edges[--pair->count].kid);
}

/* A stretch of slots of a node. */
typedef struct Stretch {
  Node *node;
  uint32_t first, end;
} Stretch;

/* Deals the slots of neighbouring stretches out to one node if they fit, else
   evenly to two. The new nodes share the kids. */
static Status pack(const Sequence *s, const Stretch *stretches, uint32_t count, Pair *result) {
  uint32_t height = stretches[0].node->height, total = 0;
  for (uint32_t i = 0; i < count; i++) total += stretches[i].end - stretches[i].first;
  uint32_t nodes = total == 0 ? 0 : total <= node_room(height) ? 1 : 2;
  uint32_t quota = nodes == 2 ? total / 2 : total;

  *result = (Pair){.count = 0};
  Stretch left = {.node = NULL, .first = 0, .end = 0};   /* of the stretch being dealt out */
  for (uint32_t n = 0; n < nodes; n++) {
    Node *node = node_new(s, height);
    if (node == NULL) {
      pair_release(s, result);
      return STATUS_MEMORY;
    }
    uint32_t want = n == 0 ? quota : total - quota;
    while (node->used < want) {
      while (left.first == left.end) left = *stretches++;
      uint32_t take = left.end - left.first, room = want - node->used;
      if (take > room) take = room;
      node_extend(node, left.node, left.first, left.first + take);
      left.first += take;
    }
    result->edges[result->count++] = edge_to(s, node);
  }
  return STATUS_OK;
}

static Stretch all_of(Node *node) { return (Stretch){.node = node, .first = 0, .end = node->used}; }

static bool half_full(const Node *node) { return node->used >= node_room(node->height) / 2; }

/* Would the slots of two neighbours fit into one node? */
static bool fit(const Node *a, const Node *b) { return (uint32_t)a->used + b->used <= node_room(a->height); }

static Pair pair_of(const Edge *edges, uint32_t count) {
  Pair pair = {.count = count};
  for (uint32_t i = 0; i < count; i++) {
    pair.edges[i] = edges[i];
    node_share(edges[i].kid);
  }
  return pair;
}

/* Makes good neighbours of two nodes of the same height. */
static Status meld(const Sequence *s, const Edge *a, const Edge *b, Pair *result) {
  if (!fit(a->kid, b->kid) && half_full(a->kid) && half_full(b->kid)) {
    *result = pair_of((Edge[]){*a, *b}, 2);
    return STATUS_OK;
  }
  return pack(s, (Stretch[]){all_of(a->kid), all_of(b->kid)}, 2, result);
}

/* An inner node on the stack, to be read only: the edges that lie in it are
   somebody else's shares. */
static Node *borrow(Inner *inner, uint32_t height, const Pair *pair) {
  inner->node = (Node){.owners = 1, .used = (uint16_t)pair->count, .height = (uint16_t)height};
  for (uint32_t i = 0; i < pair->count; i++) inner->edges[i] = pair->edges[i];
  return &inner->node;
}

/* Joins neighbours of any heights: the lower one melds with the node of its
   height at the side of the higher one. The result is as high as that. */
static Status join(const Sequence *s, const Edge *a, const Edge *b, Pair *result) {
  if (a->kid->height == b->kid->height) return meld(s, a, b, result);
  bool a_is_high = a->kid->height > b->kid->height;
  Node *high = a_is_high ? a->kid : b->kid;
  const Edge *edges = node_edges(high);
  Pair below;
  Status status = a_is_high ? join(s, &edges[high->used - 1], b, &below) : join(s, a, &edges[0], &below);
  if (status != STATUS_OK) return status;

  Inner seam;
  Node *closed = borrow(&seam, high->height, &below);
  if (a_is_high) status = pack(s, (Stretch[]){{high, 0, high->used - 1u}, all_of(closed)}, 2, result);
  else status = pack(s, (Stretch[]){all_of(closed), {high, 1, high->used}}, 2, result);
  pair_release(s, &below);
  return status;
}

/* Closes the gap between the stretches left and right of it, one level above
   what is closed in `middle`, and leaves there what is closed now. */
static Status close_level(const Sequence *s, Stretch left, Stretch right, Pair *middle) {
  uint32_t height = left.node->height;
  bool left_empty = left.first == left.end, right_empty = right.first == right.end;
  Pair result = {.count = 0}, closed;
  Status status = STATUS_OK;
  if (middle->count == 1 && !(left_empty && right_empty)) {
    const Edge *edge = &middle->edges[0];
    bool fine = edge->kid->height + 1u == height && half_full(edge->kid);
    if (!fine && !left_empty) status = join(s, &node_edges(left.node)[--left.end], edge, &result);
    else if (!fine) status = join(s, edge, &node_edges(right.node)[right.first++], &result);
    if (status != STATUS_OK) return status;
  }
  const Pair *between = result.count > 0 ? &result : middle;
  uint32_t edges = left.end - left.first + between->count + right.end - right.first;
  if (height > 0 && edges == between->count && edges < 2) {   /* nothing beside it: on to the next level as it is */
    closed = pair_of(between->edges, edges);
  } else {
    Inner seam;
    status = pack(s, (Stretch[]){left, all_of(borrow(&seam, height, between)), right}, 3, &closed);
  }
  pair_release(s, &result);
  if (status != STATUS_OK) return status;
  pair_release(s, middle);
  *middle = closed;
  return STATUS_OK;
}

/* Lowers a new tree until its root is as it should be. */
static Status root_lower(const Sequence *s, Edge *root) {
  while (root->kid->height > 0 && root->kid->used <= 2) {
    Node *old = root->kid;
    const Edge *kids = node_edges(old);
    Pair lower;
    if (old->used == 1) {
      lower = pair_of(kids, 1);
    } else {
      if (!fit(kids[0].kid, kids[1].kid)) break;
      Status status = meld(s, &kids[0], &kids[1], &lower);
      if (status != STATUS_OK) return status;
    }
    *root = lower.edges[0];
    node_release(s, old);
  }
  return STATUS_OK;
}

/* Ends a cut: the new tree below `top` takes the old one's place, or is released
   on failure. It has one root: from the level on where both paths are in one
   node, at most as many slots come back as go. */
static Status finish(Sequence *s, const Pair *top) {
  assert(top->count == 1);
  Edge root = top->edges[0];
  Status status = root_lower(s, &root);
  if (status == STATUS_OK) sequence_swap(s, root);
  else node_release(s, root.kid);
  return status;
}

static bool unchanged(const Pair *built, const Edge *old) {
  return built->count == 0 || built->edges[0].kid == old->kid;
}

/* Builds a stretch of the node at `old`, with what was built below in the place
   of its first and last edge. */
static Status slice_level(const Sequence *s, const Edge *old, Stretch stretch, const Pair *first, const Pair *last,
                          Pair *built) {
  Inner a, b;
  uint32_t height = old->kid->height;
  const Edge *edges = height > 0 ? node_edges(old->kid) : NULL;
  bool whole = stretch.end - stretch.first == old->kid->used;
  if (whole && (height == 0 || (unchanged(first, &edges[0]) && unchanged(last, &edges[stretch.end - 1])))) {
    *built = pair_of(old, 1);
    return STATUS_OK;
  }
  stretch.first += first->count;
  stretch.end -= last->count;
  return pack(s, (Stretch[]){all_of(borrow(&a, height, first)), stretch, all_of(borrow(&b, height, last))}, 3, built);
}

static Status slice(Sequence *s, uint32_t first, uint32_t end) {
  Path left, right;   /* to the first message that stays, and to the last */
  path_find(s, first, &left);
  path_find(s, end - 1, &right);
  uint32_t parting = s->root.kid->height;   /* the lowest level at which both paths are in one node */
  while (parting > 0 && left.steps[parting].slot == right.steps[parting].slot) parting--;

  const Pair none = {.count = 0};
  Pair a = none, b = none, next;   /* what was built one level below, on the left and on the right */
  Status status;
  for (uint32_t level = 0; level < parting; level++) {
    const Step *l = &left.steps[level], *r = &right.steps[level];
    status = slice_level(s, path_edge(s, &left, level), (Stretch){l->node, l->slot, l->node->used}, &a, &none, &next);
    if (status != STATUS_OK) goto done;
    pair_release(s, &a);
    a = next;
    status = slice_level(s, path_edge(s, &right, level), (Stretch){r->node, 0, r->slot + 1}, &none, &b, &next);
    if (status != STATUS_OK) goto done;
    pair_release(s, &b);
    b = next;
  }
  const Step *l = &left.steps[parting], *r = &right.steps[parting];
  status = slice_level(s, path_edge(s, &left, parting), (Stretch){l->node, l->slot, r->slot + 1}, &a, &b, &next);
  if (status == STATUS_OK) status = finish(s, &next);
done:
  pair_release(s, &a);
  pair_release(s, &b);
  return status;
}

/* Removes what has something left of it and right of it. */
static Status close_gap(Sequence *s, uint32_t first, uint32_t end) {
  Path left, right;   /* to the first message that goes, and to the last */
  path_find(s, first, &left);
  path_find(s, end - 1, &right);
  Pair middle = {.count = 0};
  for (uint32_t level = 0; level <= s->root.kid->height; level++) {
    const Step *l = &left.steps[level], *r = &right.steps[level];
    Stretch before = {l->node, 0, l->slot}, after = {r->node, r->slot + 1, r->node->used};
    Status status = close_level(s, before, after, &middle);
    if (status != STATUS_OK) {
      pair_release(s, &middle);
      return status;
    }
  }
  return finish(s, &middle);
}

static void clear(Sequence *s) { sequence_swap(s, (Edge){.kid = NULL, .sum = SUM_ZERO}); }

Status sequence_slice(Sequence **s, uint32_t first, uint32_t end) {
  uint32_t count = sequence_count(*s);
  if (first > end || end > count) return STATUS_RANGE;
  if (end - first == count) return STATUS_OK;
  if (first < end) return slice(*s, first, end);
  clear(*s);
  return STATUS_OK;
}

Status sequence_remove(Sequence **s, uint32_t first, uint32_t end) {
  uint32_t count = sequence_count(*s);
  if (first > end || end > count) return STATUS_RANGE;
  if (first == end) return STATUS_OK;
  if (first == 0) return sequence_slice(s, end, count);
  if (end == count) return sequence_slice(s, 0, first);
  return close_gap(*s, first, end);
}
