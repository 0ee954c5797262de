#include <assert.h>
#include <string.h>

#include "core/list/request_order.h"
#include "document/document.h"

/* Writes adjacent bytes with one call of the sink. */
typedef struct DocumentWriter {
  const Document *document;
  const Conversation *conversation;
  const WindowTexts *windows;      /* NULL: items are skipped */
  Sink sink;
  const char *from, *to;     /* bytes to write */
  MessageId before;          /* the last message written; 0: none */
} DocumentWriter;

static Status flush(DocumentWriter *writer) {
  if (writer->from == writer->to) return STATUS_OK;
  Status status = writer->sink.write(writer->sink.user, writer->from, (size_t)(writer->to - writer->from));
  writer->from = writer->to = NULL;
  return status;
}

static Status put(DocumentWriter *writer, const char *bytes, size_t size) {
  if (size == 0) return STATUS_OK;
  assert(bytes != NULL && writer->from <= writer->to);
  if (bytes == writer->to && writer->to != NULL) {
    writer->to += size;
    return STATUS_OK;
  }
  Status status = flush(writer);
  writer->from = bytes;
  writer->to = bytes + size;
  return status;
}

static bool was_read(const Document *document, MessageId id) {
  return id >= document->first && id - document->first < document->count;
}

static bool lies_in(Text block, Text text) {
  return text.size <= block.size && (uintptr_t)text.bytes >= (uintptr_t)block.bytes &&
         (uintptr_t)text.bytes - (uintptr_t)block.bytes <= block.size - text.size;
}

/* The text before a message, or before its origin, in the file; the first gap of the file
   for other messages, and for those whose bytes the store has copied since. */
static Text gap_of(const DocumentWriter *writer, MessageId id) {
  const Document *document = writer->document;
  const Store *store = conversation_store(writer->conversation);
  id = store_origin(store, id);
  bool lies_there = was_read(document, id) && id != document->first && document->block.size > 0;
  if (!lies_there || id <= store_moved(store)) return document->gap;
  Text before = message_raw(conversation_message(writer->conversation, id - 1));
  Text raw = message_raw(conversation_message(writer->conversation, id));
  const char *end = before.bytes + before.size;
  if (!lies_in(document->block, before) || !lies_in(document->block, raw)) return document->gap;
  assert(end <= raw.bytes);
  return text_plain(end, (size_t)(raw.bytes - end));
}

/* What stands in the place of a message; NULL: it stands itself. */
static const Text *instead_of(const WindowTexts *windows, MessageId id) {
  return windows == NULL || windows->instead == NULL ? NULL : windows->instead(windows->user, id);
}

/* The bytes of a message as they are written; size 0: nothing is. */
static Text text_of_message(const DocumentWriter *writer, MessageId id) {
  const Text *instead = instead_of(writer->windows, id);
  const Message *message = conversation_message(writer->conversation, id);
  if (instead != NULL) return *instead;
  if (!message_is_window(message)) return message_raw(message);
  return writer->windows == NULL ? text_plain("", 0) : writer->windows->text(writer->windows->user, id);
}

static Status put_message(DocumentWriter *writer, MessageId id) {
  Status status = STATUS_OK;
  Text raw = text_of_message(writer, id);
  if (raw.size == 0) return STATUS_OK;
  if (writer->before != 0) {
    Text gap = gap_of(writer, id);
    status = put(writer, gap.bytes, gap.size);
  }
  writer->before = id;
  return status == STATUS_OK ? put(writer, raw.bytes, raw.size) : status;
}

/* True if no message would be nested too deeply. Those from the file are not. */
static bool all_fit(const Document *document, const Conversation *conversation, const Sequence *list) {
  if (document->shape == DOCUMENT_JSONL) return true;   /* readers have checked it */
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (was_read(document, walk.ids[i])) continue;
      Text raw = message_raw(conversation_message(conversation, walk.ids[i]));
      Json json;
      JsonValue value;
      json_open(&json, raw.bytes, raw.size);
      json.depth = document->shape == DOCUMENT_ARRAY ? 1 : 2;
      if (!json_value(&json, &value)) return false;
    }
  }
  return true;
}

static Status put_list(DocumentWriter *writer, const Sequence *list) {
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) status = put_message(writer, walk.ids[i]);
  }
  return status;
}

static Status put_sent(DocumentWriter *writer, const Sequence *list) {
  const Conversation *conversation = writer->conversation;
  RequestOrder order;
  Status status = request_order_of(conversation_memory(conversation), conversation_windows(conversation),
                                   conversation_store(conversation), list, false, &order);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < order.count && status == STATUS_OK; i++) status = put_message(writer, order.ids[i]);
  request_order_free(&order);
  return status;
}

/* True if the list is still one message that the body had without a list around it. */
static bool is_single(const Document *document, const Sequence *list, const WindowTexts *windows) {
  if (document->single == SINGLE_NONE || sequence_count(list) != 1 || sequence_sum(list).windows > 0) return false;
  if (instead_of(windows, sequence_at(list, 0)) != NULL) return false;
  return document->single == SINGLE_OBJECT || sequence_at(list, 0) == document->first;
}

/* Writes the message without the brackets, or its content alone. */
static Status put_single(DocumentWriter *writer, const Sequence *list) {
  const Document *document = writer->document;
  const Message *message = conversation_message(writer->conversation, sequence_at(list, 0));
  Text value = message_raw(message), content = message_content(message);
  if (document->single == SINGLE_STRING) value = text_plain(content.bytes - 1, content.size + 2);
  assert(document->before.size > 0 && document->after.size > 0);
  Status status = put(writer, document->before.bytes, document->before.size - 1);
  if (status == STATUS_OK) status = put(writer, value.bytes, value.size);
  if (status == STATUS_OK) status = put(writer, document->after.bytes + 1, document->after.size - 1);
  return status == STATUS_OK ? flush(writer) : status;
}

Status document_write(const Document *document, const Conversation *conversation, const Sequence *list, Sink sink) {
  return document_write_windows(document, conversation, list, NULL, sink);
}

Status document_write_windows(const Document *document, const Conversation *conversation, const Sequence *list,
                              const WindowTexts *windows, Sink sink) {
  DocumentWriter writer = {.document = document, .conversation = conversation, .windows = windows, .sink = sink};
  if (!all_fit(document, conversation, list)) return STATUS_LIMIT;
  if (is_single(document, list, windows)) return put_single(&writer, list);
  Status status = put(&writer, document->before.bytes, document->before.size);
  if (status == STATUS_OK) status = windows == NULL ? put_list(&writer, list) : put_sent(&writer, list);
  /* JSONL without messages has no line to end. */
  bool ends = status == STATUS_OK && (document->shape != DOCUMENT_JSONL || writer.before != 0 || document->count == 0);
  if (ends) status = put(&writer, document->after.bytes, document->after.size);
  return status == STATUS_OK ? flush(&writer) : status;
}
