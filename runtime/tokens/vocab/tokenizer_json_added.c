/*
** Reads the added tokens of a tokenizer.json: special ones, and atoms.
*/
#include <string.h>

#include "tokens/vocab/tokenizer_json_parts.h"

/* Refuses an atom that is matched in another way than wherever it stands. */
static bool check_atom(TokenizerReading *r, const JsonFields *f, Text content) {
  static const char *const off[] = {"lstrip", "rstrip", "single_word"};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
    const JsonValue *value = json_field_of(f, off[i], JSON_TRUE);
    if (value != NULL) return reading_refuse(r, value->bytes, "an added token without it", off[i]);
  }
  bool normalized = json_field_of(f, "normalized", JSON_FALSE) == NULL;
  if (normalized && r->read->forms != 0) {
    return reading_refuse(r, f->start, "an added token that is matched before the normalizer", "normalized");
  }
  if (content.size > 0 && content.size <= VOCAB_TOKEN_BYTES_MAX) return true;
  return reading_refuse(r, f->start, "an added token of 1 to 2047 bytes", NULL);
}

static bool add_atom(TokenizerReading *r, uint32_t id, Text content) {
  TokenizerJson *read = r->read;
  VocabAtom *atoms = memory_grow(&read->memory, read->atoms, &read->atom_room, read->atom_count, sizeof *atoms);
  if (atoms == NULL) return reading_fail(r, STATUS_MEMORY);
  read->atoms = atoms;
  size_t offset = read->atom_bytes.size;
  Status status = buffer_add(&read->atom_bytes, content.bytes, content.size);
  if (status == STATUS_OK) status = map_put(&r->added, id, added_value(read->atom_count, offset));
  if (status != STATUS_OK) return reading_fail(r, status);
  atoms[read->atom_count++] = (VocabAtom){.size = (uint32_t)content.size, .id = id};
  return true;
}

/* Adds a token that is decoded, and made neither of bytes nor by merges. */
static bool add_decoded(TokenizerReading *r, uint32_t id, Text content) {
  size_t start = r->read->bytes.size;
  Status status = buffer_add(&r->read->bytes, content.bytes, content.size);
  if (status != STATUS_OK) return reading_fail(r, status);
  return reading_add_token(r, start, (VocabToken){.id = id, .special = true});
}

static bool add_special(TokenizerReading *r, uint32_t id, Text content) {
  Status status = map_put(&r->added, id, ADDED_DONE);
  if (status != STATUS_OK) return reading_fail(r, status);
  return add_decoded(r, id, content);
}

static bool read_added_token(TokenizerReading *r, const JsonValue *value) {
  JsonFields f;
  Text plain;
  uint32_t id = 0;
  if (!reading_fields(r, value, "an added token", &f)) return false;
  const JsonValue *number = json_field(&f, "id"), *content = json_field_of(&f, "content", JSON_STRING);
  if (number == NULL || content == NULL) {
    return reading_refuse(r, value->bytes, "an added token with id and content", NULL);
  }
  if (!reading_id(r, number, &id) || !reading_plain(r, json_text(content), &plain)) return false;
  if (r->read->count + r->read->atom_count == VOCAB_TOKENS_MAX) {
    return reading_refuse(r, value->bytes, "no more than 1000000 tokens", NULL);
  }
  if (json_field_of(&f, "special", JSON_TRUE) != NULL) return add_special(r, id, plain);
  return check_atom(r, &f, plain) && add_atom(r, id, plain);
}

bool tokenizer_json_added(TokenizerReading *r, const JsonValue *value) {
  Json json;
  JsonValue token;
  if (value->kind == JSON_NULL) return true;
  if (value->kind != JSON_ARRAY) return reading_refuse(r, value->bytes, "a list of added tokens", NULL);
  json_open_value(&json, value);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &token)) {
    if (!read_added_token(r, &token)) return false;
  }
  return true;
}

bool tokenizer_json_add_atoms(TokenizerReading *r) {
  size_t offset = 0;
  for (uint32_t i = 0; i < r->read->atom_count; i++) {
    VocabAtom atom = r->read->atoms[i];
    uint64_t *added = map_find(&r->added, atom.id);
    Text content = text_plain(r->read->atom_bytes.bytes + offset, atom.size);
    offset += atom.size;
    if (added == NULL || *added == ADDED_DONE) continue;
    *added = ADDED_DONE;
    if (!add_decoded(r, atom.id, content)) return false;
  }
  return true;
}
