/*
** Opens both trees level by level from the root. A node that both sides have at one level
** holds the same messages and is struck out; only the others are opened further:
**
**     before   [ A B C D ]        level 1: A, C, D on both sides are struck out
**     after    [ A B' C D ]       level 0: the messages of B against those of B'
*/
#include "core/list/sequence_diff.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "base/map.h"
#include "base/minmax.h"
#include "core/list/sequence_node.h"

/* A node, and the position of its first message. */
typedef struct Place {
  Node *node;
  uint32_t index;
} Place;

/* Nodes of one height, in order. */
typedef struct Level {
  Memory memory;
  Place *places;
  uint32_t count, room;
} Level;

static Status level_add(Level *level, Node *node, uint32_t index) {
  Place *grown = memory_grow(&level->memory, level->places, &level->room, level->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  level->places = grown;
  assert(level->count == 0 || grown[0].node->height == node->height);
  grown[level->count++] = (Place){.node = node, .index = index};
  return STATUS_OK;
}

static void level_free(Level *level) {
  memory_free(&level->memory, level->places, level->room * sizeof *level->places);
}

/* Replaces all nodes by their kids. */
static Status level_open(Level *level) {
  Level kids = {.memory = level->memory};
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < level->count && status == STATUS_OK; i++) {
    uint32_t index = level->places[i].index;
    const Edge *edges = node_edges(level->places[i].node);
    for (uint32_t kid = 0; kid < level->places[i].node->used && status == STATUS_OK; kid++) {
      status = level_add(&kids, edges[kid].kid, index);
      index += edge_count(&edges[kid]);
    }
  }
  level_free(level);
  *level = kids;
  return status;
}

static uint64_t key_of(const Node *node) { return (uint64_t)(uintptr_t)node; }

static Status note_nodes(const Level *level, Map *nodes) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < level->count && status == STATUS_OK; i++) {
    status = map_put(nodes, key_of(level->places[i].node), 1);
  }
  return status;
}

static void strike(Level *level, const Map *others) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < level->count; i++) {
    if (map_find(others, key_of(level->places[i].node)) == NULL) level->places[left++] = level->places[i];
  }
  level->count = left;
}

static void level_drop(Level *level, uint32_t front, uint32_t back) {
  assert(front + back <= level->count);
  level->count -= front + back;
  memmove(level->places, level->places + front, level->count * sizeof *level->places);
}

/* Removes the nodes with which both sides begin and end: after one edit nearly all. */
static void strike_ends(Level *before, Level *after) {
  uint32_t front = 0, back = 0, least = min_u32(before->count, after->count);
  while (front < least && before->places[front].node == after->places[front].node) front++;
  while (back < least - front && before->places[before->count - 1 - back].node ==
                                     after->places[after->count - 1 - back].node) {
    back++;
  }
  if (front + back == 0) return;
  level_drop(before, front, back);
  level_drop(after, front, back);
}

/* Removes the nodes of both sides from both. */
static Status strike_shared(Level *before, Level *after) {
  Map in_before, in_after;
  strike_ends(before, after);
  if (before->count == 0 || after->count == 0) return STATUS_OK;
  map_init(&in_before, before->memory);
  map_init(&in_after, before->memory);
  Status status = note_nodes(before, &in_before);
  if (status == STATUS_OK) status = note_nodes(after, &in_after);
  if (status == STATUS_OK) {
    strike(before, &in_after);
    strike(after, &in_before);
  }
  map_free(&in_before);
  map_free(&in_after);
  return status;
}

static uint32_t height_of(const Level *level) { return level->count == 0 ? 0 : level->places[0].node->height; }

/* Opens both sides down to the leaves that differ. */
static Status open_levels(Level *before, Level *after) {
  Status status = STATUS_OK;
  while (status == STATUS_OK) {
    uint32_t one = height_of(before), other = height_of(after);
    if (one == other) status = strike_shared(before, after);
    if (status != STATUS_OK || (one == 0 && other == 0)) break;
    if (one >= other) status = level_open(before);
    if (status == STATUS_OK && other >= one) status = level_open(after);
  }
  return status;
}

/* ---- messages ---- */

/* A set of messages: few in a map; many, that is a share of all ids, as bits. */
typedef struct IdSet {
  Map map;
  uint64_t *bits;            /* NULL: the map has them */
  size_t size;               /* ids below it */
} IdSet;

enum { IDS_PER_WORD = 64 };

static Status id_set_init(IdSet *set, const Memory *memory, const Level *level, MessageId newest) {
  uint64_t ids = 0;
  *set = (IdSet){.size = (size_t)newest + 1};
  map_init(&set->map, *memory);
  for (uint32_t i = 0; i < level->count; i++) ids += level->places[i].node->used;
  if (ids < set->size / IDS_PER_WORD) return STATUS_OK;
  set->bits = bitset_new(memory, set->size);
  return set->bits == NULL ? STATUS_MEMORY : STATUS_OK;
}

static void id_set_free(IdSet *set, const Memory *memory) {
  bitset_free(memory, set->bits, set->size);
  map_free(&set->map);
}

static Status id_set_add(IdSet *set, MessageId id) {
  if (set->bits == NULL) return map_put(&set->map, id, 1);
  assert(id < set->size);
  bitset_add(set->bits, id);
  return STATUS_OK;
}

static bool id_set_has(const IdSet *set, MessageId id) {
  return set->bits == NULL ? map_find(&set->map, id) != NULL : bitset_has(set->bits, id);
}

static Status note_ids(const Level *level, IdSet *ids) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < level->count; i++) {
    const Leaf *leaf = node_leaf(level->places[i].node);
    for (uint32_t at = 0; at < leaf->node.used && status == STATUS_OK; at++) status = id_set_add(ids, leaf->ids[at]);
  }
  return status;
}

/* Lists the messages that only one side has. */
static Status list_missing(const Level *level, const IdSet *others, const Memory *memory, DiffEntry **list,
                           uint32_t *count, uint32_t *room) {
  for (uint32_t i = 0; i < level->count; i++) {
    const Leaf *leaf = node_leaf(level->places[i].node);
    for (uint32_t at = 0; at < leaf->node.used; at++) {
      if (id_set_has(others, leaf->ids[at])) continue;
      DiffEntry *grown = memory_grow(memory, *list, room, *count, sizeof *grown);
      if (grown == NULL) return STATUS_MEMORY;
      *list = grown;
      grown[(*count)++] = (DiffEntry){.id = leaf->ids[at], .index = level->places[i].index + at};
    }
  }
  return STATUS_OK;
}

/* `newest`: no message has a larger id. */
static Status compare_leaves(const Level *before, const Level *after, MessageId newest, SequenceDiff *diff) {
  IdSet in_before, in_after;
  const Memory *memory = &diff->memory;
  Status status = id_set_init(&in_before, memory, before, newest);
  Status second = id_set_init(&in_after, memory, after, newest);
  if (status == STATUS_OK) status = second;
  if (status == STATUS_OK) status = note_ids(before, &in_before);
  if (status == STATUS_OK) status = note_ids(after, &in_after);
  if (status == STATUS_OK) {
    status = list_missing(before, &in_after, memory, &diff->removed, &diff->removed_count, &diff->removed_room);
  }
  if (status == STATUS_OK) {
    status = list_missing(after, &in_before, memory, &diff->added, &diff->added_count, &diff->added_room);
  }
  id_set_free(&in_before, memory);
  id_set_free(&in_after, memory);
  return status;
}

Status sequence_diff(const Sequence *before, const Sequence *after, SequenceDiff *diff) {
  Level one = {.memory = before->memory}, other = {.memory = before->memory};
  Status status = STATUS_OK;
  *diff = (SequenceDiff){.memory = before->memory};
  if (before->root.kid != NULL) status = level_add(&one, before->root.kid, 0);
  if (status == STATUS_OK && after->root.kid != NULL) status = level_add(&other, after->root.kid, 0);
  if (status == STATUS_OK) status = open_levels(&one, &other);
  MessageId newest = max_u32(store_count(before->store), store_count(after->store));   /* a fork's list has its own */
  if (status == STATUS_OK) status = compare_leaves(&one, &other, newest, diff);
  level_free(&one);
  level_free(&other);
  assert(status != STATUS_OK ||
         sequence_count(before) - diff->removed_count == sequence_count(after) - diff->added_count);
  return status;
}

void sequence_diff_free(SequenceDiff *diff) {
  memory_free(&diff->memory, diff->removed, diff->removed_room * sizeof *diff->removed);
  memory_free(&diff->memory, diff->added, diff->added_room * sizeof *diff->added);
  *diff = (SequenceDiff){.memory = diff->memory};
}

/* ---- equal messages at the start ---- */

static bool are_equal(const Store *store, MessageId a, MessageId b) {
  return a == b || text_equal(message_raw(store_message(store, a)), message_raw(store_message(store, b)));
}

Status common_prefix_count(const Memory *memory, const Store *store, const Sequence *a, const Sequence *b,
                           uint32_t *messages) {
  uint32_t end = min_u32(sequence_count(a), sequence_count(b)), same = end;
  SequenceDiff diff = {.memory = *memory};
  Status status = sequence_diff(a, b, &diff);
  /* Messages keep their order, so both lists are the same up to the first message that one of them lacks. */
  if (diff.removed_count > 0) same = min_u32(same, diff.removed[0].index);
  if (diff.added_count > 0) same = min_u32(same, diff.added[0].index);
  sequence_diff_free(&diff);
  if (status != STATUS_OK) return status;
  while (same < end && are_equal(store, sequence_at(a, same), sequence_at(b, same))) same++;
  assert(same <= sequence_count(a) && same <= sequence_count(b));
  *messages = same;
  return STATUS_OK;
}
