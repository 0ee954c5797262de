/*
** Runs functions in confined processes, which answer through shared memory. Includers define _GNU_SOURCE.
*/
#ifndef EBB_TESTS_CONFINE_KIT_H
#define EBB_TESTS_CONFINE_KIT_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "host/confine.h"

enum { ORDINARY_USER = 65534 };

/* What a call answered. `ended`: the process ended before; `signal` says by which signal, if by one. */
typedef struct Answer {
  long value;
  int error;
  bool ended, unheld;     /* unheld: the kernel cannot confine */
  int signal;
} Answer;

typedef long (*Confined)(void *user);

UNUSED static const char *const NOTHING[] = {NULL};

UNUSED static Confinement confinement_of(int kept, const char *const *read) {
  return (Confinement){.parent = getppid(), .kept = kept, .milliseconds = 20000, .memory = UINT64_C(1) << 32,
                       .file_size = 1 << 20, .read = read, .write = NOTHING};
}

static Answer *last_answer;

static Answer *shared_answer(void) {
  if (last_answer == NULL) {
    last_answer = mmap(NULL, sizeof *last_answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (last_answer == MAP_FAILED) abort();
  }
  *last_answer = (Answer){.ended = true};
  return last_answer;
}

/* Confines a process that answer_of has started. */
static void hold(const char *const *read) {
  Confinement confinement = confinement_of(open("/dev/null", O_RDWR), read);
  if (confine(&confinement) == NULL) return;
  last_answer->unheld = true;
  _exit(1);
}

static _Noreturn void answer_in_child(Answer *answer, bool confined, const char *const *read, Confined call,
                                      void *user) {
  for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);      /* those of sanitizers */
  if (confined) hold(read);
  errno = 0;
  answer->value = call(user);
  answer->error = errno;
  answer->ended = false;
  _exit(0);
}

/* Calls the function in a child process, confined or not. */
UNUSED static Answer answer_of(bool confined, const char *const *read, Confined call, void *user) {
  Answer *answer = shared_answer();
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) answer_in_child(answer, confined, read, call, user);
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  answer->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return *answer;
}

static long do_nothing(void *user) {
  (void)user;
  return 0;
}

/* True if this kernel can confine; tests are skipped otherwise. */
UNUSED static bool can_confine(void) {
  bool can = !answer_of(true, NOTHING, do_nothing, NULL).unheld;
  if (!can) print_message("skipped: this kernel has no Landlock or seccomp\n");
  return can;
}

#endif
