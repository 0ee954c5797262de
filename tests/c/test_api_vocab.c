/*
** Vocabularies of the host's: exact counts in an embedded runtime, by an image
** that comes through `read`, or by one that runtimes share; what is refused; memory
** that runs out on the way.
*/
#define _DEFAULT_SOURCE 1
#include "api_kit.h"
#include "vocab_kit.h"

#include <sys/mman.h>
#include <unistd.h>

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

/* The first chat loads what all of them need. */
static void load_lua(ebb_runtime *runtime) {
  ebb_chat *chat;
  must(ebb_chat_new(runtime, "{\"encoding\":\"cjk\"}", 18, &chat));
  ebb_chat_free(chat);
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
    must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
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
  load_lua(runtime);
  size_t before = library.host.heap.in_use;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t tokens = tokens_of(runtime, cases[i].text);
    if (tokens != cases[i].tokens) fail_msg("'%s': %u tokens", cases[i].text, (unsigned)tokens);
  }
  assert_int_equal(library.reads, 1);        /* kept, though no chat needs it any more */
  assert_string_equal(library.asked, "vocab/tiny.vocab");
  assert_in_range(library.host.heap.in_use - before, library.size, library.size + 200000);
  library_close(&library, runtime);
}

/* Plain texts, and ids: "hello" is token 259. */
static void texts_are_counted_and_encoded(void **state) {
  Library library;
  ebb_runtime *runtime;
  uint32_t ids[8] = {7, 7, 7};
  size_t count = 0;
  uint64_t tokens;
  ebb_text bytes;
  const char *trust;
  (void)state;
  library_open(&library, &runtime);
  must(ebb_count_text(runtime, "tiny", "hello hellos", 12, &tokens, &trust));
  assert_int_equal(tokens, 4);
  assert_string_equal(trust, "exact");
  must(ebb_encode_text(runtime, "tiny", "hello hellos", 12, NULL, 0, &count));
  assert_int_equal(count, 4);
  must(ebb_encode_text(runtime, "tiny", "hello hellos", 12, ids, 2, &count));
  assert_true(count == 4 && ids[0] == 259 && ids[1] == ' ' && ids[2] == 7);
  must(ebb_encode_text(runtime, "tiny", "hello hellos", 12, ids, 8, &count));
  must(ebb_decode_ids(runtime, "tiny", ids, count, &bytes));
  assert_string_equal(bytes.bytes, "hello hellos");
  must(ebb_encode_text(runtime, "tiny", bytes.bytes, bytes.size, ids, 8, &count));
  assert_int_equal(count, 4);
  must(ebb_decode_ids(runtime, "tiny", (uint32_t[]){0xc3}, 1, &bytes));
  assert_true(bytes.size == 1 && (unsigned char)bytes.bytes[0] == 0xc3);
  refused(ebb_decode_ids(runtime, "tiny", (uint32_t[]){1, 260}, 2, &bytes), EBB_OUT_OF_RANGE,
          "ids[1]: tiny has no token 260");
  refused(ebb_encode_text(runtime, "tiny", "\xff", 1, ids, 8, &count), EBB_ENCODING, "byte 1");
  refused(ebb_encode_text(runtime, "tinny", "a", 1, ids, 8, &count), EBB_UNKNOWN_NAME, "tinny");
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
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
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

/* ---- shared by runtimes ---- */

/* An image of the host's, aligned as mmap's are, and how often it was given back. */
typedef struct Shared {
  Host host;                 /* first: it is the `user` */
  void *bytes;
  size_t size;
  int released;
} Shared;

static void take_back(void *user, const void *bytes, size_t size) {
  Shared *shared = user;
  assert_true(bytes == shared->bytes && size == shared->size);
  shared->released++;
}

static void shared_open(Shared *shared) {
  Buffer image;
  build_tiny(&image);
  *shared = (Shared){.host = {.now = 1700000000000}, .size = image.size};
  shared->bytes = aligned_alloc(64, (image.size + 63) / 64 * 64);
  memcpy(shared->bytes, image.bytes, image.size);
  buffer_free(&image);
}

static ebb_status shared_vocab(Shared *shared, ebb_vocab **vocab) {
  ebb_config config = {.size = sizeof config, .allocate = host_allocate, .user = shared};
  return ebb_vocab_new(&config, shared->bytes, shared->size, take_back, vocab);
}

static void shared_close(Shared *shared) {
  assert_int_equal(shared->host.heap.in_use, 0);
  free(shared->bytes);
}

static void a_shared_one_counts_and_is_not_copied(void **state) {
  (void)state;
  Shared shared;
  Library library;
  ebb_vocab *vocab;
  ebb_runtime *runtime;
  shared_open(&shared);
  library_open(&library, &runtime);
  assert_int_equal(shared_vocab(&shared, &vocab), EBB_OK);
  assert_string_equal(ebb_vocab_name(vocab), "tiny");
  assert_int_equal(ebb_vocab_verify(vocab), EBB_OK);
  assert_true(shared.host.heap.in_use < 1000);
  must(ebb_runtime_add_vocab(runtime, NULL, vocab));
  must(ebb_runtime_add_vocab(runtime, "mine", vocab));       /* under another name too */
  load_lua(runtime);
  size_t before = library.host.heap.in_use;
  assert_int_equal(tokens_of(runtime, "hello hellos"), 4);
  assert_in_range(library.host.heap.in_use - before, 0, 100000);
  assert_int_equal(library.reads, 0);                        /* it comes before `read` */
  ebb_chat *chat;
  must(ebb_chat_new(runtime, "{\"encoding\":\"mine\"}", 19, &chat));
  refused(ebb_chat_new(runtime, "{\"encoding\":\"mime\"}", 19, &chat), EBB_UNKNOWN_NAME, "did you mean 'mine'?");
  ebb_vocab_free(vocab);
  assert_int_equal(tokens_of(runtime, "hello"), 1);
  assert_int_equal(shared.released, 0);
  library_close(&library, runtime);
  assert_int_equal(shared.released, 1);
  shared_close(&shared);
}

static void a_model_is_counted_by_a_shared_one(void **state) {
  (void)state;
  Shared shared;
  Library library;
  ebb_vocab *vocab;
  ebb_runtime *runtime;
  ebb_chat *estimated, *exact;
  shared_open(&shared);
  library_open(&library, &runtime);
  assert_int_equal(shared_vocab(&shared, &vocab), EBB_OK);
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4\"}", 17, &estimated));
  must(ebb_runtime_add_vocab(runtime, "cl100k_base", vocab));
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4\"}", 17, &exact));
  must(append(estimated, "{\"role\":\"user\",\"content\":\"zzzzzzzz\"}"));
  must(append(exact, "{\"role\":\"user\",\"content\":\"zzzzzzzz\"}"));
  assert_true(ebb_chat_tokens(exact) > ebb_chat_tokens(estimated));
  ebb_vocab_free(vocab);
  library_close(&library, runtime);
  assert_int_equal(shared.released, 1);
  shared_close(&shared);
}

/* The handle and three runtimes, ended in each order: the image is given back with the last, once. */
static void shares_end_in_any_order(void **state) {
  (void)state;
  enum { HOLDERS = 4, ORDERS = 24 };
  for (int order = 0; order < ORDERS; order++) {
    Shared shared;
    ebb_vocab *vocab;
    ebb_runtime *runtimes[HOLDERS - 1], *runtime;
    int left[HOLDERS] = {0, 1, 2, 3}, count = HOLDERS, number = order;
    shared_open(&shared);
    assert_int_equal(shared_vocab(&shared, &vocab), EBB_OK);
    for (int i = 0; i < HOLDERS - 1; i++) {
      assert_int_equal(ebb_runtime_new(NULL, &runtimes[i]), EBB_OK);
      runtime = runtimes[i];
      must(ebb_runtime_add_vocab(runtime, NULL, vocab));
      if (i > 0) assert_int_equal(tokens_of(runtime, "hello"), 1);   /* the first has no tokenizer */
    }
    while (count > 0) {
      int at = number % count, holder = left[at];
      number /= count;
      left[at] = left[--count];
      assert_int_equal(shared.released, 0);
      if (holder == HOLDERS - 1) ebb_vocab_free(vocab);
      else ebb_runtime_free(runtimes[holder]);
    }
    assert_int_equal(shared.released, 1);
    shared_close(&shared);
  }
}

static void what_is_no_shared_vocabulary_is_refused(void **state) {
  (void)state;
  Shared shared;
  Library library;
  ebb_vocab *vocab = NULL;
  ebb_runtime *runtime;
  ebb_chat *chat;
  shared_open(&shared);
  library_open(&library, &runtime);
  size_t size = shared.size;
  ebb_config strange = {.size = 3};
  assert_int_equal(ebb_vocab_new(NULL, NULL, size, NULL, &vocab), EBB_ARGUMENT);
  assert_int_equal(ebb_vocab_new(NULL, (char *)shared.bytes + 4, size - 4, NULL, &vocab), EBB_ARGUMENT);
  assert_int_equal(ebb_vocab_new(NULL, shared.bytes, size, NULL, NULL), EBB_ARGUMENT);
  assert_int_equal(ebb_vocab_new(&strange, shared.bytes, size, NULL, &vocab), EBB_UNKNOWN_VERSION);
  assert_int_equal(ebb_vocab_verify(NULL), EBB_ARGUMENT);
  assert_string_equal(ebb_vocab_name(NULL), "");
  ebb_vocab_free(NULL);
  for (shared.size = 0; shared.size < size; shared.size += size / 13 + 1)
    assert_int_equal(shared_vocab(&shared, &vocab), EBB_SYNTAX);
  shared.size = size;
  assert_int_equal(shared.released, 0);
  assert_null(vocab);
  assert_int_equal(shared_vocab(&shared, &vocab), EBB_OK);
  refused(ebb_runtime_add_vocab(runtime, NULL, NULL), EBB_ARGUMENT, "NULL");
  refused(ebb_runtime_add_vocab(runtime, "bytes4", vocab), EBB_ARGUMENT, "estimator");
  refused(ebb_runtime_add_vocab(runtime, "../tiny", vocab), EBB_ARGUMENT, "../tiny");
  refused(ebb_runtime_add_vocab(runtime, "", vocab), EBB_ARGUMENT, "letters");
  must(ebb_runtime_add_vocab(runtime, NULL, vocab));
  refused(ebb_runtime_add_vocab(runtime, "tiny", vocab), EBB_DUPLICATE, "'tiny' already");
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4o\"}", 18, &chat));       /* through `read` */
  refused(ebb_runtime_add_vocab(runtime, "o200k_base", vocab), EBB_DUPLICATE, "'o200k_base' already");
  assert_int_equal(ebb_runtime_add_vocab(NULL, NULL, vocab), EBB_ARGUMENT);
  ebb_vocab_free(vocab);
  library_close(&library, runtime);
  assert_int_equal(shared.released, 1);
  shared_close(&shared);
}

/* Whatever the size: all but the first page may not be read. */
static void opening_reads_the_header_alone(void **state) {
  (void)state;
  Buffer image;
  ebb_vocab *vocab;
  build_vocab(&image, "tiny", PRETOKEN_O200K, NULL, 0);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *bytes = mmap(NULL, image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(bytes != MAP_FAILED && image.size > 4 * page);
  memcpy(bytes, image.bytes, image.size);
  assert_int_equal(mprotect(bytes + page, image.size - page, PROT_NONE), 0);
  assert_int_equal(ebb_vocab_new(NULL, bytes, image.size, NULL, &vocab), EBB_OK);
  assert_string_equal(ebb_vocab_name(vocab), "tiny");
  ebb_vocab_free(vocab);
  munmap(bytes, image.size);
  buffer_free(&image);
}

/* A damaged image is refused, or counts something: nothing reads beyond it. The whole check finds it. */
static void damage_in_a_shared_one_never_crashes(void **state) {
  (void)state;
  uint64_t seed = test_seed();
  Shared shared;
  ebb_vocab *vocab;
  ebb_runtime *runtime;
  int opened = 0;
  shared_open(&shared);
  char *bytes = shared.bytes;
  for (int i = 0; i < 150; i++) {
    size_t at = (size_t)(i % 3 == 0 ? test_random(&seed) % 512 : test_random(&seed) % shared.size);
    char old = bytes[at];
    bytes[at] = (char)(old ^ (1 + (int)(test_random(&seed) % 255)));
    ebb_status status = shared_vocab(&shared, &vocab);
    if (status == EBB_OK) {
      ebb_chat *chat;
      opened++;
      assert_int_equal(ebb_vocab_verify(vocab), EBB_SYNTAX);
      assert_int_equal(ebb_runtime_new(NULL, &runtime), EBB_OK);
      must(ebb_runtime_add_vocab(runtime, "tiny", vocab));
      status = new_tiny(runtime, &chat);
      if (status == EBB_OK) status = append(chat, "{\"role\":\"user\",\"content\":\"hello hell lllll \\u00e9\"}");
      if (status != EBB_OK && status != EBB_SYNTAX && status != EBB_LIMIT) must(status);
      ebb_vocab_free(vocab);
      ebb_runtime_free(runtime);
    } else {
      assert_int_equal(status, EBB_SYNTAX);
    }
    bytes[at] = old;
  }
  assert_in_range(opened, 50, 149);
  assert_int_equal(shared.released, opened);
  shared_close(&shared);
}

/* ---- memory ---- */

/* Allocation number k from now on fails, and all after it unless `once`. */
static void fail_from(Library *library, size_t k, bool once) {
  Fail *heap = &library->host.heap;
  heap->calls = heap->failed = 0, heap->once = once, heap->fail_at = k;
}

static bool share_step(size_t k, bool once) {
  Shared shared;
  Library library;
  ebb_vocab *vocab = NULL;
  ebb_runtime *runtime;
  ebb_chat *chat;
  shared_open(&shared);
  library_open(&library, &runtime);
  load_lua(runtime);                         /* test_api_memory.c has what loading does */
  shared.host.heap.once = once;
  shared.host.heap.fail_at = k == 1;
  ebb_status status = shared_vocab(&shared, &vocab);
  shared.host.heap.fail_at = 0;
  if (k == 1) {
    assert_int_equal(status, EBB_MEMORY);
    assert_int_equal(shared.released, 0);
    status = shared_vocab(&shared, &vocab);
  }
  assert_int_equal(status, EBB_OK);
  fail_from(&library, k, once);
  status = ebb_runtime_add_vocab(runtime, NULL, vocab);
  if (status == EBB_MEMORY && once) status = ebb_runtime_add_vocab(runtime, NULL, vocab);
  if (status == EBB_OK) status = new_tiny(runtime, &chat);
  if (status == EBB_OK) status = append(chat, "{\"role\":\"user\",\"content\":\"hello hello zz\"}");
  library.host.heap.fail_at = 0;
  if (status != EBB_OK && status != EBB_MEMORY)
    fail_msg("allocation %zu: %s: %s", k, ebb_status_name(status), ebb_last_error(runtime)->message);
  status = ebb_runtime_add_vocab(runtime, NULL, vocab);
  assert_true(status == EBB_OK || status == EBB_DUPLICATE);
  assert_int_equal(tokens_of(runtime, "hello hello"), 3);
  assert_int_equal(library.reads, 0);
  ebb_vocab_free(vocab);
  bool hit = library.host.heap.failed > 0;
  library_close(&library, runtime);
  assert_int_equal(shared.released, 1);
  shared_close(&shared);
  return hit;
}

/* Each time in a runtime that has never seen it. */
static bool sweep_step(size_t k, bool once) {
  Library library;
  ebb_runtime *runtime;
  ebb_chat *chat;
  library_open(&library, &runtime);
  load_lua(runtime);
  fail_from(&library, k, once);
  ebb_status status = new_tiny(runtime, &chat);
  if (status == EBB_OK) status = append(chat, "{\"role\":\"user\",\"content\":\"hello hello zz\"}");
  library.host.heap.fail_at = 0;
  if (status != EBB_OK && status != EBB_MEMORY)
    fail_msg("allocation %zu: %s: %s", k, ebb_status_name(status), ebb_last_error(runtime)->message);
  assert_int_equal(tokens_of(runtime, "hello hello"), 3);
  bool hit = library.host.heap.failed > 0;
  library_close(&library, runtime);
  return hit;
}

/* SAMPLE=n makes every n-th allocation fail. */
static void sweep(bool (*step)(size_t k, bool once), const char *name) {
  for (int once = 0; once <= 1; once++) {
    size_t count = 0, stride = test_stride(1);
    for (size_t k = test_start(stride); step(k, once); k += stride) count++;
    print_message("swept: %s, %zu allocations %s\n", name, count, once ? "once" : "for good");
    assert_true(count >= 100 / stride);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  sweep(sweep_step, "a vocabulary");
  sweep(share_step, "a shared vocabulary");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(counts_are_exact), cmocka_unit_test(texts_are_counted_and_encoded),
    cmocka_unit_test(a_model_without_its_vocabulary_is_estimated),
    cmocka_unit_test(a_saved_chat_asks_again), cmocka_unit_test(scripts_count_by_it_and_pay),
    cmocka_unit_test(damaged_images_are_refused), cmocka_unit_test(a_shared_one_counts_and_is_not_copied),
    cmocka_unit_test(a_model_is_counted_by_a_shared_one), cmocka_unit_test(shares_end_in_any_order),
    cmocka_unit_test(what_is_no_shared_vocabulary_is_refused), cmocka_unit_test(opening_reads_the_header_alone),
    cmocka_unit_test(damage_in_a_shared_one_never_crashes),
    cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
