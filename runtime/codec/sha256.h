/*
** SHA-256 (FIPS 180-4): identifies vocabularies and attachments by content.
*/
#ifndef EBB_CODEC_SHA256_H
#define EBB_CODEC_SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *bytes, size_t size, uint8_t digest[32]);

/* The same for bytes that come in pieces. */
typedef struct Sha256 {
  uint32_t state[8];
  uint64_t size;             /* bytes so far; the last size % 64 are in `block` */
  uint8_t block[64];
} Sha256;

void sha256_start(Sha256 *hash);
void sha256_add(Sha256 *hash, const void *bytes, size_t size);
void sha256_end(Sha256 *hash, uint8_t digest[32]);

#endif
