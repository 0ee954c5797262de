/*
** Documents: the pages of PDFs, however they are written and cut into pieces, and what files and sounds cost.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "base/buffer.h"
#include "codec/base64.h"
#include "codec/pdf_pages.h"
#include "tokens/document_cost.h"

#define HEAD "%PDF-1.7\n"
#define PAGE(n) n " 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n"
#define PAGES_5 PAGE("3") PAGE("4") PAGE("5") PAGE("6") PAGE("7")

static const struct Document {
  const char *shows, *text;
  size_t more;               /* bytes of a stream behind it */
  uint32_t pages;
} documents[] = {
  {"a head alone", HEAD, 0, 1},
  {"one page", HEAD "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" PAGE("3"), 0, 1},
  {"one page and a large stream", HEAD "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" PAGE("3"), 300000, 1},
  {"five pages", HEAD "2 0 obj\n<< /Count 5\n/Type\n/Pages /Kids [3 0 R] >>\nendobj\n" PAGES_5, 0, 5},
  {"pages without a count", HEAD PAGES_5, 0, 5},
  {"a count without pages, which are compressed", HEAD "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 12>>endobj\n", 9000, 12},
  {"trees in a tree", HEAD "2 0 obj<</Type/Pages/Count 7>>endobj 8 0 obj<</Type/Pages/Count 3>>endobj "
                           "9 0 obj<</Type/Pages/Count 4>>endobj\n", 9000, 7},
  {"an outline has a count, too", HEAD "1 0 obj<</Type/Outlines/Count 90>>endobj\n" PAGE("3"), 9000, 1},
  {"a file for the web", HEAD "1 0 obj\n<</Linearized 1/L 90000/O 3/N 21/T 9>>\nendobj\n", 90000, 21},
  {"/N of another object", HEAD "1 0 obj<</Type/ObjStm/N 300/First 9>>endobj\n", 9000, 1},
  {"all compressed: by size", HEAD, 5 * 65536, 5},
  {"all compressed, by size, up to 100", HEAD, 40000000, 100},
  {"a count that is not true", HEAD "2 0 obj<</Type/Pages/Count 99999999>>endobj\n", 0, 1},
  {"the most pages", HEAD "2 0 obj<</Type/Pages/Count 99999999>>endobj\n", 9000000, PDF_PAGES_MOST},
  {"names that begin alike", HEAD "2 0 obj<</Type/PageLabel/Counts 8/Type/PagesX>>endobj\n" PAGE("3") PAGE("4"), 9000,
   2},
};

#define DOCUMENTS (sizeof documents / sizeof *documents)

static char *write_document(const struct Document *document, size_t *size) {
  size_t head = strlen(document->text);
  char *bytes = malloc(head + document->more + 1);
  assert_non_null(bytes);
  memcpy(bytes, document->text, head);
  memset(bytes + head, 'x', document->more);
  *size = head + document->more;
  return bytes;
}

static void pages_are_counted_in_any_pieces(void **state) {
  (void)state;
  static const size_t pieces[] = {SIZE_MAX, 3072, 100, 33, 32, 31, 7, 1};
  for (size_t i = 0; i < DOCUMENTS; i++) {
    size_t size;
    char *bytes = write_document(&documents[i], &size);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
      PdfReader reader;
      if (pieces[k] < 1000 && size > 100000) continue;
      pdf_begin(&reader);
      for (size_t at = 0; at < size;) {
        size_t piece = size - at < pieces[k] ? size - at : pieces[k];
        char *copy = malloc(piece);           /* nothing is read beyond it */
        assert_non_null(copy);
        memcpy(copy, bytes + at, piece);
        pdf_add(&reader, copy, piece);
        free(copy);
        at += piece;
      }
      uint32_t pages = pdf_pages(&reader);
      if (pages != documents[i].pages) fail_msg("%s, %zu: %u pages", documents[i].shows, pieces[k], (unsigned)pages);
    }
    free(bytes);
  }
}

/* The tokens of bytes in a part, between these texts; 0: the part has no data. */
static uint64_t tokens_of(const char *before, const char *bytes, size_t size, const char *after) {
  Buffer part;
  uint64_t tokens = 0;
  buffer_init(&part, memory_system());
  assert_int_equal(buffer_add_string(&part, before), STATUS_OK);
  assert_int_equal(base64_encode(bytes, size, &part), STATUS_OK);
  assert_int_equal(buffer_add_string(&part, after), STATUS_OK);
  bool found = document_tokens(text_plain(part.bytes, part.size), &tokens);
  buffer_free(&part);
  return found ? tokens : 0;
}

static void a_document_costs_its_pages_in_each_form(void **state) {
  (void)state;
  static const struct {
    const char *before, *after;
  } forms[] = {
    {"", ""}, {"data:application/pdf;base64,", ""},
    {"{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\",\"data\":\"", "\"}}"},
    {"{\"type\":\"file\",\"file\":{\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,", "\"}}"},
    {"{\"file_data\":\"data:application/pdf;base64,", "\",\"filename\":\"b.pdf\",\"type\":\"input_file\"}"},
    {"{\"inlineData\":{\"mimeType\":\"application/pdf\",\"data\":\"", "\"}}"},
  };
  for (size_t i = 0; i < DOCUMENTS; i++) {
    size_t size;
    char *bytes = write_document(&documents[i], &size);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
      assert_int_equal(tokens_of(forms[k].before, bytes, size, forms[k].after),
                       (uint64_t)documents[i].pages * PAGE_TOKENS);
    }
    free(bytes);
  }
}

static void other_files_cost_what_they_are(void **state) {
  (void)state;
  static char bytes[1 << 20];
  static const struct {
    const char *head;
    size_t head_size;
    char rest;
    size_t size;
    uint64_t tokens;
  } rows[] = {
    {"", 0, 'a', 4000, 1000},                                /* a text */
    {"ID3\4\0", 5, 1, 960000, 60 * 32},                      /* a minute of sound */
    {"RIFF1234WAVEfmt ", 16, 2, 320000, 10 * 32},
    {"\0\0\0\x18" "ftypmp42", 12, 1, 1000000, 4 * 300},      /* a film */
    {"PK\3\4", 4, 1, 30000, PAGE_TOKENS},                    /* a document of an office */
    {"PK\3\4", 4, 1, 3 * 65536, 3 * PAGE_TOKENS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memset(bytes, rows[i].rest, rows[i].size);
    memcpy(bytes, rows[i].head, rows[i].head_size);
    assert_int_equal(tokens_of("{\"data\":\"", bytes, rows[i].size, "\",\"x\":1}"), rows[i].tokens);
  }
}

static void parts_without_data_have_none(void **state) {
  (void)state;
  static const char *const rows[] = {
    "", "{}", "{\"type\":\"file\",\"file\":{\"file_id\":\"file-abc\"}}",
    "{\"type\":\"document\",\"source\":{\"type\":\"url\",\"url\":\"https://example.org/a/long/way/to/a/document.pdf\"}}",
    "{\"data\":\"The inn has rooms for guests and a cellar below the hall where the casks lie side by side in rows\"}",
    "gs://bucket/some/long/path/to/a/document/of/many/pages/that/nobody/has/read/yet.pdf",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t tokens;
    if (document_tokens(text_of(rows[i]), &tokens)) fail_msg("%s", rows[i]);
  }
}

static void base64_is_read_as_it_is_spelled(void **state) {
  (void)state;
  static const char *const rows[] = {
    "JVBERi0xLjcK", "JVBERi0xLjcK\\nJVBERi0x", "JVBERi0xLjc\\/", "JVBERi0x\nLjcK",
    "data:application\\/pdf;base64,JVBERi0xLjcK",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t tokens = 0;
    assert_true(document_tokens(text_of(rows[i]), &tokens));
    assert_int_equal(tokens, PAGE_TOKENS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(pages_are_counted_in_any_pieces),
    cmocka_unit_test(a_document_costs_its_pages_in_each_form),
    cmocka_unit_test(other_files_cost_what_they_are),
    cmocka_unit_test(parts_without_data_have_none),
    cmocka_unit_test(base64_is_read_as_it_is_spelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
