/*
** State: all that a conversation is, as one JSON object, and back.
**
**     {"ebb": 1,
**      "options": {..},                         how the conversation was made; the caller's
**      "messages": [{..}, ..],                  all that are stored, by seq, byte for byte
**      "removed": [seq, count, ..],             seqs without a message; not there: none
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
** A batch is a delta over the state of its parent from which it came: runs of
** positions that it keeps, then runs of seqs put at ascending positions; so that
** reading shares what was shared. What policies remember stands where it differs from
** what the parent says; {}: nothing any more. What the machine has (time, addresses, order
** of tables) is nowhere in it: equal states, equal bytes.
*/
#ifndef EBB_FORMAT_STATE_H
#define EBB_FORMAT_STATE_H

#include "base/sink.h"
#include "core/conversation.h"
#include "format/reader.h"

#define STATE_VERSION 1

typedef struct StateError {
  Status status;             /* SYNTAX, ENCODING, LIMIT, SHAPE (damaged), MEMORY; RANGE: of a newer version */
  size_t offset;             /* where, in bytes */
  const char *expected;      /* static */
} StateError;

/* Writes the state. Options are the caller's, as JSON; size 0: {}. Takes memory of a bit per message
   for speed, and goes on without it. Answers the sink's status. */
Status state_write(const Conversation *conversation, Text options, Sink sink);

/* Finds the caller's options, and checks that it is a state of this version. They
   point into the bytes. */
Status state_peek(const char *bytes, size_t size, Text *options, StateError *error);

/* Makes a conversation that nobody has seen what was written; its counter and
   tools stay. The bytes are copied. On failure it is good for nothing but
   conversation_free. */
Status state_read(Conversation *conversation, const char *bytes, size_t size, StateError *error);
/* The same for messages with roles of the caller's own. */
Status state_read_roles(Conversation *conversation, const RoleAlias *aliases, uint32_t alias_count, const char *bytes,
                        size_t size, StateError *error);

#endif
