#include "state/journal.h"

#include <assert.h>
#include <string.h>

#include "codec/xxh64.h"
#include "state/state_rows.h"

enum { MAGIC_SIZE = 4, CHECKED = 8, HEAD_SIZE = JOURNAL_EMPTY };

#define MAGIC "EBJ1"
#define WHOLE (UINT64_C(1) << 63)

/* ---- numbers ---- */

static void put_fixed(char *bytes, uint64_t value, int size) {
  for (int i = 0; i < size; i++) bytes[i] = (char)(value >> 8 * i);
}

static uint64_t get_fixed(const char *bytes, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++) value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
  return value;
}

static Status add_varint(Buffer *out, uint64_t value) {
  Status status = STATUS_OK;
  for (; value > 0x7f && status == STATUS_OK; value >>= 7) status = buffer_add_byte(out, (char)(value | 0x80));
  return status == STATUS_OK ? buffer_add_byte(out, (char)value) : status;
}

static bool get_varint(Text *rest, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0; shift < 63 && rest->size > 0; shift += 7) {
    unsigned char byte = (unsigned char)*rest->bytes;
    *rest = text_plain(rest->bytes + 1, rest->size - 1);
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/* ---- a record's head ---- */

static uint64_t sum_of(uint64_t before, uint64_t size, Text rows) {
  char numbers[16];
  Xxh64 hash;
  put_fixed(numbers, size & WHOLE ? 0 : before, 8);
  put_fixed(numbers + 8, size, 8);
  xxh64_start(&hash);
  xxh64_add(&hash, numbers, sizeof numbers);
  xxh64_add(&hash, rows.bytes, rows.size);
  return xxh64_end(&hash);
}

static uint32_t check_of(const char *head) { return (uint32_t)xxh64(head + CHECKED, HEAD_SIZE - CHECKED); }

static void put_head(char *head, uint64_t size, uint64_t sum) {
  memcpy(head, MAGIC, MAGIC_SIZE);
  put_fixed(head + 8, size, 8);
  put_fixed(head + 16, sum, 8);
  put_fixed(head + 4, check_of(head), 4);
}

/* ---- writing ---- */

static Status put_row(void *user, const StateRow *row) {
  Buffer *out = user;
  Status status = buffer_add_byte(out, (char)row->kind);
  if (status == STATUS_OK) status = add_varint(out, row->number);
  if (status == STATUS_OK) status = add_varint(out, row->bytes.size);
  return status == STATUS_OK ? buffer_add(out, row->bytes.bytes, row->bytes.size) : status;
}

Status journal_write(const Conversation *before, const Conversation *after, Text options, uint64_t *sum, Buffer *out) {
  static const char empty[HEAD_SIZE];
  StateRow row = {.kind = STATE_ROW_PART, .number = STATE_PART_OPTIONS, .bytes = options};
  size_t start = out->size;
  Status status = buffer_add(out, empty, HEAD_SIZE);
  if (status == STATUS_OK && options.size > 0) status = put_row(out, &row);
  if (status == STATUS_OK) status = state_write_rows(before, after, (StateRowSink){.put = put_row, .user = out});
  if (status != STATUS_OK) return status;
  Text rows = text_plain(out->bytes + start + HEAD_SIZE, out->size - start - HEAD_SIZE);
  uint64_t size = rows.size | (before == NULL ? WHOLE : 0);
  *sum = sum_of(*sum, size, rows);
  put_head(out->bytes + start, size, *sum);
  return STATUS_OK;
}

/* ---- reading: the newest row of each kind and number, in their order ---- */

typedef struct RowList {
  Memory memory;
  StateRow *list;
  uint32_t count, room;
} RowList;

/* Rows of equal places are ordered as the records are. */
static bool is_before(const StateRow *a, const StateRow *b) {
  if (a->kind != b->kind) return a->kind < b->kind;
  if (a->number != b->number) return a->number < b->number;
  return a->bytes.bytes < b->bytes.bytes;
}

static void sink_down(StateRow *list, size_t at, size_t count) {
  StateRow row = list[at];
  for (size_t kid; (kid = 2 * at + 1) < count; at = kid) {
    if (kid + 1 < count && is_before(&list[kid], &list[kid + 1])) kid++;
    if (!is_before(&row, &list[kid])) break;
    list[at] = list[kid];
  }
  list[at] = row;
}

/* Heapsort: it needs no memory. */
static void sort(StateRow *list, size_t count) {
  for (size_t i = count / 2; i-- > 0;) sink_down(list, i, count);
  for (size_t end = count; end-- > 1;) {
    StateRow last = list[end];
    list[end] = list[0];
    list[0] = last;
    sink_down(list, 0, end);
  }
}

static Status add_row(RowList *rows, const StateRow *row) {
  void *grown = memory_grow(&rows->memory, rows->list, &rows->room, rows->count, sizeof *rows->list);
  if (grown == NULL) return STATUS_MEMORY;
  rows->list = grown;
  rows->list[rows->count++] = *row;
  return STATUS_OK;
}

static Status add_rows(RowList *rows, Text rest) {
  Status status = STATUS_OK;
  while (rest.size > 0 && status == STATUS_OK) {
    uint64_t size;
    StateRow row = {.kind = (StateRowKind)(unsigned char)*rest.bytes};
    rest = text_plain(rest.bytes + 1, rest.size - 1);
    if (row.kind >= STATE_ROW_KINDS || !get_varint(&rest, &row.number)) return STATUS_SHAPE;
    if (!get_varint(&rest, &size) || size > rest.size) return STATUS_SHAPE;
    row.bytes = text_plain(rest.bytes, size);
    rest = text_plain(rest.bytes + size, rest.size - size);
    status = add_row(rows, &row);
  }
  return status;
}

static Status fail(JournalEnd *end, const char *expected) {
  end->expected = expected;
  return STATUS_SHAPE;
}

/* True if a crash may have left this behind the last record. */
static bool is_remainder(Text rest) {
  size_t zeros = 0;
  while (zeros < rest.size && rest.bytes[zeros] == '\0') zeros++;
  if (zeros == rest.size) return true;
  size_t magic = rest.size < MAGIC_SIZE ? rest.size : MAGIC_SIZE;
  return rest.size < HEAD_SIZE && memcmp(rest.bytes, MAGIC, magic) == 0;
}

/* Adds the rows of the record at end->whole; *more: there was one. */
static Status read_record(Text rest, RowList *rows, JournalEnd *end, bool *more) {
  *more = false;
  if (is_remainder(rest)) return STATUS_OK;
  if (rest.size < HEAD_SIZE || memcmp(rest.bytes, MAGIC, MAGIC_SIZE) != 0) return fail(end, "a record of a journal");
  if (get_fixed(rest.bytes + 4, 4) != check_of(rest.bytes)) return fail(end, "the head of a record; it is damaged");
  uint64_t size = get_fixed(rest.bytes + 8, 8), sum = get_fixed(rest.bytes + 16, 8);
  size_t length = (size_t)(size & ~WHOLE);
  if (end->whole == 0 && !(size & WHOLE)) return fail(end, "the journal's first record");
  if (length > rest.size - HEAD_SIZE) return STATUS_OK;      /* the crash came while it was written */
  Text bytes = text_plain(rest.bytes + HEAD_SIZE, length);
  if (sum != sum_of(end->sum, size, bytes)) return fail(end, "the record that follows; it is damaged, or another one");
  if (size & WHOLE) rows->count = 0;
  Status status = add_rows(rows, bytes);
  if (status == STATUS_SHAPE) return fail(end, "rows");
  end->whole += status == STATUS_OK ? HEAD_SIZE + length : 0;
  end->sum = sum;
  *more = status == STATUS_OK;
  return status;
}

static Status join(RowList *rows, Buffer *state) {
  StateJoin joining;
  Status status = state_join_start(&joining, state);
  sort(rows->list, rows->count);
  for (uint32_t i = 0; i < rows->count && status == STATUS_OK; i++) {
    const StateRow *row = &rows->list[i];
    bool newest = i + 1 == rows->count || row->kind != row[1].kind || row->number != row[1].number;
    if (newest) status = state_join_row(&joining, row);
  }
  Status ended = state_join_end(&joining);
  return status == STATUS_OK ? ended : status;
}

Status journal_read(const char *records, size_t size, const Memory *memory, Buffer *state, JournalEnd *end) {
  RowList rows = {.memory = *memory};
  Status status = STATUS_OK;
  *end = (JournalEnd){0};
  for (bool more = true; more && status == STATUS_OK;) {
    status = read_record(text_plain(records + end->whole, size - end->whole), &rows, end, &more);
    assert(end->whole <= size);
  }
  if (status == STATUS_OK && end->whole == 0) status = fail(end, "a whole record");
  if (status == STATUS_OK) status = join(&rows, state);
  if (status == STATUS_SHAPE && end->expected == NULL) end->expected = "rows that fit together";
  memory_free(memory, rows.list, rows.room * sizeof *rows.list);
  return status;
}
