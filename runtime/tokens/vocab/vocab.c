/*
** Opening an image: the header has the place of each table. Each table's size must match
** the counts, so that no look-up can leave the table.
*/
#include "tokens/vocab/vocab.h"

#include <assert.h>
#include <string.h>

#include "os/os.h"
#include "tokens/pretoken/text_form.h"
#include "tokens/vocab/vocab_image.h"

bool vocab_name_fits(const char *name) {
  size_t size = strlen(name);
  if (size == 0 || size > VOCAB_NAME_MAX || name[0] == '.') return false;
  return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

uint64_t vocab_sum(const void *bytes, size_t size) {
  const char *at = bytes;
  uint64_t sum = size;
  for (; size >= 8; at += 8, size -= 8) sum = ((sum << 5 | sum >> 59) ^ load_word(at)) * 0x9E3779B97F4A7C15u;
  for (; size > 0; at++, size--) sum = ((sum << 5 | sum >> 59) ^ (unsigned char)*at) * 0x9E3779B97F4A7C15u;
  return sum ^ sum >> 32;
}

/* ---- checking ---- */

static bool header_is_sound(const VocabHeader *h, size_t size) {
  if (memcmp(h->magic, VOCAB_MAGIC, sizeof h->magic) != 0) return false;
  if (h->version != VOCAB_VERSION || h->byte_order != VOCAB_BYTE_ORDER || h->size != size) return false;
  if (h->header_sum != vocab_sum(h, offsetof(VocabHeader, header_sum))) return false;
  if (memchr(h->name, '\0', sizeof h->name) == NULL || !vocab_name_fits(h->name)) return false;
  return h->pattern <= PRETOKEN_BORDERS && h->token_count >= 256 && h->token_count < NUMBER_NONE &&
         h->merged_count <= h->token_count && h->id_bound < UINT32_MAX && h->longest <= TOKEN_BYTES_MAX &&
         h->hollow_count <= h->token_count && h->forms <= TEXT_FORMS;
}

/* A section as *count elements of `size` bytes; clears *sound unless it is within the image. */
static const void *section(const Vocab *v, VocabSection which, size_t size, uint32_t *count, bool *sound) {
  uint64_t offset = v->header->sections[which].offset, bytes = v->header->sections[which].size, all = v->header->size;
  bool fits = offset % VOCAB_ALIGN == 0 && offset <= all && bytes <= all - offset && bytes % size == 0 &&
                bytes / size < UINT32_MAX;
  if (!fits) *sound = false;
  *count = fits ? (uint32_t)(bytes / size) : 0;
  return (const char *)v->header + (fits ? offset : 0);
}

/* A section that must have `expected` elements; else clears *sound. */
static const void *section_of(const Vocab *v, VocabSection which, size_t size, uint32_t expected, bool *sound) {
  uint32_t count;
  const void *at = section(v, which, size, &count, sound);
  if (count != expected) *sound = false;
  return at;
}

static Places places(const Vocab *v, VocabSection shifts, VocabSection slots, size_t size, const void **keys,
                     bool *sound) {
  Places places;
  places.shifts = section(v, shifts, sizeof *places.shifts, &places.groups, sound);
  *keys = section(v, slots, size, &places.slots, sound);
  if (places.groups == 0 || places.slots == 0) *sound = false;
  return places;
}

static bool find_pretokens(Vocab *v) {
  bool sound = true;
  const void *keys;
  v->shorts = places(v, SECTION_SHORT_SHIFTS, SECTION_SHORT_KEYS, sizeof(uint64_t), &keys, &sound);
  v->short_keys = keys;
  v->short_numbers = section_of(v, SECTION_SHORT_NUMBERS, sizeof(uint32_t), v->shorts.slots, &sound);
  v->middles = places(v, SECTION_MIDDLE_SHIFTS, SECTION_MIDDLE_KEYS, 2 * sizeof(uint64_t), &keys, &sound);
  v->middle_keys = keys;
  v->middle_numbers = section_of(v, SECTION_MIDDLE_NUMBERS, sizeof(uint32_t), v->middles.slots, &sound);
  v->longs = places(v, SECTION_LONG_SHIFTS, SECTION_LONG_NUMBERS, sizeof(uint32_t), &keys, &sound);
  v->long_numbers = keys;
  return sound;
}

static bool find_merges(Vocab *v) {
  bool sound = true;
  const void *keys;
  v->pairs = places(v, SECTION_PAIR_SHIFTS, SECTION_PAIRS, sizeof(uint64_t), &keys, &sound);
  v->pair_slots = keys;
  uint32_t words;
  v->pair_marks = section(v, SECTION_PAIR_MARKS, sizeof(uint64_t), &words, &sound);
  v->mark_mask = words - 1;
  if (words == 0 || (words & v->mark_mask) != 0) sound = false;
  v->byte_pairs = section_of(v, SECTION_BYTE_PAIRS, sizeof(BytePair), 1 << 16, &sound);
  v->edges = places(v, SECTION_EDGE_SHIFTS, SECTION_EDGES, sizeof(uint64_t), &keys, &sound);
  v->edge_slots = keys;
  v->roots = section_of(v, SECTION_ROOTS, sizeof(uint32_t), UNIT_COUNT, &sound);
  return sound;
}

static bool find_tokens(Vocab *v) {
  bool sound = true;
  uint32_t count;
  v->token_count = v->header->token_count;
  v->merged_count = (uint32_t)v->header->merged_count;
  v->longest = v->header->longest;
  v->tokens = section_of(v, SECTION_TOKENS, sizeof *v->tokens, v->token_count, &sound);
  v->bytes = section(v, SECTION_BYTES, 1, &count, &sound);
  v->bytes_size = count;
  v->ids = section_of(v, SECTION_IDS, sizeof *v->ids, v->token_count, &sound);
  v->by_id = section_of(v, SECTION_BY_ID, sizeof *v->by_id, v->header->id_bound, &sound);
  v->regex = section(v, SECTION_REGEX, 1, &count, &sound);
  bool has_regex = v->header->pattern == PRETOKEN_REGEX;
  if (has_regex && (count < 3 || v->regex[count - 1] != '\0' || v->regex[count - 2] != '\0')) sound = false;
  if (!has_regex) v->regex = NULL;
  v->regex_size = count;
  return sound;
}

/* A section that is empty, which gives NULL, or has `expected` elements; else clears *sound. */
static const void *section_if(const Vocab *v, VocabSection which, size_t size, uint32_t expected, bool *sound) {
  if (v->header->sections[which].size == 0) return NULL;
  return section_of(v, which, size, expected, sound);
}

static bool find_rest(Vocab *v) {
  bool sound = true;
  uint32_t bytes;
  v->orders = section_if(v, SECTION_ORDERS, sizeof *v->orders, v->merged_count, &sound);
  v->lates = section_if(v, SECTION_LATES, sizeof *v->lates, PAIR_SET_WORDS, &sound);
  v->cuts = section_if(v, SECTION_CUTS, sizeof *v->cuts, PAIR_SET_WORDS, &sound);
  v->atom_starts = section_if(v, SECTION_ATOM_STARTS, sizeof *v->atom_starts, 257, &sound);
  v->atoms = section(v, SECTION_ATOMS, sizeof *v->atoms, &v->atom_count, &sound);
  v->atom_bytes = section(v, SECTION_ATOM_BYTES, 1, &bytes, &sound);
  v->atom_bytes_size = bytes;
  bool has_borders = v->header->pattern == PRETOKEN_BORDERS;
  return sound && (v->orders != NULL) == (v->lates != NULL) && (v->cuts != NULL) == has_borders;
}

/* ---- opening ---- */

Status vocab_of_image(const Memory *memory, const VocabImage *image, Vocab **vocab) {
  Vocab v = {.owners = 1, .memory = *memory, .header = image->bytes, .release = image->release, .user = image->user};
  if (image->size < sizeof *v.header || (uintptr_t)image->bytes % 8 != 0) return STATUS_SYNTAX;
  if (!header_is_sound(v.header, image->size)) return STATUS_SYNTAX;
  if (!find_pretokens(&v) || !find_merges(&v) || !find_tokens(&v) || !find_rest(&v)) return STATUS_SYNTAX;
  Vocab *opened = memory_new(memory, sizeof *opened);
  if (opened == NULL) return STATUS_MEMORY;
  *opened = v;
  *vocab = opened;
  return STATUS_OK;
}

Status vocab_of_bytes(const Memory *memory, const void *bytes, size_t size, Vocab **vocab) {
  return vocab_of_image(memory, &(VocabImage){.bytes = bytes, .size = size}, vocab);
}

Status vocab_take(Buffer *image, Vocab **vocab) {
  if (image->bytes == NULL) return STATUS_SYNTAX;
  Status status = vocab_of_bytes(&image->memory, image->bytes, image->size, vocab);
  if (status != STATUS_OK) return status;
  (*vocab)->capacity = image->capacity;
  buffer_init(image, image->memory);
  return STATUS_OK;
}

/* The largest image, in bytes, that numbers allow. */

#ifdef EBB_MINIMAL

/* Without mmap: reads the image into memory. */
Status vocab_open(const Memory *memory, const char *path, FileIdentity *identity, Vocab **vocab) {
  Buffer image;
  if (identity != NULL) *identity = (FileIdentity){0};
  buffer_init(&image, *memory);
  Status status = file_read(memory, path, VOCAB_IMAGE_BYTES_MAX, &image.bytes, &image.size, &image.capacity);
  if (status == STATUS_OK) status = vocab_take(&image, vocab);
  buffer_free(&image);
  return status;
}

#else

static void unmap(void *user, const void *bytes, size_t size) {
  (void)user;
  file_unmap(bytes, size);
}

Status vocab_open(const Memory *memory, const char *path, FileIdentity *identity, Vocab **vocab) {
  FileMap map;
  Status status = file_map(path, VOCAB_IMAGE_BYTES_MAX, &map);
  if (status == STATUS_SHAPE) return STATUS_SYNTAX;
  if (status != STATUS_OK) return status;
  VocabImage image = {.bytes = map.bytes, .size = map.size, .release = unmap};
  status = vocab_of_image(memory, &image, vocab);
  if (status != STATUS_OK) file_unmap(map.bytes, map.size);
  else if (identity != NULL) *identity = map.identity;
  return status;
}

#endif

Vocab *vocab_share(Vocab *vocab) {
  uint32_t owners = atomic_fetch_add_explicit(&vocab->owners, 1, memory_order_relaxed);
  assert(owners > 0 && owners < UINT32_MAX);
  (void)owners;
  return vocab;
}

/* Acquire and release order: the last owner sees all accesses of the others. */
void vocab_release(Vocab *vocab) {
  if (vocab == NULL) return;
  uint32_t owners = atomic_fetch_sub_explicit(&vocab->owners, 1, memory_order_acq_rel);
  assert(owners > 0);
  if (owners > 1) return;
  Memory memory = vocab->memory;
  if (vocab->release != NULL) vocab->release(vocab->user, vocab->header, vocab->header->size);
  if (vocab->capacity > 0) memory_free(&memory, (void *)(uintptr_t)vocab->header, vocab->capacity);
  memory_free(&memory, vocab, sizeof *vocab);
}

/* ---- properties ---- */

const char *vocab_name(const Vocab *vocab) { return vocab->header->name; }
PretokenPattern vocab_pattern(const Vocab *vocab) { return (PretokenPattern)vocab->header->pattern; }
uint32_t vocab_size(const Vocab *vocab) { return vocab->header->id_bound; }
uint32_t vocab_tokens(const Vocab *vocab) { return vocab->token_count - vocab->header->hollow_count; }
uint64_t vocab_bytes(const Vocab *vocab) { return vocab->header->size; }
const uint8_t *vocab_source(const Vocab *vocab) { return vocab->header->source; }
const char *vocab_regex(const Vocab *vocab) { return vocab->regex; }

/* ---- look-ups too large for inlining ---- */

uint64_t long_hash(const char *bytes, size_t size) { return place_mix(vocab_sum(bytes, size)); }

uint32_t vocab_find_long(const Vocab *v, const char *bytes, size_t size) {
  if (size > v->longest) return NUMBER_NONE;
  uint32_t number = v->long_numbers[place_of(&v->longs, long_hash(bytes, size))];
  if (number >= v->token_count) return NUMBER_NONE;
  const char *token;
  bool same = vocab_token_bytes(v, number, &token) == size && memcmp(token, bytes, size) == 0;
  return same ? number : NUMBER_NONE;
}

uint32_t vocab_find(const Vocab *v, const char *bytes, size_t size) {
  char padded[16] = {0};
  uint32_t slot;
  if (size == 0) return NUMBER_NONE;
  if (size > 16) return vocab_find_long(v, bytes, size);
  memcpy(padded, bytes, size);
  size_t tail = size > 8 ? size - 8 : size;
  uint64_t key = short_key(padded + size - tail, tail);
  uint32_t number = NUMBER_NONE;
  if (short_key_unfit(key, tail)) return vocab_find_long(v, bytes, size);
  if (size <= 8) {
    slot = vocab_short_slot(v, key);
    if (v->short_keys[slot] == key) number = v->short_numbers[slot];
  } else {
    slot = vocab_middle_slot(v, load_word(padded), key);
    if (vocab_is_middle(v, slot, load_word(padded), key)) number = v->middle_numbers[slot];
  }
  return number < v->token_count ? number : NUMBER_NONE;
}

/* ---- atoms ---- */

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
