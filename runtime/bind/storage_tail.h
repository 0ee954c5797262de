/*
** Tails of sessions: the last messages as a conversation, and commits of what was added to it (state/state_tail.h).
*/
#ifndef EBB_BIND_STORAGE_TAIL_H
#define EBB_BIND_STORAGE_TAIL_H

#include "bind/handle.h"
#include "bind/storage_handle.h"
#include "state/state_tail.h"
#include "storage/storage_past.h"

/* The tail of which a commit writes changes. */
typedef struct SessionTail {
  bool is_set;
  StateTail tail;
  StoragePast *past, *next;  /* its version, and what becomes of it by the commit */
  Text growth;               /* the row that state_write_tail_rows takes; empty where that batch did not grow */
} SessionTail;

/* db:tail(session, count, options, resolve) -> conversation, info, {batch, batches, hidden}, past | nil, error | false:
   the last messages cannot be read alone. `past`: what db:load needs to read all of it in the same version. */
int   bind_load_tail(lua_State *L);
/* Reads the table {batch, batches, hidden, tokens, past} at `index`, and sets what the commit says of the session.
   False: what was added may belong to hidden messages. Leaves the next version on the stack. Raises. */
bool  bind_tail_of_commit(lua_State *L, int index, const ConversationHandle *before, const ConversationHandle *after,
                          StorageCommit *commit, SessionTail *tail);
/* After the commit: `past` is the version that it made. */
void  bind_advance_tail(SessionTail *tail, const StorageCommit *commit);
/* Reads the growth of the session's current batch. */
Status bind_read_tail_growth(Storage *storage, uint64_t session, SessionTail *tail, Buffer *growth,
                             StorageError *error);

#endif
