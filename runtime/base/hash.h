/*
** Hash: 64 bits of a text, under a key that nobody outside knows.
**
** Ids come from files of strangers. Who knows the hash can make ids that all
** fall on one place of a table, and every search among them a walk past all
** others; so the hash has a secret. Nothing that anybody sees may depend on a
** hash, nor on the order that it gives to a table.
*/
#ifndef EBB_BASE_HASH_H
#define EBB_BASE_HASH_H

#include <stdint.h>

#include "base/text.h"

typedef struct HashKey {
  uint64_t words[2];
} HashKey;

/* A new one, from the system's randomness. */
HashKey  hash_key_system(void);

/* Of the plain bytes: equal texts, equal hashes. */
uint64_t hash_text(Text text, const HashKey *key);

#endif
