/*
** Entropy: secret keys from the system's random number generator.
*/
#ifndef EBB_OS_ENTROPY_H
#define EBB_OS_ENTROPY_H

#include "base/hash.h"

/* A new key for hashing texts of unknown origin. Never blocks: while the system
   has no randomness yet, early in its start, the key is made from the time and the
   addresses of this process. */
HashKey entropy_hash_key(void);

#endif
