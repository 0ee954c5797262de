/*
** Text: all functions read through text_run, which yields the plain bytes of plain
** and escaped texts alike without decoding them into memory.
*/
#include "base/text.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hex.h"
#include "base/minmax.h"
#include "base/utf8.h"

Text text_of(const char *string) {
  return text_plain(string, strlen(string));
}

Text text_plain(const char *bytes, size_t size) {
  return (Text){.bytes = bytes, .size = size, .escaped = false};
}

Status text_copy(const Memory *memory, Text text, char **copy) {
  *copy = text.size == 0 ? NULL : memory_new(memory, text.size);
  if (text.size == 0) return STATUS_OK;
  if (*copy == NULL) return STATUS_MEMORY;
  memcpy(*copy, text.bytes, text.size);
  return STATUS_OK;
}

int text_compare(Text a, Text b) {
  assert(!a.escaped && !b.escaped);
  size_t shorter = min_size(a.size, b.size);
  int order = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
  return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static void text_skip(Text *rest, size_t size) {
  rest->bytes += size;
  rest->size -= size;
}

/* The code point of the \u escape at `at`, or of a surrogate pair of two; U+FFFD for
   half a pair. *size: bytes of the escape. */
static uint32_t unicode_escape(const char *at, const char *end, size_t *size) {
  uint32_t high = (uint32_t)hex_read(at + 2, end, 4);
  *size = 6;
  if (high < 0xD800 || high > 0xDFFF) return high;
  bool followed = high < 0xDC00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u';
  uint32_t low = followed ? (uint32_t)hex_read(at + 8, end, 4) : 0;
  if (low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
  *size = 12;
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static char simple_escape(char letter) {
  switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;   /* '"', '\\' and '/' mean themselves */
  }
}

/* The next backslash, or `end`. Escapes are dense in code and in JSON within JSON,
   where memchr's setup would cost more than its search. */
static const char *find_slash(const char *at, const char *end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    int slashes = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    if (slashes != 0) return at + __builtin_ctz((unsigned)slashes);
  }
#endif
  while (at < end && *at != '\\') at++;
  return at;
}

bool text_run(Text *rest, char scratch[4], Text *run) {
  if (rest->size == 0) return false;
  if (!rest->escaped || rest->bytes[0] != '\\') {
    const char *end = rest->bytes + rest->size, *slash = rest->escaped ? find_slash(rest->bytes, end) : end;
    *run = text_plain(rest->bytes, (size_t)(slash - rest->bytes));
    text_skip(rest, run->size);
    return true;
  }
  assert(rest->size >= 2);
  size_t size = 2;
  if (rest->bytes[1] == 'u') {
    uint32_t point = unicode_escape(rest->bytes, rest->bytes + rest->size, &size);
    *run = text_plain(scratch, utf8_encode(point, scratch));
  } else {
    scratch[0] = simple_escape(rest->bytes[1]);
    *run = text_plain(scratch, 1);
  }
  assert(size <= rest->size);
  text_skip(rest, size);
  return true;
}

size_t text_plain_size(Text text) {
  if (!text.escaped) return text.size;
  const char *end = text.bytes + text.size;
  size_t plain = text.size;
  for (const char *at = find_slash(text.bytes, end); at < end; at = find_slash(at, end)) {
    size_t escape = 2, stands_for = 1;
    char scratch[4];
    if (at[1] == 'u') stands_for = utf8_encode(unicode_escape(at, end, &escape), scratch);
    plain -= escape - stands_for;
    at += escape;
  }
  return plain;
}

Status text_decode(Text text, Buffer *out) {
  Status status = buffer_reserve(out, text.size);   /* an escape is longer than its character */
  if (status != STATUS_OK) return status;
  char scratch[4];
  Text run;
  while (text_run(&text, scratch, &run)) {
    memcpy(out->bytes + out->size, run.bytes, run.size);
    out->size += run.size;
  }
  return STATUS_OK;
}

/* Removes equal bytes from the front of both until one is empty; false if they differ. */
static bool take_equal(Text *a, Text *b) {
  char scratch_a[4], scratch_b[4];
  Text run_a = {0}, run_b = {0};
  for (;;) {
    if (run_a.size == 0 && !text_run(a, scratch_a, &run_a)) break;
    if (run_b.size == 0 && !text_run(b, scratch_b, &run_b)) break;
    size_t size = min_size(run_a.size, run_b.size);
    if (memcmp(run_a.bytes, run_b.bytes, size) != 0) return false;
    text_skip(&run_a, size);
    text_skip(&run_b, size);
  }
  a->size += run_a.size;   /* bytes removed but not compared: callers need only their number */
  b->size += run_b.size;
  return true;
}

bool text_equal(Text a, Text b) {
  if (a.escaped == b.escaped && a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0)) return true;
  if (!a.escaped && !b.escaped) return false;
  return take_equal(&a, &b) && a.size == 0 && b.size == 0;
}

bool text_starts_with(Text text, Text prefix) {
  return take_equal(&prefix, &text) && prefix.size == 0;
}

/* Writes the escape for one byte of plain text; returns its size, 0 if none is needed. */
static size_t escape_byte(unsigned char byte, char out[6]) {
  static const char letters[] = "btn\0fr";   /* for bytes 8 to 13; 11 has no letter */
  if (byte >= 0x20 && byte != '"' && byte != '\\') return 0;
  out[0] = '\\';
  out[1] = byte >= 0x20 ? (char)byte : byte >= 8 && byte <= 13 ? letters[byte - 8] : 0;
  if (out[1] != 0) return 2;
  memcpy(out + 1, "u00", 3);
  hex_write(out + 4, &byte, 1);
  return 6;
}

/* The same for the character at `at`, or for several that need none; *taken: their bytes. */
static size_t escape_at(const char *at, const char *end, char out[6], size_t *taken) {
  *taken = 1;
  if ((unsigned char)*at < 0x80) return escape_byte((unsigned char)*at, out);
  *taken = (size_t)(utf8_skip(at, end) - at);
  if (*taken > 0) return 0;
  *taken = utf8_bad(at, end);
  memcpy(out, UTF8_REPLACEMENT, sizeof UTF8_REPLACEMENT - 1);
  return sizeof UTF8_REPLACEMENT - 1;
}

/* True if one of eight bytes is beyond ASCII, below a space, a quote or a backslash. */
static bool has_stop(uint64_t eight) {
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
  uint64_t quote = eight ^ ones * '"', slash = eight ^ ones * '\\';
  return ((eight | (eight - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) != 0;
}

/* Passes bytes that stand for themselves, sixteen or eight at a time; others may be such, too. */
static const char *skip_plain(const char *at, const char *end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i below = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));      /* and all beyond ASCII, which are negative */
    __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"')), slash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    int stops = _mm_movemask_epi8(_mm_or_si128(below, _mm_or_si128(quote, slash)));
    if (stops != 0) return at + __builtin_ctz((unsigned)stops);
  }
#endif
  for (uint64_t eight; end - at >= 8 && (memcpy(&eight, at, 8), !has_stop(eight));) at += 8;
  return at;
}

static Status escape_plain(Text text, Buffer *out) {
  if (text.size == 0) return STATUS_OK;   /* its pointer may be NULL */
  const char *from = text.bytes, *end = from + text.size;   /* bytes before `from` are written */
  Status status = buffer_reserve(out, text.size);
  size_t taken;
  for (const char *at = skip_plain(from, end); at < end && status == STATUS_OK; at = skip_plain(at + taken, end)) {
    char escape[6];
    size_t size = escape_at(at, end, escape, &taken);
    if (size == 0) continue;
    status = buffer_add(out, from, (size_t)(at - from));
    if (status == STATUS_OK) status = buffer_add(out, escape, size);
    from = at + taken;
  }
  if (status != STATUS_OK) return status;
  return buffer_add(out, from, (size_t)(end - from));
}

Status text_escape(Text text, Buffer *out) {
  if (text.escaped) return buffer_add(out, text.bytes, text.size);
  size_t before = out->size;
  Status status = escape_plain(text, out);
  if (status != STATUS_OK) out->size = before;
  return status;
}
