/*
** Request bodies, arrays and JSONL through the C API: read from memory, written back,
** checked and mended for a provider.
*/
#include "api_kit.h"

#define BODY                                                                                     \
  "{\n  \"model\": \"gpt-4o\", \"tools\": [{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\n" \
  "  \"messages\": [\n    {\"role\": \"system\", \"content\": \"Be brief.\"},\n"                 \
  "    {\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7}\n  ],\n  \"temperature\": 0.5\n}\n"

static char *copy_of(const char *text) {
  char *copy = malloc(strlen(text) + 1);
  assert_non_null(copy);
  return strcpy(copy, text);
}

static ebb_status read_text(ebb_runtime *runtime, const char *text, const char *options, ebb_chat **chat) {
  return ebb_chat_read(runtime, text, strlen(text), options, options == NULL ? 0 : strlen(options), chat);
}

static ebb_status write_text(ebb_chat *chat, const char *options, ebb_text *text) {
  return ebb_chat_write(chat, options, options == NULL ? 0 : strlen(options), text);
}

static ebb_status repair(ebb_chat *chat, const char *options, ebb_chat **fork, ebb_text *report) {
  return ebb_chat_repair(chat, options, options == NULL ? 0 : strlen(options), fork, report);
}

#define writes(chat, options, expected)           \
  do {                                            \
    ebb_text text_;                               \
    must(write_text(chat, options, &text_));      \
    assert_string_equal(text_.bytes, expected);   \
    assert_int_equal(text_.size, strlen(expected)); \
  } while (0)

static void shapes_come_back_byte_for_byte(void **state) {
  static const char *const texts[] = {
    BODY,
    "[ {\"role\":\"user\",\"content\":\"a\"} ,\n\t{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"user\",\"content\":\"c\"}]",
    "{\"role\":\"user\",\"content\":\"a\"}\n\n{\"role\":\"user\",\"content\":\"b\"}\n",
    "\xef\xbb\xbf[]", "[\n]\n", "", " \n", "{\"messages\":[],\"model\":\"an unknown one\"}",
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  (void)state;
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    must(read_text(runtime, texts[i], NULL, &chat));
    writes(chat, NULL, texts[i]);
    writes(chat, "{}", texts[i]);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

static void a_body_is_counted_edited_and_forked(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *bare, *fork;
  ebb_text json;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, BODY, NULL, &chat));
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4o\"}", 18, &bare));
  must(append(bare, "[{\"role\": \"system\", \"content\": \"Be brief.\"},"
                    "{\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7}]"));
  assert_true(ebb_chat_tokens(chat) > ebb_chat_tokens(bare));      /* the tools count */
  must(ebb_chat_json(chat, &json));
  assert_string_equal(json.bytes, "[\n{\"role\": \"system\", \"content\": \"Be brief.\"},\n"
                                  "{\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7}\n]\n");
  must(ebb_chat_fork(chat, &fork));
  must(append(fork, "{\"role\":\"user\",\"content\":\"x\"}"));
  must(apply(fork, "{\"operation\":\"truncate\",\"keepLast\":2}"));
  ebb_chat_free(chat);
  must(ebb_chat_compact(fork, 1, NULL));
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  writes(fork, NULL,
         "{\n  \"model\": \"gpt-4o\", \"tools\": [{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\n"
         "  \"messages\": [\n    {\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7},\n"
         "    {\"role\":\"user\",\"content\":\"x\"}\n  ],\n  \"temperature\": 0.5\n}\n");
  writes(fork, "{\"shape\":\"jsonl\"}",
         "{\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7}\n{\"role\":\"user\",\"content\":\"x\"}\n");
  writes(bare, "{\"shape\":\"array\"}", "[\n{\"role\": \"system\", \"content\": \"Be brief.\"},\n"
                                        "{\"role\":\"user\",\"content\":\"Gr\\u00fc\\u00df Gott\",\"mood\":7}\n]\n");
  host_close(&host, runtime);
}

/* What was read is saved whole: a loaded chat writes, counts and digests as the one that was saved. */
static void what_was_read_is_saved(void **state) {
  static const struct { const char *text, *options; } rows[] = {
    {BODY, NULL}, {BODY, "{\"encoding\":\"bytes4\",\"limit\":900}"}, {BODY, "{\"encoding\":\"bytes4\"}"},
    {BODY, "{\"tools\":[{\"name\":\"f\",\"description\":\"does f\"}]}"},
    {"[{\"role\":\"pirate\",\"content\":\"Arr\"}, {\"role\":\"user\",\"content\":\"b\"}]",
     " { \"roleMap\":{\"pir\\u0061te\":\"user\"}, \"maxMessage\":1000}"},
    {"{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n", "{ }"},
    {"[]", NULL}, {"", NULL}, {"\xef\xbb\xbf[ ]", NULL},
  };
  Host host;
  ebb_runtime *runtime;
  (void)state;
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ebb_chat *chat, *again;
    ebb_text saved, text;
    char digest[65], other[65];
    must(read_text(runtime, rows[i].text, rows[i].options, &chat));
    must(ebb_chat_save(chat, &saved));
    must(ebb_chat_load(runtime, saved.bytes, saved.size, &again));
    must(ebb_chat_digest(chat, digest));
    must(ebb_chat_digest(again, other));
    assert_string_equal(digest, other);
    assert_int_equal(ebb_chat_tokens(chat), ebb_chat_tokens(again));
    assert_int_equal(ebb_chat_count(chat), ebb_chat_count(again));
    must(write_text(chat, NULL, &text));
    char *written = copy_of(text.bytes);
    writes(again, NULL, written);
    free(written);
    ebb_chat_free(chat);
    ebb_chat_free(again);
  }
  host_close(&host, runtime);
}

static void replace_once(char *text, const char *from, const char *to) {
  char *at = strstr(text, from);
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  memcpy(at, to, strlen(to));
}

/* A save whose envelope has been tampered with is refused: it would write invalid JSON. */
static void damaged_envelopes_are_refused(void **state) {
  static const char text[] = "{\"model\":\"gpt-4o\",\"messages\":[ {\"role\":\"user\",\"content\":\"a\"} ,  "
                             "{\"role\":\"pirate\",\"content\":\"b\"}],\"user\":\"me, or [ ]\"}";
  static const struct { const char *from, *to; } rows[] = {
    {"\"gap\":\" ,  \"", "\"gap\":\" 1  \""},  {"\"gap\":\" ,  \"", "\"gap\":\" , ,\""},
    {"\"gap\"", "\"gup\""},                    {"\"gap\":\" ,  \"", "\"gap\":[\"  \"]"},
    {"[ \",\"gap", "[1\",\"gap"},              {"[ \",\"gap", "  \",\"gap"},
    {"],\\\"user", " ,\\\"user"},
    {"\"roleMap\":{\"pirate\":\"user\"}", "\"roleMap\":{\"pirate\":\"used\"}"},
    {"\"roleMap\":{\"pirate\":\"user\"}", "\"roleMap\":{\"pirata\":\"user\"}"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *loaded;
  ebb_text saved;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, text, "{\"roleMap\":{\"pirate\":\"user\"}}", &chat));
  must(ebb_chat_save(chat, &saved));
  char *good = copy_of(saved.bytes);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *bad = copy_of(good);
    replace_once(bad, rows[i].from, rows[i].to);
    ebb_status status = ebb_chat_load(runtime, bad, strlen(bad), &loaded);
    if (status == EBB_OK) fail_msg("row %zu loads", i);
    free(bad);
  }
  must(ebb_chat_load(runtime, good, strlen(good), &loaded));
  writes(loaded, NULL, text);
  free(good);
  refused(ebb_chat_new(runtime, "{\"document\":{\"before\":\"[\",\"gap\":\",\",\"after\":\"]\"}}", 49, &loaded),
          EBB_UNKNOWN_NAME, "document");
  host_close(&host, runtime);
}

/* What loads, whatever was done to its bytes, writes what can be read again. SEED=n repeats. */
static void mutated_saves_are_refused_or_work(void **state) {
  static const char words[] = "[]{}\",:\\ \n0a";
  const char *texts[] = {BODY, "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n"};
  Host host;
  ebb_runtime *runtime;
  int loaded = 0;
  (void)state;
  srand((unsigned)test_seed());
  host_open(&host, &runtime);
  for (int i = 0; i < 4000; i++) {
    ebb_chat *chat, *again;
    ebb_text text;
    must(read_text(runtime, texts[i % 2], NULL, &chat));
    must(ebb_chat_save(chat, &text));
    ebb_chat_free(chat);
    char *bytes = copy_of(text.bytes);
    size_t size = text.size, end = (size_t)(strstr(bytes, "\"messages\":[\n") - bytes);
    size_t at = (size_t)rand() % end;          /* among the options */
    if (i % 3 == 0) memmove(bytes + at, bytes + at + 1, size - at), size--;
    else bytes[at] = words[(size_t)rand() % (sizeof words - 1)];
    if (ebb_chat_load(runtime, bytes, size, &chat) == EBB_OK) {
      loaded++;
      must(trim(chat, NULL, "{\"budget\":1000}", NULL));
      must(append(chat, "{\"role\":\"user\",\"content\":\"x\"}"));
      must(write_text(chat, NULL, &text));
      must(ebb_chat_read(runtime, text.bytes, text.size, NULL, 0, &again));
      if (ebb_chat_count(again) != 3) fail_msg("%s\nbecame\n%s", bytes, text.bytes);
      ebb_chat_free(again);
      ebb_chat_free(chat);
    }
    free(bytes);
  }
  print_message("%d of 4000 mutations were chats still\n", loaded);
  host_close(&host, runtime);
}

static void what_is_no_conversation_is_refused_with_its_place(void **state) {
  static const struct { const char *text, *options; ebb_status status; const char *says; } rows[] = {
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"pirate\"}]}", NULL, EBB_ROLE, "1:52: expected a role"},
    {"[{\"role\":\"user\"", NULL, EBB_SYNTAX, "1:16"},
    {"[{\"role\":\"user\",\"content\":\"\xff\"}]", NULL, EBB_ENCODING, "1:28"},
    {"{\"model\":\"x\"}", NULL, EBB_SHAPE, "1:"},
    {"7", NULL, EBB_SHAPE, "1:1"},
    {"{\"contents\":[{}]}", NULL, EBB_SHAPE, "contents[0]"},
    {"[{\"role\":\"user\",\"content\":\"a\",\"id\":\"i\"},{\"role\":\"user\",\"content\":\"b\",\"id\":\"i\"}]", NULL,
     EBB_DUPLICATE, "[1].id"},
    {"[{\"role\":\"user\",\"content\":\"0123456789\"}]", "{\"maxMessage\":20}", EBB_LIMIT, "cap"},
    {"[{\"role\":\"user\",\"content\":\"0123456789\"}]", "{\"maxFile\":20}", EBB_LIMIT, "cap"},
    {"[]", "{\"maxFiles\":20}", EBB_UNKNOWN_NAME, "maxFile"},
    {"[]", "{\"maxFile\":0}", EBB_ARGUMENT, "maxFile: expected"},
    {"[]", "{\"roleMap\":{\"a\":\"pirate\"}}", EBB_UNKNOWN_NAME, "roleMap.a: unknown role 'pirate'"},
    {"[]", "{\"roleMap\":7}", EBB_ARGUMENT, "roleMap: expected"},
    {"[]", "{\"roleMap\":{\"a\":7}}", EBB_ARGUMENT, "roleMap.a: expected"},
    {"[]", "{\"lenient\":7}", EBB_ARGUMENT, "lenient"},
    {"[]", "[]", EBB_SHAPE, "object"},
    {"[]", "{\"encoding\":\"none\"}", EBB_UNKNOWN_NAME, "none"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat = NULL;
  (void)state;
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    refused(read_text(runtime, rows[i].text, rows[i].options, &chat), rows[i].status, rows[i].says);
  }
  assert_null(chat);
  assert_int_equal(ebb_chat_read(runtime, NULL, 1, NULL, 0, &chat), EBB_ARGUMENT);
  assert_int_equal(ebb_chat_read(NULL, "", 0, NULL, 0, &chat), EBB_ARGUMENT);
  refused(ebb_chat_new(runtime, "[]", 2, &chat), EBB_SHAPE, "object");
  host_close(&host, runtime);
}

static ebb_status take(void *user, const void *bytes, size_t size) {
  char *text = user;
  if (text[0] == '!') return EBB_IO;
  strncat(text, bytes, size);
  return EBB_OK;
}

static void writers_get_it_in_pieces(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char text[1000] = "";
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, BODY, NULL, &chat));
  must(ebb_chat_write_to(chat, NULL, 0, take, text));
  assert_string_equal(text, BODY);
  refused(ebb_chat_write_to(chat, NULL, 0, take, (char[]){"!"}), EBB_IO, "writer");
  refused(ebb_chat_write_to(chat, "{\"shape\":7}", 11, take, text), EBB_ARGUMENT, "shape");
  assert_string_equal(text, BODY);
  writes(chat, NULL, BODY);
  host_close(&host, runtime);
}

static void lenient_reading_mends(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, "[{\"role\":\"user\",\"content\":\"a\xff\"},7]", "{\"lenient\":true}", &chat));
  assert_int_equal(ebb_chat_count(chat), 1);
  writes(chat, NULL, "[{\"role\":\"user\",\"content\":\"a\xef\xbf\xbd\"}]");
  host_close(&host, runtime);
}

/* The cap of one message is the host's choice. */
static void the_cap_of_a_message_is_configured(void **state) {
  Host host = {.now = 1};
  ebb_config config = host_config(&host);
  ebb_runtime *runtime;
  ebb_chat *chat;
  (void)state;
  size_t size = (size_t)17 << 20;
  char *text = malloc(size + 64);
  int before = sprintf(text, "{\"role\":\"user\",\"content\":\"");
  memset(text + before, 'x', size);
  memcpy(text + (size_t)before + size, "\"}", 3);
  config.message_limit = 40;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  refused(append(chat, "{\"role\":\"user\",\"content\":\"a longer one, a little\"}"), EBB_LIMIT, "cap");
  refused(read_text(runtime, "[{\"role\":\"user\",\"content\":\"a longer one, a little\"}]", NULL, &chat), EBB_LIMIT,
          "cap");
  ebb_runtime_free(runtime);
  config.message_limit = 0;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  refused(append(chat, text), EBB_LIMIT, "cap");
  ebb_runtime_free(runtime);
  config.message_limit = (size_t)20 << 20;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, text));
  ebb_text written;
  must(write_text(chat, NULL, &written));        /* though no string of Lua's holds it */
  assert_int_equal(written.size, strlen(text) + 5);
  ebb_chat_free(chat);
  must(read_text(runtime, text, NULL, &chat));
  assert_int_equal(ebb_chat_count(chat), 1);
  free(text);
  host_close(&host, runtime);
}

/* ---- checking and mending ---- */

#define BROKEN                                                                                               \
  "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"tool_call_id\":\"z\",\"content\":\"b\"}," \
  "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"  \
  "{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"user\",\"content\":\"c\"}],\"n\":1}"

static void violations_are_named(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, BROKEN, NULL, &chat));
  must(ebb_chat_check(chat, NULL, &json));
  assert_memory_equal(json.bytes, "{\"dialect\":\"openai\",\"violations\":[{\"code\":\"orphan_result\"", 57);
  assert_non_null(strstr(json.bytes, "\"index\":1,\"mendable\":true,\"models\":\"\",\"seq\":2,"));
  assert_non_null(strstr(json.bytes, "\"severity\":\"refused\",\"source\":\"github "));
  assert_non_null(strstr(json.bytes, "\"code\":\"unanswered_call\""));
  assert_non_null(strstr(json.bytes, "\"index\":2,"));
  must(ebb_chat_check(chat, "anthropic", &json));
  assert_non_null(strstr(json.bytes, "\"dialect\":\"anthropic\""));
  refused(ebb_chat_check(chat, "antropic", &json), EBB_UNKNOWN_NAME, "anthropic");
  must(apply(chat, "{\"operation\":\"truncate\",\"keepFirst\":1}"));
  must(ebb_chat_check(chat, NULL, &json));
  assert_string_equal(json.bytes, "{\"dialect\":\"openai\",\"violations\":[]}");
  host_close(&host, runtime);
}

static void repairs_are_forks(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_text text;
  char before[65], after[65];
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, BROKEN, NULL, &chat));
  must(ebb_chat_digest(chat, before));
  must(repair(chat, NULL, &fork, &text));
  assert_non_null(strstr(text.bytes, "{\"dialect\":\"openai\",\"mended\":2,\"ledger\":[{\"action\":\"dropped\""));
  assert_non_null(strstr(text.bytes, "\"lost_call\""));
  assert_non_null(strstr(text.bytes, "\"left\":[]}"));
  writes(fork, NULL,
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"c\"}],\"n\":1}");
  writes(chat, "{\"repair\":true}",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"c\"}],\"n\":1}");
  writes(chat, NULL, BROKEN);
  must(repair(chat, "{\"calls\":\"synthesize\",\"codes\":[\"unanswered_call\"]}", &fork, NULL));
  assert_int_equal(ebb_chat_count(fork), 5);
  must(write_text(chat, "{\"repair\":true,\"calls\":\"synthesize\",\"dialect\":\"openai\"}", &text));
  assert_non_null(strstr(text.bytes, "\"tool_call_id\":\"c\""));
  refused(repair(chat, "{\"call\":\"drop\"}", &fork, NULL), EBB_UNKNOWN_NAME, "calls");
  refused(repair(chat, "{\"calls\":\"mend\"}", &fork, NULL), EBB_ARGUMENT, "synthesize");
  refused(repair(chat, "{\"codes\":[\"none\"]}", &fork, NULL), EBB_UNKNOWN_NAME,
          "codes: there is no violation 'none'");
  refused(write_text(chat, "{\"calls\":\"drop\"}", &text), EBB_ARGUMENT, "repair");
  refused(write_text(chat, "{\"shape\":\"body\"}", &text), EBB_ARGUMENT, "jsonl");
  refused(write_text(chat, "{\"shapes\":1}", &text), EBB_UNKNOWN_NAME, "shape");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  host_close(&host, runtime);
}

static void requests_are_written_in_every_dialect(void **state) {
  static const char TOOLS[] =
    "{\"model\": \"gpt-4o\", \"messages\": [{\"role\":\"system\",\"content\":\"S\"},"
    "{\"role\":\"user\",\"content\":\"hi\",\"id\":\"m1\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a b\",\"type\":\"function\",\"function\":"
    "{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a b\",\"content\":\"r\"}]}";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text body, report;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, TOOLS, NULL, &chat));
  must(ebb_chat_request(chat, "anthropic", NULL, 0, &body, &report));
  assert_non_null(strstr(body.bytes, "\"system\":[{\"type\":\"text\",\"text\":\"S\"}]"));
  assert_non_null(strstr(body.bytes, "\"max_tokens\":4096"));
  assert_non_null(strstr(report.bytes, "\"code\":\"changed_id\",\"index\":2,"));
  must(ebb_chat_request(chat, "gemini", NULL, 0, &body, NULL));
  assert_non_null(strstr(body.bytes, "\"systemInstruction\":{\"parts\":[{\"text\":\"S\"}]}"));
  must(ebb_chat_request(chat, NULL, "{\"model\":\"claude-opus-4-5\"}", 27, &body, &report));
  assert_non_null(strstr(report.bytes, "{\"dialect\":\"anthropic\""));
  assert_non_null(strstr(report.bytes, "\"code\":\"added_member\""));
  assert_non_null(strstr(body.bytes, "\"max_tokens\":16384"));
  must(ebb_chat_request(chat, NULL, NULL, 0, &body, &report));
  assert_non_null(strstr(body.bytes, "{\"role\":\"user\",\"content\":\"hi\"}"));
  assert_non_null(strstr(report.bytes, "lost_member"));
  must(ebb_chat_request(chat, NULL, "{\"keepExtra\":true}", 18, &body, NULL));
  assert_string_equal(body.bytes, TOOLS);
  refused(ebb_chat_request(chat, "antropic", NULL, 0, &body, NULL), EBB_UNKNOWN_NAME, "anthropic");
  refused(ebb_chat_request(chat, NULL, "{\"keep\":1}", 10, &body, NULL), EBB_UNKNOWN_NAME, "keep");
  host_close(&host, runtime);
}

static void windows_are_written_as_messages(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_text text;
  (void)state;
  host_open(&host, &runtime);
  must(read_text(runtime, BROKEN, NULL, &chat));
  must(ebb_window_open(chat, "todo", "{\"content\":\"tea\"}", 17));
  must(write_text(chat, NULL, &text));
  assert_non_null(strstr(text.bytes, "<Window"));
  assert_non_null(strstr(text.bytes, "\"n\":1}"));
  must(ebb_chat_check(chat, NULL, &text));
  assert_non_null(strstr(text.bytes, "orphan_result"));
  must(repair(chat, NULL, &fork, &text));
  must(ebb_chat_json(fork, &text));
  assert_non_null(strstr(text.bytes, "<Window"));
  assert_int_equal(ebb_chat_count(fork), 3);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shapes_come_back_byte_for_byte),
    cmocka_unit_test(a_body_is_counted_edited_and_forked),
    cmocka_unit_test(what_was_read_is_saved),
    cmocka_unit_test(damaged_envelopes_are_refused),
    cmocka_unit_test(mutated_saves_are_refused_or_work),
    cmocka_unit_test(what_is_no_conversation_is_refused_with_its_place),
    cmocka_unit_test(writers_get_it_in_pieces),
    cmocka_unit_test(lenient_reading_mends),
    cmocka_unit_test(the_cap_of_a_message_is_configured),
    cmocka_unit_test(violations_are_named),
    cmocka_unit_test(repairs_are_forks),
    cmocka_unit_test(requests_are_written_in_every_dialect),
    cmocka_unit_test(windows_are_written_as_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
