#include "tokens/merge/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "tokens/merge/merge_in_order.h"
#include "tokens/merge/merge_lockstep.h"
#include "tokens/vocab/vocab_image.h"

typedef const unsigned char *Bytes;

enum { PREFETCHED_MAX = 256 };   /* in larger pretokens the first prefetches would be evicted before their use */

void bpe_init(Bpe *bpe, const Memory *memory) {
  *bpe = (Bpe){.memory = *memory};
  bpe_shrink(bpe);
}

void bpe_free(Bpe *bpe) {
  bpe_shrink(bpe);
}

void bpe_shrink(Bpe *bpe) {
  if (bpe->tokens != bpe->inline_tokens) memory_free(&bpe->memory, bpe->tokens, bpe->room * sizeof *bpe->tokens);
  if (bpe->dead != bpe->fixed_dead) memory_free(&bpe->memory, bpe->dead, bpe->dead_words * sizeof *bpe->dead);
  bpe->tokens = bpe->inline_tokens;
  bpe->room = BPE_INLINE;
  bpe->dead = bpe->fixed_dead;
  bpe->dead_words = sizeof bpe->fixed_dead / sizeof *bpe->fixed_dead;
}

/* ---- the longest token ---- */

/* The longest token that ends inside the character of `used` bytes at `at`, else `best`. */
static uint32_t try_partial(const Vocab *v, uint32_t link, Bytes at, size_t used, uint32_t best) {
  link = vocab_edge(v, link & LINK_NODE, UNITS_BYTE + at[0]);
  if ((link & LINK_NODE) < v->token_count) best = link & LINK_NODE;
  if (link == LINK_NONE || used < 3) return best;
  link = vocab_edge(v, link & LINK_NODE, UNITS_BYTE + at[1]);
  return (link & LINK_NODE) < v->token_count ? link & LINK_NODE : best;
}

/* The longest token inside the first character. */
static uint32_t longest_within(const Vocab *v, Bytes at, size_t used) {
  uint32_t link = v->roots[UNITS_BYTE + at[0]], best = at[0];
  if (used < 3 || link == LINK_NONE) return best;
  link = vocab_edge(v, link & LINK_NODE, UNITS_BYTE + at[1]);
  return (link & LINK_NODE) < v->token_count ? link & LINK_NODE : best;
}

static uint32_t longest_match(const Vocab *v, Bytes at, Bytes end) {
  uint32_t unit, best = NUMBER_NONE;
  size_t used = unit_at(at, end, &unit), first = used;
  Bytes start = at;
  uint32_t link = v->roots[unit];
  while (link != LINK_NONE) {
    uint32_t node = link & LINK_NODE;
    at += used;
    if (node < v->token_count) best = node;
    if ((link & LINK_KIDS) == 0 || at >= end) break;
    used = unit_at(at, end, &unit);
    if (used > 1 && (link & LINK_PARTIAL) != 0) best = try_partial(v, link, at, used, best);
    link = vocab_edge(v, node, unit);
  }
  return best != NUMBER_NONE ? best : longest_within(v, start, first);
}

uint32_t bpe_longest(const Vocab *v, const char *bytes, size_t size) {
  return longest_match(v, (Bytes)bytes, (Bytes)bytes + size);
}

/* Prefetches the first look-up of the matches at each character, which would each wait for
   memory. */
static void prefetch_matches(const Vocab *v, Bytes at, Bytes end) {
  uint32_t unit, link = LINK_NONE;
  while (at < end) {
    at += unit_at(at, end, &unit);
    if (link != LINK_NONE) {
      __builtin_prefetch(&v->edge_slots[place_of(&v->edges, edge_hash(edge_key(link & LINK_NODE, unit)))]);
    }
    link = v->roots[unit];
  }
}

/* ---- neighbours ---- */

/*
** True if merging would keep the border between two tokens. Undoes their merges, the
** latest first, down to single bytes; at each step the two tokens at the border must not
** be a pair that merges before the last undone merge. Of equal merges the left one comes
** first.
**
** Numbers fall at each step, also in a damaged image, so it terminates.
*/
static bool stay_apart(const Vocab *v, uint32_t left, uint32_t right) {
  uint32_t limit = NUMBER_NONE;
  for (;;) {
    if (vocab_pair(v, left, right) < limit) return false;
    uint32_t *undone = left > right ? &left : &right;
    if (*undone < 256) return true;
    TokenRecord record = v->tokens[*undone];
    uint32_t half = undone == &left ? record_right(record) : record_left(record);
    if (half >= *undone) return true;
    limit = undone == &left ? left : right + 1;
    *undone = half;
  }
}

/* ---- from left to right ---- */

static Status grow_tokens(Bpe *bpe) {
  if (bpe->tokens != bpe->inline_tokens) {
    uint32_t *tokens = memory_resize_array(&bpe->memory, bpe->tokens, bpe->room, bpe->room * 2, sizeof *tokens);
    if (tokens == NULL) return STATUS_MEMORY;
    bpe->tokens = tokens;
  } else {
    uint32_t *tokens = memory_new_array(&bpe->memory, bpe->room * 2, sizeof *tokens);
    if (tokens == NULL) return STATUS_MEMORY;
    memcpy(tokens, bpe->inline_tokens, sizeof bpe->inline_tokens);
    bpe->tokens = tokens;
  }
  bpe->room *= 2;
  return STATUS_OK;
}

static Status clear_dead(Bpe *bpe, size_t size) {
  size_t words = bitset_words(size);
  if (words > bpe->dead_words) {
    uint64_t *dead = memory_new_array(&bpe->memory, words, sizeof *dead);
    if (dead == NULL) return STATUS_MEMORY;
    if (bpe->dead != bpe->fixed_dead) memory_free(&bpe->memory, bpe->dead, bpe->dead_words * sizeof *dead);
    bpe->dead = dead;
    bpe->dead_words = words;
  }
  memset(bpe->dead, 0, words * sizeof *bpe->dead);
  return STATUS_OK;
}

/* The longest of `token` and its prefixes that fits at `at` after `last`; NUMBER_NONE if none
   does. */
static uint32_t fitting(const Bpe *bpe, const Vocab *v, uint32_t last, uint32_t token, size_t at, size_t size) {
  uint32_t before = TOKEN_BYTES_MAX + 1;   /* sizes fall, also in a damaged image */
  while (token < v->token_count) {
    TokenRecord record = v->tokens[token];
    uint32_t bytes = record_size(record);
    if (bytes == 0 || bytes >= before) break;
    bool reachable = bytes <= size - at && !bitset_has(bpe->dead, at + bytes);
    if (reachable && (last == NUMBER_NONE || stay_apart(v, last, token))) return token;
    before = bytes;
    token = record_prefix(record);
  }
  return NUMBER_NONE;
}

/* Merges pair after pair. */
static size_t merge_short(Bpe *bpe, const Vocab *v, const char *bytes, size_t size) {
  assert(size <= bpe->room);
  Premerge parts;
  uint32_t row[LOCKSTEP_ROW_WORDS];
  premerge_begin(&parts, v, bytes, size);
  premerge_end(&parts, v);
  unsigned width = lockstep_width(&parts);
  lockstep_fill(row, v, &parts, width);
  lockstep_merge(row, 1, v, width);
  lockstep_tokens(row, width, bpe->tokens);
  return lockstep_count(row, width);
}

/* With room for a token per byte. */
static Status merge_late(Bpe *bpe, const Vocab *v, const char *bytes, size_t size, size_t *count) {
  Status status = STATUS_OK;
  while (bpe->room < size && status == STATUS_OK) status = grow_tokens(bpe);
  return status == STATUS_OK ? merge_in_order(&bpe->memory, v, bytes, size, bpe->tokens, count) : status;
}

Status bpe_merge(Bpe *bpe, const Vocab *v, const char *bytes, size_t size, size_t *count) {
  Bytes start = (Bytes)bytes, end = start + size;
  if (merge_may_be_late(v, bytes, size)) return merge_late(bpe, v, bytes, size, count);
  if (size <= PREMERGE_BYTES) {
    *count = merge_short(bpe, v, bytes, size);
    return STATUS_OK;
  }
  assert(size > 0);
  Status status = clear_dead(bpe, size);
  if (status != STATUS_OK) return status;
  if (size <= PREFETCHED_MAX) prefetch_matches(v, start, end);
  size_t at = 0, used = 0;
  uint32_t next = longest_match(v, start, end);
  while (at < size) {
    uint32_t last = used > 0 ? bpe->tokens[used - 1] : NUMBER_NONE;
    uint32_t token = fitting(bpe, v, last, next, at, size);
    if (token != NUMBER_NONE) {
      if (used == bpe->room && (status = grow_tokens(bpe)) != STATUS_OK) return status;
      bpe->tokens[used++] = token;
      at += record_size(v->tokens[token]);
      if (at < size) next = longest_match(v, start + at, end);
    } else if (used > 0) {      /* the last one was wrong: try its prefixes */
      bitset_add(bpe->dead, at);
      next = bpe->tokens[--used];
      at -= record_size(v->tokens[next]);
    } else {                    /* only in a damaged image */
      break;
    }
  }
  assert(used <= bpe->room && at <= size);
  *count = used;
  return STATUS_OK;
}
