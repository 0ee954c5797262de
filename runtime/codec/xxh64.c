/*
** Four lanes take a word each of a block of 32 bytes, so that a processor mixes them side by side.
** Each step of a lane is a bijection of its word: damage within one word always changes the lane.
*/
#include "codec/xxh64.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"

enum { LANES = 4, BLOCK = 8 * LANES };

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static inline uint64_t turn(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static inline uint64_t load(const uint8_t *at, int bytes) {
  uint64_t word = 0;
  for (int i = 0; i < bytes; i++) word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static inline uint64_t mix(uint64_t lane, uint64_t word) { return turn(lane + word * P2, 31) * P1; }

static const uint8_t *add_blocks(uint64_t lanes[LANES], const uint8_t *at, size_t count) {
  uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];      /* in registers */
  for (; count > 0; count--, at += BLOCK) {
    a = mix(a, load(at, 8));
    b = mix(b, load(at + 8, 8));
    c = mix(c, load(at + 16, 8));
    d = mix(d, load(at + 24, 8));
  }
  lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
  return at;
}

void xxh64_start(Xxh64 *hash) { *hash = (Xxh64){.lanes = {P1 + P2, P2, 0, 0 - P1}}; }

void xxh64_add(Xxh64 *hash, const void *bytes, size_t size) {
  assert(bytes != NULL || size == 0);
  const uint8_t *at = bytes;
  size_t used = hash->size % BLOCK;
  hash->size += size;
  if (used > 0) {
    size_t part = min_size(size, BLOCK - used);
    memcpy(hash->block + used, at, part);
    if (used + part < BLOCK) return;
    add_blocks(hash->lanes, hash->block, 1);
    at += part;
    size -= part;
  }
  at = add_blocks(hash->lanes, at, size / BLOCK);
  if (size % BLOCK > 0) memcpy(hash->block, at, size % BLOCK);
}

static uint64_t join_lanes(const uint64_t lanes[LANES]) {
  uint64_t sum = turn(lanes[0], 1) + turn(lanes[1], 7) + turn(lanes[2], 12) + turn(lanes[3], 18);
  for (int i = 0; i < LANES; i++) sum = (sum ^ mix(0, lanes[i])) * P1 + P4;
  return sum;
}

uint64_t xxh64_end(const Xxh64 *hash) {
  const uint8_t *at = hash->block;
  size_t left = hash->size % BLOCK;
  uint64_t sum = (hash->size < BLOCK ? P5 : join_lanes(hash->lanes)) + hash->size;
  for (; left >= 8; at += 8, left -= 8) sum = turn(sum ^ mix(0, load(at, 8)), 27) * P1 + P4;
  for (; left >= 4; at += 4, left -= 4) sum = turn(sum ^ load(at, 4) * P1, 23) * P2 + P3;
  for (; left > 0; at++, left--) sum = turn(sum ^ *at * P5, 11) * P1;
  sum = (sum ^ sum >> 33) * P2;
  sum = (sum ^ sum >> 29) * P3;
  return sum ^ sum >> 32;
}

uint64_t xxh64(const void *bytes, size_t size) {
  Xxh64 hash;
  xxh64_start(&hash);
  xxh64_add(&hash, bytes, size);
  return xxh64_end(&hash);
}
