/*
** Files of messages: any bytes are loaded or refused with a place and a word.
** What is loaded is written back byte for byte, and loads again; so does what
** is there when some of its messages are dropped and one is inserted.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "format/document.h"

typedef struct Loaded {
  Conversation *conversation;
  Document document;
  DocumentWarnings warnings;
} Loaded;

/* Small caps, so that a short input can be over one. */
static const DocumentLimits LIMITS = {.message_bytes_max = 2000, .file_bytes_max = 16000};

static Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

static bool load(const char *bytes, size_t size, Loaded *loaded, DocumentError *error) {
  Memory memory = memory_system();
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.given = one_token}};
  char *block = size == 0 ? NULL : memory_new(&memory, size);
  if (size > 0) memcpy(block, bytes, size);
  *loaded = (Loaded){.warnings.memory = memory};
  assert(conversation_new(&config, &loaded->conversation) == STATUS_OK);
  Status status = document_load(loaded->conversation, &LIMITS, block, size, size, &loaded->document, &loaded->warnings,
                                error);
  if (status == STATUS_OK) return true;
  assert(status == error->status);
  conversation_free(loaded->conversation);
  memory_free(&memory, block, size);
  memory_free(&memory, loaded->warnings.list, loaded->warnings.room * sizeof *loaded->warnings.list);
  return false;
}

static void unload(Loaded *loaded) {
  conversation_free(loaded->conversation);
  DocumentWarnings *warnings = &loaded->warnings;
  memory_free(&warnings->memory, warnings->list, warnings->room * sizeof *warnings->list);
}

static Status write_bytes(void *user, const char *bytes, size_t size) { return buffer_add(user, bytes, size); }

static void write(const Loaded *loaded, Buffer *out) {
  buffer_reset(out);
  const Sequence *list = conversation_list(loaded->conversation);
  assert(document_write(&loaded->document, loaded->conversation, list, (Sink){write_bytes, out}) == STATUS_OK);
}

static void check_error(const DocumentError *error, size_t size) {
  assert(error->expected != NULL && error->expected[0] != '\0');
  assert(error->place.line >= 1 && error->place.byte >= 1 && error->place.line + error->place.byte <= size + 2);
  assert(memchr(error->path, '\0', sizeof error->path) != NULL);
}

static void check_span(const Message *message, Span span) {
  Text raw = message_raw(message);
  if (span.at == 0) return;
  assert(span.at < raw.size && span.size <= raw.size - span.at);
  Buffer plain;
  buffer_init(&plain, memory_system());
  assert(text_decode(message_text(message, span), &plain) == STATUS_OK);
  assert(utf8_check(plain.bytes, plain.size) == plain.size);
  buffer_free(&plain);
}

static void check_message(const Message *message) {
  Text text, raw = message_raw(message);
  assert(raw.size >= 2 && raw.bytes[0] == '{' && raw.bytes[raw.size - 1] == '}');
  assert(raw.size <= LIMITS.message_bytes_max);
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    check_span(message, part.value);
    check_span(message, part.text);
  }
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    Call call = message_call(message, i);
    assert(message_role(message) == ROLE_ASSISTANT && call.name.at != 0);
    check_span(message, call.id);
    check_span(message, call.name);
    check_span(message, call.arguments);
  }
  for (uint32_t i = 0; i < message_result_count(message); i++) check_span(message, message_result(message, i).id);
  for (uint32_t at = 0; message_next_text(message, &at, &text);) {
    assert(text.size == 0 || (text.bytes > raw.bytes && text.bytes + text.size < raw.bytes + raw.size));
  }
}

static bool same_text(Text a, Text b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

/* `again` was loaded from what `loaded` wrote. */
static void check_same(const Loaded *loaded, const Loaded *again) {
  const Sequence *list = conversation_list(loaded->conversation), *other = conversation_list(again->conversation);
  uint32_t count = sequence_count(list);
  assert(count == sequence_count(other));
  for (uint32_t i = 0; i < count; i++) {
    const Message *a = conversation_message(loaded->conversation, sequence_at(list, i));
    const Message *b = conversation_message(again->conversation, sequence_at(other, i));
    assert(same_text(message_raw(a), message_raw(b)));
  }
}

static void write_and_load_again(const Loaded *loaded, Buffer *out) {
  Loaded again;
  DocumentError error;
  write(loaded, out);
  assert(load(out->bytes, out->size, &again, &error));
  check_same(loaded, &again);
  unload(&again);
}

/* Drops some, as `random` says, twice. */
static void drop(Loaded *loaded, uint32_t random, Buffer *out) {
  for (int i = 0; i < 2; i++, random >>= 8) {
    uint32_t count = sequence_count(conversation_list(loaded->conversation));
    Truncate cut = {.start = random % (count + 1), .end = count, .keep_last = random / 16 % (count + 1)};
    cut.has_range = (random & 1) != 0;
    cut.has_keep_last = !cut.has_range;
    if ((random & 2) != 0) cut.end = cut.start + (count - cut.start) / 2;
    assert(operation_truncate(loaded->conversation, &cut) == STATUS_OK);
    write_and_load_again(loaded, out);
  }
}

static const char NEW[] = "{\"role\":\"user\",\"content\":\"new\"}";

static Status next_new(void *user, bool *more, Text *raw, MessageShape *shape) {
  bool *given = user;
  *more = !*given;
  *given = true;
  *raw = text_of(NEW);
  *shape = (MessageShape){.role = ROLE_USER, .role_text = {.at = 9, .size = 4}, .content_kind = CONTENT_STRING,
                          .content = {.at = 26, .size = 3}};
  return STATUS_OK;
}

static void insert(Loaded *loaded, uint32_t random, Buffer *out) {
  bool given = false;
  MessageSource source = {.next = next_new, .user = &given};
  uint32_t count = sequence_count(conversation_list(loaded->conversation));
  assert(operation_insert(loaded->conversation, random % (count + 1), &source) == STATUS_OK);
  write_and_load_again(loaded, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Loaded loaded;
  DocumentError error;
  if (!load((const char *)data, size, &loaded, &error)) {
    check_error(&error, size);
    return 0;
  }
  Buffer out;
  buffer_init(&out, memory_system());
  uint32_t random = 0;
  for (size_t i = 0; i < size; i++) random = random * 31 + data[i];
  for (MessageId id = 1; id <= store_count(conversation_store(loaded.conversation)); id++) {
    check_message(conversation_message(loaded.conversation, id));
  }
  write_and_load_again(&loaded, &out);
  assert(out.size == size && (size == 0 || memcmp(out.bytes, data, size) == 0));
  if ((random & 0x10000) != 0) insert(&loaded, random >> 20, &out);
  drop(&loaded, random, &out);
  insert(&loaded, random >> 24, &out);
  buffer_free(&out);
  unload(&loaded);
  return 0;
}
