/*
** The words that tell pages, each in an object of the file:
**
**     2 0 obj << /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >> endobj       a tree of pages: its root has the most
**     3 0 obj << /Type /Page /Parent 2 0 R .. >> endobj                    a page
**     1 0 obj << /Linearized 1 /L 9000 /N 2 .. >> endobj                   the first object of a file for the web
**
** An outline has a /Count, too, and is no tree of pages. Nothing has to be parsed: such words in the middle of a
** compressed stream are as unlikely as any other.
*/
#include "codec/pdf_pages.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"

enum { BYTES_OF_PAGE = 64 * 1024 };      /* of files that tell nothing; scans have more, texts fewer */
enum { PAGES_GUESSED = 100 };
enum { BYTES_OF_OBJECT = 32 };           /* a page has at least so many */

void pdf_begin(PdfReader *reader) { *reader = (PdfReader){0}; }

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\0'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* True for a character that ends a name. */
static bool ends_name(char c) { return is_blank(c) || (c != '\0' && strchr("/<>[](){}%", c) != NULL); }

/* Moves *at behind a name; false if another one stands there. */
static bool take_name(const char **at, const char *end, const char *name) {
  size_t size = strlen(name);
  if ((size_t)(end - *at) <= size || memcmp(*at, name, size) != 0 || !ends_name((*at)[size])) return false;
  *at += size;
  while (*at < end && is_blank(**at)) ++*at;
  return true;
}

static uint32_t read_number(const char *at, const char *end) {
  uint32_t number = 0;
  for (; at < end && is_digit(*at) && number < 100000000u; at++) number = number * 10 + (uint32_t)(*at - '0');
  return number;
}

/* Notes the name at `at`, a slash. */
static void read_name(PdfReader *reader, const char *at, const char *end) {
  if (take_name(&at, end, "/Type")) {
    if (take_name(&at, end, "/Page")) reader->pages++;
    else if (take_name(&at, end, "/Pages")) reader->is_tree = true;
  } else if (take_name(&at, end, "/Count")) {
    reader->object_count = read_number(at, end);
  } else if (take_name(&at, end, "/Linearized")) {
    reader->is_linear = true;
  } else if (take_name(&at, end, "/N")) {
    reader->object_number = read_number(at, end);
  }
}

static void end_object(PdfReader *reader) {
  if (reader->is_tree) reader->count = max_u32(reader->count, reader->object_count);
  if (reader->is_linear && reader->linear == 0) reader->linear = reader->object_number;
  reader->is_tree = reader->is_linear = false;
  reader->object_count = reader->object_number = 0;
}

/* Reads the words that begin in [bytes, until); they may end behind it, before `end`. */
static void read_words(PdfReader *reader, const char *bytes, const char *until, const char *end) {
  static const char word[] = "endobj";
  assert(until <= end);
  for (const char *at = bytes; at < until; at++) {
    if (*at == '/') read_name(reader, at, end);
    else if (*at == 'e' && (size_t)(end - at) >= sizeof word - 1 && memcmp(at, word, sizeof word - 1) == 0) {
      end_object(reader);
    }
  }
}

void pdf_add(PdfReader *reader, const char *bytes, size_t size) {
  enum { TAIL = sizeof reader->tail };
  char seam[2 * TAIL];
  size_t head = min_size(size, TAIL), before = reader->tail_size;
  reader->size += size;
  memcpy(seam, reader->tail, before);
  memcpy(seam + before, bytes, head);
  if (before + size <= TAIL) {                 /* all of it may still go on */
    memcpy(reader->tail, seam, before + size);
    reader->tail_size = before + size;
    return;
  }
  if (size < TAIL) {                           /* the new tail begins in the old one */
    size_t done = before + size - TAIL;
    read_words(reader, seam, seam + done, seam + before + size);
    memcpy(reader->tail, seam + done, TAIL);
  } else {
    read_words(reader, seam, seam + before, seam + before + head);
    read_words(reader, bytes, bytes + size - TAIL, bytes + size);
    memcpy(reader->tail, bytes + size - TAIL, TAIL);
  }
  reader->tail_size = TAIL;
}

uint32_t pdf_pages(PdfReader *reader) {
  read_words(reader, reader->tail, reader->tail + reader->tail_size, reader->tail + reader->tail_size);
  end_object(reader);
  reader->tail_size = 0;
  uint64_t pages = reader->count > 0 ? reader->count : reader->pages > 0 ? reader->pages : reader->linear;
  if (pages == 0) return (uint32_t)max_u64(min_u64(reader->size / BYTES_OF_PAGE, PAGES_GUESSED), 1);
  pages = min_u64(pages, max_u64(reader->size / BYTES_OF_OBJECT, 1));      /* what the file says need not be true */
  return (uint32_t)min_u64(pages, PDF_PAGES_MOST);
}
