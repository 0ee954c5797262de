/*
** Shared by the files that read a tokenizer.json: errors, objects, tokens.
*/
#include "tokens/vocab/tokenizer_json_parts.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

/* ---- refusing ---- */

bool reading_refuse(TokenizerReading *r, const char *where, const char *expected, const char *name) {
  assert(where >= r->start && expected != NULL);
  *r->error = (TokenizerJsonError){.status = STATUS_SHAPE, .offset = (size_t)(where - r->start), .expected = expected};
  if (name != NULL) strncpy(r->error->name, name, sizeof r->error->name - 1);
  return false;
}

bool reading_fail(TokenizerReading *r, Status status) {
  assert(status != STATUS_OK);
  *r->error = (TokenizerJsonError){.status = status, .expected = "less"};
  return false;
}

bool reading_refuse_field(TokenizerReading *r, const JsonFields *fields, const char *expected, const char *key) {
  const JsonValue *value = json_field_of(fields, key, JSON_STRING);
  reading_refuse(r, fields->start, expected, NULL);
  if (value == NULL) return false;
  const char *name = value->bytes + 1, *end = name + value->size - 2;
  size_t used = 0;
  for (size_t size; name + used < end; used += size) {       /* cut between code points */
    size = utf8_decode(name + used, end, NULL);
    if (used + size >= sizeof r->error->name) break;
  }
  memcpy(r->error->name, name, used);
  return false;
}

/*
** ---- objects ----
**
** The whole file is validated before, so that walks over its values never fail.
*/

bool reading_fields(TokenizerReading *r, const JsonValue *object, const char *expected, JsonFields *fields) {
  Json json;
  if (object->kind != JSON_OBJECT) return reading_refuse(r, object->bytes, expected, NULL);
  json_open_value(&json, object);
  json_enter(&json);
  return json_fields_read(&json, fields) || reading_refuse(r, json.error, json.expected, NULL);
}

/* ---- texts, ids, tokens ---- */

bool reading_plain(TokenizerReading *r, Text text, Text *plain) {
  *plain = text;
  if (!text.escaped) return true;
  buffer_reset(&r->scratch);
  Status status = text_decode(text, &r->scratch);
  if (status != STATUS_OK) return reading_fail(r, status);
  *plain = text_plain(r->scratch.bytes, r->scratch.size);
  return true;
}

bool reading_id(TokenizerReading *r, const JsonValue *value, uint32_t *id) {
  int64_t integer;
  if (value->kind != JSON_NUMBER || !json_integer(value, &integer) || integer < 0 || integer >= 4 * VOCAB_TOKENS_MAX) {
    return reading_refuse(r, value->bytes, "an id from 0 to 3999999", NULL);
  }
  *id = (uint32_t)integer;
  return true;
}

/* Tokens are known by their offset in `bytes` until all are read. */
bool reading_add_token(TokenizerReading *r, size_t start, VocabToken token) {
  assert(start <= r->read->bytes.size);
  TokenizerJson *read = r->read;
  VocabToken *tokens = memory_grow(&read->memory, read->tokens, &read->token_room, read->count, sizeof *tokens);
  if (tokens == NULL) return reading_fail(r, STATUS_MEMORY);
  read->tokens = tokens;
  token.size = (uint32_t)(read->bytes.size - start);
  tokens[read->count++] = token;
  return true;
}
