#define _DEFAULT_SOURCE 1
#include "host/ending.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* How long a process may take to end after SIGTERM, in milliseconds. One without a group of its own is a fork of this
   one, which may have to end groups first. Ctrl-C ends all within 100 ms. */
enum { GROUP_GRACE_MS = 40, PROCESS_GRACE_MS = GROUP_GRACE_MS + 20 };

static bool (*has_come)(void);             /* NULL: ending_watch was not called */
static TemporaryFile *volatile files;
static EndingProcess *volatile processes;
static sigset_t mask_before;
static volatile sig_atomic_t installed, holds, concluding, over;

void ending_hold(void) {
  assert(has_come != NULL && !holds);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask_before);
  holds = 1;
}

void ending_release(void) {
  assert(holds);
  holds = 0;
  sigprocmask(SIG_SETMASK, &mask_before, NULL);   /* signals that waited are delivered here */
}

/* ---- processes: only calls that a signal handler may make ---- */

/* A group may outlive its leader. Its number is not given to others before it is empty. */
static bool is_gone(EndingProcess *p) {
  if (!p->has_ended) {
    pid_t ended = waitpid(p->pid, NULL, WNOHANG);
    p->has_ended = ended == p->pid || (ended < 0 && errno == ECHILD);
  }
  return p->has_ended && (!p->leads_group || kill(-p->pid, 0) != 0);
}

static void signal_to(const EndingProcess *p, int signal_number) {
  if (p->leads_group) kill(-p->pid, signal_number);
  else if (!p->has_ended) kill(p->pid, signal_number);
}

/* Ends those of the list from `first` up to `end`, at the same time. */
static void end_processes(EndingProcess *first, const EndingProcess *end) {
  int parent = (int)getpid(), grace = 0;
  for (EndingProcess *p = first; p != end; p = p->next) {
    if (p->parent == parent) signal_to(p, SIGTERM);
  }
  for (EndingProcess *p = first; p != end; p = p->next) {
    if (p->parent != parent) continue;
    int most = p->leads_group ? GROUP_GRACE_MS : PROCESS_GRACE_MS;
    for (; !is_gone(p) && grace < most; grace++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (is_gone(p)) continue;
    signal_to(p, SIGKILL);
    while (!p->has_ended && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    p->has_ended = true;
  }
}

void ending_end_process(EndingProcess *process) {
  if (process->pid == 0) return;
  ending_hold();
  end_processes(process, process->next);
  ending_remove_process(process);
  ending_release();
}

/* ---- ends ---- */

void ending_clean(void) {
  for (const TemporaryFile *file = files; file != NULL; file = file->next) {
    if (file->process == (int)getpid()) unlink(file->path);
  }
  end_processes(processes, NULL);
}

void ending_by(int signal_number) {
  int error = errno;
  ending_clean();
  signal(signal_number, SIG_DFL);
  if (raise(signal_number) != 0) _exit(128 + signal_number);
  errno = error;   /* the signal is blocked until its handler returns */
}

/* These report a bug of the process itself, so that it cannot go on. */
static bool is_fault(int signal_number) {
  switch (signal_number) {
    case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGABRT: case SIGTRAP: case SIGSYS: return true;
    default: return false;
  }
}

static void on_signal(int signal_number) {
  if (!over || is_fault(signal_number)) ending_by(signal_number);
}

/* By default these do not end a process; SIGKILL and SIGSTOP cannot be handled. */
static bool is_harmless(int signal_number) {
  switch (signal_number) {
    case SIGCHLD: case SIGCONT: case SIGURG: case SIGWINCH: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGSTOP:
      return true;
    default: return signal_number == SIGKILL || signal_number == SIGINT;
  }
}

/* Takes the signals that would end the process by default; those that are ignored or
   handled stay as they are. */
static void install(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
  sigfillset(&action.sa_mask);
  for (int number = 1; number < NSIG; number++) {
    if (is_harmless(number) || sigaction(number, NULL, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) sigaction(number, &action, NULL);
  }
  installed = 1;
}

void ending_add_process(EndingProcess *process, int pid, bool leads_group) {
  assert(process->pid == 0 && pid > 0 && holds);
  if (!installed) install();
  *process = (EndingProcess){.next = processes, .pid = pid, .parent = (int)getpid(), .leads_group = leads_group};
  processes = process;
}

void ending_remove_process(EndingProcess *process) {
  if (process->pid == 0) return;
  assert(holds);
  EndingProcess *previous = NULL;
  for (EndingProcess *each = processes; each != process; each = each->next) previous = each;
  if (previous == NULL) processes = process->next;
  else previous->next = process->next;
  *process = (EndingProcess){0};
}

/* ---- files ---- */

static void add_file(TemporaryFile *file, const char *path) {
  assert(file->path == NULL && path != NULL && holds);
  if (!installed) install();
  *file = (TemporaryFile){.next = files, .path = path, .process = (int)getpid()};
  files = file;
}

static void remove_file(TemporaryFile *file) {
  if (file->path == NULL) return;
  assert(holds);
  TemporaryFile *previous = NULL;
  for (TemporaryFile *each = files; each != file; each = each->next) previous = each;
  if (previous == NULL) files = file->next;
  else previous->next = file->next;
  *file = (TemporaryFile){0};
}

void ending_conclude(void) { concluding = 1; }

static void on_replaced(void) {
  if (concluding) over = 1;
}

void ending_watch(bool (*interrupted)(void)) {
  static FileHooks hooks = {
    .hold = ending_hold, .release = ending_release, .add = add_file, .remove = remove_file, .replaced = on_replaced,
  };
  has_come = hooks.is_interrupted = interrupted;
  file_set_hooks(&hooks);
}

bool ending_is_over(void) { return over != 0; }
