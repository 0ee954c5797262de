/*
** Salvage: a driver that reads what can be read of a damaged file of SQLite, without SQLite.
**
** It trusts no page and no list of cells: every place of every page is tried as the beginning of a row, and
** the row's checksum decides. Bodies are JSON, which has no bytes below 32, so that no message looks like a row.
** Commits that are in the log alone are read, too. Nothing is written.
**
** Pages of long rows form chains, and a crafted row may name any chain, so that each of many would follow all pages.
** Undamaged files need each page once, and rows of earlier commits a few times more. So CHAIN_PAGES times the pages of
** the file are followed in all; long rows after that are lost, as the tallies of their sessions tell.
**
**     file of SQLite     https://www.sqlite.org/fileformat2.html
**
** A session whose own row is lost is called "session N", after its number.
*/
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "os/os.h"
#include "storage/sqlite_data.h"

#define PAGE_USABLE STORE_PAGE
#define LOCAL_MOST (PAGE_USABLE - 35)
#define LOCAL_LEAST ((PAGE_USABLE - 12) * 32 / 255 - 23)
#define SESSION_COLUMNS 14
#define FILE_CAP ((size_t)1 << 46)
#define CHAIN_PAGES 64
#define CHAIN_PAGES_LEAST 16384      /* in all: 64 MiB */

typedef struct SalvagedRow {
  uint64_t session, key;     /* kind and number, as in the row's id */
  uint64_t at;               /* the place of its cell: page * STORE_PAGE + offset */
  uint64_t sum;              /* what it adds to the tally */
} SalvagedRow;

typedef struct SalvagedSession {
  SessionInfo info;
  size_t name;               /* where its name begins */
} SalvagedSession;

typedef struct Salvage {
  Storage base;
  Memory memory;
  char *path;
  FileMap file, log;
  const unsigned char **pages;      /* the newest bytes of each page; NULL: none */
  uint32_t page_count;
  uint64_t chain_pages;      /* that may still be followed while the file is scanned */
  SalvagedRow *rows;         /* by session and key */
  uint32_t row_count, row_room;
  SalvagedSession *sessions; /* as they were found */
  uint32_t session_count, session_room;
  Map by_id, by_name;        /* indices of sessions; by_name: of the first one with a name's hash, filled at the end */
  HashKey name_key;
  Buffer names, payload;
  unsigned char tail[STORE_PAGE];   /* the last page, if it is cut off; 0 behind its end */
} Salvage;

static Salvage *salvage_of(Storage *storage) { return (Salvage *)storage; }

/* ---- numbers ---- */

static uint32_t read_32(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Reads a varint; 0 bytes: it goes beyond the end. */
static int read_varint(const unsigned char *at, const unsigned char *end, uint64_t *number) {
  *number = 0;
  for (int i = 0; i < 9 && at + i < end; i++) {
    *number = i == 8 ? *number << 8 | at[i] : *number << 7 | (at[i] & 0x7f);
    if (i == 8 || at[i] < 0x80) return i + 1;
  }
  return 0;
}

/* The bytes of a value in a record, by its serial type; -1: ours have no such type. */
static int64_t size_of_type(uint64_t type) {
  static const int8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, -1, 0, 0, -1, -1};
  return type < 12 ? sizes[type] : (int64_t)((type - 12) / 2);
}

static int64_t read_integer(const unsigned char *at, uint64_t type) {
  int64_t size = size_of_type(type);
  if (type == 8 || type == 9) return (int64_t)type - 8;
  uint64_t number = size > 0 && at[0] >= 0x80 ? UINT64_MAX : 0;
  for (int64_t i = 0; i < size; i++) number = number << 8 | at[i];
  return (int64_t)number;
}

/* ---- cells ---- */

typedef struct Cell {
  uint64_t id, size;         /* of the payload */
  const unsigned char *local;
  uint64_t local_size;
  uint64_t types[SESSION_COLUMNS];
  int columns;
  uint64_t head;             /* bytes of the payload before the values */
} Cell;

/* Reads the head of a record. False: Ebb writes no such record. */
static bool read_head(Cell *cell, const unsigned char *end) {
  const unsigned char *at = cell->local;
  uint64_t head, total;
  int used = read_varint(at, end, &head);
  if (used == 0 || head < 4 || head > 64 || at + head > end || head > cell->size) return false;
  total = head;
  cell->head = head;
  for (const unsigned char *stop = at + head, *from = at + used; from < stop; cell->columns++) {
    if (cell->columns == SESSION_COLUMNS) return false;
    used = read_varint(from, stop, &cell->types[cell->columns]);
    int64_t size = used == 0 ? -1 : size_of_type(cell->types[cell->columns]);
    if (size < 0 || (uint64_t)size > cell->size - total) return false;      /* the sum never wraps */
    total += (uint64_t)size;
    from += used;
  }
  return total == cell->size && cell->types[0] == 0 && (cell->columns == 3 || cell->columns == SESSION_COLUMNS);
}

/* Reads the cell of a table's leaf. False: there is none. */
static bool read_cell(const unsigned char *page, uint32_t offset, Cell *cell) {
  const unsigned char *at = page + offset, *end = page + PAGE_USABLE;
  *cell = (Cell){0};
  int used = read_varint(at, end, &cell->size);
  if (used == 0 || cell->size < 8 || cell->size > INT32_MAX) return false;
  at += used;
  used = read_varint(at, end, &cell->id);
  if (used == 0 || cell->id == 0) return false;
  cell->local = at + used;
  cell->local_size = cell->size;
  if (cell->size > LOCAL_MOST) {
    uint64_t kept = LOCAL_LEAST + (cell->size - LOCAL_LEAST) % (PAGE_USABLE - 4);
    cell->local_size = kept <= LOCAL_MOST ? kept : LOCAL_LEAST;
  }
  uint64_t rest = cell->size > cell->local_size ? 4 : 0;
  return cell->local_size + rest <= (uint64_t)(end - cell->local) && read_head(cell, end);
}

/* Gathers the payload, also from overflow pages, in s->payload. ABSENT: some of it is lost, or `chain_pages`, which may
   be NULL, do not reach for it. */
static Status gather(Salvage *s, const Cell *cell, uint64_t *chain_pages) {
  uint64_t left = cell->size - cell->local_size;
  buffer_reset(&s->payload);
  if (left / STORE_PAGE > s->page_count) return STATUS_ABSENT;      /* more than the file has */
  Status status = buffer_add(&s->payload, (const char *)cell->local, cell->local_size);
  uint32_t next = left > 0 ? read_32(cell->local + cell->local_size) : 0;
  while (left > 0 && status == STATUS_OK) {
    const unsigned char *page = next >= 1 && next <= s->page_count ? s->pages[next - 1] : NULL;
    if (page == NULL || (chain_pages != NULL && *chain_pages == 0)) return STATUS_ABSENT;
    if (chain_pages != NULL) --*chain_pages;
    uint64_t size = left < PAGE_USABLE - 4 ? left : PAGE_USABLE - 4;
    status = buffer_add(&s->payload, (const char *)page + 4, size);
    left -= size;
    next = read_32(page);
  }
  return status;
}

/* ---- rows ---- */

/* The row in s->payload. The session in its id may be damaged: the checksum tells the right one. False: damaged. */
static bool read_row(const Salvage *s, const Cell *cell, uint64_t *session, StateRow *row, int64_t *sum) {
  uint64_t key = cell->id & ((UINT64_C(1) << ROW_SESSION_SHIFT) - 1);
  const char *values = s->payload.bytes + cell->head;
  int64_t sum_size = size_of_type(cell->types[1]);
  bool is_row = cell->types[1] < 12 && cell->types[2] >= 12 && cell->types[2] % 2 == 0;
  if (!is_row || key >> ROW_KIND_SHIFT >= STATE_ROW_KINDS) return false;
  *row = (StateRow){.kind = (StateRowKind)(key >> ROW_KIND_SHIFT),
                    .number = key & ROW_LAST_NUMBER,
                    .bytes = text_plain(values + sum_size, (size_t)size_of_type(cell->types[2]))};
  *sum = read_integer((const unsigned char *)values, cell->types[1]);
  uint64_t rest = (uint64_t)(*sum ^ storage_checksum(0, row));
  *session = rest >> STORAGE_SUM_SHIFT;
  return rest << (64 - STORAGE_SUM_SHIFT) == 0 && *session >= 1 && *session <= STORAGE_SESSIONS_MAX;
}

static Status keep_row(Salvage *s, const Cell *cell, uint64_t at) {
  StateRow row;
  uint64_t session;
  int64_t sum;
  if (!read_row(s, cell, &session, &row, &sum)) return STATUS_OK;
  SalvagedRow *grown = memory_grow(&s->memory, s->rows, &s->row_room, s->row_count, sizeof *s->rows);
  if (grown == NULL) return STATUS_MEMORY;
  s->rows = grown;
  s->rows[s->row_count++] = (SalvagedRow){session, (uint64_t)row.kind << ROW_KIND_SHIFT | row.number, at,
                                          (uint64_t)sum & STORAGE_TALLY_BITS};
  return STATUS_OK;
}

/* ---- sessions ---- */

static SalvagedSession *session_of(const Salvage *s, uint64_t id) {
  const uint64_t *index = map_find(&s->by_id, id);
  return index == NULL ? NULL : &s->sessions[*index];
}

/* Adds a session. Free room of a page may hold an older row of it, which the newest replaces. */
static Status add_session(Salvage *s, const SessionInfo *info) {
  SalvagedSession *known = session_of(s, info->id);
  if (known != NULL) {
    const SessionInfo *other = &known->info;
    bool older = info->version != other->version ? info->version < other->version : info->changed < other->changed;
    if (older) return STATUS_OK;
  } else {
    void *grown = memory_grow(&s->memory, s->sessions, &s->session_room, s->session_count, sizeof *s->sessions);
    if (grown == NULL) return STATUS_MEMORY;
    s->sessions = grown;
    if (map_put(&s->by_id, info->id, s->session_count) != STATUS_OK) return STATUS_MEMORY;
    known = &s->sessions[s->session_count++];
  }
  *known = (SalvagedSession){*info, s->names.size};
  return buffer_add(&s->names, info->name.bytes, info->name.size);
}

#define NAME_TYPE(bytes) (13 + 2 * (bytes))      /* the serial type of a text */

static Status keep_session(Salvage *s, const Cell *cell) {
  const char *at = s->payload.bytes + cell->head;
  int64_t numbers[SESSION_COLUMNS] = {(int64_t)cell->id};
  if (cell->types[1] < NAME_TYPE(1) || cell->types[1] > NAME_TYPE(STORAGE_NAME_MAX) || cell->types[1] % 2 == 0) {
    return STATUS_OK;
  }
  Text name = text_plain(at, (size_t)size_of_type(cell->types[1]));
  at += name.size;
  for (int i = 2; i < SESSION_COLUMNS; i++) {
    if (cell->types[i] >= 12) return STATUS_OK;
    numbers[i] = read_integer((const unsigned char *)at, cell->types[i]);
    at += size_of_type(cell->types[i]);
  }
  const uint64_t *n = (const uint64_t *)numbers;
  SessionInfo info = {.id = n[0], .name = name, .version = n[2], .messages = n[3], .tokens = n[4], .stored = n[5],
                      .batches = n[6], .created = numbers[7], .changed = numbers[8], .origin = n[9], .shared = n[10],
                      .tally = {n[11], n[12]}};
  return sqlite_session_checksum(&info) == numbers[13] ? add_session(s, &info) : STATUS_OK;
}

/* Adds sessions whose rows are there without their own one. */
static Status name_others(Salvage *s) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < s->row_count && status == STATUS_OK; i++) {
    uint64_t id = s->rows[i].session;
    char name[40];
    if ((i > 0 && s->rows[i - 1].session == id) || session_of(s, id) != NULL) continue;
    snprintf(name, sizeof name, "session %" PRIu64, id);
    SessionInfo info = {.id = id, .name = text_of(name), .version = 1};
    status = add_session(s, &info);
  }
  return status;
}

static SessionInfo info_at(const Salvage *s, uint32_t index) {
  SessionInfo info = s->sessions[index].info;
  info.name = text_plain(s->names.bytes + s->sessions[index].name, info.name.size);
  return info;
}

static Status index_names(Salvage *s) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < s->session_count && status == STATUS_OK; i++) {
    uint64_t hash = hash_text(info_at(s, i).name, &s->name_key);
    if (map_find(&s->by_name, hash) == NULL) status = map_put(&s->by_name, hash, i);
  }
  return status;
}

/* ---- scanning ---- */

static Status scan_page(Salvage *s, uint32_t page) {
  Status status = STATUS_OK;
  for (uint32_t offset = 0; offset < PAGE_USABLE && status == STATUS_OK; offset++) {
    Cell cell;
    uint64_t at = (uint64_t)page * STORE_PAGE + offset;
    if (!read_cell(s->pages[page], offset, &cell)) continue;
    status = gather(s, &cell, &s->chain_pages);
    if (status == STATUS_ABSENT) status = STATUS_OK;
    else if (status == STATUS_OK && cell.columns == 3) status = keep_row(s, &cell, at);
    else if (status == STATUS_OK) status = keep_session(s, &cell);
  }
  return status;
}

static int compare_rows(const void *left, const void *right) {
  const SalvagedRow *a = left, *b = right;
  if (a->session != b->session) return a->session < b->session ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

static void sort_rows(Salvage *s) {
  uint32_t count = 0;
  if (s->row_count > 1) qsort(s->rows, s->row_count, sizeof *s->rows, compare_rows);
  for (uint32_t i = 0; i < s->row_count; i++) {
    const SalvagedRow *last = count > 0 ? &s->rows[count - 1] : NULL;
    if (last != NULL && last->session == s->rows[i].session && last->key == s->rows[i].key) continue;
    s->rows[count++] = s->rows[i];
  }
  s->row_count = count;
}

/* ---- pages ---- */

/* Gives pages what the log's frames have for them, up to its last whole commit. A damaged frame ends the log. */
static void apply_log(Salvage *s) {
  const unsigned char *log = s->log.bytes;
  size_t frame = STORE_PAGE + 24, committed = 32;
  if (s->log.size < 32 || (read_32(log) | 1) != 0x377f0683 || read_32(log + 8) != STORE_PAGE) return;
  bool big = (read_32(log) & 1) != 0;
  uint32_t a = 0, b = 0;
  for (size_t at = 0; at == 0 || at + frame <= s->log.size; at += at == 0 ? 32 : frame) {
    const unsigned char *head = log + at, *sums = head + (at == 0 ? 24 : 16);
    if (at > 0 && memcmp(head + 8, log + 16, 8) != 0) break;
    for (size_t i = 0; i < (at == 0 ? 24 : frame); i += 8) {
      if (at > 0 && i == 8) i = 24;      /* salts and sums are not summed up */
      uint32_t x = read_32(head + i), y = read_32(head + i + 4);
      a += (big ? x : __builtin_bswap32(x)) + b;
      b += (big ? y : __builtin_bswap32(y)) + a;
    }
    if (read_32(sums) != a || read_32(sums + 4) != b) break;
    if (at > 0 && read_32(head + 4) != 0) committed = at + frame;
  }
  for (size_t at = 32; at + frame <= committed; at += frame) {
    uint32_t number = read_32(log + at);
    if (number >= 1 && number <= s->page_count) s->pages[number - 1] = log + at + 24;
  }
}

/* The number of pages in the file, and the highest one in the log, whose frames may add as many as they are. */
static uint32_t count_pages(const Salvage *s) {
  uint64_t count = (s->file.size + STORE_PAGE - 1) / STORE_PAGE, most = count + s->log.size / STORE_PAGE;
  const unsigned char *log = s->log.bytes;
  for (size_t at = 32; s->log.size >= STORE_PAGE + 24 && at <= s->log.size - STORE_PAGE - 24; at += STORE_PAGE + 24) {
    uint64_t number = read_32(log + at);
    if (number > count && number <= most) count = number;
  }
  return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static Status find_pages(Salvage *s) {
  s->page_count = count_pages(s);
  if (s->page_count == 0) return STATUS_OK;
  s->chain_pages = (uint64_t)s->page_count * CHAIN_PAGES + CHAIN_PAGES_LEAST;
  s->pages = memory_new_array(&s->memory, s->page_count, sizeof *s->pages);
  if (s->pages == NULL) return STATUS_MEMORY;
  for (uint32_t i = 0; i < s->page_count; i++) {
    bool inside = ((uint64_t)i + 1) * STORE_PAGE <= s->file.size;
    s->pages[i] = inside ? (const unsigned char *)s->file.bytes + (size_t)i * STORE_PAGE : NULL;
  }
  size_t rest = s->file.size % STORE_PAGE;
  if (rest > 0) {
    memcpy(s->tail, (const char *)s->file.bytes + s->file.size - rest, rest);
    s->pages[s->file.size / STORE_PAGE] = s->tail;
  }
  apply_log(s);
  return STATUS_OK;
}

/* ---- opening ---- */

static void close_salvage(Storage *storage) {
  Salvage *s = salvage_of(storage);
  Memory memory = s->memory;
  if (s->file.bytes != NULL) file_unmap(s->file.bytes, s->file.size);
  if (s->log.bytes != NULL) file_unmap(s->log.bytes, s->log.size);
  memory_free(&memory, s->pages, (size_t)s->page_count * sizeof *s->pages);
  memory_free(&memory, s->rows, s->row_room * sizeof *s->rows);
  memory_free(&memory, s->sessions, s->session_room * sizeof *s->sessions);
  map_free(&s->by_id);
  map_free(&s->by_name);
  buffer_free(&s->names);
  buffer_free(&s->payload);
  memory_free_string(&memory, s->path);
  memory_free(&memory, s, sizeof *s);
}

static Status map_files(Salvage *s, StorageError *error) {
  char name[4096];
  Status status = file_map(s->path, FILE_CAP, &s->file);
  if (status == STATUS_SHAPE) return storage_fail(error, status, "%s: it is empty, or not a file", s->path);
  if (status != STATUS_OK) return storage_fail(error, status, "%s: %s", s->path, strerror(errno));
  if (snprintf(name, sizeof name, "%s-wal", s->path) >= (int)sizeof name) return STATUS_OK;
  status = file_map(name, FILE_CAP, &s->log);
  return status == STATUS_MEMORY ? status : STATUS_OK;      /* no log, or an empty one */
}

static Status open_salvage(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  Salvage *s = memory_new(&config->memory, sizeof *s);
  if (s == NULL) return STATUS_MEMORY;
  *s = (Salvage){.base = {.driver = &STORAGE_SALVAGE}, .memory = config->memory,
                 .name_key = entropy_hash_key()};
  buffer_init(&s->names, s->memory);
  buffer_init(&s->payload, s->memory);
  map_init(&s->by_id, s->memory);
  map_init(&s->by_name, s->memory);
  s->path = memory_copy_string(&s->memory, place);
  Status status = s->path == NULL ? STATUS_MEMORY : map_files(s, error);
  if (status == STATUS_OK) status = find_pages(s);
  for (uint32_t page = 0; page < s->page_count && status == STATUS_OK; page++) {
    if (s->pages[page] != NULL) status = scan_page(s, page);
  }
  sort_rows(s);
  if (status == STATUS_OK) status = name_others(s);
  if (status == STATUS_OK) status = index_names(s);
  if (status == STATUS_OK) *storage = &s->base;
  else close_salvage(&s->base);
  return status;
}

/* ---- reading ---- */

static Status list(Storage *storage, SessionSink sink, StorageError *error) {
  const Salvage *s = salvage_of(storage);
  Status status = STATUS_OK;
  (void)error;
  for (uint32_t i = 0; i < s->session_count && status == STATUS_OK; i++) {
    SessionInfo info = info_at(s, i);
    status = sink.add(sink.user, &info);
  }
  return status;
}

static Status find(Storage *storage, Text name, SessionInfo *info, StorageError *error) {
  const Salvage *s = salvage_of(storage);
  const uint64_t *first = map_find(&s->by_name, hash_text(name, &s->name_key));
  for (uint32_t i = first == NULL ? s->session_count : (uint32_t)*first; i < s->session_count; i++) {
    *info = info_at(s, i);
    if (text_equal(info->name, name)) return STATUS_OK;
  }
  return storage_fail(error, STATUS_ABSENT, "%s: no such session", s->path);
}

/* The first row that is not before a session's key. */
static uint32_t seek(const Salvage *s, uint64_t session, uint64_t key) {
  uint32_t low = 0, high = s->row_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const SalvagedRow *row = &s->rows[middle];
    bool before = row->session < session || (row->session == session && row->key < key);
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}

static Status give_rows(Salvage *s, uint64_t session, StateRowKind kind, uint64_t first, uint64_t last,
                        StateRowSink sink) {
  uint64_t base = (uint64_t)kind << ROW_KIND_SHIFT;
  Status status = STATUS_OK;
  for (uint32_t i = seek(s, session, base | first); i < s->row_count && status == STATUS_OK; i++) {
    const SalvagedRow *at = &s->rows[i];
    if (at->session != session || at->key > (base | last)) break;
    Cell cell;
    StateRow row;
    uint64_t owner;
    int64_t sum;
    bool good = read_cell(s->pages[at->at / STORE_PAGE], (uint32_t)(at->at % STORE_PAGE), &cell);
    status = good ? gather(s, &cell, NULL) : STATUS_SHAPE;
    if (status == STATUS_OK && !read_row(s, &cell, &owner, &row, &sum)) status = STATUS_SHAPE;
    if (status == STATUS_OK) status = sink.put(sink.user, &row);
  }
  return status;
}

/* Rows of a kind, those of the origins first. */
static Status give_kind(Salvage *s, const SessionInfo *info, StateRowKind kind, uint64_t first, uint64_t last,
                        int depth, StateRowSink sink) {
  const SalvagedSession *origin = info->origin == 0 ? NULL : session_of(s, info->origin);
  bool shares = kind >= STATE_ROW_MESSAGE && kind <= STATE_ROW_ANSWERS && origin != NULL;
  uint64_t end = info->shared < last ? info->shared : last;
  Status status = STATUS_OK;
  if (shares && depth < STORAGE_ORIGINS_MAX) {
    status = give_kind(s, &origin->info, kind, first, end, depth + 1, sink);
  }
  if (shares && first <= end) first = end + 1;
  return status == STATUS_OK && first <= last ? give_rows(s, info->id, kind, first, last, sink) : status;
}

/* Whether all rows of a session and of its origins are there. */
static Status compare(const Salvage *s, const SessionInfo *info, StorageError *error) {
  for (int depth = 0; depth < STORAGE_ORIGINS_MAX; depth++) {
    RowTally actual = {0};
    for (uint32_t i = seek(s, info->id, 0); i < s->row_count && s->rows[i].session == info->id; i++) {
      actual.count++;
      actual.sum += s->rows[i].sum;
    }
    Status status = storage_compare_tally(s->path, info, actual, error);
    if (status != STATUS_OK || info->origin == 0) return status;
    const SalvagedSession *origin = session_of(s, info->origin);
    if (origin == NULL) break;
    info = &origin->info;
  }
  return storage_fail(error, STATUS_SHAPE, "%s: a branch lacks its origin", s->path);
}

static Status read_all(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error) {
  Salvage *s = salvage_of(storage);
  const SalvagedSession *it = session_of(s, session);
  if (it == NULL) return storage_fail(error, STATUS_ABSENT, "%s: no such session", s->path);
  *info = it->info;
  info->name = text_plain("", 0);
  Status status = compare(s, info, error);
  for (StateRowKind kind = 0; kind < STATE_ROW_KINDS && status == STATUS_OK; kind++) {
    status = give_kind(s, info, kind, 0, ROW_LAST_NUMBER, 0, sink);
  }
  return status;
}

typedef struct Looking {
  Salvage *s;
  const SessionInfo *info;
} Looking;

static Status read_looking(void *user, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink) {
  const Looking *looking = user;
  return give_kind(looking->s, looking->info, kind, first, last < ROW_LAST_NUMBER ? last : ROW_LAST_NUMBER, 0, sink);
}

static Status look_at(Storage *storage, uint64_t session, StorageLook look, StorageError *error) {
  Salvage *s = salvage_of(storage);
  const SalvagedSession *it = session_of(s, session);
  if (it == NULL) return storage_fail(error, STATUS_ABSENT, "%s: no such session", s->path);
  Looking looking = {.s = s, .info = &it->info};
  return look.run(look.user, &it->info, (StateRowSource){.read = read_looking, .user = &looking});
}

static void describe(const Storage *storage, char what[64], char warning[200]) {
  (void)storage;
  snprintf(what, 64, "a file of SQLite that is salvaged");
  warning[0] = '\0';
}

const StorageDriver STORAGE_SALVAGE = {      /* without `begin`: it is only read */
  .open = open_salvage, .close = close_salvage, .describe = describe, .list = list, .find = find, .read = read_all,
  .look = look_at,
};
