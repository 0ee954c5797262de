#include "codec/image_header.h"

#include <assert.h>
#include <string.h>

#include "codec/base64.h"

/* A stream of a file's bytes, out of base64 or plain. A failure sticks, so that callers
   need to check only once, at the end. */
typedef struct Bytes {
  Text rest;                 /* not read yet */
  Text run;                  /* plain bytes removed from `rest` */
  char scratch[4];
  bool base64, failed;
  uint32_t bits;             /* decoded; the lowest `unread` of them were not returned yet */
  unsigned unread;
} Bytes;

/* ---- base64 ---- */

/* The value of a digit, 0 to 63, or -1. Accepts the URL-safe alphabet too. */
static int value_of(unsigned char c) { return c == '-' ? 62 : c == '_' ? 63 : base64_digit(c); }

static bool next_plain(Bytes *in, unsigned char *c) {
  while (in->run.size == 0) {
    if (!text_run(&in->rest, in->scratch, &in->run)) return false;
  }
  *c = (unsigned char)*in->run.bytes;
  in->run.bytes++;
  in->run.size--;
  return true;
}

static bool is_blank(unsigned char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Decodes six more bits; padding is the end of the file. */
static bool take_digit(Bytes *in) {
  unsigned char c;
  do {
    if (!next_plain(in, &c)) return false;
  } while (is_blank(c));
  int value = value_of(c);
  if (value < 0) return false;
  in->bits = in->bits << 6 | (uint32_t)value;
  in->unread += 6;
  return true;
}

/* ---- reading ---- */

static uint32_t next_byte(Bytes *in) {
  unsigned char c = 0;
  if (!in->base64) {
    in->failed = in->failed || !next_plain(in, &c);
    return in->failed ? 0 : c;
  }
  while (in->unread < 8 && !in->failed) in->failed = !take_digit(in);
  if (in->failed) return 0;
  in->unread -= 8;
  return in->bits >> in->unread & 0xFF;
}

static uint32_t next_big(Bytes *in, unsigned count) {
  assert(count > 0 && count <= 4);
  uint32_t value = 0;
  while (count-- > 0) value = value << 8 | next_byte(in);
  return value;
}

static uint32_t next_little(Bytes *in, unsigned count) {
  assert(count > 0 && count <= 4);
  uint32_t value = 0;
  for (unsigned i = 0; i < count; i++) value |= next_byte(in) << (8 * i);
  return value;
}

static void skip(Bytes *in, uint32_t count) {
  while (count-- > 0 && !in->failed) next_byte(in);
}

static bool expect(Bytes *in, const char *bytes, size_t count) {
  bool same = true;
  for (size_t i = 0; i < count; i++) same &= next_byte(in) == (unsigned char)bytes[i];
  return same && !in->failed;
}

/* ---- formats: each is read from behind the bytes that identified it ---- */

/* 89 'P' | "NG" CR LF 1A LF, then the chunk IHDR: length, name, width, height. */
static bool read_png(Bytes *in, ImageSize *size) {
  if (!expect(in, "NG\r\n\x1a\n\0\0\0\x0dIHDR", 14)) return false;
  size->width = next_big(in, 4);
  size->height = next_big(in, 4);
  return true;
}

/* 'G' 'I' | "F87a" or "F89a", width, height. */
static bool read_gif(Bytes *in, ImageSize *size) {
  if (!expect(in, "F8", 2)) return false;
  uint32_t version = next_byte(in);
  if ((version != '7' && version != '9') || !expect(in, "a", 1)) return false;
  size->width = next_little(in, 2);
  size->height = next_little(in, 2);
  return true;
}

/* True for a start of frame of any coding process; C4, C8 and CC are other segments. */
static bool is_frame(uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/* FF D8 | segments: FF, marker, length (its own two bytes included), contents.
   A frame has: precision, height, width. The picture itself begins behind DA. */
static bool read_jpeg(Bytes *in, ImageSize *size) {
  while (!in->failed) {
    if (next_byte(in) != 0xFF) return false;
    uint32_t marker = 0xFF;
    while (marker == 0xFF && !in->failed) marker = next_byte(in);      /* fill bytes */
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;
    if (marker == 0 || marker == 0xD9 || marker == 0xDA) return false;
    uint32_t length = next_big(in, 2);
    if (length < 2) return false;
    if (is_frame(marker)) {
      skip(in, 1);
      size->height = next_big(in, 2);
      size->width = next_big(in, 2);
      return true;
    }
    skip(in, length - 2);
  }
  return false;
}

/* Lossy: a frame tag, a start code, 14 bits each. */
static bool read_vp8(Bytes *in, ImageSize *size) {
  skip(in, 3);
  if (!expect(in, "\x9d\x01\x2a", 3)) return false;
  size->width = next_little(in, 2) & 0x3FFF;
  size->height = next_little(in, 2) & 0x3FFF;
  return true;
}

/* Lossless: a signature, then 14 bits each, less one. */
static bool read_vp8l(Bytes *in, ImageSize *size) {
  if (!expect(in, "\x2f", 1)) return false;
  uint32_t bits = next_little(in, 4);
  size->width = (bits & 0x3FFF) + 1;
  size->height = (bits >> 14 & 0x3FFF) + 1;
  return true;
}

/* Extended: flags, then the canvas, 24 bits each, less one. */
static bool read_vp8x(Bytes *in, ImageSize *size) {
  skip(in, 4);
  size->width = next_little(in, 3) + 1;
  size->height = next_little(in, 3) + 1;
  return true;
}

/* 'R' 'I' | "FF", size, "WEBP", then the first chunk: name, size, contents. */
static bool read_webp(Bytes *in, ImageSize *size) {
  if (!expect(in, "FF", 2)) return false;
  skip(in, 4);
  if (!expect(in, "WEBPVP8", 7)) return false;
  uint32_t kind = next_byte(in);
  skip(in, 4);
  if (kind == ' ') return read_vp8(in, size);
  if (kind == 'L') return read_vp8l(in, size);
  return kind == 'X' && read_vp8x(in, size);
}

static bool read_any(Bytes *in, ImageSize *size) {
  switch (next_big(in, 2)) {
  case 0x8950: return read_png(in, size);
  case 'G' << 8 | 'I': return read_gif(in, size);
  case 'R' << 8 | 'I': return read_webp(in, size);
  case 0xFFD8: return read_jpeg(in, size);
  default: return false;
  }
}

static bool read_size(Bytes *in, ImageSize *size) {
  ImageSize result = {0, 0};
  if (!read_any(in, &result) || in->failed) return false;
  if (result.width == 0 || result.height == 0) return false;
  if (result.width > IMAGE_SIDE_MAX || result.height > IMAGE_SIDE_MAX) return false;
  *size = result;
  return true;
}

/* ---- sources ---- */

enum { HEAD_MAX = 200 };     /* of a data URI, before its comma */

/* Skips the media type and ";base64," behind "data:". */
static bool skip_head(Bytes *in) {
  static const char tail[] = ";base64";
  char last[sizeof tail - 1] = {0};
  for (unsigned i = 0; i < HEAD_MAX; i++) {
    unsigned char c;
    if (!next_plain(in, &c)) return false;
    if (c == ',') return memcmp(last, tail, sizeof last) == 0;
    memmove(last, last + 1, sizeof last - 1);
    last[sizeof last - 1] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  return false;
}

/* Begins to read a source: a data URI in base64, or plain base64. */
static bool open_source(Text source, Bytes *in) {
  *in = (Bytes){.rest = source, .base64 = true};
  if (!text_starts_with(source, text_of("data:"))) return true;
  unsigned char c;
  for (unsigned i = 0; i < 5; i++) next_plain(in, &c);
  return skip_head(in);
}

bool image_size(Text source, ImageSize *size) {
  Bytes in;
  if (source.size > HEAD_MAX + IMAGE_BYTES_MAX / 3 * 4 + 4) return false;
  return open_source(source, &in) && read_size(&in, size);
}

/* ---- types ---- */

enum { TYPE_BYTES = 12 };    /* as many tell every type */

/* ? stands for any byte. */
static const struct {
  const char *begin;
  size_t size;
  const char *type;
} TYPES[] = {
  {"\x89PNG\r\n\x1a\n", 8, "image/png"},   {"\xff\xd8\xff", 3, "image/jpeg"},
  {"GIF87a", 6, "image/gif"},              {"GIF89a", 6, "image/gif"},
  {"RIFF????WEBP", 12, "image/webp"},      {"BM????\0\0\0\0", 10, "image/bmp"},
  {"II*\0", 4, "image/tiff"},              {"MM\0*", 4, "image/tiff"},
  {"????ftypheic", 12, "image/heic"},      {"????ftypheix", 12, "image/heic"},
  {"????ftyphevc", 12, "image/heic"},      {"????ftypmif1", 12, "image/heic"},
  {"????ftypavif", 12, "image/avif"},
};

const char *image_type(Text source) {
  Bytes in;
  char head[TYPE_BYTES];
  size_t size = 0;
  if (!open_source(source, &in)) return NULL;
  for (; size < TYPE_BYTES; size++) {
    uint32_t byte = next_byte(&in);
    if (in.failed) break;
    head[size] = (char)byte;
  }
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    size_t at = 0;
    if (TYPES[i].size > size) continue;
    while (at < TYPES[i].size && (TYPES[i].begin[at] == '?' || TYPES[i].begin[at] == head[at])) at++;
    if (at == TYPES[i].size) return TYPES[i].type;
  }
  return NULL;
}

bool image_size_of_bytes(const char *bytes, size_t size, ImageSize *pixels) {
  Bytes in = {.rest = text_plain(bytes, size)};
  return size <= IMAGE_BYTES_MAX && read_size(&in, pixels);
}
