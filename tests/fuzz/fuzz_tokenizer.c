/*
** Any text: what is counted is what is encoded, decoding gives the text back,
** counting stops above a limit, and merging a piece from left to right gives what
** merging pair after pair does. The vocabulary merges what its own letters repeat.
*/
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokens/merge/bpe.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab/vocab_build.h"
#include "tokens/vocab/vocab_image.h"

static const char *const WORDS[] = {"aa", "ab", "aab", "ba", "bab", "aaaa", "  ", "    ", "\xe4\xb8", "\xe4\xb8\xad",
                                    "\xad\xe4", "\xe5\xa4", "\xe5\xa4\xa9", "\xe4\xb8\xad\xe5\xa4\xa9", "12", "\n\n", "abab",
                                    "aaaaaaaa"};
enum { COUNT = 256 + sizeof WORDS / sizeof *WORDS };

static Vocab *make_vocab(const Memory *memory) {
  static char single[256];
  static VocabToken tokens[COUNT];
  static Buffer image;
  for (uint32_t i = 0; i < COUNT; i++) {
    if (i < 256) single[i] = (char)i;
    tokens[i] = (VocabToken){.bytes = i < 256 ? &single[i] : WORDS[i - 256],
                             .size = i < 256 ? 1 : (uint32_t)strlen(WORDS[i - 256]), .id = i};
  }
  VocabSource source = {.name = "fuzz", .pattern = PRETOKEN_O200K, .tokens = tokens, .count = COUNT, .wholes = true};
  VocabProblem problem;
  Vocab *vocab;
  buffer_init(&image, *memory);
  assert(vocab_build(memory, &source, &image, &problem) == STATUS_OK);
  assert(vocab_of_bytes(memory, image.bytes, image.size, &vocab) == STATUS_OK);
  return vocab;
}

/* The lowest number first, the leftmost of equals. */
static void check_merge(const Memory *memory, const Vocab *vocab, const char *bytes, size_t size) {
  static uint32_t parts[1024];
  size_t count = size < 1024 ? size : 1024, merged;
  if (count == 0) return;
  size = count;
  for (size_t i = 0; i < count; i++) parts[i] = (unsigned char)bytes[i];
  for (;;) {
    size_t best = 0;
    uint32_t least = NUMBER_NONE;
    for (size_t i = 0; i + 1 < count; i++) {
      uint32_t pair = vocab_pair(vocab, parts[i], parts[i + 1]);
      if (pair < least) least = pair, best = i;
    }
    if (least == NUMBER_NONE) break;
    parts[best] = least;
    memmove(&parts[best + 1], &parts[best + 2], (count - best - 2) * sizeof *parts);
    count--;
  }
  Bpe bpe;
  bpe_init(&bpe, memory);
  assert(bpe_merge(&bpe, vocab, bytes, size, &merged) == STATUS_OK);
  assert(merged == count && memcmp(bpe.tokens, parts, count * sizeof *parts) == 0);
  bpe_free(&bpe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Tokenizer *tokenizer;
  Memory memory = memory_system();
  if (tokenizer == NULL) {
    Vocab *vocab = make_vocab(&memory);
    assert(tokenizer_new(&memory, vocab, &tokenizer) == STATUS_OK);
  }
  Text text = text_plain((const char *)data, size);
  Buffer ids, bytes;
  uint64_t tokens, some;
  size_t bad;
  buffer_init(&ids, memory);
  buffer_init(&bytes, memory);
  assert(tokenizer_count(tokenizer, text, &tokens) == STATUS_OK);
  assert(tokenizer_encode(tokenizer, text, &ids) == STATUS_OK && ids.size == tokens * sizeof(uint32_t));
  assert(tokenizer_decode(tokenizer, (const uint32_t *)(const void *)ids.bytes, tokens, &bytes, &bad) == STATUS_OK);
  assert(bytes.size == size && (size == 0 || memcmp(bytes.bytes, data, size) == 0));
  assert(tokenizer_count_up_to(tokenizer, text, size / 2, &some) == STATUS_OK);
  assert(some == tokens || (some > size / 2 && some < tokens));
  check_merge(&memory, tokenizer_vocab(tokenizer), text.bytes, size);
  buffer_free(&ids);
  buffer_free(&bytes);
  return 0;
}
