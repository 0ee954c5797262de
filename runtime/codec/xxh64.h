/*
** XXH64 of the xxHash specification, with seed 0: a check sum of 64 bits against accidents,
** at several bytes per nanosecond. Anyone can make bytes with any sum.
*/
#ifndef EBB_CODEC_XXH64_H
#define EBB_CODEC_XXH64_H

#include <stddef.h>
#include <stdint.h>

uint64_t xxh64(const void *bytes, size_t size);

/* The same for bytes that come in pieces. */
typedef struct Xxh64 {
  uint64_t lanes[4];
  uint64_t size;             /* bytes so far; the last size % 32 are in `block` */
  uint8_t block[32];
} Xxh64;

void     xxh64_start(Xxh64 *hash);
void     xxh64_add(Xxh64 *hash, const void *bytes, size_t size);
uint64_t xxh64_end(const Xxh64 *hash);      /* of the bytes so far; more may be added */

#endif
