/*
** Files, by POSIX.
**
** Writing goes to a temporary file beside the target, so that the name never
** stands for half a file:
**
**     file_create   .notes.json.ebb-k3x90a      new, in the target's folder
**     file_write    .notes.json.ebb-k3x90a      grows
**     file_commit   fsync, rename to notes.json, fsync of the folder
**
** A link stays a link: its target is what is replaced. What is there but no
** regular file (a device, a FIFO) is written to directly and has no temporary.
*/
#define _DEFAULT_SOURCE 1
#include "base/file.h"

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
  READ_FIRST = 64 * 1024,   /* bytes of the first block where no size is known */
  NAME_KEPT = 128,          /* of the target's name in the temporary's, so that it is not too long */
  NAME_TRIES = 100
};

/* After a failed call: may it be made again? Waits for a descriptor that somebody made non-blocking. */
static bool try_again(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  struct pollfd wait = {.fd = descriptor, .events = events};
  return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

/* Closes, and leaves errno as it was. */
static void close_quietly(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
}

/* What a failed open, stat or realpath means. */
static Status status_of_open(void) {
  switch (errno) {
    case ENOENT: case ENOTDIR: case EACCES: case EPERM: case EROFS: case ELOOP: case ENAMETOOLONG: case ENXIO:
      return STATUS_ABSENT;
    default:
      return STATUS_IO;
  }
}

/*
** Reading. The block starts with the size that the file says it has, which is
** exact for nearly all. A full block is not yet the end: the file may have grown,
** or be a pipe and say nothing; so one more byte is asked for before it grows.
*/

typedef struct Block {
  Memory memory;
  char *bytes;
  size_t size, capacity, cap;
} Block;

/* Room for `capacity` bytes; never more than the cap. */
static Status block_grow(Block *block, size_t capacity) {
  if (capacity > block->cap) capacity = block->cap;
  char *bytes = memory_resize_array(&block->memory, block->bytes, block->capacity, capacity, 1);
  if (bytes == NULL) return STATUS_MEMORY;
  block->bytes = bytes;
  block->capacity = capacity;
  return STATUS_OK;
}

/* Asks for huge pages, where there are such: most of the time to read a big file
   goes into page faults (51 MB: 27 ms without, 13 ms with). Not for blocks that
   grow: advice splits the mapping, and then realloc has to copy it. */
static void prefer_huge_pages(const Block *block) {
#ifdef MADV_HUGEPAGE
  const uintptr_t huge = 2u << 20;
  uintptr_t from = ((uintptr_t)block->bytes + huge - 1) & ~(huge - 1);
  uintptr_t to = ((uintptr_t)block->bytes + block->capacity) & ~(huge - 1);
  int error = errno;
  if (block->capacity >= 4 * huge) madvise((void *)from, to - from, MADV_HUGEPAGE);
  errno = error;   /* advice that is not taken is no error */
#else
  (void)block;
#endif
}

static ssize_t read_some(int descriptor, char *bytes, size_t size) {
  ssize_t got;
  if (size > INT_MAX) size = INT_MAX;   /* some systems refuse more in one call */
  do got = read(descriptor, bytes, size);
  while (got < 0 && try_again(descriptor, POLLIN));
  return got;
}

static Status read_to_end(int descriptor, Block *block) {
  for (;;) {
    char probe;
    bool full = block->size == block->capacity;
    ssize_t got = full ? read_some(descriptor, &probe, 1)
                       : read_some(descriptor, block->bytes + block->size, block->capacity - block->size);
    if (got < 0) return STATUS_IO;
    if (got == 0) return STATUS_OK;
    if (full) {
      if (block->size >= block->cap) return STATUS_LIMIT;
      size_t twice = block->capacity > SIZE_MAX / 2 ? SIZE_MAX : block->capacity * 2;
      Status status = block_grow(block, twice < READ_FIRST ? READ_FIRST : twice);
      if (status != STATUS_OK) return status;
      block->bytes[block->size] = probe;
    }
    block->size += (size_t)got;
  }
}

/* Makes the block for what is left of a regular file; others say nothing of their size. */
static Status block_for(int descriptor, Block *block) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return STATUS_IO;
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return STATUS_IO;
  }
  if (!S_ISREG(info.st_mode)) return STATUS_OK;
  off_t at = lseek(descriptor, 0, SEEK_CUR);   /* standard input may have been read in part */
  if (at < 0 || at >= info.st_size) return STATUS_OK;
  uintmax_t left = (uintmax_t)(info.st_size - at);
  if (left > block->cap) return STATUS_LIMIT;
  Status status = block_grow(block, (size_t)left);
  if (status == STATUS_OK) prefer_huge_pages(block);
  return status;
}

Status file_read(const Memory *memory, const char *path, size_t cap, char **bytes, size_t *size, size_t *capacity) {
  bool standard = strcmp(path, "-") == 0;
  int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return status_of_open();

  Block block = {.memory = *memory, .cap = cap};
  Status status = block_for(descriptor, &block);
  if (status == STATUS_OK) status = read_to_end(descriptor, &block);
  if (!standard) close_quietly(descriptor);
  if (status != STATUS_OK || block.size == 0) {
    int error = errno;
    memory_free(memory, block.bytes, block.capacity);
    errno = error;
    block.bytes = NULL;
    block.capacity = 0;
  }
  if (status != STATUS_OK) return status;
  *bytes = block.bytes;
  *size = block.size;
  *capacity = block.capacity;
  return STATUS_OK;
}

/*
** Writing.
*/

/* errno stays. */
static void free_string(const Memory *memory, char *string) {
  int error = errno;
  if (string != NULL) memory_free(memory, string, strlen(string) + 1);
  errno = error;
}

static char *copy_string(const Memory *memory, const char *string) {
  size_t size = strlen(string) + 1;
  char *copy = memory_new(memory, size);
  return copy != NULL ? memcpy(copy, string, size) : NULL;
}

static void writer_end(FileWriter *writer) {
  free_string(&writer->memory, writer->path);
  free_string(&writer->memory, writer->temporary);
  *writer = (FileWriter){.descriptor = -1, .memory = writer->memory};
}

/* Where a file at `path` really is, behind all links. `*there`: is anything? What
   is no regular file keeps its name: /dev/stdout may lead where no name does. */
static Status resolve(const char *path, char resolved[PATH_MAX], struct stat *info, bool *there) {
  *there = stat(path, info) == 0;
  if (*there && S_ISREG(info->st_mode)) return realpath(path, resolved) != NULL ? STATUS_OK : status_of_open();
  if (!*there && errno != ENOENT) return status_of_open();
  struct stat link;
  size_t size = strlen(path);
  if (size == 0 || (!*there && lstat(path, &link) == 0)) {   /* a link to nothing is not ours to replace */
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

/* Writes six letters that nobody else is likely to choose just now. */
static void random_letters(char letters[6]) {
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t number = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  number = (number ^ (uint64_t)getpid() << 40) * 0x9E3779B97F4A7C15u >> 16;
  for (int i = 0; i < 6; i++, number /= 36) letters[i] = alphabet[number % 36];
}

/* Makes the temporary beside the target. Not by mkstemp: its 0600 can only be
   widened by the umask, which cannot be read without changing it for all threads. */
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
    writer->descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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

/* Opens what writer->path names, by what is there now. */
static Status open_target(FileWriter *writer, const struct stat *info, bool there) {
  if (!there) return open_temporary(writer, 0666);
  if (S_ISDIR(info->st_mode)) {
    errno = EISDIR;
    return STATUS_IO;
  }
  if (!S_ISREG(info->st_mode)) {
    writer->descriptor = open(writer->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return writer->descriptor >= 0 ? STATUS_OK : status_of_open();
  }
  if (faccessat(AT_FDCWD, writer->path, W_OK, AT_EACCESS) != 0) return status_of_open();   /* rename would not ask */
  mode_t mode = info->st_mode & 0777;
  Status status = open_temporary(writer, mode);                   /* never wider than the old one, even for a moment */
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
  writer->path = copy_string(memory, resolved);
  if (writer->path == NULL) return STATUS_MEMORY;
  status = open_target(writer, &info, there);
  if (status != STATUS_OK) file_abandon(writer);
  return status;
}

Status file_write(FileWriter *writer, const void *bytes, size_t size) {
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
  return result == 0 || errno == EINVAL || errno == ENOTSUP;   /* some file systems cannot */
}

/* Opens the folder of `path`, or answers -1: one that may be written but not read cannot be flushed. */
static int open_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  size_t size = slash == path ? 1 : (size_t)(slash - path);   /* shorter than PATH_MAX, as resolve saw to it */
  memcpy(folder, path, size);
  folder[size] = '\0';
  return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Closes the descriptor; a failure may be the first news of a lost write. */
static bool writer_close(FileWriter *writer) {
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
