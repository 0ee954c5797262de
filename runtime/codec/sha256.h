/*
** SHA-256 (FIPS 180-4): by which bytes are known again: where a vocabulary came
** from, which attachment was read before.
*/
#ifndef EBB_CODEC_SHA256_H
#define EBB_CODEC_SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *bytes, size_t size, uint8_t digest[32]);

/* The same of bytes that come in pieces. */
typedef struct Sha256 {
  uint32_t state[8];
  uint64_t size;             /* bytes so far; the last size % 64 wait in `block` */
  uint8_t block[64];
} Sha256;

void sha256_start(Sha256 *hash);
void sha256_add(Sha256 *hash, const void *bytes, size_t size);
void sha256_end(Sha256 *hash, uint8_t digest[32]);

#endif
