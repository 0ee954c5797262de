/*
** Shared by the files of the reader: growing lists, and strings.
*/
#include "dialect/read/reader_parts.h"

void *reader_grow(const ReaderContext *context, void *list, uint32_t *room, uint32_t used, size_t size) {
  assert(used <= *room);
  void *grown = memory_grow(&context->reader->memory, list, room, used, size);
  if (grown == NULL) json_fail(context->json, STATUS_MEMORY, context->json->at, "memory");
  return grown;
}

bool reader_add_part(const ReaderContext *context, Part part) {
  Reader *reader = context->reader;
  Part *grown = reader_grow(context, reader->parts, &reader->part_room, reader->part_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->parts = grown;
  grown[reader->part_count++] = part;
  return true;
}

bool reader_add_result(const ReaderContext *context, Result result) {
  Reader *reader = context->reader;
  Result *grown = reader_grow(context, reader->results, &reader->result_room, reader->result_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->results = grown;
  grown[reader->result_count++] = result;
  return true;
}

bool reader_string(ReaderContext *context, Span *span, const char *expected) {
  JsonValue value;
  if (!json_value(context->json, &value)) return false;
  if (value.kind == JSON_NULL) return true;
  if (value.kind != JSON_STRING) return json_fail(context->json, STATUS_SHAPE, value.bytes, expected);
  *span = contents_span(context, &value);
  return true;
}
