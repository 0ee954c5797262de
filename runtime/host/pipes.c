/*
** Pipes as files. A pipe is read once, and a file of the command line several times: to see what it is, by the
** program that reads it, and again for a hint. So a pipe is read to its end when the command begins, and its place
** is taken by a file in memory:
**
**     ebb run <(echo 'print(1)')     descriptor 63: a pipe, then the file; /dev/fd/63 opens it from its start
**     ebb run fifo                   a new descriptor, and /dev/fd/5 in the place of the name
**
** Needs Linux, where opening /dev/fd/N opens the file anew. Elsewhere pipes stay as they are.
*/
#define _GNU_SOURCE 1   /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"
#include "os/os.h"

#include "lauxlib.h"

enum { PIECE_BYTES = 16 * 1024 };

/* The descriptor that a path names; -1 for other paths. */
static int descriptor_of(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  if (strcmp(path, "/dev/stdin") == 0) return STDIN_FILENO;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    size_t size = strlen(folders[i]);
    if (strncmp(path, folders[i], size) != 0 || path[size] < '0' || path[size] > '9') continue;
    char *end;
    long number = strtol(path + size, &end, 10);
    if (*end == '\0' && number <= INT_MAX) return (int)number;
  }
  return -1;
}

#ifdef __linux__

static bool write_all(int descriptor, const char *bytes, ssize_t size) {
  while (size > 0) {
    ssize_t wrote = write(descriptor, bytes, (size_t)size);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) bytes += wrote, size -= wrote;
  }
  return true;
}

/* True if a read that failed may be repeated: a signal came, or a descriptor that does not block has more now. */
static bool may_read_again(int descriptor) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return descriptor_wait(descriptor, false, INT_MAX) >= 0;
  return errno == EINTR;
}

/* Keeps errno. */
static void close_quietly(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
}

/* Copies all that comes. False with errno. */
static bool drain(int from, int to) {
  char piece[PIECE_BYTES];
  for (;;) {
    ssize_t got = read(from, piece, sizeof piece);
    if (got == 0) return true;
    if (got > 0 && !write_all(to, piece, got)) return false;
    if (got < 0 && !may_read_again(from)) return false;
  }
}

/* A file in memory with all that comes from `from`, its offset at the end; -1 with errno. */
static int copy_of(int from) {
  int memory = memfd_create("ebb", MFD_CLOEXEC);
  if (memory < 0 || drain(from, memory)) return memory;
  close_quietly(memory);
  return -1;
}

static int refuse(lua_State *L) {
  int why = errno;
  lua_pushnil(L);
  lua_pushstring(L, strerror(why));
  return 2;
}

/* The pipe that has a descriptor: the copy takes its number. */
static int hold_descriptor(lua_State *L, int descriptor) {
  int memory = copy_of(descriptor);
  if (memory < 0) return refuse(L);
  bool done = dup2(memory, descriptor) == descriptor;
  close_quietly(memory);
  return done ? 1 : refuse(L);
}

/* The pipe that has a name. Where it cannot be opened, its reader says so. */
static int hold_name(lua_State *L, const char *path) {
  int pipe;
  do pipe = open(path, O_RDONLY | O_CLOEXEC);
  while (pipe < 0 && errno == EINTR);
  if (pipe < 0) return 1;
  int memory = copy_of(pipe);
  close_quietly(pipe);
  if (memory < 0) return refuse(L);
  lua_pushfstring(L, "/dev/fd/%d", memory);   /* open until the process ends */
  return 1;
}

int host_hold(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct stat info;
  lua_settop(L, 1);
  if (stat(path, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) return 1;
  int descriptor = descriptor_of(path);
  return descriptor >= 0 ? hold_descriptor(L, descriptor) : hold_name(L, path);
}

#else

int host_hold(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  return 1;
}

#endif

int host_is_descriptor(lua_State *L) {
  lua_pushboolean(L, descriptor_of(luaL_checkstring(L, 1)) >= 0);
  return 1;
}
