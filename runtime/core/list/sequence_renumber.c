/*
** Sequence: adds a shift to the ids above a base. Builds only leaves with such ids and the
** nodes above them; shares all others.
*/
#include "core/list/sequence_node.h"

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

/* True if an id below this edge may exceed the base. Ids of ranked messages that were not
   moved rise, so the last one is the greatest. */
static bool may_have_new(const Renumbering *r, const Edge *edge) {
  return !r->from->ranked || edge->sum.moved > 0 || last_id(edge->kid) > r->base;
}

static bool leaf_has_new(const Renumbering *r, const Leaf *leaf) {
  for (uint32_t i = 0; i < leaf->node.used; i++) {
    if (leaf->ids[i] > r->base) return true;
  }
  return false;
}

/* Copies a node, sharing its kids; NULL if memory runs out. */
static Node *copy_node(const Renumbering *r, const Node *node) {
  Node *copy = node_new(r->from, node->height);
  if (copy != NULL) node_extend(copy, node, 0, node->used);
  return copy;
}

/* A share of the node or a renumbered copy of it; NULL if memory runs out. */
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
      assert(kid->owners > 1);
      kid->owners--;         /* the node keeps its own share */
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
