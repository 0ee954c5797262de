/*
** How bytes are written down: base64, data URIs, and the digest that names them.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"
#include "codec/base64.h"
#include "codec/data_uri.h"
#include "codec/sha256.h"

void bind_push_digest(lua_State *L, const uint8_t digest[32]) {
  char hex[64];
  for (int i = 0; i < 32; i++) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  lua_pushlstring(L, hex, sizeof hex);
}

/* sha256(bytes) -> hexadecimal digits */
static int l_sha256(lua_State *L) {
  Text bytes = bind_text(L, 1);
  uint8_t digest[32];
  sha256(bytes.bytes, bytes.size, digest);
  bind_push_digest(L, digest);
  return 1;
}

/* Pushes what is in the buffer and gives its memory back at once. */
static void push_bytes(lua_State *L, Buffer *buffer) {
  lua_pushlstring(L, buffer->size == 0 ? "" : buffer->bytes, buffer->size);
  buffer_free(buffer);
}

static size_t cap_argument(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? DATA_URI_BYTES_MAX : (size_t)bind_integer(L, index, "cap", 0, INT64_MAX);
}

static int refuse_size(lua_State *L, size_t cap) {
  return bind_refuse(L, status_code(STATUS_LIMIT), lua_pushfstring(L, "more than %I bytes", (lua_Integer)cap));
}

static int refuse_syntax(lua_State *L, size_t offset, const char *expected) {
  const char *why = lua_pushfstring(L, "byte %I: expected %s", (lua_Integer)offset + 1, expected);
  return bind_refuse(L, status_code(STATUS_SYNTAX), why);
}

/* base64.encode(bytes) -> text */
static int l_encode(lua_State *L) {
  Text bytes = bind_text(L, 1);
  Buffer *out = bind_buffer(L);
  Status status = base64_encode(bytes.bytes, bytes.size, out);
  if (status != STATUS_OK) return bind_raise_status(L, status, "base64.encode");
  push_bytes(L, out);
  return 1;
}

/* base64.decode(text, cap) -> bytes | nil, error; cap: 20 MiB if not given */
static int l_decode(lua_State *L) {
  Text text = bind_text(L, 1);
  size_t cap = cap_argument(L, 2), offset = 0, size = base64_decoded_size(text.bytes, text.size);
  if (size > cap) return refuse_size(L, cap);
  Buffer *out = bind_buffer(L);
  if (buffer_reserve(out, size + 1) != STATUS_OK) return bind_raise_status(L, STATUS_MEMORY, "base64.decode");
  const char *expected = base64_decode(text.bytes, text.size, out->bytes, &offset);
  if (expected != NULL) return refuse_syntax(L, offset, expected);
  out->size = size;
  push_bytes(L, out);
  return 1;
}

/* data_uri(uri, cap) -> {media, parameters, bytes} | nil, error; cap as above */
static int l_data_uri(lua_State *L) {
  Text uri = bind_text(L, 1);
  size_t cap = cap_argument(L, 2);
  DataUri parts;
  DataUriError error = {0};
  Buffer *out = bind_buffer(L);
  Status status = data_uri_read(uri, &parts, &error);
  if (status == STATUS_OK) status = data_uri_decode(&parts, cap, out, &error);
  if (status == STATUS_LIMIT) return refuse_size(L, cap);
  if (status == STATUS_SYNTAX) return refuse_syntax(L, error.offset, error.expected);
  if (status != STATUS_OK) return bind_raise_status(L, status, "data_uri");
  lua_createtable(L, 0, 3);
  push_bytes(L, out);
  lua_setfield(L, -2, "bytes");
  bind_set_text(L, "media", parts.media);
  bind_set_text(L, "parameters", parts.parameters);
  return 1;
}

void bind_open_encoding(lua_State *L) {
  static const BindMethod functions[] = {
    {"data_uri", l_data_uri, "uri cap", CHARGE_TEXT},
    {"sha256", l_sha256, "bytes", CHARGE_TEXT},
    BIND_END,
  };
  static const BindMethod base64[] = {
    {"encode", l_encode, "bytes", CHARGE_TEXT},
    {"decode", l_decode, "text cap", CHARGE_TEXT},
    BIND_END,
  };
  bind_functions(L, "core", functions);
  lua_newtable(L);
  bind_functions(L, "core.base64", base64);
  lua_setfield(L, -2, "base64");
}
