#include "core/list/sequence_node.h"

#include <assert.h>
#include <string.h>

#ifdef EBB_COUNT_PROBES
uint64_t sequence_visits;
#endif

static size_t node_size(uint32_t height) { return height > 0 ? sizeof(Inner) : sizeof(Leaf); }

Node *node_new(const Sequence *s, uint32_t height) {
  Node *node = memory_new(&s->memory, node_size(height));
  if (node != NULL) *node = (Node){.owners = 1, .used = 0, .height = (uint16_t)height};
  return node;
}

Node *node_share(Node *node) {
  node->owners++;
  return node;
}

void node_release(const Sequence *s, Node *node) {
  assert(node == NULL || node->owners > 0);
  if (node == NULL || --node->owners > 0) return;
  if (node->height > 0) {
    const Edge *edges = node_edges(node);
    for (uint32_t i = 0; i < node->used; i++) node_release(s, edges[i].kid);
  }
  memory_free(&s->memory, node, node_size(node->height));
}

/* Copies slots between nodes of the same height without taking shares; there is room. */
static void slots_copy(Node *to, uint32_t at, const Node *from, uint32_t first, uint32_t count) {
  assert(to->height == from->height && at + count <= node_room(to->height));
  if (to->height > 0) {
    memmove(((Inner *)to)->edges + at, ((const Inner *)from)->edges + first, count * sizeof(Edge));
    return;
  }
  Leaf *leaf = (Leaf *)to;
  const Leaf *source = (const Leaf *)from;
  memmove(leaf->ids + at, source->ids + first, count * sizeof *leaf->ids);
  memmove(leaf->tokens + at, source->tokens + first, count * sizeof *leaf->tokens);
  memmove(leaf->marks + at, source->marks + first, count * sizeof *leaf->marks);
}

void node_extend(Node *node, const Node *from, uint32_t first, uint32_t end) {
  uint32_t used = node->used, count = end - first;
  assert(first <= end && end <= from->used);
  slots_copy(node, used, from, first, count);
  node->used = (uint16_t)(used + count);
  if (node->height == 0) return;
  for (uint32_t i = used; i < node->used; i++) node_share(node_edges(node)[i].kid);
}

void node_split(Node *node, Node *right, uint32_t cut) {
  assert(right->used == 0 && cut <= node->used);
  right->used = (uint16_t)(node->used - cut);
  slots_copy(right, 0, node, cut, right->used);
  node->used = (uint16_t)cut;
}

/* Makes room for one slot. */
static void node_open(Node *node, uint32_t at) {
  assert(at <= node->used && node->used < node_room(node->height));
  if (at < node->used) slots_copy(node, at + 1, node, at, node->used - at);
  node->used++;
}

void leaf_set(Leaf *leaf, uint32_t at, const Slot *slot) {
  assert(at < leaf->node.used && slot->id != 0);
  leaf->ids[at] = slot->id;
  leaf->tokens[at] = slot->tokens;
  leaf->marks[at] = slot->marks;
}

void leaf_place(Leaf *leaf, uint32_t at, const Slot *slot) {
  node_open(&leaf->node, at);
  leaf_set(leaf, at, slot);
}

void inner_place(Node *inner, uint32_t at, const Edge *edge) {
  assert(edge->kid->height + 1u == inner->height);
  node_open(inner, at);
  node_edges(inner)[at] = *edge;
}

Slot slot_of(const Sequence *s, MessageId id) {
  const Message *message = store_message(s->store, id);
  Slot slot = {.id = id, .tokens = token_weights_get(s->weights, s->store, id), .time = 0};
  uint32_t marks = message_is_window(message) ? MARK_WINDOW : message_role(message);
  if (message_starts_turn(message)) marks |= MARK_TURN;
  if (message_timestamp(message, &slot.time)) marks |= MARK_TIMED;
  if (message_call_count(message) > 0) marks |= MARK_CALLS;
  if (message_result_count(message) > 0) marks |= MARK_RESULTS;
  if (store_is_moved(s->store, id)) marks |= MARK_MOVED;
  slot.marks = (uint8_t)marks;
  return slot;
}

Slot leaf_slot(const Sequence *s, const Leaf *leaf, uint32_t at) {
  Slot slot = {.id = leaf->ids[at], .tokens = leaf->tokens[at], .marks = leaf->marks[at], .time = 0};
  if (slot.marks & MARK_TIMED) slot.time = store_time(s->store, slot.id);
  return slot;
}

Sum leaf_sum(const Sequence *s, const Leaf *leaf, uint32_t end) {
  Sum sum = SUM_ZERO;
  assert(leaf->node.height == 0 && end <= leaf->node.used);
  for (uint32_t i = 0; i < end; i++) {
    Slot slot = leaf_slot(s, leaf, i);
    sum_put(&sum, &slot);
  }
  return sum;
}

Sum node_sum(const Sequence *s, const Node *node) {
  if (node->height == 0) return leaf_sum(s, (const Leaf *)node, node->used);
  Sum sum = SUM_ZERO;
  const Edge *edges = ((const Inner *)node)->edges;
  for (uint32_t i = 0; i < node->used; i++) sum_add(&sum, &edges[i].sum);
  return sum;
}

void node_times(const Sequence *s, const Node *node, Sum *sum) {
  Sum whole = node_sum(s, node);
  sum->earliest = whole.earliest;
  sum->latest = whole.latest;
}

Edge edge_to(const Sequence *s, Node *node) { return (Edge){.kid = node, .sum = node_sum(s, node)}; }

void path_find(const Sequence *s, uint32_t index, Path *path) {
  Node *node = s->root.kid;
  bool at_end = index == edge_count(&s->root);
  assert(node != NULL && index <= edge_count(&s->root));
  for (; node->height > 0; node = node_edges(node)[path->steps[node->height].slot].kid) {
    const Edge *edges = node_edges(node);
    uint32_t i = at_end ? node->used - 1u : 0;
    if (!at_end) {
      for (uint32_t count; (count = edge_count(&edges[i])) <= index; i++) index -= count;
    }
    path->steps[node->height] = (Step){node, i};
  }
  path->steps[0] = (Step){node, at_end ? node->used : index};
  assert(path->steps[0].slot <= node->used);
}

const Leaf *sequence_leaf(const Sequence *s, uint32_t *index) {
  assert(*index < edge_count(&s->root));
  const Node *node = s->root.kid;
  VISITED();
  while (node->height > 0) {
    const Edge *edge = ((const Inner *)node)->edges;
    for (uint32_t count; (count = edge_count(edge)) <= *index; edge++) *index -= count;
    node = edge->kid;
    VISITED();
  }
  return (const Leaf *)node;
}

Edge *path_edge(Sequence *s, const Path *path, uint32_t level) {
  assert(level <= s->root.kid->height);
  if (level == s->root.kid->height) return &s->root;
  const Step *above = &path->steps[level + 1];
  return &node_edges(above->node)[above->slot];
}

void sequence_swap(Sequence *s, Edge root) {
  node_release(s, s->root.kid);
  s->root = root;
  s->last = (Rank){0, 0};
  if (root.kid == NULL) return;
  const Node *node = root.kid;
  while (node->height > 0) node = ((const Inner *)node)->edges[node->used - 1].kid;
  const Leaf *leaf = (const Leaf *)node;
  s->last = rank_of(s, leaf->ids[node->used - 1], leaf->marks[node->used - 1]);
}
