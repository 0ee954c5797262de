/*
** PDF pages: the number of pages of a document, from the objects of its file.
**
** Nothing is unpacked: where a file keeps its objects compressed, and says the number of pages nowhere else, the number
** is judged by the size of the file.
*/
#ifndef EBB_CODEC_PDF_PAGES_H
#define EBB_CODEC_PDF_PAGES_H

#include "base/text.h"

#define PDF_PAGES_MOST 2000u      /* providers take 1,000 at most */

/* Reads a file piece by piece. */
typedef struct PdfReader {
  uint64_t size;             /* bytes so far */
  uint32_t pages;            /* objects that are a page */
  uint32_t count;            /* the largest count of a tree of pages */
  uint32_t linear;           /* what a file for the web says first; 0: nothing */
  uint32_t object_count;     /* of the current object: its /Count, and its /N */
  uint32_t object_number;
  bool is_tree, is_linear;   /* of the current object */
  char tail[32];             /* bytes that may begin a word that goes on */
  size_t tail_size;
} PdfReader;

void     pdf_begin(PdfReader *reader);
/* Adds the next bytes of the file. */
void     pdf_add(PdfReader *reader, const char *bytes, size_t size);
/* The number of pages, 1 to PDF_PAGES_MOST, once all bytes are added. */
uint32_t pdf_pages(PdfReader *reader);

#endif
