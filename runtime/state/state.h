/*
** State: a whole conversation as one JSON object.
**
**     {"ebb": 2,
**      "options": {..},                         of the caller
**      "messages": [{..}, ..],                  all stored ones, by seq, byte for byte
**      "removed": [seq, count, ..],             seqs without a message; absent: none
**      "origins": [[seq, origin], ..],          of replacements
**      "moved": [[seq, anchor, high, low], ..]  ranks of inserted ones, the step in two halves
**      "answers": [[seq, message, call, ..], ..]  which call each result answers
**      "batches": [{"parent", "parentLength", "operation", "description", "timestamp", "born", "count",
**                   "keep": [start, count, ..], "put": [position, seq, count, ..], "ledger",
**                   "memory": {policy: {..}, ..}}, ..],
**      "current": 3,
**      "checkpoints": [[name, batch, length], ..],
**      "marks": {"pinned": [origin, ..]},
**      "windows": [{..}, ..],                   state_windows.c; absent if it never had one
**      "calibration": [reported, counted],
**      "digest": "xxh64:0123456789abcdef"}      of all bytes before this text; the last member
**
** A batch is a delta over a state of its parent: runs of positions that it keeps, and runs
** of seqs put at ascending positions; so reading restores shared structure. "memory" is
** absent if it equals the parent's; {} is an empty one. Nothing depends on the machine
** (time, addresses, order of tables): equal states have equal bytes.
*/
#ifndef EBB_STATE_STATE_H
#define EBB_STATE_STATE_H

#include "base/sink.h"
#include "core/conversation.h"
#include "dialect/read/reader.h"
#include "json/json.h"

#define STATE_VERSION 2      /* version 1 had no digest; it is read, too */

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
  STATE_WINDOWS,             /* this and the next may be absent */
  STATE_REMOVED,
  STATE_DIGEST,
  STATE_FIELDS
} StateField;

/* An open state: its members, which point into the bytes. */
typedef struct State {
  const char *bytes;
  JsonValue fields[STATE_FIELDS];      /* bytes NULL: absent */
} State;

typedef struct StateError {
  Status status;             /* SYNTAX, ENCODING, LIMIT, SHAPE (damaged), MEMORY; RANGE: a newer version */
  size_t offset;             /* in the bytes */
  const char *expected;      /* static */
} StateError;

/* Writes the state. `options` is a JSON object of the caller; size 0: {}. A batch costs what it changed; without
   memory to compare with, a look at each message. Returns the sink's status. */
Status state_write(const Conversation *conversation, Text options, Sink sink);

typedef enum StateTrust {
  STATE_PROVEN,              /* refuses a state whose digest differs, or is missing */
  STATE_SALVAGED             /* ignores the digest: for what can be read of a damaged state */
} StateTrust;

/* True if the first bytes of a text are those of a state, whatever its version. */
bool state_begins(const char *bytes, size_t size);
/* Opens a state: finds its members, checks version and digest. On failure *error has the status,
   one of those above, and its place. The bytes must stay as long as the state is used. */
Status state_open(State *state, const char *bytes, size_t size, StateTrust trust, StateError *error);
/* The caller's options, in the bytes. */
Text   state_options(const State *state);
/* Restores an open state into a new conversation, which keeps its counter and tools. The bytes
   are copied. On failure the conversation can only be freed, and *error has the status, the place
   and what was expected there; STATUS_HOST if a counter failed. */
Status state_read(Conversation *conversation, const State *state, StateError *error);
/* The same with aliases for roles (dialect/read/reader.h). */
Status state_read_roles(Conversation *conversation, const State *state, const RoleAlias *aliases, uint32_t alias_count,
                        StateError *error);

#endif
