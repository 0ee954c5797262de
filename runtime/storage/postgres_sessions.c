/*
** The sessions of a database of PostgreSQL: their names and figures, branches.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <inttypes.h>

#define TEXT_OF(x) #x
#define NUMBER_OF(x) TEXT_OF(x)
#define FIGURE(member, number) #member ", "

/* ---- rows of the table ---- */

static uint64_t column(const PostgresStorage *p, const PGresult *result, int row, int index) {
  return (uint64_t)postgres_number(p, result, row, index);
}

/* In the order of POSTGRES_FIELDS. */
Status postgres_info(const PostgresStorage *p, const PGresult *result, int row, SessionInfo *info,
                     StorageError *error) {
  int at = 2;
  *info = (SessionInfo){.id = column(p, result, row, 0), .name = postgres_bytes(p, result, row, 1)};
#define READ_COLUMN(member, column) info->member = postgres_number(p, result, row, at++);
  SESSION_COLUMNS(READ_COLUMN)
  if (column(p, result, row, at) == 1) return STATUS_OK;
  return storage_fail(error, STATUS_SHAPE, "%s: the row of session %" PRIu64 " is damaged", p->name, info->id);
}

/* The first row of a query's result; *info's name is not valid then. */
static Status first_info(PostgresStorage *p, const PostgresQuery *query, SessionInfo *info, StorageError *error) {
  if (postgres_rows_of(p, query) == 0) return storage_fail(error, STATUS_ABSENT, "%s: no such session", p->name);
  Status status = postgres_info(p, query->result, 0, info, error);
  info->name = text_plain("", 0);
  return status;
}

/* Runs a query that gives a session. */
static Status one(PostgresStorage *p, PostgresQuery *query, SessionInfo *info, StorageError *error) {
  Status status = postgres_run(p, query, 1, error);
  if (status == STATUS_OK) status = first_info(p, query, info, error);
  postgres_clear(p, query, 1);
  return status;
}

/* The same for one that writes: alone it is its own transaction. */
static Status write_one(PostgresStorage *p, PostgresQuery *query, SessionInfo *info, StorageError *error) {
  PostgresQuery begin = {.sql = NULL};
  Status status = postgres_begin(p, true, &begin, error);
  if (status != STATUS_OK || begin.sql == NULL) return status == STATUS_OK ? one(p, query, info, error) : status;
  status = postgres_do(p, &begin, 1, error);
  if (status == STATUS_OK) status = one(p, query, info, error);
  return postgres_end(p, status, error);
}

Status postgres_list(Storage *storage, SessionSink sink, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery query = {.sql = "SELECT " POSTGRES_FIELDS " FROM ebb_session ORDER BY name"};
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = postgres_run(p, &query, 1, error);
  int count = status == STATUS_OK ? postgres_rows_of(p, &query) : 0;
  for (int i = 0; i < count && status == STATUS_OK; i++) {
    SessionInfo info;
    status = postgres_info(p, query.result, i, &info, error);
    if (status == STATUS_OK) status = sink.add(sink.user, &info);
  }
  postgres_clear(p, &query, 1);
  return status;
}

Status postgres_find(Storage *storage, Text name, SessionInfo *info, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery query = {.sql = "SELECT " POSTGRES_FIELDS " FROM ebb_session WHERE name = $1"};
  postgres_add_bytes(&query.values, name);
  Status status = postgres_ready(p, error);
  return status == STATUS_OK ? one(p, &query, info, error) : status;
}

Status postgres_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery query = {.sql = "INSERT INTO ebb_session(name, created, changed) VALUES ($1, $2, $2) "
                                "RETURNING " POSTGRES_FIELDS};
  postgres_add_bytes(&query.values, name);
  postgres_add_number(&query.values, now);
  return write_one(p, &query, info, error);
}

Status postgres_rename(Storage *storage, uint64_t session, Text name, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery query = {.sql = "UPDATE ebb_session SET name = $1 WHERE id = $2 RETURNING " POSTGRES_FIELDS};
  SessionInfo info;
  postgres_add_bytes(&query.values, name);
  postgres_add_number(&query.values, (int64_t)session);
  return write_one(p, &query, &info, error);
}

/* ---- origins ---- */

const char POSTGRES_CHAIN[] =
  "WITH RECURSIVE chain AS (SELECT 0 AS depth, s.* FROM ebb_session s WHERE id = $1 "
  "UNION ALL SELECT depth + 1, s.* FROM chain c JOIN ebb_session s ON s.id = c.origin WHERE c.origin <> 0 "
  "AND depth < " NUMBER_OF(STORAGE_ORIGINS_MAX) ") SELECT " POSTGRES_FIELDS " FROM chain ORDER BY depth";

Status postgres_segments(const PostgresStorage *p, const PostgresQuery *chain, SessionInfo *info,
                         StorageSegments *segments, StorageError *error) {
  int count = postgres_rows_of(p, chain);
  if (count == 0) return storage_fail(error, STATUS_ABSENT, "%s: no such session", p->name);
  segments->count = 0;
  for (int i = 0; i < count; i++) {
    SessionInfo session;
    Status status = postgres_info(p, chain->result, i, &session, error);
    if (status == STATUS_OK) status = storage_add_segment(segments, p->name, &session, error);
    if (status != STATUS_OK) return status;
    if (i == 0) *info = session;
    if (session.origin != 0 && i == count - 1) return storage_lack_origin(p->name, error);
  }
  info->name = text_plain("", 0);
  return STATUS_OK;
}

/* ---- branches ---- */

/* Sessions are locked first, so that what is copied is what they committed last. Messages, origins, moves and answers
   are shared: the kinds 1 to 4. */
_Static_assert(STATE_ROW_MESSAGE == 1 && STATE_ROW_ANSWERS == 4, "the kinds that branches share");

const char *const POSTGRES_UNSHARE[POSTGRES_UNSHARE_STEPS] = {
  "SELECT id FROM ebb_session WHERE origin = $1 ORDER BY id FOR UPDATE",
  "WITH copied AS (INSERT INTO ebb_row SELECT b.id, r.kind, r.number, r.sum # "
  "((b.id # $1) << 38), r.body FROM ebb_session b JOIN ebb_row r ON r.session = $1 AND r.kind BETWEEN 1 AND 4 "
  "AND r.number <= b.shared WHERE b.origin = $1 "
  "ON CONFLICT DO NOTHING RETURNING session, sum) "
  "UPDATE ebb_session b SET origin = o.origin, shared = CASE WHEN o.origin = 0 THEN 0 "
  "ELSE least(o.shared, b.shared) END, row_count = b.row_count + t.count, row_sum = b.row_sum + t.total "
  "FROM ebb_session o, (SELECT b.id, " POSTGRES_TALLY_OF("c")
  " FROM ebb_session b LEFT JOIN copied c ON c.session = b.id WHERE b.origin = $1 GROUP BY b.id) t "
  "WHERE t.id = b.id AND o.id = $1 AND b.origin = $1",
};

/* Inserts the branch and its copies of the rows that are not shared; within a transaction that has locked its
   origin. */
static Status insert_branch(PostgresStorage *p, uint64_t session, Text name, int64_t now, SessionInfo *info,
                            StorageError *error) {
  PostgresQuery insert = {.sql = "INSERT INTO ebb_session(" SESSION_FIGURES(FIGURE) "name, version, created, changed, "
                                 "origin, shared) SELECT " SESSION_FIGURES(FIGURE) "$1, 1, $2, $2, $3, stored "
                                 "FROM ebb_session WHERE id = $3 RETURNING " POSTGRES_FIELDS};
  postgres_add_bytes(&insert.values, name);
  postgres_add_number(&insert.values, now);
  postgres_add_number(&insert.values, (int64_t)session);
  Status status = one(p, &insert, info, error);
  if (status != STATUS_OK) return status;
  PostgresQuery copy = postgres_query("INSERT INTO ebb_row SELECT $2, kind, number, sum # (($1 # $2) << 38), body "
                                      "FROM ebb_row WHERE session = $1 AND kind NOT BETWEEN 1 AND 4",
                                      2, (int64_t[]){(int64_t)session, (int64_t)info->id});
  PostgresQuery tally = postgres_query("UPDATE ebb_session SET (row_count, row_sum) = (SELECT " POSTGRES_TALLY_OF("r")
                                       " FROM ebb_row r WHERE r.session = $1) WHERE id = $1",
                                       1, (int64_t[]){(int64_t)info->id});
  PostgresQuery steps[] = {copy, tally};
  return postgres_do(p, steps, 2, error);
}

Status postgres_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                       StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  int64_t id = (int64_t)session;
  StorageSegments segments;
  PostgresQuery queries[] = {{.sql = "BEGIN"}, {.sql = POSTGRES_LOCK_SHARED},
                             postgres_query(POSTGRES_LOCK_SESSION, 1, &id), postgres_query(POSTGRES_CHAIN, 1, &id)};
  Status status = postgres_begin(p, true, &queries[0], error);
  if (status == STATUS_OK) status = postgres_run(p, queries, 4, error);
  if (status == STATUS_OK) status = postgres_segments(p, &queries[3], info, &segments, error);
  postgres_clear(p, queries, 4);
  if (status == STATUS_OK && segments.count == STORAGE_ORIGINS_MAX) {
    status = storage_fail(error, STATUS_LIMIT, "%s: a branch of more than %d branches", p->name,
                          STORAGE_ORIGINS_MAX - 2);
  }
  if (status == STATUS_OK) status = insert_branch(p, session, name, now, info, error);
  return postgres_end(p, status, error);
}

Status postgres_remove(Storage *storage, uint64_t session, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  int64_t id = (int64_t)session;
  SessionInfo info;
  PostgresQuery queries[6 + POSTGRES_UNSHARE_STEPS] = {{.sql = "BEGIN"}, {.sql = POSTGRES_LOCK},
                                                       postgres_query(POSTGRES_LOCK_SESSION, 1, &id)};
  int count = 3;
  for (int i = 0; i < POSTGRES_UNSHARE_STEPS; i++) queries[count++] = postgres_query(POSTGRES_UNSHARE[i], 1, &id);
  queries[count++] = postgres_query("DELETE FROM ebb_row WHERE session = $1", 1, &id);
  queries[count++] = postgres_query("DELETE FROM ebb_operation WHERE session = $1", 1, &id);
  queries[count++] = postgres_query("DELETE FROM ebb_session WHERE id = $1", 1, &id);
  Status status = postgres_begin(p, true, &queries[0], error);
  if (status == STATUS_OK) status = postgres_run(p, queries, count, error);
  if (status == STATUS_OK) status = first_info(p, &queries[2], &info, error);
  postgres_clear(p, queries, count);
  return postgres_end(p, status, error);
}

#endif
