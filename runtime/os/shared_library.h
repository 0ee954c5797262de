/*
** Functions of libraries that are loaded on first use: a start costs nothing, and a machine without one of them runs
** everything else. In a header of its own, so that libebb, which loads none, has no reference to the loader.
*/
#ifndef EBB_OS_SHARED_LIBRARY_H
#define EBB_OS_SHARED_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Opens a library under one of its names; dlerror() says why there is none. */
static inline void *shared_library_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

/* Sets a pointer to a function; false, and NULL, where the library has none of this name. POSIX lets dlsym's result
   be a function, for which ISO C has no conversion. */
static inline bool shared_library_find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

#endif
