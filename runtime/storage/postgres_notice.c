/*
** Notices: a commit tells those who wait for its session.
**
** A notice is a transaction of its own after the commit: those that notify take turns in the whole database, which
** appends must not. It does not wait for the disk, and nothing waits for its answer, which is taken before the next
** statements go. One that is lost delays a waiter by WAIT_ROUND_MS: so often it reads the version itself.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define WAIT_ROUND_MS 1000

void postgres_notify(PostgresStorage *p, uint64_t session) {
  char payload[24];
  PostgresQuery query = {.sql = "SELECT set_config('synchronous_commit', 'off', true), "
                                "pg_notify('ebb_session', $1::text)"};
  int size = snprintf(payload, sizeof payload, "%" PRIu64 "%s", session, p->base.group == GROUP_OPEN ? "," : "");
  if (p->base.group == GROUP_OPEN) {
    buffer_add(&p->changed, payload, (size_t)size);      /* without memory a waiter is told by its round */
    return;
  }
  postgres_add_text(&query.values, text_plain(payload, (size_t)size));
  postgres_post(p, &query);
}

void postgres_notify_group(PostgresStorage *p) {
  PostgresQuery query = {.sql = "SELECT set_config('synchronous_commit', 'off', true), count(pg_notify('ebb_session', "
                                "session)) FROM (SELECT DISTINCT session FROM unnest(string_to_array($1::text, ',')) "
                                "AS t(session) WHERE session <> '') s"};
  if (p->changed.size == 0) return;
  postgres_add_text(&query.values, text_plain(p->changed.bytes, p->changed.size));
  postgres_post(p, &query);
}

/* Reads the session's version; ABSENT. */
static Status read_version(PostgresStorage *p, uint64_t session, uint64_t *version, StorageError *error) {
  int64_t id = (int64_t)session;
  PostgresQuery query = postgres_query("SELECT version FROM ebb_session WHERE id = $1", 1, &id);
  Status status = postgres_run(p, &query, 1, error);
  if (status != STATUS_OK) return status;
  bool exists = postgres_rows_of(p, &query) > 0;
  if (exists) *version = (uint64_t)postgres_number(p, query.result, 0, 0);
  postgres_clear(p, &query, 1);
  return exists ? STATUS_OK : storage_fail(error, STATUS_ABSENT, "%s: no such session", p->name);
}

/* Waits for a notice about the session, or for the end of a round. */
static Status await_notice(PostgresStorage *p, uint64_t session, int64_t end, StorageError *error) {
  char payload[24];
  Status status = STATUS_OK;
  bool any = false;
  snprintf(payload, sizeof payload, "%" PRIu64, session);
  while (status == STATUS_OK && !any && clock_monotonic_ms() < end) {
    for (PGnotify *notice; (notice = p->lib->notifies(p->connection)) != NULL; p->lib->freemem(notice)) {
      any = any || strcmp(notice->extra, payload) == 0;
    }
    if (!any) status = postgres_listen(p, end - clock_monotonic_ms(), error);
  }
  return status;
}

/* Listens first, then reads the version: what is committed in between is seen or told. */
Status postgres_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                     StorageError *error) {
  PostgresStorage *p = postgres_of(storage);
  int64_t end = clock_monotonic_ms() + ms;
  PostgresQuery listen = {.sql = "LISTEN ebb_session"};
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK && !p->listens) status = postgres_do(p, &listen, 1, error);
  if (status == STATUS_OK) p->listens = true;
  if (status == STATUS_OK) status = read_version(p, session, actual, error);
  while (status == STATUS_OK && *actual == version && clock_monotonic_ms() < end) {
    int64_t round = clock_monotonic_ms() + WAIT_ROUND_MS;
    status = await_notice(p, session, round < end ? round : end, error);
    if (status == STATUS_OK) status = read_version(p, session, actual, error);
  }
  return status;
}

#endif
