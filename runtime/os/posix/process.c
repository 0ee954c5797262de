/*
** Time, randomness, the locale of a thread, the program's file, and waiting for a descriptor.
*/
#define _GNU_SOURCE 1   /* dladdr, getrandom */
#include "os/os.h"

#include <assert.h>
#ifndef EBB_MINIMAL
#include <dlfcn.h>
#endif
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- clocks ---- */

static int64_t system_now_ms(void *user) {
  (void)user;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

Clock clock_system(void) {
  return (Clock){.now_ms = system_now_ms, .user = NULL};
}

int64_t clock_now(const Clock *clock) {
  return clock->now_ms(clock->user);
}

static uint64_t read_ns(clockid_t which) {
  struct timespec now;
  if (clock_gettime(which, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void) { return read_ns(CLOCK_MONOTONIC); }
uint64_t clock_thread_ns(void) { return read_ns(CLOCK_THREAD_CPUTIME_ID); }

void clock_sleep_us(int64_t us) {
  struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

/* ---- entropy ---- */

HashKey entropy_hash_key(void) {
  HashKey key;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key) return key;
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  key.words[0] = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
  key.words[1] = (uint64_t)(uintptr_t)&key << 20 ^ (uint64_t)(uintptr_t)&entropy_hash_key;
  return key;
}

/* ---- locale ---- */

Locale locale_plain(void) {
  static _Atomic(locale_t) c_locale;            /* asked for once: each thread would get the same */
  locale_t plain = atomic_load_explicit(&c_locale, memory_order_relaxed);
  if (plain == (locale_t)0) {
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    atomic_store_explicit(&c_locale, plain, memory_order_relaxed);
  }
  assert(plain != (locale_t)0);
  return (Locale)uselocale(plain);
}

Locale locale_set(Locale locale) {
  return (Locale)uselocale((locale_t)locale);
}

/* ---- program and descriptors ---- */

/* The path of the module; 0 in a program, which dladdr calls by whatever name it was started. */
static size_t module_path(char *path, size_t room) {
#ifndef EBB_MINIMAL
  Dl_info info;
  bool named = dladdr((void *)(uintptr_t)program_path, &info) != 0 && info.dli_fname != NULL;
  size_t size = named ? strlen(info.dli_fname) : 0;
  if (size > 3 && size <= room && strcmp(info.dli_fname + size - 3, ".so") == 0) {
    memcpy(path, info.dli_fname, size);
    return size;
  }
#else
  (void)path, (void)room;
#endif
  return 0;
}

size_t program_path(char *path, size_t room) {
  size_t module = module_path(path, room);
  if (module > 0) return module;
  ssize_t size = readlink("/proc/self/exe", path, room);
  return size > 0 && (size_t)size < room ? (size_t)size : 0;
}

int64_t program_process(void) { return (int64_t)getpid(); }

int descriptor_wait(int descriptor, bool writes, int64_t ms) {
  struct pollfd one = {.fd = descriptor, .events = (short)(writes ? POLLIN | POLLOUT : POLLIN)};
  int count = poll(&one, 1, ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms);
  if (count < 0) return errno == EINTR || errno == EAGAIN ? 0 : -1;
  return count;
}
