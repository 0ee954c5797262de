#include "codec/sha256.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t ROUNDS[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void stretch(const uint8_t *block, uint32_t words[64]) {
  for (int i = 0; i < 16; i++, block += 4) {
    words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    uint32_t near = turn(a, 7) ^ turn(a, 18) ^ a >> 3, far = turn(b, 17) ^ turn(b, 19) ^ b >> 10;
    words[i] = words[i - 16] + words[i - 7] + near + far;
  }
}

static void add_block(uint32_t state[8], const uint8_t *block) {
  uint32_t words[64], s[8];
  stretch(block, words);
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice + ROUNDS[i] + words[i];
    uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void sha256_start(Sha256 *hash) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, first, sizeof first);
  hash->size = 0;
}

void sha256_add(Sha256 *hash, const void *bytes, size_t size) {
  assert(bytes != NULL || size == 0);
  const uint8_t *at = bytes;
  while (size > 0) {
    size_t used = hash->size % 64, room = 64 - used, part = min_size(size, room);
    if (part == 64) {
      add_block(hash->state, at);            /* a whole block needs no copy */
    } else {
      memcpy(hash->block + used, at, part);
      if (part == room) add_block(hash->state, hash->block);
    }
    hash->size += part;
    at += part;
    size -= part;
  }
}

void sha256_end(Sha256 *hash, uint8_t digest[32]) {
  static const uint8_t padding[64] = {0x80};
  uint8_t length[8];
  size_t used = hash->size % 64;
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(hash->size * 8 >> (56 - 8 * i));
  sha256_add(hash, padding, used < 56 ? 56 - used : 120 - used);
  sha256_add(hash, length, sizeof length);
  for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - i % 4 * 8));
}

void sha256(const void *bytes, size_t size, uint8_t digest[32]) {
  Sha256 hash;
  sha256_start(&hash);
  sha256_add(&hash, bytes, size);
  sha256_end(&hash, digest);
}
