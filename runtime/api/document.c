/*
** Documents: request bodies, arrays and JSONL in memory, read into chats and written
** back. What stands around the messages (format/document.h) is saved with the chat, as
** the first of its options, which the host never sees:
**
**     {"document":{"before":"{\"messages\":[","gap":",","after":"]}"},   <- options_document
**      "model":"gpt-4o"}                                                 <- the host's
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"

#include "os/entropy.h"

/* ---- what is saved ---- */

enum { BEFORE, GAP, AFTER, TEXTS };

static const char *const NAMES[TEXTS] = {"before", "gap", "after"};

static Status add_texts(const Document *document, Buffer *out) {
  const Text texts[TEXTS] = {document->before, document->gap, document->after};
  Status status = buffer_add_string(out, "{\"document\":");
  for (int i = 0; i < TEXTS && status == STATUS_OK; i++) {
    status = buffer_add_string(out, i == 0 ? "{\"" : "\",\"");
    if (status == STATUS_OK) status = buffer_add_string(out, NAMES[i]);
    if (status == STATUS_OK) status = buffer_add_string(out, "\":\"");
    if (status == STATUS_OK) status = text_escape(texts[i], out);
  }
  return status == STATUS_OK ? buffer_add_string(out, "\"}") : status;
}

/* The members of the host's options, without the bracket before them. */
static Text members_of(const ebb_chat *chat) {
  Json json;
  Text key;
  json_open(&json, chat->options, chat->options_size);
  if (chat->options_size == 0 || !json_enter(&json)) return text_plain("}", 1);
  const char *first = json.at;
  bool any = json_next_member(&json, &key);
  return any ? text_plain(first, (size_t)(json.end - first)) : text_plain("}", 1);
}

/* Puts the texts of the chat's document before its options. */
static Status describe(ebb_chat *chat) {
  const Memory *memory = &chat->runtime->memory;
  Text members = members_of(chat);
  Buffer out;
  buffer_init(&out, *memory);
  Status status = add_texts(&chat->handle->document, &out);
  if (status == STATUS_OK && members.size > 1) status = buffer_add_byte(&out, ',');
  size_t described = out.size;
  if (status == STATUS_OK) status = buffer_add(&out, members.bytes, members.size);
  char *options = status == STATUS_OK ? memory_new(memory, out.size) : NULL;
  if (options != NULL) {
    memcpy(options, out.bytes, out.size);
    memory_free(memory, chat->options, chat->options_size);
    chat->options = options;
    chat->options_size = out.size;
    chat->options_document = described;
  }
  buffer_free(&out);
  return options != NULL ? STATUS_OK : STATUS_MEMORY;
}

size_t document_find(Text options) {
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, options.bytes, options.size);
  bool first = json_enter(&json) && json_next_member(&json, &key) && text_equal(key, text_of("document"));
  if (!first || !json_value(&json, &value)) return 0;
  const char *end = value.bytes + value.size, *last = options.bytes + options.size;
  while (end < last && strchr(" \t\r\n", *end) != NULL) end++;
  return (size_t)(end - options.bytes) + (end < last && *end == ',');
}

/* ---- and read again ---- */

typedef struct Restoring {
  ebb_chat *chat;
  Memory memory;             /* the quota's */
  Buffer texts;              /* one behind the other */
  size_t sizes[TEXTS];
  Conversation *scratch;     /* reads the texts around no message */
  Document document;
  DocumentWarnings warnings;
} Restoring;

/* The strings of the first option, decoded. STATUS_SHAPE. */
static Status read_texts(Restoring *restoring) {
  const ebb_chat *chat = restoring->chat;
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, chat->options, chat->options_size);
  if (!json_enter(&json) || !json_next_member(&json, &key) || !json_enter(&json)) return STATUS_SHAPE;
  for (int i = 0; i < TEXTS; i++) {
    bool good = json_next_member(&json, &key) && text_equal(key, text_of(NAMES[i])) && json_value(&json, &value) &&
                value.kind == JSON_STRING;
    if (!good) return STATUS_SHAPE;
    size_t before = restoring->texts.size;
    if (text_decode(json_text(&value), &restoring->texts) != STATUS_OK) return STATUS_MEMORY;
    restoring->sizes[i] = restoring->texts.size - before;
  }
  return json_next_member(&json, &key) || json.status != STATUS_OK ? STATUS_SHAPE : STATUS_OK;
}

static bool is_blank(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (strchr(" \t\r\n", bytes[i]) == NULL || bytes[i] == '\0') return false;
  }
  return true;
}

/* A comma between blanks; between lines, blanks with a newline. */
static bool is_gap(DocumentShape shape, const char *bytes, size_t size) {
  if (shape == DOCUMENT_JSONL) return is_blank(bytes, size) && memchr(bytes, '\n', size) != NULL;
  const char *comma = memchr(bytes, ',', size);
  if (comma == NULL) return false;
  size_t before = (size_t)(comma - bytes);
  return is_blank(bytes, before) && is_blank(comma + 1, size - before - 1);
}

/* Reads before and after as one text, in which no message stands. */
static Status load_texts(Restoring *restoring) {
  static const DocumentLimits limits = {.message_bytes_max = SIZE_MAX, .file_bytes_max = SIZE_MAX};
  size_t before = restoring->sizes[BEFORE], after = restoring->sizes[AFTER], size = before + after;
  ConversationConfig config = {.memory = restoring->memory, .clock = clock_system(),
                               .counter = counter_of(ESTIMATE_CJK), .hash_key = entropy_hash_key()};
  DocumentError error;
  if (conversation_new(&config, &restoring->scratch) != STATUS_OK) return STATUS_MEMORY;
  char *bytes = memory_new(&restoring->memory, size > 0 ? size : 1);
  if (bytes == NULL) return STATUS_MEMORY;
  const char *texts = restoring->texts.bytes;
  if (before > 0) memcpy(bytes, texts, before);
  if (after > 0) memcpy(bytes + before, texts + before + restoring->sizes[GAP], after);
  Status status = document_load(restoring->scratch, &limits, bytes, size, size > 0 ? size : 1, &restoring->document,
                                &restoring->warnings, &error);
  if (status != STATUS_OK) memory_free(&restoring->memory, bytes, size > 0 ? size : 1);
  return status == STATUS_OK || status == STATUS_MEMORY ? status : STATUS_SHAPE;
}

/* Messages go where the first text ends: only blanks stand between there and where the list begins. */
static Status split_texts(Restoring *restoring) {
  Document *document = &restoring->document;
  size_t begin = document->before.size, before = restoring->sizes[BEFORE];
  const char *bytes = document->block.bytes, *gap = restoring->texts.bytes + before;
  bool good = document->count == 0 && begin <= before && is_blank(bytes + begin, before - begin) &&
              is_gap(document->shape, gap, restoring->sizes[GAP]);
  if (!good) return STATUS_SHAPE;
  document->before = text_plain(bytes, before);
  document->after = text_plain(bytes + before, restoring->sizes[AFTER]);
  document->gap = text_plain(gap, restoring->sizes[GAP]);
  document->block = text_plain("", 0);
  return STATUS_OK;
}

/* Gives the chat's handle the document; what the request carries besides its messages counts. */
static Status install(Restoring *restoring) {
  ConversationHandle *handle = restoring->chat->handle;
  Conversation *conversation = handle->conversation;
  Cost cost;
  const Counter *counter = conversation_counter(conversation);
  Status status = document_overhead(&restoring->document, counter, &restoring->memory, &cost);
  if (status == STATUS_OK)
    status = document_keep(&restoring->document, &restoring->warnings, &restoring->memory, NULL, &handle->envelope);
  if (status != STATUS_OK) return status;
  handle->document = restoring->document;
  conversation_add_overhead(conversation, cost);
  return STATUS_OK;
}

static int l_adopt(lua_State *L) {
  const ebb_chat *chat = lua_touserdata(L, 1);
  api_push_function(L, "adopt");
  chat_push(L, chat);
  chat_push_options(L, chat);
  lua_call(L, 2, 0);
  return 0;
}

ebb_status document_restore(ebb_chat *chat) {
  ebb_runtime *runtime = chat->runtime;
  if (chat->options_document == 0) return EBB_OK;
  Restoring restoring = {.chat = chat, .memory = quota_memory(chat->quota)};
  restoring.warnings.memory = restoring.memory;
  buffer_init(&restoring.texts, restoring.memory);
  Status status = read_texts(&restoring);
  if (status == STATUS_OK) status = load_texts(&restoring);
  if (status == STATUS_OK) status = split_texts(&restoring);
  if (status == STATUS_OK) status = install(&restoring);
  memory_free(&restoring.memory, restoring.warnings.list, restoring.warnings.room * sizeof *restoring.warnings.list);
  conversation_free(restoring.scratch);
  buffer_free(&restoring.texts);
  if (status == STATUS_SHAPE)
    return api_fail(runtime, EBB_DAMAGED, NULL, "load: options.document: expected what stands around messages");
  if (status != STATUS_OK) return api_fail_status(runtime, status, "load");
  return api_run(runtime, l_adopt, chat);
}

/* ---- reading ---- */

typedef struct Reading {
  ebb_chat *chat;
  Text text;
} Reading;

/* (options) -> conversation | nil, error; upvalue 1: the Reading */
static int l_parse(lua_State *L) {
  const Reading *reading = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 1);
  lua_pushnil(L);
  lua_insert(L, 1);
  return bind_parse(L, reading->text);
}

static int l_read(lua_State *L) {
  Reading *reading = lua_touserdata(L, 1);
  api_push_function(L, "read");
  chat_push_options(L, reading->chat);
  lua_pushlightuserdata(L, reading);
  lua_pushcclosure(L, l_parse, 1);
  lua_pushinteger(L, (lua_Integer)api_message_limit(reading->chat->runtime));
  lua_call(L, 3, 1);
  chat_hold(L, reading->chat);
  return 0;
}

static ebb_status read_text(ebb_runtime *runtime, Text text, Text options, ebb_chat **result) {
  Reading reading = {.text = text};
  ebb_status status = chat_new(runtime, NULL, options.bytes, options.size, &reading.chat);
  if (status != EBB_OK) return status;
  status = chat_make_by(reading.chat, l_read, &reading);
  if (status == EBB_OK) status = api_fail_status(runtime, describe(reading.chat), "read");
  if (status != EBB_OK) {
    chat_discard(reading.chat);
    return status;
  }
  chat_enlist(reading.chat);
  *result = reading.chat;
  return EBB_OK;
}

ebb_status ebb_chat_read(ebb_runtime *runtime, const char *text, size_t size, const char *options,
                         size_t options_size, ebb_chat **chat) {
  if (text == NULL || chat == NULL || (options == NULL && options_size > 0)) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  return api_leave(runtime, read_text(runtime, text_plain(text, size), api_options(options, options_size), chat));
}

/* ---- writing ---- */

int api_write_document(lua_State *L) {
  static const char *const names[] = {"array", "jsonl", NULL};
  static const DocumentShape shapes[] = {DOCUMENT_ARRAY, DOCUMENT_JSONL};
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 3);
  Document document = bind_check_conversation(L, 1)->document;
  if (!lua_isnil(L, 3)) {
    DocumentShape shape = shapes[luaL_checkoption(L, 3, NULL, names)];
    if (!document.loaded || document.shape != shape) document = document_new(shape);
  }
  Status status = bind_write_list(L, &document, *runtime->out);
  if (status == STATUS_HOST) return bind_raise(L, "io", NULL, "write: the host's writer failed");
  if (status == STATUS_LIMIT) return bind_raise(L, "limit", NULL, "write: %s", BIND_TOO_DEEP);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "write");
}

static ebb_status write_text(ebb_chat *chat, Text options, Sink sink) {
  ebb_runtime *runtime = chat->runtime;
  Asking asking = {.function = "writer", .chat = chat, .texts = {options}, .text_count = 1};
  runtime->out = &sink;
  ebb_status status = api_ask(runtime, &asking, NULL);
  runtime->out = NULL;
  return status;
}

ebb_status ebb_chat_write(ebb_chat *chat, const char *options, size_t size, ebb_text *text) {
  if (chat == NULL || text == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = write_text(chat, api_options(options, size), sink_to_buffer(api_answer_buffer(chat->runtime, 0)));
  return api_leave(chat->runtime, status == EBB_OK ? api_answer(chat->runtime, 0, text) : status);
}

ebb_status ebb_chat_write_to(ebb_chat *chat, const char *options, size_t size, ebb_write write, void *user) {
  if (chat == NULL || write == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Writing writing = {.write = write, .user = user, .inside = chat->runtime->L};
  status = write_text(chat, api_options(options, size), api_writer(&writing));
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}

/* ---- checking and mending ---- */

ebb_status ebb_chat_check(ebb_chat *chat, const char *dialect, ebb_text *json) {
  if (chat == NULL || json == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Asking asking = {.function = "checker", .chat = chat, .texts = {api_text(dialect)}, .text_count = 1};
  return api_leave(chat->runtime, api_ask_text(chat->runtime, &asking, json));
}

static ebb_status repair(ebb_chat *chat, Text options, ebb_chat **result, ebb_text *report) {
  ebb_text answer;
  Asking asking = {.function = "repairer", .chat = chat, .texts = {options}, .text_count = 1};
  ebb_status status = chat_new_like(chat, &asking.target);
  if (status != EBB_OK) return status;
  chat_tick(chat);
  status = api_ask_text(chat->runtime, &asking, &answer);
  if (status != EBB_OK) {
    chat_discard(asking.target);
    return status;
  }
  assert(asking.target->handle != NULL);
  chat_enlist(asking.target);
  *result = asking.target;
  if (report != NULL) *report = answer;
  return EBB_OK;
}

ebb_status ebb_chat_repair(ebb_chat *chat, const char *options, size_t size, ebb_chat **fork, ebb_text *report) {
  if (chat == NULL || fork == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, repair(chat, api_options(options, size), fork, report));
}
