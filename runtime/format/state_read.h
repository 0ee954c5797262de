/*
** What the files that read a state share: the loader with what it has so far, and
** the cursor's steps, each of which says what was expected when it fails.
**
**     state_read.c              fields, marks, windows, calibration; all of it together
**     state_read_messages.c     messages, with what is said of each
**     state_read_history.c      batches, each from its parent's state; checkpoints
**     state_read_ledger.c       what a batch did, and why
*/
#ifndef EBB_FORMAT_STATE_READ_H
#define EBB_FORMAT_STATE_READ_H

#include "json/json.h"
#include "format/state.h"

typedef enum StateField {
  STATE_EBB,
  STATE_OPTIONS,
  STATE_MESSAGES,
  STATE_ORIGINS,
  STATE_MOVED,
  STATE_ANSWERS,
  STATE_BATCHES,
  STATE_CURRENT,
  STATE_CHECKPOINTS,
  STATE_MARKS,
  STATE_CALIBRATION,
  STATE_WINDOWS,             /* this and the next may be missing */
  STATE_REMOVED,
  STATE_FIELDS
} StateField;

typedef struct StateLoader {
  Conversation *conversation;
  Store *store;
  const RoleAlias *aliases;
  uint32_t alias_count;
  JsonValue fields[STATE_FIELDS];
  const char *bytes;
  StateError *error;
  History *history;          /* being made */
  Marks *marks;
  Windows *windows;          /* NULL: none */
  uint64_t *seen;            /* a bit per message; between batches all are 0 */
  size_t words;
  Buffer scratch;            /* decoded texts */
} StateLoader;

/* All answer false, and l->error says the rest. */
bool state_fail(StateError *error, Status status, size_t offset, const char *expected);
/* What a cursor met, or that the value was not what it should be. */
bool state_fail_json(StateLoader *l, const Json *json, const char *expected);
bool state_fail_memory(StateLoader *l);

/* ---- cursors ---- */

/* Into the list or object that comes next. */
bool state_enter(StateLoader *l, Json *json, JsonKind wanted, const char *expected);
/* The same of a field. */
bool state_open_field(StateLoader *l, Json *json, int field, JsonKind wanted);
/* A whole number within [low, high]: the value that comes next, or the next element. */
bool state_value_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected);
bool state_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected);
/* A string, as it stands: the value that comes next, or the next element. */
bool state_value_text(StateLoader *l, Json *json, Text *value);
bool state_text(StateLoader *l, Json *json, Text *value);
bool state_end_list(StateLoader *l, Json *json);
/* The same text in plain bytes, which live until the next call. */
bool state_plain(StateLoader *l, Text *value);

/* ---- parts ---- */

bool state_read_messages(StateLoader *l);
/* Needs the messages; makes l->history. */
bool state_read_history(StateLoader *l);
/* *ledger is the caller's to release, also after a failure. */
bool state_read_ledger(StateLoader *l, const JsonValue *value, Ledger **ledger);

#endif
