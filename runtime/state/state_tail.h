/*
** The tail of a saved conversation: its last visible messages, from few of its rows.
**
** A session of a million messages is too long to be read for its last 200. Its current batch says in runs of seqs what
** its list shows, or keeps of its parent's, so the seqs of the last messages are found from a few batches, and their
** rows are all that is read:
**
**     list of the current batch   | hidden                     | tail      |
**     rows that are read                                         s .. s + n
**
** They make a state with one batch, which shows the tail; all other seqs count as removed. Marks, windows, options and
** calibration are the session's. Further batches can be added to it: where these lie, state_write_tail_rows knows.
*/
#ifndef EBB_STATE_STATE_TAIL_H
#define EBB_STATE_STATE_TAIL_H

#include "state/state_rows.h"

typedef struct StateTail {
  uint32_t batch;            /* number of the session's current batch, which is batch 0 of the tail */
  uint32_t batches;          /* of the session: batch 1 of the tail gets this number */
  uint32_t hidden;           /* messages of the current list before the tail */
} StateTail;

/* Writes the state of the last `wanted` messages, or of some more, of a session with so many seqs and batches to *out,
   which is empty. *alone false: what belongs to these messages is elsewhere in the session, so that all of it must be
   read. STATUS_SHAPE: the rows are damaged; STATUS_MEMORY, and what `rows` gives. */
Status state_read_tail(StateRowSource rows, uint64_t stored, uint64_t batches, uint32_t wanted, Buffer *out,
                       StateTail *tail, bool *alone);

/* The row in which the session's current batch grows. */
uint64_t state_tail_growth_row(const StateTail *tail);

/* Writes the rows by which `after` differs from `before`, a tail or what became of it by appending and by batches of
   which none shows a hidden message. `growth`: what state_tail_growth_row has. Else as state_write_rows. STATUS_SHAPE:
   the growth is not that of the batch. */
Status state_write_tail_rows(const StateTail *tail, Text growth, const Conversation *before, const Conversation *after,
                             StateRowSink sink);

/* Whether the results that `after` has and `before` lacks answer calls of the tail for sure: none of them could answer
   a hidden one. */
bool state_tail_answers(const StateTail *tail, const Conversation *before, const Conversation *after);

/* ---- for state_tail.c ---- */

/* Messages of a list, in order, by runs of consecutive seqs; or a run of positions of a batch's list. */
typedef struct TailPiece {
  uint32_t first, count;
  bool is_known;             /* seqs */
} TailPiece;

typedef struct TailList {
  Memory memory;
  TailPiece *pieces;
  uint32_t count, room;
} TailList;

#define TAIL_PIECES_MAX 16384
#define TAIL_BATCHES_MAX 4096

/* Finds the seqs of the last `wanted` messages of a batch's list, and how many are before them. *found false: in too
   many pieces or batches. The caller frees list->pieces, also after a failure. STATUS_SHAPE, STATUS_MEMORY. */
Status tail_list_read(TailList *list, StateRowSource rows, uint32_t batch, uint64_t stored, uint32_t wanted,
                      uint32_t *hidden, bool *found);

#endif
