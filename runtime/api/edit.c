/*
** Edits of a chat. Appending, the one that happens all the time, goes straight to the core;
** so do those that take no JSON.
*/
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"
#include "core/forget.h"
#include "document/redact.h"
#include "json/source_position.h"

/* ---- appending ---- */

/* A message, or a list of them. */
typedef struct Incoming {
  Json json;
  Reader reader;
  bool list, done;
} Incoming;

static Status next(void *user, bool *more, Text *raw, MessageShape *shape) {
  Incoming *incoming = user;
  Json *json = &incoming->json;
  *more = incoming->list ? json_next_element(json) : !incoming->done;
  incoming->done = true;
  if (*more) reader_message(&incoming->reader, json, raw, shape);
  else if (json->status == STATUS_OK) json_end(json);
  return json->status;
}

ebb_status api_fail_json(ebb_runtime *runtime, const Json *json, const char *what, Text text) {
  char path[120];
  assert(json->status != STATUS_OK);
  size_t offset = (size_t)(json->error - text.bytes);
  SourcePosition place = source_position(text.bytes, text.size, offset);
  source_path(text.bytes, text.size, offset, false, path, sizeof path);
  return api_fail(runtime, api_status_of_code(status_code(json->status)), NULL, "%s: %u:%u: expected %s%s%s", what,
                  (unsigned)place.line, (unsigned)place.byte, json->expected, path[0] == '\0' ? "" : " at ", path);
}

static ebb_status fail_incoming(ebb_runtime *runtime, const Incoming *incoming, const char *what, Text text,
                                Status status) {
  if (incoming->json.status != STATUS_OK) return api_fail_json(runtime, &incoming->json, what, text);
  if (status == STATUS_ARGUMENT) return api_fail(runtime, EBB_ARGUMENT, NULL, "%s: no messages", what);
  return api_fail_status(runtime, status, what);
}

static void open_incoming(ebb_chat *chat, Incoming *incoming) {
  reader_init(&incoming->reader, chat->runtime->memory);
  incoming->reader.message_bytes_max = api_message_limit(chat->runtime);
}

static Status append_once(ebb_chat *chat, Incoming *incoming, Text text) {
  JsonKind kind;
  incoming->done = false;
  json_open(&incoming->json, text.bytes, text.size);
  incoming->list = json_peek(&incoming->json, &kind) && kind == JSON_ARRAY;
  if (incoming->list) json_enter(&incoming->json);
  else incoming->json.depth_max--;           /* so that a list can hold it */
  if (incoming->json.status != STATUS_OK) return incoming->json.status;
  MessageSource source = {.next = next, .user = incoming};
  return operation_append(chat_conversation(chat), &source);
}

ebb_status chat_append(ebb_chat *chat, const char *what, Text text) {
  Incoming incoming;
  open_incoming(chat, &incoming);
  chat_tick(chat);
  Status status = append_once(chat, &incoming, text);
  if (status == STATUS_MEMORY) {
    api_collect_all(chat->runtime);
    status = append_once(chat, &incoming, text);
  }
  reader_free(&incoming.reader);
  return status == STATUS_OK ? EBB_OK : fail_incoming(chat->runtime, &incoming, what, text, status);
}

ebb_status chat_read_shape(ebb_chat *chat, const char *what, Text text, ShapeUser *use, void *user) {
  Incoming incoming = {.list = false};
  MessageShape shape;
  Text raw;
  bool more;
  open_incoming(chat, &incoming);
  json_open(&incoming.json, text.bytes, text.size);
  incoming.json.depth_max--;                 /* as in append_once */
  Status status = next(&incoming, &more, &raw, &shape);
  if (status == STATUS_OK) status = use(user, raw, &shape);
  if (status == STATUS_OK) status = next(&incoming, &more, &raw, &shape);      /* nothing is left */
  reader_free(&incoming.reader);
  return status == STATUS_OK ? EBB_OK : fail_incoming(chat->runtime, &incoming, what, text, status);
}

ebb_status ebb_chat_append(ebb_chat *chat, const char *json, size_t size) {
  if (chat == NULL || (json == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, chat_append(chat, "append", api_options(json, size))) : status;
}

/* ---- operations ---- */

typedef struct Applying {
  Branch branch;
  Text operations;
} Applying;

static int l_apply(lua_State *L) {
  Applying *applying = lua_touserdata(L, 1);
  Buffer *out = &applying->branch.chat->runtime->answers[0];
  api_push_function(L, "apply");
  branch_push_fork(L, &applying->branch);
  lua_pushlstring(L, applying->operations.bytes, applying->operations.size);
  lua_call(L, 2, 1);
  Text text = bind_text(L, -1);
  Status status = buffer_add(out, text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "apply");
}

static ebb_status apply(ebb_chat *chat, const char *json, size_t size, ebb_text *results) {
  Applying applying = {.branch = branch_of(chat), .operations = api_options(json, size)};
  ebb_text answer;
  api_answer_buffer(chat->runtime, 0);
  chat_tick(chat);
  quota_allow_excess(chat->quota, true);
  ebb_status status = api_run(chat->runtime, l_apply, &applying);
  if (status == EBB_OK) status = api_answer(chat->runtime, 0, &answer);
  if (status == EBB_OK) status = branch_commit(&applying.branch);
  if (status == EBB_OK && results != NULL) *results = answer;
  branch_end(&applying.branch);
  quota_allow_excess(chat->quota, false);
  return status;
}

ebb_status ebb_chat_apply(ebb_chat *chat, const char *json, size_t size, ebb_text *results) {
  if (chat == NULL || (json == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, apply(chat, json, size, results)) : status;
}

/* ---- without JSON ---- */

static ebb_status rollback(ebb_chat *chat, uint32_t batch) {
  chat_tick(chat);
  Conversation *conversation = chat_conversation(chat);
  Status status = operation_rollback(conversation, batch, false, 0);
  if (status == STATUS_RANGE) {
    return api_fail(chat->runtime, EBB_OUT_OF_RANGE, NULL, "rollback: batch %u is not there; there are %u",
                    (unsigned)batch, (unsigned)history_count(conversation_history(conversation)));
  }
  if (status != STATUS_OK) return api_fail_status(chat->runtime, status, "rollback");
  return EBB_OK;
}

ebb_status ebb_chat_rollback(ebb_chat *chat, uint32_t batch) {
  if (chat == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, rollback(chat, batch)) : status;
}

static ebb_status rollback_to(ebb_chat *chat, const char *name) {
  uint32_t batch, length;
  Conversation *conversation = chat_conversation(chat);
  if (!history_find(conversation_history(conversation), text_of(name), &batch, &length)) {
    return api_fail(chat->runtime, EBB_UNKNOWN_NAME, NULL, "rollback: there is no checkpoint \"%.60s\"", name);
  }
  chat_tick(chat);
  return api_fail_status(chat->runtime, operation_rollback(conversation, batch, true, length), "rollback");
}

ebb_status ebb_chat_rollback_to(ebb_chat *chat, const char *checkpoint) {
  if (chat == NULL || checkpoint == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, rollback_to(chat, checkpoint)) : status;
}

/* Names end up in JSON. */
static ebb_status check_name(ebb_runtime *runtime, const char *name, const char *what) {
  size_t size = strlen(name);
  bool good = size > 0 && size <= 255 && utf8_check(name, size) == size;
  return good ? EBB_OK : api_fail(runtime, EBB_ARGUMENT, NULL, "%s: a name is UTF-8 of 1 to 255 bytes", what);
}

static ebb_status checkpoint(ebb_chat *chat, const char *name) {
  ebb_status status = check_name(chat->runtime, name, "checkpoint");
  if (status != EBB_OK) return status;
  Status noted = history_name(conversation_history(chat_conversation(chat)), text_of(name));
  return api_fail_status(chat->runtime, noted, "checkpoint");
}

ebb_status ebb_chat_checkpoint(ebb_chat *chat, const char *name) {
  if (chat == NULL || name == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, checkpoint(chat, name)) : status;
}

static ebb_status mark(ebb_chat *chat, uint32_t index, const char *name, bool set) {
  Conversation *conversation = chat_conversation(chat);
  ebb_status status = check_name(chat->runtime, name, "mark");
  if (status != EBB_OK) return status;
  uint32_t count = sequence_count(conversation_list(conversation));
  if (index >= count)
    return api_fail(chat->runtime, EBB_OUT_OF_RANGE, NULL, "mark: message %u: the chat has %u", (unsigned)index,
                    (unsigned)count);
  MessageId origin =
      store_origin(conversation_store(conversation), sequence_at(conversation_list(conversation), index));
  Status done = set ? conversation_mark(conversation, text_of(name), origin)
                    : conversation_unmark(conversation, text_of(name), origin);
  return api_fail_status(chat->runtime, done, "mark");
}

ebb_status ebb_chat_mark(ebb_chat *chat, uint32_t index, const char *name) {
  if (chat == NULL || name == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, mark(chat, index, name, true)) : status;
}

ebb_status ebb_chat_unmark(ebb_chat *chat, uint32_t index, const char *name) {
  if (chat == NULL || name == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, mark(chat, index, name, false)) : status;
}

/* ---- trims that run to the end, within the runtime's limits; task.c has those in slices ---- */

/* The report goes into the sink (NULL: it is dropped), and *answer (NULL: it is no answer) gets it,
   before the commit, after which nothing may fail. */
static ebb_status trim(ebb_chat *chat, const char *policy, Text options, const Sink *report, ebb_text *answer) {
  ebb_runtime *runtime = chat->runtime;
  Branch branch = branch_of(chat);
  Asking asking = {.function = "trim", .branch = &branch, .texts = {api_text(policy), options}, .text_count = 2};
  chat_tick(chat);
  quota_allow_excess(chat->quota, true);
  ebb_status status = api_ask(runtime, &asking, report);
  if (status == EBB_OK && answer != NULL) status = api_answer(runtime, 0, answer);
  if (status == EBB_OK) status = branch_commit(&branch);
  branch_end(&branch);
  quota_allow_excess(chat->quota, false);
  return status;
}

ebb_status ebb_chat_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_text *report) {
  if (chat == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Text options_text = api_options(options, size);
  Sink sink = sink_to_buffer(api_answer_buffer(chat->runtime, 0));
  ebb_text answer;
  status = trim(chat, policy, options_text, report == NULL ? NULL : &sink, report == NULL ? NULL : &answer);
  if (status == EBB_OK && report != NULL) *report = answer;
  return api_leave(chat->runtime, status);
}

ebb_status ebb_chat_trim_to(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_write write,
                            void *user) {
  if (chat == NULL || write == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  Writing writing = {.write = write, .user = user};
  Sink sink = api_writer(&writing);
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = trim(chat, policy, api_options(options, size), &sink, NULL);
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}

/* ---- forgetting for good: the text of a message, old batches with the messages that only they showed ---- */

/* Forgets a message. Where memory for the records of journals is missing, all becomes again what it was. */
static ebb_status overwrite(ebb_chat *chat, MessageId id) {
  ebb_runtime *runtime = chat->runtime;
  Forgotten *forgotten;
  Status done = conversation_forget(chat_conversation(chat), id, text_plain("", 0), redact_message, &forgotten);
  if (done != STATUS_OK) return api_fail_status(runtime, done, "forget");
  quota_note_redaction(chat->quota);
  ebb_status status = runtime->journal_hooks == NULL ? EBB_OK : runtime->journal_hooks->ready(runtime);
  if (status != EBB_OK) conversation_unforget(forgotten);
  forgotten_free(forgotten);
  return status;
}

static ebb_status forget(ebb_chat *chat, uint32_t index) {
  const Sequence *list = conversation_list(chat_conversation(chat));
  uint32_t count = sequence_count(list);
  if (index >= count) {
    return api_fail(chat->runtime, EBB_OUT_OF_RANGE, NULL, "forget: message %u: the chat has %u", (unsigned)index,
                    (unsigned)count);
  }
  return overwrite(chat, sequence_at(list, index));
}

ebb_status ebb_chat_forget(ebb_chat *chat, uint32_t index) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, forget(chat, index)) : status;
}

static ebb_status compact(ebb_chat *chat, uint32_t keep, uint32_t *removed) {
  uint32_t pruned, message_count = 0;
  quota_allow_excess(chat->quota, true);
  Status status = conversation_compact(chat_conversation(chat), keep, &pruned, &message_count);
  if (status == STATUS_MEMORY) {               /* garbage of scripts may hold what was let go of before */
    api_collect_all(chat->runtime);
    status = conversation_compact(chat_conversation(chat), keep, &pruned, &message_count);
  }
  quota_allow_excess(chat->quota, false);
  if (status == STATUS_OK && removed != NULL) *removed = message_count;
  return api_fail_status(chat->runtime, status, "compact");
}

ebb_status ebb_chat_compact(ebb_chat *chat, uint32_t keep, uint32_t *removed) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, compact(chat, keep, removed)) : status;
}

size_t ebb_chat_memory(const ebb_chat *chat) { return chat == NULL ? 0 : quota_used(chat->quota); }
