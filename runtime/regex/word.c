#include "regex/word.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* \w of JavaScript: bytes of characters beyond ASCII are none. */
static bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* True if a pattern may have the byte outside of forms of its own. */
static bool is_plain(char c) {
  return is_word_byte(c) || (c & 0x80) != 0 || (c != '\0' && strchr(" !\"%&',-/:;<=>@`~", c) != NULL);
}

static bool is_boundary(const char *form) { return form[0] == '\\' && form[1] == 'b'; }

RegexWord regex_word(const char *pattern, size_t size) {
  RegexWord word = {.start = size >= 2 && is_boundary(pattern)};
  size_t from = word.start ? 2 : 0;
  word.end = size - from >= 2 && is_boundary(pattern + size - 2);
  size_t to = word.end ? size - 2 : size;
  if (to - from > REGEX_WORD_MAX) return (RegexWord){0};
  for (size_t i = from; i < to; i++) {
    if (!is_plain(pattern[i])) return (RegexWord){0};
    word.bytes[word.size++] = pattern[i];
  }
  return word;
}

/* True if exactly one of the bytes around the offset is of a word. */
static bool is_edge(const char *text, size_t size, size_t at) {
  bool before = at > 0 && is_word_byte(text[at - 1]), behind = at < size && is_word_byte(text[at]);
  return before != behind;
}

/* True if the word stands at the offset, where there is room for it. */
static bool stands(const RegexWord *word, const char *text, size_t size, size_t at) {
  assert(size - at >= word->size);
  if (memcmp(text + at, word->bytes, word->size) != 0) return false;
  if (word->start && !is_edge(text, size, at)) return false;
  return !word->end || is_edge(text, size, at + word->size);
}

size_t regex_word_find(const RegexWord *word, const char *text, size_t size, size_t from) {
  assert(word->size > 0 && from <= size);
  size_t at = from, last = word->size - 1u;
#ifdef __SSE2__      /* sixteen places at a time whose first and last bytes are the word's */
  __m128i first_byte = _mm_set1_epi8(word->bytes[0]), last_byte = _mm_set1_epi8(word->bytes[last]);
  for (; size - at >= last + 16; at += 16) {
    __m128i first_of = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
    __m128i last_of = _mm_loadu_si128((const __m128i *)(const void *)(text + at + last));
    __m128i both = _mm_and_si128(_mm_cmpeq_epi8(first_of, first_byte), _mm_cmpeq_epi8(last_of, last_byte));
    for (unsigned places = (unsigned)_mm_movemask_epi8(both); places != 0; places &= places - 1) {
      size_t place = at + (unsigned)__builtin_ctz(places);
      if (stands(word, text, size, place)) return place;
    }
  }
#endif
  for (; size - at > last; at++) {
    if (text[at] == word->bytes[0] && stands(word, text, size, at)) return at;
  }
  return SIZE_MAX;
}
