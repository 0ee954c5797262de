/*
** The driver of PostgreSQL: it opens and closes databases.
*/
#include "storage/postgres_data.h"

#ifdef EBB_POSTGRES

#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define TEXT_OF(x) #x
#define NUMBER_OF(x) TEXT_OF(x)

/* ---- the library ---- */

#define POSTGRES_NAME(name) "PQ" #name,
const PostgresLibrary *postgres_library(const char **why) {
  static PostgresLibrary table;
  static const char *const names[] = {"libpq.so.5", NULL};
  static const char *const functions[] = {POSTGRES_FUNCTIONS(POSTGRES_NAME) NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &table};
  return shared_library_load(&library, why) ? &table : NULL;
}

/* ---- the tables ---- */

#define NEW_COLUMN(member, column) #column " int8 NOT NULL DEFAULT 0, "

static const char *const CREATE_SCHEMA[] = {
  "CREATE TABLE ebb_session(id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE, "
  SESSION_COLUMNS(NEW_COLUMN)
  "sum text NOT NULL GENERATED ALWAYS AS (" POSTGRES_SESSION_SUM ") STORED) WITH (fillfactor = 50)",
  "CREATE INDEX ebb_session_origin ON ebb_session(origin) WHERE origin > 0",
  "CREATE TABLE ebb_row(session int8 NOT NULL, kind int2 NOT NULL, number int8 NOT NULL, sum int8 NOT NULL, "
  "body bytea NOT NULL, PRIMARY KEY(session, kind, number))",
  "CREATE TABLE ebb_operation(session int8 NOT NULL, id bytea NOT NULL, version int8 NOT NULL, "
  "sum int8 NOT NULL, PRIMARY KEY(session, id))",
  "CREATE TABLE ebb_schema(version int8 NOT NULL)",
  "INSERT INTO ebb_schema(version) VALUES (" NUMBER_OF(POSTGRES_SCHEMA) ")",
};
#define CREATE_STEPS ((int)(sizeof CREATE_SCHEMA / sizeof *CREATE_SCHEMA))

/* ---- the schema ---- */

/* A query of the catalogue sees what others committed just now; to_regclass may have an older answer in its cache. */
static const char HAS_SCHEMA[] =
  "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
  "WHERE c.relname = 'ebb_schema' AND n.nspname = ANY (current_schemas(false))";

/* *empty: the tables are not there. */
static Status read_schema(PostgresStorage *p, bool *empty, StorageError *error) {
  PostgresQuery exists = {.sql = HAS_SCHEMA};
  PostgresQuery version = {.sql = "SELECT version FROM ebb_schema"};
  Status status = postgres_run(p, &exists, 1, error);
  if (status != STATUS_OK) return status;
  *empty = postgres_rows_of(p, &exists) == 0;
  postgres_clear(p, &exists, 1);
  if (*empty) return STATUS_OK;
  status = postgres_run(p, &version, 1, error);
  if (status != STATUS_OK) return status;
  int rows = postgres_rows_of(p, &version);
  int64_t number = rows == 1 ? postgres_number(p, version.result, 0, 0) : 0;
  postgres_clear(p, &version, 1);
  if (rows != 1) return storage_fail(error, STATUS_SHAPE, "%s: ebb_schema has %d rows, not 1", p->name, rows);
  if (number <= POSTGRES_SCHEMA) return STATUS_OK;
  return storage_fail(error, STATUS_RANGE, "%s: a newer version of Ebb wrote it (schema %lld, this one knows %d)",
                      p->name, (long long)number, POSTGRES_SCHEMA);
}

/* Makes the tables, unless another process did so meanwhile. The number of the lock is "Ebb!". */
static Status create_schema(PostgresStorage *p, StorageError *error) {
  bool empty = false;
  PostgresQuery begin[] = {{.sql = "BEGIN ISOLATION LEVEL READ COMMITTED"},
                           {.sql = "SELECT 1 FROM pg_advisory_xact_lock(1164075553)"}};
  PostgresQuery create[CREATE_STEPS];
  for (int i = 0; i < CREATE_STEPS; i++) create[i] = (PostgresQuery){.sql = CREATE_SCHEMA[i]};
  Status status = postgres_do(p, begin, 2, error);
  if (status == STATUS_OK) status = read_schema(p, &empty, error);
  if (status == STATUS_OK && empty) status = postgres_do(p, create, CREATE_STEPS, error);
  return postgres_end(p, status, error);
}

/* ---- opening ---- */

/* Behind the last '@' of a text that has `size` bytes; its start if it has none. */
static const char *behind_at(const char *start, size_t size) {
  while (size > 0 && start[size - 1] != '@') size--;
  return start + size;
}

/* True for a user and password that libpq would take apart otherwise than their author, or refuse with their text:
   reserved characters in them are to be written as %40 and the like. */
static bool is_ill_formed(const char *user, size_t size) {
  static const char hex[] = "0123456789abcdefABCDEF";
  for (size_t i = 0; i < size; i++) {
    if (strchr("@/?#[] ", user[i]) != NULL) return true;
    if (user[i] == '%' && (size - i < 3 || strspn(user + i + 1, hex) < 2)) return true;
  }
  return false;
}

/* Where the host of a URL begins. `hides`: a password is so written that messages of libpq may quote it. An '@' behind
   '?' belongs to the password, too, if what stands before it has a colon, and no port behind that. */
static const char *host_of(const char *start, bool *hides) {
  size_t before_query = strcspn(start, "?"), authority = strcspn(start, "/?");
  const char *host = behind_at(start, before_query), *colon = memchr(start, ':', authority);
  if (host == start && colon != NULL && *start != '[' &&
      colon + 1 + strspn(colon + 1, "0123456789") < start + authority) {
    host = behind_at(start, strlen(start));
  }
  *hides = host > start && is_ill_formed(start, (size_t)(host - start) - 1);
  return *hides ? behind_at(start, strlen(start)) : host;
}

/* Copies the URL without what stands before '@' and after '?': who the user is, and how one connects. True: libpq may
   quote the password. */
static bool shorten(char *name, const char *place) {
  const char *start = strstr(place, "://") + 3;
  bool hides;
  const char *host = host_of(start, &hides);
  memcpy(name, place, (size_t)(start - place));
  name += start - place;
  size_t size = strcspn(host, "?");
  memcpy(name, host, size);
  name[size] = '\0';
  return hides;
}

static void release(PostgresStorage *p) {
  Memory memory = p->memory;
  postgres_drop(p);
  for (int i = 0; i < POSTGRES_COLUMNS; i++) buffer_free(&p->rows[i]);
  buffer_free(&p->changed);
  memory_free(&memory, p->name, strlen(p->place) + 1);
  memory_free_string(&memory, p->place);
  memory_free(&memory, p, sizeof *p);
}

static Status prepare(PostgresStorage *p, bool creates, StorageError *error) {
  bool empty = false;
  Status status = postgres_ready(p, error);
  if (status == STATUS_OK) status = read_schema(p, &empty, error);
  if (status != STATUS_OK || !empty) return status;
  if (!creates) return storage_fail(error, STATUS_ABSENT, "%s: it has no sessions yet", p->name);
  return create_schema(p, error);
}

static Status open_postgres(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  const char *why;
  const PostgresLibrary *lib = postgres_library(&why);
  if (lib == NULL) {
    return storage_fail(error, STATUS_ABSENT, "libpq of PostgreSQL 14 or newer is not installed: %s", why);
  }
  PostgresStorage *p = memory_new(&config->memory, sizeof *p);
  if (p == NULL) return STATUS_MEMORY;
  *p = (PostgresStorage){.base = {.driver = &STORAGE_POSTGRES}, .memory = config->memory, .lib = lib,
                         .relaxed = config->relaxed, .wait_ms = config->wait_ms};
  for (int i = 0; i < POSTGRES_COLUMNS; i++) buffer_init(&p->rows[i], p->memory);
  buffer_init(&p->changed, p->memory);
  p->place = memory_copy_string(&p->memory, place);
  p->name = p->place == NULL ? NULL : memory_new(&p->memory, strlen(place) + 1);
  if (p->name != NULL) p->hides_words = shorten(p->name, place);
  Status status = p->name == NULL ? STATUS_MEMORY : prepare(p, config->creates, error);
  if (status == STATUS_OK) *storage = &p->base;
  else release(p);
  return status;
}

static void close_postgres(Storage *storage) {
  postgres_abandon(storage);
  release(postgres_of(storage));
}

static void describe(const Storage *storage, char what[64], char warning[200]) {
  const PostgresStorage *p = (const PostgresStorage *)storage;
  const char *version = p->connection == NULL ? NULL : p->lib->parameterStatus(p->connection, "server_version");
  snprintf(what, 64, "PostgreSQL %.40s", version == NULL ? "(not connected)" : version);
  warning[0] = '\0';
}

static Status backup(Storage *storage, const char *path, StorageError *error) {
  (void)path;
  return storage_fail(error, STATUS_ARGUMENT, "%s: pg_dump copies a database of PostgreSQL",
                      postgres_of(storage)->name);
}

const StorageDriver STORAGE_POSTGRES = {
  .open = open_postgres, .close = close_postgres, .describe = describe, .list = postgres_list, .find = postgres_find,
  .create = postgres_create, .rename = postgres_rename, .remove = postgres_remove, .branch = postgres_branch,
  .read = postgres_read, .look = postgres_look, .begin = postgres_begin_commit, .put = postgres_put,
  .commit = postgres_commit, .abandon = postgres_abandon, .claim = postgres_claim,
  .end_group = postgres_end_group, .wait = postgres_wait,
  .lease = postgres_lease, .release = postgres_release,
  .check = postgres_check, .settle = postgres_settle,
  .backup = backup,
};

#else

static Status open_postgres(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  (void)place, (void)config, (void)storage;
  return storage_fail(error, STATUS_ARGUMENT,
                      "PostgreSQL is not built in: libpq-fe.h was missing (Debian's libpq-dev)");
}

const StorageDriver STORAGE_POSTGRES = {.open = open_postgres};

#endif
