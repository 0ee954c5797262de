/*
** Shared libraries, by dlopen. In a file of its own, so that libebb has no reference to the loader (Makefile).
*/
#define _POSIX_C_SOURCE 200809L
#include "os/os.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* one library is loaded at a time */

/* Fills the table from a library. POSIX lets dlsym's result be a function, for which ISO C has no conversion. */
static bool fill_table(SharedLibrary *library, void *handle) {
  char *at = library->table;
  for (const char *const *name = library->functions; *name != NULL; name++, at += sizeof(void *)) {
    void *symbol = dlsym(handle, *name);
    if (symbol == NULL) return false;
    memcpy(at, &symbol, sizeof symbol);
  }
  return library->begin == NULL || library->begin();
}

/* A library that lacks a function stays open: dlclose would take away what dlerror says. */
bool shared_library_load(SharedLibrary *library, const char **why) {
  if (atomic_load_explicit(&library->is_ready, memory_order_acquire)) return true;
  pthread_mutex_lock(&lock);
  bool is_ready = atomic_load_explicit(&library->is_ready, memory_order_relaxed);
  for (const char *const *name = library->names; *name != NULL && !is_ready; name++) {
    void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    is_ready = handle != NULL && fill_table(library, handle);
  }
  atomic_store_explicit(&library->is_ready, is_ready, memory_order_release);
  pthread_mutex_unlock(&lock);
  if (!is_ready && why != NULL) *why = dlerror();
  return is_ready;
}
