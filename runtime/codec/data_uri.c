#include "codec/data_uri.h"

#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "base/minmax.h"
#include "codec/base64.h"

enum { HEAD_MAX = 1024 };    /* bytes before the comma; longer media types are refused */

static Status refuse(DataUriError *error, size_t offset, const char *expected) {
  *error = (DataUriError){.offset = offset, .expected = expected};
  return STATUS_SYNTAX;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

/* True if the bytes are the word, which is in lower case, in letters of any case. */
static bool is_word(const char *at, size_t size, const char *word) {
  if (size != strlen(word)) return false;
  for (size_t i = 0; i < size; i++) {
    if (lower(at[i]) != word[i]) return false;
  }
  return true;
}

bool data_uri_is(Text uri) { return uri.size >= 5 && is_word(uri.bytes, 5, "data:"); }

/* ---- before the comma ---- */

/* Characters of names of media types and parameters (RFC 6838). */
static bool is_name(char c) {
  if ((lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9')) return true;
  return c != '\0' && strchr("!#$&^_.+-", c) != NULL;
}

static size_t name_end(const char *bytes, size_t at, size_t end) {
  while (at < end && is_name(bytes[at])) at++;
  return at;
}

/* Reads "image/png", or nothing, and moves *at behind it. */
static Status read_media(Text uri, size_t end, size_t *at, DataUri *parts, DataUriError *error) {
  size_t start = *at, slash = name_end(uri.bytes, start, end);
  if (slash == start && (slash == end || uri.bytes[slash] == ';')) return STATUS_OK;
  if (slash == start || slash == end || uri.bytes[slash] != '/') {
    return refuse(error, slash, "a media type such as image/png");
  }
  *at = name_end(uri.bytes, slash + 1, end);
  if (*at == slash + 1) return refuse(error, *at, "a media type such as image/png");
  parts->media = text_plain(uri.bytes + start, *at - start);
  return STATUS_OK;
}

/* Reads any number of ";name=value", then ";base64" at most once. */
static Status read_parameters(Text uri, size_t end, size_t at, DataUri *parts, DataUriError *error) {
  size_t first = at;
  while (at < end) {
    if (uri.bytes[at] != ';') return refuse(error, at, "';' or ','");
    size_t start = at + 1, stop = start;
    while (stop < end && uri.bytes[stop] != ';') stop++;
    if (stop == end && is_word(uri.bytes + start, stop - start, "base64")) {
      parts->base64 = true;
      break;
    }
    size_t equals = name_end(uri.bytes, start, stop);
    if (equals == start || equals == stop || uri.bytes[equals] != '=') {
      return refuse(error, equals, "a parameter, name=value, or base64 before the comma");
    }
    at = stop;
  }
  parts->parameters = text_plain(uri.bytes + first, at - first);
  return STATUS_OK;
}

Status data_uri_read(Text uri, DataUri *parts, DataUriError *error) {
  assert(!uri.escaped);
  if (!data_uri_is(uri)) return refuse(error, 0, "data:");
  size_t at = 5, head = min_size(uri.size - at, HEAD_MAX);
  const char *comma = memchr(uri.bytes + at, ',', head);
  if (comma == NULL) return refuse(error, at + head, "a comma before the data");
  size_t end = (size_t)(comma - uri.bytes);
  DataUri result = {.start = end + 1, .data = text_plain(comma + 1, uri.size - end - 1)};
  Status status = read_media(uri, end, &at, &result, error);
  if (status == STATUS_OK) status = read_parameters(uri, end, at, &result, error);
  if (status == STATUS_OK) *parts = result;
  return status;
}

/* ---- behind the comma ---- */

/* Counts the bytes of percent-encoded data. STATUS_SYNTAX. */
static Status count_percent(const DataUri *parts, size_t *count, DataUriError *error) {
  const char *bytes = parts->data.bytes;
  size_t size = parts->data.size;
  *count = 0;
  for (size_t i = 0; i < size; i++, ++*count) {
    if (bytes[i] <= ' ' || bytes[i] >= 0x7F) return refuse(error, parts->start + i, "printable ASCII, others as %XX");
    if (bytes[i] != '%') continue;
    if (hex_read(bytes + i + 1, bytes + size, 2) < 0) {
      return refuse(error, parts->start + i, "% and two hexadecimal digits");
    }
    i += 2;
  }
  return STATUS_OK;
}

static void put_percent(Text data, char *to) {
  for (size_t i = 0; i < data.size; i++) {
    char c = data.bytes[i];
    if (c == '%') {
      c = (char)hex_read(data.bytes + i + 1, data.bytes + data.size, 2);
      i += 2;
    }
    *to++ = c;
  }
}

static Status decode_percent(const DataUri *parts, size_t cap, Buffer *out, DataUriError *error) {
  size_t count;
  if (parts->data.size / 3 > cap) return STATUS_LIMIT;
  Status status = count_percent(parts, &count, error);
  if (status == STATUS_OK && count > cap) status = STATUS_LIMIT;
  if (status == STATUS_OK && count > 0) status = buffer_reserve(out, count);
  if (status != STATUS_OK || count == 0) return status;
  put_percent(parts->data, out->bytes + out->size);
  out->size += count;
  return STATUS_OK;
}

static Status decode_base64(const DataUri *parts, size_t cap, Buffer *out, DataUriError *error) {
  size_t offset = 0, count = base64_decoded_size(parts->data.bytes, parts->data.size);
  if (count > cap) return STATUS_LIMIT;
  Status status = buffer_reserve(out, count + 1);   /* `bytes` is not NULL then, even for an empty text */
  if (status != STATUS_OK) return status;
  const char *expected = base64_decode(parts->data.bytes, parts->data.size, out->bytes + out->size, &offset);
  if (expected != NULL) return refuse(error, parts->start + offset, expected);
  out->size += count;
  return STATUS_OK;
}

Status data_uri_decode(const DataUri *parts, size_t cap, Buffer *out, DataUriError *error) {
  assert(parts->data.size == 0 || parts->data.bytes != NULL);
  return (parts->base64 ? decode_base64 : decode_percent)(parts, cap, out, error);
}
