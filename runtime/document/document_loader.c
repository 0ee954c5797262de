/*
** The state of a reading: places, warnings, ids; and messages from elsewhere, whose envelope is read as a text.
*/
#include "document/document_loader.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "json/json_fields.h"

/* The offset before the insertion was made. */
static size_t without(size_t offset, Inserted insertion) {
  if (offset <= insertion.at) return offset;
  return offset - min_size(offset - insertion.at, insertion.size);
}

const char *document_origin(const DocumentLoader *loader, const char *at) {
  assert(at >= loader->bytes && at <= loader->end);
  size_t offset = without((size_t)(at - loader->bytes), loader->opening);
  offset = without(offset, loader->closing);
  return loader->walk.start + salvage_origin(&loader->salvage, offset);
}

static bool warn(DocumentLoader *loader, DocumentOddity what, Text kind, const char *at) {
  SourcePosition place = source_position_next(&loader->walk, document_origin(loader, at));
  Status status = document_warn(loader->warnings, (DocumentWarning){.what = what, .place = place, .kind = kind});
  return status == STATUS_OK || json_fail(&loader->json, status, at, "memory");
}

static const HashKey *hash_key_of(const DocumentLoader *loader) {
  return store_hash_key(conversation_store(loader->conversation));
}

bool document_check_id(DocumentLoader *loader, Text id, const char *where) {
  uint64_t hash = hash_text(id, hash_key_of(loader));
  const uint64_t *other_seq = map_find(&loader->ids, hash);
  Text other;
  const Message *message = other_seq == NULL ? NULL : conversation_message(loader->conversation, (MessageId)*other_seq);
  if (message != NULL && message_field(message, FIELD_ID, &other) && text_equal(id, other)) {
    if (loader->lenient) return warn(loader, ODD_ID, id, where);
    return json_fail(&loader->json, STATUS_DUPLICATE, where, "an id that no other message of the file has");
  }
  MessageId seq = loader->document->first + loader->document->count;
  if (map_put(&loader->ids, hash, seq) != STATUS_OK) return json_fail(&loader->json, STATUS_MEMORY, where, "memory");
  return true;
}

bool document_shape_id(Text raw, const MessageShape *shape, Text *id) {
  Span span = shape->fields[FIELD_ID];
  *id = (Text){.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
  return span.at != 0;
}

/* What tells the kind of a part: its type; its first member if parts have no types. */
static Text kind_of_part(Text part, MessageForm form) {
  Json json;
  Text key;
  JsonValue type;
  json_open(&json, part.bytes, part.size);
  if (form == FORM_PARTS && json_enter(&json) && json_next_member(&json, &key)) return key;
  return json_find(part, "type", JSON_STRING, &type) ? json_text(&type) : text_of("no type");
}

static bool warn_of_part(DocumentLoader *loader, Text part, MessageForm form) {
  Text kind = kind_of_part(part, form);
  uint64_t hash = hash_text(kind, hash_key_of(loader));
  if (map_find(&loader->kinds, hash) != NULL) return true;
  if (map_put(&loader->kinds, hash, 1) != STATUS_OK) {
    return json_fail(&loader->json, STATUS_MEMORY, part.bytes, "memory");
  }
  return warn(loader, ODD_PART, kind, part.bytes);
}

/* ---- forms of other programs ---- */

static bool begins(Text text, const char *prefix) {
  size_t size = strlen(prefix);
  return text.size >= size && memcmp(text.bytes, prefix, size) == 0;
}

static bool is_one_of(Text text, const char *const names[], size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (text_is(text, names[i])) return true;
  }
  return false;
}

/* True for the types that other programs give to calls and results; a provider's own end in _tool_use and
   _tool_result. */
static bool is_foreign_type(Text type) {
  static const char *const types[] = {
    "tool_call", "tool_call_chunk", "invalid_tool_call", "tool_response", "tool_output", "toolCall", "toolResult",
    "toolUse", "toolRequest", "toolResponse", "function_call", "function_call_result", "function_call_output",
    "function_response", "functionCall", "functionResponse",
  };
  return (begins(type, "tool-") && !begins(type, "tool-approval-")) || text_is(type, "dynamic-tool") ||
         is_one_of(type, types, sizeof types / sizeof *types);
}

/* True for members that tie a part to a call, or that hold one. */
static bool is_foreign_member(Text key) {
  static const char *const names[] = {
    "toolCallId", "tool_call_id", "callId", "call_id", "toolUseId", "toolInvocation", "toolUse", "toolResult",
    "tool_call", "tool_call_result", "functionCall", "functionResponse",
  };
  return is_one_of(key, names, sizeof names / sizeof *names);
}

/* Checks a part of unknown type in a content: what was expected, or NULL if it may stay. A part without a type is
   no provider's. A call or a result that is not read as one would be parted from its other half. */
static const char *expected_of_part(Text part, bool nested) {
  static const char call[] = "a call or a result in the form of a provider";
  Json json;
  Text key;
  JsonValue value, type = {0};
  bool names_call = false;
  json_open(&json, part.bytes, part.size);
  json.tolerant = true;
  bool is_object = json_enter(&json);
  assert(is_object);
  (void)is_object;
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (text_is(key, "type") && value.kind == JSON_STRING) type = value;
    names_call = names_call || is_foreign_member(key);
  }
  if (type.bytes == NULL) return "a type in the content part";
  if (nested || begins(json_text(&type), "tool-approval-")) return NULL;
  return names_call || is_foreign_type(json_text(&type)) ? call : NULL;
}

/* Checks an image or a file likewise: one with a member that no provider has would be left out later. */
static const char *expected_of_media(Text part) {
  JsonValue value;
  bool is_foreign = json_find(part, "mediaType", JSON_STRING, &value) || json_find(part, "image", JSON_STRING, &value);
  return is_foreign ? "an image or a file in the form of a provider" : NULL;
}

static bool check_part(DocumentLoader *loader, Text bytes, const Part *part) {
  const char *expected = NULL;
  if (part->unknown) expected = expected_of_part(bytes, part->nested);
  else if (!part->nested && (part->kind == PART_IMAGE || part->kind == PART_FILE)) expected = expected_of_media(bytes);
  return expected == NULL || json_fail(&loader->json, STATUS_SHAPE, bytes.bytes, expected);
}

bool document_check_parts(DocumentLoader *loader, Text raw, const MessageShape *shape) {
  for (uint32_t i = 0; i < shape->part_count; i++) {
    const Part *part = &shape->parts[i];
    Text bytes = text_plain(raw.bytes + part->value.at, part->value.size);
    if (shape->form == FORM_CONTENT && !check_part(loader, bytes, part)) return false;
    if (part->unknown && !warn_of_part(loader, bytes, shape->form)) return false;
  }
  return true;
}

Status document_append_from(DocumentLoader *loader, MessageSource *source) {
  Status status = operation_append(loader->conversation, source);
  if (loader->json.status != STATUS_OK) return loader->json.status;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.at, "room for the message");
  return status;
}

/* ---- messages from elsewhere ---- */

enum { BODY_DEPTH = 2 };     /* of messages in a body */

/* True if reading a message again would give the same, whatever the options of the reader. */
static bool reads_alike(const DocumentLoader *loader, const Message *message) {
  Text raw = message_raw(message), spelling;
  if (message_form(message) != FORM_CONTENT || message_is_window(message)) return false;
  if (message_field(message, FIELD_SPELLING, &spelling) || loader->reader.alias_count > 0) return false;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (message_part(message, i).unknown) return false;
  }
  if (raw.size > loader->reader.message_bytes_max) return false;
  uint32_t levels = JSON_DEPTH_MAX - BODY_DEPTH;
  return message_levels_most(message) <= levels || !json_may_be_deep(raw, levels);
}

/* Reads a message that lies outside of the text, where errors have no place. */
static Status read_apart(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Json json;
  Text id;
  json_open(&json, raw->bytes, raw->size);
  json.depth = BODY_DEPTH;
  if (!reader_message(&loader->reader, &json, raw, shape)) return json.status;
  for (uint32_t i = 0; i < shape->part_count; i++) {
    if (shape->parts[i].unknown) return STATUS_SHAPE;    /* to be warned of, with its place */
  }
  bool unique = !document_shape_id(*raw, shape, &id) || document_check_id(loader, id, loader->json.at);
  return unique ? STATUS_OK : loader->json.status;
}

static Status next_of_messages(void *user, bool *more, Text *raw, MessageShape *shape) {
  DocumentLoader *loader = user;
  Text id;
  Status status = STATUS_OK;
  *more = loader->messages->next(loader->messages->user, &loader->lent, raw);
  if (!*more) return STATUS_OK;
  if (loader->lent != 0) {
    const Message *message = conversation_message(loader->messages->lender, loader->lent);
    *raw = message_raw(message);
    if (!reads_alike(loader, message)) loader->lent = 0;
    else if (message_field(message, FIELD_ID, &id) && !document_check_id(loader, id, loader->json.at))
      status = STATUS_DUPLICATE;
  }
  if (loader->lent == 0) status = read_apart(loader, raw, shape);
  loader->document->count += status == STATUS_OK;
  return status;
}

Status document_load_apart(DocumentLoader *loader) {
  const DocumentMessages *messages = loader->messages;
  Document *document = loader->document;
  MessageSource source = {.next = next_of_messages, .user = loader, .adopted = true, .lender = messages->lender,
                          .borrowed = &loader->lent};
  document->before.size += messages->indent;
  document->gap = messages->gap;
  loader->last_end += messages->indent;
  conversation_share_bytes(loader->conversation, messages->lender);
  return document_append_from(loader, &source);
}
