#include "storage/sqlite_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef EBB_SQLITE_INSIDE

#define SQLITE_FIELD(name) .name = sqlite3_##name,
const SqliteLibrary *sqlite_library(const char **why) {
  static const SqliteLibrary library = {SQLITE_FUNCTIONS(SQLITE_FIELD)};
  *why = NULL;
  return &library;
}

#else

#include <dlfcn.h>

/* Sets a function pointer; POSIX lets dlsym's result be one, ISO C has no conversion. */
static bool find(void *handle, const char *name, void *function) {
  void *symbol = dlsym(handle, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

#define SQLITE_FIELD(name) found = found && find(handle, "sqlite3_" #name, &library.name);
const SqliteLibrary *sqlite_library(const char **why) {
  static SqliteLibrary library;
  static void *handle;
  if (handle != NULL) return &library;
  handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  bool found = handle != NULL;
  SQLITE_FUNCTIONS(SQLITE_FIELD)
  if (found) return &library;
  *why = dlerror();
  if (handle != NULL) dlclose(handle);
  handle = NULL;
  return NULL;
}

#endif
