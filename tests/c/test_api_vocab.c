/*
** Vocabularies of the host's: exact counts in an embedded runtime, by an image
** that comes through `read`; what is refused; memory that runs out on the way.
*/
#include "api_kit.h"

#include "tokens/vocab_build.h"

/* A host whose `read` has one image. */
typedef struct Library {
  Host host;                 /* first: it is the `user` of all */
  Buffer image;
  ebb_status answer;         /* of read, for the image */
  size_t size;               /* of the image that it tells */
  int reads;
  char asked[200];
} Library;

static ebb_status read_vocab(void *user, const char *name, ebb_sink *sink) {
  Library *library = user;
  snprintf(library->asked, sizeof library->asked, "%s", name);
  if (strcmp(name, "vocab/tiny.vocab") != 0 && strcmp(name, "vocab/o200k_base.vocab") != 0) return EBB_ABSENT;
  library->reads++;
  for (size_t at = 0; at < library->size; at += 1000) {
    size_t size = library->size - at < 1000 ? library->size - at : 1000;
    ebb_status status = ebb_sink_add(sink, library->image.bytes + at, size);
    if (status != EBB_OK) return status;
  }
  return library->answer;
}

/* The 256 bytes, and what "hello" is merged of. */
static void build_tiny(Buffer *image) {
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
  VocabSource source = {.name = "tiny", .pattern = PIECES_REGEX, .regex = "\\w+|\\W+\0", .regex_size = 9,
                        .tokens = tokens, .count = 260};
  buffer_init(image, memory);
  assert_int_equal(vocab_build(&memory, &source, image, &problem), STATUS_OK);
}

static void library_open(Library *library, ebb_runtime **runtime) {
  *library = (Library){.host = {.now = 1700000000000}};
  build_tiny(&library->image);
  library->size = library->image.size;
  ebb_config config = host_config(&library->host);
  config.read = read_vocab;
  assert_int_equal(ebb_runtime_new(&config, runtime), EBB_OK);
}

static void library_close(Library *library, ebb_runtime *runtime) {
  host_close(&library->host, runtime);
  buffer_free(&library->image);
}

static const char TINY[] = "{\"encoding\":\"tiny\"}";

static ebb_status new_tiny(ebb_runtime *runtime, ebb_chat **chat) {
  return ebb_chat_new(runtime, TINY, sizeof TINY - 1, chat);
}

/* What a chat with this text costs above one with a text of one token. */
static uint64_t tokens_of(ebb_runtime *runtime, const char *text) {
  uint64_t tokens[2];
  for (int i = 0; i < 2; i++) {
    ebb_chat *chat;
    char json[200];
    snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":\"%s\"}", i == 0 ? "z" : text);
    must(new_tiny(runtime, &chat));
    must(append(chat, json));
    tokens[i] = ebb_chat_tokens(chat);
    ebb_chat_free(chat);
    must(ebb_collect(runtime, 0, NULL));
  }
  return tokens[1] - tokens[0] + 1;
}

/* ---- counts ---- */

static void counts_are_exact(void **state) {
  (void)state;
  static const struct { const char *text; uint64_t tokens; } cases[] = {
    {"hello", 1}, {"hellos", 2}, {"hell", 1}, {"hello hello", 3}, {"\\u0068ello", 1}, {"lllll", 3}, {"zzzzz", 5}};
  Library library;
  ebb_runtime *runtime;
  library_open(&library, &runtime);
  size_t before = library.host.in_use;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t tokens = tokens_of(runtime, cases[i].text);
    if (tokens != cases[i].tokens) fail_msg("'%s': %u tokens", cases[i].text, (unsigned)tokens);
  }
  assert_int_equal(library.reads, 1);        /* kept, though no chat needs it any more */
  assert_string_equal(library.asked, "vocab/tiny.vocab");
  assert_in_range(library.host.in_use - before, library.size, library.size + 200000);
  library_close(&library, runtime);
}

static void a_model_without_its_vocabulary_is_estimated(void **state) {
  (void)state;
  Library library;
  ebb_runtime *runtime;
  ebb_chat *exact, *estimated, *plain;
  library_open(&library, &runtime);
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4o\"}", 18, &exact));         /* finds "o200k_base" */
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4\"}", 17, &estimated));
  must(ebb_chat_new(runtime, NULL, 0, &plain));
  must(append(exact, "{\"role\":\"user\",\"content\":\"zzzzzzzz\"}"));
  must(append(estimated, "{\"role\":\"user\",\"content\":\"zzzzzzzz\"}"));
  must(append(plain, "{\"role\":\"user\",\"content\":\"zzzzzzzz\"}"));
  assert_true(ebb_chat_tokens(exact) > ebb_chat_tokens(estimated));
  assert_int_equal(ebb_chat_tokens(estimated), ebb_chat_tokens(plain));
  refused(ebb_chat_new(runtime, "{\"encoding\":\"cl100k_base\"}", 26, &plain), EBB_UNKNOWN_NAME, "cl100k_base");
  refused(ebb_chat_new(runtime, "{\"encoding\":\"../tiny\"}", 22, &plain), EBB_UNKNOWN_NAME, "../tiny");
  library_close(&library, runtime);
}

/* A chat that was saved is counted by its vocabulary again. */
static void a_saved_chat_asks_again(void **state) {
  (void)state;
  Library library, other;
  ebb_runtime *runtime, *second;
  ebb_chat *chat, *loaded;
  ebb_text saved;
  library_open(&library, &runtime);
  library_open(&other, &second);
  must(new_tiny(runtime, &chat));
  must(append(chat, "{\"role\":\"user\",\"content\":\"hello hello zz\"}"));
  must(ebb_chat_save(chat, &saved));
  must(ebb_chat_load(second, saved.bytes, saved.size, &loaded));
  assert_int_equal(other.reads, 1);
  assert_int_equal(ebb_chat_tokens(loaded), ebb_chat_tokens(chat));
  library_close(&other, second);
  library_close(&library, runtime);
}

static void scripts_count_by_it_and_pay(void **state) {
  (void)state;
  static const char source[] = "local chat = ... return chat:tokens { encoding = 'tiny' }";
  Library library;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  for (int poor = 0; poor <= 1; poor++) {
    library_open(&library, &runtime);
    if (poor) {                              /* a runtime whose scripts cannot pay for the image */
      ebb_config config = host_config(&library.host);
      ebb_runtime_free(runtime);
      config.read = read_vocab;
      config.fuel = 20000;
      assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
    }
    must(ebb_chat_new(runtime, NULL, 0, &chat));
    must(append(chat, "{\"role\":\"user\",\"content\":\"hello\"}"));
    must(ebb_task_script(chat, "count", source, sizeof source - 1, NULL, 0, &task));
    must(ebb_step(runtime, 0, 0));
    must(ebb_next_event(runtime, &event));
    if (poor) assert_int_equal(event.status, EBB_FUEL);
    else assert_int_equal(event.kind, EBB_EVENT_DONE);
    library_close(&library, runtime);
  }
}

/* ---- what is refused ---- */

static void damaged_images_are_refused(void **state) {
  (void)state;
  Library library;
  ebb_runtime *runtime;
  ebb_chat *chat;
  library_open(&library, &runtime);
  size_t size = library.size;
  for (size_t at = 0; at < size; at += at < 400 ? 7 : size / 61) {
    library.image.bytes[at] ^= 0x10;
    refused(new_tiny(runtime, &chat), EBB_SYNTAX, "damaged");
    library.image.bytes[at] ^= 0x10;
  }
  for (library.size = 0; library.size < size; library.size += size / 13 + 1)
    refused(new_tiny(runtime, &chat), EBB_SYNTAX, "damaged");
  library.size = size;
  library.answer = EBB_IO;
  refused(new_tiny(runtime, &chat), EBB_IO, "vocab/tiny.vocab");
  library.answer = EBB_OK;
  must(new_tiny(runtime, &chat));
  library_close(&library, runtime);
}

/* ---- memory ---- */

/* Each time in a runtime that has never seen it. */
static bool sweep_step(size_t k, bool once) {
  Library library;
  ebb_runtime *runtime;
  ebb_chat *chat;
  library_open(&library, &runtime);
  library.host.once = once;
  library.host.fail_at = k;
  ebb_status status = new_tiny(runtime, &chat);
  if (status == EBB_OK) status = append(chat, "{\"role\":\"user\",\"content\":\"hello hello zz\"}");
  library.host.fail_at = 0;
  if (status != EBB_OK && status != EBB_MEMORY)
    fail_msg("allocation %zu: %s: %s", k, ebb_status_name(status), ebb_last_error(runtime)->message);
  assert_int_equal(tokens_of(runtime, "hello hello"), 3);
  bool hit = library.host.failed > 0;
  library_close(&library, runtime);
  return hit;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (int once = 0; once <= 1; once++) {
    size_t k = 1;
    while (sweep_step(k, once)) k++;
    print_message("swept: a vocabulary, %zu allocations %s\n", k - 1, once ? "once" : "for good");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(counts_are_exact), cmocka_unit_test(a_model_without_its_vocabulary_is_estimated),
    cmocka_unit_test(a_saved_chat_asks_again), cmocka_unit_test(scripts_count_by_it_and_pay),
    cmocka_unit_test(damaged_images_are_refused), cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
