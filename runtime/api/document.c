/*
** Chats as texts: documents, and saved states.
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "base/hex.h"
#include "codec/sha256.h"
#include "state/state.h"
#include "state/state_options.h"

/* ---- documents ----
**
** Request bodies, arrays and JSONL in memory, read into chats and written
** back. What surrounds the messages is saved with the chat, as the first of its options
** (state/state_options.h), which the host never sees: chat->options_document is its size. */

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

/* Counts what its request carries besides the messages, after its state is read. */
static ebb_status document_charge(ebb_chat *chat) {
  ConversationHandle *handle = chat->handle;
  Cost cost;
  if (chat->options_document == 0) return EBB_OK;
  Status status =
    document_overhead(&handle->document, handle->conversation, conversation_counter(handle->conversation), &cost);
  if (status != STATUS_OK) return api_fail_status(chat->runtime, status, "load");
  conversation_set_overhead(handle->conversation, cost);
  return EBB_OK;
}

/* Restores the document of a chat from its options, before its state is read. */
static ebb_status document_restore(ebb_chat *chat) {
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

/* ---- saved states: of the conversation (state/state.h), with the options it was made with ---- */

/* Writes the chat's state (state/state.h), its options included. */
static ebb_status chat_save(ebb_chat *chat, Sink sink) {
  Status status = state_write(chat_conversation(chat), text_plain(chat->options, chat->options_size), sink);
  return api_fail_status(chat->runtime, status, "save");
}

ebb_status ebb_chat_save(ebb_chat *chat, ebb_text *saved) {
  if (chat == NULL || saved == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = chat_save(chat, sink_to_buffer(api_answer_buffer(chat->runtime, 0)));
  return api_leave(chat->runtime, status == EBB_OK ? api_answer(chat->runtime, 0, saved) : status);
}

ebb_status ebb_chat_save_to(ebb_chat *chat, ebb_write write, void *user) {
  if (chat == NULL || write == NULL) return api_missing(chat_runtime(chat));
  Writing writing = {.write = write, .user = user};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = chat_save(chat, api_writer(&writing));
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}

static Status add_to_hash(void *user, const char *bytes, size_t size) {
  sha256_add(user, bytes, size);
  return STATUS_OK;
}

static ebb_status digest_of(ebb_chat *chat, char digest[65]) {
  Sha256 hash;
  uint8_t bytes[32];
  sha256_start(&hash);
  ebb_status status = chat_save(chat, (Sink){.write = add_to_hash, .user = &hash});
  if (status != EBB_OK) return status;
  sha256_end(&hash, bytes);
  hex_write(digest, bytes, sizeof bytes);
  digest[64] = '\0';
  return EBB_OK;
}

ebb_status ebb_chat_digest(ebb_chat *chat, char digest[65]) {
  if (chat == NULL || digest == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, digest_of(chat, digest)) : status;
}

/* ---- and loaded again ---- */

static ebb_status fail_state(ebb_runtime *runtime, const StateError *error) {
  if (error->status == STATUS_MEMORY) return api_fail_status(runtime, STATUS_MEMORY, "load");
  ebb_status status = error->status == STATUS_SHAPE ? EBB_DAMAGED : error->status == STATUS_RANGE ? EBB_UNKNOWN_VERSION
                      : api_status_of_code(status_code(error->status));
  return api_fail(runtime, status, NULL, "load: byte %zu: expected %s", error->offset + 1, error->expected);
}

static int l_check_windows(lua_State *L) {
  api_push_function(L, "check_windows");
  holder_push(L, lua_touserdata(L, 1));
  lua_call(L, 1, 0);
  return 0;
}

/* Contents and actions are JSON of the Lua library's. */
static ebb_status check_windows(ebb_chat *chat) {
  const Windows *windows = conversation_windows(chat_conversation(chat));
  if (windows == NULL || windows_count(windows) == 0) return EBB_OK;
  return api_run(chat->runtime, l_check_windows, chat);
}

/* ---- roles of the host's own ---- */

typedef struct Roles {
  Memory memory;
  RoleAlias *list;
  uint32_t count, room;
} Roles;

static ebb_status damaged_role(ebb_chat *chat) {
  return api_fail(chat->runtime, EBB_DAMAGED, NULL, "load: options.roleMap: expected names of roles");
}

/* {"spelling": "role"}; the texts are those of the chat's options. */
static ebb_status read_role_map(ebb_chat *chat, Json *json, Roles *roles) {
  Text spelling;
  JsonValue value;
  if (!json_enter(json)) return damaged_role(chat);
  while (json_next_member(json, &spelling)) {
    RoleAlias *grown = memory_grow(&roles->memory, roles->list, &roles->room, roles->count, sizeof *grown);
    if (grown == NULL) return api_fail_status(chat->runtime, STATUS_MEMORY, "load");
    roles->list = grown;
    grown[roles->count].spelling = spelling;
    bool good = json_value(json, &value) && value.kind == JSON_STRING &&
                role_parse(json_text(&value), &grown[roles->count].role);
    if (!good) return damaged_role(chat);
    roles->count++;
  }
  return json->status == STATUS_OK ? EBB_OK : damaged_role(chat);
}

/* What ebb_chat_read was told of roles. */
static ebb_status read_roles(ebb_chat *chat, Roles *roles) {
  Json json;
  JsonKind kind;
  JsonValue value;
  Text key;
  if (chat->options_document == 0) return EBB_OK;
  json_open(&json, chat->options, chat->options_size);
  if (!json_enter(&json)) return damaged_role(chat);
  while (json_next_member(&json, &key)) {
    bool map = text_equal(key, text_of("roleMap")) && json_peek(&json, &kind) && kind == JSON_OBJECT;
    ebb_status status = map ? read_role_map(chat, &json, roles) : EBB_OK;
    if (status != EBB_OK) return status;
    if (!map && !json_value(&json, &value)) return damaged_role(chat);
  }
  return EBB_OK;
}

static ebb_status read_state(ebb_chat *chat, const State *state) {
  StateError error;
  Roles roles = {.memory = chat->runtime->memory};
  ebb_status status = chat_make(chat);
  if (status == EBB_OK) status = document_restore(chat);
  if (status == EBB_OK) status = read_roles(chat, &roles);
  if (status == EBB_OK &&
      state_read_roles(chat_conversation(chat), state, roles.list, roles.count, &error) != STATUS_OK)
    status = fail_state(chat->runtime, &error);
  memory_free(&roles.memory, roles.list, roles.room * sizeof *roles.list);
  if (status == EBB_OK) status = document_charge(chat);
  return status == EBB_OK ? check_windows(chat) : status;
}

ebb_status chat_load(ebb_runtime *runtime, const char *saved, size_t size, StateTrust trust, ebb_chat **result) {
  State state;
  StateError error;
  ebb_chat *chat;
  if (state_open(&state, saved, size, trust, &error) != STATUS_OK) return fail_state(runtime, &error);
  Text options = state_options(&state);
  ebb_status status = chat_new(runtime, NULL, options.bytes, options.size, &chat);
  if (status != EBB_OK) return status;
  chat->options_document = state_document_size(options);
  status = read_state(chat, &state);
  if (status != EBB_OK) {
    chat_discard(chat);
    return status;
  }
  chat_enlist(chat);
  *result = chat;
  return EBB_OK;
}

static ebb_status enter_and_load(ebb_runtime *runtime, const char *saved, size_t size, StateTrust trust,
                                 ebb_chat **chat) {
  if ((saved == NULL && size > 0) || chat == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, chat_load(runtime, size == 0 ? "" : saved, size, trust, chat)) : status;
}

ebb_status ebb_chat_load(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat) {
  return enter_and_load(runtime, saved, size, STATE_PROVEN, chat);
}

ebb_status ebb_chat_salvage(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat) {
  return enter_and_load(runtime, saved, size, STATE_SALVAGED, chat);
}
