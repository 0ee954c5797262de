/*
** Counting and encoding without a runtime around it, for tests/bench/tokens.sh and tests/peers/tokens/oracle.sh.
**
**     tokens count IMAGE FILE PART   counts the file twice, in parts of PART bytes, cut between characters (0: whole):
**                                    nanoseconds first, nanoseconds again, tokens, bytes; then the nanoseconds that
**                                    opening the vocabulary took
**     tokens ids IMAGE               for each text on standard input (size as uint32_t, bytes) its ids on standard
**                                    output (count and ids as uint32_t), in the machine's byte order
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"
#include "tokens/tokenizer.h"

static void fail(const char *what) {
  fprintf(stderr, "tokens: %s\n", what);
  exit(2);
}

static void check(Status status, const char *what) {
  if (status != STATUS_OK) fail(what);
}

/* Of this thread on a processor: others may be busy too. */
static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t part_size(const char *bytes, size_t size, size_t most) {
  if (most == 0 || size <= most) return size;
  size_t part = most;
  while (part > 0 && (bytes[part] & 0xC0) == 0x80) part--;
  return part > 0 ? part : most;
}

static uint64_t count_parts(Tokenizer *tokenizer, const char *bytes, size_t size, size_t most) {
  uint64_t sum = 0, tokens;
  for (size_t at = 0, part; at < size; at += part) {
    part = part_size(bytes + at, size - at, most);
    check(tokenizer_count(tokenizer, text_plain(bytes + at, part), &tokens), "counting failed");
    sum += tokens;
  }
  return sum;
}

static void count_file(const Memory *memory, const char *image, const char *path, size_t part) {
  char *bytes;
  size_t size, capacity;
  check(file_read(memory, path, SIZE_MAX, &bytes, &size, &capacity), path);
  Vocab *vocab;
  Tokenizer *tokenizer;
  int64_t start = nanoseconds();
  check(vocab_open(memory, image, NULL, &vocab), image);
  check(tokenizer_new(memory, vocab, &tokenizer), "no memory");
  int64_t opened = nanoseconds();
  uint64_t tokens = count_parts(tokenizer, bytes, size, part);
  int64_t first = nanoseconds();
  if (count_parts(tokenizer, bytes, size, part) != tokens) fail("the second count differs");
  int64_t again = nanoseconds();
  printf("%" PRId64 " %" PRId64 " %" PRIu64 " %zu", first - opened, again - first, tokens, size);
  printf(" %" PRId64 "\n", opened - start);
  tokenizer_free(tokenizer);
  vocab_release(vocab);
  memory_free(memory, bytes, capacity);
}

static void write_ids(Tokenizer *tokenizer, const char *bytes, size_t size, Buffer *ids) {
  uint64_t counted;
  buffer_reset(ids);
  check(tokenizer_encode(tokenizer, text_plain(bytes, size), ids), "encoding failed");
  check(tokenizer_count(tokenizer, text_plain(bytes, size), &counted), "counting failed");
  uint32_t count = (uint32_t)(ids->size / sizeof(uint32_t));
  if (counted != count) fail("the count is not the number of ids");
  fwrite(&count, sizeof count, 1, stdout);
  if (count > 0) fwrite(ids->bytes, sizeof count, count, stdout);   /* else there may be no block */
}

static void encode_input(const Memory *memory, const char *image) {
  Vocab *vocab;
  Tokenizer *tokenizer;
  check(vocab_open(memory, image, NULL, &vocab), image);
  check(tokenizer_new(memory, vocab, &tokenizer), "no memory");
  Buffer ids;
  buffer_init(&ids, *memory);
  for (uint32_t size; fread(&size, sizeof size, 1, stdin) == 1;) {
    char *bytes = malloc(size + (size == 0));   /* each alone, so that a sanitizer watches its end */
    if (bytes == NULL || fread(bytes, 1, size, stdin) != size) fail("a text is cut off");
    write_ids(tokenizer, bytes, size, &ids);
    free(bytes);
  }
  buffer_free(&ids);
  tokenizer_free(tokenizer);
  vocab_release(vocab);
}

int main(int argc, char **argv) {
  Memory memory = memory_system();
  if (argc == 5 && strcmp(argv[1], "count") == 0) count_file(&memory, argv[2], argv[3], strtoul(argv[4], NULL, 10));
  else if (argc == 3 && strcmp(argv[1], "ids") == 0) encode_input(&memory, argv[2]);
  else fail("tokens count IMAGE FILE PART | tokens ids IMAGE");
  return fflush(stdout) == 0 ? 0 : 2;
}
