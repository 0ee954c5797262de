/*
** State rows: a saved conversation in pieces, for stores that keep each piece by itself.
**
** A row is a piece of a state (state/state.h) under its kind and number:
**
**     kind         number              bytes
**     message      seq                 the JSON of the message
**     origin       seq                 its element of "origins"; moved, answers likewise
**     batch        4 * batch           its object without brackets, up to and in its open "put"
**                  4 * batch + 1       the rest of "put", its end, and "count": rewritten as the batch grows
**                  4 * batch + 2       "memory", if it differs from the parent's
**     window       index
**     part         StatePart           the value of a member
**
** An edit adds rows, and replaces few: an append writes its messages and the one row of its batch's growth. Rows
** that are never written again can be kept as they are, for ever; only a compaction replaces all of them.
**
** In the order of kind and number the rows make a state's text again (state_join), which state_read reads: both
** forms have one reader.
*/
#ifndef EBB_STATE_STATE_ROWS_H
#define EBB_STATE_STATE_ROWS_H

#include "core/conversation.h"

typedef enum StateRowKind {
  STATE_ROW_PART,
  STATE_ROW_MESSAGE,
  STATE_ROW_ORIGIN,
  STATE_ROW_MOVED,
  STATE_ROW_ANSWERS,
  STATE_ROW_BATCH,
  STATE_ROW_WINDOW,
  STATE_ROW_KINDS
} StateRowKind;

typedef enum StatePart {
  STATE_PART_OPTIONS,        /* written by the caller */
  STATE_PART_STORED,         /* number of seqs at the last compaction */
  STATE_PART_CURRENT,
  STATE_PART_CHECKPOINTS,
  STATE_PART_MARKS,
  STATE_PART_CALIBRATION,
  STATE_PARTS
} StatePart;

#define STATE_BATCH_ROWS 4   /* numbers of one batch */
#define STATE_BATCH_GROWTH 1
#define STATE_BATCH_MEMORY 2

typedef struct StateRow {
  StateRowKind kind;
  uint64_t number;
  Text bytes;                /* borrowed during the call */
} StateRow;

/* Takes rows; stops at the first status other than STATUS_OK. */
typedef struct StateRowSink {
  Status (*put)(void *user, const StateRow *row);
  void *user;
} StateRowSink;

/* Gives the rows of a kind with the numbers first .. last, in order; stops at the first status other than STATUS_OK,
   the sink's among them. */
typedef struct StateRowSource {
  Status (*read)(void *user, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink);
  void *user;
} StateRowSource;

/* Writes the rows by which `after` differs from `before`, of which it is a branch or a later fork; NULL: all rows.
   All rows, too, where
   `after` was compacted: they replace all rows of `before`. Without the options. O(changes), and
   O(batches) after a rollback. Returns the sink's status, or STATUS_MEMORY. */
Status state_write_rows(const Conversation *before, const Conversation *after, StateRowSink sink);

/* ---- rows to a state ---- */

typedef struct StateJoin {
  Buffer *out;
  Buffer removed;            /* runs of seqs without a message */
  StateRowKind kind;         /* of the last row */
  uint64_t number;
  uint64_t seqs;             /* that have a message or are in `removed` */
  uint64_t stored;           /* at the last compaction */
  bool any;                  /* there was a row */
} StateJoin;

/* Begins a state in *out, which outlives the join. STATUS_MEMORY. */
Status state_join_start(StateJoin *join, Buffer *out);
/* Adds a row; rows come in the order of kind and number. STATUS_MEMORY; STATUS_SHAPE for a row out of order or of an
   unknown kind or part: the rows are damaged. */
Status state_join_row(StateJoin *join, const StateRow *row);
/* Ends the state, which has no digest: state_open(STATE_SALVAGED) reads it. Frees what the join had, also after a
   failure. STATUS_MEMORY. */
Status state_join_end(StateJoin *join);

#endif
