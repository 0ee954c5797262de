/*
** Sequence: cuts ranges, without changing a node.
**
** Cutting is keeping or removing a range; packing is copying slots into new nodes. A cut
** packs new nodes along its paths, shares all others, and swaps the root at the end.
** A borrowed kid gets a new owner when it goes into a new node, so a failure only
** releases the new nodes.
**
** A slice copies the remaining parts of the two paths along which it is cut:
**
**             [ a b c d ]                       [ a' b c' ]
**              /     \             ->            /      \
**     [ 0 1 2 3 ]   [ 8 9 10 11 ]          [ 2 3 ]      [ 8 9 ]
**
** Removing a range closes the gap between two such paths from the leaves up. `middle` is
** the closed part one level below: one node or two neighbours.
**
**     level 1     left of the path   +  middle  +   right of the path
**     level 0             slots left of the gap + slots right of it
**
** A single middle node may be less than half full, or too low if a level had no slot
** beside the gap. Then it is first joined to a neighbour.
*/
#include "core/list/sequence_node.h"

#include <assert.h>

#include "base/minmax.h"

/* No node, one node, or two neighbours of the same height, each at least half full. */
typedef struct Nodes {
  Edge edges[2];
  uint32_t count;            /* 0 to 2 */
} Nodes;

static void nodes_release(const Sequence *s, Nodes *nodes) {
  while (nodes->count > 0) node_release(s, nodes->edges[--nodes->count].kid);
}

/* The slots [first, end) of `node`: ids of a leaf, edges of an inner node. May be empty. */
typedef struct Stretch {
  Node *node;
  uint32_t first, end;
} Stretch;

/* Copies the slots of neighbouring stretches, all of one height, into one new node if they fit,
   else evenly into two; into none if all are empty. The new nodes share the kids. The stretches
   must fit into two nodes. STATUS_MEMORY: *result is empty. */
static Status pack(const Sequence *s, const Stretch *stretches, uint32_t count, Nodes *result) {
  assert(count > 0);
  uint32_t height = stretches[0].node->height, total = 0;
  for (uint32_t i = 0; i < count; i++) total += stretches[i].end - stretches[i].first;
  uint32_t nodes = total == 0 ? 0 : total <= node_room(height) ? 1 : 2;
  uint32_t first_size = nodes == 2 ? total / 2 : total;      /* slots of the first node */
  assert(total <= 2 * node_room(height));

  *result = (Nodes){.count = 0};
  Stretch rest = {.node = NULL, .first = 0, .end = 0};       /* slots of the current stretch to be copied */
  for (uint32_t n = 0; n < nodes; n++) {
    Node *node = node_new(s, height);
    if (node == NULL) {
      nodes_release(s, result);
      return STATUS_MEMORY;
    }
    uint32_t size = n == 0 ? first_size : total - first_size;
    while (node->used < size) {
      while (rest.first == rest.end) rest = *stretches++;
      uint32_t take = min_u32(rest.end - rest.first, size - node->used);
      node_extend(node, rest.node, rest.first, rest.first + take);
      rest.first += take;
    }
    result->edges[result->count++] = edge_to(s, node);
  }
  return STATUS_OK;
}

static Stretch all_of(Node *node) { return (Stretch){.node = node, .first = 0, .end = node->used}; }

static bool half_full(const Node *node) { return node->used >= node_room(node->height) / 2; }

/* True if the slots of two neighbours fit into one node. */
static bool fit(const Node *a, const Node *b) { return (uint32_t)a->used + b->used <= node_room(a->height); }

static Nodes nodes_of(const Edge *edges, uint32_t count) {
  Nodes nodes = {.count = count};
  for (uint32_t i = 0; i < count; i++) {
    nodes.edges[i] = edges[i];
    node_share(edges[i].kid);
  }
  return nodes;
}

/* Repacks two nodes of the same height unless they satisfy the invariants as neighbours. */
static Status meld(const Sequence *s, const Edge *a, const Edge *b, Nodes *result) {
  assert(a->kid->height == b->kid->height);
  if (!fit(a->kid, b->kid) && half_full(a->kid) && half_full(b->kid)) {
    *result = nodes_of((Edge[]){*a, *b}, 2);
    return STATUS_OK;
  }
  return pack(s, (Stretch[]){all_of(a->kid), all_of(b->kid)}, 2, result);
}

/* Fills an inner node on the stack for reading; it owns no shares of its kids. */
static Node *borrow(Inner *inner, uint32_t height, const Nodes *nodes) {
  assert(nodes->count <= 2);
  inner->node = (Node){.owners = 1, .used = (uint16_t)nodes->count, .height = (uint16_t)height};
  for (uint32_t i = 0; i < nodes->count; i++) inner->edges[i] = nodes->edges[i];
  return &inner->node;
}

/* Joins neighbours of any heights: melds the lower one with the node of its height on the
   adjacent edge of the higher one. The result has the greater height. */
static Status join(const Sequence *s, const Edge *a, const Edge *b, Nodes *result) {
  if (a->kid->height == b->kid->height) return meld(s, a, b, result);
  bool a_is_high = a->kid->height > b->kid->height;
  Node *high = a_is_high ? a->kid : b->kid;
  const Edge *edges = node_edges(high);
  Nodes below;
  Status status = a_is_high ? join(s, &edges[high->used - 1], b, &below) : join(s, a, &edges[0], &below);
  if (status != STATUS_OK) return status;

  Inner seam;
  Node *closed = borrow(&seam, high->height, &below);
  if (a_is_high) status = pack(s, (Stretch[]){{high, 0, high->used - 1u}, all_of(closed)}, 2, result);
  else status = pack(s, (Stretch[]){all_of(closed), {high, 1, high->used}}, 2, result);
  nodes_release(s, &below);
  return status;
}

/* Closes the gap between two stretches, one level above `middle`, and replaces `middle` by the
   closed part. */
static Status close_level(const Sequence *s, Stretch left, Stretch right, Nodes *middle) {
  uint32_t height = left.node->height;
  assert(right.node->height == height && middle->count <= 2);
  bool left_empty = left.first == left.end, right_empty = right.first == right.end;
  Nodes result = {.count = 0}, closed;
  Status status = STATUS_OK;
  if (middle->count == 1 && !(left_empty && right_empty)) {
    const Edge *edge = &middle->edges[0];
    bool fine = edge->kid->height + 1u == height && half_full(edge->kid);
    if (!fine && !left_empty) status = join(s, &node_edges(left.node)[--left.end], edge, &result);
    else if (!fine) status = join(s, edge, &node_edges(right.node)[right.first++], &result);
    if (status != STATUS_OK) return status;
  }
  const Nodes *between = result.count > 0 ? &result : middle;
  uint32_t edges = left.end - left.first + between->count + right.end - right.first;
  if (height > 0 && edges == between->count && edges < 2) {   /* no slot beside it: keep it for the next level */
    closed = nodes_of(between->edges, edges);
  } else {
    Inner seam;
    status = pack(s, (Stretch[]){left, all_of(borrow(&seam, height, between)), right}, 3, &closed);
  }
  nodes_release(s, &result);
  if (status != STATUS_OK) return status;
  nodes_release(s, middle);
  *middle = closed;
  return STATUS_OK;
}

/* Lowers a new tree until its root satisfies invariant 3. */
static Status root_lower(const Sequence *s, Edge *root) {
  while (root->kid->height > 0 && root->kid->used <= 2) {
    Node *old = root->kid;
    const Edge *kids = node_edges(old);
    Nodes lower;
    if (old->used == 1) {
      lower = nodes_of(kids, 1);
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
static Status finish(Sequence *s, const Nodes *top) {
  assert(top->count == 1);
  Edge root = top->edges[0];
  Status status = root_lower(s, &root);
  if (status == STATUS_OK) sequence_swap(s, root);
  else node_release(s, root.kid);
  return status;
}

static bool unchanged(const Nodes *built, const Edge *old) {
  return built->count == 0 || built->edges[0].kid == old->kid;
}

/* Builds a stretch of the node at `old` with `first` and `last`, built one level below, in place
   of its first and last edge. */
static Status slice_level(const Sequence *s, const Edge *old, Stretch stretch, const Nodes *first, const Nodes *last,
                          Nodes *built) {
  Inner a, b;
  uint32_t height = old->kid->height;
  const Edge *edges = height > 0 ? node_edges(old->kid) : NULL;
  bool whole = stretch.end - stretch.first == old->kid->used;
  if (whole && (height == 0 || (unchanged(first, &edges[0]) && unchanged(last, &edges[stretch.end - 1])))) {
    *built = nodes_of(old, 1);
    return STATUS_OK;
  }
  stretch.first += first->count;
  stretch.end -= last->count;
  return pack(s, (Stretch[]){all_of(borrow(&a, height, first)), stretch, all_of(borrow(&b, height, last))}, 3, built);
}

/* Keeps [first, end), which is not empty. Builds the remaining parts of both paths level by level, up to the level
   `parting` on which they meet in one node. STATUS_MEMORY, STATUS_LIMIT: *s is unchanged. */
static Status slice(Sequence *s, uint32_t first, uint32_t end) {
  Path left, right;   /* to the first and the last message that stay */
  path_find(s, first, &left);
  path_find(s, end - 1, &right);
  uint32_t parting = s->root.kid->height;   /* the lowest level with both paths in one node */
  while (parting > 0 && left.steps[parting].slot == right.steps[parting].slot) parting--;

  const Nodes none = {.count = 0};
  Nodes a = none, b = none, next;   /* a, b: built one level below, on the left and on the right */
  Status status;
  for (uint32_t level = 0; level < parting; level++) {
    const Step *l = &left.steps[level], *r = &right.steps[level];
    status = slice_level(s, path_edge(s, &left, level), (Stretch){l->node, l->slot, l->node->used}, &a, &none, &next);
    if (status != STATUS_OK) goto done;
    nodes_release(s, &a);
    a = next;
    status = slice_level(s, path_edge(s, &right, level), (Stretch){r->node, 0, r->slot + 1}, &none, &b, &next);
    if (status != STATUS_OK) goto done;
    nodes_release(s, &b);
    b = next;
  }
  const Step *l = &left.steps[parting], *r = &right.steps[parting];
  status = slice_level(s, path_edge(s, &left, parting), (Stretch){l->node, l->slot, r->slot + 1}, &a, &b, &next);
  if (status == STATUS_OK) status = finish(s, &next);
done:
  nodes_release(s, &a);
  nodes_release(s, &b);
  return status;
}

/* Removes a range with messages on both sides. */
static Status close_gap(Sequence *s, uint32_t first, uint32_t end) {
  Path left, right;   /* to the first and the last message to remove */
  assert(0 < first && first < end && end < edge_count(&s->root));
  path_find(s, first, &left);
  path_find(s, end - 1, &right);
  Nodes middle = {.count = 0};
  for (uint32_t level = 0; level <= s->root.kid->height; level++) {
    const Step *l = &left.steps[level], *r = &right.steps[level];
    Stretch before = {l->node, 0, l->slot}, after = {r->node, r->slot + 1, r->node->used};
    Status status = close_level(s, before, after, &middle);
    if (status != STATUS_OK) {
      nodes_release(s, &middle);
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
