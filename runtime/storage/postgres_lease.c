/*
** Leases: one of many writers has a session for a time, so that the others do not work in vain.
**
** A lease asks nobody to be trusted: it guards nothing by itself. A writer that was stopped for longer than its lease
** is fenced off by the version, which grows when another one takes the session over; its next commit is a conflict.
** The server's clock alone says when a lease ends.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#define NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::int8"

/* Databases of before there were leases lack the table. The number of the lock is "Ebb!". */
static Status prepare(PostgresStorage *p, StorageError *error) {
  PostgresQuery queries[] = {{.sql = "BEGIN ISOLATION LEVEL READ COMMITTED"},
                             {.sql = "SELECT 1 FROM pg_advisory_xact_lock(1164075553)"},
                             {.sql = "CREATE TABLE IF NOT EXISTS ebb_lease(session int8 PRIMARY KEY, "
                                     "owner bytea NOT NULL, ends int8 NOT NULL)"},
                             {.sql = "DELETE FROM ebb_lease l WHERE NOT EXISTS "
                                     "(SELECT FROM ebb_session s WHERE s.id = l.session)"}};
  if (p->has_leases) return STATUS_OK;
  Status status = postgres_do(p, queries, 4, error);
  status = postgres_end(p, status, error);
  p->has_leases = status == STATUS_OK;
  return status;
}

/* Begins a transaction that has the session's row, and reads its lease: whether another owner has or had it, and for
   how many ms more. */
static Status look(PostgresStorage *p, int64_t session, Text owner, bool *other, int64_t *left, StorageError *error) {
  PostgresQuery queries[] = {{.sql = "BEGIN ISOLATION LEVEL READ COMMITTED"},
                             postgres_query(POSTGRES_LOCK_SESSION, 1, &session),
                             postgres_query("SELECT (owner <> $2)::int4::int8, ends - " NOW_MS
                                            " FROM ebb_lease WHERE session = $1", 1, &session)};
  postgres_add_bytes(&queries[2].values, owner);
  *other = false;
  *left = 0;
  Status status = postgres_run(p, queries, 3, error);
  if (status != STATUS_OK) return status;
  bool exists = postgres_rows_of(p, &queries[1]) > 0;
  if (!exists) status = storage_fail(error, STATUS_ABSENT, "%s: no such session", p->name);
  if (status == STATUS_OK && postgres_rows_of(p, &queries[2]) > 0) {
    *other = postgres_number(p, queries[2].result, 0, 0) == 1;
    *left = postgres_number(p, queries[2].result, 0, 1);
  }
  postgres_clear(p, queries, 3);
  return status;
}

static Status take(PostgresStorage *p, int64_t session, Text owner, int64_t ms, bool other, StorageError *error) {
  int64_t values[] = {session, ms};
  PostgresQuery queries[] = {
    postgres_query("INSERT INTO ebb_lease(session, ends, owner) VALUES ($1, " NOW_MS " + $2, $3) ON CONFLICT (session) "
                   "DO UPDATE SET ends = excluded.ends, owner = excluded.owner", 2, values),
    postgres_query("UPDATE ebb_session SET version = version + 1 WHERE id = $1", 1, &session)};
  postgres_add_bytes(&queries[0].values, owner);
  return postgres_do(p, queries, other ? 2 : 1, error);
}

Status postgres_lease(Storage *storage, uint64_t session, Text owner, int64_t ms, int64_t *left, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  bool other;
  int64_t id = (int64_t)session;
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = prepare(p, error);
  if (status != STATUS_OK) return status;
  status = look(p, id, owner, &other, left, error);
  bool taken = status == STATUS_OK && (!other || *left <= 0);
  if (taken) status = take(p, id, owner, ms, other, error);
  status = postgres_end(p, status, error);
  if (status == STATUS_OK && taken) *left = 0;
  return status;
}

Status postgres_release(Storage *storage, uint64_t session, Text owner, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  int64_t id = (int64_t)session;
  PostgresQuery query = postgres_query("DELETE FROM ebb_lease WHERE session = $1 AND owner = $2", 1, &id);
  postgres_add_bytes(&query.values, owner);
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = prepare(p, error);
  return status == STATUS_OK ? postgres_do(p, &query, 1, error) : status;
}

#endif
