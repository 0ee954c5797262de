#include "json/json_out.h"

#include <assert.h>
#include <string.h>

enum { SLICE = 256, ESCAPED = 6 };      /* bytes that are escaped at a time, and what one may become */

void json_out_start(JsonOut *out, Sink sink) {
  out->sink = sink;
  out->status = STATUS_OK;
  out->indent = out->depth = 0;
  out->follows = out->placed = false;
  out->used = 0;
}

/* ---- bytes ---- */

void json_out_flush(JsonOut *out) {
  if (out->status == STATUS_OK && out->used > 0) out->status = out->sink.write(out->sink.user, out->block, out->used);
  out->used = 0;
}

static void put(JsonOut *out, const char *bytes, size_t size) {
  if (size == 0) return;
  if (size > sizeof out->block - out->used) json_out_flush(out);
  if (size > sizeof out->block) {
    if (out->status == STATUS_OK) out->status = out->sink.write(out->sink.user, bytes, size);
    return;
  }
  memcpy(out->block + out->used, bytes, size);
  out->used += size;
  assert(out->used <= sizeof out->block);
}

static inline void put_byte(JsonOut *out, char byte) {
  if (out->used == sizeof out->block) json_out_flush(out);
  out->block[out->used++] = byte;
}

static void put_indent(JsonOut *out) {
  if (out->indent == 0) return;
  put_byte(out, '\n');
  for (uint32_t i = 0; i < out->indent * out->depth; i++) put_byte(out, ' ');
}

/* Writes the comma and the indent before the next value or name. */
static void put_between(JsonOut *out) {
  if (!out->placed) {
    if (out->follows && out->depth > 0) put_byte(out, ',');
    if (out->depth > 0) put_indent(out);
  }
  out->placed = false;
  out->follows = true;
}

/* ---- structure ---- */

void json_out_open(JsonOut *out, char bracket) {
  assert(bracket == '[' || bracket == '{');
  put_between(out);
  put_byte(out, bracket);
  out->depth++;
  out->follows = false;
}

void json_out_close(JsonOut *out, char bracket) {
  assert(bracket == ']' || bracket == '}');
  assert(out->depth > 0 && !out->placed);
  out->depth--;
  if (out->follows) put_indent(out);
  put_byte(out, bracket);
  out->follows = true;
}

void json_out_open_with(JsonOut *out, Text object) {
  assert(object.size >= 2 && object.bytes[0] == '{' && object.bytes[object.size - 1] == '}');
  put_between(out);
  put(out, object.bytes, object.size - 1);
  out->depth++;
  out->follows = object.size > 2;
}

void json_out_name_text(JsonOut *out, Text name) {
  assert(out->depth > 0);
  json_out_text(out, name);
  put(out, ": ", out->indent > 0 ? 2 : 1);
  out->placed = true;
}

void json_out_name(JsonOut *out, const char *name) { json_out_name_text(out, text_of(name)); }

void json_out_line(JsonOut *out) {
  assert(!out->placed);
  put_between(out);
  put_byte(out, '\n');
  out->placed = true;
}

Status json_out_end(JsonOut *out) {
  assert(out->depth == 0 || out->status != STATUS_OK);
  json_out_flush(out);
  return out->status;
}

/* ---- values ---- */

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
  put_between(out);
  put_byte(out, '"');
  if (text.escaped) put(out, text.bytes, text.size);
  while (!text.escaped && text.size > 0) {
    Buffer slice = {.bytes = room, .capacity = sizeof room};      /* never grows: it has no memory */
    size_t size = slice_of(text);
    Status status = text_escape(text_plain(text.bytes, size), &slice);
    if (out->status == STATUS_OK) out->status = status;
    put(out, slice.bytes, slice.size);
    text = text_plain(text.bytes + size, text.size - size);
  }
  put_byte(out, '"');
}

void json_out_string(JsonOut *out, const char *string) { json_out_text(out, text_of(string)); }

void json_out_integer(JsonOut *out, int64_t value) {
  char digits[20];
  size_t first = sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  put_between(out);
  if (value < 0) put_byte(out, '-');
  do digits[--first] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  put(out, digits + first, sizeof digits - first);
}

void json_out_raw(JsonOut *out, Text json) {
  assert(json.size > 0 && !json.escaped);
  put_between(out);
  put(out, json.bytes, json.size);
}
