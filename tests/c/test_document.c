/*
** Files of messages: which shape they have, and what is written back.
**
** What is dropped, inserted or replaced is held against a model: the file taken
** to pieces by hand, before | message | gap | message | gap | message | after.
*/
#define _DEFAULT_SOURCE 1
#include "documents.h"

#include <dirent.h>

/* ---- shapes ---- */

static const struct Shape {
  const char *shows, *text;
  DocumentShape shape;
  uint32_t count;
} shapes[] = {
  {"an array", "[" U "," U "]", DOCUMENT_ARRAY, 2},
  {"with space around", " \r\n\t[ " U " ,\n" U "\n]\n\n", DOCUMENT_ARRAY, 2},
  {"with a BOM", "\xef\xbb\xbf[" U "]", DOCUMENT_ARRAY, 1},
  {"an empty array", " [ ] ", DOCUMENT_ARRAY, 0},
  {"an empty array with a BOM", "\xef\xbb\xbf[]\n", DOCUMENT_ARRAY, 0},
  {"lines", U "\n" U "\n", DOCUMENT_JSONL, 2},
  {"lines without a last newline", U "\n" U, DOCUMENT_JSONL, 2},
  {"CRLF, blank lines, BOM", "\xef\xbb\xbf\r\n" U "\r\n \r\n\t\n" U " \r\n\r\n", DOCUMENT_JSONL, 2},
  {"one message alone", U, DOCUMENT_JSONL, 1},
  {"a message over several lines", "{\n 'role': 'user',\n 'content': 'x'\n}\n" U, DOCUMENT_JSONL, 2},
  {"nothing", "", DOCUMENT_JSONL, 0},
  {"white space only", " \r\n\n", DOCUMENT_JSONL, 0},
  {"a BOM only", "\xef\xbb\xbf", DOCUMENT_JSONL, 0},
  {"a body", "{'model':'m','messages':[" U "],'n':1}\n", DOCUMENT_BODY, 1},
  {"a body with messages first", "{'messages':[" U ", " U "],'model':'m'}", DOCUMENT_BODY, 2},
  {"a body with messages last", "\xef\xbb\xbf {'model':'m' , 'messages' : [\n" U "\n] }", DOCUMENT_BODY, 1},
  {"a body without messages yet", "{'messages':[ ],'model':'m'}", DOCUMENT_BODY, 0},
  {"a body whose key has escapes", "{'m\\u0065ssages':[" U "]}", DOCUMENT_BODY, 1},
  {"a body with messages within", "{'a':{'messages':[1]},'messages':[" U "]}", DOCUMENT_BODY, 1},
  {"a body with contents and input", "{'contents':[],'messages':[" U "],'input':''}", DOCUMENT_BODY, 1},
  {"messages in a message", "{'role':'user','messages':[],'content':'x'}", DOCUMENT_JSONL, 1},
  {"messages in a message, before its role", "{'messages':[1],'role':'user','content':'x'}\n" U, DOCUMENT_JSONL, 2},
  {"input in a message", "{'input':'x','contents':[],'role':'user','content':'x'}", DOCUMENT_JSONL, 1},
  {"contents", "{'contents' : [ {'role':'user','parts':[{'text':'a'}]} , {'role':'model','parts':[{'text':'b'}]} ],'n':1}",
   DOCUMENT_BODY, 2},
  {"contents of one message", "{'generationConfig':{}, 'contents' : {'parts':{'text':'a'}} ,'tools':[]}\n", DOCUMENT_BODY, 1},
  {"input", "{'model':'m','input':[{'role':'user','content':'a'}, {'type':'web_search_call'},{'type':'reasoning'}]}",
   DOCUMENT_BODY, 3},
  {"input of one text", "{'model':'m', 'input' : 'a\\u0041\\n' ,'instructions':'be brief'}\n", DOCUMENT_BODY, 1},
  {"input of one text, with a BOM", "\xef\xbb\xbf {'input':''}", DOCUMENT_BODY, 1},
  {"items", "[{'type':'reasoning','summary':[]},{'type':'function_call','call_id':'c','name':'f','arguments':''}]",
   DOCUMENT_ARRAY, 2},
  {"items by line", "{'type':'custom_tool_call','call_id':'c','name':'f','input':'x'}\n{'input':'x','type':'compaction'}",
   DOCUMENT_JSONL, 2},
  {"input and messages in items and messages", "{'messages':[],'type':'reasoning'}\n{'contents':[],'parts':[]}",
   DOCUMENT_JSONL, 2},
  {"messages with parts by line", "{'role':'user','parts':[{'text':'a'}]}\n{'parts':[],'role':'model'}\n", DOCUMENT_JSONL, 2},
};

static void shapes_are_told_apart_and_written_back(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const struct Shape *shape = &shapes[i];
    const char *text = quoted(shape->text);
    Loaded loaded;
    must_load(&loaded, shape->shows, text, strlen(text));
    if (loaded.document.shape != shape->shape || count_of(&loaded) != shape->count) {
      fail_msg("%s: %s of %u", shape->shows, document_shape_name(loaded.document.shape), (unsigned)count_of(&loaded));
    }
    assert_int_equal(loaded.document.count, shape->count);
    assert_int_equal(loaded.warnings.count, 0);
    assert_written(&loaded, shape->shows, text, strlen(text));
    bool has_model = strstr(text, "\"model\":") != NULL || strstr(text, "\"model\" :") != NULL;
    assert_int_equal(loaded.document.model.size, has_model ? 1 : 0);
    unload(&loaded);
  }
}

/* ---- edits against the model ---- */

#define M1 "{\"role\":\"system\",\"content\":\"one\"}"
#define M2 "{ \"role\": \"user\",\n\"content\": \"two\" }"
#define M3 "{\"content\":\"three\",\"role\":\"assistant\"}"
#define NEW "{\"role\":\"user\",\"content\":\"new\"}"

static const char *const MESSAGES[] = {M1, M2, M3};

static const struct Cuttings {
  const char *shows, *before, *gaps[2], *after;
  bool lines;
} pieces[] = {
  {"array", "[", {",", ","}, "]", false},
  {"pretty array", "[\n  ", {",\n  ", ",\n  "}, "\n]\n", false},
  {"odd gaps", " [ ", {" ,", ",\r\n\t"}, "  ] ", false},
  {"lines", "", {"\n", "\n"}, "\n", true},
  {"lines with a BOM", "\xef\xbb\xbf", {"\r\n", "\r\n\r\n"}, "\r\n", true},
  {"lines without an end", "\n", {" \n", "\n\n"}, "", true},
  {"body", "{\"model\":\"m\",\"messages\":[", {", ", " ,"}, "],\"stop\":[\"]\"]}", false},
  {"pretty body", "{\n \"messages\": [\n  ", {",\n\n  ", ",\n  "}, "\n ]\n}\n", false},
};

/* What the model has in the place of message `index`; and the gap that goes with it. */
typedef struct Item {
  const char *text, *gap;
} Item;

/* Writes the model's file. */
static size_t compose(const struct Cuttings *of, const Item *items, size_t count, char *out, size_t room) {
  const char *after = of->lines && count == 0 ? "" : of->after;
  size_t size = (size_t)snprintf(out, room, "%s", of->before);
  for (size_t i = 0; i < count; i++) {
    size += (size_t)snprintf(out + size, room - size, "%s%s", i == 0 ? "" : items[i].gap, items[i].text);
  }
  size += (size_t)snprintf(out + size, room - size, "%s", after);
  assert_true(size < room);
  return size;
}

static void load_pieces(Loaded *loaded, const struct Cuttings *of) {
  char text[1000];
  Item items[] = {{M1, ""}, {M2, of->gaps[0]}, {M3, of->gaps[1]}};
  size_t size = compose(of, items, 3, text, sizeof text);
  must_load(loaded, of->shows, text, size);
  assert_written(loaded, of->shows, text, size);
}

/* The conversation is what the model says, and loads again as such. */
static void assert_model(const Loaded *loaded, const struct Cuttings *of, const Item *items, size_t count) {
  char text[1000];
  size_t size = compose(of, items, count, text, sizeof text);
  Loaded again;
  assert_written(loaded, of->shows, text, size);
  must_load(&again, of->shows, text, size);
  assert_int_equal(count_of(&again), count);
  for (uint32_t i = 0; i < count; i++) {
    Text raw = raw_at(&again, i);
    assert_int_equal(raw.size, strlen(items[i].text));
    assert_memory_equal(raw.bytes, items[i].text, raw.size);
  }
  assert_written(&again, of->shows, text, size);
  unload(&again);
}

static Status keep_bits(void *user, uint32_t position, MessageId id, bool *keep) {
  (void)id;
  *keep = (*(const unsigned *)user >> position & 1) != 0;
  return STATUS_OK;
}

static void dropping_leaves_the_bytes_of_all_others(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    for (unsigned kept = 0; kept < 8; kept++) {
      const struct Cuttings *of = &pieces[i];
      Loaded loaded;
      Item items[3];
      size_t count = 0;
      Filter filter = {.where = keep_bits, .user = &kept};
      load_pieces(&loaded, of);
      assert_int_equal(operation_filter(loaded.conversation, &filter), STATUS_OK);
      for (size_t at = 0; at < 3; at++) {
        if (kept >> at & 1) items[count++] = (Item){MESSAGES[at], at == 0 ? "" : of->gaps[at - 1]};
      }
      assert_model(&loaded, of, items, count);
      unload(&loaded);
    }
  }
}

/* Gives NEW once. */
typedef struct Once {
  Reader reader;
  Json json;
  bool given;
} Once;

static Status next_once(void *user, bool *more, Text *raw, MessageShape *shape) {
  Once *once = user;
  *more = !once->given;
  if (once->given) return STATUS_OK;
  once->given = true;
  json_open(&once->json, NEW, strlen(NEW));
  return reader_message(&once->reader, &once->json, raw, shape) ? STATUS_OK : once->json.status;
}

static void put_new(Loaded *loaded, uint32_t position, bool replace) {
  Once once = {.given = false};
  MessageSource source = {.next = next_once, .user = &once};
  reader_init(&once.reader, memory_system());
  Status status = replace ? operation_replace(loaded->conversation, position, &source, (Text){0})
                          : operation_insert(loaded->conversation, position, &source, (Text){0});
  assert_int_equal(status, STATUS_OK);
  reader_free(&once.reader);
}

static void inserting_leaves_the_bytes_of_all_others(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    for (uint32_t position = 0; position <= 3; position++) {
      const struct Cuttings *of = &pieces[i];
      Loaded loaded;
      Item items[4];
      size_t count = 0;
      load_pieces(&loaded, of);
      put_new(&loaded, position, false);
      for (uint32_t at = 0; at <= 3; at++) {
        if (at == position) items[count++] = (Item){NEW, of->gaps[0]};
        if (at < 3) items[count++] = (Item){MESSAGES[at], at == 0 ? of->gaps[0] : of->gaps[at - 1]};
      }
      assert_model(&loaded, of, items, count);
      unload(&loaded);
    }
  }
}

static void replacing_leaves_the_gaps_too(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    for (uint32_t position = 0; position < 3; position++) {
      const struct Cuttings *of = &pieces[i];
      Loaded loaded;
      Item items[] = {{M1, ""}, {M2, of->gaps[0]}, {M3, of->gaps[1]}};
      load_pieces(&loaded, of);
      put_new(&loaded, position, true);
      items[position].text = NEW;
      assert_model(&loaded, of, items, 3);
      put_new(&loaded, position, true);   /* a replacement of a replacement */
      assert_model(&loaded, of, items, 3);
      unload(&loaded);
    }
  }
}

static void messages_go_into_files_that_had_none(void **state) {
  (void)state;
  static const struct { const char *text, *wanted; } cases[] = {
    {"[]", "[" NEW "]"},
    {" [ ]\n", " [" NEW " ]\n"},
    {"{\"messages\":[],\"n\":1}", "{\"messages\":[" NEW "],\"n\":1}"},
    {"", NEW},
    {"\n", NEW "\n"},
    {"\xef\xbb\xbf\r\n", "\xef\xbb\xbf" NEW "\r\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded;
    must_load(&loaded, cases[i].text, cases[i].text, strlen(cases[i].text));
    put_new(&loaded, 0, false);
    assert_written(&loaded, cases[i].text, cases[i].wanted, strlen(cases[i].wanted));
    unload(&loaded);
  }
}

static Status refuse_bytes(void *user, const char *bytes, size_t size) {
  (void)user;
  (void)bytes;
  (void)size;
  return STATUS_IO;
}

static Status keep_odd(void *user, uint32_t position, MessageId id, bool *keep) {
  (void)user;
  (void)id;
  *keep = position % 2 == 0;
  return STATUS_OK;
}

static void a_sink_that_fails_ends_the_writing(void **state) {
  (void)state;
  Loaded loaded;
  load_pieces(&loaded, &pieces[0]);
  const Sequence *list = conversation_list(loaded.conversation);
  assert_int_equal(document_write(&loaded.document, loaded.conversation, list, (Sink){refuse_bytes, NULL}), STATUS_IO);
  unload(&loaded);
}

/* A sink that takes so many writes, and fails at the next. */
typedef struct Narrow {
  uint32_t takes, calls;
} Narrow;

static Status take_some(void *user, const char *bytes, size_t size) {
  Narrow *narrow = user;
  assert_true(bytes != NULL && size > 0);
  return ++narrow->calls > narrow->takes ? STATUS_IO : STATUS_OK;
}

static void nothing_is_written_after_a_failure(void **state) {
  (void)state;
  Loaded loaded;
  const char *text = quoted("[" U ", " U ",\n" U " , " U "," U "]");
  must_load(&loaded, "five", text, strlen(text));
  Truncate cut = {.has_range = true, .start = 1, .end = 4};
  assert_int_equal(operation_truncate(loaded.conversation, &cut), STATUS_OK);
  Filter filter = {.where = keep_odd};
  assert_int_equal(operation_filter(loaded.conversation, &filter), STATUS_OK);
  const Sequence *list = conversation_list(loaded.conversation);
  Narrow all = {.takes = UINT32_MAX};
  assert_int_equal(document_write(&loaded.document, loaded.conversation, list, (Sink){take_some, &all}), STATUS_OK);
  assert_true(all.calls > 3);
  for (uint32_t takes = 0; takes < all.calls; takes++) {
    Narrow narrow = {.takes = takes};
    assert_int_equal(document_write(&loaded.document, loaded.conversation, list, (Sink){take_some, &narrow}),
                     STATUS_IO);
    assert_int_equal(narrow.calls, takes + 1);
  }
  unload(&loaded);
}

/* The store may hold messages from before: they have no place in the file. */
static void a_file_may_follow_messages_that_were_cleared(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
  DocumentWarnings warnings = {.memory = memory};
  Loaded loaded = {0};
  assert_int_equal(conversation_new(&config, &loaded.conversation), STATUS_OK);
  put_new(&loaded, 0, false);
  assert_int_equal(operation_clear(loaded.conversation, false, (Text){0}), STATUS_OK);
  const char *text = quoted("[ " U " ,\t" U " ]");
  size_t size = strlen(text);
  char *block = memory_new(&memory, size);
  memcpy(block, text, size);
  assert_int_equal(
      document_load(loaded.conversation, &USUAL, block, size, size, &loaded.document, &warnings, &loaded.error),
      STATUS_OK);
  assert_int_equal(loaded.document.first, 2);
  assert_written(&loaded, "the file", quoted("[ " U " ,\t" U " ]"), size);
  assert_int_equal(operation_rollback(loaded.conversation, 1, false, 0), STATUS_OK);
  assert_written(&loaded, "what was before", "[ " NEW " ]", strlen("[ " NEW " ]"));
  conversation_free(loaded.conversation);
  assert_int_equal(fail.in_use, 0);
}

/* ---- files that were not read ---- */

static void write_as(const Loaded *loaded, DocumentShape shape, Buffer *out) {
  Document document = document_new(shape);
  buffer_reset(out);
  const Sequence *list = conversation_list(loaded->conversation);
  assert_int_equal(document_write(&document, loaded->conversation, list, (Sink){add_bytes, out}), STATUS_OK);
}

static void new_files_are_arrays_or_lines(void **state) {
  (void)state;
  static const struct {
    const char *text, *array, *lines;
  } cases[] = {
    {"[]", "[\n\n]\n", "\n"},
    {U, "[\n" U "\n]\n", U "\n"},
    {"[" U "," U "]", "[\n" U ",\n" U "\n]\n", U "\n" U "\n"},
  };
  Buffer out;
  buffer_init(&out, memory_system());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded, again;
    const char *text = quoted(cases[i].text);
    must_load(&loaded, "a file", text, strlen(text));
    for (int lines = 0; lines < 2; lines++) {
      write_as(&loaded, lines ? DOCUMENT_JSONL : DOCUMENT_ARRAY, &out);
      const char *expected = quoted(lines ? cases[i].lines : cases[i].array);
      assert_int_equal(out.size, strlen(expected));
      assert_memory_equal(out.bytes, expected, out.size);
      must_load(&again, "a new file", out.bytes, out.size);
      assert_int_equal(count_of(&again), count_of(&loaded));
      unload(&again);
    }
    unload(&loaded);
  }
  buffer_free(&out);
}

/* ---- real conversations ---- */

static void add(Buffer *out, const char *string) { assert_int_equal(buffer_add_string(out, string), STATUS_OK); }

static void check_again(const char *what, const Buffer *text, DocumentShape shape, const Loaded *other) {
  Loaded loaded;
  must_load(&loaded, what, text->bytes, text->size);
  assert_int_equal(loaded.document.shape, shape);
  assert_int_equal(count_of(&loaded), count_of(other));
  for (uint32_t i = 0; i < count_of(other); i++) {
    assert_int_equal(raw_at(&loaded, i).size, raw_at(other, i).size);
    assert_memory_equal(raw_at(&loaded, i).bytes, raw_at(other, i).bytes, raw_at(other, i).size);
  }
  assert_written(&loaded, what, text->bytes, text->size);
  unload(&loaded);
}

/* The same messages in another file: before, messages with `gap` between, after. */
static void check_as(const char *what, const Loaded *loaded, DocumentShape shape, const char *before, const char *gap,
                     const char *after) {
  Buffer text;
  buffer_init(&text, memory_system());
  add(&text, before);
  for (uint32_t i = 0; i < count_of(loaded); i++) {
    Text raw = raw_at(loaded, i);
    if (i > 0) add(&text, gap);
    assert_int_equal(buffer_add(&text, raw.bytes, raw.size), STATUS_OK);
  }
  add(&text, after);
  check_again(what, &text, shape, loaded);
  buffer_free(&text);
}

static void check_file(const char *folder, const char *name) {
  char path[4096];
  Buffer file;
  Loaded loaded;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  buffer_init(&file, memory_system());
  for (size_t got = 1; got > 0; file.size += got) {
    assert_int_equal(buffer_reserve(&file, 65536), STATUS_OK);
    got = fread(file.bytes + file.size, 1, 65536, stream);
  }
  fclose(stream);
  must_load(&loaded, name, file.bytes, file.size);
  assert_written(&loaded, name, file.bytes, file.size);
  assert_true(count_of(&loaded) > 0);
  check_as(name, &loaded, DOCUMENT_ARRAY, "[ ", " ,\n", "]");
  check_as(name, &loaded, DOCUMENT_JSONL, "", "\r\n", "\n");
  check_as(name, &loaded, DOCUMENT_BODY, "{\"model\":\"m\", \"tools\": [{\"a\":\"]}\"}],\n \"messages\": [\n", ",",
           "\n],\"n\" :1}\n");
  unload(&loaded);
  buffer_free(&file);
}

static bool is_conversation(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot != NULL && (strcmp(dot, ".json") == 0 || strcmp(dot, ".jsonl") == 0);
}

static void real_conversations_come_back_byte_for_byte(void **state) {
  (void)state;
  const char *shared = getenv("EBB_SHARED");
  char folder[2048];
  snprintf(folder, sizeof folder, "%s/data/conversations", shared != NULL ? shared : "");
  DIR *listing = shared != NULL ? opendir(folder) : NULL;
  if (listing == NULL) {
    snprintf(folder, sizeof folder, "scripts/samples");
    printf("SKIPPED: real conversations (EBB_SHARED is not set or has none); %s instead\n", folder);
    listing = opendir(folder);
    assert_non_null(listing);
  }
  int files = 0;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    if (!is_conversation(entry->d_name)) continue;
    check_file(folder, entry->d_name);
    files++;
  }
  closedir(listing);
  printf("%d files of %s\n", files, folder);
  assert_true(files > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shapes_are_told_apart_and_written_back),
    cmocka_unit_test(dropping_leaves_the_bytes_of_all_others),
    cmocka_unit_test(inserting_leaves_the_bytes_of_all_others),
    cmocka_unit_test(replacing_leaves_the_gaps_too),
    cmocka_unit_test(messages_go_into_files_that_had_none),
    cmocka_unit_test(a_sink_that_fails_ends_the_writing),
    cmocka_unit_test(nothing_is_written_after_a_failure),
    cmocka_unit_test(a_file_may_follow_messages_that_were_cleared),
    cmocka_unit_test(new_files_are_arrays_or_lines),
    cmocka_unit_test(real_conversations_come_back_byte_for_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
