/*
** Another program that empties the log of a database of SQLite: PASSIVE checkpoints, as SQLite's own are, in a loop.
** The control of storage_wal_reset.lua: where the library has the WAL-reset bug, this damages a database that others
** write to.
**
**     wal_passive PATH SECONDS          prints how many checkpoints it made
*/
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **words) {
  sqlite3 *db;
  unsigned long done = 0;
  void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || count != 3) return 2;
  int (*open_it)(const char *, sqlite3 **);
  int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
  int (*checkpoint)(sqlite3 *, const char *, int, int *, int *);
  *(void **)&open_it = dlsym(library, "sqlite3_open");
  *(void **)&exec = dlsym(library, "sqlite3_exec");
  *(void **)&checkpoint = dlsym(library, "sqlite3_wal_checkpoint_v2");
  if (open_it(words[1], &db) != SQLITE_OK) return 1;
  exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);      /* opens the log */
  for (time_t end = time(NULL) + atoi(words[2]); time(NULL) < end;) {
    for (int i = 0; i < 100; i++) done += checkpoint(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) == SQLITE_OK;
  }
  printf("%lu\n", done);
  return 0;
}
