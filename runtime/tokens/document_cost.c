/*
** The data of a part is a string of it; the form of the part does not matter:
**
**     {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0.."}}
**     {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0.."}}
**     {"inlineData":{"mimeType":"application/pdf","data":"JVBERi0.."}}
**
** The first bytes of a file tell what it is. It is decoded piece by piece, and only a PDF as a whole.
*/
#include "tokens/document_cost.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "base/names.h"
#include "codec/base64.h"
#include "codec/pdf_pages.h"

enum { DATA_MIN = 64 };      /* digits of data that is no PDF; shorter strings may be words */
enum { HEAD = 64 };          /* bytes that tell what a file is */
enum { PIECE = 3072 };       /* bytes that are decoded at once */

/* ---- the data ---- */

static Text skip_head_of_uri(Text data) {
  const char *comma = data.size > 5 && memcmp(data.bytes, "data:", 5) == 0 ? memchr(data.bytes, ',', data.size) : NULL;
  if (comma == NULL) return data;
  size_t head = (size_t)(comma - data.bytes) + 1;
  return text_plain(data.bytes + head, data.size - head);
}

/* Finds the data of a part: its string that begins as a PDF does, or its longest one, quotes and the head of a data
   URI left out; all of a text without quotes. */
static Text find_data(Text part) {
  static const char pdf[] = "JVBERi0";         /* %PDF- */
  Text longest = {0};
  const char *end = part.bytes + part.size, *at = part.bytes;
  bool is_inside = false;
  for (const char *quote; (quote = memchr(at, '"', (size_t)(end - at))) != NULL; at = quote + 1) {
    Text string = skip_head_of_uri(text_plain(at, (size_t)(quote - at)));
    if (is_inside && string.size >= sizeof pdf - 1 && memcmp(string.bytes, pdf, sizeof pdf - 1) == 0) return string;
    if (is_inside && string.size > longest.size) longest = string;
    is_inside = !is_inside;
  }
  return longest.size > 0 ? longest : skip_head_of_uri(part);
}

typedef struct Base64 {
  const char *at, *end;
  uint32_t bits;
  unsigned unread;           /* of the bits */
  bool failed;               /* a character that is no digit, line break or padding */
} Base64;

/* The next digit, or -1 at the end. Passes over line breaks, also where they are spelled \n, and over the \ of \/; a
   text of words has spaces. */
static int next_digit(Base64 *in) {
  while (in->at < in->end) {
    char c = *in->at++;
    int digit = c == '-' ? 62 : c == '_' ? 63 : base64_digit((unsigned char)c);
    if (digit >= 0) return digit;
    bool spells_blank = c == '\\' && in->at < in->end && strchr("nrt", *in->at);
    if (spells_blank) in->at++;
    else if (c != '\\' && !strchr("\n\r\t=", c)) in->failed = true;
    if (in->failed) return -1;
  }
  return -1;
}

/* Decodes up to `room` bytes; fewer at the end. */
static size_t decode(Base64 *in, char *out, size_t room) {
  size_t size = 0;
  while (size < room) {
    int digit = next_digit(in);
    if (digit < 0) break;
    in->bits = in->bits << 6 | (uint32_t)digit;
    in->unread += 6;
    if (in->unread < 8) continue;
    in->unread -= 8;
    out[size++] = (char)(in->bits >> in->unread & 0xFF);
  }
  return size;
}

/* ---- what a file costs ---- */

/* The bytes that begin a file; ? stands for any byte. A second of sound is 32 tokens, of a film 300: Google, "Audio
   understanding" and "Video understanding". Bytes a second are usual ones, as a header does not tell the length. */
static const struct Media {
  const char *begin;
  size_t size;
  uint32_t per_second, bytes_per_second;
} MEDIA[] = {
  {"RIFF????WAVE", 12, 32, 32000}, {"ID3", 3, 32, 16000}, {"\xff\xfb", 2, 32, 16000}, {"\xff\xf3", 2, 32, 16000},
  {"OggS", 4, 32, 6000}, {"fLaC", 4, 32, 60000}, {"????ftyp", 8, 300, 250000}, {"\x1a\x45\xdf\xa3", 4, 300, 250000},
};

static const struct Media *find_media(const char *head, size_t size) {
  for (size_t i = 0; i < COUNT_OF(MEDIA); i++) {
    size_t at = 0;
    while (at < MEDIA[i].size && at < size && (MEDIA[i].begin[at] == '?' || MEDIA[i].begin[at] == head[at])) at++;
    if (at == MEDIA[i].size) return &MEDIA[i];
  }
  return NULL;
}

static bool is_text(const char *head, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)head[i];
    if ((c < ' ' && (c < '\t' || c > '\r')) || c == 0x7F) return false;
  }
  return size > 0;
}

static uint64_t pdf_tokens(const char *head, size_t size, Base64 *rest) {
  PdfReader reader;
  char piece[PIECE];
  pdf_begin(&reader);
  for (pdf_add(&reader, head, size); (size = decode(rest, piece, PIECE)) > 0;) pdf_add(&reader, piece, size);
  return (uint64_t)pdf_pages(&reader) * PAGE_TOKENS;
}

/* Files of other formats, such as those of offices: by their size, as a PDF that tells no pages. */
static uint64_t tokens_by_size(uint64_t bytes) {
  enum { BYTES_OF_PAGE = 64 * 1024, PAGES_GUESSED = 100 };
  return max_u64(min_u64(bytes / BYTES_OF_PAGE, PAGES_GUESSED), 1) * PAGE_TOKENS;
}

bool document_tokens(Text part, uint64_t *tokens) {
  static const char pdf[] = "%PDF-";
  char head[HEAD];
  Text data = find_data(part);
  Base64 in = {.at = data.bytes, .end = data.bytes + data.size};
  size_t size = decode(&in, head, HEAD);
  bool is_pdf = size >= sizeof pdf - 1 && memcmp(head, pdf, sizeof pdf - 1) == 0;
  if (is_pdf) {
    *tokens = pdf_tokens(head, size, &in);
    return true;
  }
  if (in.failed || data.size < DATA_MIN) return false;
  uint64_t bytes = (uint64_t)data.size / 4 * 3;
  const struct Media *media = find_media(head, size);
  if (media != NULL) *tokens = max_u64(bytes / media->bytes_per_second, 1) * media->per_second;
  else if (is_text(head, size)) *tokens = max_u64(bytes / 4, 1);
  else *tokens = tokens_by_size(bytes);
  assert(*tokens > 0);
  return true;
}
