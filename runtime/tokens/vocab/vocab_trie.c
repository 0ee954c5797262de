#include "tokens/vocab/vocab_trie.h"

#include <assert.h>
#include <string.h>

#include "tokens/vocab/vocab_image.h"

enum { FLAG_KIDS = LINK_KIDS >> NUMBER_BITS, FLAG_PARTIAL = LINK_PARTIAL >> NUMBER_BITS };

uint32_t trie_link(const Trie *trie, uint32_t node) {
  assert(node == NUMBER_NONE || node < trie->flags_room);
  return node == NUMBER_NONE ? LINK_NONE : node | (uint32_t)trie->flags[node] << NUMBER_BITS;
}

/* The node for the first bytes of a token: the number of the token that they are, or a new one. */
static Status make_node(Trie *trie, const Merges *merges, const char *bytes, size_t size, uint32_t *node) {
  uint32_t position = merges_find(merges, bytes, size);
  if (position != MERGE_NONE && merges->halves[position].left != MERGE_NONE) *node = merges->halves[position].number;
  else *node = trie->nodes++;
  return *node < trie->flags_room ? STATUS_OK : STATUS_LIMIT;
}

static Status add_edge(Trie *trie, uint32_t parent, uint32_t unit, uint32_t kid) {
  TrieEdge *edges = memory_grow(&trie->memory, trie->edges, &trie->edge_room, trie->edge_count, sizeof *edges);
  if (edges == NULL) return STATUS_MEMORY;
  trie->edges = edges;
  assert(parent < trie->flags_room);
  bool begins_character = unit >= UNITS_BYTE + 0xC0 && unit < UNITS_BYTE + 0xF0;
  trie->flags[parent] |= (uint8_t)(FLAG_KIDS | (begins_character ? FLAG_PARTIAL : 0));
  edges[trie->edge_count++] = (TrieEdge){.key = edge_key(parent, unit), .kid = kid};
  return map_put(&trie->children, edge_key(parent, unit), kid);
}

/* Adds the path of a token: a node for each of its prefixes of whole units. STATUS_MEMORY: the path may be there in
   part. */
static Status add_token(Trie *trie, const Merges *merges, const VocabToken *token) {
  const unsigned char *start = (const unsigned char *)token->bytes, *at = start, *end = start + token->size;
  uint32_t node = NUMBER_NONE, kid, unit;
  while (at < end) {
    bool first = at == start;
    at += unit_at(at, end, &unit);
    const uint64_t *child = first ? NULL : map_find(&trie->children, edge_key(node, unit));
    if (child != NULL) {
      kid = (uint32_t)*child;
    } else if (first && trie->roots[unit] != NUMBER_NONE) {
      kid = trie->roots[unit];
    } else {
      Status status = make_node(trie, merges, token->bytes, (size_t)(at - start), &kid);
      if (status == STATUS_OK && !first) status = add_edge(trie, node, unit, kid);
      if (status != STATUS_OK) return status;
      if (first) trie->roots[unit] = kid;
    }
    node = kid;
  }
  return STATUS_OK;
}

/* Upper bound of the nodes: one per token and per byte of all tokens. */
static size_t nodes_bound(const Merges *merges) {
  size_t bound = merges->source->count;
  for (uint32_t i = 0; i < merges->source->count; i++) bound += merges->source->tokens[i].size;
  return bound < NUMBER_NONE ? bound : NUMBER_NONE;
}

Status trie_build(Trie *trie, const Memory *memory, const Merges *merges) {
  const VocabSource *source = merges->source;
  *trie = (Trie){.memory = *memory, .nodes = source->count, .flags_room = nodes_bound(merges)};
  map_init(&trie->children, *memory);
  trie->flags = memory_new(memory, trie->flags_room);
  trie->roots = memory_new_array(memory, UNIT_COUNT, sizeof *trie->roots);
  if (trie->flags == NULL || trie->roots == NULL) return STATUS_MEMORY;
  memset(trie->flags, 0, trie->flags_room);
  for (uint32_t i = 0; i < UNIT_COUNT; i++) trie->roots[i] = NUMBER_NONE;
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < source->count && status == STATUS_OK; i++) {
    if (merges->halves[i].left != MERGE_NONE) status = add_token(trie, merges, &source->tokens[i]);
  }
  return status;
}

void trie_free(Trie *trie) {
  memory_free(&trie->memory, trie->edges, trie->edge_room * sizeof *trie->edges);
  memory_free(&trie->memory, trie->flags, trie->flags_room);
  memory_free(&trie->memory, trie->roots, UNIT_COUNT * sizeof *trie->roots);
  map_free(&trie->children);
}
