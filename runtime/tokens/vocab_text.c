#include "tokens/vocab_text.h"

#include <string.h>

static Status refuse(VocabTextError *error, Status status, const char *expected) {
  error->expected = expected;
  return status;
}

static int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Writes what base64 stands for: at most size / 4 * 3 bytes. false: it is none. */
static bool decode(const char *at, size_t size, char *out, size_t *written) {
  size_t padding = 0;
  while (padding < 2 && padding < size && at[size - padding - 1] == '=') padding++;
  if (size == 0 || size % 4 != 0) return false;
  uint32_t bits = 0;
  char *to = out;
  for (size_t i = 0; i < size; i++) {
    int digit = i < size - padding ? digit_of(at[i]) : 0;
    if (digit < 0) return false;
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) *to++ = (char)(bits >> shift & 0xFF);
    bits = 0;
  }
  *written = (size_t)(to - out) - padding;
  for (size_t i = 0; i < padding; i++) {
    if (to[-(ptrdiff_t)i - 1] != 0) return false;    /* bits that nothing stands for */
  }
  return true;
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

/* One line, without its end. Its bytes are known by their offset until all are read. */
static Status read_line(VocabText *text, const char *line, size_t size, VocabTextError *error) {
  const char *space = memchr(line, ' ', size);
  size_t written, word = space == NULL ? size : (size_t)(space - line);
  uint32_t rank;
  if (text->count == VOCAB_TOKENS_MAX) return refuse(error, STATUS_LIMIT, "no more than 1000000 tokens");
  if (word > VOCAB_TOKEN_BYTES_MAX * 2) return refuse(error, STATUS_LIMIT, "a token of at most 2047 bytes");
  Status status = buffer_reserve(&text->bytes, word + 1);   /* also for no bytes there is a place to write */
  if (status != STATUS_OK) return status;
  if (!decode(line, word, text->bytes.bytes + text->bytes.size, &written)) {
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
  return STATUS_OK;
}

void vocab_text_free(VocabText *text) {
  memory_free(&text->memory, text->tokens, text->room * sizeof *text->tokens);
  buffer_free(&text->bytes);
}
