/*
** Runs a command with its output thrown away and prints what it took:
**
**     measure COMMAND [ARGUMENTS]     ->  "12.345 4096": wall milliseconds, peak resident KB
**
** The exit status is the command's; 127 if it cannot be run, 128 + n if signal n ended it. A failed run prints no
** figures. The peak is at least that of this program, about 1 MB, which the child has until its exec.
*/
#define _DEFAULT_SOURCE   /* wait4 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static void run(char **command) {
  int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) execvp(command[0], command);
  fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: measure COMMAND [ARGUMENTS]\n");
    return 2;
  }
  double start = now_ms();
  pid_t child = fork();
  if (child == 0) run(argv + 1);

  int status = 0;
  struct rusage usage;
  pid_t ended = -1;
  if (child > 0) {
    do ended = wait4(child, &status, 0, &usage);
    while (ended < 0 && errno == EINTR);
  }
  if (ended < 0) {
    perror("measure");
    return 127;
  }
  double end = now_ms();
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  printf("%.3f %ld\n", end - start, usage.ru_maxrss);
  return 0;
}
