/*
** Sequence: sums, and queries, each along one path from the root.
*/
#include "core/list/sequence_node.h"

#include <assert.h>

#include "base/bitset.h"
#include "base/map.h"

/* ---- sums ---- */

const Sum SUM_ZERO = {.earliest = INT64_MAX, .latest = INT64_MIN};

static uint64_t total(const uint32_t parts[ROLE_COUNT]) {
  uint64_t all = 0;
  for (int role = 0; role < ROLE_COUNT; role++) all += parts[role];
  return all;
}

uint64_t sum_measure(const Sum *sum, Measure measure) {
  switch (measure) {
  case MEASURE_COUNT: return total(sum->count) + sum->windows;
  case MEASURE_TOKENS: return total(sum->tokens);
  case MEASURE_TURNS: return sum->turns;
  case MEASURE_WINDOWS: return sum->windows;
  default: break;
  }
  assert(measure < MEASURE_ROLE_TOKENS + ROLE_COUNT);
  return measure < MEASURE_ROLE_TOKENS ? sum->count[measure - MEASURE_ROLE_COUNT]
                                       : sum->tokens[measure - MEASURE_ROLE_TOKENS];
}

/* ---- queries ---- */

uint32_t sequence_count(const Sequence *s) { return edge_count(&s->root); }

Sum sequence_sum(const Sequence *s) { return s->root.sum; }

MessageId sequence_at(const Sequence *s, uint32_t index) {
  const Leaf *leaf = sequence_leaf(s, &index);
  return leaf->ids[index];
}

Sum sequence_prefix(const Sequence *s, uint32_t end) {
  assert(end <= edge_count(&s->root));
  if (end == edge_count(&s->root)) return s->root.sum;
  Sum sum = SUM_ZERO;
  const Node *node = s->root.kid;
  while (node->height > 0) {
    const Edge *edge = ((const Inner *)node)->edges;
    for (uint32_t count; (count = edge_count(edge)) <= end; edge++) {
      end -= count;
      sum_add(&sum, &edge->sum);
    }
    node = edge->kid;
  }
  Sum rest = leaf_sum(s, (const Leaf *)node, end);
  sum_add(&sum, &rest);
  return sum;
}

static uint32_t slot_measure(const Leaf *leaf, uint32_t at, Measure measure) {
  uint8_t marks = leaf->marks[at];
  switch (measure) {
  case MEASURE_COUNT: return 1;
  case MEASURE_TOKENS: return leaf->tokens[at];
  case MEASURE_TURNS: return (marks & MARK_TURN) != 0;
  case MEASURE_WINDOWS: return (marks & MARK_WINDOW) != 0;
  default: break;
  }
  bool tokens = measure >= MEASURE_ROLE_TOKENS;
  uint32_t role = measure - (tokens ? MEASURE_ROLE_TOKENS : MEASURE_ROLE_COUNT);
  if (mark_role(marks) != role) return 0;
  return tokens ? leaf->tokens[at] : 1;
}

uint32_t sequence_find(const Sequence *s, Measure measure, uint64_t amount) {
  if (sum_measure(&s->root.sum, measure) <= amount) return edge_count(&s->root);
  uint32_t index = 0;   /* messages before `node`; `amount` is the rest of it from there on */
  const Node *node = s->root.kid;
  VISITED();
  while (node->height > 0) {
    VISITED();
    const Edge *edge = ((const Inner *)node)->edges;
    for (uint64_t part; (part = sum_measure(&edge->sum, measure)) <= amount; edge++) {
      amount -= part;
      index += edge_count(edge);
    }
    node = edge->kid;
  }
  const Leaf *leaf = (const Leaf *)node;
  uint32_t at = 0;
  assert(leaf->node.used > 0);
  for (uint64_t part; (part = slot_measure(leaf, at, measure)) <= amount; at++) amount -= part;
  return index + at;
}

/* True if one of the messages with this sum may match. */
static bool may_have(const Sum *sum, const MessageFilter *filter) {
  uint32_t count = filter->roles >> ROLE_NONE & 1 ? sum->windows : 0;
  for (int role = 0; role < ROLE_COUNT; role++) count += filter->roles >> role & 1 ? sum->count[role] : 0;
  return count > 0 && (!filter->timed || (sum->earliest <= filter->until && sum->latest >= filter->since));
}

static bool matches_filter(const Slot *slot, const MessageFilter *filter) {
  if (!(filter->roles >> mark_role(slot->marks) & 1)) return false;
  if (!filter->timed) return true;
  return slot->marks & MARK_TIMED && slot->time >= filter->since && slot->time <= filter->until;
}

/* The first match from `from` on below a node, or the node's count. */
static uint32_t next_below(const Sequence *s, const Node *node, uint32_t from, const MessageFilter *filter) {
  uint32_t index = 0;
  VISITED();
  if (node->height == 0) {
    for (index = from; index < node->used; index++) {
      Slot slot = leaf_slot(s, (const Leaf *)node, index);
      if (matches_filter(&slot, filter)) break;
    }
    return index;
  }
  const Edge *edges = ((const Inner *)node)->edges;
  for (uint32_t i = 0; i < node->used; i++) {
    uint32_t count = edge_count(&edges[i]), skip = from > index ? from - index : 0;
    if (skip < count && may_have(&edges[i].sum, filter)) {
      uint32_t place = next_below(s, edges[i].kid, skip, filter);
      if (place < count) return index + place;
    }
    index += count;
  }
  return index;
}

uint32_t sequence_next(const Sequence *s, uint32_t from, const MessageFilter *filter) {
  return s->root.kid == NULL ? 0 : next_below(s, s->root.kid, from, filter);
}

bool sequence_is_ranked(const Sequence *s) { return s->ranked; }

Rank sequence_rank(const Sequence *s, uint32_t index) {
  const Leaf *leaf = sequence_leaf(s, &index);
  return rank_of(s, leaf->ids[index], leaf->marks[index]);
}

uint32_t sequence_find_rank(const Sequence *s, Rank rank) {
  uint32_t low = 0, high = edge_count(&s->root);
  assert(s->ranked);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rank_below(sequence_rank(s, middle), rank)) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint32_t search_all(const Sequence *s, MessageId id, bool origin) {
  uint32_t count = edge_count(&s->root);
  SequenceWalk walk = sequence_walk(s, 0, count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if ((origin ? store_origin(s->store, walk.ids[i]) : walk.ids[i]) == id) return walk.index + i;
    }
  }
  return count;
}

uint32_t sequence_index_of(const Sequence *s, MessageId id, uint32_t hint) {
  uint32_t count = edge_count(&s->root);
  if (hint < count && sequence_at(s, hint) == id) return hint;
  if (!s->ranked) return search_all(s, id, false);
  Rank rank = store_rank(s->store, id);
  if (rank_below(s->last, rank)) return count;             /* newer than all */
  uint32_t index = sequence_find_rank(s, rank);
  return index < count && sequence_at(s, index) == id ? index : count;
}

uint32_t sequence_index_of_origin(const Sequence *s, MessageId id) {
  uint32_t count = edge_count(&s->root);
  MessageId origin = store_origin(s->store, id);
  if (!s->ranked) return search_all(s, origin, true);
  uint32_t index = sequence_find_rank(s, store_rank(s->store, origin));
  return index < count && store_origin(s->store, sequence_at(s, index)) == origin ? index : count;
}

SequenceWalk sequence_walk(const Sequence *s, uint32_t first, uint32_t end) {
  assert(first <= end && end <= edge_count(&s->root));
  return (SequenceWalk){.sequence = s, .index = first, .end = end, .ids = NULL, .marks = NULL, .count = 0};
}

/* Finds each leaf from the root: one path per leaf, less than one step per message. */
bool sequence_walk_next(SequenceWalk *walk) {
  walk->index += walk->count;
  walk->count = 0;
  if (walk->index == walk->end) return false;
  uint32_t at = walk->index;
  const Leaf *leaf = sequence_leaf(walk->sequence, &at);
  walk->ids = leaf->ids + at;
  walk->marks = leaf->marks + at;
  walk->count = leaf->node.used - at;
  if (walk->count > walk->end - walk->index) walk->count = walk->end - walk->index;
  assert(walk->count > 0);
  return true;
}

/* ---- invariants ---- */

static void check_sum(const Sum *edge, const Sum *slots) {
  for (int role = 0; role < ROLE_COUNT; role++) {
    assert(edge->count[role] == slots->count[role]);
    assert(edge->tokens[role] == slots->tokens[role]);
  }
  assert(edge->turns == slots->turns && edge->moved == slots->moved && edge->windows == slots->windows);
  assert(edge->earliest == slots->earliest && edge->latest == slots->latest);
  (void)edge, (void)slots;
}

static void check_leaf(const Sequence *s, const Leaf *leaf) {
  for (uint32_t i = 0; i < leaf->node.used; i++) {
    assert(store_has(s->store, leaf->ids[i]));
    assert(!(leaf->marks[i] & MARK_WINDOW) || leaf->tokens[i] == 0);
    assert(mark_role(leaf->marks[i]) == message_role(store_message(s->store, leaf->ids[i])));
  }
  (void)s, (void)leaf;
}

/* `left`, `right`: the node is on that edge of the tree. */
static void check_node(const Sequence *s, const Edge *edge, uint32_t height, bool left, bool right) {
  Node *node = edge->kid;
  assert(node->owners > 0 && node->height == height);
  assert(node->used >= 1 && node->used <= node_room(height));
  assert(left || right || node->used >= node_room(height) / 2);
  Sum sum = node_sum(s, node);
  check_sum(&edge->sum, &sum);
  if (height == 0) {
    check_leaf(s, node_leaf(node));
    return;
  }
  const Edge *edges = node_edges(node);
  for (uint32_t i = 0; i < node->used; i++) {
    check_node(s, &edges[i], height - 1, left && i == 0, right && i + 1 == node->used);
  }
}

static void check_order(const Sequence *s) {
  Rank before = {0, 0};
  SequenceWalk walk = sequence_walk(s, 0, edge_count(&s->root));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      Rank rank = rank_of(s, walk.ids[i], walk.marks[i]);
      assert(!s->ranked || rank_below(before, rank));
      before = rank;
    }
  }
  assert(before.anchor == s->last.anchor && before.step == s->last.step);
  (void)before;
}

void sequence_check(const Sequence *s) {
  Node *root = s->root.kid;
  check_order(s);
  if (root == NULL) {
    check_sum(&s->root.sum, &SUM_ZERO);
    return;
  }
  assert(root->height < SEQUENCE_HEIGHT);
  if (root->height > 0) {
    const Edge *kids = node_edges(root);
    assert(root->used >= 2);
    assert(root->used > 2 || (uint32_t)kids[0].kid->used + kids[1].kid->used > node_room(root->height - 1u));
    (void)kids;
  }
  check_node(s, &s->root, root->height, true, true);
}

/* ---- the messages of several lists ---- */

static Status collect(const Node *node, Map *seen, uint64_t *bits) {
  uint64_t key = (uint64_t)(uintptr_t)node;
  if (node->owners > 1) {                      /* another list may have it too */
    if (map_find(seen, key) != NULL) return STATUS_OK;
    Status status = map_put(seen, key, 1);
    if (status != STATUS_OK) return status;
  }
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < node->used && status == STATUS_OK; i++) {
    if (node->height > 0) {
      status = collect(((const Inner *)node)->edges[i].kid, seen, bits);
    } else {
      MessageId id = ((const Leaf *)node)->ids[i];
      bitset_add(bits, id);
    }
  }
  return status;
}

Status sequence_collect(const Sequence *s, Map *seen, uint64_t *bits) {
  return s->root.kid == NULL ? STATUS_OK : collect(s->root.kid, seen, bits);
}
