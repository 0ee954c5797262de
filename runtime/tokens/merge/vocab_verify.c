/*
** Verifies a whole image: its check sum, and that all tables agree about each token.
*/
#include <assert.h>
#include <stdio.h>

#include "codec/base64.h"
#include "codec/sha256.h"
#include "tokens/merge/bpe.h"
#include "tokens/vocab/vocab_image.h"

/* True if the halves of a merged token are earlier tokens, their bytes are its bytes, and the
   tables of pairs have it. */
static bool is_merged(const Vocab *v, uint32_t number, const char *bytes, size_t size) {
  TokenRecord record = v->tokens[number];
  uint32_t left = record_left(record), right = record_right(record);
  const char *left_bytes, *right_bytes;
  if (left >= number || right >= number) return false;
  size_t left_size = vocab_token_bytes(v, left, &left_bytes), right_size = vocab_token_bytes(v, right, &right_bytes);
  if (left_size == 0 || right_size == 0 || left_size + right_size != size) return false;
  if (memcmp(bytes, left_bytes, left_size) != 0) return false;
  if (memcmp(bytes + left_size, right_bytes, right_size) != 0) return false;
  BytePair meet = vocab_byte_pair(v, (unsigned char)bytes[left_size - 1], (unsigned char)bytes[left_size]);
  if (meet.border > number || (size == 2 && meet.merged != number)) return false;
  return vocab_pair(v, left, right) == number;
}

/* True if the record's prefix is a proper prefix of the token. */
static bool prefix_is_sound(const Vocab *v, TokenRecord record, const char *bytes, size_t size) {
  uint32_t prefix = record_prefix(record);
  const char *prefix_bytes;
  if (prefix == NUMBER_NONE) return true;
  if (prefix >= v->token_count) return false;
  size_t prefix_size = vocab_token_bytes(v, prefix, &prefix_bytes);
  return prefix_size > 0 && prefix_size < size && memcmp(bytes, prefix_bytes, prefix_size) == 0;
}

static bool token_is_sound(const Vocab *v, uint32_t number) {
  TokenRecord record = v->tokens[number];
  const char *bytes;
  size_t size = vocab_token_bytes(v, number, &bytes);
  bool reached = record_left(record) != NUMBER_NONE;
  uint32_t id = v->ids[number];
  if (size == 0 || (id != ID_NONE && (id >= v->header->id_bound || v->by_id[id] != number))) return false;
  if (reached != (number < v->merged_count)) return false;
  if (!prefix_is_sound(v, record, bytes, size)) return false;
  if (number < 256) return size == 1 && (unsigned char)bytes[0] == number && vocab_find(v, bytes, 1) == number;
  if (id == ID_NONE) return reached && is_merged(v, number, bytes, size);
  if (!reached) return true;   /* only decoded, or only matched as a whole */
  if (vocab_find(v, bytes, size) != number || bpe_longest(v, bytes, size) != number) return false;
  return is_merged(v, number, bytes, size);
}

static bool atom_is_sound(const Vocab *v, uint32_t atom) {
  AtomRecord record = v->atoms[atom];
  uint32_t number = NUMBER_NONE;
  if (record.size == 0 || (uint64_t)record.offset + record.size > v->atom_bytes_size) return false;
  const char *bytes = v->atom_bytes + record.offset;
  return vocab_atom_at(v, bytes, bytes + record.size, &number) == record.size && number == record.number &&
         number < v->token_count;
}

Status vocab_check_sum(const Vocab *v) {
  const VocabHeader *h = v->header;
  return h->body_sum == vocab_sum(h + 1, h->size - sizeof *h) ? STATUS_OK : STATUS_SYNTAX;
}

Status vocab_verify(const Vocab *v) {
  assert(v->token_count >= 256);             /* checked at opening */
  Status status = vocab_check_sum(v);
  uint32_t hollow = 0;
  if (status != STATUS_OK) return status;
  for (uint32_t number = 0; number < v->token_count; number++) {
    if (!token_is_sound(v, number)) return STATUS_SYNTAX;
    hollow += v->ids[number] == ID_NONE;
  }
  for (uint32_t atom = 0; atom < v->atom_count; atom++) {
    if (!atom_is_sound(v, atom)) return STATUS_SYNTAX;
  }
  return hollow == v->header->hollow_count ? STATUS_OK : STATUS_SYNTAX;
}

/* Makes `line` the line of a token. */
static Status write_line(const Vocab *v, uint32_t id, Buffer *line) {
  const char *bytes;
  char end[16];
  size_t size = vocab_token_bytes(v, v->by_id[id], &bytes);
  int end_size = snprintf(end, sizeof end, " %u\n", (unsigned)id);
  buffer_reset(line);
  Status status = base64_encode(bytes, size, line);
  return status == STATUS_OK ? buffer_add(line, end, (size_t)end_size) : status;
}

Status vocab_tokens_digest(const Memory *memory, const Vocab *v, uint8_t digest[32]) {
  Buffer line;
  Sha256 hash;
  Status status = STATUS_OK;
  buffer_init(&line, *memory);
  sha256_start(&hash);
  for (uint32_t id = 0; id < v->header->id_bound && status == STATUS_OK; id++) {
    if (v->by_id[id] >= v->token_count) continue;      /* no token has this id */
    status = write_line(v, id, &line);
    if (status == STATUS_OK) sha256_add(&hash, line.bytes, line.size);
  }
  buffer_free(&line);
  sha256_end(&hash, digest);
  return status;
}
