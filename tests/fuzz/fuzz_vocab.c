/*
** Files that vocabularies are made from, and images: any bytes are refused or
** used, nothing crashes, and what was made from a good file verifies. The first
** byte says which reader gets the rest.
*/
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokens/vocab/tokenizer_json.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab/vocab_image.h"
#include "tokens/vocab/vocab_text.h"

static void use(const Memory *memory, Vocab *vocab) {
  static const char text[] = "The  quick brown fox's 12345 \n\n<b> e\xcc\x81 "
                             "\xe2\x96\x81 \xe4\xb8\xad\xe6\x96\x87 aaaaaaaaaaaaaaaaaaaa\xff";
  Tokenizer *tokenizer;
  uint64_t tokens;
  if (tokenizer_new(memory, vocab, &tokenizer) != STATUS_OK) return;
  tokenizer_count(tokenizer, text_plain(text, sizeof text - 1), &tokens);
  tokenizer_free(tokenizer);
}

static void check_built(const Memory *memory, const VocabSource *source) {
  Buffer image;
  VocabProblem problem;
  Vocab *vocab;
  buffer_init(&image, *memory);
  Status status = vocab_build(memory, source, &image, &problem);
  if (status == STATUS_OK) {
    assert(vocab_of_bytes(memory, image.bytes, image.size, &vocab) == STATUS_OK);
    assert(vocab_verify(vocab) == STATUS_OK);
    use(memory, vocab);
    vocab_release(vocab);
  } else {
    assert(problem.expected != NULL);
  }
  buffer_free(&image);
}

/* All bytes have tokens before those of the file, so that small files get far. */
static void read_text(const Memory *memory, const char *bytes, size_t size) {
  VocabText text;
  VocabTextError error;
  Status status = vocab_text_read(memory, bytes, size, &text, &error);
  if (status == STATUS_OK) {
    static char single[256];
    VocabToken *tokens = malloc((text.count + 256) * sizeof *tokens);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 256; i++) {
      single[i] = (char)i;
      tokens[count++] = (VocabToken){.bytes = &single[i], .size = 1, .id = i};
    }
    for (uint32_t i = 0; i < text.count; i++) {
      if (text.tokens[i].size == 1) continue;
      tokens[count] = text.tokens[i];
      tokens[count++].id += 256;
    }
    VocabSource source = {.name = "fuzz", .pattern = PRETOKEN_O200K, .tokens = tokens, .count = count, .wholes = true};
    check_built(memory, &source);
    free(tokens);
  } else {
    assert(error.expected != NULL);
  }
  vocab_text_free(&text);
}

static void read_json(const Memory *memory, const char *bytes, size_t size) {
  static const VocabMerge none;
  TokenizerJson json;
  TokenizerJsonError error;
  if (tokenizer_json_read(memory, bytes, size, size % 2 == 0, &json, &error) == STATUS_OK) {
    VocabSource source = {.name = "fuzz", .pattern = json.pattern, .regex = json.regex.bytes,
                          .regex_size = json.regex.size, .tokens = json.tokens, .count = json.count,
                          .merges = json.merges ? json.merges : &none,
                          .merge_count = json.merge_count, .wholes = json.wholes, .atoms = json.atoms,
                          .atom_count = json.atom_count, .forms = json.forms};
    check_built(memory, &source);
  } else {
    assert(error.offset <= size && error.expected != NULL);
  }
  tokenizer_json_free(&json);
}

/* An image whose header fits, with the fuzzer's bytes somewhere in it. */
static void read_image(const Memory *memory, const char *bytes, size_t size) {
  static Buffer image;
  static char single[256][1];
  if (image.size == 0) {
    VocabToken tokens[259];
    for (uint32_t i = 0; i < 256; i++) {
      single[i][0] = (char)i;
      tokens[i] = (VocabToken){.bytes = single[i], .size = 1, .id = i};
    }
    tokens[256] = (VocabToken){.bytes = "aa", .size = 2, .id = 256};
    tokens[257] = (VocabToken){.bytes = "aaaa", .size = 4, .id = 257};
    tokens[258] = (VocabToken){.bytes = " b", .size = 2, .id = 258};
    VocabSource source = {.name = "fuzz", .pattern = PRETOKEN_O200K, .tokens = tokens, .count = 259, .wholes = true};
    VocabProblem problem;
    buffer_init(&image, *memory);
    assert(vocab_build(memory, &source, &image, &problem) == STATUS_OK);
  }
  if (size < 4) return;
  uint32_t at;
  memcpy(&at, bytes, sizeof at);
  bytes += 4, size -= 4;
  char *copy = malloc(image.size);
  memcpy(copy, image.bytes, image.size);
  at %= (uint32_t)image.size;
  if (size > image.size - at) size = image.size - at;
  memcpy(copy + at, bytes, size);
  VocabHeader *header = (VocabHeader *)(void *)copy;
  header->header_sum = vocab_sum(header, offsetof(VocabHeader, header_sum));
  Vocab *vocab;
  if (vocab_of_bytes(memory, copy, image.size, &vocab) == STATUS_OK) {
    vocab_verify(vocab);
    use(memory, vocab);
    vocab_release(vocab);
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Memory memory = memory_system();
  if (size == 0) return 0;
  const char *bytes = (const char *)data + 1;
  if (data[0] == '{') read_json(&memory, bytes - 1, size);
  else if (data[0] % 2 == 0) read_text(&memory, bytes, size - 1);
  else read_image(&memory, bytes, size - 1);
  return 0;
}
