#include "storage/postgres_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef EBB_POSTGRES

/* Sets a function pointer; POSIX lets dlsym's result be one, ISO C has no conversion. */
static bool find(void *handle, const char *name, void *function) {
  void *symbol = dlsym(handle, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

#define POSTGRES_FIELD(name) found = found && find(handle, "PQ" #name, &library.name);
const PostgresLibrary *postgres_library(const char **why) {
  static PostgresLibrary library;
  static void *handle;
  if (handle != NULL) return &library;
  handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  bool found = handle != NULL;
  POSTGRES_FUNCTIONS(POSTGRES_FIELD)
  if (found) return &library;
  *why = dlerror();
  if (handle != NULL) dlclose(handle);
  handle = NULL;
  return NULL;
}

#endif
