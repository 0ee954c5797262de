/*
** Files, by POSIX: reading. The block starts with the size of the file, which is nearly
** always exact. A full block is not the end yet: the file may have grown, or be a pipe
** of unknown size. So one more byte is read before the block grows.
*/
#define _DEFAULT_SOURCE 1
#include "os/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#ifndef EBB_MINIMAL
#include <pthread.h>
#include <signal.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/file_calls.h"

enum { READ_FIRST = 64 * 1024 };   /* bytes of the first block for files of unknown size */

Status file_reserve(FileReader *reader, size_t capacity) {
  assert(capacity >= reader->size);
  char *bytes = memory_resize_array(&reader->memory, reader->bytes, reader->capacity, capacity, 1);
  if (bytes == NULL) return STATUS_MEMORY;
  reader->bytes = bytes;
  reader->capacity = capacity;
  return STATUS_OK;
}

/* Reads up to `size` bytes, 0 where no room is left. */
static ssize_t read_some(int descriptor, char *bytes, size_t size) {
  ssize_t got;
  if (size > INT_MAX) size = INT_MAX;   /* bytes per call; some systems refuse more */
  do got = read(descriptor, bytes, size);
  while (got < 0 && file_try_again(descriptor, POLLIN));
  return got;
}

/* Asks for pages in bulk, which costs a fifth less than one fault per page (530 MB:
   320 ms for 400 ms). Huge pages would cost less on some days and four times as much
   on others. Failure does not matter. */
#define READ_AT_ONCE ((size_t)4 << 20)

static void make_pages(char *bytes, size_t size) {
#ifdef MADV_POPULATE_WRITE
  const uintptr_t page = 4096;
  int error = errno;
  uintptr_t from = ((uintptr_t)bytes + page - 1) & ~(page - 1), to = ((uintptr_t)bytes + size) & ~(page - 1);
  if (size == READ_AT_ONCE && from < to) madvise((void *)from, to - from, MADV_POPULATE_WRITE);
  errno = error;
#else
  (void)bytes, (void)size;
#endif
}

Status file_some(FileReader *reader, bool *end) {
  size_t size = reader->capacity - reader->size;
  if (size > READ_AT_ONCE) size = READ_AT_ONCE;
  make_pages(reader->bytes + reader->size, size);
  ssize_t got = read_some(reader->descriptor, reader->bytes + reader->size, size);
  *end = got == 0;
  if (got < 0) return STATUS_IO;
  reader->size += (size_t)got;
  return STATUS_OK;
}

/* Fills the block; *end: the end of the file was reached. */
static Status read_block(FileReader *reader, bool *end) {
  Status status = STATUS_OK;
  *end = false;
  while (reader->size < reader->capacity && status == STATUS_OK && !*end) status = file_some(reader, end);
  return status;
}

/* Reads one byte behind a full block, which then grows if the cap allows it. */
static Status read_more(FileReader *reader, size_t cap, bool *end) {
  char probe;
  ssize_t got = read_some(reader->descriptor, &probe, 1);
  if (got < 0) return STATUS_IO;
  *end = got == 0;
  if (*end) return STATUS_OK;
  if (reader->size >= cap) return STATUS_LIMIT;
  size_t twice = reader->capacity > SIZE_MAX / 2 ? SIZE_MAX : reader->capacity * 2;
  if (twice < READ_FIRST) twice = READ_FIRST;
  Status status = file_reserve(reader, twice < cap ? twice : cap);
  if (status == STATUS_OK) reader->bytes[reader->size++] = probe;
  return status;
}

/* Sets the bytes left of a regular file; the size of other files is unknown. */
static Status measure(FileReader *reader) {
  struct stat info;
  if (fstat(reader->descriptor, &info) != 0) return STATUS_IO;
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return STATUS_IO;
  }
  if (!S_ISREG(info.st_mode)) return STATUS_OK;
  off_t at = lseek(reader->descriptor, 0, SEEK_CUR);   /* standard input may have been read in part */
  if (at < 0 || at >= info.st_size) return STATUS_OK;
  uintmax_t left = (uintmax_t)(info.st_size - at);
  reader->left = left > SIZE_MAX ? SIZE_MAX : (size_t)left;
  reader->sized = true;
  return STATUS_OK;
}

Status file_open(FileReader *reader, const Memory *memory, const char *path) {
  *reader = (FileReader){.memory = *memory, .standard = strcmp(path, "-") == 0};
  reader->descriptor = reader->standard ? STDIN_FILENO : file_open_call(path, O_RDONLY | O_NOCTTY, 0);
  if (reader->descriptor < 0) return file_status_of_open();
  Status status = measure(reader);
  if (status != STATUS_OK) file_close(reader);
  return status;
}

Status file_peek(FileReader *reader, size_t size) {
  assert(reader->size <= reader->capacity);
  bool end;
  if (reader->sized && size > reader->left) size = reader->left;
  if (size <= reader->capacity) return STATUS_OK;
  Status status = file_reserve(reader, size);
  return status == STATUS_OK ? read_block(reader, &end) : status;
}

Status file_rest(FileReader *reader, size_t cap) {
  assert(reader->size <= reader->capacity);
  bool end = false;
  Status status = STATUS_OK;
  if (reader->size > cap || (reader->sized && reader->left > cap)) return STATUS_LIMIT;
  if (reader->sized && reader->left > reader->capacity) {
    status = file_reserve(reader, reader->left);
  }
  while (status == STATUS_OK && !end) {
    status = read_block(reader, &end);
    if (status == STATUS_OK && !end) status = read_more(reader, cap, &end);
  }
  return status;
}

void file_close(FileReader *reader) {
  int error = errno;
  if (reader->descriptor >= 0 && !reader->standard) close(reader->descriptor);
  memory_free(&reader->memory, reader->bytes, reader->capacity);
  reader->descriptor = -1;
  reader->bytes = NULL;
  reader->size = reader->capacity = 0;
  errno = error;
}

Status file_read(const Memory *memory, const char *path, size_t cap, char **bytes, size_t *size, size_t *capacity) {
  FileReader reader;
  Status status = file_open(&reader, memory, path);
  if (status == STATUS_OK) status = file_rest(&reader, cap);
  if (status == STATUS_OK) {
    *bytes = reader.size == 0 ? NULL : reader.bytes;
    *size = reader.size;
    *capacity = reader.size == 0 ? 0 : reader.capacity;
    if (reader.size > 0) reader.bytes = NULL;   /* the caller's */
  }
  if (reader.descriptor >= 0) file_close(&reader);
  return status;
}

/* ---- reading ahead ---- */

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
