/*
** Hashes of texts, and files whose ids were made to collide under the key that
** an attacker would guess: what they cost is counted in slots that searches
** passed over, not in time.
*/
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/names.h"
#include "check.h"
#include "codec/xxh64.h"
#include "document/document.h"
#include "os/os.h"

static const HashKey NO_KEY = {{0, 0}};

static Text escaped(const char *string) {
  return (Text){.bytes = string, .size = strlen(string), .escaped = true};
}

/* ---- hashes ---- */

/* What CPython's hash() of these bytes is under PYTHONHASHSEED=0: it is the same function. */
static const struct {
  const char *bytes;
  size_t size;
  uint64_t hash;
} known[] = {
  {"a", 1, 0x407448d2b89b1813},
  {"a\0", 2, 0x9b310fba2c6d84d2},
  {"1234567", 7, 0xa33d651594fdae81},
  {"12345678", 8, 0x3489982430560a87},
  {"123456789", 9, 0x0fbc0f0007965fcf},
  {"0123456789abcdefghijklmnopqrstuvwxyz", 36, 0x80028cf7ca2dbe8f},
};

static void hashes_are_those_of_siphash(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_true(hash_text(text_plain(known[i].bytes, known[i].size), &NO_KEY) == known[i].hash);
  }
}

static void each_key_makes_other_hashes(void **state) {
  (void)state;
  HashKey a = entropy_hash_key(), b = entropy_hash_key();
  HashKey left = {{1, 0}}, right = {{0, 1}};
  assert_true(memcmp(&a, &b, sizeof a) != 0);
  assert_true(hash_text(text_of("id"), &a) != hash_text(text_of("id"), &b));
  assert_true(hash_text(text_of("id"), &left) != hash_text(text_of("id"), &right));
  assert_true(hash_text(text_of(""), &left) != hash_text(text_of(""), &right));
}

static void hashes_do_not_see_where_runs_end(void **state) {
  (void)state;
  const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (size_t i = 0; i < sizeof plain - 1; i++) {
    for (size_t j = i; j < sizeof plain - 1; j++) {   /* characters i and j as escapes */
      char spelled[100];
      size_t size = 0;
      for (size_t k = 0; k < sizeof plain - 1; k++) {
        const char *form = k == i || k == j ? "\\u%04x" : "%c";
        size += (size_t)snprintf(spelled + size, sizeof spelled - size, form, plain[k]);
      }
      assert_true(hash_text(escaped(spelled), &NO_KEY) == hash_text(text_of(plain), &NO_KEY));
    }
  }
}

static void hashes_of_near_texts_spread(void **state) {
  (void)state;
  enum { COUNT = 65536 };
  Map seen;
  map_init(&seen, memory_system());
  size_t low = 0;
  for (int i = 0; i < COUNT; i++) {
    char text[32];
    snprintf(text, sizeof text, "call_%d", i);
    uint64_t hash = hash_text(text_of(text), &NO_KEY);
    assert_null(map_find(&seen, hash));
    assert_int_equal(map_put(&seen, hash, 1), STATUS_OK);
    low += hash & 1;
  }
  assert_true(low > COUNT / 2 - 1000 && low < COUNT / 2 + 1000);
  map_free(&seen);
}

/* ---- floods ---- */

enum { FLOOD = 700, SLOTS = 1024 };   /* so many entries still fit in a table of so many slots */

static uint32_t flood[FLOOD];

/* Where the map looks first; see home_of in map.c. */
static size_t home_of(uint64_t key) {
  key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
  key = (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
  return (size_t)(key ^ key >> 32) & (SLOTS - 1);
}

/* Numbers of which the ids stand all in one place, if the key is zero. */
static int craft_flood(void **state) {
  (void)state;
  uint32_t found = 0;
  for (uint32_t i = 0; found < FLOOD; i++) {
    char id[24];
    snprintf(id, sizeof id, "id-%u", (unsigned)i);
    if (home_of(hash_text(text_of(id), &NO_KEY)) == 0) flood[found++] = i;
  }
  return 0;
}

static uint64_t probes_of_loading(const char *bytes, size_t size, HashKey key) {
  Memory memory = memory_system();
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = counter_of(ESTIMATE_BYTES4),
                               .hash_key = key};
  DocumentLimits limits = {.message_bytes_max = MESSAGE_BYTES_MAX, .file_bytes_max = FILE_BYTES_MAX};
  DocumentWarnings warnings = {.memory = memory};
  DocumentError error;
  Document document;
  Conversation *conversation;
  char *block = memory_new(&memory, size);
  memcpy(block, bytes, size);
  assert_int_equal(conversation_new(&config, &conversation), STATUS_OK);
  uint64_t before = map_probes;
  assert_int_equal(document_load(conversation, &limits, block, size, size, &document, &warnings, &error), STATUS_OK);
  uint64_t probes = map_probes - before;
  conversation_free(conversation);
  return probes;
}

/* The control: the flood works where the key is known. */
static void assert_costs(const Buffer *file) {
  uint64_t known_key = probes_of_loading(file->bytes, file->size, NO_KEY);
  uint64_t secret_key = probes_of_loading(file->bytes, file->size, entropy_hash_key());
  assert_true(known_key > (uint64_t)FLOOD * FLOOD / 4);
  assert_true(secret_key < (uint64_t)FLOOD * 20);
}

static void add_line(Buffer *file, const char *form, uint32_t number) {
  char line[200];
  int size = snprintf(line, sizeof line, form, (unsigned)number);
  assert_int_equal(buffer_add(file, line, (size_t)size), STATUS_OK);
}

static void crafted_message_ids_cost_no_more_than_others(void **state) {
  (void)state;
  Buffer file;
  buffer_init(&file, memory_system());
  for (uint32_t i = 0; i < FLOOD; i++) {
    add_line(&file, "{\"id\":\"id-%u\",\"role\":\"user\",\"content\":\"\"}\n", flood[i]);
  }
  assert_costs(&file);
  buffer_free(&file);
}

static void crafted_call_ids_cost_no_more_than_others(void **state) {
  (void)state;
  Buffer file;
  buffer_init(&file, memory_system());
  for (uint32_t i = 0; i < FLOOD; i++) {
    add_line(&file, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"id-%u\",\"function\":{\"name\":\"f\"}}]}\n",
             flood[i]);
  }
  for (uint32_t i = 0; i < FLOOD; i++) {
    add_line(&file, "{\"role\":\"tool\",\"tool_call_id\":\"id-%u\",\"content\":\"\"}\n", flood[i]);
  }
  assert_costs(&file);
  buffer_free(&file);
}

/* ---- XXH64 ---- */

/* Sums that xxhsum 0.8.1 gives. */
static void sums_are_those_of_xxh64(void **state) {
  (void)state;
  static const char text[] = "123456789101112131415161718192021222324252627282930313233343";
  static const struct { size_t size; uint64_t sum; } cases[] = {
    {0, 0xef46db3751d8e999}, {1, 0xb7b41276360564d4}, {3, 0x3c697d223fa7e885}, {14, 0xd668544531831955},
    {32, 0x06494c053def4efd}, {44, 0xb3f2ba0a9c6db927}, {60, 0x43f06c3cf154aed7},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    size_t size = cases[i].size;
    assert_true(xxh64(text, size) == cases[i].sum);
    for (size_t cut = 0; cut <= size; cut++) {
      Xxh64 hash;
      xxh64_start(&hash);
      xxh64_add(&hash, text, cut);
      assert_true(xxh64_end(&hash) == xxh64(text, cut));
      xxh64_add(&hash, text + cut, size - cut);
      assert_true(xxh64_end(&hash) == cases[i].sum);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(hashes_are_those_of_siphash),
    cmocka_unit_test(each_key_makes_other_hashes),
    cmocka_unit_test(hashes_do_not_see_where_runs_end),
    cmocka_unit_test(hashes_of_near_texts_spread),
    cmocka_unit_test(sums_are_those_of_xxh64),
    cmocka_unit_test(crafted_message_ids_cost_no_more_than_others),
    cmocka_unit_test(crafted_call_ids_cost_no_more_than_others),
  };
  return cmocka_run_group_tests(tests, craft_flood, NULL);
}
