/*
** JSON in: a scanner, in one pass over the bytes.
**
** Nearly all bytes of a conversation are in strings, so one loop decides the speed: it
** takes sixteen bytes at a time (eight without SSE2) and stops only at a quote, a
** backslash, a control character or non-ASCII. Nothing is read at or behind `end`; the
** last few bytes are read one by one.
**
** The skip functions take a position and return the position behind what they accepted,
** or NULL after recording an error.
*/
#include "json/json.h"

#include <assert.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hex.h"
#include "base/utf8.h"

static const char *const A_VALUE = "a value";

void json_open(Json *json, const char *bytes, size_t size) {
  if (bytes == NULL) bytes = "";   /* the block of an empty file is NULL */
  *json = (Json){.start = bytes, .at = bytes, .end = bytes + size, .depth_max = JSON_DEPTH_MAX};
}

void json_open_valid(Json *json, const char *bytes, size_t size) {
  json_open(json, bytes, size);
  json->tolerant = json->valid = true;
}

void json_skip_mark(Json *json) {
  if (json->end - json->at >= 3 && memcmp(json->at, "\xEF\xBB\xBF", 3) == 0) json->at += 3;
}

bool json_skip_blank(Json *json) {
  bool newline = false;
  for (; json->at < json->end; json->at++) {
    if (*json->at == '\n') newline = true;
    else if (*json->at != ' ' && *json->at != '\r' && *json->at != '\t') break;
  }
  return newline;
}

bool json_fail(Json *json, Status status, const char *where, const char *expected) {
  assert(status != STATUS_OK);
  if (json->status != STATUS_OK) return false;
  json->status = status;
  json->error = where;
  json->expected = expected;
  return false;
}

static const char *refuse(Json *json, Status status, const char *where, const char *expected) {
  json_fail(json, status, where, expected);
  return NULL;
}

static inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
  return at;
}

/* True if `c` is at the cursor, behind white space. */
static inline bool is_next(Json *json, char c) {
  json->at = skip_space(json->at, json->end);
  return json->at < json->end && *json->at == c;
}

/*
** Strings.
*/

static inline bool is_plain(char c) {
  return (signed char)c >= 0x20 && c != '"' && c != '\\';   /* as signed, non-ASCII is negative */
}

/* The first byte from `at` that is not plain, or the end. */
static inline const char *skip_plain(const char *at, const char *end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x20);
  for (; end - at >= 16; at += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
    unsigned hits = (unsigned)_mm_movemask_epi8(_mm_or_si128(marks, _mm_cmplt_epi8(bytes, space)));
    if (hits != 0) return at + __builtin_ctz(hits);
  }
#else
  const uint64_t ones = 0x0101010101010101u;
  for (; end - at >= 8; at += 8) {
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    uint64_t quote = bytes ^ ones * '"', slash = bytes ^ ones * '\\';
    /* A borrow sets the top bit of bytes that are a quote, a slash or below 0x20. It may also mark the byte above
       wrongly, but only if this one is marked rightly, which the last loop meets first. */
    if ((((quote - ones) | (slash - ones) | (bytes - ones * 0x20) | bytes) & ones * 0x80) != 0) break;
  }
#endif
  while (at < end && is_plain(*at)) at++;
  return at;
}

/* Skips all non-ASCII from `at` on. */
static const char *skip_utf8(Json *json, const char *at) {
  const char *end = json->end;
  for (at = utf8_skip(at, end); at < end && (signed char)*at < 0; at = utf8_skip(at + utf8_bad(at, end), end)) {
    if (!json->tolerant) return refuse(json, STATUS_ENCODING, at, "valid UTF-8");
  }
  return at;
}

/* True if a backslash and `c` are an escape. */
static inline bool is_simple_escape(char c) {
  switch (c) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return true;
    default: return false;
  }
}

/* Skips the escape at `at`. Errors point to its backslash. */
static const char *skip_escape(Json *json, const char *at) {
  const char *end = json->end;
  if (end - at < 2) return refuse(json, STATUS_SYNTAX, end, "the rest of an escape");
  if (at[1] != 'u') {
    if (is_simple_escape(at[1])) return at + 2;
    return refuse(json, STATUS_SYNTAX, at, "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
  }
  int32_t high = hex_read(at + 2, end, 4);
  if (high < 0) return refuse(json, STATUS_SYNTAX, at, "four hex digits after \\u");
  if (high < 0xD800 || high > 0xDFFF) return at + 6;
  int32_t low = high < 0xDC00 && end - at >= 8 && at[6] == '\\' && at[7] == 'u' ? hex_read(at + 8, end, 4) : -1;
  if (low >= 0xDC00 && low <= 0xDFFF) return at + 12;
  return json->tolerant ? at + 6 : refuse(json, STATUS_ENCODING, at, "both halves of a surrogate pair");
}

/* The next quote or backslash from `at` on, or the end. */
static inline const char *find_quote(const char *at, const char *end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
  for (; end - at >= 16; at += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
    unsigned hits = (unsigned)_mm_movemask_epi8(marks);
    if (hits != 0) return at + __builtin_ctz(hits);
  }
#endif
  while (at < end && *at != '"' && *at != '\\') at++;
  return at;
}

/* The same as skip_string of a string that is known to be valid. */
static const char *skip_valid_string(Json *json, const char *at, bool *escaped) {
  const char *end = json->end;
  for (at = find_quote(at + 1, end); at < end && *at == '\\'; at = find_quote(at + 2, end)) {
    *escaped = true;
    if (end - at < 2) break;
  }
  return at < end && *at == '"' ? at + 1 : refuse(json, STATUS_SYNTAX, end, "'\"' to end the string");
}

/* Skips the string whose opening quote is at `at`. */
static const char *skip_string(Json *json, const char *at, bool *escaped) {
  const char *end = json->end;
  *escaped = false;
  if (json->valid) return skip_valid_string(json, at, escaped);
  for (at++; at != NULL;) {
    at = skip_plain(at, end);
    if (at == end) return refuse(json, STATUS_SYNTAX, end, "'\"' to end the string");
    if (*at == '"') return at + 1;
    if (*at == '\\') {
      *escaped = true;
      at = skip_escape(json, at);
    } else if ((signed char)*at < 0) {
      at = skip_utf8(json, at);
    } else {
      return refuse(json, STATUS_SYNTAX, at, "an escape in place of a control character");
    }
  }
  return NULL;
}

/*
** Scalars.
*/

static const char *skip_digits(Json *json, const char *at) {
  if (at == json->end || !is_digit(*at)) return refuse(json, STATUS_SYNTAX, at, "a digit");
  while (at < json->end && is_digit(*at)) at++;
  return at;
}

static const char *skip_number(Json *json, const char *at) {
  const char *end = json->end;
  if (*at == '-') at++;
  at = at < end && *at == '0' ? at + 1 : skip_digits(json, at);   /* no digit may follow a leading 0 */
  if (at != NULL && at < end && *at == '.') at = skip_digits(json, at + 1);
  if (at != NULL && at < end && (*at | 0x20) == 'e') {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    at = skip_digits(json, at);
  }
  return at;
}

static const char *skip_word(Json *json, const char *at, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(json->end - at) >= size && memcmp(at, word, size) == 0) return at + size;
  return refuse(json, STATUS_SYNTAX, at, word);
}

static const char *skip_scalar(Json *json, JsonKind kind, bool *escaped) {
  switch (kind) {
    case JSON_NULL: return skip_word(json, json->at, "null");
    case JSON_FALSE: return skip_word(json, json->at, "false");
    case JSON_TRUE: return skip_word(json, json->at, "true");
    case JSON_NUMBER: return skip_number(json, json->at);
    default: return skip_string(json, json->at, escaped);
  }
}

bool json_peek(Json *json, JsonKind *kind) {
  if (json->status != STATUS_OK) return false;
  json->at = skip_space(json->at, json->end);
  if (json->at == json->end) return json_fail(json, STATUS_SYNTAX, json->at, A_VALUE);
  switch (*json->at) {
    case '"': *kind = JSON_STRING; return true;
    case '{': *kind = JSON_OBJECT; return true;
    case '[': *kind = JSON_ARRAY; return true;
    case 'n': *kind = JSON_NULL; return true;
    case 't': *kind = JSON_TRUE; return true;
    case 'f': *kind = JSON_FALSE; return true;
    default: break;
  }
  if (*json->at != '-' && !is_digit(*json->at)) return json_fail(json, STATUS_SYNTAX, json->at, A_VALUE);
  *kind = JSON_NUMBER;
  return true;
}

/*
** Arrays and objects.
*/

static inline bool is_nested(JsonKind kind) {
  return kind == JSON_ARRAY || kind == JSON_OBJECT;
}

bool json_enter(Json *json) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  if (!is_nested(kind)) return json_fail(json, STATUS_SHAPE, json->at, "an array or an object");
  if (json->depth >= json->depth_max) return json_fail(json, STATUS_LIMIT, json->at, "at most 256 levels");
  json->at++;
  json->depth++;
  json->fresh = true;
  return true;
}

static bool leave(Json *json) {
  assert(json->depth > 0);
  json->at++;
  json->depth--;
  json->fresh = false;
  return false;
}

bool json_next_element(Json *json) {
  if (json->status != STATUS_OK) return false;
  if (is_next(json, ']')) return leave(json);
  if (json->fresh) {
    json->fresh = false;   /* the reader of the value checks that there is one */
    return json->at < json->end || json_fail(json, STATUS_SYNTAX, json->at, "a value or ']'");
  }
  if (!is_next(json, ',')) return json_fail(json, STATUS_SYNTAX, json->at, "',' or ']'");
  json->at++;
  return true;
}

static bool read_key(Json *json, Text *key) {
  const char *from = json->at + 1;
  bool escaped;
  const char *to = skip_string(json, json->at, &escaped);
  if (to == NULL) return false;
  json->at = to;
  if (!is_next(json, ':')) return json_fail(json, STATUS_SYNTAX, json->at, "':' after a key");
  json->at++;
  *key = (Text){.bytes = from, .size = (size_t)(to - 1 - from), .escaped = escaped};
  return true;
}

bool json_next_member(Json *json, Text *key) {
  if (json->status != STATUS_OK) return false;
  if (is_next(json, '}')) return leave(json);
  if (json->fresh) {
    if (!is_next(json, '"')) return json_fail(json, STATUS_SYNTAX, json->at, "a key or '}'");
  } else {
    if (!is_next(json, ',')) return json_fail(json, STATUS_SYNTAX, json->at, "',' or '}'");
    json->at++;
    if (!is_next(json, '"')) return json_fail(json, STATUS_SYNTAX, json->at, "a key");
  }
  json->fresh = false;
  return read_key(json, key);
}

/* Skips the array or object at the cursor with all its contents, without recursion:
   `objects` is true for every open level that is an object. */
static bool skip_nested(Json *json, JsonKind kind) {
  bool objects[JSON_DEPTH_MAX + JSON_ENVELOPE + 1];
  assert(json->depth_max <= JSON_DEPTH_MAX + JSON_ENVELOPE);
  uint32_t outside = json->depth;
  for (;;) {
    if (is_nested(kind)) {
      if (!json_enter(json)) return false;
      objects[json->depth] = kind == JSON_OBJECT;
    } else {
      bool escaped;
      const char *behind = skip_scalar(json, kind, &escaped);
      if (behind == NULL) return false;
      json->at = behind;
    }
    Text key;
    while (!(objects[json->depth] ? json_next_member(json, &key) : json_next_element(json))) {
      if (json->status != STATUS_OK) return false;
      if (json->depth == outside) return true;
    }
    if (!json_peek(json, &kind)) return false;
  }
}

bool json_value(Json *json, JsonValue *value) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  const char *from = json->at;
  bool escaped = false;
  if (is_nested(kind)) {
    if (!skip_nested(json, kind)) return false;
  } else {
    const char *behind = skip_scalar(json, kind, &escaped);
    if (behind == NULL) return false;
    json->at = behind;
  }
  *value = (JsonValue){.kind = kind, .escaped = escaped, .bytes = from, .size = (size_t)(json->at - from)};
  return true;
}

bool json_end(Json *json) {
  if (json->status != STATUS_OK) return false;
  json->at = skip_space(json->at, json->end);
  if (json->depth > 0) return json_fail(json, STATUS_SYNTAX, json->at, "a closing bracket");
  return json->at == json->end || json_fail(json, STATUS_SYNTAX, json->at, "end of input");
}

/*
** Contents of values.
*/

Text json_text(const JsonValue *value) {
  assert(value->kind == JSON_STRING);
  return (Text){.bytes = value->bytes + 1, .size = value->size - 2, .escaped = value->escaped};
}

bool json_integer(const JsonValue *value, int64_t *integer) {
  if (value->kind != JSON_NUMBER) return false;
  bool negative = value->bytes[0] == '-';
  int64_t sum = 0;   /* negative: the lowest int64 has no positive counterpart */
  for (size_t i = negative; i < value->size; i++) {
    char c = value->bytes[i];
    if (!is_digit(c)) return false;
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, c - '0', &sum)) return false;
  }
  if (!negative && sum == INT64_MIN) return false;
  *integer = negative ? sum : -sum;
  return true;
}
