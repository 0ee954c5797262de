/*
** First lays out the image, all sections with their sizes, then fills it in place.
*/
#include "tokens/vocab/vocab_build.h"

#include <assert.h>
#include <string.h>

#include "tokens/vocab/vocab_builder.h"

/* ---- the table of each token ---- */

typedef enum PretokenTable { TABLE_NONE, TABLE_SHORT, TABLE_MIDDLE, TABLE_LONG } PretokenTable;

typedef struct PretokenKey {
  PretokenTable table;
  uint64_t first, last;      /* a short pretoken has only the last */
} PretokenKey;

static PretokenKey pretoken_key(const VocabToken *token) {
  char padded[16] = {0};
  if (token->size > sizeof padded) return (PretokenKey){.table = TABLE_LONG};
  memcpy(padded, token->bytes, token->size);
  size_t tail = token->size > 8 ? token->size - 8 : token->size;
  PretokenKey key = {.first = load_word(padded), .last = short_key(padded + token->size - tail, tail)};
  if (short_key_unfit(key.last, tail)) key.table = TABLE_LONG;
  else key.table = token->size > 8 ? TABLE_MIDDLE : TABLE_SHORT;
  return key;
}

/* True if a pretoken can be matched with this token as a whole. */
static bool is_pretoken(const Builder *b, uint32_t position) {
  if (b->source->tokens[position].special || b->source->tokens[position].hollow) return false;
  return b->source->wholes || b->merges.halves[position].left != MERGE_NONE;
}

static void count_pretokens(Builder *b) {
  for (uint32_t i = 0; i < b->source->count; i++) {
    if (!is_pretoken(b, i)) continue;
    PretokenTable table = pretoken_key(&b->source->tokens[i]).table;
    b->shorts += table == TABLE_SHORT;
    b->middles += table == TABLE_MIDDLE;
    b->longs += table == TABLE_LONG;
    if (b->source->tokens[i].size > b->header.longest) b->header.longest = b->source->tokens[i].size;
  }
}

/* ---- layout ---- */

static void set_section(Builder *b, VocabSection which, uint64_t size) {
  b->header.sections[which].offset = b->header.size;
  b->header.sections[which].size = size;
  b->header.size += (size + VOCAB_ALIGN - 1) / VOCAB_ALIGN * VOCAB_ALIGN;
}

static void set_table(Builder *b, VocabSection shifts, VocabSection keys, size_t key_size, uint32_t count) {
  set_section(b, shifts, (uint64_t)place_groups(count) * sizeof(uint16_t));
  set_section(b, keys, (uint64_t)place_slots(count) * key_size);
}

static uint64_t bytes_of_tokens(const Builder *b) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < b->source->count; i++) size += b->source->tokens[i].size;
  return size;
}

static uint64_t bytes_of_atoms(const Builder *b) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < b->source->atom_count; i++) size += b->source->atoms[i].size;
  return size;
}

/* Eight bits per pair, so that one in nine other pairs looks like a merging pair. */
static uint32_t mark_words(const Builder *b) {
  uint32_t words = 1;
  while (words * 8 < b->merges.reached - 256) words *= 2;
  return words;
}

/* Places all sections of the image one after the other, and allocates it with zeros. STATUS_LIMIT from 4 GiB on. */
static Status lay_out(Builder *b, Buffer *image) {
  const VocabSource *source = b->source;
  b->header.size = (sizeof b->header + VOCAB_ALIGN - 1) / VOCAB_ALIGN * VOCAB_ALIGN;
  set_table(b, SECTION_SHORT_SHIFTS, SECTION_SHORT_KEYS, sizeof(uint64_t), b->shorts);
  set_table(b, SECTION_MIDDLE_SHIFTS, SECTION_MIDDLE_KEYS, 2 * sizeof(uint64_t), b->middles);
  set_table(b, SECTION_LONG_SHIFTS, SECTION_LONG_NUMBERS, sizeof(uint32_t), b->longs);
  set_table(b, SECTION_PAIR_SHIFTS, SECTION_PAIRS, sizeof(uint64_t), b->merges.reached - 256);
  set_section(b, SECTION_PAIR_MARKS, mark_words(b) * sizeof(uint64_t));
  set_section(b, SECTION_BYTE_PAIRS, (1 << 16) * sizeof(BytePair));
  set_table(b, SECTION_EDGE_SHIFTS, SECTION_EDGES, sizeof(uint64_t), b->trie.edge_count);
  set_section(b, SECTION_ROOTS, UNIT_COUNT * sizeof(uint32_t));
  set_section(b, SECTION_TOKENS, source->count * sizeof(TokenRecord));
  set_section(b, SECTION_SHORT_NUMBERS, (uint64_t)place_slots(b->shorts) * sizeof(uint32_t));
  set_section(b, SECTION_MIDDLE_NUMBERS, (uint64_t)place_slots(b->middles) * sizeof(uint32_t));
  set_section(b, SECTION_BYTES, bytes_of_tokens(b));
  set_section(b, SECTION_IDS, source->count * sizeof(uint32_t));
  set_section(b, SECTION_BY_ID, (uint64_t)b->header.id_bound * sizeof(uint32_t));
  set_section(b, SECTION_REGEX, source->pattern == PRETOKEN_REGEX ? source->regex_size : 0);
  set_section(b, SECTION_ORDERS, b->merges.late ? b->merges.reached * sizeof(uint32_t) : 0);
  set_section(b, SECTION_LATES, b->merges.late ? PAIR_SET_WORDS * sizeof(uint64_t) : 0);
  set_section(b, SECTION_CUTS, source->pattern == PRETOKEN_BORDERS ? PAIR_SET_WORDS * sizeof(uint64_t) : 0);
  set_section(b, SECTION_ATOM_STARTS, source->atom_count > 0 ? 257 * sizeof(uint32_t) : 0);
  set_section(b, SECTION_ATOMS, source->atom_count * sizeof(AtomRecord));
  set_section(b, SECTION_ATOM_BYTES, bytes_of_atoms(b));
  if (b->header.size > UINT32_MAX) return STATUS_LIMIT;
  Status status = buffer_reserve(image, b->header.size);
  if (status != STATUS_OK) return status;
  b->image = image->bytes;
  memset(b->image, 0, b->header.size);
  return STATUS_OK;
}

/* ---- filling ---- */

/* Finds the slots of the `count` hashes. */
static Status place(Builder *b, VocabSection shifts, uint32_t count) {
  return places_build(&b->memory, b->hashes, count, builder_section(b, shifts), b->slots);
}

static void clear_slots(Builder *b, VocabSection which) {
  memset(builder_section(b, which), 0xFF, b->header.sections[which].size);
}

/* Fills the table of short pretokens that are tokens: one pass collects hashes, for which `place` finds slots, the
   other writes keys and numbers there. */
static Status fill_shorts(Builder *b) {
  uint64_t *keys = builder_section(b, SECTION_SHORT_KEYS);
  uint32_t *numbers = builder_section(b, SECTION_SHORT_NUMBERS), count = 0;
  clear_slots(b, SECTION_SHORT_KEYS);
  for (int pass = 0; pass < 2; pass++, count = 0) {
    for (uint32_t i = 0; i < b->source->count; i++) {
      PretokenKey key = pretoken_key(&b->source->tokens[i]);
      if (!is_pretoken(b, i) || key.table != TABLE_SHORT) continue;
      if (pass == 0) {
        b->hashes[count++] = short_hash(key.last);
        continue;
      }
      keys[b->slots[count]] = key.last;
      numbers[b->slots[count++]] = b->merges.halves[i].number;
    }
    Status status = pass == 0 ? place(b, SECTION_SHORT_SHIFTS, count) : STATUS_OK;
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* The same for pretokens of middle size, whose keys have two words. */
static Status fill_middles(Builder *b) {
  uint64_t *keys = builder_section(b, SECTION_MIDDLE_KEYS);
  uint32_t *numbers = builder_section(b, SECTION_MIDDLE_NUMBERS), count = 0;
  clear_slots(b, SECTION_MIDDLE_KEYS);
  for (int pass = 0; pass < 2; pass++, count = 0) {
    for (uint32_t i = 0; i < b->source->count; i++) {
      PretokenKey key = pretoken_key(&b->source->tokens[i]);
      if (!is_pretoken(b, i) || key.table != TABLE_MIDDLE) continue;
      if (pass == 0) {
        b->hashes[count++] = middle_hash(key.first, key.last);
        continue;
      }
      size_t slot = b->slots[count++];
      keys[2 * slot] = key.first;
      keys[2 * slot + 1] = key.last;
      numbers[slot] = b->merges.halves[i].number;
    }
    Status status = pass == 0 ? place(b, SECTION_MIDDLE_SHIFTS, count) : STATUS_OK;
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status fill_longs(Builder *b) {
  uint32_t *numbers = builder_section(b, SECTION_LONG_NUMBERS), count = 0;
  clear_slots(b, SECTION_LONG_NUMBERS);
  for (int pass = 0; pass < 2; pass++, count = 0) {
    for (uint32_t i = 0; i < b->source->count; i++) {
      const VocabToken *token = &b->source->tokens[i];
      if (!is_pretoken(b, i) || pretoken_key(token).table != TABLE_LONG) continue;
      if (pass == 0) b->hashes[count++] = long_hash(token->bytes, token->size);
      else numbers[b->slots[count++]] = b->merges.halves[i].number;
    }
    Status status = pass == 0 ? place(b, SECTION_LONG_SHIFTS, count) : STATUS_OK;
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static uint64_t halves_of(const Builder *b, uint32_t position) {
  const Merged *halves = b->merges.halves, *merged = &halves[position];
  if (merged->left == MERGE_NONE) return pack_halves(NUMBER_NONE, NUMBER_NONE);
  return pack_halves(halves[merged->left].number, halves[merged->right].number);
}

static Status fill_pairs(Builder *b) {
  uint64_t *slots = builder_section(b, SECTION_PAIRS);
  uint64_t *marks = builder_section(b, SECTION_PAIR_MARKS);
  uint32_t mark_mask = mark_words(b) - 1, count = b->merges.reached - 256;
  clear_slots(b, SECTION_PAIRS);
  for (uint32_t i = 0; i < count; i++) b->hashes[i] = pair_hash(halves_of(b, b->merges.token_of_number[256 + i]));
  Status status = place(b, SECTION_PAIR_SHIFTS, count);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t halves = halves_of(b, b->merges.token_of_number[256 + i]);
    slots[b->slots[i]] = halves | (uint64_t)(256 + i) << 2 * NUMBER_BITS;
    marks[mark_word(pair_hash(halves)) & mark_mask] |= mark_bit(pair_hash(halves));
  }
  return STATUS_OK;
}

static Status fill_byte_pairs(Builder *b) {
  BytePair *pairs = builder_section(b, SECTION_BYTE_PAIRS);
  for (uint32_t i = 0; i < 1 << 16; i++) pairs[i] = (BytePair){NUMBER_NONE, NUMBER_NONE};
  for (uint32_t number = b->merges.reached; number-- > 256;) {   /* the first one last, so that it stays */
    uint32_t position = b->merges.token_of_number[number];
    const VocabToken *token = &b->source->tokens[position], *left = &b->source->tokens[b->merges.halves[position].left];
    const unsigned char *meet = (const unsigned char *)token->bytes + left->size;
    BytePair *pair = &pairs[(uint32_t)meet[-1] << 8 | meet[0]];
    pair->border = number;
    if (token->size == 2) pair->merged = number;
  }
  return STATUS_OK;
}

static Status fill_edges(Builder *b) {
  uint64_t *slots = builder_section(b, SECTION_EDGES);
  uint32_t *roots = builder_section(b, SECTION_ROOTS);
  const Trie *trie = &b->trie;
  clear_slots(b, SECTION_EDGES);
  for (uint32_t i = 0; i < trie->edge_count; i++) b->hashes[i] = edge_hash(trie->edges[i].key);
  Status status = place(b, SECTION_EDGE_SHIFTS, trie->edge_count);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < trie->edge_count; i++) {
    slots[b->slots[i]] = trie->edges[i].key | (uint64_t)trie_link(trie, trie->edges[i].kid) << EDGE_SHIFT;
  }
  for (uint32_t i = 0; i < UNIT_COUNT; i++) roots[i] = trie_link(trie, trie->roots[i]);
  return STATUS_OK;
}

/* The longest token that is a proper prefix of this one. */
static uint32_t prefix_of(const Builder *b, const VocabToken *token) {
  for (uint32_t size = token->size - 1; size > 0; size--) {
    uint32_t position = merges_find(&b->merges, token->bytes, size);
    const Merged *merged = position == MERGE_NONE ? NULL : &b->merges.halves[position];
    if (merged != NULL && merged->left != MERGE_NONE) return merged->number;
  }
  return NUMBER_NONE;
}

/* Fills the tables by number: bytes, halves and prefix of each token, and ids both ways. STATUS_DUPLICATE for an id
   that two tokens have. */
static Status fill_tokens(Builder *b, VocabProblem *problem) {
  TokenRecord *records = builder_section(b, SECTION_TOKENS);
  char *bytes = builder_section(b, SECTION_BYTES);
  uint32_t *ids = builder_section(b, SECTION_IDS), *by_id = builder_section(b, SECTION_BY_ID), offset = 0;
  memset(by_id, 0xFF, b->header.sections[SECTION_BY_ID].size);
  for (uint32_t number = 0; number < b->source->count; number++) {
    uint32_t position = b->merges.token_of_number[number];
    const VocabToken *token = &b->source->tokens[position];
    if (!token->hollow && by_id[token->id] != UINT32_MAX) {
      *problem = (VocabProblem){.expected = "an id that no other token has", .token = position, .merge = UINT32_MAX};
      return STATUS_DUPLICATE;
    }
    records[number].halves = halves_of(b, position);
    records[number].place = pack_place(offset, prefix_of(b, token), token->size);
    memcpy(bytes + offset, token->bytes, token->size);
    offset += token->size;
    ids[number] = token->hollow ? ID_NONE : token->id;
    if (!token->hollow) by_id[token->id] = number;
  }
  assert(offset == b->header.sections[SECTION_BYTES].size);
  return STATUS_OK;
}

static void fill_header(Builder *b) {
  VocabHeader *h = &b->header;
  memcpy(h->magic, VOCAB_MAGIC, sizeof h->magic);
  memcpy(h->name, b->source->name, strlen(b->source->name) + 1);
  memcpy(h->source, b->source->sha256, sizeof h->source);
  h->version = VOCAB_VERSION;
  h->byte_order = VOCAB_BYTE_ORDER;
  h->pattern = (uint32_t)b->source->pattern;
  h->token_count = b->source->count;
  h->merged_count = b->merges.reached;
  h->forms = b->source->forms;
  char *regex = builder_section(b, SECTION_REGEX);
  if (b->source->pattern == PRETOKEN_REGEX) memcpy(regex, b->source->regex, b->source->regex_size);
  h->body_sum = vocab_sum(b->image + sizeof *h, h->size - sizeof *h);
  h->header_sum = vocab_sum(h, offsetof(VocabHeader, header_sum));
  memcpy(b->image, h, sizeof *h);
}

/* ---- building ---- */

static Status check_source(const VocabSource *source, uint32_t *id_bound, uint32_t *hollow, VocabProblem *problem) {
  *problem = (VocabProblem){.token = UINT32_MAX, .merge = UINT32_MAX};
  assert(vocab_name_fits(source->name));
  if (source->count > VOCAB_TOKENS_MAX) {
    problem->expected = "no more than 1000000 tokens";
    return STATUS_LIMIT;
  }
  *id_bound = *hollow = 0;
  for (uint32_t i = 0; i < source->count; i++) {
    uint32_t id = source->tokens[i].hollow ? 0 : source->tokens[i].id;
    if (id >= 4 * VOCAB_TOKENS_MAX) {
      *problem = (VocabProblem){.expected = "an id below 4000000", .token = i, .merge = UINT32_MAX};
      return STATUS_LIMIT;
    }
    if (id >= *id_bound) *id_bound = id + 1;
    *hollow += source->tokens[i].hollow;
  }
  return STATUS_OK;
}

/* Allocates hashes and slots for the largest table. */
static Status make_scratch(Builder *b, size_t *room) {
  *room = b->source->count > b->trie.edge_count ? b->source->count : b->trie.edge_count;
  (*room)++;
  b->hashes = memory_new_array(&b->memory, *room, sizeof *b->hashes);
  b->slots = memory_new_array(&b->memory, *room, sizeof *b->slots);
  return b->hashes != NULL && b->slots != NULL ? STATUS_OK : STATUS_MEMORY;
}

static Status fill(Builder *b, VocabProblem *problem) {
  static Status (*const tables[])(Builder *) = {fill_shorts, fill_middles, fill_longs, fill_pairs, fill_byte_pairs,
                                               fill_edges};
  Status status = fill_tokens(b, problem);
  for (size_t i = 0; i < sizeof tables / sizeof *tables && status == STATUS_OK; i++) {
    status = tables[i](b);
    if (status == STATUS_LIMIT) problem->expected = "tokens whose hashes differ";
  }
  if (status == STATUS_OK) status = vocab_fill_rest(b, problem);
  if (status == STATUS_OK) fill_header(b);
  return status;
}

Status vocab_build(const Memory *memory, const VocabSource *source, Buffer *image, VocabProblem *problem) {
  Builder b = {.memory = *memory, .source = source};
  size_t room = 0;
  assert(image->size == 0);
  Status status = check_source(source, &b.header.id_bound, &b.header.hollow_count, problem);
  if (status == STATUS_OK) status = merges_build(&b.merges, memory, source, problem);
  if (status == STATUS_OK) {
    status = trie_build(&b.trie, memory, &b.merges);
    if (status == STATUS_LIMIT) problem->expected = "a smaller trie";
  }
  if (status == STATUS_OK) count_pretokens(&b);
  if (status == STATUS_OK) status = make_scratch(&b, &room);
  if (status == STATUS_OK) status = lay_out(&b, image);
  if (status == STATUS_OK) status = fill(&b, problem);
  if (status == STATUS_OK) image->size = b.header.size;
  if (b.merges.source != NULL) merges_free(&b.merges);
  if (b.trie.roots != NULL || b.trie.flags != NULL) trie_free(&b.trie);
  memory_free(memory, b.hashes, room * sizeof *b.hashes);
  memory_free(memory, b.slots, room * sizeof *b.slots);
  return status;
}
