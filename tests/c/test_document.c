/*
** Files of messages: which shape they have, what is written back, and where
** and how bad ones are refused.
**
** What is dropped, inserted or replaced is held against a model: the file taken
** to pieces by hand, before | message | gap | message | gap | message | after.
*/
#define _DEFAULT_SOURCE 1
#include "check.h"

#include <dirent.h>
#include <string.h>

#include "format/document.h"

/* ---- loading and writing ---- */

typedef struct Loaded {
  Fail fail;
  Conversation *conversation;
  Document document;
  DocumentWarnings warnings;
  DocumentError error;
  Status status;
} Loaded;

static const DocumentLimits USUAL = {.message_bytes_max = MESSAGE_BYTES_MAX, .file_bytes_max = FILE_BYTES_MAX};

static Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

/* `loaded` must not move until unload. The block has the file's very size, for the sanitizer. */
static Status load_within(Loaded *loaded, DocumentLimits limits, const char *bytes, size_t size, size_t fail_at) {
  *loaded = (Loaded){.fail = {.in_use = 0}};
  Memory memory = fail_memory(&loaded->fail);
  char *block = size > 0 ? memory_new(&memory, size) : NULL;
  if (size > 0) memcpy(block, bytes, size);
  loaded->warnings.memory = memory;
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.given = one_token}};
  assert_int_equal(conversation_new(&config, &loaded->conversation), STATUS_OK);
  loaded->fail.fail_at = fail_at > 0 ? loaded->fail.calls + fail_at : 0;
  loaded->status = document_load(loaded->conversation, &limits, block, size, size, &loaded->document, &loaded->warnings,
                                 &loaded->error);
  loaded->fail.fail_at = 0;
  if (loaded->status != STATUS_OK) {
    conversation_free(loaded->conversation);
    loaded->conversation = NULL;
    memory_free(&memory, block, size);
  }
  return loaded->status;
}

static Status load(Loaded *loaded, const char *bytes, size_t size) { return load_within(loaded, USUAL, bytes, size, 0); }

static void unload(Loaded *loaded) {
  DocumentWarnings *warnings = &loaded->warnings;
  conversation_free(loaded->conversation);
  memory_free(&warnings->memory, warnings->list, warnings->room * sizeof *warnings->list);
  assert_int_equal(loaded->fail.in_use, 0);
}

static Status add_bytes(void *user, const char *bytes, size_t size) { return buffer_add(user, bytes, size); }

static void write(const Loaded *loaded, Buffer *out) {
  const Sequence *list = conversation_list(loaded->conversation);
  buffer_reset(out);
  assert_int_equal(document_write(&loaded->document, loaded->conversation, list, (Sink){add_bytes, out}), STATUS_OK);
}

static void assert_written(const Loaded *loaded, const char *what, const char *bytes, size_t size) {
  Buffer out;
  buffer_init(&out, memory_system());
  write(loaded, &out);
  if (out.size != size || (size > 0 && memcmp(out.bytes, bytes, size) != 0)) {
    fail_msg("%s:\n%.*s\nnot\n%.*s", what, (int)out.size, out.bytes, (int)size, bytes);
  }
  buffer_free(&out);
}

static void must_load(Loaded *loaded, const char *what, const char *bytes, size_t size) {
  if (load(loaded, bytes, size) == STATUS_OK) return;
  const DocumentError *error = &loaded->error;
  fail_msg("%s:%d:%d: expected %s at %s", what, (int)error->place.line, (int)error->place.byte, error->expected, error->path);
}

static Text raw_at(const Loaded *loaded, uint32_t index) {
  return message_raw(conversation_message(loaded->conversation, sequence_at(conversation_list(loaded->conversation), index)));
}

static uint32_t count_of(const Loaded *loaded) { return sequence_count(conversation_list(loaded->conversation)); }

/* ---- shapes ---- */

#define U "{\"role\":\"user\",\"content\":\"x\"}"

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
  {"a message over several lines", "{\n \"role\": \"user\",\n \"content\": \"x\"\n}\n" U, DOCUMENT_JSONL, 2},
  {"nothing", "", DOCUMENT_JSONL, 0},
  {"white space only", " \r\n\n", DOCUMENT_JSONL, 0},
  {"a BOM only", "\xef\xbb\xbf", DOCUMENT_JSONL, 0},
  {"a body", "{\"model\":\"m\",\"messages\":[" U "],\"n\":1}\n", DOCUMENT_BODY, 1},
  {"a body with messages first", "{\"messages\":[" U ", " U "],\"model\":\"m\"}", DOCUMENT_BODY, 2},
  {"a body with messages last", "\xef\xbb\xbf {\"model\":\"m\" , \"messages\" : [\n" U "\n] }", DOCUMENT_BODY, 1},
  {"a body without messages yet", "{\"messages\":[ ],\"model\":\"m\"}", DOCUMENT_BODY, 0},
  {"a body whose key has escapes", "{\"m\\u0065ssages\":[" U "]}", DOCUMENT_BODY, 1},
  {"a body with messages within", "{\"a\":{\"messages\":[1]},\"messages\":[" U "]}", DOCUMENT_BODY, 1},
  {"a body with contents and input", "{\"contents\":[],\"messages\":[" U "],\"input\":\"\"}", DOCUMENT_BODY, 1},
  {"messages in a message", "{\"role\":\"user\",\"messages\":[],\"content\":\"x\"}", DOCUMENT_JSONL, 1},
  {"messages in a message, before its role", "{\"messages\":[1],\"role\":\"user\",\"content\":\"x\"}\n" U, DOCUMENT_JSONL, 2},
  {"input in a message", "{\"input\":\"x\",\"contents\":[],\"role\":\"user\",\"content\":\"x\"}", DOCUMENT_JSONL, 1},
};

static void shapes_are_told_apart_and_written_back(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const struct Shape *shape = &shapes[i];
    Loaded loaded;
    must_load(&loaded, shape->shows, shape->text, strlen(shape->text));
    if (loaded.document.shape != shape->shape || count_of(&loaded) != shape->count) {
      fail_msg("%s: %s of %u", shape->shows, document_shape_name(loaded.document.shape), (unsigned)count_of(&loaded));
    }
    assert_int_equal(loaded.document.count, shape->count);
    assert_int_equal(loaded.warnings.count, 0);
    assert_written(&loaded, shape->shows, shape->text, strlen(shape->text));
    bool has_model = strstr(shape->text, "\"model\"") != NULL;
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

static const struct Pieces {
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
static size_t compose(const struct Pieces *of, const Item *items, size_t count, char *out, size_t room) {
  const char *after = of->lines && count == 0 ? "" : of->after;
  size_t size = (size_t)snprintf(out, room, "%s", of->before);
  for (size_t i = 0; i < count; i++) {
    size += (size_t)snprintf(out + size, room - size, "%s%s", i == 0 ? "" : items[i].gap, items[i].text);
  }
  size += (size_t)snprintf(out + size, room - size, "%s", after);
  assert_true(size < room);
  return size;
}

static void load_pieces(Loaded *loaded, const struct Pieces *of) {
  char text[1000];
  Item items[] = {{M1, ""}, {M2, of->gaps[0]}, {M3, of->gaps[1]}};
  size_t size = compose(of, items, 3, text, sizeof text);
  must_load(loaded, of->shows, text, size);
  assert_written(loaded, of->shows, text, size);
}

/* The conversation is what the model says, and loads again as such. */
static void assert_model(const Loaded *loaded, const struct Pieces *of, const Item *items, size_t count) {
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
      const struct Pieces *of = &pieces[i];
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
  Status status = replace ? operation_replace(loaded->conversation, position, &source)
                          : operation_insert(loaded->conversation, position, &source);
  assert_int_equal(status, STATUS_OK);
  reader_free(&once.reader);
}

static void inserting_leaves_the_bytes_of_all_others(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    for (uint32_t position = 0; position <= 3; position++) {
      const struct Pieces *of = &pieces[i];
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
      const struct Pieces *of = &pieces[i];
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

static void a_sink_that_fails_ends_the_writing(void **state) {
  (void)state;
  Loaded loaded;
  load_pieces(&loaded, &pieces[0]);
  const Sequence *list = conversation_list(loaded.conversation);
  assert_int_equal(document_write(&loaded.document, loaded.conversation, list, (Sink){refuse_bytes, NULL}), STATUS_IO);
  unload(&loaded);
}

/* ---- what is refused ---- */

static const struct Bad {
  const char *text;
  Status status;
  uint64_t line, byte;
  const char *path, *expected;   /* the whole path; a piece of what was expected */
} bad[] = {
  /* cut off */
  {"[" U, STATUS_SYNTAX, 1, 31, "", "',' or ']'"},
  {"[", STATUS_SYNTAX, 1, 2, "", "a value or ']'"},
  {"[" U ",", STATUS_SYNTAX, 1, 32, "[1]", "a value"},
  {"[\n{\"role\":\"user\",\n\"conte", STATUS_SYNTAX, 3, 7, "[0]", "'\"' to end the string"},
  {"[{\"role\":\"user\",\"content\":\"x", STATUS_SYNTAX, 1, 29, "[0].content", "'\"' to end the string"},
  {"{\"model\":\"m\",\"messages\":[" U, STATUS_SYNTAX, 1, 55, "messages", "',' or ']'"},
  {"{\"messages\":[" U "]", STATUS_SYNTAX, 1, 44, "", "',' or '}'"},
  {"{\"messages\":[" U "],\"a\":", STATUS_SYNTAX, 1, 49, "a", "a value"},
  {U "\n{\"role\":\"user\",\"content\":\"x\"", STATUS_SYNTAX, 2, 29, "", "',' or '}'"},
  {U "\n{\"role\"", STATUS_SYNTAX, 2, 8, "", "':' after a key"},
  /* garbage, comments, trailing commas and data */
  {"hello", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"// hello\n[]", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"\xff\xfe[\0]\0", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"\xef\xbb\xbf\xef\xbb\xbf[]", STATUS_SYNTAX, 1, 4, "", "a value"},
  {"\"x\"", STATUS_SHAPE, 1, 1, "", "a message, an object"},
  {"[" U " /* no */]", STATUS_SYNTAX, 1, 32, "", "',' or ']'"},
  {"[" U ",\n]", STATUS_SYNTAX, 2, 1, "[1]", "a value"},
  {"[" U "]\n[]", STATUS_SYNTAX, 2, 1, "", "end of input"},
  {"[" U "]x", STATUS_SYNTAX, 1, 32, "", "end of input"},
  {"[[" U "]]", STATUS_SHAPE, 1, 2, "[0]", "a message, an object"},
  {"{\"messages\":[" U "]} {}", STATUS_SHAPE, 1, 46, "", "one request body"},
  {"{\"messages\":[" U "]}\n{\"messages\":[]}", STATUS_SHAPE, 2, 1, "", "one request body"},
  {U "\r\n\r\n" U " " U, STATUS_SYNTAX, 3, 31, "", "a new line"},
  {U "," U, STATUS_SYNTAX, 1, 30, "", "a new line"},
  {U "\n[" U "]", STATUS_SHAPE, 2, 1, "", "a message, an object"},
  {U "\n\n" U "\ngarbage", STATUS_SYNTAX, 4, 1, "", "a value"},
  /* encoding */
  {"[{\"role\":\"user\",\"content\":\"a\xff\"}]", STATUS_ENCODING, 1, 29, "[0].content", "UTF-8"},
  {"[{\"role\":\"user\",\"content\":\"\xc0\xaf\"}]", STATUS_ENCODING, 1, 28, "[0].content", "UTF-8"},
  {"[{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}]", STATUS_ENCODING, 1, 28, "[0].content", "UTF-8"},
  {"[{\"role\":\"user\",\"content\":\"\\ud800\"}]", STATUS_ENCODING, 1, 28, "[0].content", "surrogate"},
  {U "\n{\"role\":\"user\",\"\xf5\":0,\"content\":\"\"}", STATUS_ENCODING, 2, 17, "", "UTF-8"},
  /* messages that are none */
  {"[" U ",{\"role\":\"bot\",\"content\":\"x\"}]", STATUS_ROLE, 1, 40, "[1].role", "a role: system"},
  {U "\n{\"content\":\"x\"}", STATUS_SHAPE, 2, 1, "", "a role in the message"},
  {"{\"messages\":[\n" U ",\n{\"role\":\"user\"}]}", STATUS_SHAPE, 3, 1, "messages[1]", "content"},
  {"[{\"role\":\"user\",\"content\":[{\"type\":\"text\"},\n{\"type\":2}]}]", STATUS_SHAPE, 2, 9, "[0].content[1].type", "a string"},
  {"[{\"role\":\"user\",\"content\":\"x\",\"role\":\"user\"}]", STATUS_DUPLICATE, 1, 31, "[0].role", "each key once"},
  {"[{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1e400}]", STATUS_SHAPE, 1, 43, "[0].timestamp", "whole milliseconds"},
  {"[{\"id\":\"a\",\"role\":\"user\",\"content\":\"\"},{\"id\":\"\\u0061\",\"role\":\"user\",\"content\":\"\"}]",
   STATUS_DUPLICATE, 1, 46, "[1].id", "no other message"},
  {"{\"id\":\"a\",\"role\":\"user\",\"content\":\"\"}\n" U "\n{\"id\":\"a\",\"role\":\"user\",\"content\":\"\"}",
   STATUS_DUPLICATE, 3, 7, "id", "no other message"},
  /* bodies */
  {"{\"messages\":[],\"messages\":[]}", STATUS_DUPLICATE, 1, 16, "messages", "messages once"},
  {"{\"messages\":{},\"messages\":[]}", STATUS_SHAPE, 1, 13, "messages", "a list of messages"},
  {"{\"messages\":5}", STATUS_SHAPE, 1, 1, "", "a role"},
  {"{\"model\":\"m\",\"contents\":[{\"role\":\"user\",\"parts\":[]}]}", STATUS_SHAPE, 1, 14, "contents", "Gemini"},
  {"{\"model\":\"m\",\n\"input\":[{\"role\":\"user\",\"content\":\"x\"}]}", STATUS_SHAPE, 2, 1, "input", "Responses"},
  {"{\"input\":\"hello\"}", STATUS_SHAPE, 1, 2, "input", "Responses"},
  {"{\"model\":\"m\"}", STATUS_SHAPE, 1, 1, "", "a role"},
};

static bool is_as_told(const struct Bad *row, const DocumentError *error) {
  return error->status == row->status && error->place.line == row->line && error->place.byte == row->byte &&
         strcmp(error->path, row->path) == 0 && strstr(error->expected, row->expected) != NULL;
}

static void bad_files_are_refused_with_place_and_path(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    Loaded loaded;
    Status status = load(&loaded, bad[i].text, strlen(bad[i].text));
    const DocumentError *error = &loaded.error;
    if (status == STATUS_OK) fail_msg("accepted: %s", bad[i].text);
    if (status != bad[i].status || !is_as_told(&bad[i], error)) {
      print_error("%s\n  %s %d:%d [%s] expected %s\n", bad[i].text, status_code(status), (int)error->place.line,
                  (int)error->place.byte, error->path, error->expected);
      wrong++;
    }
    unload(&loaded);
  }
  assert_int_equal(wrong, 0);
}

static void nul_is_text_only_when_escaped(void **state) {
  (void)state;
  static const char raw[] = "[{\"role\":\"user\",\"content\":\"a\0b\"}]", escaped[] = "[{\"role\":\"user\",\"content\":\"\\u0000\"}]";
  Loaded loaded;
  assert_int_equal(load(&loaded, raw, sizeof raw - 1), STATUS_SYNTAX);
  assert_int_equal(loaded.error.place.byte, 29);
  unload(&loaded);
  assert_int_equal(load(&loaded, "[]\0", 3), STATUS_SYNTAX);
  assert_string_equal(loaded.error.expected, "end of input");
  unload(&loaded);
  assert_int_equal(load(&loaded, U "\n\0", strlen(U) + 2), STATUS_SYNTAX);
  assert_int_equal(loaded.error.place.line, 2);
  unload(&loaded);
  must_load(&loaded, "escaped", escaped, sizeof escaped - 1);
  assert_written(&loaded, "escaped", escaped, sizeof escaped - 1);
  unload(&loaded);
}

static void caps_are_for_messages_arrays_and_bodies(void **state) {
  (void)state;
  static const struct { const char *text; size_t message, file; Status status; uint64_t line, byte; } cases[] = {
    {"[" U "]", 29, 31, STATUS_OK, 0, 0},
    {"[" U "]", 29, 30, STATUS_LIMIT, 1, 1},
    {"\xef\xbb\xbf\n[" U "]", 29, 34, STATUS_LIMIT, 1, 1},
    {"[\n" U "]", 28, 99, STATUS_LIMIT, 2, 1},
    {"{\"messages\":[" U "]}", 29, 43, STATUS_LIMIT, 1, 1},
    {"{\"messages\":[" U "]}", 29, 44, STATUS_OK, 0, 0},
    {U "\n" U, 29, 10, STATUS_OK, 0, 0},   /* lines have no cap */
    {U "\n " U, 28, 10, STATUS_LIMIT, 1, 1},
    {U "\n{\"role\":\"user\",\"content\":\"xy\"}", 29, 10, STATUS_LIMIT, 2, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded;
    DocumentLimits limits = {.message_bytes_max = cases[i].message, .file_bytes_max = cases[i].file};
    Status status = load_within(&loaded, limits, cases[i].text, strlen(cases[i].text), 0);
    if (status != cases[i].status) fail_msg("case %zu: %s", i, status_code(status));
    if (status != STATUS_OK) {
      assert_int_equal(loaded.error.place.line, cases[i].line);
      assert_int_equal(loaded.error.place.byte, cases[i].byte);
      assert_non_null(strstr(loaded.error.expected, "(--max-"));
    }
    unload(&loaded);
  }
}

/* Array, message and metadata are the first three of the levels. */
static void nesting_ends_at_256_levels(void **state) {
  (void)state;
  for (size_t inner = 253; inner <= 254; inner++) {
    char text[2000] = "[{\"role\":\"user\",\"content\":\"x\",\"metadata\":{\"a\":";
    for (size_t i = 0; i < inner; i++) strcat(text, "[");
    for (size_t i = 0; i < inner; i++) strcat(text, "]");
    strcat(text, "}}]");
    Loaded loaded;
    assert_int_equal(load(&loaded, text, strlen(text)), inner == 253 ? STATUS_OK : STATUS_LIMIT);
    if (inner == 254) {
      assert_string_equal(loaded.error.expected, "at most 256 levels");
      assert_memory_equal(loaded.error.path, "[0].metadata.a[0][0]", 20);
      assert_true(strlen(loaded.error.path) < sizeof loaded.error.path);
    }
    unload(&loaded);
  }
}

static void unknown_parts_are_warned_about_once_each(void **state) {
  (void)state;
  const char *text =
    "\n{\"role\":\"user\",\"content\":[{\"type\":\"odd\"},{\"type\":\"text\",\"text\":\"x\"},{\"a\":1},{\"type\":\"even\"}]}\n"
    "{\"role\":\"user\",\"content\":[{\"type\":\"even\"},{\"b\":2},{\"type\":\"\\u006fdd\"},\n"
    "  {\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":\"deep\"}]}]}\n";
  static const struct { const char *kind; uint64_t line, byte; } wanted[] = {
    {"odd", 2, 27}, {"no type", 2, 69}, {"even", 2, 77}, {"deep", 4, 53},
  };
  Loaded loaded;
  must_load(&loaded, "unknown parts", text, strlen(text));
  assert_int_equal(loaded.warnings.count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    const DocumentWarning *warning = &loaded.warnings.list[i];
    assert_true(text_equal(warning->kind, text_of(wanted[i].kind)));
    assert_int_equal(warning->place.line, wanted[i].line);
    assert_int_equal(warning->place.byte, wanted[i].byte);
  }
  assert_written(&loaded, "unknown parts", text, strlen(text));
  unload(&loaded);
}

static void a_path_ends_before_what_has_no_room(void **state) {
  (void)state;
  char out[12];
  const char *text = "{\"a\":{\"a long key that has no room\":{\"b\":[0, 1]}}}";
  place_path(text, strlen(text), (size_t)(strchr(text, '1') - text), out, sizeof out);
  assert_string_equal(out, "a");
  text = "{\"a\":[[], {\"b\":[0, 1]}]}";
  place_path(text, strlen(text), (size_t)(strchr(text, '1') - text), out, sizeof out);
  assert_string_equal(out, "a[1].b[1]");
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  const char *text = "{\"tools\":[{}],\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"odd\"}],\"id\":\"a\"},{\"role\":\"assistant\","
                     "\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\"}]}";
  for (size_t at = 1;; at++) {
    Loaded loaded;
    Status status = load_within(&loaded, USUAL, text, strlen(text), at);
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(loaded.error.status, STATUS_MEMORY);
    }
    unload(&loaded);
    if (status != STATUS_OK) continue;
    assert_true(at > 5);
    break;
  }
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
  check_as(name, &loaded, DOCUMENT_BODY, "{\"model\":\"m\", \"tools\": [{\"a\":\"]}\"}],\n \"messages\": [\n", ",", "\n],\"n\" :1}\n");
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
  printf("%d files of %s\n", files, shared != NULL ? "EBB_SHARED" : folder);
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
    cmocka_unit_test(bad_files_are_refused_with_place_and_path),
    cmocka_unit_test(nul_is_text_only_when_escaped),
    cmocka_unit_test(caps_are_for_messages_arrays_and_bodies),
    cmocka_unit_test(nesting_ends_at_256_levels),
    cmocka_unit_test(unknown_parts_are_warned_about_once_each),
    cmocka_unit_test(a_path_ends_before_what_has_no_room),
    cmocka_unit_test(without_memory_nothing_is_left),
    cmocka_unit_test(real_conversations_come_back_byte_for_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
