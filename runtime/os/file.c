/*
** Files, by POSIX.
**
** Files are written to a temporary file beside the target, so that the name never
** refers to half a file:
**
**     file_create   .notes.json.ebb-k3x90a      new, in the target's folder
**     file_write    .notes.json.ebb-k3x90a      grows
**     file_commit   fsync, rename to notes.json, fsync of the folder
**
** A link stays a link: its target is replaced. A device or a FIFO is written to
** directly, without a temporary file.
*/
#define _DEFAULT_SOURCE 1
#include "os/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  READ_FIRST = 64 * 1024,   /* bytes of the first block for files of unknown size */
  NAME_KEPT = 128,          /* bytes of the target's name in the temporary name, which must not be too long */
  NAME_TRIES = 100
};

/* True if a failed call may be repeated. Waits for a descriptor that is non-blocking. */
static bool try_again(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  struct pollfd wait = {.fd = descriptor, .events = events};
  return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

/* open, repeated while a signal interrupts it, as may happen for FIFOs and network folders. */
static int open_file(const char *path, int flags, mode_t mode) {
  int descriptor;
  do descriptor = open(path, flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/* Closes the descriptor and keeps errno. */
static void close_quietly(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
}

/* The status of a failed open, stat or realpath. */
static Status status_of_open(void) {
  switch (errno) {
    case ENOENT: case ENOTDIR: case EACCES: case EPERM: case EROFS: case ELOOP: case ENAMETOOLONG: case ENXIO:
      return STATUS_ABSENT;
    default:
      return STATUS_IO;
  }
}

/*
** Reading. The block starts with the size of the file, which is nearly always exact.
** A full block is not the end yet: the file may have grown, or be a pipe of unknown
** size. So one more byte is read before the block grows.
*/

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
  while (got < 0 && try_again(descriptor, POLLIN));
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
  reader->descriptor = reader->standard ? STDIN_FILENO : open_file(path, O_RDONLY | O_NOCTTY, 0);
  if (reader->descriptor < 0) return status_of_open();
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

/*
** Writing.
*/

/* Keeps errno. */
static void free_string(const Memory *memory, char *string) {
  int error = errno;
  memory_free_string(memory, string);
  errno = error;
}

static void writer_end(FileWriter *writer) {
  free_string(&writer->memory, writer->path);
  free_string(&writer->memory, writer->temporary);
  *writer = (FileWriter){.descriptor = -1, .memory = writer->memory};
}

/* Resolves all links of `path`. *there: the file exists. Files other than regular ones
   keep their path, since /dev/stdout may lead to a file without a name. */
static Status resolve(const char *path, char resolved[PATH_MAX], struct stat *info, bool *there) {
  *there = stat(path, info) == 0;
  if (*there && S_ISREG(info->st_mode)) return realpath(path, resolved) != NULL ? STATUS_OK : status_of_open();
  if (!*there && errno != ENOENT) return status_of_open();
  struct stat link;
  size_t size = strlen(path);
  if (size == 0 || (!*there && lstat(path, &link) == 0)) {   /* a dangling link is never replaced */
    errno = ENOENT;
    return STATUS_ABSENT;
  }
  if (size >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return STATUS_ABSENT;
  }
  memcpy(resolved, path, size + 1);
  return STATUS_OK;
}

/* Writes six letters that another process is unlikely to choose at this moment. */
static void random_letters(char letters[6]) {
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t number = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  number = (number ^ (uint64_t)getpid() << 40) * 0x9E3779B97F4A7C15u >> 16;
  for (int i = 0; i < 6; i++, number /= 36) letters[i] = alphabet[number % 36];
}

/* Makes the temporary file beside the target. mkstemp would make it 0600; widening that
   needs the umask, which cannot be read without changing it for all threads. */
static Status open_temporary(FileWriter *writer, mode_t mode) {
  const char *slash = strrchr(writer->path, '/');
  const char *name = slash != NULL ? slash + 1 : writer->path;
  size_t folder = (size_t)(name - writer->path), kept = strnlen(name, NAME_KEPT);
  size_t size = folder + kept + sizeof "..ebb-123456";
  char *temporary = memory_new(&writer->memory, size);
  if (temporary == NULL) return STATUS_MEMORY;
  snprintf(temporary, size, "%.*s.%.*s.ebb-123456", (int)folder, writer->path, (int)kept, name);

  for (int i = 0; i < NAME_TRIES; i++) {
    random_letters(temporary + size - sizeof "123456");
    writer->descriptor = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (writer->descriptor >= 0 || errno != EEXIST) break;
  }
  if (writer->descriptor >= 0) {
    writer->temporary = temporary;
    return STATUS_OK;
  }
  Status status = status_of_open();
  free_string(&writer->memory, temporary);
  return status;
}

/* Opens the target, or its temporary file, depending on what exists at writer->path. */
static Status open_target(FileWriter *writer, const struct stat *info, bool there) {
  if (!there) return open_temporary(writer, 0666);
  if (S_ISDIR(info->st_mode)) {
    errno = EISDIR;
    return STATUS_IO;
  }
  if (!S_ISREG(info->st_mode)) {
    writer->descriptor = open_file(writer->path, O_WRONLY | O_NOCTTY, 0);
    return writer->descriptor >= 0 ? STATUS_OK : status_of_open();
  }
  /* rename checks only the folder */
  if (faccessat(AT_FDCWD, writer->path, W_OK, AT_EACCESS) != 0) return status_of_open();
  mode_t mode = info->st_mode & 0777;
  Status status = open_temporary(writer, mode);                   /* never with a wider mode than the old file's */
  if (status == STATUS_OK && fchmod(writer->descriptor, mode) != 0) status = STATUS_IO;
  return status;
}

Status file_create(FileWriter *writer, const Memory *memory, const char *path) {
  *writer = (FileWriter){.descriptor = -1, .memory = *memory};
  if (strcmp(path, "-") == 0) {
    writer->descriptor = STDOUT_FILENO;
    return STATUS_OK;
  }
  char resolved[PATH_MAX];
  struct stat info;
  bool there;
  Status status = resolve(path, resolved, &info, &there);
  if (status != STATUS_OK) return status;
  writer->path = memory_copy_string(memory, resolved);
  if (writer->path == NULL) return STATUS_MEMORY;
  status = open_target(writer, &info, there);
  if (status != STATUS_OK) file_abandon(writer);
  return status;
}

Status file_write(FileWriter *writer, const void *bytes, size_t size) {
  assert(writer->descriptor >= 0);
  const char *at = bytes;
  while (size > 0) {
    ssize_t wrote = write(writer->descriptor, at, size < INT_MAX ? size : INT_MAX);
    if (wrote < 0) {
      if (try_again(writer->descriptor, POLLOUT)) continue;
      return STATUS_IO;
    }
    at += wrote;
    size -= (size_t)wrote;
  }
  return STATUS_OK;
}

static bool flush_to_disk(int descriptor) {
  int result;
  do result = fsync(descriptor);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == ENOTSUP;   /* some file systems lack it */
}

/* Opens the folder of `path`; -1 if it may be written but not read: it cannot be flushed then. */
static int open_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return open_file(".", O_RDONLY | O_DIRECTORY, 0);
  size_t size = slash == path ? 1 : (size_t)(slash - path);   /* shorter than PATH_MAX: resolve has checked it */
  memcpy(folder, path, size);
  folder[size] = '\0';
  return open_file(folder, O_RDONLY | O_DIRECTORY, 0);
}

/* Closes the descriptor. A failure may be the first sign of a lost write. */
static bool writer_close(FileWriter *writer) {
  assert(writer->descriptor >= 0);
  int descriptor = writer->descriptor;
  writer->descriptor = -1;
  return close(descriptor) == 0 || errno == EINTR;   /* closed in either case */
}

static bool commit_temporary(FileWriter *writer) {
  if (!flush_to_disk(writer->descriptor) || !writer_close(writer)) return false;
  int folder = open_folder(writer->path);
  bool renamed = rename(writer->temporary, writer->path) == 0;
  bool flushed = !renamed || folder < 0 || flush_to_disk(folder);
  if (folder >= 0) close_quietly(folder);
  return renamed && flushed;
}

Status file_commit(FileWriter *writer) {
  assert(writer->descriptor >= 0);
  bool done = true;
  if (writer->temporary != NULL) done = commit_temporary(writer);
  else if (writer->path != NULL) done = writer_close(writer);
  if (done) writer_end(writer);
  else file_abandon(writer);
  return done ? STATUS_OK : STATUS_IO;
}

void file_abandon(FileWriter *writer) {
  int error = errno;
  if (writer->path != NULL && writer->descriptor >= 0) close(writer->descriptor);
  if (writer->temporary != NULL) unlink(writer->temporary);
  errno = error;
  writer_end(writer);
}
