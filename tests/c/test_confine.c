/*
** Confined processes: which system calls pass, by trying every number; what stays open, and what happens when
** the parent ends. Attacks by name: test_confine_attacks.c.
*/
#define _GNU_SOURCE 1
#include <asm/ioctls.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "confine_kit.h"

enum { CALLS = 480, FIRST_COMMON = 424, X32 = 0x40000000 };

/* ---- every number ---- */

/* The calls that pass with any arguments. */
static const int PASSING[] = {
  SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_close, SYS_fstat, SYS_ftruncate,
  SYS_fsync, SYS_fdatasync, SYS_fadvise64, SYS_getdents64, SYS_fgetxattr, SYS_dup, SYS_dup3, SYS_ppoll,
  SYS_openat, SYS_openat2, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getcwd,
  SYS_getxattr, SYS_listxattr, SYS_mkdirat, SYS_unlinkat, SYS_renameat, SYS_renameat2,
  SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex,
  SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall,
  SYS_getrandom,
  SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_getpid, SYS_gettid, SYS_getuid,
  SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sysinfo, SYS_sched_yield, SYS_exit, SYS_exit_group,
#ifdef __x86_64__
  SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename, SYS_dup2,
  SYS_poll, SYS_time,
#endif
};

static bool passes(int number) {
  for (size_t i = 0; i < sizeof PASSING / sizeof *PASSING; i++) {
    if (PASSING[i] == number) return true;
  }
  return false;
}

/* Arguments that no call takes: bad addresses, descriptors, sizes and flags. */
static long call_number(void *user) { return syscall(*(long *)user, -1L, -1L, -1L, -1L, -1L, -1L); }

/* The kernel's own calls of probes, which no filter sees, fail in a process that is not probed. */
static bool is_probe(int number, const Answer *answer) {
  return (number == 335 || number == 336) && (answer->signal == SIGILL || answer->error == ENXIO);
}

static bool is_refused(int number, const Answer *answer) {
  return answer->signal == SIGSYS || is_probe(number, answer) ||
         (!answer->ended && answer->value == -1 && answer->error == (number < FIRST_COMMON ? EPERM : ENOSYS));
}

static void no_other_system_call_passes(void **state) {
  (void)state;
  if (!can_confine()) skip();
  int passing = 0;
  for (long number = 0; number < CALLS; number++) {
    Answer answer = answer_of(true, NOTHING, call_number, &number);
    if (is_refused((int)number, &answer) == passes((int)number)) {
      print_error("call %ld: expected it %s\n", number, passes((int)number) ? "to pass" : "to be refused");
      fail();
    }
    passing += passes((int)number);
  }
  assert_int_equal(passing, sizeof PASSING / sizeof *PASSING);      /* the numbers were all of them */
}

static void other_tables_of_calls_end_the_process(void **state) {
  (void)state;
  if (!can_confine()) skip();
#ifdef __x86_64__
  for (long number = 0; number < 560; number++) {
    long other = number | X32;
    assert_int_equal(answer_of(true, NOTHING, call_number, &other).signal, SIGSYS);
  }
  long negative = -1;
  assert_int_equal(answer_of(true, NOTHING, call_number, &negative).signal, SIGSYS);
#endif
}

/* ---- calls that pass with some arguments ---- */

typedef struct Row {
  bool passes;
  long call, arguments[3];
} Row;

enum { OWN = 0x5e1f };      /* stands for the id of the process in a row */

static long call_row(void *user) {
  const Row *row = user;
  long arguments[3];
  for (int i = 0; i < 3; i++) arguments[i] = row->arguments[i] == OWN ? getpid() : row->arguments[i];
  return syscall(row->call, arguments[0], arguments[1], arguments[2], 0L, 0L, 0L);
}

static struct rlimit LIMITS;

static void arguments_decide_over_some_calls(void **state) {
  (void)state;
  if (!can_confine()) skip();
  const long upper = 1L << 32;      /* the kernel ignores it in an int */
  static char bytes[128];
  const Row rows[] = {
    {true, SYS_kill, {OWN, 0}}, {true, SYS_tkill, {OWN, 0}}, {true, SYS_tgkill, {OWN, OWN, 0}},
    {false, SYS_kill, {0, 0}}, {false, SYS_kill, {-1, 0}}, {false, SYS_kill, {getpid(), 0}},
    {false, SYS_tkill, {getpid(), 0}}, {false, SYS_tgkill, {getpid(), getpid(), 0}},
    {false, SYS_kill, {getpid() | upper, 0}},
    {true, SYS_ioctl, {-1, TIOCGWINSZ, 0}}, {true, SYS_ioctl, {-1, TCGETS, 0}},
    {false, SYS_ioctl, {-1, TIOCSTI, 0}}, {false, SYS_ioctl, {-1, TIOCSTI | upper, 0}},
    {false, SYS_ioctl, {-1, FIOASYNC, 0}}, {false, SYS_ioctl, {-1, FIONBIO, 0}},
    {true, SYS_fcntl, {-1, F_GETFD, 0}}, {true, SYS_fcntl, {-1, F_OFD_SETLK, 0}}, {true, SYS_fcntl, {-1, F_DUPFD, 0}},
    {false, SYS_fcntl, {-1, F_SETFL, 0}}, {false, SYS_fcntl, {-1, F_SETOWN, 0}}, {false, SYS_fcntl, {-1, F_SETSIG, 0}},
    {false, SYS_fcntl, {-1, F_SETPIPE_SZ, 0}}, {false, SYS_fcntl, {-1, F_SETLEASE, 0}}, {false, SYS_fcntl, {-1, F_NOTIFY, 0}},
    {true, SYS_prlimit64, {0, RLIMIT_NOFILE, 0}},
    {false, SYS_prlimit64, {0, RLIMIT_NOFILE, (long)&LIMITS}}, {false, SYS_prlimit64, {0, RLIMIT_NOFILE, upper}},
    {false, SYS_prlimit64, {getpid(), RLIMIT_NOFILE, 0}},
    {true, SYS_sched_getaffinity, {0, sizeof bytes, (long)bytes}},
    {false, SYS_sched_getaffinity, {getpid(), sizeof bytes, (long)bytes}},
  };
  getrlimit(RLIMIT_NOFILE, &LIMITS);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Row row = rows[i];
    Answer answer = answer_of(true, NOTHING, call_row, &row);
    bool refused = answer.value == -1 && answer.error == EPERM;
    if (answer.ended || refused == row.passes) {
      print_error("call %ld, row %zu: expected it %s\n", row.call, i, row.passes ? "to pass" : "to be refused");
      fail();
    }
  }
}

/* ---- descriptors and files ---- */

static long count_open(void *user) {
  (void)user;
  long count = 0;
  for (int fd = 0; fd < CONFINE_OPEN_FILES; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void only_four_descriptors_stay_open(void **state) {
  (void)state;
  if (!can_confine()) skip();
  int extra[3] = {open("/", O_RDONLY), open("/dev/null", O_RDWR), dup(STDIN_FILENO)};
  int high = fcntl(extra[0], F_DUPFD, 50);
  assert_true(high >= 50);
  assert_int_equal(answer_of(true, NOTHING, count_open, NULL).value, CONFINE_KEPT + 1);
  for (int i = 0; i < 3; i++) close(extra[i]);
  close(high);
}

static long open_path(void *user) { return open(user, O_RDONLY); }

static void files_open_where_they_are_allowed(void **state) {
  (void)state;
  if (!can_confine()) skip();
  const char *const read[] = {"/dev/null", "/no/such/file", NULL};
  assert_true(answer_of(true, read, open_path, "/dev/null").value >= 0);
  Answer other = answer_of(true, read, open_path, "/dev/zero");
  assert_int_equal(other.value, -1);
  assert_int_equal(other.error, EACCES);
}

/* ---- Landlock without seccomp ---- */

static long signal_outward(void *user) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -2;
  const char *problem = confine_files(NOTHING, NOTHING);
  return problem != NULL ? -2 : kill(*(pid_t *)user, 0);
}

/* The list of calls leaves no way to send one; where the kernel can, its scopes hold it once more. */
static void files_confined_send_no_signal_outward(void **state) {
  (void)state;
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  if (version < 6) {
    print_message("skipped: Landlock has no scopes here\n");
    skip();
  }
  pid_t self = getpid();
  Answer answer = answer_of(false, NOTHING, signal_outward, &self);
  assert_int_equal(answer.value, -1);
  assert_int_equal(answer.error, EPERM);
}

/* ---- the parent ---- */

/* Confines itself with a pipe as its kept descriptor, tries to outlive its parent, and waits. */
static _Noreturn void outlive(int pipe_end) {
  Confinement confinement = confinement_of(pipe_end, NOTHING);
  if (confine(&confinement) != NULL) _exit(1);
  prctl(PR_SET_PDEATHSIG, 0);
  syscall(SYS_setsid);
  char byte = 'x';
  if (write(CONFINE_KEPT, &byte, 1) != 1) _exit(1);
  for (;;) nanosleep(&(struct timespec){.tv_sec = 20}, NULL);
}

static void the_end_of_the_parent_is_the_end(void **state) {
  (void)state;
  if (!can_confine()) skip();
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t parent = fork();
  assert_true(parent >= 0);
  if (parent == 0) {
    if (fork() == 0) outlive(ends[1]);
    for (;;) pause();
  }
  close(ends[1]);
  char byte;
  assert_int_equal(read(ends[0], &byte, 1), 1);      /* it is confined now */
  kill(parent, SIGKILL);
  assert_int_equal(waitpid(parent, NULL, 0), parent);
  struct pollfd end = {.fd = ends[0], .events = POLLIN};
  assert_int_equal(poll(&end, 1, 15000), 1);         /* before it wakes by itself */
  assert_int_equal(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_other_system_call_passes),
    cmocka_unit_test(other_tables_of_calls_end_the_process),
    cmocka_unit_test(arguments_decide_over_some_calls),
    cmocka_unit_test(only_four_descriptors_stay_open),
    cmocka_unit_test(files_open_where_they_are_allowed),
    cmocka_unit_test(files_confined_send_no_signal_outward),
    cmocka_unit_test(the_end_of_the_parent_is_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
