/*
** Messages as hosts read them: one, or many in one call. An answer is one buffer, so
** that it moves while it grows; what is handed out points into it at the end:
**
**     | ebb_message, sizes only | text \0 json \0 id \0 ... | ebb_message | ...
*/
#include <string.h>

#include "api/api.h"

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
