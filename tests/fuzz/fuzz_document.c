/*
** Files of messages: any bytes are loaded or refused with a place and a word.
** What is loaded is written back byte for byte, and loads again; so does what
** is there when some of its messages are dropped and one is inserted.
**
** A lenient reading goes on where a strict one refuses, and says of each thing
** where it was; what it leaves is a file that a strict reading takes, but for
** ids that come twice. A file without faults is the same to both.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "document/document.h"

typedef struct Loaded {
  Conversation *conversation;
  Document document;
  DocumentWarnings warnings;
} Loaded;

/* Small caps, so that a short input can be over one. */
#define MESSAGE_CAP 2000
#define FILE_CAP 16000

static const RoleAlias ALIASES[] = {
  {{.bytes = "bot", .size = 3}, ROLE_ASSISTANT}, {{.bytes = "user", .size = 4}, ROLE_USER},
  {{.bytes = "tool", .size = 4}, ROLE_SYSTEM},
};

static const DocumentLimits STRICT = {.message_bytes_max = MESSAGE_CAP, .file_bytes_max = FILE_CAP};
static const DocumentLimits LENIENT = {.message_bytes_max = MESSAGE_CAP, .file_bytes_max = FILE_CAP, .lenient = true};
static const DocumentLimits SMALL = {
    .message_bytes_max = 60, .file_bytes_max = 150, .aliases = ALIASES, .alias_count = 3};
static const DocumentLimits SMALL_LENIENT = {.message_bytes_max = 60, .file_bytes_max = 150, .lenient = true,
                                             .aliases = ALIASES, .alias_count = 3};

static Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

static void unload(Loaded *loaded) {
  conversation_free(loaded->conversation);
  DocumentWarnings *warnings = &loaded->warnings;
  memory_free(&warnings->memory, warnings->list, warnings->room * sizeof *warnings->list);
}

static bool load(const char *bytes, size_t size, const DocumentLimits *limits, Loaded *loaded, DocumentError *error) {
  Memory memory = memory_system();
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
  char *block = size == 0 ? NULL : memory_new(&memory, size);
  if (size > 0) memcpy(block, bytes, size);
  *loaded = (Loaded){.warnings.memory = memory};
  assert(conversation_new(&config, &loaded->conversation) == STATUS_OK);
  Status status = document_load(loaded->conversation, limits, block, size, size, &loaded->document, &loaded->warnings,
                                error);
  if (status == STATUS_OK) return true;
  assert(status == error->status);
  unload(loaded);
  memory_free(&memory, block, size);
  return false;
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
  assert(raw.size <= MESSAGE_CAP);
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

/* `again` was loaded from what `loaded` wrote, without the items of windows: these do not exist. */
static void check_same(const Loaded *loaded, const Loaded *again) {
  const Sequence *list = conversation_list(loaded->conversation), *other = conversation_list(again->conversation);
  uint32_t count = sequence_count(list), at = 0;
  assert(count - sequence_sum(list).windows == sequence_count(other));
  for (uint32_t i = 0; i < count; i++) {
    const Message *a = conversation_message(loaded->conversation, sequence_at(list, i));
    if (message_is_window(a)) continue;
    const Message *b = conversation_message(again->conversation, sequence_at(other, at++));
    assert(same_text(message_raw(a), message_raw(b)));
  }
}

/* True if what was written is the input, which it cannot be if it had items of windows. */
static bool is_whole(const Loaded *loaded, const Buffer *out, const char *bytes, size_t size) {
  if (sequence_sum(conversation_list(loaded->conversation)).windows > 0) return out->size < size;
  return out->size == size && (size == 0 || memcmp(out->bytes, bytes, size) == 0);
}

static void write_and_load_again(const Loaded *loaded, Buffer *out) {
  Loaded again;
  DocumentError error;
  write(loaded, out);
  assert(load(out->bytes, out->size, &STRICT, &again, &error));
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
  assert(operation_insert(loaded->conversation, random % (count + 1), &source, (Text){0}) == STATUS_OK);
  write_and_load_again(loaded, out);
}

/* ---- lenient ---- */

static bool has_warning(const Loaded *loaded, unsigned oddities) {
  for (uint32_t i = 0; i < loaded->warnings.count; i++) {
    if (oddities >> loaded->warnings.list[i].what & 1u) return true;
  }
  return false;
}

static void check_warnings(const Loaded *loaded, size_t size) {
  for (uint32_t i = 0; i < loaded->warnings.count; i++) {
    const DocumentWarning *warning = &loaded->warnings.list[i];
    assert(warning->place.line >= 1 && warning->place.byte >= 1);
    assert(warning->place.line + warning->place.byte <= size + 2);
    assert((warning->what == ODD_RECORD) == (warning->expected != NULL));
  }
}

/* What a lenient reading left is read strictly, unless ids come twice, and has nothing more to mend. */
static void load_mended(const Loaded *loaded, const DocumentLimits *strict, const DocumentLimits *lenient,
                        Buffer *out) {
  Loaded again;
  DocumentError error;
  const unsigned mended = 1u << ODD_RECORD | 1u << ODD_TEXT | 1u << ODD_KEY;
  bool same_ids = has_warning(loaded, 1u << ODD_ID);
  write(loaded, out);
  if (load(out->bytes, out->size, strict, &again, &error)) {
    assert(!same_ids);
    check_same(loaded, &again);
    unload(&again);
  } else {
    assert(same_ids && error.status == STATUS_DUPLICATE);
  }
  assert(load(out->bytes, out->size, lenient, &again, &error));
  assert(!has_warning(&again, mended));
  check_same(loaded, &again);
  unload(&again);
}

static void read_leniently(const char *bytes, size_t size, const DocumentLimits *strict, const DocumentLimits *lenient,
                           Buffer *out) {
  Loaded loaded, strictly;
  DocumentError error;
  bool faultless = load(bytes, size, strict, &strictly, &error);
  if (!load(bytes, size, lenient, &loaded, &error)) {
    assert(!faultless && error.status != STATUS_ENCODING);
    check_error(&error, size);
    return;
  }
  check_warnings(&loaded, size);
  assert(faultless == !has_warning(&loaded, ~(1u << ODD_PART)));
  load_mended(&loaded, strict, lenient, out);
  if (faultless) {
    write(&loaded, out);
    assert(is_whole(&loaded, out, bytes, size));
    unload(&strictly);
  }
  unload(&loaded);
}

/* ---- one input ---- */

static void read_strictly(const char *bytes, size_t size, Buffer *out) {
  Loaded loaded;
  DocumentError error;
  if (!load(bytes, size, &STRICT, &loaded, &error)) {
    check_error(&error, size);
    return;
  }
  uint32_t random = 0;
  for (size_t i = 0; i < size; i++) random = random * 31 + (unsigned char)bytes[i];
  for (MessageId id = 1; id <= store_count(conversation_store(loaded.conversation)); id++) {
    check_message(conversation_message(loaded.conversation, id));
  }
  write_and_load_again(&loaded, out);
  assert(is_whole(&loaded, out, bytes, size));
  if ((random & 0x10000) != 0) insert(&loaded, random >> 20, out);
  drop(&loaded, random, out);
  insert(&loaded, random >> 24, out);
  unload(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  Buffer out;
  buffer_init(&out, memory_system());
  read_strictly(bytes, size, &out);
  read_leniently(bytes, size, &STRICT, &LENIENT, &out);
  read_leniently(bytes, size, &SMALL, &SMALL_LENIENT, &out);
  buffer_free(&out);
  return 0;
}
