/*
** Vocabularies that merge characters (tokenizer.json with byte_fallback), atoms and forms of
** texts, against merging and matching done the plain way. Texts are random; SEED=n repeats a run.
*/
#include "check.h"

#include <string.h>

#include "base/utf8.h"
#include "tokens/vocab/tokenizer_json.h"
#include "tokens/pretoken/nfc.h"
#include "tokens/pretoken/text_form.h"
#include "tokens/tokenizer.h"

enum { TEXT_MAX = 1500, TOKENS_MAX = 400 };

/* ---- a vocabulary of characters, written as a file and used plainly ---- */

static const char *const LETTERS[] = {"a", "b", "c", "▁", "\n", "é", "中", "国", "😀"};
enum { LETTER_COUNT = sizeof LETTERS / sizeof *LETTERS, BYTE_IDS = 1000 };

typedef struct Plain {
  char names[TOKENS_MAX][64];            /* the letters, then what merges make; the position is the id */
  uint32_t count;
  struct { uint32_t left, right, merged; } merges[TOKENS_MAX];
  uint32_t merge_count;
  char file[80000];
} Plain;

static uint32_t plain_find(const Plain *plain, const char *name, size_t size) {
  for (uint32_t i = 0; i < plain->count; i++) {
    if (strlen(plain->names[i]) == size && memcmp(plain->names[i], name, size) == 0) return i;
  }
  return UINT32_MAX;
}

/* Merges that join tokens at random, and runs of spaces, the longer first: those are late. */
static void invent(Plain *plain, uint64_t *seed) {
  plain->count = plain->merge_count = 0;
  for (uint32_t i = 0; i < LETTER_COUNT; i++) strcpy(plain->names[plain->count++], LETTERS[i]);
  for (int tries = 0; tries < 150; tries++) {
    uint32_t left = (uint32_t)(test_random(seed) % plain->count), right = (uint32_t)(test_random(seed) % plain->count);
    char name[128];
    sprintf(name, "%s%s", plain->names[left], plain->names[right]);
    /* As in words: a space only comes first. */
    bool fits = strlen(name) <= 20 && strstr(name + 1, "▁") == NULL;
    if (!fits || plain_find(plain, name, strlen(name)) != UINT32_MAX) continue;
    plain->merges[plain->merge_count].left = left;
    plain->merges[plain->merge_count].right = right;
    plain->merges[plain->merge_count++].merged = plain->count;
    strcpy(plain->names[plain->count++], name);
  }
  uint32_t one = 3, run = plain->count, at = plain->merge_count;
  for (uint32_t size = 2; size <= 6; size++) {
    plain->names[plain->count][0] = '\0';
    for (uint32_t i = 0; i < size; i++) strcat(plain->names[plain->count], "▁");
    plain->count++;
  }
  for (uint32_t size = 6; size >= 2; size--) {        /* the longest first */
    plain->merges[at].left = size == 2 ? one : run + size - 3;
    plain->merges[at].right = one;
    plain->merges[at++].merged = run + size - 2;
  }
  plain->merge_count = at;
}

static size_t add_escaped(char *out, const char *name) {
  size_t at = 0;
  out[at++] = '"';
  for (; *name != '\0'; name++) {
    if (*name == '\n') at += (size_t)sprintf(out + at, "\\n");
    else out[at++] = *name;
  }
  out[at++] = '"';
  return at;
}

static void write_file(Plain *plain) {
  char *out = plain->file;
  size_t at = (size_t)sprintf(out, "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                                   "\"content\":\"▁\"},"
                                   "\"pre_tokenizer\":null,\"model\":{\"byte_fallback\":true,\"vocab\":{");
  for (uint32_t i = 0; i < plain->count; i++) {
    at += add_escaped(out + at, plain->names[i]);
    at += (size_t)sprintf(out + at, ":%u,", (unsigned)i);
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    at += (size_t)sprintf(out + at, "\"<0x%02X>\":%u%s", byte, BYTE_IDS + byte, byte < 255 ? "," : "},\"merges\":[");
  }
  for (uint32_t i = 0; i < plain->merge_count; i++) {
    at += (size_t)sprintf(out + at, i > 0 ? ",[" : "[");
    at += add_escaped(out + at, plain->names[plain->merges[i].left]);
    out[at++] = ',';
    at += add_escaped(out + at, plain->names[plain->merges[i].right]);
    out[at++] = ']';
  }
  at += (size_t)sprintf(out + at, "]}}");
  assert_true(at < sizeof plain->file);
}

/* The parts of a text: the letters that the vocabulary has, and bytes; then merges, the first of the list first. */
static uint32_t plain_encode(const Plain *plain, const char *text, size_t size, uint32_t *ids) {
  uint32_t count = 0;
  for (size_t at = 0; at < size;) {
    size_t bytes = utf8_decode(text + at, text + size, NULL);
    const char *name = text[at] == ' ' ? "▁" : text + at;
    uint32_t letter = bytes == 0 ? UINT32_MAX : plain_find(plain, name, text[at] == ' ' ? strlen(name) : bytes);
    if (letter != UINT32_MAX) {
      ids[count++] = letter;
      at += bytes;
      continue;
    }
    for (size_t end = at + (bytes > 0 ? bytes : 1); at < end; at++) ids[count++] = BYTE_IDS + (unsigned char)text[at];
  }
  for (;;) {
    uint32_t best = UINT32_MAX, place = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
      for (uint32_t m = 0; m < plain->merge_count && m < best; m++) {
        if (plain->merges[m].left == ids[i] && plain->merges[m].right == ids[i + 1]) best = m, place = i;
      }
    }
    if (best == UINT32_MAX) return count;
    ids[place] = plain->merges[best].merged;
    memmove(&ids[place + 1], &ids[place + 2], (count - place - 2) * sizeof *ids);
    count--;
  }
}

static Tokenizer *open_tokenizer(const Memory *memory, const char *file, Buffer *image) {
  TokenizerJson json;
  TokenizerJsonError error;
  VocabProblem problem;
  Vocab *vocab;
  Tokenizer *tokenizer;
  Status status = tokenizer_json_read(memory, file, strlen(file), false, &json, &error);
  if (status != STATUS_OK) fail_msg("byte %zu: expected %s, not [%s]", error.offset, error.expected, error.name);
  VocabSource source = {.name = "characters", .pattern = json.pattern, .regex = json.regex.bytes,
                        .regex_size = json.regex.size, .tokens = json.tokens, .count = json.count,
                        .merges = json.merges, .merge_count = json.merge_count, .wholes = json.wholes,
                        .atoms = json.atoms, .atom_count = json.atom_count, .forms = json.forms};
  buffer_init(image, *memory);
  status = vocab_build(memory, &source, image, &problem);
  if (status != STATUS_OK) fail_msg("token %u, merge %u: expected %s", problem.token, problem.merge, problem.expected);
  assert_int_equal(vocab_of_bytes(memory, image->bytes, image->size, &vocab), STATUS_OK);
  assert_int_equal(vocab_verify(vocab), STATUS_OK);
  assert_int_equal(tokenizer_new(memory, vocab, &tokenizer), STATUS_OK);
  vocab_release(vocab);
  tokenizer_json_free(&json);
  return tokenizer;
}

/* The ids of a text, which are as many as are counted, and stand for the text `decoded`. */
static void check_ids(Tokenizer *tokenizer, const char *text, size_t size, const uint32_t *expected, uint32_t count) {
  Buffer ids;
  uint64_t tokens;
  buffer_init(&ids, memory_system());
  char *exact = malloc(size > 0 ? size : 1);    /* so that reading beyond it shows */
  memcpy(exact, text, size);
  assert_int_equal(tokenizer_encode(tokenizer, text_plain(exact, size), &ids), STATUS_OK);
  assert_int_equal(tokenizer_count(tokenizer, text_plain(exact, size), &tokens), STATUS_OK);
  bool same = ids.size == count * sizeof *expected && (ids.size == 0 || memcmp(ids.bytes, expected, ids.size) == 0);
  if (!same) {
    const uint32_t *list = (const uint32_t *)(const void *)ids.bytes;
    for (uint32_t i = 0; i < count && i < ids.size / sizeof *list; i++) {
      if (list[i] != expected[i]) fail_msg("'%.*s': id %u is %u, not %u", (int)size, text, i, list[i], expected[i]);
    }
    fail_msg("'%.*s': %zu ids, not %u", (int)size, text, ids.size / sizeof *list, count);
  }
  assert_int_equal(tokens, count);
  buffer_free(&ids);
  free(exact);
}

static void check_decoded(Tokenizer *tokenizer, const uint32_t *ids, uint32_t count, const char *text, size_t size) {
  Buffer bytes;
  size_t bad;
  buffer_init(&bytes, memory_system());
  assert_int_equal(tokenizer_decode(tokenizer, ids, count, &bytes, &bad), STATUS_OK);
  assert_int_equal(bytes.size, size);
  assert_true(size == 0 || memcmp(bytes.bytes, text, size) == 0);
  buffer_free(&bytes);
}

/* Letters, spaces, characters that the vocabulary lacks, bytes that are not UTF-8. */
static uint32_t random_text(uint64_t *seed, char *text, uint32_t size) {
  static const char *const words[] = {"a", "b", " ", "c", "  ", "ab", "\n", "é", "中", "国", "😀", "      ", "x",
                                      "ж", "天", "😁", "\xE2\x96", "aaaa"};
  uint32_t used = 0;
  unsigned spread = 1 + (unsigned)(test_random(seed) % (sizeof words / sizeof *words));
  while (used < size) {
    const char *word = words[test_random(seed) % spread];
    uint32_t bytes = (uint32_t)strlen(word);
    char any = (char)test_random(seed);
    if (test_random(seed) % 40 == 0) word = &any, bytes = 1;
    if (used + bytes > size) break;
    memcpy(text + used, word, bytes);
    used += bytes;
    bool is_mark = used >= 3 && memcmp(text + used - 3, "\xE2\x96\x81", 3) == 0;
    if (is_mark) used--;      /* the mark of a space: it is decoded as one */
  }
  return used;
}

static void characters_merge_as_listed(void **state) {
  (void)state;
  static Plain plain;
  static uint32_t ids[TEXT_MAX];
  char text[TEXT_MAX];
  uint64_t seed = test_seed();
  Memory memory = memory_system();
  for (int round = 0; round < 8; round++) {
    Buffer image;
    invent(&plain, &seed);
    write_file(&plain);
    Tokenizer *tokenizer = open_tokenizer(&memory, plain.file, &image);
    for (int i = 0; i < 150; i++) {
      uint32_t most = i % 30 == 0 ? TEXT_MAX : i % 3 == 0 ? 200 : 40;
      uint32_t size = random_text(&seed, text, (uint32_t)(test_random(&seed) % most));
      uint32_t count = plain_encode(&plain, text, size, ids);
      check_ids(tokenizer, text, size, ids, count);
      check_decoded(tokenizer, ids, count, text, size);
    }
    tokenizer_free(tokenizer);
    buffer_free(&image);
  }
}

/* ---- forms and atoms: known answers ---- */

/* The 256 bytes in the byte-level alphabet, with their values as ids. */
static const char *byte_level(const char *normalizer, const char *added) {
  static char out[8000];
  char letters[4000];
  uint32_t next = 256;
  size_t at = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    char letter[8];
    letter[utf8_encode(prints ? byte : next++, letter)] = '\0';
    bool escape = byte == '"' || byte == '\\';
    at += (size_t)sprintf(letters + at, "%s\"%s%s\":%u", byte > 0 ? "," : "", escape ? "\\" : "", letter, byte);
  }
  int size = snprintf(out, sizeof out, "{\"normalizer\":%s,\"added_tokens\":[%s],"
                      "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{%s},\"merges\":[]}}", normalizer, added, letters);
  assert_true(size > 0 && (size_t)size < sizeof out);
  return out;
}

#define ATOM(id, content) "{\"id\":" id ",\"content\":\"" content "\",\"special\":false,\"normalized\":false}"

static void atoms_are_tokens_wherever_they_stand(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t count, ids[8];
  } cases[] = {
    {"", 0, {0}},
    {"<t>", 1, {300}},
    {"a<t>b", 3, {'a', 300, 'b'}},
    {"<t></t><t", 4, {300, 301, '<', 't'}},
    {"<t>!", 1, {302}},                       /* the longest */
    {"<<t>", 2, {'<', 300}},
    {"<s><t>", 4, {'<', 's', '>', 300}},      /* special ones are not recognized */
    {"\n\n\n", 2, {303, '\n'}},
    {"  <t>  ", 5, {' ', ' ', 300, ' ', ' '}},
    {"e\xCC\x81<t>", 3, {0xC3, 0xA9, 300}},   /* what is between has the form of its own */
    {"<t>\xCC\x81", 3, {300, 0xCC, 0x81}},
  };
  Memory memory = memory_system();
  Buffer image;
  const char *added = ATOM("300", "<t>") "," ATOM("301", "</t>") "," ATOM("302", "<t>!") "," ATOM("303", "\\n\\n") ","
                      "{\"id\":304,\"content\":\"<s>\",\"special\":true}";
  Tokenizer *tokenizer = open_tokenizer(&memory, byte_level("{\"type\":\"NFC\"}", added), &image);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t size = strlen(cases[i].text);
    check_ids(tokenizer, cases[i].text, size, cases[i].ids, cases[i].count);
    for (uint64_t limit = 0; limit <= cases[i].count; limit++) {
      uint64_t tokens;
      assert_int_equal(tokenizer_count_up_to(tokenizer, text_plain(cases[i].text, size), limit, &tokens), STATUS_OK);
      assert_true(limit < cases[i].count ? tokens > limit : tokens == cases[i].count);
    }
  }
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

static void a_space_in_front_comes_and_goes(void **state) {
  (void)state;
  static Plain plain;
  static char file[80000];
  uint64_t seed = 7;
  Memory memory = memory_system();
  Buffer image;
  invent(&plain, &seed);
  write_file(&plain);
  const char *rest = strstr(plain.file, "\"pre_tokenizer\"");
  snprintf(file, sizeof file, "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
           "{\"type\":\"Prepend\",\"prepend\":\"▁\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"}]},%s", rest);
  Tokenizer *tokenizer = open_tokenizer(&memory, file, &image);
  static const char *const texts[] = {"", "a", " a", "ab c\n", "▁", "x"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char spaced[40];
    uint32_t ids[40];
    size_t size = strlen(texts[i]);
    sprintf(spaced, "%s%s", size > 0 ? " " : "", strcmp(texts[i], "▁") == 0 ? " " : texts[i]);
    uint32_t count = plain_encode(&plain, spaced, strlen(spaced), ids);
    check_ids(tokenizer, texts[i], size, ids, count);
    check_decoded(tokenizer, ids, count, spaced + (size > 0), strlen(spaced) - (size > 0));
  }
  tokenizer_free(tokenizer);
  buffer_free(&image);
}

/* ---- NFC: examples of Unicode's annex 15 and of its test file ---- */

static void nfc_composes_and_orders(void **state) {
  (void)state;
  static const struct { const char *text, *form; } cases[] = {
    {"", ""}, {"plain", "plain"}, {"caf\xC3\xA9", "caf\xC3\xA9"}, {"cafe\xCC\x81!", "caf\xC3\xA9!"},
    {"\xE2\x84\xAB", "\xC3\x85"},                                        /* U+212B Angstrom */
    {"\xE2\x84\xA6", "\xCE\xA9"},                                        /* U+2126 Ohm */
    {"s\xCC\xA3\xCC\x87", "\xE1\xB9\xA9"}, {"s\xCC\x87\xCC\xA3", "\xE1\xB9\xA9"},     /* U+1E69 */
    {"\xE1\xB8\x8B\xCC\xA3", "\xE1\xB8\x8D\xCC\x87"},                    /* U+1E0B U+0323 */
    {"q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87"},                          /* only put in order */
    {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81"},            /* U+1100 U+1161 U+11A8 */
    {"\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81"}, {"\xEA\xB0\x81\xE1\x86\xA8", "\xEA\xB0\x81\xE1\x86\xA8"},
    {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC"},                        /* U+0958, excluded from composition */
    {"\xEF\xA4\x80", "\xE8\xB1\x88"},                                    /* U+F900 */
    {"\xF0\xAF\xA0\x80", "\xE4\xB8\xBD"},                                /* U+2F800 */
    {"a\xCC\x95\xCC\x80\xD6\xAE\xCC\x80" "b", "\xC3\xA0\xD6\xAE\xCC\x80\xCC\x95" "b"},
    {"a\xFF" "e\xCC\x81\xCC", "a\xFF\xC3\xA9\xCC"},                      /* bytes that are not UTF-8 stay */
    {"a\xCC\x8D\xCC\x80", "a\xCC\x8D\xCC\x80"},                      /* a mark of the same class is between */
    {"\xCC\x81", "\xCC\x81"}, {"e\xCC\x81\xCC\x81", "\xC3\xA9\xCC\x81"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Buffer out;
    buffer_init(&out, memory_system());
    size_t size = strlen(cases[i].text);
    assert_int_equal(nfc_write(cases[i].text, size, &out), STATUS_OK);
    assert_int_equal(out.size, strlen(cases[i].form));
    assert_true(out.size == 0 || memcmp(out.bytes, cases[i].form, out.size) == 0);
    if (nfc_check(cases[i].text, size)) assert_string_equal(cases[i].text, cases[i].form);
    buffer_free(&out);
  }
}

/* Marks in any number take time in proportion: they are counted, not compared. */
static void nfc_takes_long_runs_of_marks(void **state) {
  (void)state;
  enum { MARKS = 200000 };
  Buffer text, out;
  buffer_init(&text, memory_system());
  buffer_init(&out, memory_system());
  assert_int_equal(buffer_add(&text, "x", 1), STATUS_OK);
  for (int i = 0; i < MARKS; i++) assert_int_equal(buffer_add(&text, i % 2 ? "\xCC\xA3" : "\xCC\x87", 2), STATUS_OK);
  assert_false(nfc_check(text.bytes, text.size));
  assert_int_equal(nfc_write(text.bytes, text.size, &out), STATUS_OK);
  for (size_t i = 0; i < MARKS / 2 - 1; i++) {
    assert_memory_equal(out.bytes + out.size - 2 - 2 * i, "\xCC\x87", 2);
  }
  buffer_free(&text);
  buffer_free(&out);
}

/* ---- out of memory ---- */

static Status use(const Memory *memory, Tokenizer *tokenizer, const char *text, size_t size) {
  Buffer ids;
  uint64_t tokens;
  buffer_init(&ids, *memory);
  Status status = tokenizer_count(tokenizer, text_plain(text, size), &tokens);
  if (status == STATUS_OK) status = tokenizer_encode(tokenizer, text_plain(text, size), &ids);
  if (status != STATUS_OK) assert_int_equal(ids.size, 0);
  buffer_free(&ids);
  return status;
}

/* A tokenizer whose memory fails at the k-th allocation of a use stays usable. */
static void sweep(const char *file, const char *text, size_t size) {
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  Buffer image;
  Tokenizer *tokenizer = open_tokenizer(&memory, file, &image);
  size_t tries = 0;
  for (Status status = STATUS_MEMORY; status != STATUS_OK; tries++) {
    fail.calls = 0;
    fail.fail_at = tries + 1;
    status = use(&memory, tokenizer, text, size);
    if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
  }
  assert_true(tries > 1);
  printf("swept: %zu allocations\n", tries);
  tokenizer_free(tokenizer);
  buffer_free(&image);
  assert_int_equal(fail.in_use, 0);
}

static void survives_running_out_of_memory(void **state) {
  (void)state;
  static Plain plain;
  static char text[4000];
  uint64_t seed = 3;
  invent(&plain, &seed);
  write_file(&plain);
  for (size_t i = 0; i < sizeof text; i++) text[i] = "ab   "[i % 5];
  memcpy(text, TEXT_SPACE, 3);
  memset(text + 1000, ' ', 2000);              /* a late run longer than what needs no allocation */
  sweep(plain.file, text, sizeof text);
  for (size_t i = 0; i + 3 <= sizeof text; i += 3) memcpy(text + i, "e\xCC\x81", 3);
  sweep(byte_level("{\"type\":\"NFC\"}", ATOM("300", "<t>")), text, sizeof text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(characters_merge_as_listed),
    cmocka_unit_test(atoms_are_tokens_wherever_they_stand),
    cmocka_unit_test(a_space_in_front_comes_and_goes),
    cmocka_unit_test(nfc_composes_and_orders),
    cmocka_unit_test(nfc_takes_long_runs_of_marks),
    cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
