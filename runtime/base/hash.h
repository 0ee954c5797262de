/*
** Hash: 64 bits of a text, under a secret key (os/entropy makes one).
**
** Ids come from untrusted files. An attacker who can predict the hash can choose
** ids that share one slot of a table, so that every search walks past all of them;
** hence the key. No output may depend on a hash, nor on the order of a table.
*/
#ifndef EBB_BASE_HASH_H
#define EBB_BASE_HASH_H

#include <stdint.h>

#include "base/text.h"

typedef struct HashKey {
  uint64_t words[2];
} HashKey;

/* Hashes the plain bytes: equal texts have equal hashes. */
uint64_t hash_text(Text text, const HashKey *key);

#endif
