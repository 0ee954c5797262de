/*
** Storages of several threads: each thread has one of its own, and the first use of SQLite's and PostgreSQL's library
** may be by all of them at once. Built with ThreadSanitizer too (MODE=threads).
*/
#define _DEFAULT_SOURCE 1
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "storage/postgres_data.h"
#include "storage/sqlite_data.h"
#include "storage/storage.h"

enum { THREADS = 8, TURNS = 5 };

static pthread_barrier_t start;
static char folder[] = P_tmpdir "/ebb-threads-XXXXXX";

typedef struct Work {
  pthread_t thread;
  int number;
  char failed[300];
  bool has_sqlite, has_postgres;
} Work;

static Status count_session(void *user, const SessionInfo *info) {
  (void)info;
  ++*(int *)user;
  return STATUS_OK;
}

/* Creates sessions in a database of the thread's own. */
static void create_sessions(Work *work) {
  char path[64], name[32];
  Fail fail = {0};
  StorageConfig config = {.memory = fail_memory(&fail), .creates = true, .relaxed = true, .wait_ms = 1000};
  Storage *storage = NULL;
  StorageError error;
  SessionInfo info;
  int count = 0;
  snprintf(path, sizeof path, "%s/%d.db", folder, work->number);
  Status status = storage_open(path, &config, &storage, &error);
  for (int i = 0; i < TURNS && status == STATUS_OK; i++) {
    snprintf(name, sizeof name, "session %d", i);
    status = storage_create(storage, text_of(name), 1700000000000, &info, &error);
  }
  if (status == STATUS_OK) status = storage_list(storage, (SessionSink){.add = count_session, .user = &count}, &error);
  if (status != STATUS_OK || count != TURNS) {
    snprintf(work->failed, sizeof work->failed, "%d sessions, %s: %s", count, status_code(status), error.text);
  }
  storage_close(storage);
  if (fail.in_use != 0) snprintf(work->failed, sizeof work->failed, "%zu bytes are left", fail.in_use);
}

/* Every function of a table is there for the first one who gets it. */
static bool is_full(const void *table, size_t size) {
  for (size_t at = 0; at < size; at += sizeof(void *)) {
    void *function;
    memcpy(&function, (const char *)table + at, sizeof function);
    if (function == NULL) return false;
  }
  return true;
}

static void *run(void *user) {
  Work *work = user;
  const char *why = NULL;
  pthread_barrier_wait(&start);
  const SqliteLibrary *sqlite = sqlite_library(&why);
  work->has_sqlite = sqlite != NULL;
  if (sqlite != NULL && !is_full(sqlite, sizeof *sqlite)) strcpy(work->failed, "a function of SQLite is missing");
#ifdef EBB_POSTGRES
  const PostgresLibrary *postgres = postgres_library(&why);
  work->has_postgres = postgres != NULL;
  if (postgres != NULL && !is_full(postgres, sizeof *postgres)) strcpy(work->failed, "a function of libpq is missing");
#endif
  if (sqlite != NULL && work->failed[0] == '\0') create_sessions(work);
  return NULL;
}

static void all_threads_use_the_libraries_first(void **state) {
  static Work works[THREADS];
  (void)state;
  assert_non_null(mkdtemp(folder));
  pthread_barrier_init(&start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    works[i].number = i;
    assert_int_equal(pthread_create(&works[i].thread, NULL, run, &works[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(works[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) {
    if (works[i].failed[0] != '\0') fail_msg("thread %d: %s", i, works[i].failed);
    assert_int_equal(works[i].has_sqlite, works[0].has_sqlite);
    assert_int_equal(works[i].has_postgres, works[0].has_postgres);
  }
}

static int remove_files(void **state) {
  (void)state;
  for (int i = 0; i < THREADS; i++) {
    for (int k = 0; k < 4; k++) {
      static const char *const rests[] = {"", "-wal", "-shm", "-checkpoint"};
      char path[80];
      snprintf(path, sizeof path, "%s/%d.db%s", folder, i, rests[k]);
      unlink(path);
    }
  }
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_threads_use_the_libraries_first),
  };
  return cmocka_run_group_tests(tests, NULL, remove_files);
}
