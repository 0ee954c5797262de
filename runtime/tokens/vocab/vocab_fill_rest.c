/*
** Fills the tables of an image that only some vocabularies have: of late tokens, of cuts
** where nothing merges, of atoms.
*/
#include <assert.h>
#include <string.h>

#include "tokens/vocab/vocab_builder.h"

/* ---- late tokens ---- */

static void add_pair(uint64_t *set, unsigned left, unsigned right) {
  set[left << 2 | right >> 6] |= UINT64_C(1) << (right & 63);
}

/* Adds two neighbours of a token to the set: the rarest ones, between which the last token merges. */
static void add_rarest(const BytePair *pairs, const VocabToken *token, uint64_t *set) {
  const unsigned char *bytes = (const unsigned char *)token->bytes;
  uint32_t best = 1;
  for (uint32_t i = 1; i < token->size; i++) {
    uint32_t border = pairs[(uint32_t)bytes[i - 1] << 8 | bytes[i]].border;
    if (border > pairs[(uint32_t)bytes[best - 1] << 8 | bytes[best]].border) best = i;
  }
  add_pair(set, bytes[best - 1], bytes[best]);
}

static void fill_lates(const Builder *b) {
  const BytePair *pairs = builder_section(b, SECTION_BYTE_PAIRS);
  uint32_t *orders = builder_section(b, SECTION_ORDERS);
  uint64_t *lates = builder_section(b, SECTION_LATES);
  for (uint32_t number = 256; number < b->merges.reached; number++) {
    uint32_t position = b->merges.token_of_number[number];
    const Merged *merged = &b->merges.halves[position];
    orders[number] = merged->order;
    if (merged->turn > merged->order) add_rarest(pairs, &b->source->tokens[position], lates);
  }
}

/* ---- cuts ---- */

static void fill_cuts(const Builder *b) {
  const BytePair *pairs = builder_section(b, SECTION_BYTE_PAIRS);
  uint64_t *cuts = builder_section(b, SECTION_CUTS);
  for (unsigned i = 0; i < 1 << 16; i++) {
    if (pairs[i].border == NUMBER_NONE) add_pair(cuts, i >> 8, i & 255);
  }
}

/* ---- atoms ---- */

static bool precedes(const VocabAtom *a, const VocabAtom *b) {
  int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
  return order != 0 ? order < 0 : a->size < b->size;
}

/* Moves `atom` down the heap of `count` atoms, the last one on top, from `at` to its place. */
static void sink_atom(const VocabAtom *atoms, uint32_t *heap, uint32_t count, uint32_t at, uint32_t atom) {
  for (uint32_t kid; (kid = 2 * at + 1) < count; at = kid) {
    kid += kid + 1 < count && precedes(&atoms[heap[kid]], &atoms[heap[kid + 1]]);
    if (!precedes(&atoms[atom], &atoms[heap[kid]])) break;
    heap[at] = heap[kid];
  }
  heap[at] = atom;
}

static void sort_atoms(const VocabAtom *atoms, uint32_t *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) list[i] = i;
  for (uint32_t i = count / 2; i-- > 0;) sink_atom(atoms, list, count, i, list[i]);
  for (uint32_t left = count; left-- > 1;) {
    uint32_t last = list[left];
    list[left] = list[0];
    sink_atom(atoms, list, left, 0, last);
  }
}

/* The atoms in their order, after a list of them in `list`; STATUS_SHAPE if one is not a token. */
static Status fill_atoms(const Builder *b, const uint32_t *list, VocabProblem *problem) {
  const uint32_t *by_id = builder_section(b, SECTION_BY_ID);
  uint32_t *starts = builder_section(b, SECTION_ATOM_STARTS), offset = 0, first = 0;
  AtomRecord *records = builder_section(b, SECTION_ATOMS);
  char *bytes = builder_section(b, SECTION_ATOM_BYTES);
  for (uint32_t i = 0; i < b->source->atom_count; i++) {
    const VocabAtom *atom = &b->source->atoms[list[i]];
    uint32_t number = atom->id < b->header.id_bound ? by_id[atom->id] : NUMBER_NONE;
    bool fits = atom->size > 0 && atom->size <= VOCAB_TOKEN_BYTES_MAX && number < b->source->count;
    if (!fits || (i > 0 && !precedes(&b->source->atoms[list[i - 1]], atom))) {
      problem->expected = fits ? "added tokens that differ" : "added tokens of 1 to 2047 bytes";
      return fits ? STATUS_DUPLICATE : STATUS_SHAPE;
    }
    while (first <= (unsigned char)atom->bytes[0]) starts[first++] = i;
    records[i] = (AtomRecord){.offset = offset, .size = atom->size, .number = number};
    memcpy(bytes + offset, atom->bytes, atom->size);
    offset += atom->size;
  }
  while (first <= 256) starts[first++] = b->source->atom_count;
  assert(offset == b->header.sections[SECTION_ATOM_BYTES].size);
  return STATUS_OK;
}

Status vocab_fill_rest(Builder *b, VocabProblem *problem) {
  uint32_t count = b->source->atom_count;
  if (b->merges.late) fill_lates(b);
  if (b->source->pattern == PRETOKEN_BORDERS) fill_cuts(b);
  if (count == 0) return STATUS_OK;
  uint32_t *list = memory_new_array(&b->memory, count, sizeof *list);
  if (list == NULL) return STATUS_MEMORY;
  sort_atoms(b->source->atoms, list, count);
  Status status = fill_atoms(b, list, problem);
  memory_free(&b->memory, list, count * sizeof *list);
  return status;
}
