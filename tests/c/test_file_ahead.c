/*
** Reading ahead: what the thread reads is what is in the file, however it is
** waited for, and whatever happens to the file meanwhile.
*/
#define _GNU_SOURCE /* mkdtemp */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

enum { SIZE = 11 * 1024 * 1024 + 77 };

static char folder[] = P_tmpdir "/ebb-ahead-XXXXXX", path[sizeof folder + 8];
static char *content;

static void write_file(size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(content, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static int make_file(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/file", folder);
  content = malloc(SIZE);
  assert_non_null(content);
  for (size_t i = 0; i < SIZE; i++) content[i] = (char)(i * 2654435761u >> 13);
  write_file(SIZE);
  return 0;
}

static int remove_file(void **state) {
  (void)state;
  free(content);
  unlink(path);
  return rmdir(folder);
}

/* The machine may have one processor, where nothing is read ahead. */
static bool alone(void) {
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) return false;
  print_message("skipped: one processor, so nothing is read ahead\n");
  return true;
}

static void open_reader(FileReader *reader, Fail *fail, size_t peek) {
  Memory memory = fail_memory(fail);
  assert_int_equal(file_open(reader, &memory, path), STATUS_OK);
  assert_int_equal(file_peek(reader, peek), STATUS_OK);
}

/* Waits to the end; every byte is compared as soon as it is said to be there. */
static void read_all(FileAhead *ahead, const FileReader *reader, size_t expected) {
  size_t available = 0, seen = 0, size = SIZE;
  while (seen < size) {
    assert_int_equal(file_ahead_wait(ahead, &available, &size), STATUS_OK);
    assert_true(available > seen || available == size);
    assert_memory_equal(reader->bytes + seen, content + seen, available - seen);
    seen = available;
  }
  assert_int_equal(size, expected);
  assert_int_equal(file_ahead_wait(ahead, &available, &size), STATUS_OK);      /* as often as one likes */
  assert_int_equal(available, expected);
}

static void a_large_file_is_read_whole(void **state) {
  (void)state;
  if (alone()) return;
  for (size_t peek = 0; peek < 200000; peek += 65536) {
    Fail fail = {0};
    FileReader reader;
    open_reader(&reader, &fail, peek);
    FileAhead *ahead = file_ahead_start(&reader);
    assert_non_null(ahead);
    read_all(ahead, &reader, SIZE);
    file_ahead_end(ahead);
    assert_int_equal(reader.size, SIZE);
    file_close(&reader);
    assert_int_equal(fail.in_use, 0);
  }
}

static void a_file_that_shrinks_ends_where_it_ends(void **state) {
  (void)state;
  if (alone()) return;
  Fail fail = {0};
  FileReader reader;
  open_reader(&reader, &fail, 10);
  assert_int_equal(truncate(path, 6 * 1024 * 1024), 0);
  FileAhead *ahead = file_ahead_start(&reader);
  read_all(ahead, &reader, 6 * 1024 * 1024);
  file_ahead_end(ahead);
  file_close(&reader);
  assert_int_equal(fail.in_use, 0);
  write_file(SIZE);
}

static void what_cannot_be_read_is_said(void **state) {
  (void)state;
  if (alone()) return;
  Fail fail = {0};
  FileReader reader;
  size_t available = 0, size = SIZE;
  open_reader(&reader, &fail, 10);
  close(reader.descriptor);
  reader.descriptor = open(path, O_WRONLY);
  FileAhead *ahead = file_ahead_start(&reader);
  Status status;
  do status = file_ahead_wait(ahead, &available, &size);
  while (status == STATUS_OK && available < size);
  assert_int_equal(status, STATUS_IO);
  assert_int_equal(errno, EBADF);
  file_ahead_end(ahead);
  file_close(&reader);
  assert_int_equal(fail.in_use, 0);
}

/* Closed before its end: the thread ends all the same, and leaks nothing. */
static void it_may_end_at_any_time(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    Fail fail = {0};
    FileReader reader;
    open_reader(&reader, &fail, 10);
    FileAhead *ahead = file_ahead_start(&reader);
    if (i % 2) usleep(200 * (unsigned)i);
    file_ahead_end(ahead);
    file_close(&reader);
    assert_int_equal(fail.in_use, 0);
  }
}

static void where_it_does_not_pay_or_cannot_be_nothing_changes(void **state) {
  (void)state;
  Fail fail = {0};
  FileReader reader;
  write_file(8 * 1024 * 1024 - 1);
  open_reader(&reader, &fail, 10);
  assert_null(file_ahead_start(&reader));
  file_close(&reader);
  write_file(SIZE);
  for (size_t k = 1; k <= 2; k++) {
    open_reader(&reader, &fail, 10);
    fail.fail_at = fail.calls + k;
    assert_null(file_ahead_start(&reader));
    fail.fail_at = 0;
    assert_int_equal(reader.size, 10);
    assert_int_equal(file_rest(&reader, SIZE), STATUS_OK);
    assert_int_equal(reader.size, SIZE);
    assert_memory_equal(reader.bytes, content, SIZE);
    file_close(&reader);
  }
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_large_file_is_read_whole),
    cmocka_unit_test(a_file_that_shrinks_ends_where_it_ends),
    cmocka_unit_test(what_cannot_be_read_is_said),
    cmocka_unit_test(it_may_end_at_any_time),
    cmocka_unit_test(where_it_does_not_pay_or_cannot_be_nothing_changes),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
