/*
** Vocab trie: the trie of a vocabulary being built: a node for each token that merging
** produces and for each of their prefixes. vocab_image.h explains units (the bytes or
** characters of an edge), numbers and links.
*/
#ifndef EBB_TOKENS_VOCAB_TRIE_H
#define EBB_TOKENS_VOCAB_TRIE_H

#include "tokens/vocab/vocab_merge.h"

typedef struct TrieEdge {
  uint64_t key;              /* the parent's number and the unit */
  uint32_t kid;              /* number of the child */
} TrieEdge;

typedef struct Trie {
  Memory memory;
  Map children;              /* edge key -> node */
  TrieEdge *edges;           /* without those of the root */
  uint32_t edge_count, edge_room;
  uint32_t nodes;            /* number of the next new node */
  uint8_t *flags;            /* by node: LINK_KIDS and LINK_PARTIAL, shifted down */
  size_t flags_room;
  uint32_t *roots;           /* by first unit: the node, or NUMBER_NONE; UNIT_COUNT elements */
} Trie;

/* Builds the trie of all tokens of `merges`, which is borrowed. The caller calls trie_free, also after a failure.
   STATUS_LIMIT for more nodes than 21 bits can number; STATUS_MEMORY. */
Status trie_build(Trie *trie, const Memory *memory, const Merges *merges);
void   trie_free(Trie *trie);

/* The link to a node: its number and flags (vocab_image.h). */
uint32_t trie_link(const Trie *trie, uint32_t node);

#endif
