/*
** A connection to PostgreSQL: statements in pipelines, waits for the server with a deadline, failures.
**
** The connection is in pipeline mode from its begin to its end. An exchange sends statements and a point of
** synchronisation, then takes the results of each, up to that point:
**
**     we       BEGIN  SELECT ...  sync   ->
**     server   <-  results of BEGIN, NULL, results of SELECT, NULL, sync
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define TYPE_BYTEA 17
#define TYPE_INT8 20
#define TYPE_TEXT 25
#define TYPE_BYTEA_ARRAY 1001
#define TYPE_INT8_ARRAY 1016

#define SILENCE_MS 150000    /* of a server that runs a statement; statement_timeout ends it earlier */

/* ---- values ---- */

static void add(PostgresValues *values, Oid type, const char *bytes, size_t size) {
  int at = values->count++;
  assert(at < POSTGRES_VALUES_MAX);
  values->types[at] = type;
  values->bytes[at] = bytes;
  values->sizes[at] = (int)size;
  values->formats[at] = 1;
}

/* The pointer into the values is set when they are sent: a query may be copied before. */
void postgres_add_number(PostgresValues *values, int64_t number) {
  char *bytes = values->numbers[values->count];
  for (int i = 0; i < 8; i++) bytes[i] = (char)((uint64_t)number >> (56 - 8 * i));
  add(values, TYPE_INT8, NULL, 8);
}

void postgres_add_bytes(PostgresValues *values, Text bytes) {
  add(values, TYPE_BYTEA, bytes.size == 0 ? "" : bytes.bytes, bytes.size);
}

void postgres_add_text(PostgresValues *values, Text text) { add(values, TYPE_TEXT, text.bytes, text.size); }

void postgres_add_array(PostgresValues *values, bool of_numbers, const Buffer *array) {
  add(values, of_numbers ? TYPE_INT8_ARRAY : TYPE_BYTEA_ARRAY, array->bytes, array->size);
}

PostgresQuery postgres_query(const char *sql, int count, const int64_t *numbers) {
  PostgresQuery query = {.sql = sql};
  for (int i = 0; i < count; i++) postgres_add_number(&query.values, numbers[i]);
  return query;
}

int postgres_rows_of(const PostgresStorage *p, const PostgresQuery *query) { return p->lib->ntuples(query->result); }

int64_t postgres_number(const PostgresStorage *p, const PGresult *result, int row, int column) {
  const unsigned char *bytes = (const unsigned char *)p->lib->getvalue(result, row, column);
  uint64_t number = 0;
  assert(p->lib->getlength(result, row, column) == 8);
  for (int i = 0; i < 8; i++) number = number << 8 | bytes[i];
  return (int64_t)number;
}

Text postgres_bytes(const PostgresStorage *p, const PGresult *result, int row, int column) {
  return text_plain(p->lib->getvalue(result, row, column), (size_t)p->lib->getlength(result, row, column));
}

/* ---- failures ---- */

/* The first line of the server's words, without "ERROR:  ". */
static int first_line(const char *words) { return (int)strcspn(words, "\n"); }

typedef struct StateWords {
  const char *state;         /* SQLSTATE, or the two digits of its class */
  Status status;
  const char *words;         /* NULL: the server's */
} StateWords;

static const StateWords STATES[] = {
  {"23505", STATUS_DUPLICATE, "a session of that name exists"},
  {"55P03", STATUS_IO, "another program has locked it for longer than the wait"},
  {"57014", STATUS_IO, "the statement took longer than statement_timeout"},
  {"40", STATUS_IO, "it collided with the transaction of another program"},
  {"25006", STATUS_FORBIDDEN, "it may only be read"},
  {"42501", STATUS_FORBIDDEN, NULL},
  {"42P01", STATUS_ABSENT, NULL},
  {"54", STATUS_LIMIT, NULL},
  {"XX00", STATUS_SHAPE, NULL},
};

Status postgres_fail(PostgresStorage *p, const PGresult *result, StorageError *error) {
  const char *state = result == NULL ? NULL : p->lib->resultErrorField(result, PG_DIAG_SQLSTATE);
  const char *words = result == NULL ? NULL : p->lib->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == NULL) {
    words = p->connection == NULL ? "" : p->lib->errorMessage(p->connection);
    return storage_fail(error, STATUS_IO, "%s: the connection was lost (%.*s)", p->name, first_line(words), words);
  }
  for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++) {
    const StateWords *known = &STATES[i];
    if (strncmp(state, known->state, strlen(known->state)) != 0) continue;
    if (known->words != NULL) words = known->words;
    return storage_fail(error, known->status, "%s: %.*s", p->name, first_line(words), words);
  }
  return storage_fail(error, STATUS_IO, "%s: %.*s (PostgreSQL %s)", p->name, first_line(words), words, state);
}

void postgres_drop(PostgresStorage *p) {
  if (p->connection != NULL) p->lib->finish(p->connection);
  p->connection = NULL;
  p->listens = p->posted = false;
  if (p->base.group == GROUP_OPEN) p->base.group = GROUP_LOST;
}

static Status lose(PostgresStorage *p, StorageError *error) {
  Status status = postgres_fail(p, NULL, error);
  postgres_drop(p);
  return status;
}

/* ---- waits ---- */

/* Waits for the server until `end`, and takes what it sent. */
static Status await(PostgresStorage *p, bool writes, int64_t end, StorageError *error) {
  int64_t left = end - clock_monotonic_ms();
  if (left <= 0) {
    postgres_drop(p);
    return storage_fail(error, STATUS_IO, "%s: the server has not answered for %d s", p->name, SILENCE_MS / 1000);
  }
  int ready = descriptor_wait(p->lib->socket(p->connection), writes, left);
  if (ready < 0 || (ready > 0 && !p->lib->consumeInput(p->connection))) return lose(p, error);
  return STATUS_OK;
}

static Status flush(PostgresStorage *p, StorageError *error) {
  int64_t end = clock_monotonic_ms() + SILENCE_MS;
  for (;;) {
    int more = p->lib->flush(p->connection);
    if (more == 0) return STATUS_OK;
    if (more < 0) return lose(p, error);
    Status status = await(p, true, end, error);
    if (status != STATUS_OK) return status;
  }
}

/* The next result; NULL at the end of a statement. */
static Status next(PostgresStorage *p, PGresult **result, StorageError *error) {
  int64_t end = clock_monotonic_ms() + SILENCE_MS;
  *result = NULL;
  while (p->lib->isBusy(p->connection)) {
    Status status = await(p, false, end, error);
    if (status != STATUS_OK) return status;
  }
  *result = p->lib->getResult(p->connection);
  if (p->lib->status(p->connection) == CONNECTION_OK) return STATUS_OK;
  Status status = *result == NULL ? postgres_fail(p, NULL, error) : postgres_fail(p, *result, error);
  p->lib->clear(*result);
  *result = NULL;
  postgres_drop(p);
  return status == STATUS_OK ? STATUS_IO : status;
}

/* ---- exchanges ---- */

static Status send(PostgresStorage *p, const PostgresQuery *query, StorageError *error) {
  const PostgresValues *v = &query->values;
  const char *bytes[POSTGRES_VALUES_MAX];
  for (int i = 0; i < v->count; i++) bytes[i] = v->types[i] == TYPE_INT8 ? v->numbers[i] : v->bytes[i];
  int ok = p->lib->sendQueryParams(p->connection, query->sql, v->count, v->types, bytes, v->sizes, v->formats, 1);
  return ok ? STATUS_OK : lose(p, error);
}

/* Takes the results of a statement, gives them to `take`, and keeps the last one. *worst: the first failure so far.
   Another status than STATUS_OK is the connection's. */
static Status take_results(PostgresStorage *p, PostgresQuery *query, Status (*take)(void *user, const PGresult *row),
                           void *user, Status *worst, StorageError *error) {
  for (;;) {
    PGresult *result;
    Status status = next(p, &result, error);
    if (status != STATUS_OK || result == NULL) return status;
    ExecStatusType kind = p->lib->resultStatus(result);
    bool fails = kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK && kind != PGRES_SINGLE_TUPLE;
    if (fails && *worst == STATUS_OK) *worst = postgres_fail(p, result, error);
    if (kind == PGRES_SINGLE_TUPLE && *worst == STATUS_OK) *worst = take(user, result);
    p->lib->clear(query->result);
    query->result = result;
  }
}

/* Takes the point of synchronisation at the end. */
static Status take_sync(PostgresStorage *p, StorageError *error) {
  PGresult *result;
  Status status = next(p, &result, error);
  if (status != STATUS_OK) return status;
  assert(result != NULL && p->lib->resultStatus(result) == PGRES_PIPELINE_SYNC);
  p->lib->clear(result);
  return STATUS_OK;
}

void postgres_clear(PostgresStorage *p, PostgresQuery *queries, int count) {
  for (int i = 0; i < count; i++) {
    p->lib->clear(queries[i].result);
    queries[i].result = NULL;
  }
}

/* Takes the result of postgres_post. Another status than STATUS_OK is the connection's. */
static Status take_post(PostgresStorage *p, StorageError *error) {
  PostgresQuery query = {.sql = NULL};
  Status ignored = STATUS_OK;
  if (!p->posted) return STATUS_OK;
  p->posted = false;
  Status status = take_results(p, &query, NULL, NULL, &ignored, error);
  postgres_clear(p, &query, 1);
  return status == STATUS_OK ? take_sync(p, error) : status;
}

static Status send_all(PostgresStorage *p, const PostgresQuery *queries, int count, StorageError *error) {
  Status status = p->connection == NULL ? postgres_fail(p, NULL, error) : take_post(p, error);
  for (int i = 0; i < count && status == STATUS_OK; i++) status = send(p, &queries[i], error);
  if (status == STATUS_OK && !p->lib->pipelineSync(p->connection)) status = lose(p, error);
  return status == STATUS_OK ? flush(p, error) : status;
}

Status postgres_run(PostgresStorage *p, PostgresQuery *queries, int count, StorageError *error) {
  Status worst = STATUS_OK;
  Status status = send_all(p, queries, count, error);
  for (int i = 0; i < count && status == STATUS_OK; i++) {
    status = take_results(p, &queries[i], NULL, NULL, &worst, error);
  }
  if (status == STATUS_OK) status = take_sync(p, error);
  if (status == STATUS_OK) status = worst;
  if (status != STATUS_OK) postgres_clear(p, queries, count);
  return status;
}

Status postgres_do(PostgresStorage *p, PostgresQuery *queries, int count, StorageError *error) {
  Status status = postgres_run(p, queries, count, error);
  postgres_clear(p, queries, count);
  return status;
}

Status postgres_each(PostgresStorage *p, const PostgresQuery *query,
                     Status (*take)(void *user, const PGresult *row), void *user, StorageError *error) {
  PostgresQuery one = *query;
  Status worst = STATUS_OK;
  Status status = send_all(p, &one, 1, error);
  if (status == STATUS_OK && !p->lib->setSingleRowMode(p->connection)) status = lose(p, error);
  if (status == STATUS_OK) status = take_results(p, &one, take, user, &worst, error);
  if (status == STATUS_OK) status = take_sync(p, error);
  postgres_clear(p, &one, 1);
  return status == STATUS_OK ? worst : status;
}

void postgres_post(PostgresStorage *p, const PostgresQuery *query) {
  StorageError ignored;
  if (p->connection == NULL) return;
  p->posted = send_all(p, query, 1, &ignored) == STATUS_OK;
}

Status postgres_listen(PostgresStorage *p, int64_t ms, StorageError *error) {
  assert(p->connection != NULL && !p->posted);
  int ready = descriptor_wait(p->lib->socket(p->connection), false, ms);
  if (ready < 0 || (ready > 0 && !p->lib->consumeInput(p->connection))) return lose(p, error);
  return STATUS_OK;
}

PostgresQuery postgres_commit_query(const PostgresStorage *p) {
  return (PostgresQuery){.sql = p->base.group == GROUP_OPEN ? "RELEASE one" : "COMMIT"};
}

/* The end of a part of a group: what failed leaves nothing there. */
static Status end_saved(PostgresStorage *p, Status status, StorageError *error) {
  PostgresQuery release = postgres_commit_query(p);
  PostgresQuery undo[] = {{.sql = "ROLLBACK TO one"}, release};
  StorageError ignored;
  if (status == STATUS_OK) status = postgres_do(p, &release, 1, error);
  bool undone = status == STATUS_OK || (p->connection != NULL && postgres_do(p, undo, 2, &ignored) == STATUS_OK);
  if (!undone) postgres_drop(p);      /* with the group */
  return status;
}

Status postgres_end(PostgresStorage *p, Status status, StorageError *error) {
  if (p->base.group == GROUP_OPEN) return end_saved(p, status, error);
  PostgresQuery commit = {.sql = "COMMIT"}, rollback = {.sql = "ROLLBACK"};
  StorageError ignored;
  if (status == STATUS_OK) status = postgres_do(p, &commit, 1, error);
  bool open = p->connection != NULL && p->lib->transactionStatus(p->connection) != PQTRANS_IDLE;
  if (open) postgres_do(p, &rollback, 1, &ignored);
  return status;
}

#endif
