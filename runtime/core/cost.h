/*
** Cost: how many tokens a message adds to a request.
**
**     text + call names and arguments + reasoning + images + framing
**
** The framing is OpenAI's published rule: 3 per message, 1 per name, and 3 for
** the reply that the request primes (the conversation adds those once).
*/
#ifndef EBB_CORE_COST_H
#define EBB_CORE_COST_H

#include "core/message.h"
#include "tokens/estimate.h"

/* An image of up to 1024 x 1024 pixels by gpt-4o's rule: 85 + 4 tiles of 170. */
#define IMAGE_TOKENS 765

typedef struct Counter {
  /* The caller's own rule, used for all if not NULL; any status but OK stops
     the operation. No framing is added. */
  Status (*given)(void *user, MessageId id, uint32_t *tokens);
  void *user;
  Estimator estimator;
  uint32_t per_message, per_name, per_request;
} Counter;

/* An estimator with its framing: OpenAI's, but none for utf16_2_5, which is a
   whole rule of its own. */
Counter counter_of(Estimator estimator);

/* STATUS_LIMIT if the cost passes 2^32 - 1; else what `given` answered. */
Status cost_of_message(const Counter *counter, const Message *message, MessageId id, uint32_t *tokens);

/* What other text adds, such as the tool schemas of a request. */
Status cost_of_text(const Counter *counter, Text text, uint32_t *tokens);

#endif
