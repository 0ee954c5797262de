#include "regex/pattern.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hex.h"
#include "base/utf8.h"

/* ---- writing for PCRE2 ---- */

/* Unicode's spaces besides ASCII's, as the contents of a class; and their complement. */
#define SPACES "\\s\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
#define NO_SPACES \
  "\\u0000-\\u0008\\u000e-\\u001f!-\\u009f\\u00a1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e" \
  "\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\\u{10ffff}"

/* The code point of "\uD83D\uDE00" at `at`, or -1. */
static int32_t surrogate_pair(const char *at, const char *end) {
  if (end - at < 12 || at[1] != 'u' || at[6] != '\\' || at[7] != 'u') return -1;
  int32_t high = hex_read(at + 2, end, 4), low = hex_read(at + 8, end, 4);
  if (high < 0xD800 || high > 0xDBFF || low < 0xDC00 || low > 0xDFFF) return -1;
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/* Output that goes into a buffer, or is only counted. */
typedef struct Written {
  Buffer *buffer;            /* NULL: count only */
  size_t size;
} Written;

static Status put(Written *out, const char *bytes, size_t size) {
  out->size += size;
  return out->buffer == NULL ? STATUS_OK : buffer_add(out->buffer, bytes, size);
}

static Status put_string(Written *out, const char *string) { return put(out, string, strlen(string)); }

static Status put_point(Written *out, int32_t point) {
  char text[] = "\\u{000000}";
  const unsigned char bytes[] = {(unsigned char)(point >> 16), (unsigned char)(point >> 8), (unsigned char)point};
  hex_write(text + 3, bytes, sizeof bytes);
  return put_string(out, text);
}

/* The size of a repeated reference to a group, "\\1" or "\\k<name>"; 0 for other text. */
static size_t repeated_reference(const char *at, const char *end) {
  const char *stop = at + 2;
  if (at[1] >= '1' && at[1] <= '9') {
    while (stop < end && *stop >= '0' && *stop <= '9') stop++;
  } else if ((at[1] == 'k' || at[1] == 'g') && stop < end && strchr("<{'", *stop) != NULL && *stop != '\0') {
    char close = *stop == '<' ? '>' : *stop == '{' ? '}' : '\'';
    stop = memchr(stop + 1, close, (size_t)(end - stop - 1));
    if (stop == NULL) return 0;
    stop++;
  } else {
    return 0;
  }
  return stop < end && *stop != '\0' && strchr("*+?{", *stop) != NULL ? (size_t)(stop - at) : 0;
}

/* Wraps a repeated reference in a group and repeats that. In PCRE2's machine code
   (10.42) a repeated reference to an unset group fails where its interpreter matches
   the empty text. */
static Status put_reference(Written *out, const char *at, size_t size) {
  Status status = put_string(out, "(?:");
  if (status == STATUS_OK) status = put(out, at, size);
  return status == STATUS_OK ? put_string(out, ")") : status;
}

/* Writes the escape at `at`; *taken: its size in the pattern. */
static Status put_escape(Written *out, const char *at, const char *end, bool in_class, size_t *taken) {
  *taken = end - at < 2 ? 1 : 2;
  char c = *taken == 2 ? at[1] : '\0';
  int32_t pair = c == 'u' ? surrogate_pair(at, end) : -1;
  if (c == 's') return put_string(out, in_class ? SPACES : "[" SPACES "]");
  if (c == 'S') return put_string(out, in_class ? NO_SPACES : "[^" SPACES "]");
  if (c == 'v') return put_string(out, "\\x0b");
  if (c == 'Q' || c == 'E') return put(out, at + 1, 1);      /* the size of a quoted letter */
  if (pair >= 0) {
    *taken = 12;
    return put_point(out, pair);
  }
  size_t reference = *taken == 2 && !in_class ? repeated_reference(at, end) : 0;
  if (reference == 0) return put(out, at, *taken);
  *taken = reference;
  return put_reference(out, at, reference);
}

/* The size of "[:alpha:]" within a class; 0 for other text. */
static size_t posix_size(const char *at, const char *end) {
  if (end - at < 4 || at[1] != ':') return 0;
  const char *close = memchr(at, ']', (size_t)(end - at));
  return close != NULL && close[-1] == ':' && close > at + 2 ? (size_t)(close - at) + 1 : 0;
}

/* The size of "[\\s\\S]", a common idiom for any character; 0 for other text. */
static size_t any_size(const char *at, const char *end) {
  bool is_any = end - at >= 6 && (memcmp(at, "[\\s\\S]", 6) == 0 || memcmp(at, "[\\S\\s]", 6) == 0);
  return is_any ? 6 : 0;
}

/* Writes the pattern up to `stop` bytes of output; returns the bytes of the pattern used. */
static size_t write(const char *pattern, size_t size, Written *out, size_t stop, Status *status) {
  const char *at = pattern, *end = pattern + size;
  bool in_class = false;
  *status = STATUS_OK;
  while (at < end && *status == STATUS_OK && out->size < stop) {
    size_t taken = 1;
    if (*at == '\\') {
      *status = put_escape(out, at, end, in_class, &taken);
    } else if (!in_class && any_size(at, end) > 0) {
      taken = any_size(at, end);
      *status = put_string(out, "[^]");      /* without its long lists, which cost time in caseless patterns */
    } else {
      size_t posix = in_class && *at == '[' ? posix_size(at, end) : 0;
      if (posix > 0) taken = posix;
      else if (*at == '[') in_class = true;
      else if (*at == ']') in_class = false;
      *status = put(out, at, taken);
    }
    at += taken;
  }
  return (size_t)(at - pattern);
}

Status regex_pattern_write(const char *pattern, size_t size, Buffer *out) {
  Written written = {.buffer = out};
  Status status;
  write(pattern, size, &written, SIZE_MAX, &status);
  return status;
}

size_t regex_pattern_offset(const char *pattern, size_t size, size_t offset) {
  assert(pattern != NULL || size == 0);
  Written written = {0};
  Status status;
  return write(pattern, size, &written, offset, &status);
}

/* ---- width of ranges ---- */

/* Reads a code point at *at and moves behind it. 0 for other text; the last code point
   for forms that may be any. */
static uint32_t read_point(const char **at, const char *end) {
  const char *from = *at;
  uint32_t point = 0;
  if (*from != '\\' || end - from < 2) {
    size_t size = utf8_decode(from, end, &point);
    *at += size > 0 ? size : 1;
    return point;
  }
  int32_t four = from[1] == 'u' ? hex_read(from + 2, end, 4) : from[1] == 'x' ? hex_read(from + 2, end, 2) : -1;
  *at += four < 0 ? 2 : from[1] == 'u' ? 6 : 4;
  if (four >= 0) return (uint32_t)four;
  bool any = from[1] == 'u' || from[1] == 'N' || from[1] == 'o' || (from[1] >= '0' && from[1] <= '9');
  return any ? 0x10FFFF : 0;
}

uint64_t regex_pattern_width(const char *pattern, size_t size) {
  const char *at = pattern, *end = pattern + size;
  uint64_t width = 0;
  for (uint32_t before = 0; at < end;) {
    bool is_range = *at == '-' && at > pattern && at + 1 < end;
    if (is_range) at++;
    uint32_t point = read_point(&at, end);
    /* "\\u{1}-": the dash may follow such a form, so the range is counted from 0. */
    if (is_range && (point > before || before == '}')) width += point;
    before = point;
  }
  return width;
}

bool regex_pattern_is_caseless(const char *pattern, size_t size) {
  for (size_t i = 0; i + 2 < size; i++) {
    if (pattern[i] != '(' || pattern[i + 1] != '?') continue;
    for (size_t k = i + 2; k < size && pattern[k] != ':' && pattern[k] != ')' && k < i + 16; k++) {
      if (pattern[k] == 'i') return true;
    }
  }
  return false;
}

/*
** Finds the longest run of plain characters that every match contains.
**
** Only characters outside of groups and classes count, and none if the pattern has an
** alternative there. The walk knows few forms and gives up on all others: a literal that
** is too short costs time, a wrong one loses matches.
*/

#define RUN_MAX (REGEX_LITERAL_PAIRS + 1)

typedef struct Walk {
  const char *at, *end;
  bool caseless, failed;
  char mark;
  char run[RUN_MAX], best[RUN_MAX];
  size_t size, last, best_size;      /* last: bytes of the run's last character */
} Walk;

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool is_mark(char c) {
  return c > ' ' && c < 0x7F && !((c >= '0' && c <= '9') || (fold(c) >= 'a' && fold(c) <= 'z'));
}

static void end_run(Walk *walk) {
  for (size_t i = 0; i < walk->size; i++) {
    if (is_mark(walk->run[i])) walk->mark = walk->run[i];
  }
  if (walk->size > walk->best_size) {
    memcpy(walk->best, walk->run, walk->size);
    walk->best_size = walk->size;
  }
  walk->size = walk->last = 0;
}

/* Adds one character. In caseless patterns k and s end the run: the Kelvin sign and the
   long s are other forms of them outside of ASCII. */
static void add(Walk *walk, const char *bytes, size_t size) {
  char folded = fold(bytes[0]);
  if (walk->caseless && (size > 1 || (bytes[0] & 0x80) != 0 || folded == 'k' || folded == 's')) {
    end_run(walk);
    return;
  }
  if (walk->size + size > RUN_MAX) end_run(walk);
  for (size_t i = 0; i < size; i++) walk->run[walk->size++] = fold(bytes[i]);
  walk->last = size;
}

/* Ends the run before a character that may be absent. */
static void take_back_last(Walk *walk) {
  walk->size -= walk->last;
  end_run(walk);
}

static void walk_escape(Walk *walk) {
  char c = walk->at + 1 < walk->end ? walk->at[1] : '\0';
  int32_t code = c == 'x' ? hex_read(walk->at + 2, walk->end, 2) : -1;
  if (c != '\0' && strchr("dDwWsSbB", c) != NULL) {
    end_run(walk);
  } else if (code > 0 && code < 0x80) {
    char plain = (char)code;
    add(walk, &plain, 1);
    walk->at += 2;
  } else if (c == 'n' || c == 't' || c == 'r') {
    add(walk, c == 'n' ? "\n" : c == 't' ? "\t" : "\r", 1);
  } else if (is_mark(c)) {
    add(walk, &c, 1);
  } else {
    walk->failed = true;
  }
  walk->at += 2;
}

/* Moves behind the class at `at`. */
static void skip_class(Walk *walk) {
  for (walk->at++; walk->at < walk->end && *walk->at != ']'; walk->at++) {
    if (*walk->at == '\\') walk->at++;
    else if (*walk->at == '[') walk->failed = true;      /* it may begin a POSIX class */
  }
  walk->at++;
}

/* Moves behind the group at `at`. Fails for options, which may change what follows. */
static void skip_group(Walk *walk) {
  unsigned depth = 0;
  do {
    char c = *walk->at;
    if (c == '[') {
      skip_class(walk);
      continue;
    }
    if (c == '(') {
      const char *form = walk->at + 1;
      bool plain = form < walk->end && *form != '*' && *form != '?';
      bool valid = form + 1 < walk->end && *form == '?' && form[1] != '\0' && strchr(":=!<", form[1]) != NULL;
      if (!plain && !valid) walk->failed = true;
      depth++;
    }
    if (c == ')') depth--;
    if (c == '\\' && walk->at + 1 < walk->end && strchr("QE", walk->at[1]) != NULL) walk->failed = true;
    walk->at += c == '\\' ? 2 : 1;
  } while (depth > 0 && walk->at < walk->end && !walk->failed);
}

static void walk_quantifier(Walk *walk) {
  if (*walk->at == '+') end_run(walk);
  else take_back_last(walk);
  if (*walk->at == '{') {            /* skips its numbers; a literal brace ends the walk */
    do walk->at++;
    while (walk->at < walk->end && ((*walk->at >= '0' && *walk->at <= '9') || *walk->at == ','));
    if (walk->at == walk->end || *walk->at != '}') walk->failed = true;
  }
  walk->at++;
}

static void walk_character(Walk *walk) {
  size_t size = 1;
  while (walk->at + size < walk->end && (walk->at[size] & 0xC0) == 0x80) size++;
  add(walk, walk->at, size);
  walk->at += size;
}

/* Passes one element of the pattern. An alternative at the top level fails the walk: it has no literal that all
   matches contain. */
static void walk_one(Walk *walk) {
  switch (*walk->at) {
  case '|':
    walk->failed = true;
    break;
  case '\\':
    walk_escape(walk);
    break;
  case '[':
    end_run(walk);
    skip_class(walk);
    break;
  case '(':
    end_run(walk);
    skip_group(walk);
    break;
  case '*': case '?': case '+': case '{':
    walk_quantifier(walk);
    break;
  case '^': case '$': case '.': case ')':
    end_run(walk);
    walk->at++;
    break;
  default:
    walk_character(walk);
  }
}

/* ---- pairs ---- */

static unsigned pair(unsigned char first, unsigned char second) {
  return (first ^ (unsigned)second << 7) & ((1u << REGEX_PAIR_BITS) - 1);
}

RegexLiteral regex_literal(const char *pattern, size_t size, bool caseless) {
  Walk walk = {.at = pattern, .end = pattern + size, .caseless = caseless};
  while (walk.at < walk.end && !walk.failed) walk_one(&walk);
  end_run(&walk);
  RegexLiteral literal = {0};
  if (walk.failed) return literal;
  literal.mark = walk.mark;
  for (size_t i = 1; i < walk.best_size; i++) {
    literal.pairs[literal.count++] = (uint16_t)pair((unsigned char)walk.best[i - 1], (unsigned char)walk.best[i]);
  }
  return literal;
}

void regex_pairs_of(RegexPairs *pairs, const char *text, size_t size) {
  if (++pairs->text == 0) {
    memset(pairs->has, 0, sizeof pairs->has);
    pairs->text = 1;
  }
  regex_pairs_add(pairs, text, size);
}

#ifdef __SSE2__
static inline __m128i fold_sixteen(__m128i bytes) {
  __m128i from_a = _mm_cmpgt_epi8(bytes, _mm_set1_epi8('A' - 1)), to_z = _mm_cmplt_epi8(bytes, _mm_set1_epi8('Z' + 1));
  __m128i upper = _mm_and_si128(from_a, to_z);
  return _mm_or_si128(bytes, _mm_and_si128(upper, _mm_set1_epi8(0x20)));
}

/* `pair` of eight first and second bytes, each with a zero above it. */
static inline __m128i eight_pairs(__m128i first, __m128i second) {
  return _mm_and_si128(_mm_xor_si128(first, _mm_slli_epi16(second, 7)), _mm_set1_epi16((1 << REGEX_PAIR_BITS) - 1));
}

/* Adds the pairs that begin at sixteen bytes; the text has one byte more. */
static void add_sixteen(RegexPairs *pairs, const char *text) {
  uint16_t numbers[16];
  const __m128i zero = _mm_setzero_si128();
  __m128i first = fold_sixteen(_mm_loadu_si128((const __m128i *)(const void *)text));
  __m128i second = fold_sixteen(_mm_loadu_si128((const __m128i *)(const void *)(text + 1)));
  __m128i low = eight_pairs(_mm_unpacklo_epi8(first, zero), _mm_unpacklo_epi8(second, zero));
  __m128i high = eight_pairs(_mm_unpackhi_epi8(first, zero), _mm_unpackhi_epi8(second, zero));
  _mm_storeu_si128((__m128i *)(void *)numbers, low);
  _mm_storeu_si128((__m128i *)(void *)(numbers + 8), high);
  for (unsigned i = 0; i < 16; i++) pairs->has[numbers[i]] = pairs->text;
}
#endif

void regex_pairs_add(RegexPairs *pairs, const char *text, size_t size) {
  size_t i = 0;
#ifdef __SSE2__
  for (; size - i > 16; i += 16) add_sixteen(pairs, text + i);
#endif
  for (; i + 1 < size; i++) {
    pairs->has[pair((unsigned char)fold(text[i]), (unsigned char)fold(text[i + 1]))] = pairs->text;
  }
}
