/*
** Pages: an array that grows at its end. Its copies share all equal pages.
**
**     array  [ root ]              copy  [ root ]
**              |   \                      /   |
**          [ block ] [ block ]    (shared)  [ block ]     128 pages each
**                        |                      |
**                     [ page ]               [ page ]     32 elements each
**
** A copy costs a new root: one pointer per 4096 elements. Blocks and pages have owner
** counts; one with two owners is copied before a write. Pages that were never written
** do not exist; their elements read as NULL.
**
** Invariant: a page with one owner in a block with one owner is written in place, so
** addresses of elements are stable until the array is copied.
*/
#ifndef EBB_CORE_PAGES_H
#define EBB_CORE_PAGES_H

#include <assert.h>

#include "base/memory.h"
#include "base/status.h"

enum { PAGE_BITS = 5, PAGE_ELEMENTS = 1 << PAGE_BITS, BLOCK_BITS = 7, BLOCK_PAGES = 1 << BLOCK_BITS };

typedef struct Page {
  uint32_t owners;
  _Alignas(8) unsigned char bytes[];   /* PAGE_ELEMENTS elements */
} Page;

typedef struct PageBlock {
  uint32_t owners;
  Page *pages[BLOCK_PAGES];            /* NULL: never written */
} PageBlock;

typedef struct Pages {
  Memory memory;
  size_t element_size;                 /* bytes of an element, a multiple of 4 */
  PageBlock **root;                    /* entries may be NULL */
  uint32_t room;                       /* entries of the root */
} Pages;

void   pages_init(Pages *pages, Memory memory, size_t element_size);     /* empty; allocates nothing */
/* A copy that shares all pages; O(elements / 4096). STATUS_MEMORY. */
Status pages_share(const Pages *pages, Pages *copy);
void   pages_free(Pages *pages);

/* Gives the element at `index` for writing; its page then belongs to this array alone. A new
   page is all zero. STATUS_MEMORY; cannot fail after a success for the same page, until
   the array is copied. */
Status pages_own(Pages *pages, uint32_t index, void **element);

/* Frees the pages whose elements all have an index >= count. */
void   pages_cut(Pages *pages, uint32_t count);

/* The first index from `index` on whose page was written, or UINT32_MAX. O(1) for each 4096 elements skipped. */
uint32_t pages_next(const Pages *pages, uint32_t index);
/* Makes the elements first .. end - 1 zero, or leaves them in pages that were never written. STATUS_MEMORY. */
Status pages_clear(Pages *pages, uint32_t first, uint32_t end);

/* The element at `index`, or NULL if its page was never written. */
static inline void *pages_at(const Pages *pages, uint32_t index) {
  uint32_t entry = index >> (PAGE_BITS + BLOCK_BITS);
  if (entry >= pages->room || pages->root[entry] == NULL) return NULL;
  Page *page = pages->root[entry]->pages[(index >> PAGE_BITS) & (BLOCK_PAGES - 1)];
  return page == NULL ? NULL : page->bytes + (index & (PAGE_ELEMENTS - 1)) * pages->element_size;
}

#endif
