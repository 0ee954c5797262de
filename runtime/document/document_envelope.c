/*
** The texts of a document around its messages, with an owner of their own.
*/
#include <assert.h>
#include <string.h>

#include "document/document.h"

/* Larger envelopes share the store's bytes: a file may be nearly all white space. */
#define ENVELOPE_COPY_MAX ((size_t)1 << 20)

/* Copies of the text before the first message, the gap, the text behind the last message
   and the texts of warnings. */
struct Envelope {
  Memory memory;
  uint32_t owners;
  Arena *shared;             /* long texts stay in the bytes of a store; NULL: all are in `bytes` */
  size_t size;
  char bytes[];
};

/* The copy in the envelope of a text of the document. */
static const char *copy_of(const Document *document, const Envelope *envelope, const char *text) {
  size_t before = document->before.size, into = (size_t)(text - document->before.bytes);
  if (text >= document->before.bytes && into < before) return envelope->bytes + into;
  assert(text >= document->after.bytes && text < document->after.bytes + document->after.size);
  return envelope->bytes + before + document->gap.size + (size_t)(text - document->after.bytes);
}

static char *put_text(char *at, Text *text) {
  if (text->size > 0) memcpy(at, text->bytes, text->size);
  text->bytes = at;
  return at + text->size;
}

static size_t size_of_texts(const Document *document, const DocumentWarnings *warnings) {
  size_t size = document->before.size + document->gap.size + document->after.size;
  for (uint32_t i = 0; i < warnings->count; i++) size += warnings->list[i].kind.size;
  return size;
}

Status document_keep(Document *document, DocumentWarnings *warnings, const Memory *memory, Store *store,
                     Envelope **result) {
  size_t size = size_of_texts(document, warnings);
  bool shares = store != NULL && size > ENVELOPE_COPY_MAX;
  if (shares) size = 0;
  Envelope *envelope = memory_new(memory, sizeof *envelope + size);
  if (envelope == NULL) return STATUS_MEMORY;
  *envelope = (Envelope){.memory = *memory, .owners = 1, .size = size};
  *result = envelope;
  if (shares) {
    envelope->shared = store_share_bytes(store);
    return STATUS_OK;
  }
  for (unsigned member = 0; member < REQUEST_MEMBERS; member++) {
    JsonValue *value = &document->members[member];
    if (value->bytes != NULL) value->bytes = copy_of(document, envelope, value->bytes);
  }
  if (document->model.size > 0) document->model.bytes = copy_of(document, envelope, document->model.bytes);
  char *at = put_text(envelope->bytes, &document->before);
  at = put_text(at, &document->gap);
  at = put_text(at, &document->after);
  for (uint32_t i = 0; i < warnings->count; i++) at = put_text(at, &warnings->list[i].kind);
  assert(at == envelope->bytes + size);
  return STATUS_OK;
}

Envelope *envelope_share(Envelope *envelope) {
  assert(envelope == NULL || envelope->owners > 0);
  if (envelope != NULL) envelope->owners++;
  return envelope;
}

void envelope_release(Envelope *envelope) {
  if (envelope == NULL || --envelope->owners > 0) return;
  Memory memory = envelope->memory;
  arena_release(envelope->shared);
  memory_free(&memory, envelope, sizeof *envelope + envelope->size);
}
