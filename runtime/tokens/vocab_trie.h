/*
** Vocab trie: the trie of a vocabulary being built. vocab_image.h explains units and links.
*/
#ifndef EBB_TOKENS_VOCAB_TRIE_H
#define EBB_TOKENS_VOCAB_TRIE_H

#include "tokens/vocab_merge.h"

typedef struct TrieEdge {
  uint64_t key;
  uint32_t kid;
} TrieEdge;

typedef struct Trie {
  Memory memory;
  Map children;              /* edge key -> node */
  TrieEdge *edges;           /* without those of the root */
  uint32_t edge_count, edge_room;
  uint32_t nodes;            /* number of the next new node */
  uint8_t *flags;            /* by node: LINK_KIDS and LINK_PARTIAL, shifted down */
  size_t flags_room;
  uint32_t *roots;           /* UNIT_COUNT nodes */
} Trie;

/* STATUS_LIMIT for more nodes than 21 bits can number; STATUS_MEMORY. */
Status trie_build(Trie *trie, const Memory *memory, const Merges *merges);
void   trie_free(Trie *trie);      /* also after a failure */

/* The link to a node. */
uint32_t trie_link(const Trie *trie, uint32_t node);

#endif
