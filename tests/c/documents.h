/*
** What the tests of documents share: files are loaded from blocks of their very
** size, for the sanitizer, and with a memory that counts.
*/
#ifndef EBB_TESTS_DOCUMENTS_H
#define EBB_TESTS_DOCUMENTS_H

#include "check.h"

#include <string.h>

#include "document/document.h"

/* Tables write ' for "; the answer is valid until the next call. */
static inline const char *quoted(const char *text) {
  static char out[2000];
  size_t size = strlen(text);
  assert_true(size < sizeof out);
  for (size_t i = 0; i <= size; i++) out[i] = text[i] == '\'' ? '"' : text[i];
  return out;
}

/* A message of 29 bytes. */
#define U "{'role':'user','content':'x'}"

typedef struct Loaded {
  Fail fail;
  Conversation *conversation;
  Document document;
  DocumentWarnings warnings;
  DocumentError error;
  Status status;
} Loaded;

static const DocumentLimits USUAL = {.message_bytes_max = MESSAGE_BYTES_MAX, .file_bytes_max = FILE_BYTES_MAX};

static inline Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

/* `loaded` must not move until unload. */
static inline Status load_within(Loaded *loaded, DocumentLimits limits, const char *bytes, size_t size,
                                 size_t fail_at) {
  *loaded = (Loaded){.fail = {.in_use = 0}};
  Memory memory = fail_memory(&loaded->fail);
  char *block = size > 0 ? memory_new(&memory, size) : NULL;
  if (size > 0) memcpy(block, bytes, size);
  loaded->warnings.memory = memory;
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
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

static inline Status load(Loaded *loaded, const char *bytes, size_t size) {
  return load_within(loaded, USUAL, bytes, size, 0);
}

static inline void unload(Loaded *loaded) {
  DocumentWarnings *warnings = &loaded->warnings;
  conversation_free(loaded->conversation);
  memory_free(&warnings->memory, warnings->list, warnings->room * sizeof *warnings->list);
  assert_int_equal(loaded->fail.in_use, 0);
}

static inline Status add_bytes(void *user, const char *bytes, size_t size) { return buffer_add(user, bytes, size); }

static inline void write(const Loaded *loaded, Buffer *out) {
  const Sequence *list = conversation_list(loaded->conversation);
  buffer_reset(out);
  assert_int_equal(document_write(&loaded->document, loaded->conversation, list, (Sink){add_bytes, out}), STATUS_OK);
}

static inline void assert_written(const Loaded *loaded, const char *what, const char *bytes, size_t size) {
  Buffer out;
  buffer_init(&out, memory_system());
  write(loaded, &out);
  if (out.size != size || (size > 0 && memcmp(out.bytes, bytes, size) != 0)) {
    fail_msg("%s:\n%.*s\nnot\n%.*s", what, (int)out.size, out.bytes, (int)size, bytes);
  }
  buffer_free(&out);
}

static inline void must_load(Loaded *loaded, const char *what, const char *bytes, size_t size) {
  if (load(loaded, bytes, size) == STATUS_OK) return;
  const DocumentError *error = &loaded->error;
  int line = (int)error->place.line, byte = (int)error->place.byte;
  fail_msg("%s:%d:%d: expected %s at %s", what, line, byte, error->expected, error->path);
}

static inline Text raw_at(const Loaded *loaded, uint32_t index) {
  const Conversation *conversation = loaded->conversation;
  return message_raw(conversation_message(conversation, sequence_at(conversation_list(conversation), index)));
}

static inline uint32_t count_of(const Loaded *loaded) {
  return sequence_count(conversation_list(loaded->conversation));
}

#endif
