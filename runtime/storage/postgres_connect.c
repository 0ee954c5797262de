/*
** Connects to PostgreSQL, and sets what holds for a connection.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <stdio.h>
#include <string.h>

/* Limits of a connection where the URL, the user or the server have none: a program that stops in a transaction must
   not keep its locks, and a server that is gone must not be waited for. */
static const char CONFIGURE[] =
  "SELECT set_config(name, value, false) FROM (VALUES ('statement_timeout', '120000'), "
  "('idle_in_transaction_session_timeout', '60000')) AS s(name, value) WHERE current_setting(name) = '0'";
static const char CONFIGURE_WAIT[] =
  "SELECT set_config('lock_timeout', $1::text, false), set_config('client_min_messages', 'warning', false)";
/* A commit is on disk when it returns. */
static const char CONFIGURE_SYNC[] =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";
static const char CONFIGURE_RELAXED[] = "SELECT set_config('synchronous_commit', 'off', false)";

/* Notices of the server are no errors, and libpq would print them. */
static void ignore_notice(void *user, const char *words) { (void)user, (void)words; }

static Status connect(PostgresStorage *p, StorageError *error) {
  /* What the URL says goes before: it comes later. */
  const char *const names[] = {"connect_timeout", "tcp_user_timeout", "keepalives_idle", "fallback_application_name",
                               "dbname", NULL};
  const char *const values[] = {"10", "30000", "30", "ebb", p->place, NULL};
  p->connection = p->lib->connectdbParams(names, values, 1);
  if (p->connection == NULL) return STATUS_MEMORY;
  if (p->lib->status(p->connection) == CONNECTION_OK) {
    p->lib->setNoticeProcessor(p->connection, ignore_notice, NULL);
    if (p->lib->setnonblocking(p->connection, 1) == 0 && p->lib->enterPipelineMode(p->connection)) return STATUS_OK;
  }
  const char *words = p->lib->errorMessage(p->connection);
  bool tells = p->hides_words || strstr(words, p->place) != NULL;      /* the URL may have a password */
  Status status = tells ? storage_fail(error, STATUS_IO, "%s: the URL has another form: in a password @, / and ? are "
                                       "written as %%40, %%2F and %%3F", p->name)
                        : storage_fail(error, STATUS_IO, "%s: %.*s", p->name, (int)strcspn(words, "\n"), words);
  postgres_drop(p);
  return status;
}

static Status configure(PostgresStorage *p, StorageError *error) {
  char wait[16];
  PostgresQuery queries[] = {{.sql = CONFIGURE}, {.sql = CONFIGURE_WAIT},
                             {.sql = p->relaxed ? CONFIGURE_RELAXED : CONFIGURE_SYNC}};
  int size = snprintf(wait, sizeof wait, "%u", p->wait_ms > 0 ? p->wait_ms : 1);      /* 0: for ever */
  postgres_add_text(&queries[1].values, text_plain(wait, (size_t)size));
  return postgres_do(p, queries, 3, error);
}

Status postgres_ready(PostgresStorage *p, StorageError *error) {
  if (p->connection != NULL) return STATUS_OK;
  Status status = connect(p, error);
  if (status != STATUS_OK) return status;
  status = configure(p, error);
  if (status != STATUS_OK) postgres_drop(p);
  return status;
}

Status postgres_begin(PostgresStorage *p, bool writes, PostgresQuery *begin, StorageError *error) {
  PostgresQuery group = {.sql = "BEGIN ISOLATION LEVEL READ COMMITTED"};
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = storage_enter_group(&p->base, writes, error);
  bool opens = p->base.group == GROUP_READY && writes;
  if (status == STATUS_OK && opens) status = postgres_do(p, &group, 1, error);
  if (status == STATUS_OK && opens) p->base.group = GROUP_OPEN;
  if (status == STATUS_OK && p->base.group == GROUP_OPEN) begin->sql = "SAVEPOINT one";
  return status;
}

#endif
