#include "storage/postgres_library.h"

#include "os/os.h"

#ifdef EBB_POSTGRES

#define POSTGRES_NAME(name) "PQ" #name,
const PostgresLibrary *postgres_library(const char **why) {
  static PostgresLibrary table;
  static const char *const names[] = {"libpq.so.5", NULL};
  static const char *const functions[] = {POSTGRES_FUNCTIONS(POSTGRES_NAME) NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &table};
  return shared_library_load(&library, why) ? &table : NULL;
}

#endif
