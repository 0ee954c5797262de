/*
** What a message is made of: for message.c and store.c only.
**
** Most messages have a role and a content; whatever else a message has stands
** in its Details, one block of the store's with the lists behind one another:
**
**     [ Details | CallData ... | ResultData ... | Part ... | Span per field set | timestamp ]
**
** All of these are aligned to 4 bytes; a timestamp is copied out.
*/
#ifndef EBB_CORE_MESSAGE_DATA_H
#define EBB_CORE_MESSAGE_DATA_H

#include "core/store.h"

/* 32 bytes: two to a cache line, and a million of them in 32 MB. */
struct Message {
  const char *raw;
  struct Details *details;   /* NULL: nothing but role and content */
  uint32_t raw_size : 31;
  uint32_t starts_turn : 1;
  uint32_t tokens : 28;      /* at most MESSAGE_TOKENS_MAX */
  uint32_t role : 2;             /* of a window item 0, which says nothing */
  uint32_t content_kind : 2;
  uint32_t content_at : 31;
  uint32_t other_spelling : 1;   /* developer, function, or mapped */
  uint32_t content_size : 31;
  uint32_t content_escaped : 1;
};

_Static_assert(sizeof(struct Message) == 32, "a message has 32 bytes");

/* A call, and its place on the stack of calls that wait for results. */
typedef struct CallData {
  Call call;
  MessageId below;           /* message with the next older call of this hash of id; 0: none */
  uint32_t below_call : 31;  /* its index there */
  uint32_t answered : 1;
} CallData;

typedef struct ResultData {
  Result result;
  MessageId answers;         /* message of its link; 0: none */
  uint32_t call : 31;        /* of its link */
  uint32_t ended_wait : 1;   /* the call waited until this result came; others may answer it too */
} ResultData;

typedef struct Details {
  MessageId origin;          /* 0: the message itself */
  uint32_t rank;             /* its place among the store's ranks, from 1; 0: that of an appended message */
  uint32_t call_count, result_count, part_count;
  uint8_t fields;            /* bit per MessageField */
  bool guessed;              /* part of what it costs; see store_note_guess */
  bool has_timestamp;        /* then it stands behind the fields */
} Details;

static inline CallData *details_calls(Details *details) { return (CallData *)(void *)(details + 1); }

static inline ResultData *details_results(Details *details) {
  return (ResultData *)(void *)(details_calls(details) + details->call_count);
}

static inline Part *details_parts(Details *details) {
  return (Part *)(void *)(details_results(details) + details->result_count);
}

static inline Span *details_fields(Details *details) {
  return (Span *)(void *)(details_parts(details) + details->part_count);
}

static inline unsigned char *details_timestamp(Details *details) {
  return (unsigned char *)(details_fields(details) + __builtin_popcount(details->fields));
}

#endif
