/*
** What a chat shows: plain fields, JSON. Needs no Lua but for lists that it makes.
*/
#include "api/api.h"

static const Sequence *list_of(const ebb_chat *chat) { return conversation_list(chat_conversation(chat)); }

static const History *history_of(const ebb_chat *chat) { return conversation_history(chat_conversation(chat)); }

uint32_t ebb_chat_count(const ebb_chat *chat) { return chat == NULL ? 0 : sequence_count(list_of(chat)); }
uint64_t ebb_chat_tokens(const ebb_chat *chat) {
  if (chat == NULL) return 0;
  const Conversation *conversation = chat_conversation(chat);
  return calibration_apply(conversation_calibration(conversation), conversation_tokens(conversation));
}
uint32_t ebb_chat_batch(const ebb_chat *chat) { return chat == NULL ? 0 : history_current(history_of(chat)); }
uint32_t ebb_chat_batch_count(const ebb_chat *chat) { return chat == NULL ? 0 : history_count(history_of(chat)); }

/* ---- lists ---- */

static ebb_status write_list(ebb_chat *chat, Sink sink) {
  Document array = document_new(DOCUMENT_ARRAY);
  const Document *document = &chat->handle->document;
  if (document->shape != DOCUMENT_ARRAY) document = &array;
  Status status = document_write(document, chat_conversation(chat), list_of(chat), sink);
  if (status == STATUS_LIMIT) return api_fail(chat->runtime, EBB_LIMIT, NULL, "json: %s", BIND_TOO_DEEP);
  return api_fail_status(chat->runtime, status, "json");
}

ebb_status ebb_chat_json(ebb_chat *chat, ebb_text *json) {
  if (chat == NULL || json == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter_read(chat->runtime);
  if (status != EBB_OK) return status;
  status = write_list(chat, sink_to_buffer(api_answer_buffer(chat->runtime, 0)));
  return api_leave(chat->runtime, status == EBB_OK ? api_answer(chat->runtime, 0, json) : status);
}

ebb_status ebb_chat_json_to(ebb_chat *chat, ebb_write write, void *user) {
  if (chat == NULL || write == NULL) return api_missing(chat_runtime(chat));
  Writing writing = {.write = write, .user = user};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = write_list(chat, api_writer(&writing));
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}

typedef struct Listing {
  ebb_chat *chat;
  const char *function;      /* of lua/ebb/libebb: (chat) -> JSON */
} Listing;

static int l_list(lua_State *L) {
  Listing *listing = lua_touserdata(L, 1);
  api_push_function(L, listing->function);
  holder_push(L, listing->chat);
  lua_call(L, 1, 1);
  Text text = bind_text(L, -1);
  Status status = buffer_add(&listing->chat->runtime->answers[0], text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, listing->function);
}

ebb_status chat_list(ebb_chat *chat, const char *function, ebb_text *json) {
  if (chat == NULL || json == NULL) return api_missing(chat_runtime(chat));
  Listing listing = {.chat = chat, .function = function};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  api_answer_buffer(chat->runtime, 0);
  status = api_run(chat->runtime, l_list, &listing);
  if (status == EBB_OK) status = api_answer(chat->runtime, 0, json);
  return api_leave(chat->runtime, status);
}

/* ---- batches ---- */

/* Members in the order of their names, as the Lua library writes them. */
static void add_batch(JsonOut *out, const BatchInfo *info) {
  json_out_open(out, '{');
  json_out_member_text(out, "description", info->description);
  json_out_member_integer(out, "index", info->index);
  json_out_member_integer(out, "messageCount", info->count);
  if (info->name.size > 0) {
    json_out_member_text(out, "name", info->name);
    json_out_member_integer(out, "nameLength", info->name_length);
  }
  json_out_member_string(out, "operation", batch_kind_name(info->kind));
  if (info->parent == BATCH_NONE) {
    json_out_member_raw(out, "parent", text_of("null"));
    json_out_member_raw(out, "parentLength", text_of("null"));
  } else {
    json_out_member_integer(out, "parent", info->parent);
    json_out_member_integer(out, "parentLength", info->parent_length);
  }
  if (info->pruned) json_out_member_raw(out, "removed", text_of("true"));
  json_out_member_integer(out, "timestamp", info->timestamp);
  json_out_close(out, '}');
}

static ebb_status write_batches(ebb_chat *chat, ebb_text *json) {
  const History *history = history_of(chat);
  JsonOut out;
  json_out_start(&out, sink_to_buffer(api_answer_buffer(chat->runtime, 0)));
  json_out_open(&out, '[');
  for (uint32_t i = 0; i < history_count(history); i++) {
    BatchInfo info = history_batch(history, i);
    add_batch(&out, &info);
  }
  json_out_close(&out, ']');
  Status status = json_out_end(&out);
  return status == STATUS_OK ? api_answer(chat->runtime, 0, json) : api_fail_status(chat->runtime, status, "batches");
}

ebb_status ebb_chat_batches(ebb_chat *chat, ebb_text *json) {
  if (chat == NULL || json == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter_read(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, write_batches(chat, json)) : status;
}
