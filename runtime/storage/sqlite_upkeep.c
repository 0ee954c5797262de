/*
** Upkeep of a database: checks, free pages, copies.
*/
#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "storage/sqlite_data.h"

typedef struct Check {
  SqliteStorage *s;
  void (*tell)(void *user, const char *fault);
  void *user;
} Check;

/* ---- checking ---- */

/* SQLite's own check of pages and indexes. */
static Status check_pages(const Check *check, StorageError *error) {
  SqliteStorage *s = check->s;
  sqlite3_stmt *statement;
  int code = s->lib->prepare_v3(s->db, "PRAGMA integrity_check(20)", -1, 0, &statement, NULL);
  if (code != SQLITE_OK) return sqlite_fail(s, code, error);
  Status status = STATUS_OK;
  while (sqlite_next(s, statement, &status, error)) {
    const char *words = (const char *)s->lib->column_text(statement, 0);
    if (words != NULL && strcmp(words, "ok") != 0) check->tell(check->user, words);
  }
  s->lib->finalize(statement);
  return status;
}

static Status discard(void *user, const StateRow *row) {
  (void)user, (void)row;
  return STATUS_OK;
}

typedef struct Ids {
  Memory memory;
  uint64_t *list;
  uint32_t count, room;
} Ids;

static Status add_id(void *user, const SessionInfo *info) {
  Ids *ids = user;
  void *grown = memory_grow(&ids->memory, ids->list, &ids->room, ids->count, sizeof *ids->list);
  if (grown == NULL) return STATUS_MEMORY;
  ids->list = grown;
  ids->list[ids->count++] = info->id;
  return STATUS_OK;
}

/* Reads every row, which compares the checksums. What is damaged does not end the check. */
static Status check_session(const Check *check, uint64_t session, StorageError *error) {
  SessionInfo info;
  Status status = sqlite_read(&check->s->base, session, (StateRowSink){.put = discard}, &info, error);
  if (status != STATUS_SHAPE) return status;
  check->tell(check->user, error->text);
  return STATUS_OK;
}

Status sqlite_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  Check check = {.s = s, .tell = tell, .user = user};
  Ids ids = {.memory = s->memory};
  Status status = check_pages(&check, error);
  if (status == STATUS_OK) status = sqlite_list(storage, (SessionSink){.add = add_id, .user = &ids}, error);
  for (uint32_t i = 0; i < ids.count && status == STATUS_OK; i++) status = check_session(&check, ids.list[i], error);
  memory_free(&ids.memory, ids.list, ids.room * sizeof *ids.list);
  return status;
}

/* ---- waiting ---- */

#define WAIT_STEP_MS 10

/* SQLite tells other processes nothing: the version is read again and again. */
Status sqlite_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                   StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  int64_t end = clock_monotonic_ms() + ms;
  for (;;) {
    SessionInfo info;
    Status status = sqlite_session(s, session, &info, error);
    if (status != STATUS_OK) return status;
    int64_t left = end - clock_monotonic_ms();
    *actual = info.version;
    if (info.version != version || left <= 0) return STATUS_OK;
    clock_sleep_us((left < WAIT_STEP_MS ? left : WAIT_STEP_MS) * 1000);
  }
}

/* ---- room ---- */

Status sqlite_settle(Storage *storage, bool vacuums, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  if (s->read_only) return storage_fail(error, STATUS_FORBIDDEN, "%s: it may only be read", s->path);
  if (vacuums) {
    int code = s->lib->exec(s->db, "VACUUM", NULL, NULL, NULL);
    if (code != SQLITE_OK) return sqlite_fail(s, code, error);
  }
  return sqlite_checkpoint(s, true, error);
}

/* ---- copies ---- */

Status sqlite_backup(Storage *storage, const char *path, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  FileLook file;
  sqlite3_stmt *statement;
  if (file_look(path, &file) != STATUS_OK) return storage_fail(error, STATUS_IO, "%s: %s", path, strerror(errno));
  if (file.exists) return storage_fail(error, STATUS_DUPLICATE, "%s: it exists", path);
  int code = s->lib->prepare_v3(s->db, "VACUUM INTO ?1", -1, 0, &statement, NULL);
  if (code != SQLITE_OK) return sqlite_fail(s, code, error);
  Status status = STATUS_OK;
  s->lib->bind_text64(statement, 1, path, strlen(path), SQLITE_STATIC, SQLITE_UTF8);
  while (sqlite_next(s, statement, &status, error)) {}
  s->lib->finalize(statement);
  return status;
}
