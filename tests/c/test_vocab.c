/*
** Vocabularies and tokenizers against merging done the plain way: random
** vocabularies are trained here, texts are merged pair after pair by the lowest
** rank, and the ids compared. Pretokens are whole texts (the pattern matches nothing),
** so that long ones are common. SEED=n repeats a run.
*/
#include "check.h"

#include <string.h>

#include "tokens/merge/bpe.h"
#include "codec/sha256.h"
#include "tokens/pretoken/text_form.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab/vocab_build.h"
#include "tokens/vocab/vocab_image.h"
#include "tokens/vocab/vocab_merge.h"
#include "tokens/vocab/vocab_text.h"

#define WHOLE "(?!)\0"
enum { TOKENS_MAX = 700, TEXT_MAX = 3000, TOKEN_MAX = 200 };

/* ---- a vocabulary, trained and used plainly ---- */

typedef struct Plain {
  char bytes[TOKENS_MAX][TOKEN_MAX];
  uint32_t sizes[TOKENS_MAX], count;      /* in the order of their ranks */
  uint32_t ids[TOKENS_MAX];
  char merge_bytes[TOKENS_MAX][TOKEN_MAX];
  VocabMerge merges[TOKENS_MAX];
  VocabToken tokens[TOKENS_MAX];
} Plain;

static uint32_t plain_find(const Plain *plain, const char *bytes, size_t size) {
  for (uint32_t i = 0; i < plain->count; i++) {
    if (plain->sizes[i] == size && memcmp(plain->bytes[i], bytes, size) == 0) return i;
  }
  return UINT32_MAX;
}

/* Parts of a text, by where they start; ends[i] is where the i-th ends. */
typedef struct Cut {
  uint32_t count, ends[TEXT_MAX], ranks[TEXT_MAX];
} Cut;

static uint32_t rank_at(const Plain *plain, const char *text, const Cut *cut, uint32_t i) {
  if (i + 1 >= cut->count) return UINT32_MAX;
  uint32_t start = i == 0 ? 0 : cut->ends[i - 1];
  return plain_find(plain, text + start, cut->ends[i + 1] - start);
}

static void plain_merge(const Plain *plain, const char *text, uint32_t size, Cut *cut) {
  cut->count = size;
  for (uint32_t i = 0; i < size; i++) cut->ends[i] = i + 1;
  for (uint32_t i = 0; i < size; i++) cut->ranks[i] = rank_at(plain, text, cut, i);
  for (;;) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < cut->count; i++) {
      if (cut->ranks[i] < cut->ranks[best]) best = i;
    }
    if (cut->count == 0 || cut->ranks[best] == UINT32_MAX) return;
    memmove(&cut->ends[best], &cut->ends[best + 1], (cut->count - best - 1) * sizeof *cut->ends);
    memmove(&cut->ranks[best + 1], &cut->ranks[best + 2], (cut->count - best - 1) * sizeof *cut->ranks);
    cut->count--;
    cut->ranks[best] = rank_at(plain, text, cut, best);
    if (best > 0) cut->ranks[best - 1] = rank_at(plain, text, cut, best - 1);
  }
}

/* Letters, spaces, characters of two, three and four bytes, and now and then any byte. */
static uint32_t random_text(uint64_t *seed, char *text, uint32_t size) {
  static const char *const pretokens[] = {"a", "b", "a", "ab", " ", "\n", "é", "ж", "中", "天", "中国", "的", "😀", "aaaa",
                                          "-"};
  uint32_t used = 0;
  unsigned spread = 1 + (unsigned)(test_random(seed) % (sizeof pretokens / sizeof *pretokens));
  while (used < size) {
    const char *pretoken = pretokens[test_random(seed) % spread];
    uint32_t bytes = (uint32_t)strlen(pretoken);
    char any = (char)test_random(seed);
    if (test_random(seed) % 64 == 0) pretoken = &any, bytes = 1;
    if (used + bytes > size) break;
    memcpy(text + used, pretoken, bytes);
    used += bytes;
  }
  return used;
}

/* Merges a random pair of neighbours of a text, as often as there may be tokens. */
static void train(Plain *plain, uint64_t *seed, uint32_t merges) {
  static char text[TEXT_MAX];
  static Cut cut;
  plain->count = 256;
  for (uint32_t i = 0; i < 256; i++) {
    plain->bytes[i][0] = (char)i;
    plain->sizes[i] = 1;
  }
  for (uint32_t tries = 0; plain->count < 256 + merges && tries < 4 * merges; tries++) {
    if (tries % 32 == 0 && random_text(seed, text, 400) == 0) continue;
    uint32_t size = 300;
    plain_merge(plain, text, size, &cut);
    if (cut.count < 2) continue;
    uint32_t at = (uint32_t)(test_random(seed) % (cut.count - 1)), start = at == 0 ? 0 : cut.ends[at - 1];
    uint32_t bytes = cut.ends[at + 1] - start, left = cut.ends[at] - start, n = plain->count;
    if (bytes > TOKEN_MAX || plain_find(plain, text + start, bytes) != UINT32_MAX) continue;
    memcpy(plain->bytes[n], text + start, bytes);
    plain->sizes[n] = bytes;
    memcpy(plain->merge_bytes[n - 256], text + start, bytes);
    plain->merges[n - 256] = (VocabMerge){plain->merge_bytes[n - 256], left, bytes - left};
    plain->count++;
  }
}

/* Ids in no order, with gaps: as in a tokenizer.json. */
static void scatter_ids(Plain *plain, uint64_t *seed) {
  for (uint32_t i = 0; i < plain->count; i++) plain->ids[i] = 3 * i + 1;
  for (uint32_t i = plain->count - 1; i > 0; i--) {
    uint32_t other = (uint32_t)(test_random(seed) % (i + 1)), id = plain->ids[i];
    plain->ids[i] = plain->ids[other];
    plain->ids[other] = id;
  }
}

/* Swaps ranks, so that some tokens come before their halves. */
static void swap_ranks(Plain *plain, uint64_t *seed, uint32_t swaps) {
  for (; swaps > 0 && plain->count > 257; swaps--) {
    uint32_t a = 256 + (uint32_t)(test_random(seed) % (plain->count - 256));
    uint32_t b = 256 + (uint32_t)(test_random(seed) % (plain->count - 256)), size = plain->sizes[a];
    char bytes[TOKEN_MAX];
    memcpy(bytes, plain->bytes[a], TOKEN_MAX);
    memcpy(plain->bytes[a], plain->bytes[b], TOKEN_MAX);
    memcpy(plain->bytes[b], bytes, TOKEN_MAX);
    plain->sizes[a] = plain->sizes[b];
    plain->sizes[b] = size;
  }
}

static VocabSource source_of(Plain *plain, bool listed) {
  for (uint32_t i = 0; i < plain->count; i++) {
    if (!listed) plain->ids[i] = i;
    plain->tokens[i] = (VocabToken){.bytes = plain->bytes[i], .size = plain->sizes[i], .id = plain->ids[i]};
  }
  return (VocabSource){.name = "random", .pattern = PRETOKEN_REGEX, .regex = WHOLE, .regex_size = sizeof WHOLE,
                       .tokens = plain->tokens, .count = plain->count, .merges = listed ? plain->merges : NULL,
                       .merge_count = listed ? plain->count - 256 : 0, .wholes = !listed};
}

static Vocab *build(const Memory *memory, const VocabSource *source, Buffer *image) {
  VocabProblem problem;
  Vocab *vocab;
  buffer_init(image, *memory);
  assert_int_equal(vocab_build(memory, source, image, &problem), STATUS_OK);
  assert_int_equal(vocab_of_bytes(memory, image->bytes, image->size, &vocab), STATUS_OK);
  return vocab;
}

/* ---- random vocabularies ---- */

static void check_text(const Plain *plain, Tokenizer *tokenizer, const char *text, uint32_t size) {
  static Cut cut;
  Memory memory = memory_system();
  Buffer ids, bytes;
  uint64_t tokens;
  size_t bad;
  buffer_init(&ids, memory);
  buffer_init(&bytes, memory);
  plain_merge(plain, text, size, &cut);
  char *exact = malloc(size + 1);    /* so that reading beyond it shows */
  memcpy(exact, text, size);
  exact = realloc(exact, size > 0 ? size : 1);
  assert_int_equal(tokenizer_encode(tokenizer, text_plain(exact, size), &ids), STATUS_OK);
  assert_int_equal(ids.size / sizeof(uint32_t), cut.count);
  const uint32_t *list = (const uint32_t *)(const void *)ids.bytes;
  for (uint32_t i = 0; i < cut.count; i++) {
    uint32_t start = i == 0 ? 0 : cut.ends[i - 1];
    assert_int_equal(list[i], plain->ids[plain_find(plain, text + start, cut.ends[i] - start)]);
  }
  assert_int_equal(tokenizer_count(tokenizer, text_plain(exact, size), &tokens), STATUS_OK);
  assert_int_equal(tokens, cut.count);
  assert_int_equal(tokenizer_decode(tokenizer, list, cut.count, &bytes, &bad), STATUS_OK);
  assert_int_equal(bytes.size, size);
  assert_true(size == 0 || memcmp(bytes.bytes, text, size) == 0);
  buffer_free(&ids);
  buffer_free(&bytes);
  free(exact);
}

static void check_source(Plain *plain, uint64_t *seed, VocabSource source) {
  Memory memory = memory_system();
  Buffer image;
  char text[TEXT_MAX];
  Tokenizer *tokenizer;
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(vocab_verify(vocab), STATUS_OK);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  vocab_release(vocab);              /* the tokenizer has a share */
  for (int i = 0; i < 60; i++) {
    uint32_t most = i % 20 == 0 ? TEXT_MAX : i % 3 == 0 ? 300 : 40;
    check_text(plain, tokenizer, text, random_text(seed, text, (uint32_t)(test_random(seed) % most)));
  }
  for (uint32_t i = 0; i < plain->count; i++) check_text(plain, tokenizer, plain->bytes[i], plain->sizes[i]);
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

static void check_vocabulary(Plain *plain, uint64_t *seed, bool listed) {
  check_source(plain, seed, source_of(plain, listed));
}

/* Lists every cut of every token in two tokens, as files that were made of ranks do. */
static VocabSource list_all_cuts(Plain *plain) {
  static VocabMerge merges[TOKENS_MAX * TOKEN_MAX];
  VocabSource source = source_of(plain, true);
  uint32_t count = 0;
  for (uint32_t i = 256; i < plain->count; i++) {
    for (uint32_t left = 1; left < plain->sizes[i]; left++) {
      const char *bytes = plain->bytes[i];
      bool both = plain_find(plain, bytes, left) != UINT32_MAX &&
                  plain_find(plain, bytes + left, plain->sizes[i] - left) != UINT32_MAX;
      if (both) merges[count++] = (VocabMerge){bytes, left, plain->sizes[i] - left};
    }
  }
  source.merges = merges;
  source.merge_count = count;
  return source;
}

static uint32_t late_tokens(const VocabSource *source) {
  Memory memory = memory_system();
  Merges merges;
  VocabProblem problem;
  uint32_t late = 0;
  assert_int_equal(merges_build(&merges, &memory, source, &problem), STATUS_OK);
  for (uint32_t i = 0; i < source->count; i++) late += merges.halves[i].turn > merges.halves[i].order;
  assert_int_equal(merges.late, late > 0);
  merges_free(&merges);
  return late;
}

/* Llama 3 has such tokens, and runs of spaces in Gemma 3 are such. */
static void tokens_before_their_halves_merge_in_the_order_of_ranks(void **state) {
  (void)state;
  static Plain plain;
  uint64_t seed = test_seed();
  uint32_t late = 0;
  for (int round = 0; round < 8; round++) {
    train(&plain, &seed, 20 + (uint32_t)(test_random(&seed) % 400));
    swap_ranks(&plain, &seed, round % 2 == 0 ? 3 : 300);
    VocabSource source = source_of(&plain, false);
    source.wholes = false;               /* plain merging does not make all of them */
    late += late_tokens(&source);
    check_source(&plain, &seed, source);
    scatter_ids(&plain, &seed);
    check_source(&plain, &seed, list_all_cuts(&plain));
  }
  assert_true(late > 50);
}

static void random_vocabularies_encode_as_plain_merging_does(void **state) {
  (void)state;
  static Plain plain;
  uint64_t seed = test_seed();
  for (int round = 0; round < 6; round++) {
    train(&plain, &seed, 20 + (uint32_t)(test_random(&seed) % 400));
    check_vocabulary(&plain, &seed, false);
    scatter_ids(&plain, &seed);
    check_vocabulary(&plain, &seed, true);
  }
}

/* ---- known answers ---- */

static const char *const HAND[] = {"ab", "bc", "abc", "  ", "abcabc"};

/* The bytes and the tokens above, by rank. */
static VocabSource hand_made(Plain *plain) {
  plain->count = 256 + sizeof HAND / sizeof *HAND;
  for (uint32_t i = 0; i < 256; i++) plain->bytes[i][0] = (char)i, plain->sizes[i] = 1;
  for (uint32_t i = 256; i < plain->count; i++) {
    plain->sizes[i] = (uint32_t)strlen(HAND[i - 256]);
    memcpy(plain->bytes[i], HAND[i - 256], plain->sizes[i]);
  }
  VocabSource source = source_of(plain, false);
  source.pattern = PRETOKEN_CL100K;
  return source;
}

static void counts_escaped_texts_as_what_they_stand_for(void **state) {
  (void)state;
  static Plain plain;
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image;
  Tokenizer *tokenizer;
  uint64_t tokens;
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  Text escaped = {.bytes = "a\\u0062c\\n", .size = 10, .escaped = true};
  assert_int_equal(tokenizer_count(tokenizer, escaped, &tokens), STATUS_OK);
  assert_int_equal(tokens, 2);
  assert_int_equal(tokenizer_count(tokenizer, escaped, &tokens), STATUS_OK);   /* and nothing of the one before */
  assert_int_equal(tokens, 2);
  assert_int_equal(tokenizer_count(tokenizer, text_plain(NULL, 0), &tokens), STATUS_OK);
  assert_int_equal(tokens, 0);
  assert_int_equal(vocab_tokens(vocab), plain.count);
  vocab_release(vocab);
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

/* Bytes that look like a size must not make a pretoken look like a shorter token. */
static void tells_pretokens_from_shorter_tokens(void **state) {
  (void)state;
  static Plain plain;
  static const char *const tokens[] = {"abcdefg", "a", "abcdefghijklmno"};
  static const char *const texts[] = {"abcdefg\xFE", "a\0\0\0\0\0\0\xF8", "abcdefghijklmno\xFE"};
  static const uint32_t sizes[] = {8, 8, 16};
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image, ids;
  Tokenizer *tokenizer;
  plain.tokens[256] = (VocabToken){.bytes = tokens[0], .size = 7, .id = 256};
  plain.tokens[257] = (VocabToken){.bytes = tokens[2], .size = 15, .id = 257};
  source.count = 258;
  source.pattern = PRETOKEN_REGEX;
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  for (int i = 0; i < 3; i++) {
    buffer_init(&ids, memory);
    assert_int_equal(tokenizer_encode(tokenizer, text_plain(tokens[i], strlen(tokens[i])), &ids), STATUS_OK);
    assert_int_equal(ids.size, sizeof(uint32_t));      /* there is nothing to merge: found as a whole */
    buffer_reset(&ids);
    assert_int_equal(tokenizer_encode(tokenizer, text_plain(texts[i], sizes[i]), &ids), STATUS_OK);
    assert_int_equal(ids.size, sizes[i] * sizeof(uint32_t));
    buffer_free(&ids);
  }
  vocab_release(vocab);
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

/* Counts the text up to as many tokens as it has, and again, with all in the memo that it has room for. */
static void check_counts(const char *text, size_t size) {
  static Plain plain;
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image, ids;
  Tokenizer *tokenizer;
  uint64_t tokens;
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  buffer_init(&ids, memory);
  assert_int_equal(tokenizer_encode(tokenizer, text_plain(text, size), &ids), STATUS_OK);
  Text all = text_plain(text, size);
  assert_int_equal(tokenizer_count_up_to(tokenizer, all, ids.size / sizeof(uint32_t), &tokens), STATUS_OK);
  assert_int_equal(tokens * sizeof(uint32_t), ids.size);
  assert_int_equal(tokenizer_count(tokenizer, all, &tokens), STATUS_OK);
  assert_int_equal(tokens * sizeof(uint32_t), ids.size);
  vocab_release(vocab);
  tokenizer_free(tokenizer);
  buffer_free(&ids);
  buffer_free(&image);
}

static void add_token(Plain *plain, const char *bytes) {
  plain->sizes[plain->count] = (uint32_t)strlen(bytes);
  memcpy(plain->bytes[plain->count++], bytes, strlen(bytes));
}

/* A token between walls is one part only if it is merged before what is merged at both of them, and if merging makes it
   at all. Walls here are borders across which nothing is merged before token 300. */
static void takes_words_only_for_what_merging_makes_of_them(void **state) {
  (void)state;
  static Plain plain;
  Memory memory = memory_system();
  Buffer image;
  Tokenizer *tokenizer;
  plain.count = 256;
  for (uint32_t i = 0; i < 256; i++) plain.bytes[i][0] = (char)i, plain.sizes[i] = 1;
  add_token(&plain, "bc");
  add_token(&plain, "cd");
  add_token(&plain, "ab");
  add_token(&plain, "abcd");             /* never made: "bc" comes first */
  add_token(&plain, "ef");
  add_token(&plain, "fg");
  for (uint32_t i = 0; plain.count < 301; i++) add_token(&plain, (char[]){'0', (char)('0' + i), '\0'});
  add_token(&plain, "gh");               /* before "efg", to its right */
  add_token(&plain, "de");               /* before "efg", to its left */
  add_token(&plain, "efg");
  VocabSource source = source_of(&plain, false);
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  vocab_release(vocab);
  static const char *const texts[] = {"zzzabcdzzz", "zzzefgzzz", "zzzefghzzz", "zzzdefgzzz", "zzzdefghzzz"};
  for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {   /* twice: nothing stays of a text that is gone */
    const char *text = texts[i % (sizeof texts / sizeof *texts)];
    check_text(&plain, tokenizer, text, (uint32_t)strlen(text));
  }
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

/* More pretokens than the count cache has places for. */
static void counts_many_pretokens_as_it_encodes_them(void **state) {
  (void)state;
  static char text[400000];
  uint64_t seed = test_seed();
  size_t size = 0;
  while (size < sizeof text - 16) {
    text[size++] = ' ';
    for (uint64_t n = 3 + test_random(&seed) % 9; n > 0; n--) text[size++] = "abcd"[test_random(&seed) % 4];
  }
  check_counts(text, size);
}

/* Pretokens of all sizes, most of which come again: at once, while they wait to be merged, and much later. */
static void counts_names_that_come_again_as_it_encodes_them(void **state) {
  (void)state;
  enum { NAMES = 3000, LONGEST = 150 };
  static char text[400000], names[NAMES][LONGEST];
  static size_t sizes[NAMES];
  uint64_t seed = test_seed();
  size_t size = 0;
  for (size_t i = 0; i < NAMES; i++) {
    sizes[i] = 1 + test_random(&seed) % (test_random(&seed) % 2 == 0 ? 12 : LONGEST);
    for (size_t k = 0; k < sizes[i]; k++) names[i][k] = "abcd"[test_random(&seed) % 4];
  }
  for (size_t from = 0; size < sizeof text - LONGEST - 1; from += test_random(&seed) % 4) {
    size_t name = (from + test_random(&seed) % 8) % NAMES;
    text[size++] = ' ';
    memcpy(text + size, names[name], sizes[name]);
    size += sizes[name];
  }
  check_counts(text, size);
}

/* Eight bytes, no UTF-8, that the memo's keys cannot tell from fewer. */
static void counts_bytes_that_look_like_shorter_pretokens(void **state) {
  (void)state;
  static char text[60000];
  uint64_t seed = test_seed();
  size_t size = 0;
  while (size < sizeof text - 32) {
    size_t fewer = 1 + test_random(&seed) % 7;
    char eight[8] = {0};
    for (size_t i = 0; i < fewer; i++) eight[i] = "!?.;"[test_random(&seed) % 4];
    text[size++] = 'a';
    memcpy(text + size, eight, fewer);
    size += fewer;
    if (test_random(&seed) % 4 != 0) continue;
    text[size++] = 'a';
    eight[7] = (char)(0xF7 + fewer);
    memcpy(text + size, eight, 8);
    size += 8;
  }
  check_counts(text, size);
}

static void stops_counting_above_the_limit(void **state) {
  (void)state;
  static Plain plain;
  static char text[40000];
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image;
  Tokenizer *tokenizer;
  uint64_t tokens;
  Vocab *vocab = build(&memory, &source, &image);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  for (size_t i = 0; i < sizeof text; i += 4) memcpy(text + i, "abc.", 4);
  Text all = text_plain(text, sizeof text);
  assert_int_equal(tokenizer_count_up_to(tokenizer, all, 100, &tokens), STATUS_OK);
  assert_true(tokens > 100 && tokens <= 100 + 2 * PRETOKEN_BATCH);   /* ".abc" is one pretoken, and two tokens */
  assert_int_equal(tokenizer_count_up_to(tokenizer, all, 20000, &tokens), STATUS_OK);
  assert_int_equal(tokens, 20000);
  vocab_release(vocab);
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

/* Whatever waits for merging when the last pretokens come. */
static void counts_up_to_a_limit_that_is_just_reached(void **state) {
  (void)state;
  static Plain plain;
  static char text[3000];
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image;
  uint64_t seed = test_seed(), all = 0, tokens = 0;
  Vocab *vocab = build(&memory, &source, &image);
  for (size_t i = 0; i < sizeof text; i += 3) {
    text[i] = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~"[test_random(&seed) % 31];
    memcpy(text + i + 1, test_random(&seed) % 2 == 0 ? "ab" : "bc", 2);   /* two parts */
  }
  for (size_t size = 1200; size <= sizeof text; size += 3) {   /* the last batch has one pretoken, or many */
    Tokenizer *tokenizer;
    assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
    assert_int_equal(tokenizer_count(tokenizer, text_plain(text, size), &all), STATUS_OK);
    tokenizer_free(tokenizer);
    assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
    assert_int_equal(tokenizer_count_up_to(tokenizer, text_plain(text, size), all, &tokens), STATUS_OK);
    tokenizer_free(tokenizer);
    assert_int_equal(tokens, all);
  }
  vocab_release(vocab);
  buffer_free(&image);
}

static void refuses_ids_that_are_no_tokens(void **state) {
  (void)state;
  static Plain plain;
  Memory memory = memory_system();
  VocabSource source = hand_made(&plain);
  Buffer image, bytes;
  Tokenizer *tokenizer;
  size_t bad = 99;
  Vocab *vocab = build(&memory, &source, &image);
  buffer_init(&bytes, memory);
  assert_int_equal(tokenizer_new(&memory, vocab, &tokenizer), STATUS_OK);
  uint32_t ids[] = {97, 258, 261, UINT32_MAX};
  assert_int_equal(tokenizer_decode(tokenizer, ids, 2, &bytes, &bad), STATUS_OK);
  assert_memory_equal(bytes.bytes, "aabc", 4);
  assert_int_equal(tokenizer_decode(tokenizer, ids, 4, &bytes, &bad), STATUS_RANGE);
  assert_int_equal(bad, 2);
  assert_int_equal(bytes.size, 4);
  vocab_release(vocab);
  tokenizer_free(tokenizer);
  buffer_free(&bytes);
  buffer_free(&image);
}

static void refuses_what_it_could_not_encode_exactly(void **state) {
  (void)state;
  static Plain plain;
  Memory memory = memory_system();
  VocabProblem problem;
  Buffer image;
  buffer_init(&image, memory);
  VocabSource source = hand_made(&plain);
  source.count = 255;
  assert_int_equal(vocab_build(&memory, &source, &image, &problem), STATUS_SHAPE);
  assert_non_null(strstr(problem.expected, "256 single bytes"));

  source = hand_made(&plain);
  plain.tokens[256].bytes = "bc";
  assert_int_equal(vocab_build(&memory, &source, &image, &problem), STATUS_DUPLICATE);
  assert_int_equal(problem.token, 257);
  assert_int_equal(image.size, 0);
  buffer_free(&image);
}

/* ---- .tiktoken ---- */

static void refuses_lines_by_number(void **state) {
  (void)state;
  static const struct { const char *text; uint32_t line; const char *expected; Status status; } cases[] = {
    {"", 0, "in each line", STATUS_SYNTAX},
    {"IQ== 0\nIg= 1\n", 2, "base64", STATUS_SYNTAX},
    {"IQ== 0\nI*== 1\n", 2, "base64", STATUS_SYNTAX},
    {"IR== 0\n", 1, "base64", STATUS_SYNTAX},
    {"IQ==\n", 1, "rank", STATUS_SYNTAX},
    {"IQ== x\n", 1, "rank", STATUS_SYNTAX},
    {"IQ== 1234567890\n", 1, "rank", STATUS_SYNTAX},
    {"\nIQ== 1\r\nIg== 1\n", 3, "above", STATUS_SYNTAX},
    {" 1\n", 1, "base64", STATUS_SYNTAX},
  };
  Memory memory = memory_system();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    VocabText text;
    VocabTextError error;
    assert_int_equal(vocab_text_read(&memory, cases[i].text, strlen(cases[i].text), &text, &error), cases[i].status);
    assert_int_equal(error.line, cases[i].line);
    assert_non_null(strstr(error.expected, cases[i].expected));
    vocab_text_free(&text);
  }
}

static void reads_tokens_and_ranks(void **state) {
  (void)state;
  Memory memory = memory_system();
  VocabText text;
  VocabTextError error;
  static const char file[] = "IQ== 0\r\n\nYWI= 7\nYWJj 9";
  assert_int_equal(vocab_text_read(&memory, file, sizeof file - 1, &text, &error), STATUS_OK);
  assert_int_equal(text.count, 3);
  assert_memory_equal(text.tokens[1].bytes, "ab", 2);
  assert_memory_equal(text.tokens[2].bytes, "abc", 3);
  assert_int_equal(text.tokens[2].size, 3);
  assert_int_equal(text.tokens[2].id, 9);
  vocab_text_free(&text);
}

/* ---- images that are damaged ---- */

/* Uses an image as if nothing were wrong: it must only not crash. */
static void use(const Memory *memory, const char *bytes, size_t size) {
  Vocab *vocab;
  Tokenizer *tokenizer;
  uint64_t tokens;
  static const char text[] = "abcabc  abc 中国 aaaa\xff\xfe bcabcbc e\xCC\x81 \xE2\x96\x81 aaaaaaaaaaaa\n"
                             "abcabcbcababcabcbcababcabcabcbcababcabcbcababcaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab中天";
  if (vocab_of_bytes(memory, bytes, size, &vocab) != STATUS_OK) return;
  vocab_verify(vocab);
  if (tokenizer_new(memory, vocab, &tokenizer) == STATUS_OK) {
    Buffer ids, out;
    size_t bad;
    buffer_init(&ids, *memory);
    buffer_init(&out, *memory);
    assert_int_equal(tokenizer_count(tokenizer, text_plain(text, sizeof text - 1), &tokens), STATUS_OK);
    assert_int_equal(tokenizer_encode(tokenizer, text_plain(text, sizeof text - 1), &ids), STATUS_OK);
    tokenizer_decode(tokenizer, (const uint32_t *)(const void *)ids.bytes, ids.size / 4, &out, &bad);
    buffer_free(&ids);
    buffer_free(&out);
    tokenizer_free(tokenizer);
  }
  vocab_release(vocab);
}

static void seal(char *bytes) {
  VocabHeader *header = (VocabHeader *)(void *)bytes;
  header->header_sum = vocab_sum(header, offsetof(VocabHeader, header_sum));
}

static void finds_damage_and_survives_it(void **state) {
  (void)state;
  static Plain plain;
  Memory memory = memory_system();
  static const VocabAtom atoms[] = {{"abc ", 4, 'a'}, {"aaaaaaaaaaaa", 12, 257}};
  VocabSource source = hand_made(&plain);
  plain.tokens[256] = (VocabToken){.bytes = "abc", .size = 3, .id = 256};     /* late: before "bc" */
  plain.tokens[258] = (VocabToken){.bytes = "ab", .size = 2, .id = 258};
  source.atoms = atoms;
  source.atom_count = 2;
  source.forms = TEXT_NFC | TEXT_SPACES;
  Buffer image;
  Vocab *vocab = build(&memory, &source, &image);
  uint64_t seed = test_seed();
  vocab_release(vocab);
  char *copy = malloc(image.size);
  for (size_t i = 0; i < sizeof(VocabHeader); i++) {
    memcpy(copy, image.bytes, image.size);
    copy[i] = (char)(copy[i] ^ 0x41);
    assert_int_equal(vocab_of_bytes(&memory, copy, image.size, &vocab), STATUS_SYNTAX);
    if (i < offsetof(VocabHeader, header_sum)) seal(copy);
    use(&memory, copy, image.size);          /* a header made on purpose */
  }
  for (int which = 0; which < SECTION_COUNT; which++) {
    VocabHeader *header = (VocabHeader *)(void *)copy;
    bool counted = which == SECTION_SHORT_NUMBERS || which == SECTION_MIDDLE_NUMBERS || which == SECTION_BYTE_PAIRS ||
                   which == SECTION_ROOTS || which == SECTION_TOKENS || which == SECTION_IDS ||
                   which == SECTION_BY_ID || which == SECTION_ATOM_STARTS || which == SECTION_ORDERS ||
                   which == SECTION_LATES;
    memcpy(copy, image.bytes, image.size);
    counted = counted && header->sections[which].size >= 64;
    header->sections[which].size -= counted ? 64 : 0;
    seal(copy);
    if (counted) assert_int_equal(vocab_of_bytes(&memory, copy, image.size, &vocab), STATUS_SYNTAX);
    header->sections[which].size = image.size;
    seal(copy);
    assert_int_equal(vocab_of_bytes(&memory, copy, image.size, &vocab), STATUS_SYNTAX);
  }
  for (uint32_t number = 256; number < source.count; number++) {    /* tokens that are their own halves */
    VocabHeader *header = (VocabHeader *)(void *)copy;
    memcpy(copy, image.bytes, image.size);
    TokenRecord *records = (TokenRecord *)(void *)(copy + header->sections[SECTION_TOKENS].offset);
    records[number].halves = pack_halves(number, number);
    use(&memory, copy, image.size);
  }
  for (int i = 0; i < 3000; i++) {
    size_t at = sizeof(VocabHeader) + (size_t)(test_random(&seed) % (image.size - sizeof(VocabHeader)));
    memcpy(copy, image.bytes, image.size);
    copy[at] = (char)(copy[at] ^ (1 + (int)(test_random(&seed) % 255)));
    assert_int_equal(vocab_of_bytes(&memory, copy, image.size, &vocab), STATUS_OK);
    assert_int_equal(vocab_verify(vocab), STATUS_SYNTAX);
    vocab_release(vocab);
    use(&memory, copy, image.size);
  }
  for (size_t size = 0; size < image.size; size += 97) {
    assert_int_equal(vocab_of_bytes(&memory, copy, size, &vocab), STATUS_SYNTAX);
  }
  free(copy);
  buffer_free(&image);
}

static void refuses_files_that_are_no_images(void **state) {
  (void)state;
  Memory memory = memory_system();
  Vocab *vocab;
  assert_int_equal(vocab_open(&memory, "no/such/file", NULL, &vocab), STATUS_ABSENT);
  assert_int_equal(vocab_open(&memory, "tests", NULL, &vocab), STATUS_SYNTAX);
  assert_int_equal(vocab_open(&memory, "Makefile", NULL, &vocab), STATUS_SYNTAX);
}

/* ---- out of memory ---- */

static Status build_and_use(const Memory *memory, const VocabSource *source, const char *text, size_t size) {
  Buffer image, ids;
  VocabProblem problem;
  Vocab *vocab = NULL;
  Tokenizer *tokenizer = NULL;
  uint64_t tokens = 77;
  buffer_init(&image, *memory);
  buffer_init(&ids, *memory);
  Status status = vocab_build(memory, source, &image, &problem);
  assert_int_equal(status == STATUS_OK, image.size > 0);
  if (status == STATUS_OK) status = vocab_of_bytes(memory, image.bytes, image.size, &vocab);
  if (status == STATUS_OK) status = tokenizer_new(memory, vocab, &tokenizer);
  if (status == STATUS_OK) status = tokenizer_count(tokenizer, text_plain(text, size), &tokens);
  Text escaped = {.bytes = text, .size = size, .escaped = true};
  if (status == STATUS_OK) status = tokenizer_count(tokenizer, escaped, &tokens);
  if (status == STATUS_OK) status = tokenizer_encode(tokenizer, text_plain(text, size), &ids);
  if (status != STATUS_OK) assert_int_equal(ids.size, 0);
  tokenizer_free(tokenizer);
  vocab_release(vocab);
  buffer_free(&ids);
  buffer_free(&image);
  return status;
}

/* The k-th allocation fails, for every k, from then on or once. */
static void sweep(const VocabSource *source, const char *text, size_t size) {
  for (int once = 0; once < 2; once++) {
    size_t tries = 0;
    for (Status status = STATUS_MEMORY; status != STATUS_OK; tries++) {
      Fail fail = {.fail_at = tries + 1, .once = once};
      Memory memory = fail_memory(&fail);
      status = build_and_use(&memory, source, text, size);
      assert_int_equal(fail.in_use, 0);
      if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
      if (once && fail.calls < fail.fail_at) break;
    }
    assert_true(tries > 10);
    printf("swept: %zu allocations\n", tries);
  }
}

static void survives_running_out_of_memory(void **state) {
  (void)state;
  static Plain plain;
  char text[2000];
  uint64_t seed = 5;
  for (size_t i = 0; i < sizeof text; i++) text[i] = "abc "[i % 4];
  memset(text + 500, 'a', 1000);
  VocabSource source = hand_made(&plain);
  sweep(&source, text, sizeof text);
  train(&plain, &seed, 60);
  scatter_ids(&plain, &seed);
  source = source_of(&plain, true);
  sweep(&source, text, 400);
}

/* ---- SHA-256: the examples of FIPS 180-4 ---- */

static void knows_sha256(void **state) {
  (void)state;
  static const struct { const char *text; uint8_t start[4]; } cases[] = {
    {"", {0xe3, 0xb0, 0xc4, 0x42}},
    {"abc", {0xba, 0x78, 0x16, 0xbf}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x24, 0x8d, 0x6a, 0x61}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t digest[32];
    sha256(cases[i].text, strlen(cases[i].text), digest);
    assert_memory_equal(digest, cases[i].start, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_vocabularies_encode_as_plain_merging_does),
    cmocka_unit_test(tokens_before_their_halves_merge_in_the_order_of_ranks),
    cmocka_unit_test(counts_escaped_texts_as_what_they_stand_for),
    cmocka_unit_test(tells_pretokens_from_shorter_tokens),
    cmocka_unit_test(takes_words_only_for_what_merging_makes_of_them),
    cmocka_unit_test(counts_many_pretokens_as_it_encodes_them),
    cmocka_unit_test(counts_names_that_come_again_as_it_encodes_them),
    cmocka_unit_test(counts_bytes_that_look_like_shorter_pretokens),
    cmocka_unit_test(stops_counting_above_the_limit),
    cmocka_unit_test(counts_up_to_a_limit_that_is_just_reached),
    cmocka_unit_test(refuses_ids_that_are_no_tokens),
    cmocka_unit_test(refuses_what_it_could_not_encode_exactly),
    cmocka_unit_test(refuses_lines_by_number),
    cmocka_unit_test(reads_tokens_and_ranks),
    cmocka_unit_test(finds_damage_and_survives_it),
    cmocka_unit_test(refuses_files_that_are_no_images),
    cmocka_unit_test(survives_running_out_of_memory),
    cmocka_unit_test(knows_sha256),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
