/*
** Scales: what messages weigh by another counter than their first.
**
** A message knows what it costs by the counter that its conversation began
** with. A conversation that is then counted by another gets a scale, which
** belongs to the store, so that all forks share it and each message is counted
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

/* For the store: its messages from `count` on are gone; all of them are. */
void     scales_rewind(Scale *scales, uint32_t count);
void     scales_free(Scale *scales);

/* What a message costs by a counter, noted in the store if part of it was
   guessed. STATUS_LIMIT beyond MESSAGE_TOKENS_MAX. */
Status   scale_count(Store *store, const Counter *counter, MessageId id, uint32_t *tokens);

#endif
