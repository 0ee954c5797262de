#include "storage/sqlite_library.h"

#include <stddef.h>

#ifdef EBB_SQLITE_INSIDE

#define SQLITE_FIELD(name) .name = sqlite3_##name,
const SqliteLibrary *sqlite_library(const char **why) {
  static const SqliteLibrary library = {SQLITE_FUNCTIONS(SQLITE_FIELD)};
  *why = NULL;
  return &library;
}

#else

#include "os/shared_library.h"

#define SQLITE_FIELD(name) found = found && shared_library_find(handle, "sqlite3_" #name, &library.name);
const SqliteLibrary *sqlite_library(const char **why) {
  static SqliteLibrary library;
  static void *handle;
  if (handle != NULL) return &library;
  handle = shared_library_open("libsqlite3.so.0");
  bool found = handle != NULL;
  SQLITE_FUNCTIONS(SQLITE_FIELD)
  if (found) return &library;
  *why = dlerror();
  if (handle != NULL) dlclose(handle);
  handle = NULL;
  return NULL;
}

#endif
