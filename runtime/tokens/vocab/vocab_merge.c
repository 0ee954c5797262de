#include "tokens/vocab/vocab_merge.h"

#include <assert.h>
#include <string.h>

#include "tokens/vocab/vocab_image.h"

static Status refuse(VocabProblem *problem, Status status, uint32_t token, uint32_t merge, const char *expected) {
  *problem = (VocabProblem){.expected = expected, .token = token, .merge = merge};
  return status;
}

/* ---- tokens by their bytes ---- */

static uint32_t index_slot(const Merges *m, const char *bytes, size_t size) {
  const VocabToken *tokens = m->source->tokens;
  uint32_t slot = (uint32_t)long_hash(bytes, size) & (m->index_size - 1);
  for (; m->index[slot] != MERGE_NONE; slot = (slot + 1) & (m->index_size - 1)) {
    const VocabToken *token = &tokens[m->index[slot]];
    if (token->size == size && memcmp(token->bytes, bytes, size) == 0) break;
  }
  return slot;
}

uint32_t merges_find(const Merges *m, const char *bytes, size_t size) { return m->index[index_slot(m, bytes, size)]; }

/* Enters all tokens but special ones into the index by their bytes, and finds the 256 single bytes, which are their
   own halves. */
static Status index_tokens(Merges *m, VocabProblem *problem) {
  const VocabSource *source = m->source;
  for (uint32_t i = 0; i < source->count; i++) {
    const VocabToken *token = &source->tokens[i];
    if (token->size == 0 || token->size > VOCAB_TOKEN_BYTES_MAX) {
      return refuse(problem, STATUS_LIMIT, i, MERGE_NONE, "a token of 1 to 2047 bytes");
    }
    if (token->special) continue;
    uint32_t slot = index_slot(m, token->bytes, token->size);
    if (m->index[slot] != MERGE_NONE) {
      return refuse(problem, STATUS_DUPLICATE, i, MERGE_NONE, "a token that no other one equals");
    }
    m->index[slot] = i;
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    char character = (char)byte;
    m->bytes[byte] = merges_find(m, &character, 1);
    if (m->bytes[byte] == MERGE_NONE) {
      return refuse(problem, STATUS_SHAPE, MERGE_NONE, MERGE_NONE, "a token for each of the 256 single bytes");
    }
    m->halves[m->bytes[byte]] = (Merged){.left = m->bytes[byte], .right = m->bytes[byte]};
  }
  return STATUS_OK;
}

/* ---- listed merges ---- */

static uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << 32 | right; }

static Status index_pairs(Merges *m, VocabProblem *problem) {
  const VocabSource *source = m->source;
  for (uint32_t i = 0; i < source->merge_count; i++) {
    VocabMerge merge = source->merges[i];
    uint32_t left = merges_find(m, merge.bytes, merge.left_size);
    uint32_t right = merges_find(m, merge.bytes + merge.left_size, merge.right_size);
    if (left == MERGE_NONE || right == MERGE_NONE) {
      return refuse(problem, STATUS_SHAPE, MERGE_NONE, i, "a merge of two tokens");
    }
    if (merges_find(m, merge.bytes, (size_t)merge.left_size + merge.right_size) == MERGE_NONE) {
      return refuse(problem, STATUS_SHAPE, MERGE_NONE, i, "a merge that makes a token");
    }
    if (map_find(&m->pairs, pair_key(left, right)) != NULL) continue;   /* the first of equal merges counts */
    Status status = map_put(&m->pairs, pair_key(left, right), i);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* ---- merging the bytes of one token ---- */

typedef struct HalvingPart {
  uint32_t token, start;
  uint32_t order, merged;    /* order and token of its merge with the next part; MERGE_NONE: no merge */
} HalvingPart;

typedef struct Halving {
  const char *bytes;
  uint32_t size;             /* of the bytes */
  uint32_t count;
  HalvingPart list[VOCAB_TOKEN_BYTES_MAX + 1];      /* with one more at the end of the bytes */
} Halving;

static void look_at_pair(const Merges *m, Halving *parts, uint32_t i) {
  HalvingPart *part = &parts->list[i];
  part->order = part->merged = MERGE_NONE;
  if (i + 1 >= parts->count) return;
  uint32_t end = parts->list[i + 2].start;
  if (m->source->merges == NULL) {
    part->order = part->merged = merges_find(m, parts->bytes + part->start, end - part->start);
    return;
  }
  const uint64_t *order = map_find(&m->pairs, pair_key(part->token, parts->list[i + 1].token));
  if (order == NULL) return;
  part->order = (uint32_t)*order;
  part->merged = merges_find(m, parts->bytes + part->start, end - part->start);
}

/* Merges until two parts are left, or none merge. */
static void merge_down(const Merges *m, Halving *parts) {
  assert(parts->count == parts->size);
  while (parts->count > 2) {
    uint32_t best = 0;
    for (uint32_t i = 1; i + 1 < parts->count; i++) {
      if (parts->list[i].order < parts->list[best].order) best = i;
    }
    if (parts->list[best].order == MERGE_NONE) return;
    parts->list[best].token = parts->list[best].merged;
    memmove(&parts->list[best + 1], &parts->list[best + 2], (parts->count - best - 1) * sizeof(HalvingPart));
    parts->count--;
    look_at_pair(m, parts, best);
    if (best > 0) look_at_pair(m, parts, best - 1);
  }
}

static void cut_in_halves(const Merges *m, Halving *parts, const VocabToken *token, Merged *merged) {
  parts->bytes = token->bytes;
  parts->count = parts->size = token->size;
  for (uint32_t i = 0; i <= token->size; i++) {
    uint32_t byte = i < token->size ? m->bytes[(unsigned char)token->bytes[i]] : MERGE_NONE;
    parts->list[i] = (HalvingPart){.start = i, .token = byte};
  }
  for (uint32_t i = 0; i < token->size; i++) look_at_pair(m, parts, i);
  merge_down(m, parts);
  bool whole = parts->count == 2 && parts->list[0].order != MERGE_NONE;
  *merged = (Merged){.left = MERGE_NONE, .right = MERGE_NONE, .order = MERGE_NONE};
  if (whole) {
    *merged = (Merged){.left = parts->list[0].token, .right = parts->list[1].token, .order = parts->list[0].order};
  }
}

/* Finds the halves of all tokens. */
static Status find_halves(Merges *m) {
  const VocabSource *source = m->source;
  Halving *parts = memory_new(&m->memory, sizeof *parts);
  if (parts == NULL) return STATUS_MEMORY;
  for (uint32_t i = 0; i < source->count; i++) {
    const VocabToken *token = &source->tokens[i];
    if (token->special) m->halves[i] = (Merged){.left = MERGE_NONE, .right = MERGE_NONE, .order = MERGE_NONE};
    else if (token->size > 1) cut_in_halves(m, parts, token, &m->halves[i]);
  }
  memory_free(&m->memory, parts, sizeof *parts);
  return STATUS_OK;
}

/* ---- turns ---- */

enum { SIZES = VOCAB_TOKEN_BYTES_MAX + 1 };

static bool is_merged(const Merges *m, uint32_t position) {
  return m->halves[position].left != MERGE_NONE && m->source->tokens[position].size > 1;
}

/* Chains the merged tokens of each size. */
static void chain_sizes(const Merges *m, uint32_t heads[SIZES], uint32_t *next) {
  for (uint32_t size = 0; size < SIZES; size++) heads[size] = MERGE_NONE;
  for (uint32_t i = m->source->count; i-- > 0;) {
    uint32_t size = m->source->tokens[i].size;
    if (!is_merged(m, i)) continue;
    next[i] = heads[size];
    heads[size] = i;
  }
}

/* Finds the turns of all tokens, the shorter ones first: halves are shorter than the whole. */
static void find_turns(Merges *m, const uint32_t heads[SIZES], const uint32_t *next) {
  for (uint32_t size = 2; size < SIZES; size++) {
    for (uint32_t i = heads[size]; i != MERGE_NONE; i = next[i]) {
      Merged *merged = &m->halves[i];
      uint32_t left = m->halves[merged->left].turn, right = m->halves[merged->right].turn;
      uint32_t of_halves = left > right ? left : right;
      merged->turn = of_halves > merged->order ? of_halves : merged->order;
      m->late = m->late || merged->turn > merged->order;
    }
  }
}

/* Chains the tokens of each turn, the shorter ones first: one that has the turn's order, and late ones that have it
   inside. */
static void chain_turns(const Merges *m, const uint32_t heads[SIZES], uint32_t *next, uint32_t *turns) {
  for (uint32_t size = SIZES; size-- > 2;) {
    for (uint32_t i = heads[size], after; i != MERGE_NONE; i = after) {
      uint32_t turn = m->halves[i].turn;
      after = next[i];
      next[i] = turns[turn];
      turns[turn] = i;
    }
  }
}

/* ---- numbers ---- */

static void number(Merges *m, uint32_t position, uint32_t *next) {
  m->halves[position].number = *next;
  m->token_of_number[(*next)++] = position;
}

/* Numbers bytes by their value, then merged tokens by their turns, then all others. */
static void number_by_turns(Merges *m, const uint32_t *turns, uint32_t turn_count, const uint32_t *next_of_turn) {
  uint32_t next = 0;
  for (unsigned byte = 0; byte < 256; byte++) number(m, m->bytes[byte], &next);
  for (uint32_t turn = 0; turn < turn_count; turn++) {
    for (uint32_t i = turns[turn]; i != MERGE_NONE; i = next_of_turn[i]) number(m, i, &next);
  }
  m->reached = next;
  for (uint32_t i = 0; i < m->source->count; i++) {
    if (m->halves[i].left == MERGE_NONE) number(m, i, &next);
  }
  assert(next == m->source->count && m->reached >= 256);
}

static Status number_tokens(Merges *m) {
  const VocabSource *source = m->source;
  uint32_t turn_count = source->merges == NULL ? source->count : source->merge_count, heads[SIZES];
  size_t turns_room = (size_t)turn_count + 1, next_room = (size_t)source->count + 1;
  uint32_t *turns = memory_new_array(&m->memory, turns_room, sizeof *turns);
  uint32_t *next = memory_new_array(&m->memory, next_room, sizeof *next);
  Status status = turns != NULL && next != NULL ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    memset(turns, 0xFF, turns_room * sizeof *turns);         /* MERGE_NONE everywhere */
    chain_sizes(m, heads, next);
    find_turns(m, heads, next);
    chain_turns(m, heads, next, turns);
    number_by_turns(m, turns, turn_count, next);
  }
  memory_free(&m->memory, turns, turns_room * sizeof *turns);
  memory_free(&m->memory, next, next_room * sizeof *next);
  return status;
}

enum { INDEX_SIZE_MIN = 1024 };     /* slots; a power of two */

/* The lists of tokens have one element more than needed, because an empty array cannot be allocated. */
static size_t list_size(const VocabSource *source) { return (size_t)source->count + 1; }

Status merges_build(Merges *m, const Memory *memory, const VocabSource *source, VocabProblem *problem) {
  *m = (Merges){.memory = *memory, .source = source, .index_size = INDEX_SIZE_MIN};
  map_init(&m->pairs, *memory);
  while (m->index_size < source->count * 2) m->index_size *= 2;
  m->index = memory_new_array(memory, m->index_size, sizeof *m->index);
  m->halves = memory_new_array(memory, list_size(source), sizeof *m->halves);
  m->token_of_number = memory_new_array(memory, list_size(source), sizeof *m->token_of_number);
  if (m->index == NULL || m->halves == NULL || m->token_of_number == NULL) return STATUS_MEMORY;
  memset(m->index, 0xFF, m->index_size * sizeof *m->index);      /* MERGE_NONE everywhere */
  Status status = index_tokens(m, problem);
  if (status == STATUS_OK && source->merges != NULL) status = index_pairs(m, problem);
  if (status == STATUS_OK) status = find_halves(m);
  return status == STATUS_OK ? number_tokens(m) : status;
}

void merges_free(Merges *m) {
  size_t count = m->source == NULL ? 0 : list_size(m->source);
  memory_free(&m->memory, m->index, m->index_size * sizeof *m->index);
  memory_free(&m->memory, m->halves, count * sizeof *m->halves);
  memory_free(&m->memory, m->token_of_number, count * sizeof *m->token_of_number);
  map_free(&m->pairs);
}
