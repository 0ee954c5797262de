/*
** Token weights: the tokens of messages under another counter than their first.
**
** A message holds its tokens under the first counter of its conversation. For every
** further counter the store has a table of weights. Forks share the tables, so that
** each message is counted once per counter:
**
**     message          1    2    3    4    5
**     its own tokens  12  140   31    9   77       the first counter
**     a table         11  152   29    9            cl100k_base; 5 is not counted yet
**
** A list keeps sums of the weights that it was built with.
*/
#ifndef EBB_CORE_TOKEN_WEIGHTS_H
#define EBB_CORE_TOKEN_WEIGHTS_H

#include "core/message/cost.h"
#include "core/message/store.h"

typedef struct TokenWeights TokenWeights;

/* The store's weights for a counter; creates an empty table if it has none. STATUS_MEMORY. */
Status   token_weights_open(Store *store, const Memory *memory, const Counter *counter, TokenWeights **weights);

/* Counts every message of the store that has no weight yet. On failure (STATUS_LIMIT,
   STATUS_MEMORY, STATUS_HOST) earlier messages keep theirs. */
Status   token_weights_fill(TokenWeights *weights, Store *store);

/* Tokens of a message; its own tokens if `weights` is NULL or has not counted it. */
uint32_t token_weights_get(const TokenWeights *weights, const Store *store, MessageId id);

const Counter *token_weights_counter(const TokenWeights *weights);
/* True if both give equal tokens for every message; NULL: messages' own tokens. */
bool     token_weights_equal(const TokenWeights *a, const TokenWeights *b);
/* The store's weights for a counter, or NULL if it has none. */
TokenWeights *token_weights_find(Store *store, const Counter *counter);
/* As token_weights_fill, but copies weights of the same counter from another store where it
   has them: of messages up to `base`, and of later ones, whose seqs in this store are
   greater by `shift` (store_take). Statuses as there. */
Status   token_weights_fill_from(TokenWeights *weights, Store *store, const TokenWeights *other, MessageId base,
                                 uint32_t shift);

/* True if the weight of a message is partly a guess; the number of such messages. */
bool     token_weights_is_guess(const TokenWeights *weights, const Store *store, MessageId id);
uint32_t token_weights_guesses(const TokenWeights *weights, const Store *store);

/* Counts one message. STATUS_LIMIT beyond MESSAGE_TOKENS_MAX; STATUS_MEMORY, STATUS_HOST. */
Status   token_weights_count(const Store *store, const Counter *counter, MessageId id, Cost *cost);

#endif
