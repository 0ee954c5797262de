#define _GNU_SOURCE 1   /* dladdr */
#include "os/program.h"

#ifndef EBB_MINIMAL
#include <dlfcn.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

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
