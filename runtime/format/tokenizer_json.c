#include "format/tokenizer_json.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "format/tokenizer_json_parts.h"

/* ---- the byte-level alphabet ---- */

/*
** Every byte is written as a printable character: those that print in Latin-1 as
** themselves, the other 68 as U+0100 and up, in order.
*/
static bool prints(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static int byte_of(uint32_t point) {
  if (point < 256) return prints(point) ? (int)point : -1;
  uint32_t number = point - 256, seen = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (!prints(byte) && seen++ == number) return (int)byte;
  }
  return -1;
}

/* Decodes a text in the alphabet; false if it has other characters. */
static bool add_bytes(Buffer *out, Text text, Status *status) {
  const char *at = text.bytes, *end = at + text.size;
  *status = buffer_reserve(out, text.size);
  if (*status != STATUS_OK) return false;
  while (at < end) {
    uint32_t point;
    size_t size = utf8_decode(at, end, &point);
    int byte = size == 0 ? -1 : byte_of(point);
    if (byte < 0) return false;
    out->bytes[out->size++] = (char)byte;
    at += size;
  }
  return true;
}

/* Decodes the contents of a JSON string; valid until the next call. */
static bool plain_text(TokenizerReading *r, Text text, Text *plain) {
  *plain = text;
  if (!text.escaped) return true;
  buffer_reset(&r->scratch);
  Status status = text_decode(text, &r->scratch);
  if (status != STATUS_OK) return reading_fail(r, status);
  *plain = text_plain(r->scratch.bytes, r->scratch.size);
  return true;
}

/* ---- tokens: known by their offset in `bytes` until all are read ---- */

static bool add_token(TokenizerReading *r, size_t start, uint32_t id, bool special) {
  assert(start <= r->read->bytes.size);
  TokenizerJson *read = r->read;
  VocabToken *tokens = memory_grow(&read->memory, read->tokens, &read->token_room, read->count, sizeof *tokens);
  if (tokens == NULL) return reading_fail(r, STATUS_MEMORY);
  read->tokens = tokens;
  tokens[read->count++] = (VocabToken){.size = (uint32_t)(read->bytes.size - start), .id = id, .special = special};
  return true;
}

static bool read_id(TokenizerReading *r, const JsonValue *value, uint32_t *id) {
  int64_t integer;
  if (value->kind != JSON_NUMBER || !json_integer(value, &integer) || integer < 0 || integer >= 4 * VOCAB_TOKENS_MAX) {
    return reading_refuse(r, value->bytes, "an id from 0 to 3999999", NULL);
  }
  *id = (uint32_t)integer;
  return true;
}

/* Reads the members of "vocab" except for added tokens. */
static bool read_vocab(TokenizerReading *r, const JsonValue *value, const Map *added) {
  Json json;
  JsonValue number;
  Text name, plain;
  Status status;
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_member(&json, &name) && json_value(&json, &number)) {
    uint32_t id = 0;
    size_t start = r->read->bytes.size;
    if (!read_id(r, &number, &id)) return false;
    if (map_find(added, id) != NULL) continue;
    if (r->read->count == VOCAB_TOKENS_MAX) return reading_refuse(r, name.bytes, "no more than 1000000 tokens", NULL);
    if (!plain_text(r, name, &plain)) return false;
    if (!add_bytes(&r->read->bytes, plain, &status)) {
      if (status != STATUS_OK) return reading_fail(r, status);
      return reading_refuse(r, name.bytes, "a token in the byte-level alphabet", NULL);
    }
    if (!add_token(r, start, id, false)) return false;
  }
  return true;
}

static bool is_space(Text text) {
  for (size_t i = 0; i < text.size; i++) {
    if (strchr(" \t\r\n", text.bytes[i]) == NULL || text.bytes[i] == '\0') return false;
  }
  return true;
}

static bool read_added_token(TokenizerReading *r, const JsonValue *value, Map *added) {
  JsonFields f;
  Text plain;
  uint32_t id = 0;
  if (!reading_fields(r, value, "an added token", &f)) return false;
  const JsonValue *number = json_field(&f, "id"), *content = json_field_of(&f, "content", JSON_STRING);
  if (number == NULL || content == NULL) {
    return reading_refuse(r, value->bytes, "an added token with id and content", NULL);
  }
  if (!read_id(r, number, &id) || !plain_text(r, json_text(content), &plain)) return false;
  bool is_special = json_field_of(&f, "special", JSON_TRUE) != NULL;
  if (!is_special && is_space(plain)) return reading_refuse(r, value->bytes, "no added tokens of white space", NULL);
  size_t start = r->read->bytes.size;
  Status status = buffer_add(&r->read->bytes, plain.bytes, plain.size);
  if (status == STATUS_OK) status = map_put(added, id, 1);
  if (status != STATUS_OK) return reading_fail(r, status);
  return add_token(r, start, id, true);
}

static bool read_added(TokenizerReading *r, const JsonValue *value, Map *added) {
  Json json;
  JsonValue token;
  if (value->kind == JSON_NULL) return true;
  if (value->kind != JSON_ARRAY) return reading_refuse(r, value->bytes, "a list of added tokens", NULL);
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &token)) {
    if (!read_added_token(r, &token, added)) return false;
  }
  return true;
}

/* ---- merges: "left right", or a list of the two ---- */

static bool add_merge(TokenizerReading *r, const char *where, Text left, Text right) {
  TokenizerJson *read = r->read;
  Status status;
  VocabMerge *merges = memory_grow(&read->memory, read->merges, &read->merge_room, read->merge_count, sizeof *merges);
  if (merges == NULL) return reading_fail(r, STATUS_MEMORY);
  read->merges = merges;
  size_t start = read->bytes.size, middle;
  assert(left.bytes != NULL && !left.escaped && !right.escaped);
  bool fits = add_bytes(&read->bytes, left, &status);
  middle = read->bytes.size;
  if (fits) fits = add_bytes(&read->bytes, right, &status);
  if (status != STATUS_OK) return reading_fail(r, status);
  if (!fits) return reading_refuse(r, where, "a merge in the byte-level alphabet", NULL);
  merges[read->merge_count++] =
    (VocabMerge){.left_size = (uint32_t)(middle - start), .right_size = (uint32_t)(read->bytes.size - middle)};
  return true;
}

static bool read_merge_string(TokenizerReading *r, const JsonValue *value) {
  Text plain;
  if (!plain_text(r, json_text(value), &plain)) return false;
  const char *space = memchr(plain.bytes, ' ', plain.size);
  if (space == NULL) return reading_refuse(r, value->bytes, "two tokens with a space between", NULL);
  size_t size = (size_t)(space - plain.bytes);
  return add_merge(r, value->bytes, text_plain(plain.bytes, size), text_plain(space + 1, plain.size - size - 1));
}

static bool read_merge_pair(TokenizerReading *r, const JsonValue *value) {
  Json json;
  JsonValue halves[2], more;
  int count = 0;
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, count < 2 ? &halves[count] : &more)) count++;
  if (count != 2 || halves[0].kind != JSON_STRING || halves[1].kind != JSON_STRING) {
    return reading_refuse(r, value->bytes, "a merge of two tokens", NULL);
  }
  /* Both halves must be plain at once, so they are decoded side by side into the scratch. */
  buffer_reset(&r->scratch);
  Status status = text_decode(json_text(&halves[0]), &r->scratch);
  size_t middle = r->scratch.size;
  if (status == STATUS_OK) status = text_decode(json_text(&halves[1]), &r->scratch);
  if (status != STATUS_OK) return reading_fail(r, status);
  const char *bytes = r->scratch.bytes;
  return add_merge(r, value->bytes, text_plain(bytes, middle), text_plain(bytes + middle, r->scratch.size - middle));
}

/* Reads the list of merges, each "left right" or ["left", "right"]; false with an error noted. `value` is an array. */
static bool read_merges(TokenizerReading *r, const JsonValue *value) {
  Json json;
  JsonValue merge;
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &merge)) {
    bool ok = merge.kind == JSON_STRING ? read_merge_string(r, &merge)
              : merge.kind == JSON_ARRAY  ? read_merge_pair(r, &merge)
                                          : reading_refuse(r, merge.bytes, "a merge", NULL);
    if (!ok) return false;
  }
  return true;
}

/* ---- the model ---- */

/* Checks options that would change the tokens: they must be absent, null, false, "" or 0. */
static bool check_model(TokenizerReading *r, const JsonFields *f) {
  static const char *const off[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
    const JsonValue *value = json_field(f, off[i]);
    if (value == NULL || value->kind == JSON_NULL || value->kind == JSON_FALSE) continue;
    if (value->kind == JSON_STRING && value->size == 2) continue;
    if (value->kind == JSON_NUMBER && strspn(value->bytes, "0.") >= value->size) continue;
    return reading_refuse(r, value->bytes, "a model without it", off[i]);
  }
  return true;
}

static bool read_model(TokenizerReading *r, const JsonValue *value, const Map *added) {
  JsonFields f;
  if (!reading_fields(r, value, "a model", &f)) return false;
  const JsonValue *vocab = json_field_of(&f, "vocab", JSON_OBJECT), *merges = json_field_of(&f, "merges", JSON_ARRAY);
  /* Early files have no type. */
  bool other = json_field(&f, "type") != NULL && !json_field_is(&f, "type", "BPE");
  if (other) return reading_refuse_field(r, &f, "a model of the type BPE", "type");
  if (vocab == NULL || merges == NULL) return reading_refuse(r, value->bytes, "a model with vocab and merges", NULL);
  r->read->wholes = json_field_of(&f, "ignore_merges", JSON_TRUE) != NULL;
  return check_model(r, &f) && read_vocab(r, vocab, added) && read_merges(r, merges);
}

/* ---- all of it ---- */

/* Sets the bytes of tokens and merges, which were added in this order, once the buffer is complete. */
static void set_bytes(TokenizerJson *read) {
  const char *at = read->bytes.bytes;
  for (uint32_t i = 0; i < read->count; at += read->tokens[i++].size) read->tokens[i].bytes = at;
  for (uint32_t i = 0; i < read->merge_count; i++) {
    read->merges[i].bytes = at;
    at += (size_t)read->merges[i].left_size + read->merges[i].right_size;
  }
  assert(at == read->bytes.bytes + read->bytes.size);
}

static bool read_parts(TokenizerReading *r, const JsonValue *file, Map *added) {
  JsonFields f;
  if (!reading_fields(r, file, "an object", &f)) return false;
  const JsonValue *model = json_field(&f, "model"), *cuts = json_field(&f, "pre_tokenizer");
  const JsonValue *normalizer = json_field(&f, "normalizer"), *added_tokens = json_field(&f, "added_tokens");
  if (model == NULL) return reading_refuse(r, file->bytes, "a model", NULL);
  if (normalizer != NULL && !tokenizer_json_normalizer(r, normalizer)) return false;
  if (cuts == NULL) return reading_refuse(r, file->bytes, "a pre_tokenizer", NULL);
  if (added_tokens != NULL && !read_added(r, added_tokens, added)) return false;
  return read_model(r, model, added) && tokenizer_json_cuts(r, cuts);
}

Status tokenizer_json_read(const Memory *memory, const char *bytes, size_t size, bool composed, TokenizerJson *read,
                           TokenizerJsonError *error) {
  TokenizerReading r = {.start = bytes, .composed = composed, .read = read, .error = error};
  Json json;
  JsonValue file;
  Map added;
  *read = (TokenizerJson){.memory = *memory};
  *error = (TokenizerJsonError){0};
  buffer_init(&read->bytes, *memory);
  buffer_init(&read->regex, *memory);
  buffer_init(&r.scratch, *memory);
  map_init(&added, *memory);
  json_open(&json, bytes, size);
  if (!json_value(&json, &file) || !json_end(&json)) {
    *error = (TokenizerJsonError){.status = json.status, .offset = (size_t)(json.error - bytes),
                                  .expected = json.expected};
  } else if (read_parts(&r, &file, &added)) {
    set_bytes(read);
  }
  map_free(&added);
  buffer_free(&r.scratch);
  return error->status;
}

void tokenizer_json_free(TokenizerJson *read) {
  memory_free(&read->memory, read->tokens, read->token_room * sizeof *read->tokens);
  memory_free(&read->memory, read->merges, read->merge_room * sizeof *read->merges);
  buffer_free(&read->bytes);
  buffer_free(&read->regex);
}
