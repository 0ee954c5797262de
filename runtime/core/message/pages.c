#include "core/message/pages.h"

#include <string.h>

static size_t page_size(const Pages *pages) { return sizeof(Page) + PAGE_ELEMENTS * pages->element_size; }

void pages_init(Pages *pages, Memory memory, size_t element_size) {
  assert(element_size > 0 && element_size % 4 == 0);
  *pages = (Pages){.memory = memory, .element_size = element_size};
}

Status pages_share(const Pages *pages, Pages *copy) {
  pages_init(copy, pages->memory, pages->element_size);
  if (pages->room == 0) return STATUS_OK;
  copy->root = memory_new_array(&pages->memory, pages->room, sizeof *copy->root);
  if (copy->root == NULL) return STATUS_MEMORY;
  copy->room = pages->room;
  memcpy(copy->root, pages->root, pages->room * sizeof *copy->root);
  for (uint32_t i = 0; i < copy->room; i++) {
    if (copy->root[i] != NULL) copy->root[i]->owners++;
  }
  return STATUS_OK;
}

static void page_release(const Pages *pages, Page *page) {
  assert(page == NULL || page->owners > 0);
  if (page != NULL && --page->owners == 0) memory_free(&pages->memory, page, page_size(pages));
}

static void block_release(const Pages *pages, PageBlock *block) {
  assert(block == NULL || block->owners > 0);
  if (block == NULL || --block->owners > 0) return;
  for (uint32_t i = 0; i < BLOCK_PAGES; i++) page_release(pages, block->pages[i]);
  memory_free(&pages->memory, block, sizeof *block);
}

void pages_free(Pages *pages) {
  for (uint32_t i = 0; i < pages->room; i++) block_release(pages, pages->root[i]);
  memory_free(&pages->memory, pages->root, pages->room * sizeof *pages->root);
  pages->root = NULL;
  pages->room = 0;
}

/* Makes room for entry number `entry` of the root. */
static Status grow_root(Pages *pages, uint32_t entry) {
  if (entry < pages->room) return STATUS_OK;
  uint32_t room = pages->room * 2 > entry + 1 ? pages->room * 2 : entry + 1;
  void *root = memory_resize_array(&pages->memory, pages->root, pages->room, room, sizeof *pages->root);
  if (root == NULL) return STATUS_MEMORY;
  pages->root = root;
  memset(pages->root + pages->room, 0, (room - pages->room) * sizeof *pages->root);
  pages->room = room;
  return STATUS_OK;
}

/* Replaces a shared or missing block by one with a single owner. */
static Status own_block(Pages *pages, PageBlock **place) {
  PageBlock *shared = *place;
  if (shared != NULL && shared->owners == 1) return STATUS_OK;
  PageBlock *block = memory_new(&pages->memory, sizeof *block);
  if (block == NULL) return STATUS_MEMORY;
  if (shared == NULL) {
    memset(block, 0, sizeof *block);
  } else {
    *block = *shared;
    for (uint32_t i = 0; i < BLOCK_PAGES; i++) {
      if (block->pages[i] != NULL) block->pages[i]->owners++;
    }
    shared->owners--;
  }
  block->owners = 1;
  *place = block;
  return STATUS_OK;
}

/* The same for a page. */
static Status own_page(const Pages *pages, Page **place) {
  Page *shared = *place;
  if (shared != NULL && shared->owners == 1) return STATUS_OK;
  Page *page = memory_new(&pages->memory, page_size(pages));
  if (page == NULL) return STATUS_MEMORY;
  if (shared == NULL) {
    memset(page, 0, page_size(pages));
  } else {
    memcpy(page, shared, page_size(pages));
    shared->owners--;
  }
  page->owners = 1;
  *place = page;
  return STATUS_OK;
}

Status pages_own(Pages *pages, uint32_t index, void **element) {
  uint32_t entry = index >> (PAGE_BITS + BLOCK_BITS), slot = (index >> PAGE_BITS) & (BLOCK_PAGES - 1);
  Status status = grow_root(pages, entry);
  if (status == STATUS_OK) status = own_block(pages, &pages->root[entry]);
  if (status == STATUS_OK) status = own_page(pages, &pages->root[entry]->pages[slot]);
  if (status == STATUS_OK) *element = pages_at(pages, index);
  assert(status != STATUS_OK || *element != NULL);
  return status;
}

/* Leaves a shared block as it is: its other owners need the pages, and this array does not
   read elements from `count` on. */
void pages_cut(Pages *pages, uint32_t count) {
  uint32_t first = (count + PAGE_ELEMENTS - 1) >> PAGE_BITS;      /* the first page to free */
  for (uint32_t entry = first >> BLOCK_BITS; entry < pages->room; entry++) {
    PageBlock *block = pages->root[entry];
    uint32_t from = entry == first >> BLOCK_BITS ? first & (BLOCK_PAGES - 1) : 0;
    if (block == NULL) continue;
    if (from == 0) {
      block_release(pages, block);
      pages->root[entry] = NULL;
    } else if (block->owners == 1) {
      for (uint32_t i = from; i < BLOCK_PAGES; i++) {
        page_release(pages, block->pages[i]);
        block->pages[i] = NULL;
      }
    }
  }
}

uint32_t pages_next(const Pages *pages, uint32_t index) {
  uint32_t page = index >> PAGE_BITS, end = pages->room << BLOCK_BITS;
  if (pages_at(pages, index) != NULL) return index;
  while (page < end) {
    const PageBlock *block = pages->root[page >> BLOCK_BITS];
    if (block == NULL) page |= BLOCK_PAGES - 1;      /* the last page of the block */
    else if (block->pages[page & (BLOCK_PAGES - 1)] != NULL) return page << PAGE_BITS;
    page++;
  }
  return UINT32_MAX;
}

Status pages_clear(Pages *pages, uint32_t first, uint32_t end) {
  void *element;
  for (uint32_t i = pages_next(pages, first); i < end; i = pages_next(pages, i + 1)) {
    if (pages_own(pages, i, &element) != STATUS_OK) return STATUS_MEMORY;
    memset(element, 0, pages->element_size);
  }
  return STATUS_OK;
}
