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

#include "os/os.h"

#define SQLITE_NAME(name) "sqlite3_" #name,
const SqliteLibrary *sqlite_library(const char **why) {
  static SqliteLibrary table;
  static const char *const names[] = {"libsqlite3.so.0", NULL};
  static const char *const functions[] = {SQLITE_FUNCTIONS(SQLITE_NAME) NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &table};
  return shared_library_load(&library, why) ? &table : NULL;
}

#endif
