/*
** Messages, and further arrays by seq, are in pages that forks share (pages.h); bytes and
** details in an arena (arena.h):
**
**     messages   seq -> Message -> raw bytes, Details
**     times      seq -> timestamp, for messages that have one
**     ranks      number -> Rank, for messages that were inserted
**
** Waiting calls are in the map `waiting`, except calls of messages up to `indexed`: those
** are in the map of the store that this one was forked from.
**
** Invariants (asserted by store_check):
**   1. A call of a message after `indexed` whose `answered` is false can be reached from
**      the head of its stack in `waiting`.
**   2. A head is never answered.
**   3. Ids fall along a stack; in one message, indexes of calls rise.
**   4. `answered`, `below` and `ended_wait` of a message are read and written only by the
**      store with its calls in `waiting`.
**   5. Links, origins and ranks are in range.
**
** store_query.c reads messages, store_calls.c keeps links and waiting calls, store.c adds,
** removes and forks, store_copy.c copies messages between stores. Private to store*.c.
*/
#ifndef EBB_CORE_STORE_DATA_H
#define EBB_CORE_STORE_DATA_H

#include "base/map.h"
#include "core/message/message_data.h"
#include "core/message/pages.h"

struct Store {
  Memory memory;
  HashKey key;
  uint32_t owners;
  bool closed;               /* see store_close */
  uint32_t count;
  uint32_t base;             /* see store_base */
  uint32_t indexed;          /* calls of later messages are in `waiting` */
  uint32_t span;             /* see store_span */
  uint32_t rank_count;
  uint32_t guesses;          /* see store_guesses */
  uint32_t fragments;        /* see store_fragments */
  uint32_t moved;            /* see store_moved */
  Pages messages, times, ranks;
  Arena *arena;              /* NULL until the first addition */
  Arena *inherited;          /* a share of the forked store's arena, until `arena` takes it as its base; or NULL */
  StoreAttachment attachment;
  Map waiting;               /* hash of a call's id -> newest waiting call */
  StoreMark forked;          /* the state at the last fork */
};

/* ---- store_query.c ---- */

/* The rank of an inserted message; NULL for an appended one. */
const Rank *store_find_rank(const Store *store, MessageId id);

/* ---- store_calls.c ---- */

CallData *store_call_at(const Store *store, CallLink link);
/* Fills the keys of a message's details. `raw`: its JSON. */
void      store_sort_calls(const Store *store, Text raw, Details *details);
/* Makes a call wait. STATUS_MEMORY. */
Status    store_push_call(Store *store, CallLink link);
/* Ends the wait of a call; false if it was not waiting. */
bool      store_pop_call(Store *store, CallLink link);
/* Makes a call wait that a removed result had answered. Cannot fail. */
void      store_wait_again(Store *store, CallLink link);

/* ---- store.c ---- */

/* Allocates `size` bytes, aligned to 8; NULL if memory runs out. */
void     *store_allocate(Store *store, size_t size);
/* False if a message of `bytes` bytes exceeds a limit. */
bool      store_can_add(const Store *store, size_t bytes);
/* Reserves the elements of the next message and, if `timed`, of its timestamp. STATUS_MEMORY. */
Status    store_reserve(Store *store, bool timed, void **message, void **time);
/* Makes the calls of the newest message wait, the first one on top of its stack. After a failure none
   waits, and the details list no calls and no results, so that store_rewind undoes the rest.
   STATUS_MEMORY. */
Status    store_push_calls(Store *store, Details *details);
/* Copies the attachment for a fork. STATUS_MEMORY. */
Status    store_fork_attachment(const StoreAttachment *attachment, StoreAttachment *fork);

#endif
