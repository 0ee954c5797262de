/*
** Saved chats: any bytes are a chat or refused with a place. The digest is ignored at first,
** so that mutations come further than to its check. What loads is saved so that it loads again
** and is equal, by digest and byte for byte; so does what comes of it by rolling back,
** appending, trimming and operations.
*/
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/ebb.h"

#define ROLLBACKS 4          /* batches that are made current */

static struct {
  ebb_runtime *runtime;
  size_t held;               /* bytes that it has allocated */
  uint32_t inputs;           /* that this runtime has had */
} run;

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  if (block == NULL) old_size = 0;
  run.held = run.held - old_size + new_size;
  if (new_size > 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

static int64_t clock_ms(void *user) {
  (void)user;
  return 1700000000000;
}

static void must(ebb_status status) {
  if (status == EBB_OK) return;
  fprintf(stderr, "%s: %s\n", ebb_status_name(status), ebb_last_error(run.runtime)->message);
  abort();
}

/* A runtime is used for many inputs; at its end nothing of it is left. */
static void open_runtime(void) {
  ebb_config config = {.size = sizeof config, .allocate = allocate, .clock_ms = clock_ms, .deterministic = 1};
  if (run.runtime != NULL && run.inputs++ < 1000) return;
  ebb_runtime_free(run.runtime);
  assert(run.held == 0);
  run.inputs = 0;
  assert(ebb_runtime_new(&config, &run.runtime) == EBB_OK);
}

static void check_refusal(size_t size) {
  const char *message = ebb_last_error(run.runtime)->message;
  unsigned long long byte = 1;
  if (strncmp(message, "load: byte ", 11) == 0) byte = strtoull(message + 11, NULL, 10);
  assert(byte >= 1 && byte <= size + 1 && message[0] != '\0');
}

/* Saves, loads and saves again: the same bytes, the same digest. */
static ebb_chat *reload(ebb_chat *chat) {
  ebb_text saved;
  ebb_chat *loaded;
  char before[65], after[65];
  must(ebb_chat_digest(chat, before));
  must(ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size);
  size_t size = saved.size;
  memcpy(copy, saved.bytes, size);
  must(ebb_chat_load(run.runtime, copy, size, &loaded));
  must(ebb_chat_digest(loaded, after));
  assert(strcmp(before, after) == 0);
  must(ebb_chat_save(loaded, &saved));
  assert(saved.size == size && memcmp(saved.bytes, copy, size) == 0);
  free(copy);
  ebb_chat_free(chat);
  return loaded;
}

static void append(ebb_chat *chat) {
  static const char messages[] =
      "[{\"role\":\"user\",\"content\":\"eins \\u00e4\"},"
      "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
      "\"function\":{\"name\":\"rooms\",\"arguments\":\"{}\"}}]},"
      "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a result\"}]";
  ebb_status status = ebb_chat_append(chat, messages, sizeof messages - 1);
  assert(status == EBB_OK || status == EBB_LIMIT || status == EBB_DUPLICATE);
}

/* Trims to a part of what it has; a refusal is as good. */
static void trim(ebb_chat *chat) {
  char options[60];
  snprintf(options, sizeof options, "{\"budget\":%llu}", (unsigned long long)ebb_chat_tokens(chat) * 2 / 3);
  ebb_status status = ebb_chat_trim(chat, "keep_recent", options, strlen(options), NULL);
  assert(status == EBB_OK || status == EBB_CANNOT_FIT || status == EBB_OVER_BUDGET);
}

static void apply(ebb_chat *chat) {
  static const char operations[] =
      "[{\"operation\":\"insert\",\"position\":0,\"messages\":[{\"role\":\"user\",\"content\":\"first\"}]},"
      "{\"operation\":\"truncate\",\"keepLast\":5},"
      "{\"operation\":\"replace\",\"index\":0,\"message\":{\"role\":\"user\",\"content\":\"other\"}}]";
  ebb_status status = ebb_chat_apply(chat, operations, sizeof operations - 1, NULL);
  assert(status == EBB_OK || status == EBB_ARGUMENT || status == EBB_OUT_OF_RANGE || status == EBB_LIMIT);
}

static ebb_chat *live(ebb_chat *chat) {
  chat = reload(chat);
  uint32_t batches = ebb_chat_batch_count(chat);
  for (uint32_t i = 0; i < batches && i < ROLLBACKS; i++) {
    ebb_status status = ebb_chat_rollback(chat, i * (batches - 1) / ROLLBACKS);
    assert(status == EBB_OK || status == EBB_OUT_OF_RANGE);      /* pruned */
    append(chat);
    if (i == 1) apply(chat);
    trim(chat);
  }
  return reload(chat);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ebb_chat *chat;
  const char *bytes = (const char *)data;
  open_runtime();
  ebb_status proven = ebb_chat_load(run.runtime, bytes, size, &chat);
  if (proven == EBB_OK) ebb_chat_free(reload(chat));
  else check_refusal(size);
  ebb_status salvaged = ebb_chat_salvage(run.runtime, bytes, size, &chat);
  assert(salvaged == EBB_OK || proven != EBB_OK);
  if (salvaged == EBB_OK) ebb_chat_free(live(chat));
  else check_refusal(size);
  return 0;
}
