/*
** Attacks on what lies outside of a confined process: other processes, files, sockets, the terminal, kernel memory.
**
** Each attack runs twice against a world of its own: unconfined, to see that it is one, and confined, where the call
** fails and the world stays as it was. All of it as the user who runs the tests and, for root, as an ordinary user.
*/
#define _GNU_SOURCE 1
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <termios.h>
#include <utime.h>

#include "confine_kit.h"

#define FCHMODAT2 452      /* newer than many headers */

/* ---- the world ---- */

typedef struct World {
  char folder[64], file[96], readable[96], socket[96], link[96];
  pid_t victim;            /* a process of the same user */
  int listener;            /* receives datagrams at `socket` */
  int terminal, keyboard;  /* a terminal, in raw mode without echo, and the side that types */
  int opened;              /* `readable`, open for reading */
} World;

static void put_file(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || write(file, "outside", 7) != 7) abort();
  struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
  futimens(file, times);
  fsetxattr(file, "user.mark", "1", 1, 0);      /* where the file system has them */
  close(file);
}

static void open_terminal(World *world) {
  world->keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (world->keyboard < 0 || grantpt(world->keyboard) != 0 || unlockpt(world->keyboard) != 0) abort();
  world->terminal = open(ptsname(world->keyboard), O_RDWR | O_NOCTTY);
  struct termios modes;
  if (world->terminal < 0 || tcgetattr(world->terminal, &modes) != 0) abort();
  cfmakeraw(&modes);
  tcsetattr(world->terminal, TCSANOW, &modes);
}

static void open_world(World *world) {
  snprintf(world->folder, sizeof world->folder, "%s/ebb-attacks-XXXXXX", P_tmpdir);
  if (mkdtemp(world->folder) == NULL) abort();
  snprintf(world->file, sizeof world->file, "%s/outside", world->folder);
  snprintf(world->readable, sizeof world->readable, "%s/readable", world->folder);
  snprintf(world->socket, sizeof world->socket, "%s/socket", world->folder);
  snprintf(world->link, sizeof world->link, "%s/link", world->folder);
  put_file(world->file);
  put_file(world->readable);
  world->opened = open(world->readable, O_RDONLY);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, world->socket);
  world->listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(world->listener, (struct sockaddr *)&address, sizeof address) != 0) abort();
  open_terminal(world);
  fflush(NULL);
  world->victim = fork();
  if (world->victim == 0) {
    for (;;) pause();
  }
}

static void close_world(World *world) {
  kill(world->victim, SIGKILL);
  waitpid(world->victim, NULL, 0);
  close(world->listener), close(world->terminal), close(world->keyboard), close(world->opened);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  if (system(command) != 0) abort();
}

static bool is_file_whole(const char *path) {
  struct stat info;
  char mark[4];
  bool marked = getxattr(path, "user.mark", mark, sizeof mark) == 1 || errno == ENOTSUP;
  return stat(path, &info) == 0 && info.st_mode == (S_IFREG | 0644) && info.st_mtime == 1000000 && info.st_size == 7 &&
         info.st_uid == geteuid() && info.st_nlink == 1 && marked;
}

static bool is_victim_well(const World *world) {
  siginfo_t change = {0};
  waitid(P_PID, (id_t)world->victim, &change, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
  struct rlimit limits, own;
  cpu_set_t cpus, own_cpus;
  return change.si_pid == 0 && prlimit(world->victim, RLIMIT_NOFILE, NULL, &limits) == 0 &&
         getrlimit(RLIMIT_NOFILE, &own) == 0 && limits.rlim_cur == own.rlim_cur &&
         getpriority(PRIO_PROCESS, (id_t)world->victim) == getpriority(PRIO_PROCESS, 0) &&
         sched_getscheduler(world->victim) == SCHED_OTHER &&
         sched_getaffinity(world->victim, sizeof cpus, &cpus) == 0 &&
         sched_getaffinity(0, sizeof own_cpus, &own_cpus) == 0 && CPU_EQUAL(&cpus, &own_cpus);
}

static bool is_terminal_quiet(const World *world) {
  int typed = 0, discipline = 0;
  struct termios modes;
  return ioctl(world->terminal, FIONREAD, &typed) == 0 && typed == 0 &&
         ioctl(world->terminal, TIOCGETD, &discipline) == 0 && discipline == 0 &&
         tcgetattr(world->terminal, &modes) == 0 && (modes.c_lflag & (ECHO | ICANON)) == 0;
}

/* What was done to the world, or NULL. */
static const char *harm(const World *world) {
  char byte;
  if (write(world->keyboard, "k", 1) != 1) return "the terminal is gone";      /* a signal for input would come now */
  struct pollfd typed = {.fd = world->terminal, .events = POLLIN};
  if (poll(&typed, 1, 1000) != 1) return "the terminal does not answer";
  if (read(world->terminal, &byte, 1) != 1 || byte != 'k') return "something was typed before";
  if (!is_victim_well(world)) return "the other process";
  if (!is_file_whole(world->file)) return "a file outside";
  if (!is_file_whole(world->readable)) return "a file that may be read";
  if (recv(world->listener, &byte, 1, 0) >= 0) return "a datagram arrived";
  return is_terminal_quiet(world) ? NULL : "the terminal";
}

/* ---- attacks; the call's answer, -1 with errno ---- */

/* Streams of the process: the terminal of the world, and its readable file. */
#define TERMINAL STDIN_FILENO
#define OPENED   STDOUT_FILENO

#define ATTACK(name, expression) \
  static long name(void *user) { \
    const World *world = user; \
    (void)world; \
    return (long)(expression); \
  }

/* What a call that makes a process answered; the new one ends. */
static long leave_child(long child) {
  if (child == 0) _exit(0);
  return child;
}

static const struct rlimit ONE = {1, 1};
static const siginfo_t QUEUED = {.si_signo = SIGKILL, .si_code = SI_QUEUE};
static const struct sched_param NO_PRIORITY = {0};
static const unsigned long FIRST_CPU = 1;

ATTACK(kill_by_kill, syscall(SYS_kill, world->victim, SIGKILL))
ATTACK(kill_by_tkill, syscall(SYS_tkill, world->victim, SIGKILL))
ATTACK(kill_by_tgkill, syscall(SYS_tgkill, world->victim, world->victim, SIGKILL))
ATTACK(kill_by_queue, syscall(SYS_rt_sigqueueinfo, world->victim, SIGKILL, &QUEUED))
ATTACK(kill_by_thread_queue, syscall(SYS_rt_tgsigqueueinfo, world->victim, world->victim, SIGKILL, &QUEUED))
ATTACK(stop, syscall(SYS_tgkill, world->victim, world->victim, SIGSTOP))
ATTACK(limit_files, syscall(SYS_prlimit64, world->victim, RLIMIT_NOFILE, &ONE, NULL))
ATTACK(lower_priority, syscall(SYS_setpriority, PRIO_PROCESS, world->victim, 19))
ATTACK(idle, syscall(SYS_sched_setscheduler, world->victim, SCHED_IDLE, &NO_PRIORITY))
ATTACK(pin, syscall(SYS_sched_setaffinity, world->victim, sizeof FIRST_CPU, &FIRST_CPU))
ATTACK(lower_io_priority, syscall(SYS_ioprio_set, 1, world->victim, 3 << 13))
ATTACK(trace, syscall(SYS_ptrace, 0x4206, world->victim, 0, 0))

static long kill_by_pidfd(void *user) {
  int fd = (int)syscall(SYS_pidfd_open, ((const World *)user)->victim, 0);
  return fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

/* The kernel sends the signal when something is typed. */
static long kill_by_owner(void *user) {
  const World *world = user;
  if (fcntl(TERMINAL, F_SETOWN, world->victim) != 0 || fcntl(TERMINAL, F_SETSIG, SIGKILL) != 0) return -1;
  return fcntl(TERMINAL, F_SETFL, O_RDWR | O_ASYNC);
}

static long kill_by_owner_of_ioctl(void *user) {
  const World *world = user;
  int on = 1;
  if (ioctl(TERMINAL, FIOSETOWN, &world->victim) != 0) return -1;
  return fcntl(TERMINAL, F_SETSIG, SIGKILL) != 0 ? -1 : ioctl(TERMINAL, FIOASYNC, &on);
}

ATTACK(change_mode, syscall(SYS_fchmodat, AT_FDCWD, world->file, 0))
ATTACK(change_mode_new, syscall(FCHMODAT2, AT_FDCWD, world->file, 0, 0))
ATTACK(change_mode_open, syscall(SYS_fchmod, OPENED, 0))
ATTACK(change_owner, syscall(SYS_fchownat, AT_FDCWD, world->file, 1, 1, 0))
ATTACK(change_owner_open, syscall(SYS_fchown, OPENED, 1, 1))
ATTACK(change_times, syscall(SYS_utimensat, AT_FDCWD, world->file, NULL, 0))
ATTACK(change_times_open, syscall(SYS_utimensat, OPENED, NULL, NULL, 0))
ATTACK(set_attribute, setxattr(world->file, "user.mark", "22", 2, 0))
ATTACK(set_attribute_open, fsetxattr(OPENED, "user.mark", "22", 2, 0))
ATTACK(remove_attribute, removexattr(world->file, "user.mark"))
ATTACK(cut, syscall(SYS_truncate, world->file, 1))
ATTACK(cut_open, open(world->file, O_WRONLY | O_TRUNC))
ATTACK(remove_file, syscall(SYS_unlinkat, AT_FDCWD, world->file, 0))
ATTACK(rename_file, syscall(SYS_renameat2, AT_FDCWD, world->file, AT_FDCWD, world->readable, 0))
ATTACK(link_file, syscall(SYS_linkat, AT_FDCWD, world->file, AT_FDCWD, world->link, 0))
ATTACK(link_by_name, syscall(SYS_symlinkat, world->file, AT_FDCWD, world->link))
#ifdef __x86_64__
static const struct timeval TIMES[2];

ATTACK(change_mode_old, syscall(SYS_chmod, world->file, 0))
ATTACK(change_owner_old, syscall(SYS_chown, world->file, 1, 1))
ATTACK(change_owner_of_link, syscall(SYS_lchown, world->file, 1, 1))
ATTACK(change_times_old, syscall(SYS_utimes, world->file, TIMES))
ATTACK(change_times_oldest, syscall(SYS_utime, world->file, NULL))
ATTACK(fork_old, leave_child(syscall(SYS_fork)))
#endif

static struct sockaddr_un address_of(const World *world) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, world->socket);
  return address;
}

static long send_by_pair(void *user) {
  struct sockaddr_un address = address_of(user);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return -1;
  return sendto(pair[0], "x", 1, 0, (struct sockaddr *)&address, sizeof address);
}

static long send_by_message(void *user) {
  struct sockaddr_un address = address_of(user);
  struct iovec bytes = {.iov_base = "x", .iov_len = 1};
  struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &bytes, .msg_iovlen = 1};
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  return fd < 0 ? -1 : sendmsg(fd, &message, 0);
}

static long send_connected(void *user) {
  struct sockaddr_un address = address_of(user);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return -1;
  if (connect(pair[0], (struct sockaddr *)&address, sizeof address) != 0) return -1;
  return write(pair[0], "x", 1);
}

/* Makes the terminal that of this process: only then it takes input from it. */
static long own_terminal(void) {
  setsid();
  return ioctl(TERMINAL, TIOCSCTTY, 0);
}

static const int HDLC = 13;      /* another line discipline */
static const char PASTE[2] = {3, 0};
static struct termios COOKED = {.c_lflag = ECHO | ICANON};

ATTACK(type, (own_terminal(), ioctl(TERMINAL, TIOCSTI, "i")))
ATTACK(type_with_more_bits, (own_terminal(), syscall(SYS_ioctl, TERMINAL, TIOCSTI | 1L << 32, "i")))
ATTACK(paste, ioctl(TERMINAL, TIOCLINUX, PASTE))
ATTACK(set_discipline, ioctl(TERMINAL, TIOCSETD, &HDLC))
ATTACK(set_modes, ioctl(TERMINAL, TCSETS, &COOKED))
ATTACK(take_terminal, own_terminal())

ATTACK(clone_process, leave_child(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)))
ATTACK(clone_namespace, syscall(SYS_unshare, CLONE_NEWUSER))
ATTACK(execute, (execl("/bin/true", "true", (char *)NULL), -1))
ATTACK(outlive_parent, prctl(PR_SET_PDEATHSIG, 0))
ATTACK(be_traced, prctl(PR_SET_DUMPABLE, 1))
ATTACK(leave_session, syscall(SYS_setsid))
ATTACK(memory_file, syscall(SYS_memfd_create, "x", 0))
ATTACK(shared_memory, syscall(SYS_shmget, 0, 4096, 01600))
ATTACK(message_queue, syscall(SYS_msgget, 0, 01600))
ATTACK(add_key, syscall(SYS_add_key, "user", "ebb", "x", 1L, -2L))
ATTACK(ring, syscall(SYS_io_uring_setup, 1, NULL))
ATTACK(open_pipe, pipe((int[2]){0, 0}))

static int end_thread(void *user) {
  (void)user;
  return 0;
}

static long clone_thread(void *user) {
  (void)user;
  static char stack[65536] __attribute__((aligned(16)));
  return clone(end_thread, stack + sizeof stack,
               CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
}

static long clone_new(void *user) {
  (void)user;
  struct clone_args arguments = {.exit_signal = SIGCHLD};
  return leave_child(syscall(SYS_clone3, &arguments, sizeof arguments));
}

/* ---- the rows ---- */

typedef struct Row {
  const char *name;
  Confined attack;
} Row;

#define ROW(name) {#name, name}

static const Row ROWS[] = {
  ROW(kill_by_kill), ROW(kill_by_tkill), ROW(kill_by_tgkill), ROW(kill_by_queue), ROW(kill_by_thread_queue),
  ROW(kill_by_pidfd), ROW(kill_by_owner), ROW(kill_by_owner_of_ioctl), ROW(stop), ROW(trace),
  ROW(limit_files), ROW(lower_priority), ROW(idle), ROW(pin), ROW(lower_io_priority),
  ROW(change_mode), ROW(change_mode_new), ROW(change_mode_open), ROW(change_owner), ROW(change_owner_open),
  ROW(change_times), ROW(change_times_open), ROW(set_attribute), ROW(set_attribute_open), ROW(remove_attribute),
  ROW(cut), ROW(cut_open), ROW(remove_file), ROW(rename_file), ROW(link_file), ROW(link_by_name),
  ROW(send_by_pair), ROW(send_by_message), ROW(send_connected),
  ROW(type), ROW(type_with_more_bits), ROW(paste), ROW(set_discipline), ROW(set_modes), ROW(take_terminal),
  ROW(clone_process), ROW(clone_thread), ROW(clone_new), ROW(clone_namespace), ROW(execute), ROW(outlive_parent),
  ROW(be_traced), ROW(leave_session), ROW(memory_file), ROW(shared_memory), ROW(message_queue), ROW(add_key), ROW(ring),
  ROW(open_pipe),
#ifdef __x86_64__
  ROW(change_mode_old), ROW(change_owner_old), ROW(change_owner_of_link), ROW(change_times_old),
  ROW(change_times_oldest), ROW(fork_old),
#endif
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

typedef struct Trial {
  const Row *row;
  World *world;
  bool confined;
} Trial;

static long attempt(void *user) {
  const Trial *trial = user;
  if (dup2(trial->world->terminal, TERMINAL) < 0 || dup2(trial->world->opened, OPENED) < 0) abort();
  if (trial->confined) hold((const char *const[]){trial->world->readable, NULL});
  errno = 0;
  return trial->row->attack(trial->world);
}

/* Tries an attack in a new world; *damage: what it did there, or NULL. */
static Answer answer_to(const Row *row, bool confined, const char **damage) {
  World world;
  open_world(&world);
  Trial trial = {.row = row, .world = &world, .confined = confined};
  Answer answer = answer_of(false, NOTHING, attempt, &trial);
  *damage = harm(&world);
  close_world(&world);
  return answer;
}

static bool is_refusal(int error) { return error == EPERM || error == ENOSYS || error == EACCES; }

/* The number of attacks that got through; says which. */
static int count_successes(const char *user) {
  int successes = 0, real = 0;
  for (int i = 0; i < ROW_COUNT; i++) {
    const char *damage;
    Answer before = answer_to(&ROWS[i], false, &damage);
    real += damage != NULL || before.ended || before.value >= 0;
    Answer answer = answer_to(&ROWS[i], true, &damage);
    if (damage == NULL && !answer.ended && answer.value == -1 && is_refusal(answer.error)) continue;
    print_error("%s: %s: harm: %s; answer %ld, %s\n", user, ROWS[i].name, damage != NULL ? damage : "none",
                answer.value, answer.ended ? "ended" : strerror(answer.error));
    successes++;
  }
  print_message("swept: %d attacks by %s; %d of them succeed without confinement\n", ROW_COUNT, user, real);
  return real > ROW_COUNT / 2 ? successes : -1;
}

static void no_attack_succeeds(void **state) {
  (void)state;
  if (!can_confine()) skip();
  assert_int_equal(count_successes(geteuid() == 0 ? "root" : "an ordinary user"), 0);
}

static long be_ordinary(void *user) {
  (void)user;
  if (setgroups(0, NULL) != 0 || setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0) return -1;
  last_answer = NULL;      /* this process calls answer_of itself */
  return count_successes("an ordinary user");
}

static void no_attack_of_an_ordinary_user_succeeds(void **state) {
  (void)state;
  if (geteuid() != 0 || !can_confine()) skip();
  assert_int_equal(answer_of(false, NOTHING, be_ordinary, NULL).value, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_attack_succeeds),
    cmocka_unit_test(no_attack_of_an_ordinary_user_succeeds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
