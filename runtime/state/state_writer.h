/*
** Shared by the files that write states, whole (state_write.c) or as rows (state_rows.c): messages' lists, batches
** (state_write_batch.c) and marks, one by one.
*/
#ifndef EBB_STATE_STATE_WRITER_H
#define EBB_STATE_STATE_WRITER_H

#include "state/state_parts.h"
#include "state/state_tail.h"

typedef struct StateWriter {
  const Conversation *conversation;
  const Store *store;
  const History *history;
  JsonOut out;
  const StateTail *tail;     /* the conversation is a session's tail, and its numbers are written; NULL: all of it */
} StateWriter;

/* The conversation outlives the writer, and does not change. The caller starts and ends `out`. */
void state_writer_init(StateWriter *w, const Conversation *conversation);

/* ---- elements of lists; each writes nothing, and returns false, if the message has no such element ---- */

bool state_write_origin(StateWriter *w, MessageId id);
bool state_write_moved(StateWriter *w, MessageId id);
bool state_write_answers(StateWriter *w, MessageId id);

void state_write_checkpoint(StateWriter *w, const Checkpoint *checkpoint);
void state_write_marks(StateWriter *w);        /* an object */
void state_write_calibration(StateWriter *w);

/* ---- batches ---- */

/* The session's number of a batch. */
static inline uint32_t state_batch_number(const StateWriter *w, uint32_t batch) {
  if (w->tail == NULL) return batch;
  return batch == 0 ? w->tail->batch : w->tail->batches + batch - 1;
}

/* Messages of the session's batch that are hidden before its list. */
static inline uint32_t state_batch_hidden(const StateWriter *w, uint32_t batch) {
  return w->tail != NULL && batch == 0 ? w->tail->hidden : 0;
}

typedef enum BatchScope {
  BATCH_WHOLE,               /* as it is now */
  BATCH_AT_BIRTH             /* without its memory, its count and what came after its birth; "put" comes last */
} BatchScope;

/* Writes a batch as a delta over the state of its parent, an object. A pruned batch has no list to write. */
void state_write_batch(StateWriter *w, uint32_t index, BatchScope scope);
/* Writes the messages [from, end) that a batch has got, as runs of positions and seqs in an open list. */
void state_write_added(StateWriter *w, uint32_t index, uint32_t from, uint32_t end);
/* Writes the messages that came after a batch's birth, as runs in an open list. */
void state_write_growth(StateWriter *w, uint32_t index);
/* True if what policies remember at the batch differs from what they do at its parent, byte for byte. */
bool state_has_memory(const StateWriter *w, uint32_t index);
/* The memory of policies, an object. */
void state_write_memory(StateWriter *w, uint32_t index);

#endif
