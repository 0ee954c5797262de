/*
** The tail of a session: how few rows it reads and writes, that they are the rows of all of the session, and what fails
** with each row that cannot be read.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

#include "state/state.h"
#include "state/state_tail.h"

#define MESSAGES 20000
#define LAST 200

/* ---- rows in memory ---- */

typedef struct KeptRow {
  StateRowKind kind;
  uint64_t number;
  char *bytes;
  size_t size;
} KeptRow;

typedef struct Rows {
  KeptRow *list;             /* by kind and number */
  uint32_t count, room;
  uint32_t put, given;       /* rows since the last reset */
  uint32_t calls, fail_at;   /* reading call fail_at fails, and all later ones; 0: none */
  bool once;
} Rows;

static uint32_t seek(const Rows *rows, StateRowKind kind, uint64_t number) {
  uint32_t low = 0, high = rows->count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    const KeptRow *row = &rows->list[middle];
    if (row->kind < kind || (row->kind == kind && row->number < number)) low = middle + 1;
    else high = middle;
  }
  return low;
}

static Status keep(void *user, const StateRow *row) {
  Rows *rows = user;
  uint32_t at = seek(rows, row->kind, row->number);
  bool known = at < rows->count && rows->list[at].kind == row->kind && rows->list[at].number == row->number;
  if (!known) {
    if (rows->count == rows->room) rows->list = realloc(rows->list, (rows->room += 4096) * sizeof *rows->list);
    memmove(rows->list + at + 1, rows->list + at, (rows->count++ - at) * sizeof *rows->list);
  } else {
    free(rows->list[at].bytes);
  }
  char *bytes = malloc(row->bytes.size + 1);
  memcpy(bytes, row->bytes.bytes, row->bytes.size);
  rows->list[at] = (KeptRow){row->kind, row->number, bytes, row->bytes.size};
  rows->put++;
  return STATUS_OK;
}

static Status give(void *user, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink) {
  Rows *rows = user;
  rows->calls++;
  bool fails = rows->fail_at != 0 && (rows->once ? rows->calls == rows->fail_at : rows->calls >= rows->fail_at);
  if (fails) return STATUS_IO;
  Status status = STATUS_OK;
  for (uint32_t i = seek(rows, kind, first); i < rows->count && status == STATUS_OK; i++) {
    const KeptRow *row = &rows->list[i];
    if (row->kind != kind || row->number > last) break;
    StateRow given = {.kind = kind, .number = row->number, .bytes = text_plain(row->bytes, row->size)};
    rows->given++;
    status = sink.put(sink.user, &given);
  }
  return status;
}

static StateRowSink sink_of(Rows *rows) { return (StateRowSink){.put = keep, .user = rows}; }
static StateRowSource source_of(Rows *rows) { return (StateRowSource){.read = give, .user = rows}; }

static void rows_free(Rows *rows) {
  for (uint32_t i = 0; i < rows->count; i++) free(rows->list[i].bytes);
  free(rows->list);
  *rows = (Rows){0};
}

static void rows_reset(Rows *rows) { rows->put = rows->given = rows->calls = rows->fail_at = 0; }

static KeptRow *row_at(Rows *rows, StateRowKind kind, uint64_t number) {
  uint32_t at = seek(rows, kind, number);
  assert_true(at < rows->count && rows->list[at].kind == kind && rows->list[at].number == number);
  return &rows->list[at];
}

/* ---- conversations ---- */

static void write_all(Rows *rows, const Conversation *chat) {
  StateRow options = {.kind = STATE_ROW_PART, .number = STATE_PART_OPTIONS, .bytes = text_of("{}")};
  assert_int_equal(state_write_rows(NULL, chat, sink_of(rows)), STATUS_OK);
  assert_int_equal(keep(rows, &options), STATUS_OK);
}

/* All of the rows as the bytes of the state that they make. */
static void whole(Rows *rows, Fail *fail, Buffer *out) {
  StateJoin join;
  Buffer text;
  State state;
  StateError error;
  Conversation *chat;
  buffer_init(&text, fail_memory(fail));
  buffer_init(out, fail_memory(fail));
  assert_int_equal(state_join_start(&join, &text), STATUS_OK);
  for (uint32_t i = 0; i < rows->count; i++) {
    StateRow row = {rows->list[i].kind, rows->list[i].number, text_plain(rows->list[i].bytes, rows->list[i].size)};
    assert_int_equal(state_join_row(&join, &row), STATUS_OK);
  }
  assert_int_equal(state_join_end(&join), STATUS_OK);
  assert_int_equal(state_open(&state, text.bytes, text.size, STATE_SALVAGED, &error), STATUS_OK);
  assert_int_equal(chat_new(fail, &chat), STATUS_OK);
  assert_int_equal(state_read(chat, &state, &error), STATUS_OK);
  assert_int_equal(state_write(chat, text_of(""), sink_to_buffer(out)), STATUS_OK);
  conversation_free(chat);
  buffer_free(&text);
}

static void assert_same_state(Rows *rows, Fail *fail, const Conversation *chat) {
  Buffer have, wanted;
  whole(rows, fail, &have);
  buffer_init(&wanted, fail_memory(fail));
  assert_int_equal(state_write(chat, text_of(""), sink_to_buffer(&wanted)), STATUS_OK);
  assert_int_equal(have.size, wanted.size);
  assert_memory_equal(have.bytes, wanted.bytes, wanted.size);
  buffer_free(&have);
  buffer_free(&wanted);
}

typedef struct Counts {
  uint64_t stored, batches;
} Counts;

static Counts counts_of(const Conversation *chat) {
  return (Counts){store_count(conversation_store(chat)), history_count(conversation_history(chat))};
}

/* Reads the tail; NULL where that fails, or it is not alone. */
static Conversation *read_tail(Rows *rows, Fail *fail, Counts counts, uint32_t wanted, StateTail *tail,
                               Status *status) {
  Buffer text;
  State state;
  StateError error;
  Conversation *chat = NULL;
  bool alone = false;
  buffer_init(&text, fail_memory(fail));
  *status = state_read_tail(source_of(rows), counts.stored, counts.batches, wanted, &text, tail, &alone);
  if (*status == STATUS_OK && alone) *status = state_open(&state, text.bytes, text.size, STATE_SALVAGED, &error);
  if (*status == STATUS_OK && alone) *status = chat_new(fail, &chat);
  if (chat != NULL) *status = state_read(chat, &state, &error);
  if (chat != NULL && *status != STATUS_OK) {
    conversation_free(chat);
    chat = NULL;
  }
  buffer_free(&text);
  return chat;
}

static void assert_end_of(const Conversation *tail, const Conversation *chat) {
  uint32_t count = visible_count(tail), all = visible_count(chat);
  assert_true(count <= all);
  for (uint32_t i = 0; i < count; i++) {
    MessageId id = visible(tail, i), other = visible(chat, all - count + i);
    assert_int_equal(id, other);
    Text left = message_raw(conversation_message(tail, id)), right = message_raw(conversation_message(chat, id));
    assert_true(text_equal(left, right));
  }
}

static Conversation *long_chat(Fail *fail, uint32_t messages) {
  Conversation *chat = chat_of(fail, "s4");
  for (uint32_t i = 1; i < messages; i++) {
    assert_int_equal(put(chat, WORDS_APPEND, 0, i % 4 == 1 ? "u8" : i % 4 == 2 ? "a2(x)" : i % 4 == 3 ? "t3(x)" : "a9"),
                     STATUS_OK);
  }
  return chat;
}

/* ---- rows are counted ---- */

static Conversation *branch_of(Conversation *chat) {
  Conversation *branch;
  assert_int_equal(conversation_fork(chat, &branch), STATUS_OK);
  return branch;
}

static void write_tail(Rows *rows, const StateTail *tail, const Conversation *before, const Conversation *after) {
  const KeptRow *growth = row_at(rows, STATE_ROW_BATCH, state_tail_growth_row(tail));
  char bytes[256];
  assert_true(growth->size < sizeof bytes);
  memcpy(bytes, growth->bytes, growth->size);
  assert_true(state_tail_answers(tail, before, after));
  assert_int_equal(state_write_tail_rows(tail, text_plain(bytes, growth->size), before, after, sink_of(rows)),
                   STATUS_OK);
}

static void test_rows(void **state) {
  (void)state;
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = long_chat(&fail, MESSAGES);
  write_all(&rows, chat);
  rows_reset(&rows);
  Conversation *end = read_tail(&rows, &fail, counts_of(chat), LAST, &tail, &status);
  assert_non_null(end);
  assert_true(visible_count(end) >= LAST);
  assert_end_of(end, chat);
  printf("rows: %u of %u for the last %u of %u messages\n", rows.given, rows.count, visible_count(end), MESSAGES);
  /* Parts, the batch, and two rows for each result and one for each other message: asked for once or twice. */
  assert_true(rows.given <= 2 * (STATE_PARTS + 2 + 2 * visible_count(end)));
  assert_int_equal(tail.hidden + visible_count(end), MESSAGES);

  rows_reset(&rows);
  Conversation *appended = branch_of(end);
  assert_int_equal(put(appended, WORDS_APPEND, 0, "u5 a3"), STATUS_OK);
  write_tail(&rows, &tail, end, appended);
  assert_int_equal(rows.put, 3);      /* two messages, and the batch's growth */
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u5 a3"), STATUS_OK);
  assert_same_state(&rows, &fail, chat);

  rows_reset(&rows);
  Conversation *cut = branch_of(appended);
  Truncate last = {.has_keep_last = true, .keep_last = LAST};
  assert_int_equal(operation_truncate(cut, &last), STATUS_OK);
  write_tail(&rows, &tail, appended, cut);
  assert_int_equal(rows.put, 3);      /* the batch, its growth, and that it is the current one */
  assert_int_equal(operation_truncate(chat, &last), STATUS_OK);
  assert_same_state(&rows, &fail, chat);
  conversation_free(cut);
  conversation_free(appended);
  conversation_free(end);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

/* ---- failures ---- */

static void test_failing_rows(void **state) {
  (void)state;
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = long_chat(&fail, 60);
  assert_int_equal(put(chat, WORDS_REPLACE, 49, "u7"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 55, "u7"), STATUS_OK);
  write_all(&rows, chat);
  uint32_t failures = 0;
  for (int once = 0; once < 2; once++) {
    for (uint32_t at = 1;; at++) {
      rows_reset(&rows);
      rows.fail_at = at;
      rows.once = once;
      Conversation *end = read_tail(&rows, &fail, counts_of(chat), 20, &tail, &status);
      bool struck = rows.calls >= at;
      assert_int_equal(status, struck ? STATUS_IO : STATUS_OK);
      assert_true((end == NULL) == struck);
      conversation_free(end);
      if (!struck) break;
      failures++;
      rows_reset(&rows);
      end = read_tail(&rows, &fail, counts_of(chat), 20, &tail, &status);
      assert_end_of(end, chat);
      conversation_free(end);
    }
  }
  printf("failed calls: %u\n", failures);
  assert_true(failures > 20);
  assert_same_state(&rows, &fail, chat);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

static void test_failing_memory(void **state) {
  (void)state;
  Fail fail = {0}, reading = {0};
  Rows rows = {0};
  StateTail tail;
  Status status = STATUS_MEMORY;
  Conversation *chat = long_chat(&fail, 40);
  assert_int_equal(put(chat, WORDS_REPLACE, 33, "u7"), STATUS_OK);
  write_all(&rows, chat);
  for (size_t at = 1; status != STATUS_OK; at++) {
    reading = (Fail){.fail_at = at};
    Conversation *end = read_tail(&rows, &reading, counts_of(chat), 12, &tail, &status);
    assert_true(status == STATUS_OK || status == STATUS_MEMORY);
    conversation_free(end);
    assert_int_equal(reading.in_use, 0);
  }
  conversation_free(chat);
  rows_free(&rows);
}

/* ---- damage ---- */

/* One row less, or one that is cut off: the tail is refused, needs all of the session, or is right. */
static void test_damage(void **state) {
  (void)state;
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = long_chat(&fail, 24);
  assert_int_equal(put(chat, WORDS_REPLACE, 21, "u7"), STATUS_OK);
  write_all(&rows, chat);
  uint32_t refused = 0;
  for (uint32_t i = 0; i < rows.count; i++) {
    for (size_t size = 0; size <= rows.list[i].size; size++) {
      size_t right = rows.list[i].size;
      rows.list[i].size = size;
      Conversation *end = read_tail(&rows, &fail, counts_of(chat), 8, &tail, &status);
      if (size == right) assert_end_of(end, chat);
      refused += status != STATUS_OK;
      conversation_free(end);
      rows.list[i].size = right;
    }
  }
  printf("refused: %u damaged rows\n", refused);
  assert_true(refused > 100);
  KeptRow missing = *row_at(&rows, STATE_ROW_MESSAGE, 24);
  uint32_t at = (uint32_t)(row_at(&rows, STATE_ROW_MESSAGE, 24) - rows.list);
  memmove(rows.list + at, rows.list + at + 1, (--rows.count - at) * sizeof *rows.list);
  assert_null(read_tail(&rows, &fail, counts_of(chat), 8, &tail, &status));
  assert_int_equal(status, STATUS_SHAPE);
  free(missing.bytes);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

/* The tail's growth row is read back before it is written on: one that is damaged stays as it is. */
static void test_damaged_growth(void **state) {
  (void)state;
  static const char *const damaged[] = {"", "],\"count\":", "],\"counts\":24", "x],\"count\":24", "],\"count\":23"};
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = long_chat(&fail, 24);
  write_all(&rows, chat);
  Conversation *end = read_tail(&rows, &fail, counts_of(chat), 8, &tail, &status);
  Conversation *branch = branch_of(end);
  assert_int_equal(put(branch, WORDS_APPEND, 0, "u5"), STATUS_OK);
  uint64_t growth = state_tail_growth_row(&tail);
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    const char *before = row_at(&rows, STATE_ROW_BATCH, growth)->bytes;
    assert_int_equal(state_write_tail_rows(&tail, text_of(damaged[i]), end, branch, sink_of(&rows)), STATUS_SHAPE);
    assert_ptr_equal(row_at(&rows, STATE_ROW_BATCH, growth)->bytes, before);
  }
  conversation_free(branch);
  conversation_free(end);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

/* ---- messages of another place ---- */

/* A message that replaced an inserted one has its place, which only all of the session tells. */
static void test_replaced_insertions(void **state) {
  (void)state;
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = long_chat(&fail, 400);
  assert_int_equal(put(chat, WORDS_REPLACE, 397, "u7"), STATUS_OK);
  write_all(&rows, chat);
  Conversation *end = read_tail(&rows, &fail, counts_of(chat), 4, &tail, &status);
  assert_non_null(end);
  assert_true(tail.hidden > 0);
  assert_end_of(end, chat);
  conversation_free(end);
  assert_int_equal(put(chat, WORDS_INSERT, 397, "u7"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_REPLACE, 397, "u8"), STATUS_OK);
  write_all(&rows, chat);
  assert_null(read_tail(&rows, &fail, counts_of(chat), 4, &tail, &status));
  assert_int_equal(status, STATUS_OK);
  assert_same_state(&rows, &fail, chat);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

/* ---- calls that are hidden ---- */

static void test_hidden_calls(void **state) {
  (void)state;
  Fail fail = {0};
  Rows rows = {0};
  StateTail tail;
  Status status;
  Conversation *chat = chat_of(&fail, "u4 a4(x) u4 u4 u4 u4 u4 u4 u4");
  write_all(&rows, chat);
  Conversation *end = read_tail(&rows, &fail, counts_of(chat), 3, &tail, &status);
  assert_int_equal(tail.hidden, 6);
  Conversation *branch = branch_of(end);
  assert_int_equal(put(branch, WORDS_APPEND, 0, "t4(x)"), STATUS_OK);
  assert_false(state_tail_answers(&tail, end, branch));
  assert_int_equal(put(branch, WORDS_APPEND, 0, "a4(y)"), STATUS_OK);
  conversation_free(branch);
  branch = branch_of(end);
  assert_int_equal(put(branch, WORDS_APPEND, 0, "a4(y) t4(y)"), STATUS_OK);
  assert_true(state_tail_answers(&tail, end, branch));
  conversation_free(branch);
  conversation_free(end);
  rows_free(&rows);

  assert_int_equal(put(chat, WORDS_APPEND, 0, "t4(x)"), STATUS_OK);      /* it answers a call far before it */
  write_all(&rows, chat);
  end = read_tail(&rows, &fail, counts_of(chat), 3, &tail, &status);
  assert_int_equal(tail.hidden, 0);
  assert_end_of(end, chat);
  conversation_free(end);
  conversation_free(chat);
  rows_free(&rows);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),          cmocka_unit_test(test_failing_rows), cmocka_unit_test(test_failing_memory),
    cmocka_unit_test(test_damage),        cmocka_unit_test(test_hidden_calls), cmocka_unit_test(test_damaged_growth),
    cmocka_unit_test(test_replaced_insertions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
