#include "tokens/vocab/tokenizer_json.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "tokens/vocab/tokenizer_json_parts.h"

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

/* ---- tokens: known by their offset in `bytes` until all are read ---- */

/* Appends the bytes of a token or of half a merge; false with *status OK if its name is not in the alphabet. */
static bool add_name(TokenizerReading *r, Text name, Status *status) {
  if (!r->characters) return add_bytes(&r->read->bytes, name, status);
  *status = tokenizer_json_characters(r, name, &r->read->bytes);
  return *status == STATUS_OK;
}

/* True if an added token takes the place of this one of the vocabulary. An atom that is the same token does not. */
static bool is_replaced(TokenizerReading *r, uint32_t id, Text name) {
  uint64_t *added = map_find(&r->added, id);
  if (added == NULL || *added == ADDED_DONE) return added != NULL;
  const VocabAtom *atom = &r->read->atoms[added_atom(*added)];
  const char *content = r->read->atom_bytes.bytes + added_offset(*added);
  if (atom->size != name.size || memcmp(content, name.bytes, name.size) != 0) return true;
  *added = ADDED_DONE;
  return false;
}

static bool read_token(TokenizerReading *r, Text name, const JsonValue *number, uint32_t byte_ids[256]) {
  Text plain;
  Status status;
  uint32_t id = 0;
  size_t start = r->read->bytes.size;
  if (!reading_id(r, number, &id) || !reading_plain(r, name, &plain)) return false;
  if (is_replaced(r, id, plain)) return true;
  if (r->read->count == VOCAB_TOKENS_MAX) return reading_refuse(r, name.bytes, "no more than 1000000 tokens", NULL);
  int byte = r->characters ? tokenizer_json_byte(plain) : -1;
  if (byte >= 0) {
    byte_ids[byte] = id;
    return true;
  }
  if (!add_name(r, plain, &status)) {
    if (status != STATUS_OK) return reading_fail(r, status);
    return reading_refuse(r, name.bytes, "a token in the byte-level alphabet", NULL);
  }
  /* A token with a space itself is never in a text whose spaces are U+2581. */
  bool unused = (r->read->forms & TEXT_SPACES) != 0 && memchr(plain.bytes, ' ', plain.size) != NULL;
  return reading_add_token(r, start, (VocabToken){.id = id, .special = unused});
}

/* Reads the members of "vocab", except for those that are added tokens. */
static bool read_vocab(TokenizerReading *r, const JsonValue *value) {
  Json json;
  JsonValue number;
  Text name;
  uint32_t byte_ids[256];
  memset(byte_ids, 0xFF, sizeof byte_ids);
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_member(&json, &name) && json_value(&json, &number)) {
    if (!read_token(r, name, &number, byte_ids)) return false;
  }
  return tokenizer_json_add_atoms(r) && (!r->characters || tokenizer_json_complete(r, value->bytes, byte_ids));
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
  bool fits = add_name(r, left, &status);
  middle = read->bytes.size;
  if (fits) fits = add_name(r, right, &status);
  if (status != STATUS_OK) return reading_fail(r, status);
  if (!fits) return reading_refuse(r, where, "a merge in the byte-level alphabet", NULL);
  merges[read->merge_count++] =
    (VocabMerge){.left_size = (uint32_t)(middle - start), .right_size = (uint32_t)(read->bytes.size - middle)};
  return true;
}

static bool read_merge_string(TokenizerReading *r, const JsonValue *value) {
  Text plain;
  if (!reading_plain(r, json_text(value), &plain)) return false;
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
  static const char *const off[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
    const JsonValue *value = json_field(f, off[i]);
    if (value == NULL || value->kind == JSON_NULL || value->kind == JSON_FALSE) continue;
    if (value->kind == JSON_STRING && value->size == 2) continue;
    if (value->kind == JSON_NUMBER && strspn(value->bytes, "0.") >= value->size) continue;
    return reading_refuse(r, value->bytes, "a model without it", off[i]);
  }
  const JsonValue *whole = json_field_of(f, "ignore_merges", JSON_TRUE);
  if (r->characters && whole != NULL) return reading_refuse(r, whole->bytes, "a model without it", "ignore_merges");
  return true;
}

static bool read_model(TokenizerReading *r, const JsonValue *value) {
  JsonFields f;
  if (!reading_fields(r, value, "a model", &f)) return false;
  const JsonValue *vocab = json_field_of(&f, "vocab", JSON_OBJECT), *merges = json_field_of(&f, "merges", JSON_ARRAY);
  if (vocab == NULL || merges == NULL) return reading_refuse(r, value->bytes, "a model with vocab and merges", NULL);
  r->read->wholes = json_field_of(&f, "ignore_merges", JSON_TRUE) != NULL;
  return check_model(r, &f) && read_vocab(r, vocab) && read_merges(r, merges);
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
  at = read->atom_bytes.bytes;
  for (uint32_t i = 0; i < read->atom_count; at += read->atoms[i++].size) read->atoms[i].bytes = at;
}

/* Reads what the rest of the file depends on: the kind of the model. Early files have no type. */
static bool read_kind(TokenizerReading *r, const JsonValue *model) {
  JsonFields f;
  if (!reading_fields(r, model, "a model", &f)) return false;
  bool other = json_field(&f, "type") != NULL && !json_field_is(&f, "type", "BPE");
  if (other) return reading_refuse_field(r, &f, "a model of the type BPE", "type");
  r->characters = json_field_of(&f, "byte_fallback", JSON_TRUE) != NULL;
  return true;
}

static bool read_parts(TokenizerReading *r, const JsonValue *file) {
  JsonFields f;
  if (!reading_fields(r, file, "an object", &f)) return false;
  const JsonValue *model = json_field(&f, "model"), *cuts = json_field(&f, "pre_tokenizer");
  const JsonValue *normalizer = json_field(&f, "normalizer"), *added_tokens = json_field(&f, "added_tokens");
  if (model == NULL) return reading_refuse(r, file->bytes, "a model", NULL);
  if (!read_kind(r, model)) return false;
  if (normalizer != NULL && !tokenizer_json_normalizer(r, normalizer)) return false;
  if (cuts == NULL && !r->characters) return reading_refuse(r, file->bytes, "a pre_tokenizer", NULL);
  if (added_tokens != NULL && !tokenizer_json_added(r, added_tokens)) return false;
  return read_model(r, model) && tokenizer_json_cuts(r, cuts);
}

Status tokenizer_json_read(const Memory *memory, const char *bytes, size_t size, bool composed, TokenizerJson *read,
                           TokenizerJsonError *error) {
  TokenizerReading r = {.start = bytes, .composed = composed, .read = read, .error = error};
  Json json;
  JsonValue file;
  *read = (TokenizerJson){.memory = *memory};
  *error = (TokenizerJsonError){0};
  buffer_init(&read->bytes, *memory);
  buffer_init(&read->regex, *memory);
  buffer_init(&read->atom_bytes, *memory);
  buffer_init(&r.scratch, *memory);
  map_init(&r.added, *memory);
  json_open(&json, bytes, size);
  if (!json_value(&json, &file) || !json_end(&json)) {
    *error = (TokenizerJsonError){.status = json.status, .offset = (size_t)(json.error - bytes),
                                  .expected = json.expected};
  } else if (read_parts(&r, &file)) {
    set_bytes(read);
  }
  map_free(&r.added);
  buffer_free(&r.scratch);
  return error->status;
}

void tokenizer_json_free(TokenizerJson *read) {
  memory_free(&read->memory, read->tokens, read->token_room * sizeof *read->tokens);
  memory_free(&read->memory, read->merges, read->merge_room * sizeof *read->merges);
  memory_free(&read->memory, read->atoms, read->atom_room * sizeof *read->atoms);
  buffer_free(&read->bytes);
  buffer_free(&read->atom_bytes);
  buffer_free(&read->regex);
}
