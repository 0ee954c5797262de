#include "json/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICE = 256, ESCAPED = 6 };      /* bytes that are escaped at a time, and what one may become */

void json_out_start(JsonOut *out, Sink sink) {
  out->sink = sink;
  out->status = STATUS_OK;
  out->used = 0;
}

static void flush(JsonOut *out) {
  if (out->status == STATUS_OK && out->used > 0) out->status = out->sink.write(out->sink.user, out->block, out->used);
  out->used = 0;
}

void json_out_bytes(JsonOut *out, const char *bytes, size_t size) {
  if (size == 0) return;
  if (size > sizeof out->block - out->used) flush(out);
  if (size > sizeof out->block) {
    if (out->status == STATUS_OK) out->status = out->sink.write(out->sink.user, bytes, size);
    return;
  }
  memcpy(out->block + out->used, bytes, size);
  out->used += size;
}

void json_out_word(JsonOut *out, const char *string) { json_out_bytes(out, string, strlen(string)); }

void json_out_integer(JsonOut *out, int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRId64, value);
  json_out_word(out, digits);
}

/* Bytes of the next slice, which ends behind a character where it can. */
static size_t slice_of(Text text) {
  if (text.size <= SLICE) return text.size;
  for (size_t size = SLICE; size > SLICE - 4; size--) {
    if (((unsigned char)text.bytes[size] & 0xc0) != 0x80) return size;
  }
  return SLICE;              /* not UTF-8 */
}

void json_out_text(JsonOut *out, Text text) {
  char room[SLICE * ESCAPED];
  json_out_word(out, "\"");
  if (text.escaped) json_out_bytes(out, text.bytes, text.size);
  while (!text.escaped && text.size > 0) {
    Buffer slice = {.bytes = room, .capacity = sizeof room};      /* never grows: it has no memory */
    size_t size = slice_of(text);
    Status status = text_escape(text_plain(text.bytes, size), &slice);
    if (out->status == STATUS_OK) out->status = status;
    json_out_bytes(out, slice.bytes, slice.size);
    text = text_plain(text.bytes + size, text.size - size);
  }
  json_out_word(out, "\"");
}

Status json_out_end(JsonOut *out) {
  flush(out);
  return out->status;
}
