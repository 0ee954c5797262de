#include "tokens/pretoken/text_form.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "tokens/pretoken/nfc.h"

/* ---- NFC ---- */

/* Hangul syllables are computed: a leading consonant, a vowel, and a trailing consonant or none. */
enum {
  LEAD = 0x1100, VOWEL = 0x1161, TRAIL = 0x11A7, SYLLABLE = 0xAC00,
  LEADS = 19, VOWELS = 21, TRAILS = 28, SYLLABLES = LEADS * VOWELS * TRAILS
};

/* Points of a piece carry their order above their 21 bits. */
#define ORDER_SHIFT 24
#define POINT_BITS 0x1FFFFFu

static inline unsigned value_of(uint32_t point) {
  return point < NFC_END ? nfc_of_page[nfc_page[point / NFC_PAGE]][point % NFC_PAGE] : 0;
}

static bool is_ascii_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

/* The point at `at` < end; a byte that is not UTF-8 is a point of its own, which has no marks. */
static size_t point_at(const char *at, const char *end, uint32_t *point) {
  size_t size = utf8_decode(at, end, point);
  if (size > 0) return size;
  *point = (unsigned char)*at;
  return 1;
}

bool nfc_check(const char *bytes, size_t size) {
  const char *at = bytes, *end = size == 0 ? bytes : bytes + size;
  unsigned last = 0;
  while (at < end) {
    if (end - at >= 8 && is_ascii_word(at)) {
      at += 8;
      last = 0;
      continue;
    }
    uint32_t point;
    at += point_at(at, end, &point);
    unsigned value = value_of(point), order = value & NFC_ORDER;
    if ((value & NFC_CHANGES) != 0 || (order > 0 && order < last)) return false;
    last = order;
  }
  return true;
}

/* ---- a piece: decomposed, sorted, composed ---- */

typedef struct Piece {
  Buffer points;             /* uint32_t */
  Buffer sorted;             /* scratch of sorting */
} Piece;

static Status add_point(Piece *piece, uint32_t point) {
  uint32_t marked = point | (uint32_t)(value_of(point) & NFC_ORDER) << ORDER_SHIFT;
  return buffer_add(&piece->points, &marked, sizeof marked);
}

static const NfcDecomposition *find_decomposition(uint32_t point) {
  uint32_t low = 0, high = nfc_decomposition_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nfc_decompositions[middle].point < point) low = middle + 1;
    else high = middle;
  }
  bool is_there = low < nfc_decomposition_count && nfc_decompositions[low].point == point;
  return is_there ? &nfc_decompositions[low] : NULL;
}

static Status add_syllable(Piece *piece, uint32_t index) {
  uint32_t trail = index % TRAILS;
  Status status = add_point(piece, LEAD + index / (VOWELS * TRAILS));
  if (status == STATUS_OK) status = add_point(piece, VOWEL + index / TRAILS % VOWELS);
  return status == STATUS_OK && trail > 0 ? add_point(piece, TRAIL + trail) : status;
}

static Status add_decomposed(Piece *piece, uint32_t point) {
  if (point - SYLLABLE < SYLLABLES) return add_syllable(piece, point - SYLLABLE);
  const NfcDecomposition *decomposition = find_decomposition(point);
  if (decomposition == NULL) return add_point(piece, point);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < decomposition->count && status == STATUS_OK; i++) {
    status = add_point(piece, nfc_points[decomposition->start + i]);
  }
  return status;
}

/* Sorts a run of marks by their order, equal ones as they are: a counting sort. */
static void sort_run(uint32_t *run, size_t count, uint32_t *scratch) {
  size_t starts[NFC_ORDERS + 1] = {0};
  for (size_t i = 0; i < count; i++) starts[(run[i] >> ORDER_SHIFT) + 1]++;
  for (size_t order = 1; order <= NFC_ORDERS; order++) starts[order] += starts[order - 1];
  for (size_t i = 0; i < count; i++) scratch[starts[run[i] >> ORDER_SHIFT]++] = run[i];
  memcpy(run, scratch, count * sizeof *run);
}

static Status sort_marks(Piece *piece) {
  uint32_t *points = (uint32_t *)(void *)piece->points.bytes;
  size_t count = piece->points.size / sizeof *points;
  buffer_reset(&piece->sorted);
  Status status = buffer_reserve(&piece->sorted, piece->points.size);
  if (status != STATUS_OK) return status;
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start; end < count && points[end] >> ORDER_SHIFT > 0;) end++;
    if (end - start > 1) sort_run(points + start, end - start, (uint32_t *)(void *)piece->sorted.bytes);
    if (end == start) end++;
  }
  return STATUS_OK;
}

/* What two points compose to, or 0. */
static uint32_t composition_of(uint32_t first, uint32_t second) {
  if (first - LEAD < LEADS && second - VOWEL < VOWELS) {
    return SYLLABLE + ((first - LEAD) * VOWELS + (second - VOWEL)) * TRAILS;
  }
  bool open = first - SYLLABLE < SYLLABLES && (first - SYLLABLE) % TRAILS == 0;
  if (open && second > TRAIL && second < TRAIL + TRAILS) return first + (second - TRAIL);
  uint32_t low = 0, high = nfc_composition_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const NfcComposition *at = &nfc_compositions[middle];
    if (at->first < first || (at->first == first && at->second < second)) low = middle + 1;
    else high = middle;
  }
  if (low == nfc_composition_count) return 0;
  const NfcComposition *at = &nfc_compositions[low];
  return at->first == first && at->second == second ? at->point : 0;
}

/* Composes in place. A point composes with the last starter, the last one without an order, unless a point between
   them has no lower order. */
static size_t compose(uint32_t *points, size_t count) {
  size_t used = 0, starter = SIZE_MAX;
  unsigned last = 0;
  for (size_t i = 0; i < count; i++) {
    unsigned order = points[i] >> ORDER_SHIFT;
    bool open = starter != SIZE_MAX && (used == starter + 1 || last < order);
    uint32_t whole = open ? composition_of(points[starter] & POINT_BITS, points[i] & POINT_BITS) : 0;
    if (whole != 0) {
      points[starter] = whole;
      continue;
    }
    if (order == 0) starter = used;
    last = order;
    points[used++] = points[i];
  }
  assert(used <= count);
  return used;
}

static Status write_piece(Piece *piece, const char *at, const char *end, Buffer *out) {
  Status status = STATUS_OK;
  buffer_reset(&piece->points);
  while (at < end && status == STATUS_OK) {
    uint32_t point;
    at += point_at(at, end, &point);
    status = add_decomposed(piece, point);
  }
  if (status == STATUS_OK) status = sort_marks(piece);
  if (status != STATUS_OK) return status;
  uint32_t *points = (uint32_t *)(void *)piece->points.bytes;
  size_t count = compose(points, piece->points.size / sizeof *points);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    char character[4];
    status = buffer_add(out, character, utf8_encode(points[i] & POINT_BITS, character));
  }
  return status;
}

/* ---- the text ---- */

/* The end of the piece that starts at `at`: the next character that stays as it is, or a byte that is not UTF-8.
   *single: the piece is one such character. */
static const char *end_of_piece(const char *at, const char *end, bool *single) {
  uint32_t point;
  size_t size = utf8_decode(at, end, &point);
  *single = size == 0 || value_of(point) == 0;
  const char *next = at + (size > 0 ? size : 1);
  while (size > 0 && next < end && (size = utf8_decode(next, end, &point)) > 0 && value_of(point) != 0) {
    next += size;
    *single = false;
  }
  return next;
}

Status nfc_write(const char *bytes, size_t size, Buffer *out) {
  Piece piece;
  Status status = buffer_reserve(out, size);
  const char *at = bytes, *end = size == 0 ? bytes : bytes + size, *plain = bytes, *next;
  buffer_init(&piece.points, out->memory);
  buffer_init(&piece.sorted, out->memory);
  for (; at < end && status == STATUS_OK; at = next) {
    bool single;
    next = end_of_piece(at, end, &single);
    if (single) continue;
    status = buffer_add(out, plain, (size_t)(at - plain));
    if (status == STATUS_OK) status = write_piece(&piece, at, next, out);
    plain = next;
  }
  if (status == STATUS_OK) status = buffer_add(out, plain, (size_t)(end - plain));
  buffer_free(&piece.points);
  buffer_free(&piece.sorted);
  return status;
}

/* ---- forms ---- */

enum { SPACE_SIZE = sizeof TEXT_SPACE - 1 };

/* The first U+2581 of a text, or its end. */
static const char *find_space(const char *at, const char *end) {
  while (at < end) {
    at = memchr(at, TEXT_SPACE[0], (size_t)(end - at));
    if (at == NULL) return end;
    if (end - at >= SPACE_SIZE && memcmp(at, TEXT_SPACE, SPACE_SIZE) == 0) return at;
    at++;
  }
  return end;
}

/* Replaces each U+2581 of the buffer's bytes from `from` on by a space. */
static void write_spaces(Buffer *out, size_t from) {
  if (out->size == from) return;
  char *to = out->bytes + from, *end = out->bytes + out->size;
  for (const char *at = to; at < end;) {
    const char *space = find_space(at, end);
    memmove(to, at, (size_t)(space - at));
    to += space - at;
    if (space < end) *to++ = ' ';
    at = space < end ? space + SPACE_SIZE : end;
  }
  out->size = (size_t)(to - out->bytes);
}

bool text_form_has(unsigned forms, const char *bytes, size_t size) {
  assert(forms <= TEXT_FORMS);
  if (size == 0) return true;
  if ((forms & TEXT_PREFIX) != 0) return false;
  if ((forms & TEXT_SPACES) != 0 && find_space(bytes, bytes + size) < bytes + size) return false;
  return (forms & TEXT_NFC) == 0 || nfc_check(bytes, size);
}

Status text_form_write(unsigned forms, const char *bytes, size_t size, Buffer *out) {
  size_t from = out->size;
  Status status = STATUS_OK;
  assert(forms <= TEXT_FORMS);
  if (size == 0) return STATUS_OK;
  if ((forms & TEXT_PREFIX) != 0) status = buffer_add_byte(out, ' ');
  if (status != STATUS_OK) return status;
  status = (forms & TEXT_NFC) != 0 ? nfc_write(bytes, size, out) : buffer_add(out, bytes, size);
  if (status == STATUS_OK && (forms & TEXT_SPACES) != 0) write_spaces(out, from);
  return status;
}
