#include "core/history/batch.h"

#include <assert.h>
#include <string.h>

#define FANOUT_BITS 4u
#define FANOUT (1u << FANOUT_BITS)

typedef struct BatchNode {
  uint32_t owners, used;
  void *slots[FANOUT];       /* at height 0 batches, above it nodes one level lower */
} BatchNode;

/* ---- batches ---- */

Status policy_memory_new(const Memory *memory, Text text, PolicyMemory **result) {
  if (text.size > POLICY_MEMORY_MAX) return STATUS_LIMIT;
  PolicyMemory *policy_memory = memory_new(memory, sizeof *policy_memory + text.size);
  if (policy_memory == NULL) return STATUS_MEMORY;
  policy_memory->owners = 1;
  policy_memory->size = text.size;
  memcpy(policy_memory->bytes, text.bytes, text.size);
  *result = policy_memory;
  return STATUS_OK;
}

void policy_memory_release(const Memory *memory, PolicyMemory *policy_memory) {
  assert(policy_memory == NULL || policy_memory->owners > 0);
  if (policy_memory == NULL || --policy_memory->owners > 0) return;
  memory_free(memory, policy_memory, sizeof *policy_memory + policy_memory->size);
}

static void batch_release(const Memory *memory, Batch *batch) {
  assert(batch->owners > 0);
  if (--batch->owners > 0) return;
  sequence_release(batch->list);
  ledger_release(batch->ledger);
  policy_memory_release(memory, batch->policy_memory);
  memory_free(memory, batch->description, batch->description_size);
  memory_free(memory, batch, sizeof *batch);
}

/* Creates a batch without list and ledger, which the caller sets. */
static Status batch_new(const Memory *memory, const Batch *fields, Text description, Batch **result) {
  Batch *batch = memory_new(memory, sizeof *batch);
  if (batch == NULL) return STATUS_MEMORY;
  *batch = *fields;
  batch->owners = 1;
  batch->list = NULL;
  batch->ledger = NULL;
  batch->description_size = description.size;
  Status status = text_copy(memory, description, &batch->description);
  if (status != STATUS_OK) {
    memory_free(memory, batch, sizeof *batch);
    return status;
  }
  if (batch->policy_memory != NULL) batch->policy_memory->owners++;
  *result = batch;
  return STATUS_OK;
}

static Status batch_copy(const Memory *memory, const Batch *batch, Batch **result) {
  Text description = text_plain(batch->description, batch->description_size);
  Status status = batch_new(memory, batch, description, result);
  if (status != STATUS_OK) return status;
  if (batch->list != NULL) status = sequence_share(batch->list, &(*result)->list);
  if (status != STATUS_OK) batch_release(memory, *result);
  else if (batch->ledger != NULL) (*result)->ledger = ledger_share(batch->ledger);
  return status;
}

/* ---- nodes ---- */

static BatchNode *node_new(const Memory *memory) {
  BatchNode *node = memory_new(memory, sizeof *node);
  if (node != NULL) *node = (BatchNode){.owners = 1};
  return node;
}

static void node_release(const Memory *memory, BatchNode *node, uint32_t height) {
  assert(node == NULL || (node->owners > 0 && node->used <= FANOUT));
  if (node == NULL || --node->owners > 0) return;
  for (uint32_t i = 0; i < node->used; i++) {
    if (height > 0) node_release(memory, node->slots[i], height - 1);
    else batch_release(memory, node->slots[i]);
  }
  memory_free(memory, node, sizeof *node);
}

static BatchNode *node_copy(const Memory *memory, const BatchNode *node, uint32_t height) {
  BatchNode *copy = node_new(memory);
  if (copy == NULL) return NULL;
  copy->used = node->used;
  memcpy(copy->slots, node->slots, node->used * sizeof *node->slots);
  for (uint32_t i = 0; i < node->used; i++) {
    if (height > 0) ((BatchNode *)node->slots[i])->owners++;
    else ((Batch *)node->slots[i])->owners++;
  }
  return copy;
}

/* Replaces a node that has another owner by a copy. */
static Status node_own(const Memory *memory, BatchNode **node, uint32_t height) {
  if ((*node)->owners == 1) return STATUS_OK;
  BatchNode *copy = node_copy(memory, *node, height);
  if (copy == NULL) return STATUS_MEMORY;
  (*node)->owners--;
  *node = copy;
  assert(copy->owners == 1);
  return STATUS_OK;
}

static uint32_t slot_at(uint32_t index, uint32_t height) { return index >> (height * FANOUT_BITS) & (FANOUT - 1); }

/* The most batches that a tree of this height holds. */
static uint64_t room(uint32_t height) { return (uint64_t)1 << ((height + 1) * FANOUT_BITS); }

/* ---- the list ---- */

Batches batches_share(const Batches *batches) {
  if (batches->root != NULL) batches->root->owners++;
  return *batches;
}

void batches_free(Batches *batches) {
  node_release(&batches->memory, batches->root, batches->height);
  batches->root = NULL;
  batches->count = 0;
}

static Batch *find(const Batches *batches, uint32_t index) {
  assert(index < batches->count);
  const BatchNode *node = batches->root;
  for (uint32_t height = batches->height; height > 0; height--) node = node->slots[slot_at(index, height)];
  return node->slots[slot_at(index, 0)];
}

const Batch *batches_at(const Batches *batches, uint32_t index) { return find(batches, index); }

/* All owners of the batch share its list, and so its memo. */
uint32_t batches_straight(const Batches *batches, uint32_t index) {
  Batch *batch = find(batches, index);
  assert(batch->list != NULL);
  uint32_t end = sequence_count(batch->list), next = batch->born + batch->straight;
  assert(next <= end);
  if (next == end) return batch->straight;
  MessageId expected = sequence_at(batch->list, batch->born) + batch->straight;
  SequenceWalk walk = sequence_walk(batch->list, next, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++, expected++) {
      if (walk.ids[i] != expected) return batch->straight;
      batch->straight++;
    }
  }
  assert(batch->born + batch->straight == end);
  return batch->straight;
}

/* Gives the leaf that holds, or will hold, `index` for writing. New nodes on the way
   belong to the list even if it fails. STATUS_MEMORY. */
static Status own_leaf(Batches *batches, uint32_t index, BatchNode **leaf) {
  assert(index <= batches->count && index < room(batches->height));
  const Memory *memory = &batches->memory;
  BatchNode **place = &batches->root;
  for (uint32_t height = batches->height;; height--) {
    Status status = node_own(memory, place, height);
    if (status != STATUS_OK) return status;
    if (height == 0) break;
    BatchNode *node = *place;
    uint32_t slot = slot_at(index, height);
    assert(slot <= node->used);
    if (slot == node->used) {
      node->slots[slot] = node_new(memory);
      if (node->slots[slot] == NULL) return STATUS_MEMORY;
      node->used++;
    }
    place = (BatchNode **)&node->slots[slot];
  }
  *leaf = *place;
  return STATUS_OK;
}

/* Makes room for one more batch: adds a first root, or one above a full root. */
static Status grow(Batches *batches) {
  if (batches->root != NULL && batches->count < room(batches->height)) return STATUS_OK;
  BatchNode *root = node_new(&batches->memory);
  if (root == NULL) return STATUS_MEMORY;
  if (batches->root != NULL) {
    root->slots[root->used++] = batches->root;
    batches->height++;
  }
  batches->root = root;
  return STATUS_OK;
}

Status batches_push(Batches *batches, const Batch *fields, Text description) {
  Batch *batch;
  BatchNode *leaf;
  Status status = batch_new(&batches->memory, fields, description, &batch);
  if (status != STATUS_OK) return status;
  status = grow(batches);
  if (status == STATUS_OK) status = own_leaf(batches, batches->count, &leaf);
  if (status != STATUS_OK) {
    batch_release(&batches->memory, batch);
    return status;
  }
  batch->list = fields->list;
  batch->ledger = fields->ledger;
  assert(leaf->used == slot_at(batches->count, 0));
  leaf->slots[leaf->used++] = batch;
  batches->count++;
  return STATUS_OK;
}

Status batches_own(Batches *batches, uint32_t index, Batch **owned) {
  BatchNode *leaf;
  assert(index < batches->count);
  Status status = own_leaf(batches, index, &leaf);
  if (status != STATUS_OK) return status;
  Batch **place = (Batch **)&leaf->slots[slot_at(index, 0)];
  if ((*place)->owners > 1) {
    Batch *copy;
    status = batch_copy(&batches->memory, *place, &copy);
    if (status != STATUS_OK) return status;
    (*place)->owners--;
    *place = copy;
  }
  *owned = *place;
  assert((*owned)->owners == 1);
  return STATUS_OK;
}
