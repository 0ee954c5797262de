#include "tokens/vocab/vocab_text.h"

#include <assert.h>
#include <string.h>

#include "codec/base64.h"

static Status refuse(VocabTextError *error, Status status, const char *expected) {
  error->expected = expected;
  return status;
}

static bool read_rank(const char *at, size_t size, uint32_t *rank) {
  if (size == 0 || size > 9) return false;
  *rank = 0;
  for (size_t i = 0; i < size; i++) {
    if (at[i] < '0' || at[i] > '9') return false;
    *rank = *rank * 10 + (uint32_t)(at[i] - '0');
  }
  return true;
}

/* Reads a line without its end. The token's bytes are set after the last line, when they no
   longer move. */
static Status read_line(VocabText *text, const char *line, size_t size, VocabTextError *error) {
  const char *space = memchr(line, ' ', size);
  size_t offset, word = space == NULL ? size : (size_t)(space - line);
  uint32_t rank;
  if (text->count == VOCAB_TOKENS_MAX) return refuse(error, STATUS_LIMIT, "no more than 1000000 tokens");
  if (word > VOCAB_TOKEN_BYTES_MAX * 2) return refuse(error, STATUS_LIMIT, "a token of at most 2047 bytes");
  Status status = buffer_reserve(&text->bytes, word + 1);   /* so that even 0 bytes have a place */
  if (status != STATUS_OK) return status;
  if (word == 0 || base64_decode(line, word, text->bytes.bytes + text->bytes.size, &offset) != NULL) {
    return refuse(error, STATUS_SYNTAX, "the bytes of a token, in base64");
  }
  if (space == NULL || !read_rank(space + 1, size - word - 1, &rank)) {
    return refuse(error, STATUS_SYNTAX, "a space and the token's rank");
  }
  if (text->count > 0 && rank <= text->tokens[text->count - 1].id) {
    return refuse(error, STATUS_SYNTAX, "a rank above the one before");
  }
  VocabToken *tokens = memory_grow(&text->memory, text->tokens, &text->room, text->count, sizeof *tokens);
  if (tokens == NULL) return STATUS_MEMORY;
  text->tokens = tokens;
  size_t written = base64_decoded_size(line, word);
  assert(text->bytes.size + written <= text->bytes.capacity && text->count < text->room);
  tokens[text->count++] = (VocabToken){.size = (uint32_t)written, .id = rank};
  text->bytes.size += written;
  return STATUS_OK;
}

Status vocab_text_read(const Memory *memory, const char *bytes, size_t size, VocabText *text, VocabTextError *error) {
  const char *end = size == 0 ? bytes : bytes + size;
  *text = (VocabText){.memory = *memory};
  *error = (VocabTextError){0};
  buffer_init(&text->bytes, *memory);
  for (const char *at = bytes; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop == NULL ? end : stop + 1;
    if (stop == NULL) stop = end;
    if (stop > at && stop[-1] == '\r') stop--;
    error->line++;
    Status status = stop > at ? read_line(text, at, (size_t)(stop - at), error) : STATUS_OK;
    if (status != STATUS_OK) return status;
    at = next;
  }
  if (text->count == 0) return refuse(error, STATUS_SYNTAX, "a token and its rank in each line");
  const char *of_token = text->bytes.bytes;
  for (uint32_t i = 0; i < text->count; of_token += text->tokens[i++].size) text->tokens[i].bytes = of_token;
  assert(of_token == text->bytes.bytes + text->bytes.size);
  return STATUS_OK;
}

void vocab_text_free(VocabText *text) {
  memory_free(&text->memory, text->tokens, text->room * sizeof *text->tokens);
  buffer_free(&text->bytes);
}
