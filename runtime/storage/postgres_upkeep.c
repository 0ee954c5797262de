/*
** Upkeep of a database of PostgreSQL: checks, free room.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <inttypes.h>
#include <stdio.h>

static Status discard(void *user, const StateRow *row) {
  (void)user, (void)row;
  return STATUS_OK;
}

/* Reads every row, which compares the checksums. What is damaged does not end the check. */
static Status check_sessions(PostgresStorage *p, const PostgresQuery *list,
                             void (*tell)(void *user, const char *fault), void *user, StorageError *error) {
  Status status = STATUS_OK;
  for (int i = 0; i < postgres_rows_of(p, list) && status == STATUS_OK; i++) {
    SessionInfo info;
    uint64_t session = (uint64_t)postgres_number(p, list->result, i, 0);
    status = postgres_read(&p->base, session, (StateRowSink){.put = discard}, &info, error);
    if (status == STATUS_SHAPE) tell(user, error->text);
    if (status == STATUS_SHAPE || status == STATUS_ABSENT) status = STATUS_OK;      /* removed meanwhile */
  }
  return status;
}

Status postgres_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user,
                      StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  PostgresQuery queries[] = {{.sql = "SELECT id FROM ebb_session ORDER BY id"},
                             {.sql = "SELECT DISTINCT session FROM ebb_row r WHERE NOT EXISTS "
                                     "(SELECT FROM ebb_session s WHERE s.id = r.session)"}};
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = postgres_run(p, queries, 2, error);
  int orphans = status == STATUS_OK ? postgres_rows_of(p, &queries[1]) : 0;
  for (int i = 0; i < orphans; i++) {
    char fault[80];
    snprintf(fault, sizeof fault, "rows of session %" PRIu64 ", which does not exist",
             (uint64_t)postgres_number(p, queries[1].result, i, 0));
    tell(user, fault);
  }
  if (status == STATUS_OK) status = check_sessions(p, &queries[0], tell, user, error);
  postgres_clear(p, queries, 2);
  return status;
}

/* The server has its own log; only the room of removed rows is ours. */
Status postgres_settle(Storage *storage, bool vacuums, StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  static const char *const tables[] = {"VACUUM ebb_row", "VACUUM ebb_session", "VACUUM ebb_operation"};
  Status status = postgres_ready(p, error);
  for (int i = 0; vacuums && i < 3 && status == STATUS_OK; i++) {
    PostgresQuery query = {.sql = tables[i]};
    status = postgres_do(p, &query, 1, error);
  }
  return status;
}

#endif
