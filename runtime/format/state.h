/*
** State: a whole conversation as one JSON object.
**
**     {"ebb": 1,
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
**      "calibration": [reported, counted]}
**
** A batch is a delta over a state of its parent: runs of positions that it keeps, and runs
** of seqs put at ascending positions; so reading restores shared structure. "memory" is
** absent if it equals the parent's; {} is an empty one. Nothing depends on the machine
** (time, addresses, order of tables): equal states have equal bytes.
*/
#ifndef EBB_FORMAT_STATE_H
#define EBB_FORMAT_STATE_H

#include "base/sink.h"
#include "core/conversation.h"
#include "format/reader.h"

#define STATE_VERSION 1

typedef struct StateError {
  Status status;             /* SYNTAX, ENCODING, LIMIT, SHAPE (damaged), MEMORY; RANGE: a newer version */
  size_t offset;             /* in the bytes */
  const char *expected;      /* static */
} StateError;

/* Writes the state. `options` is a JSON object of the caller; size 0: {}. Uses a bit of
   memory per message for speed, and works without. Returns the sink's status. */
Status state_write(const Conversation *conversation, Text options, Sink sink);

/* Finds the caller's options, which point into the bytes, and checks the version. */
Status state_peek(const char *bytes, size_t size, Text *options, StateError *error);

/* Restores a state into a new conversation, which keeps its counter and tools. The bytes
   are copied. On failure the conversation can only be freed. */
Status state_read(Conversation *conversation, const char *bytes, size_t size, StateError *error);
/* The same with aliases for roles. */
Status state_read_roles(Conversation *conversation, const RoleAlias *aliases, uint32_t alias_count, const char *bytes,
                        size_t size, StateError *error);

#endif
