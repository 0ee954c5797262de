/*
** Cost: how many tokens a message adds to a request.
**
**     text + call names and arguments + reasoning + images + framing
**
** The framing is OpenAI's published rule ("How to count tokens with tiktoken"):
** 3 per message and 1 for its role, which is one token in all their vocabularies;
** 1 and the text per name; 3 once per request for priming the reply (added by the
** conversation). For other providers this framing is an estimate.
*/
#ifndef EBB_CORE_COST_H
#define EBB_CORE_COST_H

#include "core/message/message.h"
#include "tokens/estimate.h"
#include "tokens/image_cost.h"
#include "tokens/tokenizer.h"

/* How exact a count is. */
typedef enum Trust {
  TRUST_EXACT,       /* text, by the vocabulary itself */
  TRUST_DERIVED,     /* published rules for framing, tools and images, on exact text */
  TRUST_ESTIMATED,
  TRUST_CALIBRATED,  /* estimated, scaled by the usage that providers reported */
  TRUST_GIVEN        /* the caller's own rule */
} Trust;

const char *trust_name(Trust trust);       /* "exact", "derived", ...; static */

/* The caller's own rule: counts a message. Any status but OK stops the operation. */
typedef Status CountMessage(void *user, MessageId id, uint32_t *tokens);

typedef struct Counter {
  CountMessage *custom;      /* counts every message if not NULL; no framing is added */
  void *user;
  Tokenizer *tokenizer;      /* borrowed; NULL: the estimator counts */
  Estimator estimator;
  uint32_t per_message, per_name;      /* framing */
  uint32_t per_request;      /* for priming the reply: what the provider adds once, for the beginning of the answer */
  uint32_t per_tools;        /* once for the tools of a request (document/request_cost.h) */
  ImageRule image;
  bool image_assumed;        /* the model may not read images: their cost is a guess */
} Counter;

/* A counter by an estimator, with OpenAI's framing and gpt-4o's image rule; utf16_2_5 is
   a complete rule and gets no framing. */
Counter counter_of(Estimator estimator);
/* A counter by a vocabulary, with the same framing. The tokenizer must outlive the counter. */
Counter counter_of_tokenizer(Tokenizer *tokenizer);
/* True if both counters give equal results for every message. */
bool    counter_equal(const Counter *a, const Counter *b);
/* The trust in its counts if nothing is guessed: derived, estimated or given. */
Trust   counter_trust(const Counter *counter);

typedef struct Cost {
  uint32_t tokens;
  bool guessed;              /* part of it is an assumption: an image of unknown size, a part of unknown kind */
} Cost;

/* Counts a message. STATUS_LIMIT if the cost exceeds 2^32 - 1; STATUS_MEMORY; else the status of `custom`. */
Status  cost_of_message(const Counter *counter, const Message *message, MessageId id, Cost *cost);

/* Counts what of a message's cost goes if its thinking is left out: the texts of its reasoning, and all of a message
   that has nothing else. `custom` says nothing of that: 0. Statuses as cost_of_message. */
Status  cost_of_reasoning(const Counter *counter, const Message *message, Cost *cost);

/* Adds up the cost of texts outside messages. After a failure a tally ignores further
   texts; tally_end returns the status. */
typedef struct Tally {
  const Counter *counter;
  Estimate estimate;
  uint64_t tokens;
  bool guessed;
  Status status;
} Tally;

Tally   tally_start(const Counter *counter);          /* the counter must outlive the tally */
void    tally_text(Tally *tally, Text text);
/* The sum. STATUS_LIMIT if it exceeds 2^32 - 1; STATUS_MEMORY. */
Status  tally_end(const Tally *tally, Cost *cost);

#endif
