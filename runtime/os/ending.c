#define _DEFAULT_SOURCE 1
#include "os/ending.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static bool (*has_come)(void);             /* NULL: a library */
static EndingFile *volatile files;
static sigset_t mask_before;
static volatile sig_atomic_t installed, holds, concluding, over;

void ending_watch(bool (*interrupted)(void)) { has_come = interrupted; }

void ending_hold(void) {
  if (has_come == NULL) return;
  assert(!holds);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask_before);
  holds = 1;
}

void ending_release(void) {
  if (has_come == NULL) return;
  assert(holds);
  holds = 0;
  sigprocmask(SIG_SETMASK, &mask_before, NULL);   /* signals that waited are delivered here */
}

bool ending_is_due(void) { return has_come != NULL && has_come(); }

void ending_clean(void) {
  for (const EndingFile *file = files; file != NULL; file = file->next) {
    if (file->process == (int)getpid()) unlink(file->path);
  }
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

void ending_add(EndingFile *file, const char *path) {
  assert(file->path == NULL && path != NULL);
  if (has_come == NULL) return;
  assert(holds);
  if (!installed) install();
  *file = (EndingFile){.next = files, .path = path, .process = (int)getpid()};
  files = file;
}

void ending_remove(EndingFile *file) {
  if (file->path == NULL) return;
  assert(holds);
  EndingFile *previous = NULL;
  for (EndingFile *each = files; each != file; each = each->next) previous = each;
  if (previous == NULL) files = file->next;
  else previous->next = file->next;
  *file = (EndingFile){0};
}

void ending_conclude(void) { concluding = 1; }

void ending_replaced(void) {
  if (concluding) over = 1;
}

bool ending_is_over(void) { return over != 0; }
