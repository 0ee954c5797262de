/*
** Sequence: keeps messages by bits.
**
** A few runs of messages are removed one by one. If there are many, a new tree is built
** from the left, with one open node per level; a full node is closed by adding it to the
** open node above it:
**
**     open[1]  [ [] [] []         ]
**     open[0]  [ 8 9 12           ]   <- messages
*/
#include "core/list/sequence_node.h"

#include <assert.h>

#include "base/bitset.h"
#include "base/minmax.h"

/* Number of messages whose building costs about as much per level as removing a run. */
#define RUN_COST SEQUENCE_LEAF

typedef struct Build {
  const Sequence *s;
  Node *open[SEQUENCE_HEIGHT + 1];   /* NULL above the highest */
} Build;

/* Makes room for one slot at `level`: opens a node if there is none or it is full. */
static Status build_room(Build *build, uint32_t level) {
  assert(level < SEQUENCE_HEIGHT);
  Node *full = build->open[level];
  if (full != NULL && full->used < node_room(level)) return STATUS_OK;
  Node *fresh = node_new(build->s, level);
  if (fresh == NULL) return STATUS_MEMORY;
  if (full != NULL) {
    Status status = build_room(build, level + 1);
    if (status != STATUS_OK) {
      node_release(build->s, fresh);
      return status;
    }
    Node *above = build->open[level + 1];
    Edge edge = edge_to(build->s, full);
    inner_place(above, above->used, &edge);
  }
  build->open[level] = fresh;
  return STATUS_OK;
}

/* Closes all levels; the highest open node becomes the root. */
static Status build_end(Build *build, Edge *root) {
  uint32_t level = 0;
  for (; build->open[level + 1] != NULL; level++) {
    Status status = build_room(build, level + 1);
    if (status != STATUS_OK) return status;
    Node *above = build->open[level + 1];
    Edge edge = edge_to(build->s, build->open[level]);
    inner_place(above, above->used, &edge);
    build->open[level] = NULL;
  }
  *root = (Edge){.kid = NULL, .sum = SUM_ZERO};
  if (build->open[level] != NULL) *root = edge_to(build->s, build->open[level]);
  build->open[level] = NULL;
  return STATUS_OK;
}

/* Adds the messages to keep of a leaf, run by run; `index` is its first message. */
static Status build_leaf(Build *build, const Node *leaf, uint32_t index, const uint64_t *keep) {
  uint32_t end = index + leaf->used, stop = index;
  for (uint32_t at; (at = bitset_next(keep, stop, end, true)) < end;) {
    stop = bitset_next(keep, at, end, false);
    while (at < stop) {
      Status status = build_room(build, 0);
      if (status != STATUS_OK) return status;
      uint32_t take = min_u32(stop - at, SEQUENCE_LEAF - build->open[0]->used);
      node_extend(build->open[0], leaf, at - index, at - index + take);
      at += take;
    }
  }
  return STATUS_OK;
}

/* The same for the subtree of `node`. */
static Status build_kept(Build *build, Node *node, uint32_t index, const uint64_t *keep) {
  if (node->height == 0) return build_leaf(build, node, index, keep);
  const Edge *edges = node_edges(node);
  for (uint32_t i = 0; i < node->used; i++) {
    Status status = build_kept(build, edges[i].kid, index, keep);
    if (status != STATUS_OK) return status;
    index += edge_count(&edges[i]);
  }
  return STATUS_OK;
}

static Status rebuild(Sequence *s, const uint64_t *keep) {
  Build build = {.s = s};
  Edge root = {0};
  Status status = build_kept(&build, s->root.kid, 0, keep);
  if (status == STATUS_OK) status = build_end(&build, &root);
  for (uint32_t level = 0; level < SEQUENCE_HEIGHT; level++) node_release(s, build.open[level]);
  if (status == STATUS_OK) sequence_swap(s, root);
  return status;
}

/* Number of runs of messages to remove; stops counting above `most`. */
static uint32_t count_runs(const uint64_t *keep, uint32_t count, uint32_t most) {
  uint32_t runs = 0;
  for (uint32_t at = bitset_next(keep, 0, count, false); at < count && runs <= most; runs++) {
    at = bitset_next(keep, bitset_next(keep, at, count, true), count, false);
  }
  return runs;
}

static Status remove_runs(Sequence *s, const uint64_t *keep) {
  Sequence work = *s, *edited = &work;   /* a copy, for a failure halfway */
  node_share(work.root.kid);
  uint32_t count = edge_count(&s->root), removed = 0;
  Status status = STATUS_OK;
  for (uint32_t at = bitset_next(keep, 0, count, false); at < count && status == STATUS_OK;) {
    uint32_t end = bitset_next(keep, at, count, true);
    status = sequence_remove(&edited, at - removed, end - removed);
    removed += end - at;
    at = bitset_next(keep, end, count, false);
  }
  assert(status != STATUS_OK || edge_count(&work.root) == count - removed);
  if (status == STATUS_OK) sequence_swap(s, work.root);
  else node_release(s, work.root.kid);
  return status;
}

Status sequence_keep(Sequence **s, const uint64_t *keep) {
  uint32_t count = edge_count(&(*s)->root);
  if (count == 0) return STATUS_OK;
  uint32_t most = count / (RUN_COST * ((*s)->root.kid->height + 1u));
  uint32_t runs = count_runs(keep, count, most);
  if (runs == 0) return STATUS_OK;
  return runs > most ? rebuild(*s, keep) : remove_runs(*s, keep);
}
