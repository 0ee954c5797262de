/*
** A server with a thread per runtime: trims request bodies for its clients.
**
**     server [--port N] [--threads N] [--budget N] [--vocab o200k_base.vocab] POLICY.lua
**
** A client on this machine sends request bodies, a line each, and reads a line for each:
** the trimmed body, or "error CODE: MESSAGE".
**
**     main      makes all runtimes; waits for SIGTERM or SIGINT, and closes the pipe
**     workers   each with a runtime of its own: accept, read, trim, write, until
**               the pipe is closed; what is being trimmed then is still answered
**
** Threads share what never changes: one ebb_vocab over a mapped file, and one
** ebb_policy, compiled once. A worker that waits uses no time, and one client has a
** worker to itself as long as it is connected.
*/
#define _DEFAULT_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ebb.h>

enum { THREADS_MAX = 64, BODY_MAX = 64 << 20, IDLE_MS = 30000 };

typedef struct Options {
  uint64_t port, threads, budget;      /* port 0: any that is free */
  const char *vocab, *policy;
} Options;

typedef struct Server Server;

typedef struct Worker {
  Server *server;
  ebb_runtime *runtime;      /* of the worker's thread alone, between pthread_create and pthread_join */
  pthread_t thread;
  uint64_t answered, refused;
} Worker;

struct Server {
  Options options;
  int listening;
  int stopping;              /* the pipe's end that all workers poll: it can be read when the server stops */
  ebb_vocab *vocab;
  Worker workers[THREADS_MAX];
};

/* Bytes that were received: a line, and the beginning of the next. */
typedef struct Buffer {
  char *bytes;
  size_t used, room;
} Buffer;

/* ---- one client ---- */

/* Waits for input. False: the server stops, or the client was silent for too long. */
static bool wait_for(const Server *server, int file, int milliseconds) {
  struct pollfd files[2] = {{.fd = file, .events = POLLIN}, {.fd = server->stopping, .events = POLLIN}};
  int ready;
  do ready = poll(files, 2, milliseconds);
  while (ready < 0 && errno == EINTR);
  return ready > 0 && files[1].revents == 0;
}

static bool grow(Buffer *buffer) {
  size_t room = buffer->room * 2 + 4096;
  char *bytes = room <= BODY_MAX ? realloc(buffer->bytes, room) : NULL;
  if (bytes == NULL) return false;
  buffer->bytes = bytes;
  buffer->room = room;
  return true;
}

static bool send_all(int client, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

static const char TOO_LONG[] = "error limit: a line has no more than 64 MiB\n";

/* Bytes of the next line without its end, which is in the buffer then; -1: there is no other. */
static ptrdiff_t read_line(const Server *server, int client, Buffer *buffer) {
  for (size_t seen = 0;;) {
    char *end = buffer->used > seen ? memchr(buffer->bytes + seen, '\n', buffer->used - seen) : NULL;
    if (end != NULL) return end - buffer->bytes;
    seen = buffer->used;
    if (buffer->used == buffer->room && !grow(buffer)) {
      send_all(client, TOO_LONG, sizeof TOO_LONG - 1);
      return -1;
    }
    if (!wait_for(server, client, IDLE_MS)) return -1;
    ssize_t got = recv(client, buffer->bytes + buffer->used, buffer->room - buffer->used, 0);
    if (got <= 0) return -1;
    buffer->used += (size_t)got;
  }
}

static void drop_line(Buffer *buffer, size_t size) {
  buffer->used -= size + 1;
  memmove(buffer->bytes, buffer->bytes + size + 1, buffer->used);
}

/* The request body trimmed; *text is valid until the next call of the runtime. */
static ebb_status trim(Worker *worker, const char *body, size_t size, ebb_chat **chat, ebb_text *text) {
  char options[64];
  int used = snprintf(options, sizeof options, "{\"budget\":%" PRIu64 "}", worker->server->options.budget);
  ebb_status status = ebb_chat_read(worker->runtime, body, size, NULL, 0, chat);
  if (status == EBB_OK) status = ebb_chat_trim(*chat, "server", options, (size_t)used, NULL);
  if (status == EBB_OK) status = ebb_chat_write(*chat, NULL, 0, text);
  return status;
}

/* Errors are one line too, whatever stands in them. */
static bool send_error(const Worker *worker, int client) {
  const ebb_error *error = ebb_last_error(worker->runtime);
  char line[1200];
  int size = snprintf(line, sizeof line, "error %s: %s", error->code, error->message);
  if (size < 0) return false;
  if ((size_t)size >= sizeof line) size = sizeof line - 1;
  for (int i = 0; i < size; i++) line[i] = line[i] == '\n' ? ' ' : line[i];
  line[size] = '\n';
  return send_all(client, line, (size_t)size + 1);
}

static bool answer(Worker *worker, int client, const char *body, size_t size) {
  ebb_chat *chat = NULL;
  ebb_text text;
  bool trimmed = trim(worker, body, size, &chat, &text) == EBB_OK;
  *(trimmed ? &worker->answered : &worker->refused) += 1;
  bool sent = trimmed ? send_all(client, text.bytes, text.size) && send_all(client, "\n", 1)
                      : send_error(worker, client);
  ebb_chat_free(chat);       /* not before: it would take the error and the text along */
  return sent;
}

static void serve(Worker *worker, int client) {
  Buffer buffer = {0};
  ptrdiff_t size;
  while ((size = read_line(worker->server, client, &buffer)) >= 0 &&
         answer(worker, client, buffer.bytes, (size_t)size))
    drop_line(&buffer, (size_t)size);
  free(buffer.bytes);
  close(client);
}

static void *work(void *user) {
  Worker *worker = user;
  const Server *server = worker->server;
  const struct timeval patience = {.tv_sec = IDLE_MS / 1000};
  while (wait_for(server, server->listening, -1)) {
    int client = accept(server->listening, NULL, NULL);
    if (client < 0) continue;          /* another worker was faster */
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    serve(worker, client);
  }
  return NULL;
}

/* ---- what the threads share ---- */

static bool fail(const char *what, const char *why) {
  fprintf(stderr, "server: %s: %s\n", what, why);
  return false;
}

/* Maps a whole file; NULL on failure. */
static void *map(const char *path, size_t *size) {
  struct stat info;
  void *bytes = MAP_FAILED;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0 && fstat(file, &info) == 0 && info.st_size > 0)
    bytes = mmap(NULL, *size = (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  return bytes == MAP_FAILED ? NULL : bytes;
}

static void unmap(void *user, const void *bytes, size_t size) {
  (void)user;
  munmap((void *)(uintptr_t)bytes, size);
}

static bool open_vocab(Server *server) {
  char why[500];
  size_t size = 0;
  ebb_config config = {.size = sizeof config, .error = why, .error_size = sizeof why};
  if (server->options.vocab == NULL) return true;
  void *bytes = map(server->options.vocab, &size);
  if (bytes == NULL) return fail(server->options.vocab, "it cannot be read");
  if (ebb_vocab_new(&config, bytes, size, unmap, &server->vocab) == EBB_OK) return true;
  munmap(bytes, size);       /* only a vocabulary that exists gives it back */
  return fail(server->options.vocab, why);
}

static bool open_runtime(Worker *worker, ebb_vocab *vocab) {
  char why[500];
  ebb_config config = {.size = sizeof config, .error = why, .error_size = sizeof why,
                       .memory_limit = (size_t)1 << 30, .deadline_us = 5000000};
  if (ebb_runtime_new(&config, &worker->runtime) != EBB_OK) return fail("a runtime", why);
  if (vocab == NULL || ebb_runtime_add_vocab(worker->runtime, NULL, vocab) == EBB_OK) return true;
  return fail("the vocabulary", ebb_last_error(worker->runtime)->message);
}

/* Compiled by the first worker's runtime, and added to all. */
static bool share_policy(Server *server) {
  ebb_runtime *first = server->workers[0].runtime, *failed = first;
  ebb_policy *policy = NULL;
  size_t size = 0;
  char *source = map(server->options.policy, &size);
  if (source == NULL) return fail(server->options.policy, "it cannot be read");
  ebb_status status = ebb_policy_new(first, "server", source, size, &policy);
  for (uint64_t i = 0; i < server->options.threads && status == EBB_OK; i++) {
    failed = server->workers[i].runtime;
    status = ebb_policy_add(failed, policy);
  }
  bool good = status == EBB_OK || fail(server->options.policy, ebb_last_error(failed)->message);
  ebb_policy_free(policy);   /* the runtimes keep it */
  munmap(source, size);
  return good;
}

static bool open_runtimes(Server *server) {
  for (uint64_t i = 0; i < server->options.threads; i++) {
    server->workers[i].server = server;
    if (!open_runtime(&server->workers[i], server->vocab)) return false;
  }
  return share_policy(server);
}

/* On this machine only, as there are no passwords. */
static bool open_port(Server *server) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server->options.port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int yes = 1;
  int listening = server->listening = socket(AF_INET, SOCK_STREAM, 0);
  if (listening < 0 || setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listening, (struct sockaddr *)&address, size) != 0 || listen(listening, 64) != 0 ||
      fcntl(listening, F_SETFL, O_NONBLOCK) != 0 || getsockname(listening, (struct sockaddr *)&address, &size) != 0)
    return fail("the port", strerror(errno));
  printf("listening on 127.0.0.1:%u, %" PRIu64 " threads\n", (unsigned)ntohs(address.sin_port),
         server->options.threads);
  fflush(stdout);
  return true;
}

/* ---- running ---- */

/* Threads inherit the mask: signals are delivered to sigwait only. */
static void block_signals(sigset_t *signals) {
  sigemptyset(signals);
  sigaddset(signals, SIGTERM);
  sigaddset(signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, signals, NULL);
}

static bool run(Server *server, const sigset_t *signals) {
  uint64_t running = 0, answered = 0, refused = 0;
  int ends[2], number, error = 0;
  if (pipe(ends) != 0) return fail("a pipe", strerror(errno));
  server->stopping = ends[0];
  while (running < server->options.threads && error == 0) {
    Worker *worker = &server->workers[running];
    error = pthread_create(&worker->thread, NULL, work, worker);
    running += error == 0;
  }
  if (error == 0) sigwait(signals, &number);
  close(ends[1]);            /* wakes every worker that polls */
  for (uint64_t i = 0; i < running; i++) {
    pthread_join(server->workers[i].thread, NULL);
    answered += server->workers[i].answered;
    refused += server->workers[i].refused;
  }
  close(ends[0]);
  printf("%" PRIu64 " answered, %" PRIu64 " refused\n", answered, refused);
  return error == 0 || fail("a thread", strerror(error));
}

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *number >= least && *number <= most;
}

static bool read_options(Options *options, int count, char **words) {
  *options = (Options){.threads = 2, .budget = 4000};
  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = words[i], *value = words[i + 1];
    bool good = strcmp(name, "--port") == 0      ? read_number(value, 0, 65535, &options->port)
                : strcmp(name, "--threads") == 0 ? read_number(value, 1, THREADS_MAX, &options->threads)
                : strcmp(name, "--budget") == 0  ? read_number(value, 1, UINT32_MAX, &options->budget)
                                                 : strcmp(name, "--vocab") == 0;
    if (strcmp(name, "--vocab") == 0) options->vocab = value;
    if (!good) return false;
  }
  options->policy = words[count - 1];
  return count % 2 == 0;
}

int main(int count, char **words) {
  static Server server = {.listening = -1};
  sigset_t signals;
  if (!read_options(&server.options, count, words)) {
    fprintf(stderr, "Usage: server [--port N] [--threads 1 to %d] [--budget TOKENS] [--vocab FILE] POLICY.lua\n",
            THREADS_MAX);
    return 2;
  }
  block_signals(&signals);
  bool good = open_vocab(&server) && open_runtimes(&server) && open_port(&server) && run(&server, &signals);
  for (uint64_t i = 0; i < server.options.threads; i++) ebb_runtime_free(server.workers[i].runtime);
  ebb_vocab_free(server.vocab);        /* unmapped when the last runtime has gone as well */
  if (server.listening >= 0) close(server.listening);
  return good ? 0 : 1;
}
