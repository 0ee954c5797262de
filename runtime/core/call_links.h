/*
** CallLinks as a list shows them: which visible result answers which visible call.
**
** The store knows, once for all, the call that a result answers (store.h). In a
** list either may be missing, and the message with the call may be replaced by
** one that has its calls in another order, or has lost some:
**
**     store    seq 2: calls a, b      seq 3: answers 2 a     seq 5 replaces 2: calls b
**     list     5   3                  3 answers nothing here, b is open
**
** A result stands no further behind its call than `span`, counted in anchors; so
** what is asked here costs O(span), wherever it is asked, in a ranked list.
*/
#ifndef EBB_CORE_CALL_LINKS_H
#define EBB_CORE_CALL_LINKS_H

#include "core/sequence.h"

/* Borrows the store and the list, which may not change meanwhile. */
typedef struct CallLinks {
  const Store *store;
  const Sequence *list;
  uint32_t count;            /* of the list: also the answer of those below that find no position */
  uint32_t span;
  MessageId except;          /* a message whose results do not count; 0: none */
} CallLinks;

CallLinks    call_links_of(const Store *store, const Sequence *list);

/* Does result `result` of message `id` answer a call of message `caller`, and which? */
bool     call_links_answers(const CallLinks *links, MessageId id, uint32_t result, MessageId caller, uint32_t *call);
/* The position of the message with the call that the one at `position` answers. */
uint32_t call_links_caller(const CallLinks *links, uint32_t position);
/* The next position after `from` whose message answers the one at `caller`. Start with from = caller. */
uint32_t call_links_next_result(const CallLinks *links, uint32_t caller, uint32_t from);
bool     call_links_is_answered(const CallLinks *links, uint32_t caller, uint32_t call);
/* Has one of the calls at `position` no visible result? */
bool     call_links_is_open(const CallLinks *links, uint32_t position);

#endif
