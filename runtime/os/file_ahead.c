#define _DEFAULT_SOURCE 1
#include "os/file_ahead.h"

#ifdef EBB_MINIMAL

/* A build without threads reads whole files only. */
FileAhead *file_ahead_start(FileReader *reader) {
  (void)reader;
  return NULL;
}

Status file_ahead_wait(FileAhead *ahead, size_t *available, size_t *size) {
  (void)ahead, (void)available, (void)size;
  return STATUS_IO;
}

void file_ahead_end(FileAhead *ahead) { (void)ahead; }

#else

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* bytes; for smaller files a thread costs more than it saves */
#define AHEAD_MIN ((size_t)8 << 20)

struct FileAhead {
  FileReader *reader;
  pthread_t thread;
  pthread_mutex_t lock;      /* protects all members below; only the thread writes them, except for `stop` */
  pthread_cond_t more;
  size_t available, size;
  bool stop;
  Status status;
  int error;                 /* errno, if not STATUS_OK */
};

/* Records the result of one read; true if there is more to read. */
static bool publish(FileAhead *ahead, Status status, size_t available, bool end) {
  pthread_mutex_lock(&ahead->lock);
  ahead->status = status;
  ahead->error = errno;
  ahead->available = available;
  if (end) ahead->size = available;
  bool go_on = status == STATUS_OK && ahead->available < ahead->size && !ahead->stop;
  pthread_cond_signal(&ahead->more);
  pthread_mutex_unlock(&ahead->lock);
  return go_on;
}

static void *read_on(void *user) {
  FileAhead *ahead = user;
  Status status;
  bool end;
  do status = file_some(ahead->reader, &end);
  while (publish(ahead, status, ahead->reader->size, end));
  return NULL;
}

/* Block all signals, so that handlers run on the caller's threads. */
static bool start_thread(FileAhead *ahead) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = pthread_create(&ahead->thread, NULL, read_on, ahead) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

FileAhead *file_ahead_start(FileReader *reader) {
  if (!reader->sized || reader->left < AHEAD_MIN || sysconf(_SC_NPROCESSORS_ONLN) < 2) return NULL;
  FileAhead *ahead = memory_new(&reader->memory, sizeof *ahead);
  if (ahead == NULL) return NULL;
  *ahead = (FileAhead){.reader = reader, .size = reader->left, .available = reader->size};
  if (file_reserve(reader, reader->left) != STATUS_OK) goto no_block;
  if (pthread_mutex_init(&ahead->lock, NULL) != 0) goto no_block;
  if (pthread_cond_init(&ahead->more, NULL) != 0) goto no_condition;
  if (start_thread(ahead)) return ahead;
  pthread_cond_destroy(&ahead->more);
no_condition:
  pthread_mutex_destroy(&ahead->lock);
no_block:
  memory_free(&reader->memory, ahead, sizeof *ahead);
  return NULL;
}

Status file_ahead_wait(FileAhead *ahead, size_t *available, size_t *size) {
  pthread_mutex_lock(&ahead->lock);
  while (ahead->available <= *available && ahead->available < ahead->size && ahead->status == STATUS_OK) {
    pthread_cond_wait(&ahead->more, &ahead->lock);
  }
  Status status = ahead->status;
  *available = ahead->available;
  *size = ahead->size;
  int error = ahead->error;
  pthread_mutex_unlock(&ahead->lock);
  if (status != STATUS_OK) errno = error;
  return status;
}

void file_ahead_end(FileAhead *ahead) {
  if (ahead == NULL) return;
  Memory memory = ahead->reader->memory;
  pthread_mutex_lock(&ahead->lock);
  ahead->stop = true;
  pthread_mutex_unlock(&ahead->lock);
  pthread_join(ahead->thread, NULL);
  pthread_cond_destroy(&ahead->more);
  pthread_mutex_destroy(&ahead->lock);
  memory_free(&memory, ahead, sizeof *ahead);
}

#endif
