/*
** What a chat shows: plain fields, JSON, messages. Needs no Lua but for lists that it makes, and for queries.
*/
#include <string.h>

#include "api/api.h"
#include "sandbox/guard.h"

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

/* ---- messages ----
**
** One, or many in one call. An answer is one buffer, so that it moves while it grows; what is handed out points
** into it at the end:
**
**     | ebb_message, sizes only | text \0 json \0 id \0 ... | ebb_message | ... */

/* What is read: a message, or a stream. */
typedef struct Subject {
  const Conversation *conversation;
  const Message *message;
  MessageId origin;
  const Stream *stream;
} Subject;

typedef Status (*AddText)(const Subject *subject, Buffer *out);

/* ---- texts ---- */

static Status add_text(const Subject *subject, Buffer *out) {
  uint32_t at = 0;
  Text text;
  Status status = STATUS_OK;
  for (bool first = true; status == STATUS_OK && message_next_text(subject->message, &at, &text); first = false) {
    if (!first) status = buffer_add_byte(out, '\n');
    if (status == STATUS_OK) status = text_decode(text, out);
  }
  return status;
}

static Status add_json(const Subject *subject, Buffer *out) {
  Text raw = message_raw(subject->message);
  return buffer_add(out, raw.bytes, raw.size);
}

static Status add_field(const Subject *subject, MessageField field, Buffer *out) {
  Text value;
  return message_field(subject->message, field, &value) ? text_decode(value, out) : STATUS_OK;
}

static Status add_id(const Subject *subject, Buffer *out) { return add_field(subject, FIELD_ID, out); }
static Status add_name(const Subject *subject, Buffer *out) { return add_field(subject, FIELD_NAME, out); }

static Status add_marks(const Subject *subject, Buffer *buffer) {
  const Marks *marks = conversation_marks(subject->conversation);
  JsonOut out;
  json_out_start(&out, sink_to_buffer(buffer));
  json_out_open(&out, '[');
  for (uint32_t i = marks_first(marks, subject->origin); i != MARK_NONE; i = marks_after(marks, i, subject->origin)) {
    json_out_text(&out, marks_name(marks, i));
  }
  json_out_close(&out, ']');
  return json_out_end(&out);
}

static void add_call(JsonOut *out, const Message *message, Call call) {
  json_out_open(out, '{');
  if (call.id.at != 0) json_out_member_text(out, "id", message_text(message, call.id));
  json_out_member_text(out, "name", message_text(message, call.name));
  json_out_member_text(out, "arguments", call.arguments.at != 0 ? message_text(message, call.arguments) : text_of(""));
  json_out_close(out, '}');
}

static Status add_calls(const Subject *subject, Buffer *buffer) {
  JsonOut out;
  json_out_start(&out, sink_to_buffer(buffer));
  json_out_open(&out, '[');
  for (uint32_t i = 0; i < message_call_count(subject->message); i++) {
    add_call(&out, subject->message, message_call(subject->message, i));
  }
  json_out_close(&out, ']');
  return json_out_end(&out);
}

/* ---- of a stream ---- */

static Status add_stream_text(const Subject *subject, Buffer *out) {
  return buffer_add(out, subject->stream->text.bytes, subject->stream->whole);
}
static Status add_stream_json(const Subject *subject, Buffer *out) { return stream_write(subject->stream, out); }
static Status add_stream_id(const Subject *subject, Buffer *out) {
  return buffer_add(out, subject->stream->id.bytes, subject->stream->id.size);
}
static Status add_stream_name(const Subject *subject, Buffer *out) {
  return buffer_add(out, subject->stream->name.bytes, subject->stream->name.size);
}
static Status add_no_list(const Subject *subject, Buffer *out) {
  (void)subject;
  return buffer_add_string(out, "[]");
}

/* ---- records ---- */

enum { TEXT_COUNT = 6, FIRST_TEXTS = 2 };
static const AddText TEXTS[TEXT_COUNT] = {add_text, add_json, add_id, add_name, add_marks, add_calls};
static const AddText STREAM_TEXTS[TEXT_COUNT] = {add_stream_text, add_stream_json, add_stream_id,
                                                 add_stream_name, add_no_list,     add_no_list};

/* The text that TEXTS[i] makes. */
static ebb_text *text_of_message(ebb_message *message, int i) {
  ebb_text *const texts[TEXT_COUNT] = {&message->text, &message->json,  &message->id,
                                       &message->name, &message->marks, &message->calls};
  return texts[i];
}

/* Older hosts have no place for the later texts: those are not made. */
static int texts_of_size(size_t size) { return size <= MESSAGE_FIRST ? FIRST_TEXTS : TEXT_COUNT; }

static Subject read_stream(const Stream *stream, ebb_message *read) {
  read->role = role_name(stream->role);
  read->has_timestamp = stream->has_timestamp;
  read->timestamp = stream->timestamp;
  read->partial = 1;
  return (Subject){.stream = stream};
}

/* The stream stands behind the last message. */
static Subject read_fields(const ebb_chat *chat, uint32_t index, ebb_message *read) {
  if (index == ebb_chat_count(chat)) return read_stream(chat->stream, read);
  const Conversation *conversation = chat_conversation(chat);
  MessageId id = sequence_at(conversation_list(conversation), index);
  Subject subject = {.conversation = conversation, .message = conversation_message(conversation, id),
                     .origin = store_origin(conversation_store(conversation), id)};
  read->seq = id;
  read->tokens = message_tokens(subject.message);
  read->role = role_name(message_role(subject.message));
  read->has_timestamp = message_timestamp(subject.message, &read->timestamp);
  read->origin = subject.origin;
  return subject;
}

static Status add_record(const ebb_chat *chat, uint32_t index, int texts, Buffer *out) {
  ebb_message read = {.size = sizeof read};
  Subject subject = read_fields(chat, index, &read);
  const AddText *add = subject.stream != NULL ? STREAM_TEXTS : TEXTS;
  size_t place = out->size;
  Status status = buffer_add(out, &read, sizeof read);
  for (int i = 0; i < texts && status == STATUS_OK; i++) {
    size_t before = out->size;
    status = add[i](&subject, out);
    text_of_message(&read, i)->size = out->size - before;
    if (status == STATUS_OK) status = buffer_add_byte(out, '\0');
  }
  if (status == STATUS_OK) memcpy(out->bytes + place, &read, sizeof read);
  return status;
}

/* The caller's structs lie as far apart as the first of them says. */
static void hand_out(char *at, int texts, uint32_t count, ebb_message *messages) {
  ebb_message read;
  size_t size = messages->size;
  char *to = (char *)messages;
  for (uint32_t n = 0; n < count; n++, to += size) {
    memcpy(&read, at, sizeof read);
    at += sizeof read;
    for (int i = 0; i < texts; i++) {
      ebb_text *text = text_of_message(&read, i);
      text->bytes = at;
      at += text->size + 1;
    }
    memcpy(to, &size, sizeof size);
    abi_write(to, &read, sizeof read);
  }
}

/* ---- reading ---- */

static ebb_status read_messages(ebb_chat *chat, uint32_t first, uint32_t count, ebb_message *messages) {
  ebb_runtime *runtime = chat->runtime;
  ebb_text all;
  ebb_status status = abi_check(runtime, messages->size, MESSAGE_FIRST, "ebb_message");
  if (status != EBB_OK) return status;
  int texts = texts_of_size(messages->size);
  Buffer *out = api_answer_buffer(runtime, 0);
  Status added = STATUS_OK;
  for (uint32_t i = 0; i < count && added == STATUS_OK; i++) added = add_record(chat, first + i, texts, out);
  if (added != STATUS_OK) return api_fail_status(runtime, added, "message");
  status = api_answer(runtime, 0, &all);
  if (status == EBB_OK) hand_out((char *)(uintptr_t)all.bytes, texts, count, messages);
  return status;
}

/* How many can be read: the stream's, which ebb_chat_count does not count, is one more. */
static uint32_t readable(const ebb_chat *chat) { return ebb_chat_count(chat) + (chat->stream != NULL); }

static ebb_status fail_index(const ebb_chat *chat, uint32_t index) {
  return api_fail(chat->runtime, EBB_OUT_OF_RANGE, NULL, "message %u: the chat has %u", (unsigned)index,
                  (unsigned)ebb_chat_count(chat));
}

ebb_status ebb_chat_message(ebb_chat *chat, uint32_t index, ebb_message *message) {
  if (chat == NULL || message == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter_read(chat->runtime);
  if (status != EBB_OK) return status;
  if (index >= readable(chat)) status = fail_index(chat, index);
  return api_leave(chat->runtime, status == EBB_OK ? read_messages(chat, index, 1, message) : status);
}

static ebb_status read_range(ebb_chat *chat, uint32_t first, uint32_t room, ebb_message *messages, uint32_t *count) {
  uint32_t visible = readable(chat);
  if (first > visible) return fail_index(chat, first);
  uint32_t read_count = visible - first < room ? visible - first : room;
  ebb_status status = read_count == 0 ? EBB_OK : read_messages(chat, first, read_count, messages);
  if (status == EBB_OK) *count = read_count;
  return status;
}

ebb_status ebb_chat_messages(ebb_chat *chat, uint32_t first, uint32_t room, ebb_message *messages, uint32_t *count) {
  if (chat == NULL || count == NULL || (messages == NULL && room > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter_read(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, read_range(chat, first, room, messages, count)) : status;
}

/* ---- queries ----
**
** What Lua answers by methods of conversations, batches and selections, by one
** call that takes JSON and answers JSON (lua/ebb/libebb/queries.lua has all of them). */

/* Adds the bytes of the message on top. */
static Status add_message(lua_State *L, Buffer *out) {
  MessageId id = bind_check_message(L, -1);
  lua_getiuservalue(L, -1, 1);               /* its owner */
  View view = bind_look(L, -1);
  Text raw = message_raw(conversation_message(view.conversation, id));
  guard_charge_bytes(L, raw.size);
  return buffer_add(out, raw.bytes, raw.size);
}

int api_write_message(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 1);
  Status status = add_message(L, &runtime->answers[0]);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "query");
}

int api_write_list(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  Buffer *out = &runtime->answers[0];
  lua_settop(L, 1);
  lua_Integer count = luaL_len(L, 1);
  Status status = buffer_add_byte(out, '[');
  for (lua_Integer i = 1; i <= count && status == STATUS_OK; i++) {
    if (i > 1) status = buffer_add_byte(out, ',');
    lua_geti(L, 1, i);
    if (status == STATUS_OK) status = add_message(L, out);
    lua_settop(L, 1);
  }
  if (status == STATUS_OK) status = buffer_add_byte(out, ']');
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "query");
}

ebb_status ebb_chat_query(ebb_chat *chat, const char *query, size_t size, ebb_text *json) {
  if (chat == NULL || (query == NULL && size > 0) || json == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Asking asking = {.function = "querier", .chat = chat, .texts = {api_options(query, size)}, .text_count = 1};
  return api_leave(chat->runtime, api_ask_text(chat->runtime, &asking, json));
}
