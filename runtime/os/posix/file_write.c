/*
** Files, by POSIX: writing, to a temporary file beside the target, so that the name never
** refers to half a file:
**
**     file_create   .notes.json.ebb-3f9c0a1b2c3d4e5f     new, in the target's folder
**     file_write    .notes.json.ebb-3f9c0a1b2c3d4e5f     grows
**     file_commit   fsync, rename to notes.json, fsync of the folder
**
** A link stays a link: its target is replaced. A device or a FIFO is written to
** directly, without a temporary file.
*/
#define _GNU_SOURCE 1   /* F_DUPFD_CLOEXEC, faccessat */
#include "os/os.h"

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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/posix/file_calls.h"

/* Another writer holds its lock for the time of a rename: two seconds mean another program. */
enum { LOCK_TRIES = 2000, LOCK_PAUSE_NS = 1000000 };

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
  if (*there && S_ISREG(info->st_mode)) return realpath(path, resolved) != NULL ? STATUS_OK : file_status_of_open();
  if (!*there && errno != ENOENT) return file_status_of_open();
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

static Status open_temporary(FileWriter *writer, mode_t mode) {
  return file_temporary_open(&writer->memory, writer->path, mode, &writer->temporary, &writer->descriptor,
                             &writer->listed);
}

/* Opens the target, or its temporary file, depending on what exists at writer->path. */
static Status open_target(FileWriter *writer, const struct stat *info, bool there) {
  if (!there) return open_temporary(writer, 0666);
  if (S_ISDIR(info->st_mode)) {
    errno = EISDIR;
    return STATUS_IO;
  }
  if (!S_ISREG(info->st_mode)) {
    writer->descriptor = file_open_call(writer->path, O_WRONLY | O_NOCTTY, 0);
    writer->escapes = writer->descriptor >= 0 && isatty(writer->descriptor) == 1;
    return writer->descriptor >= 0 ? STATUS_OK : file_status_of_open();
  }
  /* rename checks only the folder */
  if (faccessat(AT_FDCWD, writer->path, W_OK, AT_EACCESS) != 0) return file_status_of_open();
  Status status = open_temporary(writer, info->st_mode & 0777);   /* never with a wider mode than the old file's */
  if (status != STATUS_OK) return status;
  writer->lost = file_attributes_copy(writer->descriptor, writer->path, info);
  return writer->lost >= 0 ? STATUS_OK : STATUS_IO;
}

Status file_create(FileWriter *writer, const Memory *memory, const char *path) {
  *writer = (FileWriter){.descriptor = -1, .memory = *memory};
  if (strcmp(path, "-") == 0) {
    writer->descriptor = STDOUT_FILENO;
    writer->escapes = isatty(STDOUT_FILENO) == 1;
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

static Status write_bytes(FileWriter *writer, const char *at, size_t size) {
  while (size > 0) {
    ssize_t wrote = write(writer->descriptor, at, size < INT_MAX ? size : INT_MAX);
    if (wrote < 0) {
      if (file_try_again(writer->descriptor, POLLOUT)) continue;
      return STATUS_IO;
    }
    at += wrote;
    size -= (size_t)wrote;
  }
  return STATUS_OK;
}

/* ---- terminals ----
**
** A stranger's text must not steer a terminal. JSON escapes the characters below a blank by itself; the hidden ones
** from DEL on are written as its four-digit escapes here, which is the same JSON. */

typedef struct Escaped {
  char bytes[4096];
  size_t size;
} Escaped;

static Status flush_escaped(FileWriter *writer, Escaped *out) {
  size_t size = out->size;
  out->size = 0;
  return write_bytes(writer, out->bytes, size);
}

/* Adds the first character of the bytes, or its escape. Returns how many bytes it has. */
static size_t add_character(Escaped *out, const char *bytes, size_t size) {
  uint32_t point;
  size_t used = utf8_decode(bytes, bytes + size, &point);
  char *at = out->bytes + out->size;
  size_t room = sizeof out->bytes - out->size;
  if (used == 0) out->size += (size_t)snprintf(at, room, "\\x%02X", (unsigned)(unsigned char)bytes[0]);
  else if (point < 0x7F || !utf8_is_hidden(point)) {
    memcpy(at, bytes, used);
    out->size += used;
  } else if (point > 0xFFFF) {
    unsigned high = 0xD800 + ((point - 0x10000) >> 10), low = 0xDC00 + ((point - 0x10000) & 0x3FF);
    out->size += (size_t)snprintf(at, room, "\\u%04X\\u%04X", high, low);
  } else {
    out->size += (size_t)snprintf(at, room, "\\u%04X", (unsigned)point);
  }
  return used == 0 ? 1 : used;
}

/* Adds the characters that are held, but for one that lacks bytes; `ends`: no more bytes come. */
static void add_held(FileWriter *writer, Escaped *out, bool ends) {
  while (writer->held_size > 0) {
    const char *end = writer->held + writer->held_size;
    if (!ends && utf8_is_start(writer->held, end)) return;
    size_t used = add_character(out, writer->held, writer->held_size);
    writer->held_size -= used;
    memmove(writer->held, writer->held + used, writer->held_size);
  }
}

static Status write_escaped(FileWriter *writer, const char *bytes, size_t size) {
  Escaped out = {.size = 0};
  for (size_t i = 0; i < size; i++) {
    assert(writer->held_size < sizeof writer->held);
    if (sizeof out.bytes - out.size < 64) {
      Status status = flush_escaped(writer, &out);
      if (status != STATUS_OK) return status;
    }
    writer->held[writer->held_size++] = bytes[i];
    add_held(writer, &out, false);
  }
  return flush_escaped(writer, &out);
}

static Status end_escaped(FileWriter *writer) {
  Escaped out = {.size = 0};
  add_held(writer, &out, true);
  return flush_escaped(writer, &out);
}

Status file_write(FileWriter *writer, const void *bytes, size_t size) {
  assert(writer->descriptor >= 0);
  return writer->escapes ? write_escaped(writer, bytes, size) : write_bytes(writer, bytes, size);
}

static bool flush_to_disk(int descriptor) {
  int result;
  do result = fsync(descriptor);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == ENOTSUP;   /* some file systems lack it */
}

/* Closes the descriptor. A failure may be the first sign of a lost write. */
static bool writer_close(FileWriter *writer) {
  assert(writer->descriptor >= 0);
  int descriptor = writer->descriptor;
  writer->descriptor = -1;
  return close(descriptor) == 0 || errno == EINTR;   /* closed in either case */
}

/* Closes a copy of the descriptor: a failure may be the first sign of a lost write. The
   descriptor itself keeps the lock until the file has its name. */
static bool close_copy(int descriptor) {
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return errno == EMFILE;
  return close(copy) == 0 || errno == EINTR;   /* closed in either case */
}

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Locks the file that is to be replaced, so that no other writer replaces it between the
   check and the rename. *lock: -1 if there is no such file, or none that can be locked.
   STATUS_IO, EBUSY: another program keeps it locked. */
static Status lock_target(const char *path, int *lock) {
  *lock = -1;
  for (int i = 0; i < LOCK_TRIES; i++) {
    if (file_is_interrupted()) return STATUS_OK;   /* `replace` refuses */
    struct stat open, now;
    *lock = file_open_call(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*lock < 0) return STATUS_OK;
    FileLock result = file_lock(*lock);
    if (result == FILE_LOCKED && fstat(*lock, &open) == 0 && stat(path, &now) == 0 && same_file(&open, &now)) {
      return STATUS_OK;
    }
    close(*lock);
    *lock = -1;
    if (result == FILE_LOCK_NONE) return STATUS_OK;
    nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
  }
  errno = EBUSY;
  return STATUS_IO;
}

static bool is_unchanged(const FileWriter *writer) {
  if (!writer->guarded) return true;
  FileIdentity now = {0};
  const FileIdentity *before = &writer->unchanged;
  return file_identify(writer->path, &now) == STATUS_OK && now.device == before->device
         && now.inode == before->inode && now.size == before->size && now.modified_s == before->modified_s
         && now.modified_ns == before->modified_ns;
}

/* Gives the temporary file its name, while no signal comes between the rename and the note of it. */
static Status replace(FileWriter *writer) {
  file_hold_signals();
  Status status = !is_unchanged(writer) ? STATUS_CONFLICT : STATUS_OK;
  if (file_is_interrupted()) {
    errno = EINTR;
    status = STATUS_IO;
  }
  if (status == STATUS_OK && rename(writer->temporary, writer->path) != 0) status = STATUS_IO;
  if (status == STATUS_OK) {
    file_unlist(&writer->listed);
    file_tell_replaced();
  }
  file_release_signals();
  return status;
}

/* Also if the folder cannot be flushed, the file has its new content. */
static Status commit_temporary(FileWriter *writer) {
  int lock;
  if (!flush_to_disk(writer->descriptor) || !close_copy(writer->descriptor)) return STATUS_IO;
  Status status = lock_target(writer->path, &lock);
  if (status != STATUS_OK) return status;
  int folder = file_open_folder(writer->path);
  status = replace(writer);
  if (lock >= 0) file_close_quietly(lock);
  file_close_quietly(writer->descriptor);
  writer->descriptor = -1;
  if (status == STATUS_OK && folder >= 0 && !flush_to_disk(folder)) status = STATUS_IO;
  if (folder >= 0) file_close_quietly(folder);
  return status;
}

Status file_commit(FileWriter *writer) {
  assert(writer->descriptor >= 0);
  Status status = writer->escapes ? end_escaped(writer) : STATUS_OK;
  if (status == STATUS_OK && writer->temporary != NULL) status = commit_temporary(writer);
  else if (status == STATUS_OK && writer->path != NULL && !writer_close(writer)) status = STATUS_IO;
  if (status == STATUS_OK) writer_end(writer);
  else file_abandon(writer);
  return status;
}

void file_abandon(FileWriter *writer) {
  int error = errno;
  if (writer->path != NULL && writer->descriptor >= 0) close(writer->descriptor);
  if (writer->temporary != NULL) file_temporary_remove(writer->temporary, &writer->listed);
  errno = error;
  writer_end(writer);
}

/* ---- small pieces ---- */

void file_gather_begin(FileGather *gather, FileWriter *writer) {
  gather->writer = writer;
  gather->size = 0;
}

Status file_gather_flush(FileGather *gather) {
  size_t size = gather->size;
  gather->size = 0;
  return file_write(gather->writer, gather->bytes, size);
}

Status file_gather(FileGather *gather, const void *bytes, size_t size) {
  if (size > sizeof gather->bytes - gather->size) {
    Status status = file_gather_flush(gather);
    if (status != STATUS_OK) return status;
  }
  if (size > sizeof gather->bytes) return file_write(gather->writer, bytes, size);
  memcpy(gather->bytes + gather->size, bytes, size);
  gather->size += size;
  return STATUS_OK;
}
