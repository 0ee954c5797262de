/*
** Scales: what messages weigh by another counter than their first.
**
** A message knows what it costs by the counter that its conversation began
** with. A conversation that is then counted by another gets a weights, which
** belongs to the store; forks share its weights, so that each message is counted
** once per counter:
**
**     message          1    2    3    4    5
**     its own tokens  12  140   31    9   77       the first counter
**     a weights         11  152   29    9             cl100k_base; 5 came later
**
** Lists keep the sums of the weights that they were built by.
*/
#ifndef EBB_CORE_TOKEN_WEIGHTS_H
#define EBB_CORE_TOKEN_WEIGHTS_H

#include "core/cost.h"
#include "core/store.h"

typedef struct TokenWeights TokenWeights;

/* The store's weights for a counter, made if there is none; it weighs nothing yet. STATUS_MEMORY */
Status   token_weights_open(Store *store, const Memory *memory, const Counter *counter, TokenWeights **weights);

/* Counts every message of the store that it has not counted. On failure
   (STATUS_LIMIT, STATUS_MEMORY, STATUS_HOST) those before it stay counted. */
Status   token_weights_fill(TokenWeights *weights, Store *store);

/* What a message weighs; by its own tokens if `weights` is NULL or has not counted it. */
uint32_t token_weights_get(const TokenWeights *weights, const Store *store, MessageId id);

const Counter *token_weights_counter(const TokenWeights *weights);
/* True if lists that weigh by one and by the other have equal weights; NULL: messages' own tokens. */
bool     token_weights_equal(const TokenWeights *a, const TokenWeights *b);
/* The store's weights for a counter, or NULL if it has none. */
TokenWeights   *token_weights_find(Store *store, const Counter *counter);
/* As token_weights_fill, but messages that another store's weights of the same counter has
   counted are not counted again: those up to `base`, and the messages after it,
   which have seqs greater by `shift` in this store (store_take). */
Status   token_weights_fill_from(TokenWeights *weights, Store *store, const TokenWeights *other, MessageId base,
                                 uint32_t shift);

/* Was part of the weight guessed? */
bool     token_weights_is_guess(const TokenWeights *weights, const Store *store, MessageId id);
uint32_t token_weights_guesses(const TokenWeights *weights, const Store *store);      /* how many were */

/* For the store: copies for a fork, which share the weights. STATUS_MEMORY. */
Status   token_weights_fork_all(const TokenWeights *weights, TokenWeights **fork);
/* For the store: drops the weights of messages after the first `count`. */
void     token_weights_rewind_all(TokenWeights *weights, uint32_t count);
void     token_weights_free_all(TokenWeights *weights);

/* What a message costs by a counter. STATUS_LIMIT beyond MESSAGE_TOKENS_MAX. */
Status   token_weights_count(const Store *store, const Counter *counter, MessageId id, Cost *cost);

#endif
