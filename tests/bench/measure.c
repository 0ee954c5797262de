/*
** Runs a command with its output thrown away and prints what it took:
**
**     measure COMMAND [ARGUMENTS]         ->  "12.345 4096 11.000": wall milliseconds, peak resident KB, milliseconds
**                                             of processors
**     measure -i 300 COMMAND [ARGUMENTS]  ->  "8.250": the same command gets SIGINT after so many milliseconds, and
**                                             ends so many after that; nothing if it had ended before
**
** The exit status is the command's; 127 if it cannot be run, 128 + n if signal n ended it. A run that failed prints
** figures, too, unless a signal ended it. The peak is at least that of this program, about 1 MB, which the child has
** until its exec.
*/
#define _DEFAULT_SOURCE   /* wait4 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

/* A shell that runs this in the background has SIGINT ignored. */
static void run(char **command) {
  signal(SIGINT, SIG_DFL);
  int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) execvp(command[0], command);
  fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

static void sleep_ms(long ms) {
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&left, &left) < 0 && errno == EINTR) {}
}

/* The child is not waited for yet, so its id is its own although it may have ended. */
static double interrupt_after(pid_t child, long ms) {
  sleep_ms(ms);
  double when = now_ms();
  kill(child, SIGINT);
  return when;
}

static int wait_for(pid_t child, struct rusage *usage) {
  int status = 0;
  pid_t ended;
  do ended = wait4(child, &status, 0, usage);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) {
    perror("measure");
    exit(127);
  }
  return status;
}

int main(int argc, char **argv) {
  long interrupt = argc > 3 && strcmp(argv[1], "-i") == 0 ? atol(argv[2]) : 0;
  char **command = interrupt > 0 ? argv + 3 : argv + 1;
  if (*command == NULL) {
    fprintf(stderr, "usage: measure [-i MILLISECONDS] COMMAND [ARGUMENTS]\n");
    return 2;
  }
  double start = now_ms();
  pid_t child = fork();
  if (child == 0) run(command);
  if (child < 0) {
    perror("measure");
    return 127;
  }
  if (interrupt > 0) start = interrupt_after(child, interrupt);

  struct rusage usage;
  int status = wait_for(child, &usage);
  double end = now_ms();
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (interrupt > 0) {
    if (code >= 128) printf("%.3f\n", end - start);
  } else if (!WIFSIGNALED(status)) {
    double cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    printf("%.3f %ld %.3f\n", end - start, usage.ru_maxrss, cpu * 1e3);
  }
  return code;
}
