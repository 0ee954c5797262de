/*
** Conversions: whatever was read, in whatever form, is written for each dialect as JSON that
** reads again as messages, and what it lost is named. What was written is written byte for
** byte the second time.
*/
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "document/convert_own.h"

enum { MESSAGE_CAP = 1 << 16 };

typedef struct Loaded {
  Conversation *conversation;
  Document document;
} Loaded;

static Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

static bool load(const char *bytes, size_t size, Loaded *loaded, DocumentError *error) {
  Memory memory = memory_system();
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
  DocumentLimits limits = {.message_bytes_max = MESSAGE_CAP, .file_bytes_max = 16 * MESSAGE_CAP, .lenient = true};
  DocumentWarnings warnings = {.memory = memory};
  char *block = size == 0 ? NULL : memory_new(&memory, size);
  if (size > 0) memcpy(block, bytes, size);
  assert(conversation_new(&config, &loaded->conversation) == STATUS_OK);
  Status status = document_load(loaded->conversation, &limits, block, size, size, &loaded->document, &warnings, error);
  memory_free(&memory, warnings.list, warnings.room * sizeof *warnings.list);
  if (status == STATUS_OK) return true;
  conversation_free(loaded->conversation);
  memory_free(&memory, block, size);
  return false;
}

/* Every loss has a message of the list and a description; a system text of the envelope has no message. */
static void check_losses(const ConvertReport *report, uint32_t count) {
  Buffer text;
  buffer_init(&text, memory_system());
  for (uint32_t i = 0; i < report->count; i++) {
    const Loss *loss = &report->list[i];
    assert(loss->index < count || loss->index == CONVERT_NEVER);
    assert(loss->at <= report->subjects.size && loss_subject(report, i).size <= report->subjects.size - loss->at);
    buffer_reset(&text);
    assert(loss_describe(report, i, &text) == STATUS_OK && text.size > 0);
  }
  buffer_free(&text);
}

static Status write(const Loaded *loaded, const ConvertOptions *options, Buffer *out, bool *changed) {
  const Sequence *list = conversation_list(loaded->conversation);
  ConvertReport report;
  Buffer apart;
  buffer_reset(out);
  buffer_init(&apart, memory_system());
  convert_report_init(&report, memory_system());
  ConvertSinks sinks = {.system = sink_to_buffer(&apart), .messages = sink_to_buffer(out)};
  Status status = convert_list(loaded->conversation, list, NULL, text_plain("", 0), options, sinks, &report, changed);
  if (status == STATUS_OK) check_losses(&report, sequence_count(list));
  convert_report_free(&report);
  buffer_free(&apart);
  return status;
}

/* What was written, as the list of a body, where items of all types are read, is written again byte for byte. */
static void write_again(const Buffer *written, const ConvertOptions *options, Buffer *out) {
  Loaded loaded;
  DocumentError error;
  bool changed;
  ConvertOptions own = *options;
  own.is_foreign = false;
  buffer_reset(out);
  assert(buffer_add_string(out, "{\"") == STATUS_OK);
  assert(buffer_add_string(out, dialect_form(options->target)->messages) == STATUS_OK);
  assert(buffer_add_string(out, "\":") == STATUS_OK);
  assert(buffer_add(out, written->bytes, written->size) == STATUS_OK && buffer_add_string(out, "}") == STATUS_OK);
  assert(load(out->bytes, out->size, &loaded, &error));
  assert(write(&loaded, &own, out, &changed) == STATUS_OK);
  bool same = out->size == written->size && memcmp(out->bytes, written->bytes, out->size) == 0;
  if (!same) {
    fprintf(stderr, "%s: %.*s\nbecame %.*s\n", dialect_name(options->target), (int)written->size, written->bytes,
            (int)out->size, out->bytes);
  }
  assert(same);
  conversation_free(loaded.conversation);
}

/* Lines read, too. */
static void read_again(const Buffer *written) {
  Loaded loaded;
  DocumentError error;
  assert(load(written->bytes, written->size, &loaded, &error));
  conversation_free(loaded.conversation);
}

static const Text REASONING = {.bytes = "reasoning_content", .size = 17};

static void convert(const Loaded *loaded, Dialect target, uint32_t random, Buffer *out, Buffer *again) {
  ConvertOptions options = {
      .target = target, .unbound_from = CONVERT_NEVER, .unbound_end = CONVERT_NEVER,
      .is_foreign = document_dialect(&loaded->document, conversation_store(loaded->conversation),
                                     conversation_list(loaded->conversation)) != target,
      .keep_extra = random & 1, .developer = random >> 1 & 1, .late_system = random >> 2 & 1,
      .reasoning_text = random >> 3 & 1, .members = &REASONING, .member_count = random >> 3 & 1,
      .signs_calls = random >> 4 & 1, .lines = random >> 5 & 1,
  };
  if ((random >> 6 & 1) != 0) options.unbound_from = random >> 8 & 3;
  if ((random >> 7 & 1) != 0) options.id_max = 9, options.alphanumeric_ids = true;
  bool changed;
  Status status = write(loaded, &options, out, &changed);
  assert(status == STATUS_OK || status == STATUS_LIMIT);
  options.unbound_from = CONVERT_NEVER;
  if (status == STATUS_OK && options.lines) read_again(out);
  else if (status == STATUS_OK) write_again(out, &options, again);
}

/* ---- a body's own form ---- */

typedef struct Instead {
  const OwnForm *form;
  Text text;
} Instead;

static const Text *instead_of(void *user, MessageId id) {
  Instead *instead = user;
  return own_form_find(instead->form, id, &instead->text) ? &instead->text : NULL;
}

static Text no_window(void *user, MessageId id) {
  (void)user, (void)id;
  return text_plain("", 0);
}

/* Writes a body with all messages in its form. False if it would be too deep. */
static bool write_own(const Loaded *loaded, Dialect dialect, Buffer *out) {
  OwnForm form;
  ConvertReport report;
  ConvertOptions options = {.target = dialect, .unbound_from = CONVERT_NEVER, .unbound_end = CONVERT_NEVER};
  const Sequence *list = conversation_list(loaded->conversation);
  convert_report_init(&report, memory_system());
  Status status = own_form_of(&loaded->document, loaded->conversation, list, NULL, text_plain("", 0), &options, true,
                              &form, &report);
  Instead instead = {.form = &form};
  WindowTexts texts = {.text = no_window, .instead = instead_of, .user = &instead};
  buffer_reset(out);
  if (status == STATUS_OK) {
    check_losses(&report, sequence_count(list));
    status = document_write_windows(&loaded->document, loaded->conversation, list, &texts, sink_to_buffer(out));
  }
  assert(status == STATUS_OK || status == STATUS_LIMIT);
  own_form_free(&form);
  convert_report_free(&report);
  return status == STATUS_OK;
}

/* A body with messages in its form is read again, and then stays as it is. */
static void complete(const Loaded *loaded, Buffer *out, Buffer *again) {
  Loaded written;
  DocumentError error;
  if (loaded->document.shape != DOCUMENT_BODY || loaded->document.dialects == 0) return;
  Dialect dialect = document_dialect(&loaded->document, conversation_store(loaded->conversation),
                                     conversation_list(loaded->conversation));
  if (!write_own(loaded, dialect, out)) return;
  bool read = load(out->bytes, out->size, &written, &error);
  assert(read && write_own(&written, dialect, again));
  bool same = out->size == again->size && memcmp(out->bytes, again->bytes, out->size) == 0;
  if (!same) {
    fprintf(stderr, "%s: %.*s\nbecame %.*s\n", dialect_name(dialect), (int)out->size, out->bytes, (int)again->size,
            again->bytes);
  }
  assert(same);
  conversation_free(written.conversation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Loaded loaded;
  DocumentError error;
  Buffer out, again;
  uint32_t random = 0;
  if (!load((const char *)data, size, &loaded, &error)) return 0;
  buffer_init(&out, memory_system());
  buffer_init(&again, memory_system());
  for (size_t i = 0; i < size; i++) random = random * 31 + data[i];
  random ^= random >> 15;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) convert(&loaded, (Dialect)i, random, &out, &again);
  complete(&loaded, &out, &again);
  buffer_free(&out);
  buffer_free(&again);
  conversation_free(loaded.conversation);
  return 0;
}
