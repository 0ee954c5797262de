/*
** Scales: what messages weigh by another counter than their first.
**
** A message knows what it costs by the counter that its conversation began
** with. A conversation that is then counted by another gets a scale, which
** belongs to the store; forks share its weights, so that each message is counted
** once per counter:
**
**     message          1    2    3    4    5
**     its own tokens  12  140   31    9   77       the first counter
**     a scale         11  152   29    9             cl100k_base; 5 came later
**
** Lists keep the sums of the scale that they were built by.
*/
#ifndef EBB_CORE_SCALE_H
#define EBB_CORE_SCALE_H

#include "core/cost.h"
#include "core/store.h"

typedef struct Scale Scale;

/* The store's scale for a counter, made if there is none; it weighs nothing yet. STATUS_MEMORY */
Status   scale_of(Store *store, const Memory *memory, const Counter *counter, Scale **scale);

/* Counts every message of the store that it has not counted. On failure
   (STATUS_LIMIT, STATUS_MEMORY, STATUS_HOST) those before it stay counted. */
Status   scale_fill(Scale *scale, Store *store);

/* What a message weighs; by its own tokens if `scale` is NULL or has not counted it. */
uint32_t scale_weight(const Scale *scale, const Store *store, MessageId id);

const Counter *scale_counter(const Scale *scale);
/* True if lists that weigh by one and by the other have equal weights; NULL: messages' own tokens. */
bool     scale_equal(const Scale *a, const Scale *b);
/* The store's scale for a counter, or NULL if it has none. */
Scale   *scale_find(Store *store, const Counter *counter);
/* As scale_fill, but messages that another store's scale of the same counter has
   counted are not counted again: those up to `base`, and the messages after it,
   which have seqs greater by `shift` in this store (store_take). */
Status   scale_fill_as(Scale *scale, Store *store, const Scale *other, MessageId base, uint32_t shift);

/* Was part of the weight guessed? */
bool     scale_is_guess(const Scale *scale, const Store *store, MessageId id);
uint32_t scale_guesses(const Scale *scale, const Store *store);      /* how many were */

/* For the store: copies for a fork, which share the weights. STATUS_MEMORY. */
Status   scales_fork(const Scale *scales, Scale **fork);
/* For the store: drops the weights of messages after the first `count`. */
void     scales_rewind(Scale *scales, uint32_t count);
void     scales_free(Scale *scales);

/* What a message costs by a counter. STATUS_LIMIT beyond MESSAGE_TOKENS_MAX. */
Status   scale_count(const Store *store, const Counter *counter, MessageId id, Cost *cost);

#endif
