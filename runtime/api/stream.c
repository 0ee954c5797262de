/*
** Streams: an answer that grows piece by piece before it is a message of the chat.
**
**     begin {"role":"assistant"}     head  {"role":"assistant","content":"
**     add   Up the                   text  Up the stairs.
**     add   stairs.                  tail  "}
**     settle                         appended: head, text as the inside of a string, tail
**
** The chat's list never sees it before that, so nothing that happens meanwhile needs to
** know of it. Pieces may end within a character, as they come from sockets.
*/
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"

/* ---- parts ---- */

static Stream stream_of(ebb_chat *chat) {
  Memory memory = quota_memory(chat->quota);
  Stream stream = {.role = ROLE_NONE};
  Buffer *const buffers[] = {&stream.head, &stream.tail, &stream.text, &stream.id, &stream.name};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) buffer_init(buffers[i], memory);
  return stream;
}

static void free_parts(Stream *stream) {
  Buffer *const buffers[] = {&stream->head, &stream->tail, &stream->text, &stream->id, &stream->name};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) buffer_free(buffers[i]);
}

static void stream_free(ebb_chat *chat) {
  Memory memory = quota_memory(chat->quota);
  if (chat->stream == NULL) return;
  free_parts(chat->stream);
  memory_free(&memory, chat->stream, sizeof *chat->stream);
  chat->stream = NULL;
}

Status stream_write(const Stream *stream, Buffer *out) {
  Status status = buffer_add(out, stream->head.bytes, stream->head.size);
  if (status == STATUS_OK) status = text_escape(text_plain(stream->text.bytes, stream->whole), out);
  return status == STATUS_OK ? buffer_add(out, stream->tail.bytes, stream->tail.size) : status;
}

/* ---- reading the message around the text ---- */

/* Where the content of an object stands, and where the object ends. */
typedef struct Frame {
  bool has_content, has_members;
  JsonValue content;
  const char *close;         /* its '}' */
} Frame;

/* False: `json` is not an object, the cursor says why. */
static bool find_content(Json *cursor, Text json, Frame *frame) {
  JsonKind kind;
  JsonValue value;
  Text key;
  *frame = (Frame){.has_content = false};
  json_open(cursor, json.bytes, json.size);
  if (!json_peek(cursor, &kind)) return false;
  if (kind != JSON_OBJECT) return json_fail(cursor, STATUS_SHAPE, cursor->at, "an object");
  if (!json_enter(cursor)) return false;
  while (json_next_member(cursor, &key) && json_value(cursor, &value)) {
    frame->has_members = true;
    if (!text_equal(key, text_of("content"))) continue;
    frame->has_content = true;
    frame->content = value;
  }
  frame->close = cursor->at - 1;
  if (!json_end(cursor)) return false;
  bool fits = !frame->has_content || frame->content.kind == JSON_STRING || frame->content.kind == JSON_NULL;
  return fits || json_fail(cursor, STATUS_SHAPE, frame->content.bytes, "a text or null");
}

/* Adds the bytes from `from` up to `to`. */
static Status add_range(Buffer *out, const char *from, const char *to) {
  return buffer_add(out, from, (size_t)(to - from));
}

/* The content comes last where the object has none: so places in errors stay true. */
static Status split(Text json, const Frame *frame, Stream *stream) {
  const char *end = json.bytes + json.size, *before = frame->close, *behind = frame->close;
  if (frame->has_content) {
    before = frame->content.bytes;
    behind = before + frame->content.size;
  }
  Status status = add_range(&stream->head, json.bytes, before);
  if (status == STATUS_OK && !frame->has_content)
    status = buffer_add_string(&stream->head, frame->has_members ? ",\"content\":" : "\"content\":");
  if (status == STATUS_OK) status = buffer_add_byte(&stream->head, '"');
  if (status == STATUS_OK) status = buffer_add_byte(&stream->tail, '"');
  if (status == STATUS_OK) status = add_range(&stream->tail, behind, end);
  if (status == STATUS_OK && frame->has_content && frame->content.kind == JSON_STRING)
    status = text_decode(json_text(&frame->content), &stream->text);
  stream->whole = stream->text.size;
  return status;
}

static Status note_shape(void *user, Text raw, const MessageShape *shape) {
  Stream *stream = user;
  static const MessageField fields[] = {FIELD_ID, FIELD_NAME};
  Buffer *const out[] = {&stream->id, &stream->name};
  Status status = STATUS_OK;
  stream->role = shape->role;
  stream->has_timestamp = shape->has_timestamp;
  stream->timestamp = shape->has_timestamp ? shape->timestamp : 0;
  for (int i = 0; i < 2 && status == STATUS_OK; i++) {
    Span span = shape->fields[fields[i]];
    Text value = {.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
    if (span.at != 0) status = text_decode(value, out[i]);
  }
  return status;
}

static ebb_status check_message(ebb_chat *chat, const char *what, Stream *stream) {
  Buffer whole;
  buffer_init(&whole, chat->runtime->memory);
  Status written = stream_write(stream, &whole);
  ebb_status status = written == STATUS_OK
                          ? chat_read_shape(chat, what, text_plain(whole.bytes, whole.size), note_shape, stream)
                          : api_fail_status(chat->runtime, written, what);
  buffer_free(&whole);
  if (status != EBB_OK || stream->role != ROLE_NONE) return status;
  return api_fail(chat->runtime, EBB_SHAPE, NULL, "%s: an item that shows a window cannot be streamed", what);
}

/* Fills an empty stream from the message around its text. */
static ebb_status read_message(ebb_chat *chat, const char *what, Text json, Stream *stream) {
  Frame frame;
  Json cursor;
  if (!find_content(&cursor, json, &frame)) return api_fail_json(chat->runtime, &cursor, what, json);
  Status status = split(json, &frame, stream);
  return status == STATUS_OK ? check_message(chat, what, stream) : api_fail_status(chat->runtime, status, what);
}

/* ---- beginning and adding ---- */

static ebb_status begin(ebb_chat *chat, Text json) {
  if (chat->stream != NULL) return api_fail(chat->runtime, EBB_DUPLICATE, NULL, "stream: one is open already");
  Memory memory = quota_memory(chat->quota);
  Stream *stream = memory_new(&memory, sizeof *stream);
  if (stream == NULL) return api_fail_status(chat->runtime, STATUS_MEMORY, "stream");
  *stream = stream_of(chat);
  chat->stream = stream;
  chat->end_stream = stream_free;
  ebb_status status = read_message(chat, "stream", json, stream);
  if (status != EBB_OK) stream_free(chat);
  return status;
}

ebb_status ebb_chat_stream_begin(ebb_chat *chat, const char *json, size_t size) {
  if (chat == NULL || (json == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, begin(chat, api_options(json, size))) : status;
}

static ebb_status fail_closed(ebb_chat *chat) {
  return api_fail(chat->runtime, EBB_ARGUMENT, NULL, "stream: none is open");
}

/* Appends a piece to the text of the open stream. It may end within a character, whose rest the next piece has. On
   failure the text is unchanged. */
static ebb_status add(ebb_chat *chat, const char *text, size_t size) {
  Stream *stream = chat->stream;
  if (stream == NULL) return fail_closed(chat);
  size_t before = stream->text.size, limit = api_message_limit(chat->runtime);
  size_t used = stream->head.size + stream->tail.size + before;
  if (used > limit || size > limit - used)
    return api_fail(chat->runtime, EBB_LIMIT, NULL, "stream: a message has at most %zu bytes", limit);
  Status status = buffer_add(&stream->text, text, size);
  if (status != STATUS_OK) return api_fail_status(chat->runtime, status, "stream");
  const char *at = stream->text.bytes + stream->whole, *end = stream->text.bytes + stream->text.size;
  size_t whole = size == 0 ? 0 : utf8_check(at, (size_t)(end - at));
  if (size > 0 && at + whole < end && !utf8_is_start(at + whole, end)) {
    stream->text.size = before;
    return api_fail(chat->runtime, EBB_ENCODING, NULL, "stream: byte %zu of the text is not UTF-8",
                    stream->whole + whole + 1);
  }
  stream->whole += whole;
  assert(stream->whole <= stream->text.size);
  return EBB_OK;
}

ebb_status ebb_chat_stream_add(ebb_chat *chat, const char *text, size_t size) {
  if (chat == NULL || (text == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, add(chat, text, size)) : status;
}

/* ---- ending ---- */

static ebb_status append_stream(ebb_chat *chat, const Stream *stream) {
  Buffer whole;
  buffer_init(&whole, chat->runtime->memory);
  Status written = stream_write(stream, &whole);
  ebb_status status = written == STATUS_OK ? chat_append(chat, "settle", text_plain(whole.bytes, whole.size))
                                           : api_fail_status(chat->runtime, written, "settle");
  buffer_free(&whole);
  return status;
}

/* Another message around the stream's text, which is lent to it meanwhile. */
static ebb_status append_within(ebb_chat *chat, Text json) {
  Stream end = stream_of(chat);
  ebb_status status = read_message(chat, "settle", json, &end);
  if (status == EBB_OK && end.text.size > 0)
    status = api_fail(chat->runtime, EBB_SHAPE, NULL, "settle: the content is the stream's: expected nothing or null");
  if (status == EBB_OK) {
    Buffer empty = end.text;
    end.text = chat->stream->text;
    end.whole = chat->stream->whole;
    status = append_stream(chat, &end);
    end.text = empty;
  }
  free_parts(&end);
  return status;
}

static ebb_status settle(ebb_chat *chat, Text json) {
  const Stream *stream = chat->stream;
  if (stream == NULL) return fail_closed(chat);
  if (stream->whole < stream->text.size)
    return api_fail(chat->runtime, EBB_ENCODING, NULL, "settle: the text ends within a character");
  ebb_status status = json.bytes == NULL ? append_stream(chat, stream) : append_within(chat, json);
  if (status == EBB_OK) status = api_note(chat);
  if (status == EBB_OK) stream_free(chat);
  return status;
}

ebb_status ebb_chat_stream_settle(ebb_chat *chat, const char *json, size_t size) {
  if (chat == NULL || (json == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, settle(chat, text_plain(json, size))) : status;
}

void ebb_chat_stream_drop(ebb_chat *chat) {
  if (chat != NULL && !chat->runtime->busy) stream_free(chat);
}
