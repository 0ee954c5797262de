/*
** The fields of a message, for message.c and store*.c only.
**
** Most messages have only a role and a content; everything else is in their Details,
** one block of the store's arena:
**
**     [ Details | CallData ... | ResultData ... | CallKey ... | Part ... | Span per field set | timestamp ]
**
** All of these are aligned to 4 bytes; a timestamp is copied out.
*/
#ifndef EBB_CORE_MESSAGE_DATA_H
#define EBB_CORE_MESSAGE_DATA_H

#include "core/message/store.h"

/* 32 bytes: two to a cache line, and a million of them in 32 MB. */
struct Message {
  const char *raw;
  struct Details *details;   /* NULL: only role and content */
  uint32_t raw_size : 31;
  uint32_t starts_turn : 1;
  uint32_t tokens : 28;      /* at most MESSAGE_TOKENS_MAX */
  uint32_t role : 2;             /* 0 for a window item, without meaning */
  uint32_t content_kind : 2;
  uint32_t content_at : 31;
  uint32_t other_spelling : 1;   /* developer, function, or mapped */
  uint32_t content_size : 31;
  uint32_t content_escaped : 1;
};

_Static_assert(sizeof(struct Message) == 32, "a message has 32 bytes");

/* A call, and its link in the stack of calls that wait for results. */
typedef struct CallData {
  Call call;
  MessageId below;           /* message with the next older call whose id has this hash; 0: none */
  uint32_t below_call : 31;  /* index of that call in its message */
  uint32_t answered : 1;
} CallData;

typedef struct ResultData {
  Result result;
  MessageId answers;         /* message of the call that it answers; 0: none */
  uint32_t call : 31;        /* index of that call */
  uint32_t ended_wait : 1;   /* true for the first result of that call */
} ResultData;

/* The calls of a message with more than CALLS_FEW, sorted by hash, then by index. */
typedef struct CallKey {
  uint32_t hash;             /* half the hash of the call's id */
  uint32_t call;
} CallKey;

enum { CALLS_FEW = 8 };

typedef struct Details {
  MessageId origin;          /* the message that it stands for; 0: itself */
  uint32_t rank;             /* number of its rank in the store, from 1; 0: the rank of an appended message */
  uint32_t call_count, result_count, part_count;
  uint8_t fields;            /* bit per MessageField */
  bool guessed;              /* part of its cost is a guess (store_note_guess) */
  bool has_timestamp;        /* it follows the fields */
  uint8_t form;              /* MessageForm */
} Details;

static inline CallData *details_calls(Details *details) { return (CallData *)(void *)(details + 1); }

static inline ResultData *details_results(Details *details) {
  return (ResultData *)(void *)(details_calls(details) + details->call_count);
}

static inline CallKey *details_keys(Details *details) {
  return (CallKey *)(void *)(details_results(details) + details->result_count);
}

static inline uint32_t details_key_count(const Details *details) {
  return details->call_count > CALLS_FEW ? details->call_count : 0;
}

static inline Part *details_parts(Details *details) {
  return (Part *)(void *)(details_keys(details) + details_key_count(details));
}

static inline Span *details_fields(Details *details) {
  return (Span *)(void *)(details_parts(details) + details->part_count);
}

static inline unsigned char *details_timestamp(Details *details) {
  return (unsigned char *)(details_fields(details) + __builtin_popcount(details->fields));
}

static inline size_t details_size(const Details *details) {
  return sizeof *details + details->call_count * sizeof(CallData) + details->result_count * sizeof(ResultData) +
         details_key_count(details) * sizeof(CallKey) + details->part_count * sizeof(Part) +
         (size_t)__builtin_popcount(details->fields) * sizeof(Span) + (details->has_timestamp ? sizeof(int64_t) : 0);
}

#endif
