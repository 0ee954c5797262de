/*
** Vocab image: the layout of a vocabulary in memory, and its look-ups. Private to this
** folder.
**
** Tokens have internal *numbers*: single bytes first, then the others in the order of
** their merges, so that "merged earlier" is "smaller". The vocabulary's own ids appear
** only in input and output.
**
** Tables of keys are those of vocab_place.h. Three tables by size match a pretoken with a
** token by one probe, which succeeds for nine of ten:
**
**     short    1 to 8 bytes     the bytes as one word
**     middle   9 to 16 bytes    two words
**     long     the rest         numbers of tokens, whose bytes are compared
**
** Other tables serve merging (bpe.h):
**
**     pairs    two tokens -> the token that they merge into; one entry per token,
**              because merging only ever cuts it in one way (vocab_merge.h); and a bit
**              per hash of a pair, because most look-ups are of pairs that do not merge,
**              and the bits fit a cache that the table does not
**     bytes    two bytes -> the token that they are, and the first token that merges
**              across their border
**     edges    the trie of all tokens that merging can produce
**
** If tokens are late (vocab_merge.h), numbers do not tell the order of two merges in every
** text, and two more tables serve the texts that may have a late token (merge_in_order.h):
**
**     orders   number -> place in the order of merging
**     lates    a bit per two bytes: every late token has two such neighbours
**
** Vocabularies without a pattern cut where nothing merges (border_cut.h), by one table:
**
**     cuts     a bit per two bytes between which no token merges
**
** Atoms (vocab_build.h), sorted by their bytes, are matched with each place of a text that
** has the first byte of one (vocab_atom_at).
**
** A trie step takes a *unit*: a complete character of two or three bytes, else one byte.
** Tokens may end inside a character, so a node tells if it has edges of single bytes that
** start a character.
**
** Look-ups stay within their sections for every image: slots derive from sizes that
** opening checked; numbers are compared with token_count before their use.
*/
#ifndef EBB_TOKENS_VOCAB_IMAGE_H
#define EBB_TOKENS_VOCAB_IMAGE_H

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "tokens/vocab/vocab.h"
#include "tokens/vocab/vocab_place.h"

#define VOCAB_MAGIC "EBBVOCAB"
#define VOCAB_BYTE_ORDER 0x01020304u
enum { VOCAB_VERSION = 5, VOCAB_ALIGN = 64 };

typedef enum VocabSection {
  SECTION_SHORT_SHIFTS, SECTION_SHORT_KEYS, SECTION_SHORT_NUMBERS,
  SECTION_MIDDLE_SHIFTS, SECTION_MIDDLE_KEYS, SECTION_MIDDLE_NUMBERS,
  SECTION_LONG_SHIFTS, SECTION_LONG_NUMBERS,
  SECTION_PAIR_SHIFTS, SECTION_PAIRS, SECTION_PAIR_MARKS, SECTION_BYTE_PAIRS,
  SECTION_EDGE_SHIFTS, SECTION_EDGES, SECTION_ROOTS,
  SECTION_TOKENS, SECTION_BYTES, SECTION_IDS, SECTION_BY_ID, SECTION_REGEX,
  SECTION_ORDERS, SECTION_LATES, SECTION_CUTS, SECTION_ATOM_STARTS, SECTION_ATOMS, SECTION_ATOM_BYTES,
  SECTION_COUNT
} VocabSection;

typedef struct VocabHeader {
  char magic[8];
  uint32_t version, byte_order;
  uint64_t size;             /* of the image */
  uint64_t body_sum;         /* check sum of everything after the header */
  uint8_t source[32];        /* SHA-256 of the source file */
  char name[VOCAB_NAME_MAX + 1];
  uint32_t pattern;
  uint32_t id_bound;         /* upper bound of ids, exclusive */
  uint32_t token_count;      /* upper bound of numbers, exclusive */
  uint32_t longest;          /* bytes of the longest token */
  uint64_t merged_count;     /* numbers below it are bytes and tokens that merging produces */
  uint32_t hollow_count;     /* numbers of them without an id */
  uint32_t forms;            /* text_form.h */
  struct { uint64_t offset, size; } sections[SECTION_COUNT];
  uint64_t header_sum;       /* check sum of all fields above; must stay last */
} VocabHeader;

/* ---- packed fields ---- */

/* Numbers and nodes take 21 bits, units 17. Nodes below token_count are tokens. */
#define NUMBER_BITS 21
#define NUMBER_NONE ((UINT32_C(1) << NUMBER_BITS) - 1)
#define UNIT_BITS 17

enum {
  UNITS_TWO = 1 << 16,                  /* below: characters of three bytes */
  UNITS_BYTE = UNITS_TWO + (1 << 11),   /* below: of two; from here on single bytes */
  UNIT_COUNT = UNITS_BYTE + 256
};

/* The data of a token. halves: left and right (of a single byte: itself twice; NUMBER_NONE if
   merging does not produce it). place: offset of its bytes, its longest prefix that is a
   token, its size. */
typedef struct TokenRecord {
  uint64_t halves, place;
} TokenRecord;

#define TOKEN_BYTES_MAX ((1 << 11) - 1)

static inline uint64_t pack_halves(uint32_t left, uint32_t right) { return left | (uint64_t)right << NUMBER_BITS; }
static inline uint64_t pack_place(uint32_t offset, uint32_t prefix, uint32_t size) {
  return offset | (uint64_t)prefix << 32 | (uint64_t)size << 53;
}
static inline uint32_t record_left(TokenRecord r) { return (uint32_t)r.halves & NUMBER_NONE; }
static inline uint32_t record_right(TokenRecord r) { return (uint32_t)(r.halves >> NUMBER_BITS) & NUMBER_NONE; }
static inline uint32_t record_offset(TokenRecord r) { return (uint32_t)r.place; }
static inline uint32_t record_prefix(TokenRecord r) { return (uint32_t)(r.place >> 32) & NUMBER_NONE; }
static inline uint32_t record_size(TokenRecord r) { return (uint32_t)(r.place >> 53); }

/* The data of two bytes: the token they merge into, and the first token that merges across
   their border; NUMBER_NONE if none does. */
typedef struct BytePair {
  uint32_t merged, border;
} BytePair;

/* The id of a hollow token. */
#define ID_NONE UINT32_MAX

/* Words of a set of pairs of bytes. */
#define PAIR_SET_WORDS ((1 << 16) / 64)

/* An atom: its bytes, and the number of its token. */
typedef struct AtomRecord {
  uint32_t offset, size, number;
} AtomRecord;

/* A slot of pairs: the halves, and above them the token they merge into. */
#define PAIR_KEY ((UINT64_C(1) << 2 * NUMBER_BITS) - 1)

/* A link of the trie: a node and flags of its edges. An edge is a key (node and unit) with a
   link above it. */
#define LINK_NODE NUMBER_NONE
#define LINK_KIDS (UINT32_C(1) << NUMBER_BITS)             /* the node has edges */
#define LINK_PARTIAL (UINT32_C(1) << (NUMBER_BITS + 1))    /* one of them is a byte that starts a character */
#define LINK_NONE NUMBER_NONE                              /* no node */
#define EDGE_SHIFT (NUMBER_BITS + UNIT_BITS)
#define EDGE_KEY ((UINT64_C(1) << EDGE_SHIFT) - 1)

static inline uint64_t edge_key(uint32_t node, uint32_t unit) { return node | (uint64_t)unit << NUMBER_BITS; }

/* The value of free slots, which is not a valid key. */
#define SLOT_EMPTY UINT64_MAX

/* ---- an open image ---- */

struct Vocab {
  _Atomic uint32_t owners;
  Memory memory;
  const VocabHeader *header;
  void (*release)(void *user, const void *bytes, size_t size);   /* frees the bytes; NULL: no call */
  void *user;
  size_t capacity;           /* bytes of the vocab's own block; 0: none */
  uint32_t token_count, merged_count, longest;
  Places shorts, middles, longs, pairs, edges;
  const uint64_t *short_keys, *middle_keys, *pair_slots, *edge_slots;
  const uint64_t *pair_marks;      /* bits */
  uint32_t mark_mask;              /* number of words of pair_marks - 1 */
  const BytePair *byte_pairs;      /* 256 for each first byte */
  const uint32_t *short_numbers, *middle_numbers, *long_numbers;
  const uint32_t *roots;           /* UNIT_COUNT links */
  const TokenRecord *tokens;
  const char *bytes;
  uint64_t bytes_size;
  const uint32_t *ids, *by_id;     /* number -> id; id -> number or NUMBER_NONE */
  const char *regex;               /* see vocab_regex */
  size_t regex_size;
  const uint32_t *orders;          /* by number; NULL: no token is late */
  const uint64_t *lates, *cuts;    /* sets of PAIR_SET_WORDS; NULL: none */
  const uint32_t *atom_starts;     /* by first byte, and the end: index of the first atom; NULL: no atoms */
  const AtomRecord *atoms;
  uint32_t atom_count;
  const char *atom_bytes;
  uint64_t atom_bytes_size;
};

/* Check sum of bytes, not cryptographic. */
uint64_t vocab_sum(const void *bytes, size_t size);

/* ---- keys ---- */

static inline uint64_t load_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* `size` bytes (1 to 8) as one word: the top byte of less than eight is 0xF7 + size. Reads eight
   bytes. */
static inline uint64_t short_key_of(uint64_t word, size_t size) {
  static const uint64_t marks[9] = {0, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0};
  return (word & UINT64_MAX >> ((8 - size) * 8)) | marks[size] << 56;
}
static inline uint64_t short_key(const char *at, size_t size) { return short_key_of(load_word(at), size); }

/* True for eight bytes that look like fewer bytes with their size. They are not UTF-8, and are
   looked up as long ones. */
static inline bool short_key_unfit(uint64_t key, size_t size) { return size == 8 && key >> 59 == 0x1F; }

static inline uint64_t short_hash(uint64_t key) { return place_mix(key); }
static inline uint64_t middle_hash(uint64_t first, uint64_t second) {
  return place_mix(first ^ (second << 29 | second >> 35) * 0x9FB21C651E98DF25u);
}
static inline uint64_t pair_hash(uint64_t halves) { return place_mix(halves); }
static inline uint64_t edge_hash(uint64_t key) { return place_mix(key); }
uint64_t long_hash(const char *bytes, size_t size);

/* ---- look-ups; NUMBER_NONE or LINK_NONE if absent ---- */

static inline uint32_t vocab_short_slot(const Vocab *v, uint64_t key) { return place_of(&v->shorts, short_hash(key)); }

static inline uint32_t vocab_middle_slot(const Vocab *v, uint64_t first, uint64_t second) {
  return place_of(&v->middles, middle_hash(first, second));
}

static inline bool vocab_is_middle(const Vocab *v, uint32_t slot, uint64_t first, uint64_t second) {
  const uint64_t *key = &v->middle_keys[(size_t)slot * 2];
  return key[0] == first && key[1] == second;
}

/* Looks up a token of any size in the table of long ones. */
uint32_t vocab_find_long(const Vocab *v, const char *bytes, size_t size);

/* Looks up a token of any size in the table for its size. */
uint32_t vocab_find(const Vocab *v, const char *bytes, size_t size);

static inline uint32_t mark_word(uint64_t hash) { return (uint32_t)(hash >> 38); }
static inline uint64_t mark_bit(uint64_t hash) { return UINT64_C(1) << (hash >> 32 & 63); }

static inline uint32_t vocab_pair(const Vocab *v, uint32_t left, uint32_t right) {
  uint64_t halves = pack_halves(left, right), hash = pair_hash(halves);
  if ((v->pair_marks[mark_word(hash) & v->mark_mask] & mark_bit(hash)) == 0) return NUMBER_NONE;
  uint64_t slot = v->pair_slots[place_of(&v->pairs, hash)];
  return (slot & PAIR_KEY) == halves ? (uint32_t)(slot >> 2 * NUMBER_BITS) & NUMBER_NONE : NUMBER_NONE;
}

static inline BytePair vocab_byte_pair(const Vocab *v, unsigned char left, unsigned char right) {
  return v->byte_pairs[(uint32_t)left << 8 | right];
}

/* True for two neighbours in a set of pairs of bytes. */
static inline bool pair_set_has(const uint64_t *set, unsigned char left, unsigned char right) {
  return set[left << 2 | right >> 6] >> (right & 63) & 1;
}

static inline uint32_t vocab_edge(const Vocab *v, uint32_t node, uint32_t unit) {
  uint64_t key = edge_key(node, unit);
  uint64_t slot = v->edge_slots[place_of(&v->edges, edge_hash(key))];
  return (slot & EDGE_KEY) == key ? (uint32_t)(slot >> EDGE_SHIFT) : LINK_NONE;
}

/* Gives the unit at `at` < end, and returns its size in bytes. */
static inline size_t unit_at(const unsigned char *at, const unsigned char *end, uint32_t *unit) {
  uint32_t lead = at[0];
  size_t left = (size_t)(end - at);
  if (lead >= 0xE0 && lead < 0xF0 && left >= 3 && (at[1] & 0xC0) == 0x80 && (at[2] & 0xC0) == 0x80) {
    *unit = (lead & 15) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
    return 3;
  }
  if (lead >= 0xC0 && lead < 0xE0 && left >= 2 && (at[1] & 0xC0) == 0x80) {
    *unit = UNITS_TWO + ((lead & 31) << 6 | (at[1] & 63u));
    return 2;
  }
  *unit = UNITS_BYTE + lead;
  return 1;
}

/* The bytes of a token; size 0 if the image is damaged. number < token_count */
static inline size_t vocab_token_bytes(const Vocab *v, uint32_t number, const char **bytes) {
  assert(number < v->token_count);
  TokenRecord record = v->tokens[number];
  uint64_t offset = record_offset(record), size = record_size(record);
  if (offset + size > v->bytes_size) size = offset = 0;
  *bytes = v->bytes + offset;
  return (size_t)size;
}

/* ---- atoms ----
**
** Texts that are one token wherever they occur (vocab_build.h), such as
** "<think>", found in a text before it is cut.
**
** They are sorted by their bytes. Those that start as the text does are a range of them,
** which every further byte makes smaller; the longest that fits is taken. */

/* True if an atom may start with this byte. */
static inline bool vocab_starts_atom(const Vocab *v, unsigned char byte) {
  return v->atom_starts != NULL && v->atom_starts[byte] < v->atom_starts[byte + 1];
}

/* The size of the longest atom at `at` < end, and the number of its token; 0: none. */
size_t vocab_atom_at(const Vocab *v, const char *at, const char *end, uint32_t *number);

/* The start of the first atom from `at` on, or `end`. */
const char *vocab_atom_next(const Vocab *v, const char *at, const char *end);

#endif
