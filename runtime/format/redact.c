#include "format/redact.h"

#include <assert.h>
#include <string.h>

#include "base/names.h"
#include "json/json.h"

#define TOMBSTONE "[forgotten]"

typedef struct Eraser {
  char *raw;
  Json json;
} Eraser;

/* The cursor's position in the writable bytes. */
static char *writable(const Eraser *eraser, const char *at) {
  assert(at >= eraser->json.start && at <= eraser->json.end);
  return eraser->raw + (at - eraser->json.start);
}

static void fill(char *at, size_t size, const char *words) {
  size_t length = strlen(words);
  memset(at, ' ', size);
  if (length <= size) memcpy(at, words, length);
  else if (size > 0) at[0] = '-';      /* some providers refuse texts of white space only */
}

static void erase_number(char *at, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (at[i] >= '0' && at[i] <= '9') at[i] = '1';      /* a leading 0 would be invalid */
  }
}

static void erase_scalar(const Eraser *eraser, const JsonValue *value, const char *words) {
  char *at = writable(eraser, value->bytes);
  if (value->kind == JSON_STRING) fill(at + 1, value->size - 2, words);
  else if (value->kind == JSON_NUMBER) erase_number(at, value->size);
}

static bool is_kept(Text key) {
  static const char *const names[] = {"role", "type", "id", "name", "tool_call_id", "tool_use_id", "call_id",
                                      "timestamp"};
  return NAMES_HAVE(names, key);
}

static void erase_value(Eraser *eraser, const char *words);

static void erase_member(Eraser *eraser, Text key) {
  JsonValue value;
  const char *words = text_is(key, "arguments") ? "{}" : TOMBSTONE;      /* arguments must stay JSON */
  if (is_kept(key)) json_value(&eraser->json, &value);
  else erase_value(eraser, words);
}

/* Recurses at most JSON_DEPTH_MAX levels. */
static void erase_value(Eraser *eraser, const char *words) {
  JsonKind kind;
  JsonValue value;
  Text key;
  if (!json_peek(&eraser->json, &kind)) return;
  if (kind == JSON_ARRAY) {
    json_enter(&eraser->json);
    while (json_next_element(&eraser->json)) erase_value(eraser, words);
  } else if (kind == JSON_OBJECT) {
    json_enter(&eraser->json);
    while (json_next_member(&eraser->json, &key)) erase_member(eraser, key);
  } else if (json_value(&eraser->json, &value)) {
    erase_scalar(eraser, &value, words);
  }
}

void redact_message(char *raw, size_t size) {
  assert(size >= 2 && raw[0] == '{' && raw[size - 1] == '}');
  Eraser eraser = {.raw = raw};
  json_open(&eraser.json, raw, size);
  erase_value(&eraser, TOMBSTONE);
  assert(eraser.json.status == STATUS_OK);
}
