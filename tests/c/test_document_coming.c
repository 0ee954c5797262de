/*
** Documents whose bytes are still coming in: read in steps of any size, they must
** be what they are when all is there, errors included; and nothing may look at a
** byte before it has come. SEED=n repeats a run.
*/
#include "documents.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

/* Bytes on their way: `have` of `size` are there, of what was said to be `claimed`. */
typedef struct Coming {
  const char *from;
  char *block;
  size_t have, size, claimed, step;
  size_t first;                    /* that the first wait gives at least: they tell what the file is */
  uint32_t waits, fail_at;         /* the wait that fails; 0: none */
} Coming;

static Status wait(void *user, size_t *have, size_t *size) {
  Coming *coming = user;
  assert_true(*have == coming->have && *size == coming->claimed);
  if (++coming->waits == coming->fail_at) return STATUS_IO;
  size_t more = 1 + below((uint32_t)coming->step), left = coming->size - coming->have;
  if (coming->have == 0 && more < coming->first) more = coming->first;
  if (more > left) more = left;
  ASAN_UNPOISON_MEMORY_REGION(coming->block + coming->have, more);
  memcpy(coming->block + coming->have, coming->from + coming->have, more);
  *have = coming->have += more;
  if (coming->have == coming->size) coming->claimed = coming->size;
  *size = coming->claimed;
  return STATUS_OK;
}

/* As many bytes as tell that a file is JSONL; all, if it is a body. */
static size_t bytes_that_tell(const DocumentLimits *limits, const char *text, size_t size) {
  if (size > 0 && text[0] == '[') return 1;
  for (size_t first = 1; first < size; first++) {
    size_t cap, wanted;
    if (document_cap(limits, text, first, &cap, &wanted) && cap == SIZE_MAX) return first;
  }
  return size;
}

static Status load_coming(Loaded *loaded, DocumentLimits limits, Coming *coming) {
  *loaded = (Loaded){.fail = {.in_use = 0}};
  Memory memory = fail_memory(&loaded->fail);
  size_t room = coming->claimed;
  coming->block = memory_new(&memory, room);
  coming->first = bytes_that_tell(&limits, coming->from, coming->size);
  ASAN_POISON_MEMORY_REGION(coming->block, room);
  limits.coming = (DocumentComing){.wait = wait, .user = coming};
  loaded->warnings.memory = memory;
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
  assert_int_equal(conversation_new(&config, &loaded->conversation), STATUS_OK);
  loaded->status = document_load(loaded->conversation, &limits, coming->block, room, room, &loaded->document,
                                 &loaded->warnings, &loaded->error);
  bool mended = loaded->status == STATUS_OK && limits.lenient;      /* then the block may be gone */
  if (!mended) ASAN_UNPOISON_MEMORY_REGION(coming->block, room);
  if (loaded->status == STATUS_OK) return STATUS_OK;
  conversation_free(loaded->conversation);
  loaded->conversation = NULL;
  memory_free(&memory, coming->block, room);
  return loaded->status;
}

static void assert_same(const char *text, const Loaded *whole, const Loaded *coming) {
  if (whole->status != coming->status)
    fail_msg("%s: %s, not %s", text, status_code(coming->status), status_code(whole->status));
  if (whole->status != STATUS_OK) {
    assert_int_equal(coming->error.place.line, whole->error.place.line);
    assert_int_equal(coming->error.place.byte, whole->error.place.byte);
    assert_string_equal(coming->error.expected, whole->error.expected);
    assert_string_equal(coming->error.path, whole->error.path);
    return;
  }
  Buffer out;
  buffer_init(&out, memory_system());
  write(whole, &out);
  assert_int_equal(count_of(coming), count_of(whole));
  assert_int_equal(coming->warnings.count, whole->warnings.count);
  assert_written(coming, text, out.bytes, out.size);
  buffer_free(&out);
}

static const char *const TEXTS[] = {
  "", " ", "\n\n \r\n", "\xEF\xBB\xBF", U, U "\n", U "\n" U "\r\n\r\n" U, "\xEF\xBB\xBF" U "\n" U "\n\n", " \n\n" U "\n",
  "{'role':\n'user',\n'content':'over\\nlines'}\n" U "\n",
  "{'role':'user','content':'\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80 \\ud83d\\ude00'}\n" U,
  "{'id':'a','role':'user','content':'x'}\n{'id':'b','role':'user','content':'y'}\n" U "\n",
  "{'role':'assistant','content':null,'tool_calls':[{'id':'c','type':'function','function':{'name':'f','arguments':'{}'}}]}\n"
  "{'role':'tool','tool_call_id':'c','content':'1'}\n",
  "{'role':'user','content':[{'type':'odd','a':[1,2]},{'type':'text','text':'t'}]}\n" U "\n" U,
  "[" U "," U "]", "{'messages':[" U "],'tools':[]}",
  /* refused: */
  U U, U "\n{'role':'user'", U "\n{'role':'user','content':'x", U "\nnothing\n" U, U "\n" U "\n]",
  U "\n{'role':'usr','content':''}\n" U,
  "{'id':'a','role':'user','content':'x'}\n{'id':'a','role':'user','content':'y'}\n" U "\n" U,
  U "\n{'role':'user','content':'\xc3'}\n" U,
  U "\n{'role':'user','content':'\\ud83d'}\n" U,
  U "\n{'role':'user','content':'this one is longer than a message may be'}\n" U,
  U "\n{'role':'user','content':12}\n" U "\n" U, "[" U "," U, "{'contents':[]}", U "\n[1]\n" U,
};

static void all_is_as_if_it_were_there(void **state) {
  (void)state;
  enum { ROUNDS = 40 };
  chance = test_seed();
  for (uint32_t i = 0; i < ROUNDS * (sizeof TEXTS / sizeof *TEXTS); i++) {
    const char *text = quoted(TEXTS[i % (sizeof TEXTS / sizeof *TEXTS)]);
    size_t size = strlen(text);
    DocumentLimits limits = USUAL;
    limits.lenient = below(4) == 0;
    if (strstr(text, "longer") != NULL) limits.message_bytes_max = 48;
    Coming coming = {.from = text, .size = size, .claimed = size + 1 + below(20), .step = 1 + below(60)};
    Loaded whole, loaded;
    load_within(&whole, limits, text, size, 0);
    load_coming(&loaded, limits, &coming);
    assert_same(text, &whole, &loaded);
    unload(&loaded);
    unload(&whole);
  }
}

/* Whichever wait fails, in a message or between two, what failed is the file. */
static void what_cannot_be_read_is_refused(void **state) {
  static const char *const texts[] = {" \n" U "\n" U "\n", U "\n" U "\n" U "\n" U "\n\n  \n" U "\n"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const char *text = quoted(texts[i]);
    Status status = STATUS_IO;
    uint32_t failed = 0;
    for (uint32_t fail_at = 1; status != STATUS_OK; fail_at++) {
      Coming coming = {.from = text, .size = strlen(text), .claimed = strlen(text) + 9, .step = 1, .fail_at = fail_at};
      Loaded loaded;
      status = load_coming(&loaded, USUAL, &coming);
      failed += status == STATUS_IO;
      assert_true(status == STATUS_OK || status == STATUS_IO);
      unload(&loaded);
    }
    assert_true(failed > sizeof U);      /* some within a message, which is read again */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_is_as_if_it_were_there),
    cmocka_unit_test(what_cannot_be_read_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
