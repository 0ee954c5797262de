/*
** Journals: the records of a chat give it back after each call, whatever was done; a record that the host does not
** take undoes its call; cut and damaged records are seen. SEED=n repeats a run, LIVES=n (1) makes it so many times
** as long.
*/
#include "api_lives.h"

#include "codec/xxh64.h"

typedef struct Pages {
  char *bytes;
  size_t size, room;
  int records;
  size_t ends[2000];         /* of the records */
  size_t largest;            /* of those after the first */
  ebb_status answer;         /* what the journal answers; EBB_OK: it keeps the record */
} Pages;

static ebb_status keep(void *user, const void *record, size_t size) {
  Pages *pages = user;
  if (pages->answer != EBB_OK) return pages->answer;
  if (pages->size + size > pages->room) {
    pages->room = 2 * (pages->size + size);
    pages->bytes = realloc(pages->bytes, pages->room);
  }
  memcpy(pages->bytes + pages->size, record, size);
  pages->size += size;
  assert_true(pages->records < 2000);
  pages->ends[pages->records++] = pages->size;
  if (pages->records > 1 && size > pages->largest) pages->largest = size;
  return EBB_OK;
}

static void fail_from(Host *host, size_t k, bool once) {
  host->heap.calls = host->heap.failed = 0;
  host->heap.fail_at = k;
  host->heap.once = once;
}

static void digest_of(ebb_runtime *runtime, ebb_chat *chat, char digest[65]) { must(ebb_chat_digest(chat, digest)); }

/* Reads the records back: the chat that they give is equal (but for the tokens of what was forgotten, which a saved
   chat counts anew, too). */
static ebb_chat *check_records(ebb_runtime *runtime, ebb_chat *chat, const Pages *pages) {
  char one[65], other[65];
  size_t whole;
  ebb_chat *read;
  must(ebb_chat_read_journal(runtime, pages->bytes, pages->size, &whole, &read));
  assert_int_equal(whole, pages->size);
  digest_of(runtime, chat, one);
  digest_of(runtime, read, other);
  if (strcmp(one, other) != 0) {
    ebb_text saved;
    must(ebb_chat_save(chat, &saved));
    char *copy = malloc(saved.size + 1);
    memcpy(copy, saved.bytes, saved.size + 1);
    must(ebb_chat_save(read, &saved));
    fail_msg("after %d records:\n%s\nis not\n%s", pages->records, copy, saved.bytes);
  }
  return read;
}

/* Edits that the lives of saved chats do not have. */
static void edit_otherwise(ebb_runtime *runtime, ebb_chat *chat) {
  static const char OPEN[] = "{\"description\":\"d\",\"content\":\"c\"}";
  char text[80];
  uint32_t count = ebb_chat_count(chat), removed;
  switch (any(7)) {
  case 0: ebb_window_open(chat, "w", OPEN, sizeof OPEN - 1); break;      /* once */
  case 1:
    snprintf(text, sizeof text, "{\"content\":\"%u\"}", (unsigned)any(9));
    ebb_window_update(chat, "w", text, strlen(text));
    break;
  case 2:
    if (count > 0) must(ebb_chat_forget(chat, any(count)));
    break;
  case 3: must(ebb_chat_compact(chat, 1 + any(3), &removed)); break;
  case 4: ebb_chat_report_usage(chat, ebb_chat_tokens(chat) + 1 + any(9)); break;      /* too much for few */
  case 5:
    snprintf(text, sizeof text, "{\"limit\":%u}", (unsigned)(1000 + any(9)));
    must(ebb_chat_set(chat, text, strlen(text)));
    break;
  case 6:
    snprintf(text, sizeof text, "{\"encoding\":\"%s\"}", any(2) ? "cjk" : "bytes4");
    must(ebb_chat_set(chat, text, strlen(text)));
  }
}

static void restart(Pages *pages) { pages->size = pages->records = 0; }

static void live(ebb_runtime *runtime, Pages *pages) {
  const char *options = "{\"encoding\":\"bytes4\",\"tools\":[{\"name\":\"rooms\",\"description\":\"free rooms\"}]}";
  ebb_chat *chat;
  restart(pages);
  must(ebb_chat_new(runtime, options, strlen(options), &chat));
  must(ebb_chat_journal(chat, keep, pages, 0));
  for (int i = 0; i < 400; i++) {
    if (any(5) == 0) edit_otherwise(runtime, chat);
    else edit(runtime, chat);
    ebb_chat *read = check_records(runtime, chat, pages);
    if (i % 10 == 9) {                  /* the program ends, and goes on behind the records */
      ebb_chat_free(chat);
      chat = read;
      must(ebb_chat_journal(chat, keep, pages, 1));
    } else {
      ebb_chat_free(read);
    }
    if (i % 97 != 96) continue;
    restart(pages);
    must(ebb_chat_journal(chat, keep, pages, 0));
  }
  ebb_chat_free(chat);
}

static void records_give_the_chat_back_after_each_call(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  if (getenv("SEED") != NULL) seed = (uint32_t)atoi(getenv("SEED"));
  print_message("SEED=%u\n", (unsigned)seed);
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembers", REMEMBERS));
  for (int i = 0; i < (getenv("LIVES") != NULL ? atoi(getenv("LIVES")) : 1); i++) live(runtime, &pages);
  host_close(&host, runtime);
  free(pages.bytes);
}

static void a_call_writes_what_it_changed_and_no_more(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  open_talk(&host, &runtime, &chat, 300);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  assert_int_equal(pages.records, 1);
  must(append(chat, "{\"role\":\"user\",\"content\":\"one\"}"));
  must(ebb_chat_mark(chat, 3, "pinned"));
  must(trim(chat, NULL, "{\"budget\":4000}", NULL));
  must(ebb_chat_rollback(chat, 0));
  assert_int_equal(pages.records, 5);
  assert_true(pages.largest < 700);
  assert_true(ebb_chat_count(chat) > 1000);
  ebb_chat_tokens(chat);
  must(ebb_chat_rollback(chat, 0));                            /* it was there already */
  refused(append(chat, "{\"role\":7}"), EBB_ROLE, "expected a role");
  must(ebb_chat_fork(chat, &fork));
  must(append(fork, "{\"role\":\"user\",\"content\":\"of the fork\"}"));
  assert_int_equal(pages.records, 5);
  must(ebb_chat_journal(chat, NULL, NULL, 0));
  must(append(chat, "{\"role\":\"user\",\"content\":\"two\"}"));
  assert_int_equal(pages.records, 5);
  refused(ebb_chat_journal(chat, keep, &pages, 1), EBB_ARGUMENT, "read from records");
  host_close(&host, runtime);
  free(pages.bytes);
}

/* The chat of a task ends up as the records say, too. */
static void a_task_writes_when_it_is_done(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  char before[65], after[65];
  open_talk(&host, &runtime, &chat, 10);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  digest_of(runtime, chat, before);
  for (int tries = 0; tries < 2; tries++) {
    pages.answer = tries == 0 ? EBB_IO : EBB_OK;
    must(ebb_task_trim(chat, NULL, "{\"budget\":300}", 14, &task));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    assert_int_equal(event.kind, tries == 0 ? EBB_EVENT_FAILED : EBB_EVENT_DONE);
    digest_of(runtime, chat, after);
    assert_int_equal(strcmp(before, after) == 0, tries == 0);
    ebb_task_free(task);
  }
  assert_int_equal(pages.records, 2);
  ebb_chat_free(check_records(runtime, chat, &pages));
  host_close(&host, runtime);
  free(pages.bytes);
}

static void a_record_that_is_not_taken_undoes_its_call(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat;
  char before[65], after[65];
  const char *line = "{\"role\":\"user\",\"content\":\"one\"}";
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembers", REMEMBERS));
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\"}", 21, &chat));
  pages.answer = EBB_IO;
  refused(ebb_chat_journal(chat, keep, &pages, 0), EBB_IO, "the journal answered io");
  pages.answer = EBB_OK;
  must(ebb_chat_journal(chat, keep, &pages, 0));
  for (int i = 0; i < 300; i++) {
    digest_of(runtime, chat, before);
    pages.answer = EBB_IO;
    refused(append(chat, line), EBB_IO, "the journal answered io");
    if (ebb_chat_count(chat) > 0) refused(ebb_chat_mark(chat, 0, "new"), EBB_IO, "the journal");
    refused(ebb_chat_checkpoint(chat, "never"), EBB_IO, "the journal");
    refused(ebb_chat_rollback_to(chat, "never"), EBB_UNKNOWN_NAME, "never");
    refused(apply(chat, "{\"operation\":\"clear\"}"), EBB_IO, "the journal");
    digest_of(runtime, chat, after);
    assert_string_equal(before, after);
    pages.answer = EBB_OK;
    if (any(3) == 0) must(append(chat, line));
    else edit(runtime, chat);
    ebb_chat_free(check_records(runtime, chat, &pages));
  }
  host_close(&host, runtime);
  free(pages.bytes);
}

/* A fork overwrites bytes that the chat shows, too: the chat's journal gets them, by a call or by a task's end. */
static void what_a_fork_forgets_is_written_anew(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  static const char script[] = "local chat = ... chat:forget(3)";
  open_talk(&host, &runtime, &chat, 1);
  must(ebb_chat_fork(chat, &fork));
  must(ebb_chat_journal(chat, keep, &pages, 0));
  must(ebb_chat_forget(fork, 1));
  assert_int_equal(pages.records, 2);
  ebb_chat_free(check_records(runtime, chat, &pages));
  must(ebb_task_script(fork, "s", script, sizeof script - 1, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  assert_int_equal(pages.records, 3);
  ebb_chat_free(check_records(runtime, chat, &pages));
  must(ebb_chat_compact(fork, 1, NULL));                       /* no matter of the chat's */
  assert_int_equal(pages.records, 3);
  host_close(&host, runtime);
  free(pages.bytes);
}

/* Settings and an open stream are as before, too, and the same calls work once records are taken again. */
static void settings_and_streams_are_undone_with_their_records(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text limit;
  ebb_message message = {.size = sizeof message};
  char before[65], after[65];
  static const char changes[] = "{\"limit\":7,\"encoding\":\"cjk\"}", query[] = "{\"query\":\"limit\"}";
  open_talk(&host, &runtime, &chat, 1);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  must(ebb_chat_stream_begin(chat, "{\"role\":\"assistant\"}", 20));
  must(ebb_chat_stream_add(chat, "Up the stairs.", 14));
  digest_of(runtime, chat, before);
  pages.answer = EBB_IO;
  refused(ebb_chat_set(chat, changes, sizeof changes - 1), EBB_IO, "the journal answered io");
  refused(ebb_chat_stream_settle(chat, NULL, 0), EBB_IO, "the journal answered io");
  digest_of(runtime, chat, after);
  assert_string_equal(before, after);
  must(ebb_chat_query(chat, query, sizeof query - 1, &limit));
  assert_non_null(strstr(limit.bytes, "\"limit\":null"));
  must(ebb_chat_message(chat, ebb_chat_count(chat), &message));
  assert_string_equal(message.text.bytes, "Up the stairs.");
  pages.answer = EBB_OK;
  must(append(chat, "{\"role\":\"user\",\"content\":\"Well?\"}"));
  assert_true(pages.largest < 200);                            /* no record of the whole chat */
  must(ebb_chat_stream_settle(chat, NULL, 0));
  ebb_chat_free(check_records(runtime, chat, &pages));
  must(ebb_chat_set(chat, changes, sizeof changes - 1));
  ebb_chat_free(check_records(runtime, chat, &pages));
  host_close(&host, runtime);
  free(pages.bytes);
}

static void a_crash_leaves_the_records_before_it(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat, *read;
  char digests[12][65], digest[65];
  open_talk(&host, &runtime, &chat, 1);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  digest_of(runtime, chat, digests[0]);
  for (int i = 1; i < 12; i++) {
    must(append(chat, "{\"role\":\"user\",\"content\":\"one more\"}"));
    digest_of(runtime, chat, digests[i]);
  }
  for (size_t cut = pages.ends[0]; cut <= pages.size; cut++) {
    size_t whole;
    int last = 0;
    while (last < 11 && pages.ends[last + 1] <= cut) last++;
    char *copy = malloc(cut + 50);      /* its own block: a read behind its end is seen */
    memcpy(copy, pages.bytes, cut);
    memset(copy + cut, 0, 50);
    for (int zeros = 0; zeros < 2; zeros++) {
      ebb_status status = ebb_chat_read_journal(runtime, copy, cut + (zeros ? 50 : 0), &whole, &read);
      assert_int_equal(whole, pages.ends[last]);
      if (status == EBB_DAMAGED && zeros) continue;      /* zeros that lie where the record should go on */
      assert_int_equal(status, EBB_OK);
      digest_of(runtime, read, digest);
      assert_string_equal(digest, digests[last]);
      ebb_chat_free(read);
    }
    free(copy);
  }
  host_close(&host, runtime);
  free(pages.bytes);
}

static void damage_is_refused(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat, *read;
  size_t whole;
  open_talk(&host, &runtime, &chat, 1);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  for (int i = 1; i < 4; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"one more\"}"));
  for (size_t at = 0; at < pages.size; at++) {
    pages.bytes[at] ^= (char)(1 << at % 8);
    refused(ebb_chat_read_journal(runtime, pages.bytes, pages.size, &whole, &read), EBB_DAMAGED, "expected");
    assert_true(whole <= at);
    pages.bytes[at] ^= (char)(1 << at % 8);
  }
  size_t first = pages.ends[1], second = pages.ends[2];
  char *copy = malloc(pages.size);
  memcpy(copy, pages.bytes, first);
  memcpy(copy + first, pages.bytes + second, pages.size - second);      /* a record is missing */
  refused(ebb_chat_read_journal(runtime, copy, first + pages.size - second, &whole, &read), EBB_DAMAGED, "another");
  assert_int_equal(whole, first);
  refused(ebb_chat_read_journal(runtime, pages.bytes + first, pages.size - first, &whole, &read), EBB_DAMAGED, "first");
  refused(ebb_chat_read_journal(runtime, "", 0, &whole, &read), EBB_DAMAGED, "a whole record");
  refused(ebb_chat_read_journal(runtime, "{\"ebb\":2}", 9, &whole, &read), EBB_DAMAGED, "byte 1: expected a record");
  free(copy);
  host_close(&host, runtime);
  free(pages.bytes);
}

static void put_little(char *bytes, uint64_t value, int size) {
  for (int i = 0; i < size; i++) bytes[i] = (char)(value >> 8 * i);
}

/* Writes a whole record of these rows, with right sums. */
static size_t put_record(char *record, const char *rows, size_t size) {
  char summed[100] = {0};
  put_little(summed + 8, size | UINT64_C(1) << 63, 8);
  memcpy(summed + 16, rows, size);
  memcpy(record, "EBJ1", 4);
  memcpy(record + 8, summed + 8, 8);
  put_little(record + 16, xxh64(summed, 16 + size), 8);
  put_little(record + 4, (uint32_t)xxh64(record + 8, 16), 4);
  memcpy(record + 24, rows, size);
  return 24 + size;
}

static void rows_that_cannot_be_read_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *expected;
  } rows[] = {
    {"\xff", 1, "rows"},                                                /* no such kind */
    {"\0", 1, "rows"},                                                  /* no number */
    {"\0\x80\x80", 3, "rows"},                                         /* a number that is cut off */
    {"\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\0", 12, "rows"},     /* one of 64 bits */
    {"\0\x80\x80\x80\x80\x80\x80\x80\x80\x01\0", 11, "rows that fit together"},      /* one of 57 bits */
    {"\0\0", 2, "rows"},                                               /* no size */
    {"\0\0\3" "ab", 5, "rows"},                                        /* a size beyond the record */
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *read;
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char record[100];
    size_t size = put_record(record, rows[i].bytes, rows[i].size);
    refused(ebb_chat_read_journal(runtime, record, size, NULL, &read), EBB_DAMAGED, "expected ");
    assert_string_equal(strstr(ebb_last_error(runtime)->message, "expected ") + 9, rows[i].expected);
  }
  host_close(&host, runtime);
}

/* The k-th allocation fails, once and from then on: the call is refused and has changed nothing, or it is done and
   written. */
static void without_memory_nothing_has_changed(void **state) {
  (void)state;
  Host host;
  Pages pages = {0};
  ebb_runtime *runtime;
  ebb_chat *chat, *read;
  char before[65], after[65];
  open_talk(&host, &runtime, &chat, 3);
  must(ebb_chat_journal(chat, keep, &pages, 0));
  int refusals = 0;
  for (int sticky = 0; sticky < 2; sticky++) {
    for (size_t k = 1, quiet = 0; quiet < 3; k++) {
      int records = pages.records;
      digest_of(runtime, chat, before);
      fail_from(&host, k, !sticky);
      ebb_status status = k % 2 ? append(chat, "{\"role\":\"user\",\"content\":\"one more\"}")
                                : apply(chat, "{\"operation\":\"truncate\",\"keepLast\":9}");
      bool struck = host.heap.failed > 0;
      fail_from(&host, 0, true);
      assert_true(status == EBB_OK || status == EBB_MEMORY);
      digest_of(runtime, chat, after);
      assert_int_equal(status == EBB_OK, strcmp(before, after) != 0);
      assert_int_equal(pages.records, records + (status == EBB_OK));
      quiet = struck ? 0 : quiet + 1;
      refusals += status == EBB_MEMORY;
    }
  }
  assert_true(refusals > 20);
  ebb_chat_free(check_records(runtime, chat, &pages));
  for (size_t k = 1, quiet = 0; quiet < 1; k++) {
    fail_from(&host, k, false);
    ebb_status status = ebb_chat_read_journal(runtime, pages.bytes, pages.size, NULL, &read);
    quiet = host.heap.failed == 0;
    fail_from(&host, 0, true);
    assert_true(status == EBB_OK || status == EBB_MEMORY);
    if (status == EBB_OK) ebb_chat_free(read);
  }
  host_close(&host, runtime);
  free(pages.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(records_give_the_chat_back_after_each_call),
      cmocka_unit_test(a_call_writes_what_it_changed_and_no_more),
      cmocka_unit_test(a_task_writes_when_it_is_done),
      cmocka_unit_test(a_record_that_is_not_taken_undoes_its_call),
      cmocka_unit_test(what_a_fork_forgets_is_written_anew),
      cmocka_unit_test(settings_and_streams_are_undone_with_their_records),
      cmocka_unit_test(a_crash_leaves_the_records_before_it),
      cmocka_unit_test(damage_is_refused),
      cmocka_unit_test(rows_that_cannot_be_read_are_refused),
      cmocka_unit_test(without_memory_nothing_has_changed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
