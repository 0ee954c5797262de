/*
** SHA-256 (FIPS 180-4): by which people know where a vocabulary came from.
*/
#ifndef EBB_TOKENS_SHA256_H
#define EBB_TOKENS_SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *bytes, size_t size, uint8_t digest[32]);

#endif
