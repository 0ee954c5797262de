/*
** Cost: how many tokens a message adds to a request.
**
**     text + call names and arguments + reasoning + images + framing
**
** The framing is OpenAI's published rule ("How to count tokens with tiktoken"):
** 3 per message and its role, which is one token in every vocabulary of theirs;
** 1 and the text per name; 3 once, for the reply that the request primes (the
** conversation adds those). That other providers frame alike is an estimate.
*/
#ifndef EBB_CORE_COST_H
#define EBB_CORE_COST_H

#include "core/message.h"
#include "tokens/estimate.h"
#include "tokens/image_cost.h"
#include "tokens/tokenizer.h"

/* How far a count can be trusted. */
typedef enum Trust {
  TRUST_EXACT,       /* text, by the vocabulary itself */
  TRUST_DERIVED,     /* published rules for framing, tools and images, on exact text */
  TRUST_ESTIMATED,
  TRUST_CALIBRATED,  /* estimated, times what usage was reported to be above it */
  TRUST_GIVEN        /* by the caller's own rule */
} Trust;

const char *trust_name(Trust trust);       /* "exact", "derived", ...; static */

/* The caller's own rule; any status but OK stops the operation. */
typedef Status CountMessage(void *user, MessageId id, uint32_t *tokens);

typedef struct Counter {
  CountMessage *custom;       /* used for all if not NULL; no framing is added */
  void *user;
  Tokenizer *tokenizer;      /* borrowed; NULL: the estimator counts */
  Estimator estimator;
  uint32_t per_message, per_name, per_request;
  uint32_t per_function;     /* of a tool's schema (format/tool_cost.h) */
  ImageRule image;
  bool image_assumed;        /* the model is not known to read images: what they cost is a guess */
} Counter;

/* An estimator with OpenAI's framing and images as gpt-4o sees them; no framing
   for utf16_2_5, which is a whole rule of its own. */
Counter counter_of(Estimator estimator);
/* A vocabulary with the same. The tokenizer outlives the counter. */
Counter counter_of_tokenizer(Tokenizer *tokenizer);
/* Do they count everything alike? */
bool    counter_equal(const Counter *a, const Counter *b);
/* Of what it counts, if nothing had to be guessed: derived, estimated or given. */
Trust   counter_trust(const Counter *counter);

typedef struct Cost {
  uint32_t tokens;
  bool guessed;              /* part of it by an assumption: an image of unknown size, a part of unknown kind */
} Cost;

/* STATUS_LIMIT if the cost passes 2^32 - 1; STATUS_MEMORY; else what `custom` returned. */
Status  cost_of_message(const Counter *counter, const Message *message, MessageId id, Cost *cost);

/* Costs put together from pieces, for what is no message. A tally that failed
   goes on failing; tally_end tells. */
typedef struct Tally {
  const Counter *counter;
  Estimate estimate;
  uint64_t tokens;
  bool guessed;
  Status status;
} Tally;

Tally   tally_start(const Counter *counter);
void    tally_text(Tally *tally, Text text);
Status  tally_end(const Tally *tally, Cost *cost);

#endif
