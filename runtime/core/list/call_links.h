/*
** Call links of a list: which visible result answers which visible call.
**
** The store holds the call that a result answers (store.h). A list may lack either of
** them, and may have replaced the message with the call by one with other calls, or
** the same ones in another order:
**
**     store    seq 2: calls a, b      seq 3: answers 2 a     seq 5 replaces 2: calls b
**     list     5   3                  3 answers nothing here, b is open
**
** The anchor of a result exceeds the anchor of its call by at most `span` (store_span).
** So every query costs O(span) in a ranked list, and O(n) in another.
*/
#ifndef EBB_CORE_CALL_LINKS_H
#define EBB_CORE_CALL_LINKS_H

#include "core/list/sequence.h"

/* Borrows the store and the list, which must not change during its life. */
typedef struct CallLinks {
  const Store *store;
  const Sequence *list;
  uint32_t count;            /* messages of the list */
  uint32_t span;
} CallLinks;

CallLinks call_links_of(const Store *store, const Sequence *list);

/* True if result `result` of message `id` answers a call of message `caller`; *call gets the call's index. */
bool     call_links_answers(const CallLinks *links, MessageId id, uint32_t result, MessageId caller, uint32_t *call);
/* The call that result `result` of message `id` answers, in a message that is there: if its own was removed, in what
   replaced it in the list. Message 0: none. O(1), or O(log n) behind a removal. */
CallLink call_links_call(const Store *store, const Sequence *list, MessageId id, uint32_t result);
/* Position of the message whose call the message at `position` answers, or the count. */
uint32_t call_links_caller(const CallLinks *links, uint32_t position);
/* Next position after `from` whose message answers the one at `caller`, or the count. Start with from = caller. */
uint32_t call_links_next_result(const CallLinks *links, uint32_t caller, uint32_t from);
/* The open call with the name of result `result` of message `id`, which has no id, before `position`;
   message 0: none. Only the nearest message with calls counts, and results alone may stand
   between: at most CALLS_NAMED_MAX messages, of at most STORE_CALLS_MAX calls and results each. */
CallLink call_links_named(const Store *store, const Sequence *list, uint32_t position, MessageId id, uint32_t result);
#define CALLS_NAMED_MAX 16
/* True if a call of the message at `position` has no visible result. At most STORE_CALLS_MAX calls. */
bool     call_links_is_open(const CallLinks *links, uint32_t position);

#endif
