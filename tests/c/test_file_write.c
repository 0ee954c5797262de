/*
** Writers of files: two at once, dead ones, signals, and what a new file keeps of the old.
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check.h"
#include "host/ending.h"
#include "os/os.h"

static char folder[] = P_tmpdir "/ebb-write-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int drop_folder(void **state) {
  (void)state;
  return chdir("/") != 0 || rmdir(folder) != 0;
}

static int count_temporaries(void) {
  DIR *listing = opendir(".");
  int count = 0;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) count += strstr(entry->d_name, ".ebb-") != NULL;
  closedir(listing);
  return count;
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fputs(text, file) >= 0, 1);
  assert_int_equal(fclose(file), 0);
}

static void check_content(const char *path, const char *text) {
  char content[100] = {0};
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(content, 1, sizeof content - 1, file);
  fclose(file);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(content, text, size);
}

static Memory plain;

static void begin(FileWriter *writer, const char *path, const char *text) {
  assert_int_equal(file_create(writer, &plain, path), STATUS_OK);
  assert_int_equal(file_write(writer, text, strlen(text)), STATUS_OK);
}

static void guard(FileWriter *writer, const char *path) {
  assert_int_equal(file_identify(path, &writer->unchanged), STATUS_OK);
  writer->guarded = true;
}

static void a_file_in_another_state_is_a_conflict(void **state) {
  (void)state;
  FileWriter first, second;
  put("f", "old");
  begin(&first, "f", "first");
  begin(&second, "f", "second");
  guard(&first, "f");
  guard(&second, "f");
  assert_int_equal(file_commit(&first), STATUS_OK);
  assert_int_equal(file_commit(&second), STATUS_CONFLICT);
  check_content("f", "first");

  begin(&first, "f", "new");
  guard(&first, "f");
  first.unchanged.modified_ns ^= 1;
  assert_int_equal(file_commit(&first), STATUS_CONFLICT);
  begin(&first, "f", "new");
  guard(&first, "f");
  unlink("f");
  assert_int_equal(file_commit(&first), STATUS_CONFLICT);
  assert_int_equal(count_temporaries(), 0);
  FileIdentity none;
  assert_int_equal(file_identify("f", &none), STATUS_ABSENT);
}

/* Starts a child that writes "f" and waits, with its temporary file there. */
static pid_t start_writer(bool watch, bool (*interrupted)(void)) {
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    FileWriter writer;
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);   /* handled or ignored by who started it */
    if (watch) ending_watch(interrupted);
    begin(&writer, "f", "child");
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return child;
}

static int end_child(pid_t child, int signal_number) {
  int status;
  kill(child, signal_number);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void temporaries_of_the_dead_are_removed_those_of_the_living_stay(void **state) {
  (void)state;
  FileWriter writer;
  put("f", "old");
  pid_t child = start_writer(false, NULL);
  begin(&writer, "f", "new");
  assert_int_equal(count_temporaries(), 2);
  assert_int_equal(file_commit(&writer), STATUS_OK);
  assert_int_equal(count_temporaries(), 1);
  assert_int_equal(end_child(child, SIGKILL), SIGKILL);
  assert_int_equal(count_temporaries(), 1);
  begin(&writer, "f", "newer");
  assert_int_equal(count_temporaries(), 1);   /* its own */
  file_abandon(&writer);
  check_content("f", "new");

  put(".f.ebb-backup", "a user's");
  put(".f.ebb-0123456789abcdeg", "a user's");
  put(".f.ebb-0123456789abcdef", "left by a version without locks");
  begin(&writer, "f", "newest");
  assert_int_equal(count_temporaries(), 3);
  assert_int_equal(file_commit(&writer), STATUS_OK);
  assert_int_equal(unlink(".f.ebb-backup") | unlink(".f.ebb-0123456789abcdeg") | unlink("f"), 0);
}

static bool never(void) { return false; }

static void signals_remove_temporaries_where_they_are_watched(void **state) {
  (void)state;
  static const int ending[] = {SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGXCPU, SIGABRT, SIGSEGV};
  put("f", "old");
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
    pid_t child = start_writer(true, never);
    assert_int_equal(count_temporaries(), 1);
    assert_int_equal(end_child(child, ending[i]), ending[i]);
    assert_int_equal(count_temporaries(), 0);
  }
  check_content("f", "old");
  unlink("f");
}

static volatile sig_atomic_t came;
static bool has_come(void) { return came != 0; }

static void after_ctrl_c_nothing_is_replaced_and_after_the_result_no_signal_counts(void **state) {
  (void)state;
  put("f", "old");
  pid_t child = fork();
  if (child == 0) {
    FileWriter writer;
    ending_watch(has_come);
    begin(&writer, "f", "new");
    came = 1;
    if (file_commit(&writer) != STATUS_IO || errno != EINTR || count_temporaries() != 0) _exit(1);
    came = 0;
    begin(&writer, "f", "new");
    if (file_commit(&writer) != STATUS_OK || ending_is_over()) _exit(2);   /* a script's own file */
    ending_conclude();
    begin(&writer, "f", "result");
    if (ending_is_over()) _exit(3);
    if (file_commit(&writer) != STATUS_OK || !ending_is_over()) _exit(4);
    raise(SIGTERM);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  check_content("f", "result");
  unlink("f");
}

static void a_locked_file_is_not_replaced_forever(void **state) {
  (void)state;
  FileWriter writer;
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  put("f", "old");
  int lock = open("f", O_RDWR);
  assert_int_equal(fcntl(lock, F_OFD_SETLK, &whole), 0);
  begin(&writer, "f", "new");
  assert_int_equal(file_commit(&writer), STATUS_IO);
  assert_int_equal(errno, EBUSY);
  close(lock);
  check_content("f", "old");
  begin(&writer, "f", "new");
  assert_int_equal(file_commit(&writer), STATUS_OK);
  check_content("f", "new");
  unlink("f");
}

static void mode_attributes_and_owner_are_kept_and_other_names_noted(void **state) {
  (void)state;
  FileWriter writer;
  put("f", "old");
  assert_int_equal(chmod("f", 0640), 0);
  bool attributes = setxattr("f", "user.note", "kept", 4, 0) == 0;
  bool root = geteuid() == 0 && chown("f", 65534, 65533) == 0;
  assert_int_equal(link("f", "g"), 0);
  begin(&writer, "f", "new");
  assert_int_equal(writer.lost, FILE_LOST_NAMES);
  assert_int_equal(file_commit(&writer), STATUS_OK);
  struct stat info;
  char value[4];
  assert_int_equal(stat("f", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);
  if (attributes) assert_int_equal(getxattr("f", "user.note", value, sizeof value), 4);
  if (root) {
    assert_int_equal(info.st_uid, 65534);
    assert_int_equal(info.st_gid, 65533);
  }
  check_content("g", "old");
  unlink("g");
  begin(&writer, "f", "newer");
  assert_int_equal(writer.lost, 0);
  file_abandon(&writer);
  unlink("f");
}

static bool same_target(const char *a, const char *b) {
  FileTarget one, other;
  if (!file_target(a, &one) || !file_target(b, &other)) return false;
  if (one.device != other.device || one.inode != other.inode) return false;
  if (one.name == NULL || other.name == NULL) return one.name == other.name;
  return strcmp(one.name, other.name) == 0;
}

static void names_of_one_target_are_the_same(void **state) {
  (void)state;
  assert_true(same_target("new", "new"));
  assert_true(same_target("new", "./new"));
  assert_false(same_target("new", "other"));
  assert_false(same_target("new", "absent/new"));
  put("f", "");
  assert_int_equal(symlink("f", "link"), 0);
  assert_true(same_target("f", "link"));
  assert_true(same_target("./f", "f"));
  assert_false(same_target("f", "new"));
  assert_int_equal(link("f", "other"), 0);
  assert_true(same_target("f", "other"));
  unlink("other");
  unlink("link");
  unlink("f");
}

int main(void) {
  static Fail fail;
  plain = fail_memory(&fail);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_in_another_state_is_a_conflict),
    cmocka_unit_test(temporaries_of_the_dead_are_removed_those_of_the_living_stay),
    cmocka_unit_test(signals_remove_temporaries_where_they_are_watched),
    cmocka_unit_test(after_ctrl_c_nothing_is_replaced_and_after_the_result_no_signal_counts),
    cmocka_unit_test(a_locked_file_is_not_replaced_forever),
    cmocka_unit_test(mode_attributes_and_owner_are_kept_and_other_names_noted),
    cmocka_unit_test(names_of_one_target_are_the_same),
  };
  return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
