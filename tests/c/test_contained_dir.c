/*
** Reading beneath a folder: every name that might lead out of it, or
** at something that is not a file; with openat2 and without. The folder, with what lies beside it:
**
**     secret.txt            a FIFO, a socket, links to in and out, to a folder,
**     root/ a.txt  sub/     to /proc/self/root, to itself ...
*/
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "os/os.h"

/* ---- the folder ---- */

static char folder[64];      /* a new one below TMPDIR; the tests work within it */
static int home;

static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
}

static void put_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof address), 0);
  close(file);
}

static int make_folder(void **state) {
  (void)state;
  const char *temporary = getenv("TMPDIR");
  home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (chdir(temporary != NULL && temporary[0] != '\0' ? temporary : P_tmpdir) != 0) return -1;
  snprintf(folder, sizeof folder, "ebb-beneath-XXXXXX");
  if (home < 0 || mkdtemp(folder) == NULL || chdir(folder) != 0) return -1;
  if (mkdir("root", 0700) != 0 || mkdir("root/sub", 0700) != 0 || mkdir("root/sub/deep", 0700) != 0) return -1;
  put("secret.txt", "secret");
  put("root/a.txt", "inside");
  put("root/empty", "");
  put("root/sub/b.txt", "below");
  put("root/sub/deep/..c", "dots");
  put("root/large", "0123456789");
  if (mkfifo("root/fifo", 0600) != 0) return -1;
  put_socket("root/socket");
  static const char *const links[][2] = {
    {"../secret.txt", "root/link_out"}, {"a.txt", "root/link_in"}, {"sub", "root/link_folder"}, {"..", "root/link_up"},
    {"/proc/self/root", "root/link_magic"}, {"loop", "root/loop"}, {"nothing", "root/dangling"},
    {"/", "root/sub/link_top"}, {"root", "root_link"},
  };
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    if (symlink(links[i][0], links[i][1]) != 0) return -1;
  }
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  if (chdir("..") != 0) return -1;
  snprintf(command, sizeof command, "rm -r ./%s", folder);
  int status = system(command);
  status |= fchdir(home);
  close(home);
  return status;
}

/* ---- one reading ---- */

static Status try(ContainedDir *beneath, const char *path, size_t size, size_t cap, Buffer *out, const char **why) {
  char *exact = malloc(size + (size == 0));
  memcpy(exact, path, size);
  *why = "";
  Status status = contained_dir_read(beneath, text_plain(exact, size), cap, out, why);
  free(exact);
  return status;
}

static int count_descriptors(void) {
  int count = 0;
  for (int file = 0; file < 256; file++) count += fcntl(file, F_GETFD) != -1;
  return count;
}

static void with_each(void (*run)(ContainedDir *beneath)) {
  for (int walks = 0; walks < 2; walks++) {
    int before = count_descriptors();
    ContainedDir beneath;
    assert_int_equal(contained_dir_open(&beneath, "root"), STATUS_OK);
    beneath.walks = walks == 1;
    run(&beneath);
    contained_dir_close(&beneath);
    contained_dir_close(&beneath);
    assert_int_equal(count_descriptors(), before);
  }
}

/* ---- what is read ---- */

static void read_files(ContainedDir *beneath) {
  static const struct { const char *path, *text; } files[] = {
    {"a.txt", "inside"}, {"./a.txt", "inside"}, {"empty", ""}, {"sub/b.txt", "below"}, {"sub//./b.txt", "below"},
    {"sub/deep/..c", "dots"},
  };
  Buffer out;
  buffer_init(&out, memory_system());
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const char *why;
    buffer_reset(&out);
    Status status = try(beneath, files[i].path, strlen(files[i].path), 6, &out, &why);
    if (status != STATUS_OK) fail_msg("%s: %s", files[i].path, why);
    assert_int_equal(out.size, strlen(files[i].text));
    assert_memory_equal(out.bytes, files[i].text, out.size);
  }
  buffer_free(&out);
}

static void files_beneath_are_read(void **state) {
  (void)state;
  with_each(read_files);
}

static void the_folder_may_be_a_link_and_stays_the_same(void **state) {
  (void)state;
  ContainedDir beneath;
  assert_int_equal(contained_dir_open(&beneath, "root_link"), STATUS_OK);
  assert_int_equal(rename("root", "moved"), 0);
  read_files(&beneath);
  assert_int_equal(rename("moved", "root"), 0);
  contained_dir_close(&beneath);
  assert_int_equal(contained_dir_open(&beneath, "nothing"), STATUS_ABSENT);
  assert_int_equal(contained_dir_open(&beneath, "secret.txt"), STATUS_ABSENT);
  assert_int_equal(beneath.folder, -1);
}

/* ---- what is refused ---- */

typedef struct Attack {
  const char *path;
  size_t size;
  Status status;
  const char *why;
} Attack;

#define PATH(text) text, sizeof text - 1
#define NO STATUS_FORBIDDEN

static const Attack ATTACKS[] = {
  {PATH("../secret.txt"), NO, "'..'"},           {PATH(".."), NO, "'..'"},
  {PATH("sub/../a.txt"), NO, "'..'"},            {PATH("sub/../../secret.txt"), NO, "'..'"},
  {PATH("./../secret.txt"), NO, "'..'"},         {PATH("sub/.."), NO, "'..'"},
  {PATH("/etc/passwd"), NO, "absolute"},         {PATH("//etc/passwd"), NO, "absolute"},
  {PATH("/"), NO, "absolute"},                   {PATH(""), NO, "a path is expected"},
  {PATH("a.txt\0.png"), NO, "NUL"},              {PATH("\0"), NO, "NUL"},
  {PATH("link_out"), NO, "symbolic link"},       {PATH("link_in"), NO, "symbolic link"},
  {PATH("link_folder/b.txt"), NO, "symbolic link"}, {PATH("link_folder"), NO, "symbolic link"},
  {PATH("link_up/secret.txt"), NO, "symbolic link"}, {PATH("link_magic/etc/passwd"), NO, "symbolic link"},
  {PATH("sub/link_top/etc/passwd"), NO, "symbolic link"}, {PATH("link_folder/"), NO, "symbolic link"},
  {PATH("loop"), NO, "symbolic link"},           {PATH("dangling"), NO, "symbolic link"},
  {PATH("fifo"), NO, "FIFO"},                    {PATH("socket"), NO, "socket"},
  {PATH("sub"), NO, "folder"},                   {PATH("."), NO, "folder"},
  {PATH("sub/"), NO, "folder"},                  {PATH("nothing"), STATUS_ABSENT, "no such file"},
  {PATH("sub/nothing/x"), STATUS_ABSENT, "no such file"}, {PATH("a.txt/x"), STATUS_ABSENT, "not a folder"},
  {PATH("a.txt/"), STATUS_ABSENT, "not a folder"},  {PATH("large"), STATUS_LIMIT, "too large"},
};

static void refuse_attacks(ContainedDir *beneath) {
  Buffer out;
  buffer_init(&out, memory_system());
  assert_int_equal(buffer_add_string(&out, "before"), STATUS_OK);
  for (size_t i = 0; i < sizeof ATTACKS / sizeof *ATTACKS; i++) {
    const Attack *attack = &ATTACKS[i];
    const char *why;
    Status status = try(beneath, attack->path, attack->size, 9, &out, &why);
    if (status != attack->status || strstr(why, attack->why) == NULL) {
      fail_msg("%s: %s, %s", attack->path, status_code(status), why);
    }
    assert_int_equal(out.size, 6);
  }
  buffer_free(&out);
}

static void names_that_lead_elsewhere_are_refused(void **state) {
  (void)state;
  alarm(20);                                 /* none of them may block */
  with_each(refuse_attacks);
  alarm(0);
}

static void refuse_long_names(ContainedDir *beneath) {
  static const size_t sizes[] = {256, 4095, 4096, 100000};
  Buffer out;
  buffer_init(&out, memory_system());
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *name = malloc(sizes[i]);
    const char *why;
    memset(name, 'n', sizes[i]);
    assert_int_equal(try(beneath, name, sizes[i], 9, &out, &why), STATUS_ABSENT);
    assert_string_equal(why, "its name is too long");
    free(name);
  }
  buffer_free(&out);
}

static void long_names_are_refused(void **state) {
  (void)state;
  with_each(refuse_long_names);
}

/* A writer waits for a reader of the FIFO: an attempt to read it must not look like one. */
static void leave_fifo_alone(ContainedDir *beneath) {
  Buffer out;
  buffer_init(&out, memory_system());
  pid_t writer = fork();
  if (writer == 0) {
    int file = open("root/fifo", O_WRONLY | O_CLOEXEC);
    _exit(file >= 0 ? 1 : 0);
  }
  usleep(20000);
  const char *why;
  assert_int_equal(try(beneath, "fifo", 4, 9, &out, &why), STATUS_FORBIDDEN);
  usleep(20000);
  assert_int_equal(waitpid(writer, NULL, WNOHANG), 0);
  kill(writer, SIGKILL);
  waitpid(writer, NULL, 0);
  buffer_free(&out);
}

static void a_fifo_is_not_even_opened(void **state) {
  (void)state;
  with_each(leave_fifo_alone);
}

static void devices_are_refused(void **state) {
  (void)state;
  for (int walks = 0; walks < 2; walks++) {
    ContainedDir beneath;
    Buffer out;
    const char *why;
    buffer_init(&out, memory_system());
    assert_int_equal(contained_dir_open(&beneath, "/dev"), STATUS_OK);
    beneath.walks = walks == 1;
    assert_int_equal(try(&beneath, "zero", 4, 9, &out, &why), STATUS_FORBIDDEN);
    assert_string_equal(why, "it is a device");
    contained_dir_close(&beneath);
    assert_int_equal(contained_dir_open(&beneath, "/proc/self"), STATUS_OK);
    beneath.walks = walks == 1;
    assert_int_equal(try(&beneath, "root/etc/passwd", 15, 9999, &out, &why), STATUS_FORBIDDEN);
    assert_string_equal(why, "a symbolic link is not followed");
    assert_int_equal(try(&beneath, "stat", 4, 99999, &out, &why), STATUS_IO);      /* says 0 bytes and has more */
    assert_string_equal(why, "it changed while it was read");
    contained_dir_close(&beneath);
    buffer_free(&out);
  }
}

static void refuse_unreadable(ContainedDir *beneath) {
  Buffer out;
  const char *why;
  buffer_init(&out, memory_system());
  assert_int_equal(chmod("root/a.txt", 0), 0);
  Status status = try(beneath, "a.txt", 5, 9, &out, &why);
  assert_int_equal(chmod("root/a.txt", 0600), 0);
  if (geteuid() == 0) assert_int_equal(status, STATUS_OK);      /* root reads all */
  else assert_string_equal(why, "it may not be read");
  buffer_free(&out);
}

static void what_may_not_be_read_says_so(void **state) {
  (void)state;
  with_each(refuse_unreadable);
}

/* ---- files that change ---- */

/* The block for the bytes is asked for between the look at the size and the reading. */
typedef struct Meddler {
  Fail fail;
  off_t size;                /* to cut or stretch the file to; -1: it stays, but was written to */
} Meddler;

static void *allocate_and_meddle(void *user, void *block, size_t old_size, size_t new_size) {
  Meddler *meddler = user;
  static const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  if (new_size > 0 && meddler->size >= 0) assert_int_equal(truncate("root/large", meddler->size), 0);
  if (new_size > 0 && meddler->size < 0) assert_int_equal(utimensat(AT_FDCWD, "root/large", then, 0), 0);
  return fail_allocate(&meddler->fail, block, old_size, new_size);
}

static void refuse_changed(ContainedDir *beneath) {
  static const off_t sizes[] = {9, 0, 11, 100000, -1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    put("root/large", "0123456789");
    Meddler meddler = {.size = sizes[i]};
    Buffer out;
    const char *why = "";
    buffer_init(&out, (Memory){.allocate = allocate_and_meddle, .user = &meddler});
    assert_int_equal(try(beneath, "large", 5, 10, &out, &why), STATUS_IO);
    assert_string_equal(why, "it changed while it was read");
    assert_int_equal(out.size, 0);
    buffer_free(&out);
    assert_int_equal(meddler.fail.in_use, 0);
  }
  put("root/large", "0123456789");
}

static void a_file_that_changes_while_it_is_read_is_refused(void **state) {
  (void)state;
  with_each(refuse_changed);
}

/* A child swaps the file for a link to the secret, and for a FIFO, all the time. */
static _Noreturn void swap_for_ever(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);          /* it ends with the test, however that ends */
  for (;;) {
    unlink("root/swapped.new");
    put("root/swapped.new", "inside");
    rename("root/swapped.new", "root/swapped");
    if (symlink("../secret.txt", "root/swapped.new") == 0) rename("root/swapped.new", "root/swapped");
    if (mkfifo("root/swapped.new", 0600) == 0) rename("root/swapped.new", "root/swapped");
  }
}

/* On a busy machine the child may not run during the first tries. */
enum { SWAP_TRIES = 20000, SWAP_TRIES_MAX = 100 * SWAP_TRIES };

static void read_swapped(ContainedDir *beneath) {
  put("root/swapped", "inside");
  pid_t child = fork();
  if (child == 0) swap_for_ever();
  int read = 0, refused = 0;
  Buffer out;
  buffer_init(&out, memory_system());
  for (int i = 0; i < SWAP_TRIES || ((read == 0 || refused == 0) && i < SWAP_TRIES_MAX); i++) {
    const char *why;
    buffer_reset(&out);
    Status status = try(beneath, "swapped", 7, 100, &out, &why);
    read += status == STATUS_OK;
    refused += status != STATUS_OK;
    if (status == STATUS_OK && (out.size != 6 || memcmp(out.bytes, "inside", 6) != 0)) fail_msg("the secret was read");
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  buffer_free(&out);
  unlink("root/swapped");
  unlink("root/swapped.new");
  assert_true(read > 0 && refused > 0);      /* or nothing was tried */
}

static void a_file_that_becomes_a_link_is_never_followed(void **state) {
  (void)state;
  alarm(60);
  with_each(read_swapped);
  alarm(0);
}

/* ---- kernels without openat2 ---- */

/* From now on openat2 fails in this process. */
static bool forbid_openat2(int error) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* 0: all as it should be; 77: nothing can be forbidden here. */
static int read_without_openat2(int error) {
  if (!forbid_openat2(error)) return 77;
  ContainedDir beneath;
  Buffer out;
  const char *why = "";
  buffer_init(&out, memory_system());
  if (contained_dir_open(&beneath, "root") != STATUS_OK || beneath.walks) return 1;
  if (contained_dir_read(&beneath, text_of("sub/b.txt"), 9, &out, &why) != STATUS_OK || !beneath.walks) return 2;
  if (out.size != 5 || memcmp(out.bytes, "below", 5) != 0) return 3;
  if (contained_dir_read(&beneath, text_of("link_folder/b.txt"), 9, &out, &why) != STATUS_FORBIDDEN) return 4;
  buffer_free(&out);
  contained_dir_close(&beneath);
  return 0;
}

static void without_openat2_names_are_walked(void **state) {
  (void)state;
  static const int errors[] = {ENOSYS, EPERM};
  for (size_t i = 0; i < 2; i++) {
    pid_t child = fork();
    if (child == 0) _exit(read_without_openat2(errors[i]));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) print_message("skipped: no filter of system calls here\n");
    else assert_int_equal(WEXITSTATUS(status), 0);
  }
}

static void run_out_of_memory(ContainedDir *beneath) {
  Fail fail = {.fail_at = 1};
  Buffer out;
  const char *why;
  buffer_init(&out, fail_memory(&fail));
  assert_int_equal(try(beneath, "a.txt", 5, 9, &out, &why), STATUS_MEMORY);
  assert_int_equal(out.size, 0);
  fail.fail_at = 0;
  assert_int_equal(try(beneath, "a.txt", 5, 9, &out, &why), STATUS_OK);
  assert_int_equal(out.size, 6);
  buffer_free(&out);
  assert_int_equal(fail.in_use, 0);
}

static void out_of_memory_changes_nothing(void **state) {
  (void)state;
  with_each(run_out_of_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_beneath_are_read),
    cmocka_unit_test(the_folder_may_be_a_link_and_stays_the_same),
    cmocka_unit_test(names_that_lead_elsewhere_are_refused),
    cmocka_unit_test(long_names_are_refused),
    cmocka_unit_test(a_fifo_is_not_even_opened),
    cmocka_unit_test(devices_are_refused),
    cmocka_unit_test(what_may_not_be_read_says_so),
    cmocka_unit_test(a_file_that_changes_while_it_is_read_is_refused),
    cmocka_unit_test(a_file_that_becomes_a_link_is_never_followed),
    cmocka_unit_test(without_openat2_names_are_walked),
    cmocka_unit_test(out_of_memory_changes_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
