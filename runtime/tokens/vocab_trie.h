/*
** The trie of a vocabulary that is being built (vocab_image.h says what its
** units and links are).
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
  TrieEdge *edges;           /* all but those of the root */
  uint32_t edge_count, edge_room;
  uint32_t nodes;            /* the next new one */
  uint8_t *flags;            /* by node; LINK_KIDS and LINK_PARTIAL, shifted down */
  size_t flags_room;
  uint32_t *roots;           /* UNIT_COUNT nodes */
} Trie;

/* STATUS_LIMIT: more nodes than 21 bits can name. */
Status trie_build(Trie *trie, const Memory *memory, const Merges *merges);
void   trie_free(Trie *trie);      /* also after a failure */

/* The link to a node. */
uint32_t trie_link(const Trie *trie, uint32_t node);

#endif
