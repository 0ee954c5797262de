/*
** Shared by the files of states: the names of all members, and the loader, whose steps
** record what they expected when they fail.
**
**     state_write.c             writes a state
**     state_write_batch.c       writes batches, with their ledgers
**     state_rows.c              writes the changes of a state as rows
**     state_join.c              makes a state of rows
**     state_windows.c           writes and reads windows
**     state_open.c              opens a state: members, version, digest
**     state_read.c              reads an open state: marks, calibration, and by the next files
**     state_read_messages.c     messages, with the lists of their origins, ranks and links
**     state_read_history.c      batches, each from its parent's state; checkpoints
**     state_read_ledger.c       ledgers: what a batch did, and why
*/
#ifndef EBB_STATE_STATE_PARTS_H
#define EBB_STATE_STATE_PARTS_H

#include "state/state.h"
#include "json/json_fields.h"
#include "json/json_out.h"

/* ---- members ---- */

typedef enum BatchField {
  BATCH_PARENT,
  BATCH_PARENT_LENGTH,
  BATCH_OPERATION,
  BATCH_DESCRIPTION,
  BATCH_TIMESTAMP,
  BATCH_BORN,
  BATCH_COUNT,
  BATCH_KEEP,                /* this and the next may be absent */
  BATCH_PUT,
  BATCH_LEDGER,
  BATCH_MEMORY,
  BATCH_FIELDS
} BatchField;

typedef enum LedgerField { LEDGER_RUNS, LEDGER_KEEPS, LEDGER_NOTES, LEDGER_FIELDS } LedgerField;

extern const char *const STATE_NAMES[STATE_FIELDS];
extern const char *const BATCH_NAMES[BATCH_FIELDS];
extern const char *const LEDGER_NAMES[LEDGER_FIELDS];

/* ---- the digest ---- */

/* The text of a digest, as it is written. */
#define STATE_DIGEST_SIZE 22
Text state_digest_text(uint64_t digest, char text[STATE_DIGEST_SIZE]);

/* ---- the loader ---- */

typedef struct StateLoader {
  Conversation *conversation;
  Store *store;
  const RoleAlias *aliases;
  uint32_t alias_count;
  const JsonValue *fields;   /* of the state, by StateField */
  const char *bytes;
  StateError *error;
  History *history;          /* in the making */
  Marks *marks;
  Windows *windows;          /* NULL: none */
  uint64_t *seen;            /* set of messages; empty between batches */
  Buffer scratch;            /* decoded texts */
} StateLoader;

/* These return false and set l->error; `at` is in the bytes of the state. */
bool state_fail(StateLoader *l, Status status, const char *at, const char *expected);
/* Records the cursor's error, or STATUS_SHAPE at its position. */
bool state_fail_json(StateLoader *l, const Json *json, const char *expected);
bool state_fail_memory(StateLoader *l);

/* ---- cursors ---- */

/* Enters the list or object that comes next. */
bool state_enter(StateLoader *l, Json *json, JsonKind kind, const char *expected);
/* The same for a field. */
bool state_open_field(StateLoader *l, Json *json, StateField field, JsonKind kind);
/* Reads the members of the object that comes next, as json_fields_sort. */
bool state_fields(StateLoader *l, Json *json, const char *const names[], uint32_t count, uint32_t required,
                  const char *expected, JsonValue values[]);
/* Reads a whole number within [low, high]: the value that comes next, or the next element. */
bool state_value_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected);
bool state_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected);
/* Reads a string without decoding it: the value that comes next, or the next element. */
bool state_value_text(StateLoader *l, Json *json, Text *value);
bool state_text(StateLoader *l, Json *json, Text *value);
/* One of `count` names; *number is its index. */
bool state_value_name(StateLoader *l, Json *json, const char *const names[], uint32_t count, uint32_t *number);
/* True at the end of a list; false also for errors. */
bool state_end_list(StateLoader *l, Json *json);
/* Ends a loop over elements or members: true unless the cursor failed. */
static inline bool state_end(StateLoader *l, const Json *json, const char *expected) {
  return json->status == STATUS_OK || state_fail_json(l, json, expected);
}
/* Decodes the text into plain bytes, which live until the next call. */
bool state_plain(StateLoader *l, Text *value);

/* ---- parts ---- */

void state_write_windows(const Windows *windows, JsonOut *out);
void state_write_window(const Window *window, JsonOut *out);
/* Reads the windows, if the state has any, into l->windows. */
bool state_read_windows(StateLoader *l);

bool state_read_messages(StateLoader *l);
/* Reads batches and checkpoints into l->history; call it after state_read_messages. */
bool state_read_history(StateLoader *l);
/* Reads a ledger; the caller releases *ledger, also after a failure. */
bool state_read_ledger(StateLoader *l, const JsonValue *value, Ledger **ledger);

#endif
