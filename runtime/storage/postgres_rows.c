/*
** The rows of a session in PostgreSQL: reading them in one snapshot, and commits.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <assert.h>
#include <inttypes.h>

/* ---- reading ---- */

/* A sink for the rows of a query. */
typedef struct RowsTaken {
  PostgresStorage *p;
  StateRowSink sink;
  StorageError *error;
} RowsTaken;

static Status take_row(void *user, const PGresult *result) {
  const RowsTaken *taken = user;
  const PostgresStorage *p = taken->p;
  int64_t kind = postgres_number(p, result, 0, 1);
  if (kind < 0 || kind >= STATE_ROW_KINDS) {
    return storage_fail(taken->error, STATUS_SHAPE, "%s: a row of the unknown kind %" PRId64, p->name, kind);
  }
  StateRow row = {.kind = (StateRowKind)kind, .number = (uint64_t)postgres_number(p, result, 0, 2),
                  .bytes = postgres_bytes(p, result, 0, 4)};
  int64_t sum = storage_checksum((uint64_t)postgres_number(p, result, 0, 0), &row);
  if (sum == postgres_number(p, result, 0, 3)) return taken->sink.put(taken->sink.user, &row);
  return storage_fail_row(p->name, &row, taken->error);
}

static Status read_range(StorageReading *reading, StorageSegment *part, StateRowKind kind, uint64_t first,
                         uint64_t last, StateRowSink sink) {
  RowsTaken taken = {.p = postgres_of(reading->storage), .sink = sink, .error = reading->error};
  int64_t values[] = {(int64_t)part->session, kind, (int64_t)first, (int64_t)last};
  PostgresQuery query = postgres_query("SELECT session, kind::int8, number, sum, body FROM ebb_row "
                                       "WHERE session = $1 AND kind = $2 AND number BETWEEN $3 AND $4 "
                                       "ORDER BY number", 4, values);
  return postgres_each(taken.p, &query, take_row, &taken, reading->error);
}

/* All rows; those of a session without an origin in one round trip. */
static Status read_all(StorageReading *reading, StateRowSink sink) {
  RowsTaken taken = {.p = postgres_of(reading->storage), .sink = sink, .error = reading->error};
  int64_t session = (int64_t)reading->segments.list[0].session;
  PostgresQuery query = postgres_query("SELECT session, kind::int8, number, sum, body FROM ebb_row "
                                       "WHERE session = $1 ORDER BY kind, number", 1, &session);
  if (reading->segments.count > 1) return storage_read_kinds(reading, sink);
  return postgres_each(taken.p, &query, take_row, &taken, reading->error);
}

/* Compares the tallies of the session and its origins with their rows. */
static Status compare_tallies(PostgresStorage *p, const PostgresQuery *chain, StorageError *error) {
  Status status = STATUS_OK;
  for (int i = 0; i < postgres_rows_of(p, chain) && status == STATUS_OK; i++) {
    SessionInfo info;
    int64_t id = postgres_number(p, chain->result, i, 0);
    PostgresQuery query = postgres_query("SELECT " POSTGRES_TALLY_OF("r") " FROM ebb_row r WHERE session = $1", 1, &id);
    status = postgres_info(p, chain->result, i, &info, error);
    if (status == STATUS_OK) status = postgres_run(p, &query, 1, error);
    if (status != STATUS_OK) return status;
    RowTally actual = {(uint64_t)postgres_number(p, query.result, 0, 0),
                       (uint64_t)postgres_number(p, query.result, 0, 1)};
    status = storage_compare_tally(p->name, &info, actual, error);
    postgres_clear(p, &query, 1);
  }
  return status;
}

/* A group has no snapshot, for its transaction writes: a session and its origins are locked until its end, so that
   they stay as they are while they are read. */
static const char LOCK_CHAIN[] =
  "SELECT id FROM ebb_session WHERE id IN (WITH RECURSIVE chain AS (SELECT id, origin FROM ebb_session WHERE id = $1 "
  "UNION SELECT s.id, s.origin FROM chain c JOIN ebb_session s ON s.id = c.origin WHERE c.origin <> 0) "
  "SELECT id FROM chain) ORDER BY id DESC FOR UPDATE";

/* Begins a snapshot and reads where the session's rows lie; `whole`: and whether all are there. */
static Status begin_reading(StorageReading *reading, uint64_t session, bool whole, SessionInfo *info) {
  PostgresStorage *p = postgres_of(reading->storage);
  StorageError *error = reading->error;
  int64_t id = (int64_t)session;
  PostgresQuery queries[3] = {{.sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}};
  int count = 1;
  reading->read = read_range;
  Status status = postgres_begin(p, false, &queries[0], error);
  if (p->base.group == GROUP_OPEN) queries[count++] = postgres_query(LOCK_CHAIN, 1, &id);
  const PostgresQuery *chain = &queries[count];
  queries[count++] = postgres_query(POSTGRES_CHAIN, 1, &id);
  if (status == STATUS_OK) status = postgres_run(p, queries, count, error);
  if (status == STATUS_OK) status = postgres_segments(p, chain, info, &reading->segments, error);
  if (status == STATUS_OK && whole) status = compare_tallies(p, chain, error);
  postgres_clear(p, queries, count);
  return status;
}

Status postgres_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error) {
  StorageReading reading = {.storage = storage, .error = error};
  Status status = begin_reading(&reading, session, true, info);
  if (status == STATUS_OK) status = read_all(&reading, sink);
  return postgres_end(postgres_of(storage), status, error);
}

Status postgres_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error) {
  StorageReading reading = {.storage = storage, .error = error};
  SessionInfo info;
  Status status = begin_reading(&reading, session, false, &info);
  if (status == STATUS_OK) status = look.run(look.user, &info, storage_row_source(&reading));
  return postgres_end(postgres_of(storage), status, error);
}

/* ---- beginning a commit ---- */

/* Only branches write rows of their origins, and need that these stay. */
#define LOCK_IF_BRANCH "SELECT version FROM ebb_schema WHERE EXISTS (SELECT FROM ebb_session WHERE id = $1 " \
                       "AND origin <> 0) FOR SHARE"

/* Removes what the session has, and gives its branches what they share with it. */
static Status erase(PostgresStorage *p, int64_t session, StorageError *error) {
  PostgresQuery queries[POSTGRES_UNSHARE_STEPS + 2];
  for (int i = 0; i < POSTGRES_UNSHARE_STEPS; i++) queries[i] = postgres_query(POSTGRES_UNSHARE[i], 1, &session);
  queries[POSTGRES_UNSHARE_STEPS] = postgres_query("DELETE FROM ebb_row WHERE session = $1", 1, &session);
  queries[POSTGRES_UNSHARE_STEPS + 1] =
    postgres_query("UPDATE ebb_session SET origin = 0, shared = 0, row_count = 0, row_sum = 0 WHERE id = $1", 1,
                   &session);
  return postgres_do(p, queries, POSTGRES_UNSHARE_STEPS + 2, error);
}

/* Locks the session, and looks at its version and at the operation. */
static Status lock_session(PostgresStorage *p, bool *done, SessionInfo *info, StorageError *error) {
  int64_t id = (int64_t)p->commit.session;
  PostgresQuery queries[] = {
    {.sql = "BEGIN ISOLATION LEVEL READ COMMITTED"},
    p->commit.replaces ? (PostgresQuery){.sql = POSTGRES_LOCK} : postgres_query(LOCK_IF_BRANCH, 1, &id),
    postgres_query(POSTGRES_LOCK_SESSION, 1, &id),
    postgres_query("SELECT version, sum FROM ebb_operation WHERE session = $1 AND id = $2", 1, &id)};
  postgres_add_bytes(&queries[3].values, p->commit.operation);
  Status status = postgres_begin(p, true, &queries[0], error);
  if (status == STATUS_OK) status = postgres_run(p, queries, 4, error);
  if (status != STATUS_OK) return status;
  *done = postgres_rows_of(p, &queries[3]) > 0;
  if (*done) {
    status = storage_take_operation(p->name, &p->commit, (uint64_t)postgres_number(p, queries[3].result, 0, 0),
                                    postgres_number(p, queries[3].result, 0, 1), error);
  }
  bool exists = postgres_rows_of(p, &queries[2]) > 0;
  if (exists && status == STATUS_OK) status = postgres_info(p, queries[2].result, 0, info, error);
  postgres_clear(p, queries, 4);
  return exists ? status : storage_fail(error, STATUS_ABSENT, "%s: no such session", p->name);
}

static Status find_origins(PostgresStorage *p, StorageError *error) {
  int64_t id = (int64_t)p->commit.session;
  SessionInfo info;
  PostgresQuery chain = postgres_query(POSTGRES_CHAIN, 1, &id);
  Status status = postgres_run(p, &chain, 1, error);
  if (status == STATUS_OK) status = postgres_segments(p, &chain, &info, &p->segments, error);
  postgres_clear(p, &chain, 1);
  return status;
}

/* Empties the arrays: each begins with 20 bytes for its head. */
static Status reset_rows(PostgresStorage *p) {
  static const char head[20];
  Status status = STATUS_OK;
  p->row_count = 0;
  p->forgets = false;
  for (int i = 0; i < POSTGRES_COLUMNS && status == STATUS_OK; i++) {
    buffer_reset(&p->rows[i]);
    status = buffer_add(&p->rows[i], head, sizeof head);
  }
  return status;
}

Status postgres_begin_commit(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  SessionInfo info;
  assert(!p->commits);
  p->commit = *commit;
  p->segments.count = 0;
  Status status = reset_rows(p);
  if (status != STATUS_OK) return status;
  p->commits = true;
  status = lock_session(p, done, &info, error);
  if (status == STATUS_OK && !*done) status = storage_compare_version(commit, info.version, error);
  if (status == STATUS_OK && !*done) p->stored_before = info.stored;
  bool branches = status == STATUS_OK && !*done && !commit->replaces && info.origin != 0;
  if (branches) status = find_origins(p, error);
  if (status == STATUS_OK && !*done && commit->replaces) status = erase(p, (int64_t)commit->session, error);
  if (status != STATUS_OK || *done) postgres_abandon(storage);
  return status;
}

/* ---- rows of a commit ---- */

#define CHUNK_ROWS 1000
#define CHUNK_BYTES (1 << 20)

static const char PUT[] =
  "WITH r AS MATERIALIZED (SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[]) "
  "AS r(session, kind, number, sum, body)), "
  "old AS (SELECT w.session, " POSTGRES_TALLY_OF("w") " FROM r JOIN ebb_row w USING (session, kind, number) "
  "GROUP BY w.session), "
  "new AS (SELECT session, " POSTGRES_TALLY_OF("r") " FROM r GROUP BY session), "
  "put AS (INSERT INTO ebb_row(session, kind, number, sum, body) SELECT * FROM r "
  "ON CONFLICT (session, kind, number) DO UPDATE SET sum = excluded.sum, body = excluded.body) "
  "UPDATE ebb_session s SET row_count = s.row_count + new.count - coalesce(old.count, 0), "
  "row_sum = s.row_sum + new.total - coalesce(old.total, 0) "
  "FROM new LEFT JOIN old USING (session) WHERE s.id = new.session";

/* Whose rows a branch rewrites: the next statement sees what others wrote to them. */
static const char LOCK_ORIGINS[] = "SELECT id FROM ebb_session WHERE id = ANY ($1::int8[]) ORDER BY id DESC FOR UPDATE";

static void write_32(char *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (char)(number >> (24 - 8 * i));
}

static Status add_element(Buffer *array, const void *bytes, size_t size) {
  char length[4];
  write_32(length, (uint32_t)size);
  Status status = buffer_add(array, length, sizeof length);
  return status == STATUS_OK ? buffer_add(array, bytes, size) : status;
}

static Status add_number(Buffer *array, uint64_t number) {
  char bytes[8];
  write_32(bytes, (uint32_t)(number >> 32));
  write_32(bytes + 4, (uint32_t)number);
  return add_element(array, bytes, sizeof bytes);
}

/* The arrays as a statement: heads are dimensions, 0 for no NULLs, type, size, first index. */
static PostgresQuery put_query(PostgresStorage *p) {
  PostgresQuery query = {.sql = PUT};
  for (int i = 0; i < POSTGRES_COLUMNS; i++) {
    char *head = p->rows[i].bytes;
    bool of_numbers = i < POSTGRES_COLUMNS - 1;
    uint32_t fields[] = {1, 0, of_numbers ? 20 : 17, p->row_count, 1};
    for (int k = 0; k < 5; k++) write_32(head + (ptrdiff_t)k * 4, fields[k]);
    postgres_add_array(&query.values, of_numbers, &p->rows[i]);
  }
  return query;
}

/* The statements that put the rows; at most two. */
static int put_queries(PostgresStorage *p, PostgresQuery *queries) {
  int count = 0;
  PostgresQuery put = put_query(p);      /* writes the heads of the arrays */
  if (p->forgets) {
    queries[count] = (PostgresQuery){.sql = LOCK_ORIGINS};
    postgres_add_array(&queries[count++].values, true, &p->rows[0]);
  }
  queries[count++] = put;
  return count;
}

static Status send_rows(PostgresStorage *p, StorageError *error) {
  PostgresQuery queries[2];
  int count = put_queries(p, queries);
  Status status = postgres_do(p, queries, count, error);
  return status == STATUS_OK ? reset_rows(p) : status;
}

Status postgres_put(Storage *storage, const StateRow *row, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  assert(p->commits && row->number <= INT64_MAX);
  uint64_t owner = storage_row_owner(&p->segments, &p->commit, p->stored_before, row);
  uint64_t numbers[] = {owner, row->kind, row->number, (uint64_t)storage_checksum(owner, row)};
  Status status = STATUS_OK;
  if (row->bytes.size > INT32_MAX / 2) {
    return storage_fail(error, STATUS_LIMIT, "%s: a row is larger than PostgreSQL takes", p->name);
  }
  bool full = p->row_count == CHUNK_ROWS || (p->row_count > 0 && p->rows[4].size + row->bytes.size > CHUNK_BYTES);
  if (full) status = send_rows(p, error);
  p->forgets |= owner != p->commit.session;
  for (int i = 0; i < 4 && status == STATUS_OK; i++) status = add_number(&p->rows[i], numbers[i]);
  if (status == STATUS_OK) status = add_element(&p->rows[4], row->bytes.bytes, row->bytes.size);
  p->row_count++;
  return status;
}

/* ---- the end of a commit ---- */

#define NEW_FIGURE(member, number) #member " = $" #number ", "
#define FIGURE_VALUE(member, number) (int64_t)c->member,

static PostgresQuery advance_query(const StorageCommit *c) {
  int64_t values[] = {(int64_t)c->session, (int64_t)c->expected, c->now, SESSION_FIGURES(FIGURE_VALUE)};
  return postgres_query("UPDATE ebb_session SET " SESSION_FIGURES(NEW_FIGURE) "version = version + 1, changed = $3 "
                        "WHERE id = $1 AND version = $2", (int)(sizeof values / sizeof *values), values);
}

static PostgresQuery note_query(const StorageCommit *c) {
  uint64_t version = c->expected + 1;
  int64_t values[] = {(int64_t)c->session, (int64_t)version,
                      storage_operation_checksum(c->session, version, c->operation)};
  PostgresQuery query = postgres_query("INSERT INTO ebb_operation(session, version, sum, id) VALUES ($1, $2, $3, $4)",
                                       3, values);
  postgres_add_bytes(&query.values, c->operation);
  return query;
}

Status postgres_commit(Storage *storage, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  const StorageCommit *c = &p->commit;
  PostgresQuery queries[6];
  int count = 0;
  int64_t old[] = {(int64_t)c->session, (int64_t)storage_first_operation(c)};
  assert(p->commits);
  if (p->row_count > 0) count = put_queries(p, queries);
  queries[count++] = advance_query(c);
  if (c->operation.size > 0) queries[count++] = note_query(c);
  if (c->operation.size > 0 && old[1] > 0) {
    queries[count++] = postgres_query("DELETE FROM ebb_operation WHERE session = $1 AND version < $2", 2, old);
  }
  queries[count++] = postgres_commit_query(p);
  Status status = postgres_do(p, queries, count, error);
  if (status != STATUS_OK) postgres_end(p, status, error);
  if (status == STATUS_OK) postgres_notify(p, c->session);
  p->commits = false;
  return status;
}

void postgres_abandon(Storage *storage) {
  PostgresStorage *p = postgres_of(storage);
  StorageError ignored;
  if (p->commits) postgres_end(p, STATUS_IO, &ignored);
  p->commits = false;
}

Status postgres_claim(Storage *storage, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery queries[] = {{.sql = NULL}, {.sql = POSTGRES_LOCK}};
  Status status = postgres_begin(p, true, &queries[0], error);
  if (status == STATUS_OK) status = postgres_do(p, queries, 2, error);
  return postgres_end(p, status, error);
}

Status postgres_end_group(Storage *storage, bool keeps, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  StorageError ignored;
  assert(!p->commits);
  Status status = postgres_end(p, keeps ? STATUS_OK : STATUS_HOST, keeps ? error : &ignored);
  if (status == STATUS_OK) postgres_notify_group(p);
  buffer_reset(&p->changed);
  return keeps ? status : STATUS_OK;
}

#endif
