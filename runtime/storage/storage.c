/*
** Chooses the driver of a place, and guards what all drivers need.
*/
#include "storage/storage.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codec/xxh64.h"
#include "os/os.h"

Status storage_fail(StorageError *error, Status status, const char *format, ...) {
  va_list arguments;
  assert(status != STATUS_OK);
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return status;
}

int64_t storage_checksum(uint64_t session, const StateRow *row) {
  uint64_t place[2] = {(uint64_t)row->kind, row->number};
  Xxh64 hash;
  xxh64_start(&hash);
  xxh64_add(&hash, place, sizeof place);
  xxh64_add(&hash, row->bytes.bytes, row->bytes.size);
  return (int64_t)(xxh64_end(&hash) ^ session << STORAGE_SUM_SHIFT);
}

int64_t storage_operation_checksum(uint64_t session, uint64_t version, Text id) {
  uint64_t place[2] = {session, version};
  Xxh64 hash;
  xxh64_start(&hash);
  xxh64_add(&hash, place, sizeof place);
  xxh64_add(&hash, id.bytes, id.size);
  return (int64_t)xxh64_end(&hash);
}

Status storage_compare_tally(const char *place, const SessionInfo *info, RowTally actual, StorageError *error) {
  RowTally right = info->tally;
  if (actual.count == right.count && actual.sum == right.sum) return STATUS_OK;
  if (actual.count == right.count) {
    return storage_fail(error, STATUS_SHAPE, "%s: session %" PRIu64 " has another row than it wrote", place, info->id);
  }
  return storage_fail(error, STATUS_SHAPE, "%s: session %" PRIu64 " has %" PRIu64 " rows, but wrote %" PRIu64, place,
                      info->id, actual.count, right.count);
}

uint64_t storage_first_operation(const StorageCommit *commit) {
  uint64_t version = commit->expected + 1;
  if (version <= STORAGE_OPERATIONS_KEPT || version % STORAGE_OPERATIONS_STEP != 0) return 0;
  return version - STORAGE_OPERATIONS_KEPT + 1;
}

static bool is_url(const char *place) {
  return strncmp(place, "postgres://", 11) == 0 || strncmp(place, "postgresql://", 13) == 0;
}

Status storage_open(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  *error = (StorageError){0};
  const StorageDriver *driver = is_url(place) ? &STORAGE_POSTGRES : &STORAGE_SQLITE;
  if (config->salvages && driver == &STORAGE_POSTGRES) {
    return storage_fail(error, STATUS_ARGUMENT, "only files of SQLite are salvaged");
  }
  if (config->salvages) driver = &STORAGE_SALVAGE;
  Status status = driver->open(place, config, storage, error);
  if (status == STATUS_OK) (*storage)->process = program_process();
  return status;
}

void storage_close(Storage *storage) {
  if (storage == NULL || storage->process != program_process()) return;      /* a child's close would drop locks */
  storage->driver->close(storage);
}

void storage_describe(const Storage *storage, char what[64], char warning[200]) {
  storage->driver->describe(storage, what, warning);
}

static Status enter(const Storage *storage, StorageError *error) {
  *error = (StorageError){0};
  if (storage->process == program_process()) return STATUS_OK;
  return storage_fail(error, STATUS_ARGUMENT, "the database was opened before fork(); open it in the child");
}

/* The same for what a storage that is only read cannot do. */
static Status enter_to_write(const Storage *storage, StorageError *error) {
  Status status = enter(storage, error);
  if (status != STATUS_OK || storage->driver->begin != NULL) return status;
  return storage_fail(error, STATUS_FORBIDDEN, "a database that is salvaged is only read");
}

/* The same for what cannot be undone with a group. */
static Status enter_alone(const Storage *storage, StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status != STATUS_OK || storage->group == GROUP_NONE) return status;
  return storage_fail(error, STATUS_ARGUMENT,
                      "leases, waits and upkeep have no place among edits that are made together");
}

static Status check_name(Text name, StorageError *error) {
  if (name.size == 0) return storage_fail(error, STATUS_ARGUMENT, "a session's name is not empty");
  if (name.size <= STORAGE_NAME_MAX) return STATUS_OK;
  return storage_fail(error, STATUS_LIMIT, "a session's name has at most %d bytes", STORAGE_NAME_MAX);
}

Status storage_list(Storage *storage, SessionSink sink, StorageError *error) {
  Status status = enter(storage, error);
  return status == STATUS_OK ? storage->driver->list(storage, sink, error) : status;
}

Status storage_find(Storage *storage, Text name, SessionInfo *info, StorageError *error) {
  Status status = enter(storage, error);
  return status == STATUS_OK ? storage->driver->find(storage, name, info, error) : status;
}

Status storage_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status == STATUS_OK) status = check_name(name, error);
  return status == STATUS_OK ? storage->driver->create(storage, name, now, info, error) : status;
}

Status storage_rename(Storage *storage, uint64_t session, Text name, StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status == STATUS_OK) status = check_name(name, error);
  return status == STATUS_OK ? storage->driver->rename(storage, session, name, error) : status;
}

Status storage_remove(Storage *storage, uint64_t session, StorageError *error) {
  Status status = enter_to_write(storage, error);
  return status == STATUS_OK ? storage->driver->remove(storage, session, error) : status;
}

Status storage_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                      StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status == STATUS_OK) status = check_name(name, error);
  return status == STATUS_OK ? storage->driver->branch(storage, session, name, now, info, error) : status;
}

Status storage_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error) {
  Status status = enter(storage, error);
  return status == STATUS_OK ? storage->driver->read(storage, session, sink, info, error) : status;
}

Status storage_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error) {
  Status status = enter(storage, error);
  return status == STATUS_OK ? storage->driver->look(storage, session, look, error) : status;
}

typedef struct RangeLook {
  StateRowKind kind;
  uint64_t first, last;
  StateRowSink sink;
} RangeLook;

static Status read_range(void *user, const SessionInfo *info, StateRowSource rows) {
  const RangeLook *range = user;
  (void)info;
  return rows.read(rows.user, range->kind, range->first, range->last, range->sink);
}

Status storage_read_some(Storage *storage, uint64_t session, StateRowKind kind, uint64_t first, uint64_t last,
                         StateRowSink sink, StorageError *error) {
  RangeLook range = {.kind = kind, .first = first, .last = last, .sink = sink};
  return storage_look(storage, session, (StorageLook){.run = read_range, .user = &range}, error);
}

Status storage_begin(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error) {
  Status status = enter_to_write(storage, error);
  *done = false;
  if (status == STATUS_OK) status = storage->driver->begin(storage, commit, done, error);
  if (status != STATUS_OK) *done = false;      /* the row of an operation may be damaged */
  return status;
}

Status storage_put(Storage *storage, const StateRow *row, StorageError *error) {
  return storage->driver->put(storage, row, error);
}

Status storage_commit(Storage *storage, StorageError *error) { return storage->driver->commit(storage, error); }
void storage_abandon(Storage *storage) { storage->driver->abandon(storage); }

Status storage_begin_group(Storage *storage, StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status != STATUS_OK) return status;
  if (storage->group != GROUP_NONE) {
    return storage_fail(error, STATUS_ARGUMENT, "edits are made together already: one end for all of them");
  }
  storage->group = GROUP_READY;
  return STATUS_OK;
}

Status storage_claim(Storage *storage, StorageError *error) {
  Status status = enter_to_write(storage, error);
  if (status != STATUS_OK) return status;
  if (storage->group != GROUP_NONE) return storage->driver->claim(storage, error);
  return storage_fail(error, STATUS_ARGUMENT, "only edits that are made together lock what sessions share");
}

Status storage_end_group(Storage *storage, bool keeps, StorageError *error) {
  Status status = enter(storage, error);
  if (status != STATUS_OK) return status;
  StorageGroup group = storage->group;
  storage->group = GROUP_NONE;
  if (group == GROUP_OPEN) return storage->driver->end_group(storage, keeps, error);
  if (group == GROUP_READY || !keeps) return STATUS_OK;
  return storage_fail(error, STATUS_IO, "the transaction was lost, and nothing that was made together is there");
}

Status storage_enter_group(Storage *storage, bool writes, StorageError *error) {
  if (storage->group != GROUP_LOST || !writes) return STATUS_OK;
  return storage_fail(error, STATUS_IO, "the transaction was lost, and nothing that was made together is there");
}

Status storage_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                    StorageError *error) {
  Status status = enter_alone(storage, error);
  return status == STATUS_OK ? storage->driver->wait(storage, session, version, ms, actual, error) : status;
}

static Status enter_to_lease(const Storage *storage, StorageError *error) {
  Status status = enter_alone(storage, error);
  if (status != STATUS_OK || storage->driver->lease != NULL) return status;
  return storage_fail(error, STATUS_ARGUMENT, "leases are for writers on many machines: only PostgreSQL has them");
}

Status storage_lease(Storage *storage, uint64_t session, Text owner, int64_t ms, int64_t *left, StorageError *error) {
  Status status = enter_to_lease(storage, error);
  return status == STATUS_OK ? storage->driver->lease(storage, session, owner, ms, left, error) : status;
}

Status storage_release(Storage *storage, uint64_t session, Text owner, StorageError *error) {
  Status status = enter_to_lease(storage, error);
  return status == STATUS_OK ? storage->driver->release(storage, session, owner, error) : status;
}

Status storage_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error) {
  Status status = enter_alone(storage, error);
  return status == STATUS_OK ? storage->driver->check(storage, tell, user, error) : status;
}

Status storage_settle(Storage *storage, bool vacuums, StorageError *error) {
  Status status = enter_alone(storage, error);
  return status == STATUS_OK ? storage->driver->settle(storage, vacuums, error) : status;
}

Status storage_backup(Storage *storage, const char *path, StorageError *error) {
  Status status = enter_alone(storage, error);
  return status == STATUS_OK ? storage->driver->backup(storage, path, error) : status;
}
