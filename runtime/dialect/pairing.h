/*
** Pairing: which result of a list answers which call, wherever the two stand.
**
** Logs are out of order: a user speaks between a call and its result, parallel calls stand in
** several messages, a bridge leaves out the ids. So calls and results are matched in the whole
** list, the surest way first:
**
**     by their ids               a | user | result a
**     by their names             f | result f             where one of both has no id
**     by their order             f, g | result | result   where the result has neither
**     by their place             a | result x             directly behind it: where the call has no id
**
** Each way takes the nearest call before the result, of parallel calls the first; where there is
** none, the nearest call behind it. Results side by side take their calls in order. So as many
** calls of an id are answered as there are results, and the nearest of several results counts.
*/
#ifndef EBB_DIALECT_PAIRING_H
#define EBB_DIALECT_PAIRING_H

#include "base/hash.h"
#include "core/message/store.h"
#include "dialect/dialect.h"

#define UNPAIRED UINT32_MAX

typedef struct PairedCall {
  uint32_t message;          /* its position in the list */
  uint32_t number;           /* of message_call */
  uint32_t turn;             /* messages of the assistant without others between them have the same number */
  uint32_t result;           /* the result that answers it, or UNPAIRED */
  bool strict;               /* only its id tells: it is an item of Responses, but not of a function or a custom tool */
  Text id, name;             /* size 0: none; the id of a legacy function call is its name */
  uint32_t next, below, tail;      /* while calls are matched: see pairing.c */
} PairedCall;

typedef struct PairedResult {
  uint32_t message;          /* its position in the list */
  uint32_t part;             /* of message_part; UNPAIRED: it is the message */
  uint32_t call;             /* the call that it answers, or UNPAIRED */
  bool is_again;             /* it has the id of a call; if it answers none, another result answers that one */
  bool strict;
  Text id, name;             /* size 0: none */
} PairedResult;

/* Calls and results are numbered in the order of the list. */
typedef struct Pairing {
  Memory memory;
  PairedCall *calls;     uint32_t call_count, call_room;
  PairedResult *results; uint32_t result_count, result_room;
  uint32_t *first_call, *first_result;    /* by message, and behind the last one */
  uint32_t *turns;           /* by message: the number of its turn; UNPAIRED: it is not the assistant's */
  uint32_t count;            /* messages */
} Pairing;

/* The calls and results of all forms count. */
#define PAIRING_ANY ((Dialect)DIALECT_COUNT)

/* Pairs the calls and results that have the dialect's form. The texts are those of the messages. The caller frees it,
   also after a failure: STATUS_MEMORY. O(messages, their parts, calls and results). */
Status pairing_of(const Store *store, const MessageId *ids, uint32_t count, Dialect dialect, const HashKey *key,
                  const Memory *memory, Pairing *pairing);
void   pairing_free(Pairing *pairing);

static inline bool pairing_has_results(const Pairing *pairing, uint32_t message) {
  return pairing->first_result[message] < pairing->first_result[message + 1];
}

#endif
