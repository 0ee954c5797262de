#include "document/document_apart.h"

#include <assert.h>

#include "json/json_fields.h"

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
