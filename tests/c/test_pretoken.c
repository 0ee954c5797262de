/*
** Pretokens: cases by hand for each rule of the three patterns; then any text, where
** the wide path must cut as the rules do, at every offset, and read nothing that
** is not the text's.
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#include "os/os.h"
#include "tokens/pretoken/class.h"
#include "tokens/pretoken/pretoken.h"

enum { TEXT_MAX = 4096, PATTERNS = PRETOKEN_GPT2 + 1 };

/* Cuts the next pretokens and writes the ends of all, also of those of one byte,
   which are not listed. Answers how many. */
static size_t cut_next(PretokenScanner *scanner, size_t *ends) {
  size_t starts[PRETOKEN_BATCH], stops[PRETOKEN_BATCH], at = scanner->at, count = 0;
  uint32_t listed = pretoken_next(scanner, starts, stops);
  assert_true(listed <= PRETOKEN_BATCH && scanner->at > at && scanner->at <= scanner->size);
  for (uint32_t i = 0; i < listed; i++) {
    assert_true(starts[i] >= at && stops[i] > starts[i] + 1 && stops[i] <= scanner->at);
    while (at < starts[i]) ends[count++] = ++at;
    at = ends[count++] = stops[i];
  }
  while (at < scanner->at) ends[count++] = ++at;
  assert_int_equal(scanner->singles, count - listed);
  return count;
}

/* Cuts the text, checks that its pretokens are some and make up all of it, and
   answers how many; `ends` has room for `size`. */
static size_t cut(PretokenPattern pattern, bool portable, const char *bytes, size_t size, size_t *ends) {
  PretokenScanner scanner = pretoken_start(pattern, bytes, size);
  scanner.portable = portable;
  size_t count = 0;
  while (scanner.at < size) count += cut_next(&scanner, ends + count);
  assert_int_equal(scanner.at, size);
  return count;
}

/* What the text is cut into, with a bar between each two pretokens. */
static void show_cuts(PretokenPattern pattern, bool portable, const char *text, char *shown) {
  size_t ends[TEXT_MAX], at = 0;
  size_t count = cut(pattern, portable, text, strlen(text), ends);
  for (size_t i = 0; i < count; at = ends[i++]) {
    if (i > 0) *shown++ = '|';
    memcpy(shown, text + at, ends[i] - at);
    shown += ends[i] - at;
  }
  *shown = '\0';
}

static void strip_bars(const char *cuts, char *text) {
  for (; *cuts != '\0'; cuts++) {
    if (*cuts != '|') *text++ = *cuts;
  }
  *text = '\0';
}

#define E_ACUTE  "\xC3\xA9"
#define LONG_S   "\xC5\xBF"           /* U+017F */
#define TITLE    "\xC7\x85"           /* U+01C5, Lt */
#define ACUTE    "\xCC\x81"           /* U+0301, a mark */
#define MODIFIER "\xE1\xB5\x83"       /* U+1D43, Lm */
#define HAN      "\xE4\xB8\xAD"
#define WIDE_GAP "\xE3\x80\x80"       /* U+3000, a space */
#define BOM      "\xEF\xBB\xBF"
#define HALF     "\xC2\xBD"           /* U+00BD, No */
#define SMILE    "\xF0\x9F\x98\x80"

static void rules_by_hand(void **state) {
  (void)state;
  static const struct {
    const char *name, *cuts[PATTERNS];   /* cl100k, o200k, gpt2; NULL: as cl100k */
  } cases[] = {
    {"no text has no pretokens", {"", NULL, NULL}},
    {"a word takes the blank before it", {"I| am| here", NULL, NULL}},
    {"a word takes one other before it", {"(a|.b|\tc", NULL, "(|a|.|b|\t|c"}},
    {"but none of two, nor one that has its blank", {"((|a| .|b", NULL, NULL}},
    {"nor a newline", {"\n|a", NULL, NULL}},
    {"the last space goes with a word", {"a|  | b|\n|\tc", NULL, "a|  | b|\n|\t|c"}},
    {"but not with a number", {"a|  | |1", NULL, "a|  | 1"}},
    {"numbers go by three", {"123|456|7| |12|a|" HALF "12|34", NULL, "1234567| 12|a|" HALF "1234"}},
    {"others take a blank", {"a| ==| =", NULL, NULL}},
    {"and the newlines after them", {";\r\n\n| |1", NULL, ";|\r\n\n| 1"}},
    {"and in o200k slashes", {"//\n|//\n| a|!\n|/!", "//\n//\n| a|!\n/|!", "//|\n|//|\n| a|!|\n|/!"}},
    {"a slash alone is no newline", {"\n|/aa|/\n|a", NULL, "\n|/|aa|/|\n|a"}},
    {"space ends after its last newline", {"a| \n \n|  | a", NULL, "a| \n \n  | a"}},
    {"at the end it stays whole", {"a|   ", NULL, NULL}},
    {"but for its newlines", {"a| \n|  ", NULL, "a| \n  "}},
    {"other spaces count, U+FEFF does not",
     {WIDE_GAP "a|" WIDE_GAP "|1|" BOM "a|" BOM "|1", NULL, WIDE_GAP "|a|" WIDE_GAP "|1|" BOM "|a|" BOM "|1"}},
    {"contractions", {"it|'s| we|'ll| I|'d|'ve", "it's| we'll| I'd|'ve", "it|'s| we|'ll| I|'d|'ve"}},
    {"in capitals, and U+017F", {"IT|'S|'rE|'" LONG_S "|a", "IT'S|'r|E'" LONG_S "|a", "IT|'|S|'|rE|'|" LONG_S "a"}},
    {"letters after them stand alone", {"'s|abc| it|'s|abc", "'sabc| it's|abc", "'s|abc| it|'s|abc"}},
    {"others before the apostrophe keep it", {"!'|s| '|s", NULL, NULL}},
    {"letters that are none", {"o|'clock| '|em|'l", "o|'clock| '|em|'l", "o|'|clock| '|em|'|l"}},
    {"o200k parts small from capital",
     {"camelCase| HTTPServer| ABC", "camel|Case| HTTPServer| ABC", "camelCase| HTTPServer| ABC"}},
    {"caseless letters go with both",
     {HAN "a" HAN "Ba" HAN "Bc", HAN "a" HAN "|Ba" HAN "|Bc", NULL}},
    {"capitals after caseless ones",
     {HAN "AB| " HAN "ABc| " HAN "A" HAN "B", HAN "|AB| " HAN "ABc| " HAN "A" HAN "|B", NULL}},
    {"titles are capital, modifiers caseless",
     {"a" TITLE "a" MODIFIER "A", "a|" TITLE "a" MODIFIER "|A", NULL}},
    {"marks are others, in o200k letters too",
     {"e|" ACUTE "a|!" ACUTE "|1|" ACUTE ACUTE "\n",
      "e" ACUTE "a|!" ACUTE "|1|" ACUTE ACUTE "|\n",
      "e|" ACUTE "|a|!" ACUTE "|1|" ACUTE ACUTE "|\n"}},
    {"a mark before capitals stays alone", {ACUTE "AB| |1", ACUTE "|AB| |1", ACUTE "|AB| 1"}},
    {"with a contraction of its own", {"1|" ACUTE "'|s", "1|" ACUTE "'s", "1|" ACUTE "'|s"}},
    {"symbols beyond the BMP", {SMILE SMILE "|1| " SMILE "|a", NULL, NULL}},
    {"bytes that are no UTF-8 are others, each one",
     {"\xFF" "a|\x80\x80|a| \xE4\xB8|1|\xED\xA0\x80|a|\xED\xA0\x80\n", NULL,
      "\xFF|a|\x80\x80|a| \xE4\xB8|1|\xED\xA0\x80|a|\xED\xA0\x80|\n"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (PretokenPattern pattern = PRETOKEN_CL100K; pattern <= PRETOKEN_GPT2; pattern++) {
      const char *expected = cases[i].cuts[pattern] != NULL ? cases[i].cuts[pattern] : cases[i].cuts[PRETOKEN_CL100K];
      char text[TEXT_MAX], rules[2 * TEXT_MAX], wide[2 * TEXT_MAX];
      strip_bars(expected, text);
      show_cuts(pattern, true, text, rules);
      show_cuts(pattern, false, text, wide);
      if (strcmp(rules, expected) != 0 || strcmp(wide, expected) != 0) {
        fail_msg("%s, %s: [%s], rules [%s], wide [%s]", cases[i].name, pretoken_pattern_name(pattern), expected, rules,
                 wide);
      }
    }
  }
}

/* Runs of any length are one pretoken; that of numbers has three in each. */
static void long_runs(void **state) {
  (void)state;
  enum { COUNT = 100000 };
  static const char *const runs[] = {"a", "A", " ", "\n", "!", HAN, "1"};
  char *text = malloc(3 * COUNT);
  size_t *ends = malloc(3 * COUNT * sizeof *ends);
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    size_t size = strlen(runs[i]);
    for (size_t at = 0; at < COUNT; at++) memcpy(text + at * size, runs[i], size);
    for (PretokenPattern pattern = PRETOKEN_CL100K; pattern <= PRETOKEN_GPT2; pattern++) {
      size_t expected = runs[i][0] == '1' && pattern != PRETOKEN_GPT2 ? (COUNT + 2) / 3 : 1;
      assert_int_equal(cut(pattern, true, text, COUNT * size, ends), expected);
      assert_int_equal(cut(pattern, false, text, COUNT * size, ends), expected);
    }
  }
  free(ends);
  free(text);
}

static void patterns_have_names(void **state) {
  (void)state;
  for (PretokenPattern pattern = PRETOKEN_CL100K; pattern <= PRETOKEN_GPT2; pattern++) {
    PretokenPattern found = pattern == PRETOKEN_CL100K ? PRETOKEN_GPT2 : PRETOKEN_CL100K;
    assert_true(pretoken_pattern_parse(pretoken_pattern_name(pattern), &found));
    assert_int_equal(found, pattern);
  }
  PretokenPattern unchanged = PRETOKEN_GPT2;
  assert_false(pretoken_pattern_parse("cl100", &unchanged));
  assert_false(pretoken_pattern_parse(pretoken_pattern_name(PRETOKEN_REGEX), &unchanged));
  assert_int_equal(unchanged, PRETOKEN_GPT2);
}

static void classes_of_unicode_16(void **state) {
  (void)state;
  static const struct { uint32_t point; Class class; } cases[] = {
    {'!', CLASS_OTHER}, {'A', CLASS_UPPER}, {'z', CLASS_LOWER}, {'7', CLASS_NUMBER}, {' ', CLASS_SPACE},
    {'\n', CLASS_NEWLINE}, {'\r', CLASS_NEWLINE}, {'\v', CLASS_SPACE}, {0x1C, CLASS_OTHER}, {0x85, CLASS_SPACE},
    {0xA0, CLASS_SPACE}, {0xAA, CLASS_LETTER}, {0xB2, CLASS_NUMBER}, {0x01C5, CLASS_UPPER}, {0x0301, CLASS_MARK},
    {0x0488, CLASS_MARK}, {0x0903, CLASS_MARK}, {0x180E, CLASS_OTHER}, {0x1D43, CLASS_LETTER}, {0x2028, CLASS_SPACE},
    {0x200B, CLASS_OTHER}, {0x2167, CLASS_NUMBER}, {0x3000, CLASS_SPACE}, {0x4E00, CLASS_LETTER}, {0xFEFF, CLASS_OTHER},
    {0x1C89, CLASS_UPPER}, {0x1C8A, CLASS_LOWER}, {0x10D40, CLASS_NUMBER},   /* since 16.0 */
    {0x088F, CLASS_OTHER}, {0x18D19, CLASS_OTHER},                           /* letters only since 17.0 */
    {0x1F600, CLASS_OTHER}, {0x323AF, CLASS_LETTER}, {0x323B0, CLASS_OTHER}, {0x3FFFF, CLASS_OTHER},
    {0x40000, CLASS_OTHER}, {0xE0001, CLASS_OTHER}, {0xE0100, CLASS_MARK}, {0xE01EF, CLASS_MARK},
    {0xE01F0, CLASS_OTHER}, {0xE1000, CLASS_OTHER}, {0x10FFFF, CLASS_OTHER},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Class class = class_of(cases[i].point);
    if (class != cases[i].class) fail_msg("U+%04X is of class %d", cases[i].point, class);
  }
}

/* A copy of the text that ends where memory that may be read does. */
typedef struct Fence {
  char *pages;
  size_t page;
} Fence;

static Fence fence_new(void) {
  Fence fence = {.page = (size_t)sysconf(_SC_PAGESIZE)};
  fence.pages = mmap(NULL, 3 * fence.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(fence.pages, MAP_FAILED);
  assert_int_equal(mprotect(fence.pages + 2 * fence.page, fence.page, PROT_NONE), 0);
  return fence;
}

static char *fence_copy(Fence *fence, const char *bytes, size_t size) {
  assert_true(size <= 2 * fence->page);
  char *copy = fence->pages + 2 * fence->page - size;
  memcpy(copy, bytes, size);
  return copy;
}

static void paths_agree(const char *bytes, size_t size) {
  size_t *rules = malloc((size + 1) * sizeof *rules), *wide = malloc((size + 1) * sizeof *wide);
  for (PretokenPattern pattern = PRETOKEN_CL100K; pattern <= PRETOKEN_GPT2; pattern++) {
    size_t count = cut(pattern, true, bytes, size, rules), i = 0;
    size_t other = cut(pattern, false, bytes, size, wide);
    while (i < count && i < other && rules[i] == wide[i]) i++;
    if (i == count && i == other) continue;
    size_t from = i == 0 ? 0 : rules[i - 1];
    int shown = (int)(size - from > 80 ? 80 : size - from);
    fail_msg("%s: pretoken %zu, from %zu on, ends at %zu by the rules, wide at %zu: [%.*s]",
             pretoken_pattern_name(pattern),
             i, from, rules[i], wide[i], shown, bytes + from);
  }
  free(rules);
  free(wide);
}

/* Words that random texts are made of: each the beginning of some rule. */
static const char *const words[] = {
  "a", "s", "t", "ll", "A", "S", "VE", "z", "'", "'s", "'re", "'LL", "I'd've", "'" LONG_S, LONG_S, "\n", "\r\n", "\r",
  " ", "  ", "\t", "        ", "/", "//", "!", ".", "0", "12", "1234567", HALF, ACUTE, ACUTE ACUTE, E_ACUTE, TITLE,
  MODIFIER, HAN, HAN HAN HAN, WIDE_GAP, "\xC2\xA0",
  "\xC2\x85", BOM, "\xE1\xA0\x8E", SMILE, "\xE2\x80\x99", "\xE2\x80\x9C",
  "\xEF\xB8\x8F", "\xD0\x96", "\xD0\xB6", "\x80", "\xC3", "\xE4\xB8", "\xED\xA0\x80", "\xF0\x9F\x98", "\xFF",
  "\xF3\xA0\x84\x80", "abcdefghijklmnopqrstuvwxyz",
};

/* A text of some of the words, few of them in most texts, so that runs are long. */
static size_t random_text(uint64_t *seed, char text[TEXT_MAX]) {
  const size_t all = sizeof words / sizeof *words;
  size_t few = 1 + test_random(seed) % (test_random(seed) % 4 == 0 ? all : 6), chosen[8], size = 0;
  size_t most = test_random(seed) % (test_random(seed) % 8 == 0 ? TEXT_MAX : 200);
  for (size_t i = 0; i < 8; i++) chosen[i] = test_random(seed) % all;
  for (;;) {
    const char *word = words[few <= 6 ? chosen[test_random(seed) % few] : test_random(seed) % all];
    if (size + strlen(word) > most) return size;
    memcpy(text + size, word, strlen(word));
    size += strlen(word);
  }
}

static void random_texts_are_cut_alike(void **state) {
  (void)state;
  uint64_t seed = test_seed();
  const char *steps = getenv("STEPS");
  size_t rounds = steps != NULL ? strtoull(steps, NULL, 10) / 5 : 20000;
  Fence fence = fence_new();
  char text[TEXT_MAX];
  for (size_t i = 0; i < rounds; i++) {
    size_t size = random_text(&seed, text);
    paths_agree(fence_copy(&fence, text, size), size);
  }
  munmap(fence.pages, 3 * fence.page);
}

/* Each two words next to each other, at each place of a window, with letters, blanks or numbers before and after. */
static void every_pair_at_every_offset(void **state) {
  (void)state;
  const size_t all = sizeof words / sizeof *words;
  static const char *const fillers[] = {"ab ", "x", "1", "  "};
  Fence fence = fence_new();
  char text[TEXT_MAX];
  for (size_t pair = 0; pair < all * all; pair++) {
    for (size_t offset = 40; offset < 72; offset++) {
      const char *filler = fillers[(pair + offset) % 4];
      size_t size = 0, width = strlen(filler);
      while (size < offset) text[size] = filler[size % width], size++;
      size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", words[pair / all], words[pair % all]);
      for (size_t end = size + 80; size < end; size++) text[size] = filler[size % width];
      paths_agree(fence_copy(&fence, text, size), size);
    }
  }
  munmap(fence.pages, 3 * fence.page);
}

static void agree_on_file(const char *path) {
  Memory memory = memory_system();
  char *bytes;
  size_t size, capacity;
  assert_int_equal(file_read(&memory, path, SIZE_MAX, &bytes, &size, &capacity), STATUS_OK);
  paths_agree(bytes, size);
  memory_free(&memory, bytes, capacity);
}

static void agree_on_files(const char *folder) {
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort);
  assert_true(count >= 0);
  for (int i = 0; i < count; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    bool folder_itself = entries[i]->d_name[0] == '.', inner = entries[i]->d_type == DT_DIR;
    free(entries[i]);
    if (folder_itself) continue;
    if (inner) agree_on_files(path);
    else agree_on_file(path);
  }
  free(entries);
}

static void real_conversations_are_cut_alike(void **state) {
  (void)state;
  const char *shared = getenv("EBB_SHARED");
  if (shared == NULL) {
    printf("SKIPPED: real conversations, EBB_SHARED is not set\n");
    skip();
  }
  char folder[1024];
  snprintf(folder, sizeof folder, "%s/data", shared);
  agree_on_files(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rules_by_hand),
    cmocka_unit_test(long_runs),
    cmocka_unit_test(patterns_have_names),
    cmocka_unit_test(classes_of_unicode_16),
    cmocka_unit_test(random_texts_are_cut_alike),
    cmocka_unit_test(every_pair_at_every_offset),
    cmocka_unit_test(real_conversations_are_cut_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
