/*
** The list of a fork whose own messages got other numbers. Only leaves with such
** ids, and the nodes above them, are built; all others are shared.
*/
#include "core/sequence_node.h"

#include <assert.h>

typedef struct Renumbering {
  const Sequence *from;
  MessageId base;
  uint32_t shift;
} Renumbering;

static MessageId last_id(const Node *node) {
  while (node->height > 0) node = node_edges((Node *)(uintptr_t)node)[node->used - 1].kid;
  return ((const Leaf *)node)->ids[node->used - 1];
}

/* May there be an id above the base below this edge? Along ranked messages that
   were not moved ids rise, so that the last is the greatest. */
static bool may_have_new(const Renumbering *r, const Edge *edge) {
  return !r->from->ranked || edge->sum.moved > 0 || last_id(edge->kid) > r->base;
}

static bool leaf_has_new(const Renumbering *r, const Leaf *leaf) {
  for (uint32_t i = 0; i < leaf->node.used; i++) {
    if (leaf->ids[i] > r->base) return true;
  }
  return false;
}

/* A node of its own with the same slots. */
static Node *copy_node(const Renumbering *r, const Node *node) {
  Node *copy = node_new(r->from, node->height);
  if (copy != NULL) node_extend(copy, node, 0, node->used);
  return copy;
}

/* A share of the node or a renumbered copy of it; NULL for want of memory. */
static Node *renumber(const Renumbering *r, const Edge *edge) {
  Node *node = edge->kid, *copy = NULL;
  if (!may_have_new(r, edge)) return node_share(node);
  if (node->height == 0) {
    Leaf *leaf = node_leaf(node);
    if (!leaf_has_new(r, leaf)) return node_share(node);
    copy = copy_node(r, node);
    for (uint32_t i = 0; copy != NULL && i < copy->used; i++) {
      MessageId *id = &node_leaf(copy)->ids[i];
      if (*id > r->base) *id += r->shift;
    }
    return copy;
  }
  for (uint32_t i = 0; i < node->used; i++) {
    Node *kid = renumber(r, &node_edges(node)[i]);
    if (kid == node_edges(node)[i].kid && copy == NULL) {
      kid->owners--;         /* the node has its share, and is shared itself */
      continue;
    }
    if (kid != NULL && copy == NULL) copy = copy_node(r, node);
    if (kid == NULL || copy == NULL) {
      node_release(r->from, kid);
      node_release(r->from, copy);
      return NULL;
    }
    node_release(r->from, node_edges(copy)[i].kid);
    node_edges(copy)[i].kid = kid;
  }
  return copy != NULL ? copy : node_share(node);
}

Status sequence_renumber(const Sequence *s, Store *store, TokenWeights *weights, MessageId base, uint32_t shift,
                         Sequence **renumbered) {
  Renumbering r = {.from = s, .base = base, .shift = shift};
  assert(token_weights_equal(s->weights, weights));
  Sequence *result;
  Status status = sequence_move(s, store, weights, &result);
  if (status != STATUS_OK || s->root.kid == NULL) {
    if (status == STATUS_OK) *renumbered = result;
    return status;
  }
  Node *root = renumber(&r, &s->root);
  if (root == NULL) {
    sequence_release(result);
    return STATUS_MEMORY;
  }
  sequence_swap(result, (Edge){.kid = root, .sum = s->root.sum});
  *renumbered = result;
  return STATUS_OK;
}
