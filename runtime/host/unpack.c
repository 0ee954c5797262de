/*
** Unpack: files that are compressed with gzip or zstd, through zlib and libzstd.
**
** Like libcurl, each library is loaded by the first file that needs it. The functions and structures below are of the
** binary interfaces libz.so.1 and libzstd.so.1; a build needs none of their headers.
**
** Both are asked for a piece at a time, so that what unfolds beyond the limit ends early, and Ctrl-C is seen. No error
** of Lua passes through their frames.
*/
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "bind/argument.h"
#include "host/host.h"
#include "os/os.h"

enum { PIECE_BYTES = 64 * 1024 };

/* zlib's z_stream. */
typedef struct Inflation {
  const unsigned char *next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *message;
  void *state, *allocate, *release, *opaque;
  int data_type;
  unsigned long adler, reserved;
} Inflation;

enum { Z_OK = 0, Z_STREAM_END = 1, Z_MEM_ERROR = -4, GZIP_ONLY = 15 + 16 };

static struct {
  int (*begin)(Inflation *stream, int window, const char *version, int size);
  int (*inflate)(Inflation *stream, int flush);
  int (*reset)(Inflation *stream);
  int (*end)(Inflation *stream);
} zlib;

typedef struct In { const void *bytes; size_t size, at; } In;     /* ZSTD_inBuffer */
typedef struct Out { void *bytes; size_t size, at; } Out;         /* ZSTD_outBuffer */

static struct {
  void *(*create)(void);
  size_t (*decompress)(void *stream, Out *out, In *in);
  unsigned (*is_error)(size_t code);
  const char *(*name)(size_t code);
  size_t (*release)(void *stream);
} zstd;

static bool load_zlib(void) {
  static const char *const names[] = {"libz.so.1", "libz.1.dylib", NULL};
  static const char *const functions[] = {"inflateInit2_", "inflate", "inflateReset", "inflateEnd", NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &zlib};
  return shared_library_load(&library, NULL);
}

static bool load_zstd(void) {
  static const char *const names[] = {"libzstd.so.1", "libzstd.1.dylib", NULL};
  static const char *const functions[] = {"ZSTD_createDStream", "ZSTD_decompressStream", "ZSTD_isError",
    "ZSTD_getErrorName", "ZSTD_freeDStream", NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &zstd};
  return shared_library_load(&library, NULL);
}

typedef struct Unpacking {
  const char *bytes;
  size_t size, limit;
  Buffer *text;
  const char *why;            /* NULL: all is well */
  const char *kind;           /* "absent", "limit", "broken", "memory"; "" after Ctrl-C */
} Unpacking;

static bool fail(Unpacking *u, const char *kind, const char *why) {
  u->kind = kind;
  u->why = why;
  return false;
}

/* Adds a piece; false ends the work. */
static bool keep(Unpacking *u, const char *piece, size_t size) {
  if (host_interrupted()) return fail(u, "", "interrupted");
  if (size > u->limit - u->text->size) return fail(u, "limit", "it is too long when it is unpacked");
  if (buffer_add(u->text, piece, size) != STATUS_OK) return fail(u, "memory", "not enough memory");
  return true;
}

/* A file may have several members, one behind the other. */
static void unpack_gzip(Unpacking *u) {
  char piece[PIECE_BYTES];
  Inflation stream = {.next_in = (const unsigned char *)u->bytes};
  if (!load_zlib()) { fail(u, "absent", "zlib is not installed (Debian: zlib1g)"); return; }
  if (zlib.begin(&stream, GZIP_ONLY, "1", (int)sizeof stream) != Z_OK) {
    fail(u, "memory", "not enough memory");
    return;
  }
  size_t left = u->size;
  for (bool goes_on = true; goes_on;) {
    if (stream.avail_in == 0) {
      stream.avail_in = left < INT_MAX ? (unsigned)left : INT_MAX;
      left -= stream.avail_in;
    }
    stream.next_out = (unsigned char *)piece;
    stream.avail_out = PIECE_BYTES;
    int code = zlib.inflate(&stream, 0);
    goes_on = keep(u, piece, PIECE_BYTES - stream.avail_out);
    if (!goes_on) break;
    if (code == Z_STREAM_END) {
      goes_on = stream.avail_in + left > 0;
      if (goes_on) zlib.reset(&stream);
    } else if (code != Z_OK) {
      goes_on = fail(u, code == Z_MEM_ERROR ? "memory" : "broken", stream.avail_in + left == 0 ? "it is cut"
        : "it is damaged");
    }
  }
  zlib.end(&stream);
}

static void unpack_zstd(Unpacking *u) {
  char piece[PIECE_BYTES];
  if (!load_zstd()) { fail(u, "absent", "libzstd is not installed (Debian: libzstd1)"); return; }
  void *stream = zstd.create();
  if (stream == NULL) { fail(u, "memory", "not enough memory"); return; }
  In in = {.bytes = u->bytes, .size = u->size};
  for (bool goes_on = true; goes_on;) {
    Out out = {.bytes = piece, .size = PIECE_BYTES};
    size_t code = zstd.decompress(stream, &out, &in);
    if (zstd.is_error(code)) {
      goes_on = fail(u, "broken", zstd.name(code));     /* a text that lives as long as the library */
    } else if (!keep(u, piece, out.at)) {
      goes_on = false;
    } else if (in.at == in.size && out.at < out.size) {
      goes_on = code == 0 ? false : fail(u, "broken", "it is cut");
    }
  }
  zstd.release(stream);
}

int host_unpack(lua_State *L) {
  Unpacking u = {.limit = (size_t)luaL_checkinteger(L, 2)};
  u.bytes = luaL_checklstring(L, 1, &u.size);
  u.text = bind_buffer(L);
  if (u.size >= 2 && memcmp(u.bytes, "\x1F\x8B", 2) == 0) unpack_gzip(&u);
  else if (u.size >= 4 && memcmp(u.bytes, "\x28\xB5\x2F\xFD", 4) == 0) unpack_zstd(&u);
  else fail(&u, "broken", "neither gzip nor zstd");
  if (u.why == NULL) {
    lua_pushlstring(L, u.text->bytes, u.text->size);
    return 1;
  }
  if (host_interrupted()) host_raise_interrupt(L);
  if (strcmp(u.kind, "memory") == 0) return luaL_error(L, "not enough memory");
  lua_pushnil(L);
  lua_pushstring(L, u.why);
  lua_pushstring(L, u.kind);
  return 3;
}
