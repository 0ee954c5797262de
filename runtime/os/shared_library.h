/*
** Functions of libraries that are loaded on first use: a start costs nothing, and a machine without one of them runs
** everything else. In a header of its own, so that libebb, which loads none, has no reference to the loader.
**
** A library is loaded once in a process, whichever thread is the first to need it. Its functions are found under a
** lock, and `is_ready` is set when the table is full: no thread sees a part of it.
*/
#ifndef EBB_OS_SHARED_LIBRARY_H
#define EBB_OS_SHARED_LIBRARY_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct SharedLibrary {
  const char *const *names;        /* of its builds, of which the first that can be used is taken; NULL ends them */
  const char *const *functions;    /* NULL ends them */
  void *table;                     /* a struct of pointers to these functions, in this order, and of nothing else */
  bool (*begin)(void);             /* called once when the table is full; false: it cannot be used. NULL: nothing */
  pthread_mutex_t lock;
  atomic_bool is_ready;
} SharedLibrary;

/* Members of a static one. */
#define SHARED_LIBRARY_LOCK .lock = PTHREAD_MUTEX_INITIALIZER, .is_ready = false

/* Fills the table from a library. POSIX lets dlsym's result be a function, for which ISO C has no conversion. */
static inline bool shared_library_find(SharedLibrary *library, void *handle) {
  char *at = library->table;
  for (const char *const *name = library->functions; *name != NULL; name++, at += sizeof(void *)) {
    void *symbol = dlsym(handle, *name);
    if (symbol == NULL) return false;
    memcpy(at, &symbol, sizeof symbol);
  }
  return library->begin == NULL || library->begin();
}

/* True if the table can be used. False: no build is installed that has all functions, as dlerror() says to this thread
   (a dlclose here would take that text away); the next call tries again. */
static inline bool shared_library_load(SharedLibrary *library) {
  if (atomic_load_explicit(&library->is_ready, memory_order_acquire)) return true;
  pthread_mutex_lock(&library->lock);
  bool is_ready = atomic_load_explicit(&library->is_ready, memory_order_relaxed);
  for (const char *const *name = library->names; *name != NULL && !is_ready; name++) {
    void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    is_ready = handle != NULL && shared_library_find(library, handle);
  }
  atomic_store_explicit(&library->is_ready, is_ready, memory_order_release);
  pthread_mutex_unlock(&library->lock);
  return is_ready;
}

#endif
