#include "tokens/vocab/vocab_atoms.h"

#include <assert.h>

/* Byte `depth` of an atom, or -1 at its end. */
static int byte_of(const Vocab *v, uint32_t atom, size_t depth) {
  AtomRecord record = v->atoms[atom];
  if (depth >= record.size || (uint64_t)record.offset + record.size > v->atom_bytes_size) return -1;
  return (unsigned char)v->atom_bytes[record.offset + depth];
}

/* The first atom of a range whose byte `depth` is not below `byte`. */
static uint32_t first_from(const Vocab *v, uint32_t low, uint32_t high, size_t depth, int byte) {
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (byte_of(v, middle, depth) < byte) low = middle + 1;
    else high = middle;
  }
  return low;
}

size_t vocab_atom_at(const Vocab *v, const char *at, const char *end, uint32_t *number) {
  size_t best = 0, left = (size_t)(end - at);
  assert(at < end);
  if (!vocab_starts_atom(v, (unsigned char)at[0])) return 0;
  uint32_t low = v->atom_starts[(unsigned char)at[0]], high = v->atom_starts[(unsigned char)at[0] + 1];
  if (high > v->atom_count) high = v->atom_count;
  if (left > TOKEN_BYTES_MAX) left = TOKEN_BYTES_MAX;
  for (size_t depth = 1; low < high; depth++) {
    if (byte_of(v, low, depth) < 0) {          /* it ends here; the others of the range are longer */
      best = depth;
      *number = v->atoms[low++].number;
    }
    if (depth >= left) break;
    int byte = (unsigned char)at[depth];
    low = first_from(v, low, high, depth, byte);
    high = first_from(v, low, high, depth, byte + 1);
  }
  return best;
}

const char *vocab_atom_next(const Vocab *v, const char *at, const char *end) {
  uint32_t number;
  if (v->atom_starts == NULL) return end;
  for (; at < end; at++) {
    if (vocab_starts_atom(v, (unsigned char)*at) && vocab_atom_at(v, at, end, &number) > 0) return at;
  }
  return end;
}
