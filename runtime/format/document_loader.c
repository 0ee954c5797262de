#include "format/document_loader.h"

#include <assert.h>

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

bool document_warn_of_unknown(DocumentLoader *loader, Text raw, const MessageShape *shape) {
  for (uint32_t i = 0; i < shape->part_count; i++) {
    Span part = shape->parts[i].value;
    if (shape->parts[i].unknown && !warn_of_part(loader, text_plain(raw.bytes + part.at, part.size), shape->form))
      return false;
  }
  return true;
}

Status document_append_from(DocumentLoader *loader, MessageSource *source) {
  Status status = operation_append(loader->conversation, source);
  if (loader->json.status != STATUS_OK) return loader->json.status;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.at, "room for the message");
  return status;
}
