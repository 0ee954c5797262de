/*
** For tests: images of small vocabularies.
*/
#ifndef EBB_TESTS_VOCAB_KIT_H
#define EBB_TESTS_VOCAB_KIT_H

#include <string.h>

#include "check.h"
#include "tokens/vocab/vocab_build.h"

/* The 256 bytes, and what "hello" is merged of. */
static inline void build_vocab(Buffer *image, const char *name, PretokenPattern pattern, const char *regex,
                               size_t size) {
  static const char *const words[] = {"he", "ll", "hell", "hello"};
  static char bytes[256];
  VocabToken tokens[260];
  VocabProblem problem;
  Memory memory = memory_system();
  for (unsigned i = 0; i < 256; i++) {
    bytes[i] = (char)i;
    tokens[i] = (VocabToken){.bytes = &bytes[i], .size = 1, .id = i};
  }
  for (unsigned i = 0; i < 4; i++)
    tokens[256 + i] = (VocabToken){.bytes = words[i], .size = (uint32_t)strlen(words[i]), .id = 256 + i};
  VocabSource source = {.name = name, .pattern = pattern, .regex = regex, .regex_size = size,
                        .tokens = tokens, .count = 260};
  buffer_init(image, memory);
  assert_int_equal(vocab_build(&memory, &source, image, &problem), STATUS_OK);
}

static inline void build_tiny(Buffer *image) { build_vocab(image, "tiny", PRETOKEN_REGEX, "\\w+|\\W+\0", 9); }

#endif
