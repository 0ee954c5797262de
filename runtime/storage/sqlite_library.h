/*
** The functions of SQLite's library that Ebb calls. The library is loaded on first use, so that a command without
** sessions does not pay for it; with EBB_SQLITE_INSIDE it is linked in.
*/
#ifndef EBB_STORAGE_SQLITE_LIBRARY_H
#define EBB_STORAGE_SQLITE_LIBRARY_H

#include <sqlite3.h>

#define SQLITE_FUNCTIONS(X)                                                                                     \
  X(open_v2) X(close_v2) X(errmsg) X(extended_errcode) X(exec) X(prepare_v3) X(step) X(reset) X(finalize)       \
  X(bind_int64) X(bind_blob64) X(bind_text64) X(bind_null) X(clear_bindings) X(column_int64) X(column_blob)     \
  X(column_text) X(column_bytes) X(column_type) X(changes) X(last_insert_rowid) X(busy_handler)                 \
  X(wal_hook) X(wal_checkpoint_v2) X(interrupt) X(libversion) X(libversion_number) X(get_autocommit)            \
  X(db_config) X(file_control) X(system_errno) X(limit) X(test_control) X(vfs_find) X(vfs_register) X(vfs_unregister)

#define SQLITE_FIELD(name) __typeof__(&sqlite3_##name) name;
typedef struct SqliteLibrary {
  SQLITE_FUNCTIONS(SQLITE_FIELD)
} SqliteLibrary;
#undef SQLITE_FIELD

/* The library; NULL if it is not installed, and then *why says what the loader said. */
const SqliteLibrary *sqlite_library(const char **why);

#endif
