/*
** For tests of salvage: files of SQLite that are laid out by hand, page by page, with right checksums or wrong ones.
** Nothing here reads a row as the driver does.
*/
#ifndef EBB_TESTS_SALVAGE_KIT_H
#define EBB_TESTS_SALVAGE_KIT_H

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/sqlite_data.h"

#define KIT_LOCAL_MOST (STORE_PAGE - 35)
#define KIT_LOCAL_LEAST ((STORE_PAGE - 12) * 32 / 255 - 23)

typedef struct KitFile {
  unsigned char *bytes;
  uint32_t pages;            /* numbered from 1 */
} KitFile;

static inline void kit_put_32(unsigned char *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(number >> (24 - 8 * i));
}

static inline uint32_t kit_get_32(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline unsigned char *kit_page(const KitFile *file, uint32_t page) {
  assert(page >= 1 && page <= file->pages);
  return file->bytes + (size_t)(page - 1) * STORE_PAGE;
}

/* Writes a varint of SQLite; returns its bytes. */
static inline size_t kit_varint(unsigned char *at, uint64_t number) {
  unsigned char digits[9];
  size_t count = 0;
  if (number >> 56 != 0) {
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(0x80 | (number >> (57 - 7 * i) & 0x7f));
    at[8] = (unsigned char)number;
    return 9;
  }
  do digits[count++] = (unsigned char)(number & 0x7f); while ((number >>= 7) > 0);
  for (size_t i = 0; i < count; i++) at[i] = (unsigned char)(digits[count - 1 - i] | (i + 1 < count ? 0x80 : 0));
  return count;
}

/* Bytes of a payload that stay in the leaf. */
static inline size_t kit_local(size_t payload) {
  size_t kept = KIT_LOCAL_LEAST + (payload - KIT_LOCAL_LEAST) % (STORE_PAGE - 4);
  if (payload <= KIT_LOCAL_MOST) return payload;
  return kept <= KIT_LOCAL_MOST ? kept : KIT_LOCAL_LEAST;
}

/* What a payload has in its chain of overflow pages, which begin with the number of the next one. False: the chain
   leaves the file. */
static inline bool kit_follow(const KitFile *file, uint32_t first, unsigned char *to, size_t size) {
  for (uint32_t page = first; size > 0; page = kit_get_32(kit_page(file, page))) {
    size_t here = size < STORE_PAGE - 4 ? size : STORE_PAGE - 4;
    if (page < 1 || page > file->pages) return false;
    memcpy(to, kit_page(file, page) + 4, here);
    to += here;
    size -= here;
  }
  return true;
}

/* Writes the head of a cell and what of its payload stays in the leaf. Returns the bytes written, 0: no room. */
static inline size_t kit_cell(const KitFile *file, uint32_t page, uint32_t offset, uint64_t id,
                              const unsigned char *payload, size_t size, uint32_t chain) {
  unsigned char head[18];
  size_t used = kit_varint(head, size), local = kit_local(size);
  used += kit_varint(head + used, id);
  if (offset + used + local + 4 > STORE_PAGE) return 0;
  unsigned char *at = kit_page(file, page) + offset;
  memcpy(at, head, used);
  memcpy(at + used, payload, local);
  if (local < size) kit_put_32(at + used + local, chain);
  return used + local + (local < size ? 4 : 0);
}

static inline void kit_put_64(unsigned char *at, uint64_t number) {
  kit_put_32(at, (uint32_t)(number >> 32));
  kit_put_32(at + 4, (uint32_t)number);
}

/* Writes a row: in the leaf the first bytes of the given ones, in its chain what its pages have now. Returns the bytes
   written, 0: no room; *sum: what it adds to the tally of its session. */
static inline size_t kit_row(const KitFile *file, uint32_t page, uint32_t offset, uint64_t session, StateRow row,
                             uint32_t chain, uint64_t *sum) {
  size_t size = row.bytes.size, head = 3, total, local;
  unsigned char type[9];
  size_t wide = kit_varint(type, 12 + 2 * (uint64_t)size);
  head += wide;
  total = head + 8 + size;
  local = kit_local(total);
  unsigned char *payload = malloc(total);
  assert(payload != NULL);
  payload[0] = (unsigned char)head;
  payload[1] = 0;
  payload[2] = 6;
  memcpy(payload + 3, type, wide);
  memcpy(payload + head + 8, row.bytes.bytes, size);
  bool whole = local == total || kit_follow(file, chain, payload + local, total - local);
  row.bytes = text_plain((const char *)payload + head + 8, size);
  uint64_t checksum = (uint64_t)storage_checksum(session, &row);
  *sum = checksum & STORAGE_TALLY_BITS;
  kit_put_64(payload + head, checksum);
  uint64_t id = session << ROW_SESSION_SHIFT | (uint64_t)row.kind << ROW_KIND_SHIFT | row.number;
  size_t used = whole ? kit_cell(file, page, offset, id, payload, total, chain) : 0;
  free(payload);
  return used;
}

/* Writes the row of a session, with its checksum. Returns the bytes written, 0: no room. */
static inline size_t kit_session(const KitFile *file, uint32_t page, uint32_t offset, const SessionInfo *info) {
  enum { COLUMNS = 14 };
  unsigned char payload[40 + 8 * COLUMNS + STORAGE_NAME_MAX];
  uint64_t values[COLUMNS - 2] = {info->version, info->messages, info->tokens, info->stored, info->batches,
                                  (uint64_t)info->created, (uint64_t)info->changed, info->origin, info->shared,
                                  info->tally.count, info->tally.sum, (uint64_t)sqlite_session_checksum(info)};
  assert(info->name.size <= STORAGE_NAME_MAX);
  size_t used = 2 + kit_varint(payload + 2, 13 + 2 * (uint64_t)info->name.size);
  payload[1] = 0;
  for (int i = 0; i < COLUMNS - 2; i++) payload[used++] = 6;
  payload[0] = (unsigned char)used;
  memcpy(payload + used, info->name.bytes, info->name.size);
  used += info->name.size;
  for (int i = 0; i < COLUMNS - 2; i++, used += 8) kit_put_64(payload + used, values[i]);
  return kit_cell(file, page, offset, info->id, payload, used, 0);
}

/* Writes bytes to a new file. */
static inline void kit_write(const char *path, const void *bytes, size_t size) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert(descriptor >= 0);
  for (size_t at = 0; at < size;) {
    ssize_t done = write(descriptor, (const char *)bytes + at, size - at);
    assert(done > 0);
    at += (size_t)done;
  }
  close(descriptor);
}

#endif
