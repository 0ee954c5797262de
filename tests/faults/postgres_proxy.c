/*
** Stands between clients and a server of PostgreSQL, and loses answers.
**
**     postgres_proxy SOCKET SERVER EVERY     forwards what comes to the socket; of every EVERY-th commit it takes the
**                                            server's answer, prints a line, and ends the connection
**
** A commit is the text COMMIT in what a client sends, as a statement of its own. A process for each connection.
*/
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address_of(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  return address;
}

static bool send_all(int to, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t done = send(to, bytes, size, MSG_NOSIGNAL);
    if (done <= 0) return false;
    bytes += done;
    size -= (size_t)done;
  }
  return true;
}

/* Forwards one read; false at the end of the connection. *commits: a commit was among it. */
static bool forward(int from, int to, bool *commits) {
  static char bytes[1 << 16];
  ssize_t size = read(from, bytes, sizeof bytes);
  if (size <= 0) return false;
  if (commits != NULL) *commits = memmem(bytes, (size_t)size, "COMMIT", 7) != NULL;
  return send_all(to, bytes, (size_t)size);
}

static void serve(int client, const char *path, int every, _Atomic int *count) {
  struct sockaddr_un address = address_of(path);
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) return;
  for (;;) {
    struct pollfd both[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    bool commits = false;
    if (poll(both, 2, -1) < 0) return;
    if (both[0].revents != 0 && !forward(client, server, &commits)) return;
    if (commits && ++*count % every == 0) {
      char answer[512];
      if (read(server, answer, sizeof answer) <= 0) return;
      puts("lost");                /* it is committed, and the client does not hear it */
      fflush(stdout);
      return;
    }
    if (both[1].revents != 0 && !forward(server, client, NULL)) return;
  }
}

int main(int count, char **words) {
  if (count != 4) return 2;
  struct sockaddr_un address = address_of(words[1]);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  _Atomic int *commits = mmap(NULL, sizeof *commits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  signal(SIGCHLD, SIG_IGN);
  unlink(words[1]);
  if (commits == MAP_FAILED || bind(listener, (struct sockaddr *)&address, sizeof address) != 0) return 1;
  if (listen(listener, 64) != 0) return 1;
  pid_t proxy = fork();          /* who comes after this process has ended is served */
  if (proxy != 0) return proxy < 0 || fprintf(stderr, "%d\n", (int)proxy) < 0;
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client >= 0 && fork() == 0) {
      serve(client, words[2], atoi(words[3]), commits);
      _exit(0);
    }
    if (client >= 0) close(client);
  }
}
