/*
** Documents: request bodies, arrays and JSONL in memory, read into chats and written
** back. What stands around the messages is saved with the chat, as the first of its options
** (state/state_options.h), which the host never sees: chat->options_document is its size.
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "state/state_options.h"

/* ---- what is saved ---- */

/* Puts the texts of the chat's document before its options. */
static Status describe(ebb_chat *chat) {
  const Memory *memory = &chat->runtime->memory;
  Buffer out;
  size_t described;
  buffer_init(&out, *memory);
  Status status = state_add_document(&chat->handle->document, text_plain(chat->options, chat->options_size), &out,
                                     &described);
  char *options = status == STATUS_OK ? memory_new(memory, out.size) : NULL;
  if (options != NULL) {
    memcpy(options, out.bytes, out.size);
    memory_free(memory, chat->options, chat->options_size);
    chat->options = options;
    chat->options_size = out.size;
    chat->options_edits++;
    chat->options_document = described;
  }
  buffer_free(&out);
  return options != NULL ? STATUS_OK : STATUS_MEMORY;
}

/* ---- and read again ---- */

static int l_adopt(lua_State *L) {
  const ebb_chat *chat = lua_touserdata(L, 1);
  api_push_function(L, "adopt");
  holder_push(L, chat);
  chat_push_options(L, chat);
  lua_call(L, 2, 0);
  return 0;
}

/* Gives the chat's handle the document. */
static Status restore(ebb_chat *chat) {
  ConversationHandle *handle = chat->handle;
  Memory memory = quota_memory(chat->quota);
  Text options = text_plain(chat->options, chat->options_size);
  return state_read_document(options, &memory, &handle->document, &handle->envelope);
}

ebb_status document_charge(ebb_chat *chat) {
  ConversationHandle *handle = chat->handle;
  Cost cost;
  if (chat->options_document == 0) return EBB_OK;
  Status status =
    document_overhead(&handle->document, handle->conversation, conversation_counter(handle->conversation), &cost);
  if (status != STATUS_OK) return api_fail_status(chat->runtime, status, "load");
  conversation_set_overhead(handle->conversation, cost);
  return EBB_OK;
}

ebb_status document_restore(ebb_chat *chat) {
  ebb_runtime *runtime = chat->runtime;
  if (chat->options_document == 0) return EBB_OK;
  Status status = restore(chat);
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
  if (chat == NULL || (text == NULL && size > 0) || (options == NULL && options_size > 0)) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  return api_leave(runtime, read_text(runtime, api_options(text, size), api_options(options, options_size), chat));
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

int api_write_body(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  Text text = bind_text(L, 1);
  Status status = runtime->out->write(runtime->out->user, text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "request");
}

static ebb_status request(ebb_chat *chat, const char *dialect, Text options, ebb_text *body, ebb_text *report) {
  ebb_runtime *runtime = chat->runtime;
  ebb_text answer;
  Sink sink = sink_to_buffer(api_answer_buffer(runtime, 1));
  Asking asking = {.function = "request_writer", .chat = chat, .texts = {api_text(dialect), options}, .text_count = 2};
  runtime->out = &sink;
  ebb_status status = api_ask_text(runtime, &asking, &answer);
  runtime->out = NULL;
  if (status == EBB_OK) status = api_answer(runtime, 1, body);
  if (status == EBB_OK && report != NULL) *report = answer;
  return status;
}

ebb_status ebb_chat_request(ebb_chat *chat, const char *dialect, const char *options, size_t size, ebb_text *body,
                            ebb_text *report) {
  if (chat == NULL || body == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, request(chat, dialect, api_options(options, size), body, report));
}

static ebb_status repair(ebb_chat *chat, Text options, ebb_chat **result, ebb_text *report) {
  ebb_text answer;
  ebb_chat *copy;
  ebb_status status = chat_new_like(chat, &copy);
  if (status != EBB_OK) return status;
  Asking asking = {.function = "repairer", .chat = chat, .texts = {options}, .text_count = 1, .target = copy};
  chat_tick(chat);
  status = api_ask_text(chat->runtime, &asking, &answer);
  if (status != EBB_OK) {
    chat_discard(copy);
    return status;
  }
  assert(copy->handle != NULL);
  chat_enlist(copy);
  *result = copy;
  if (report != NULL) *report = answer;
  return EBB_OK;
}

ebb_status ebb_chat_repair(ebb_chat *chat, const char *options, size_t size, ebb_chat **fork, ebb_text *report) {
  if (chat == NULL || fork == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, repair(chat, api_options(options, size), fork, report));
}
