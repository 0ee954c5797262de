#include "storage/postgres_library.h"

#include "os/shared_library.h"

#ifdef EBB_POSTGRES

#define POSTGRES_FIELD(name) found = found && shared_library_find(handle, "PQ" #name, &library.name);
const PostgresLibrary *postgres_library(const char **why) {
  static PostgresLibrary library;
  static void *handle;
  if (handle != NULL) return &library;
  handle = shared_library_open("libpq.so.5");
  bool found = handle != NULL;
  POSTGRES_FUNCTIONS(POSTGRES_FIELD)
  if (found) return &library;
  *why = dlerror();
  if (handle != NULL) dlclose(handle);
  handle = NULL;
  return NULL;
}

#endif
