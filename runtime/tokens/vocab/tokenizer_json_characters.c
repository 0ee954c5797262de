/*
** Models that merge characters, and take bytes for those that they lack.
**
** They become models of bytes (vocab_build.h). The bytes of a character merge first, from
** left to right; what is between is a hollow token:
**
**     "▲"    E2 96 B2    ->    (E2 96) B2    ->    (E2 96 B2)
**
** So a model with the character "▲" merges as before, and one that lacks it has its three
** bytes: it is cut from the text, whose other characters the model has (border_cut.h).
*/
#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "tokens/vocab/tokenizer_json_parts.h"

enum { SPACE_SIZE = sizeof TEXT_SPACE - 1 };

/* ---- names ---- */

int tokenizer_json_byte(Text name) {
  if (name.size != 6 || memcmp(name.bytes, "<0x", 3) != 0 || name.bytes[5] != '>') return -1;
  int high = hex_digit(name.bytes[3]), low = hex_digit(name.bytes[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

Status tokenizer_json_characters(const TokenizerReading *r, Text name, Buffer *out) {
  assert(!name.escaped);
  return text_form_write(r->read->forms & TEXT_SPACES, name.bytes, name.size, out);
}

/* ---- tokens of bytes ---- */

/* The offset of the token after one at *offset. */
static VocabToken next_token(const TokenizerJson *read, uint32_t i, size_t *offset) {
  VocabToken token = read->tokens[i];
  token.bytes = read->bytes.bytes + *offset;
  *offset += token.size;
  return token;
}

/* Adds a token for each byte: for matching, if the vocabulary lacks the character of that byte, else only to be
   decoded. */
static bool add_byte_tokens(TokenizerReading *r, const char *where, const uint32_t byte_ids[256]) {
  bool has[256] = {false};
  size_t offset = 0;
  uint32_t count = r->read->count;
  for (uint32_t i = 0; i < count; i++) {
    VocabToken token = next_token(r->read, i, &offset);
    if (token.size == 1 && !token.special) has[(unsigned char)token.bytes[0]] = true;
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    if (byte_ids[byte] == UINT32_MAX) return reading_refuse(r, where, "a token like <0x0A> for each byte", NULL);
    size_t start = r->read->bytes.size;
    Status status = buffer_add_byte(&r->read->bytes, (char)byte);
    if (status != STATUS_OK) return reading_fail(r, status);
    if (!reading_add_token(r, start, (VocabToken){.id = byte_ids[byte], .special = has[byte]})) return false;
  }
  return true;
}

/* ---- characters ---- */

static bool is_character(VocabToken token) {
  if (token.size < 2 || token.size > 4 || token.special || token.hollow) return false;
  return utf8_decode(token.bytes, token.bytes + token.size, NULL) == token.size;
}

static bool add_hollow(TokenizerReading *r, const char bytes[4], uint32_t size, Map *seen) {
  uint64_t key = size;
  for (uint32_t i = 0; i < size; i++) key = key << 8 | (unsigned char)bytes[i];
  if (map_find(seen, key) != NULL) return true;
  size_t start = r->read->bytes.size;
  Status status = map_put(seen, key, 1);
  if (status == STATUS_OK) status = buffer_add(&r->read->bytes, bytes, size);
  if (status != STATUS_OK) return reading_fail(r, status);
  return reading_add_token(r, start, (VocabToken){.hollow = true});
}

/* Adds what is between the first byte of each character and the whole. */
static bool add_hollows(TokenizerReading *r, Map *seen) {
  size_t offset = 0;
  uint32_t count = r->read->count;
  for (uint32_t i = 0; i < count; i++) {
    VocabToken token = next_token(r->read, i, &offset);
    char bytes[4];
    if (!is_character(token)) continue;
    memcpy(bytes, token.bytes, token.size);      /* adding may move what is pointed to */
    for (uint32_t size = 2; size < token.size; size++) {
      if (!add_hollow(r, bytes, size, seen)) return false;
    }
  }
  return true;
}

/* Adds the merges of hollow tokens of `size` bytes; 0: those of characters. Each adds the last byte to the bytes before
   it. */
static bool add_merges(TokenizerReading *r, uint32_t size) {
  TokenizerJson *read = r->read;
  size_t offset = 0;
  for (uint32_t i = 0; i < read->count; i++) {
    VocabToken token = next_token(read, i, &offset);
    char bytes[4];
    bool fits = size == 0 ? is_character(token) : token.hollow && token.size == size;
    if (!fits) continue;
    memcpy(bytes, token.bytes, token.size);
    VocabMerge *merges = memory_grow(&read->memory, read->merges, &read->merge_room, read->merge_count, sizeof *merges);
    if (merges == NULL) return reading_fail(r, STATUS_MEMORY);
    read->merges = merges;
    Status status = buffer_add(&read->bytes, bytes, token.size);
    if (status != STATUS_OK) return reading_fail(r, status);
    merges[read->merge_count++] = (VocabMerge){.left_size = token.size - 1, .right_size = 1};
  }
  return true;
}

bool tokenizer_json_complete(TokenizerReading *r, const char *where, const uint32_t byte_ids[256]) {
  Map seen;
  if (!add_byte_tokens(r, where, byte_ids)) return false;
  map_init(&seen, r->read->memory);
  bool ok = add_hollows(r, &seen);
  map_free(&seen);
  return ok && add_merges(r, 2) && add_merges(r, 3) && add_merges(r, 0);
}
