/*
** What a conversation is made of: for conversation.c and recount.c only.
*/
#ifndef EBB_CORE_CONVERSATION_DATA_H
#define EBB_CORE_CONVERSATION_DATA_H

#include "core/conversation.h"

typedef struct ToolDescription {
  char *bytes;               /* heading, then the message's JSON; NULL: none */
  size_t heading_size, size;
  MessageShape shape;        /* of a message without lists */
} ToolDescription;

struct Conversation {
  Memory memory;
  Clock clock;
  Counter counter;           /* of `scale`, */
  Scale *scale;              /* by which its lists weigh: NULL is that of the first counter */
  Counter first;             /* which forks share, as they do the store */
  Calibration calibration;
  Store *store;
  History *history;
  Marks *marks;
  Windows *windows;          /* NULL until there is one */
  ToolDescription tools;
  uint64_t overhead;
  bool overhead_guessed;
  uint64_t version;
  Units *units;              /* of the list at `units_version`; NULL: not made */
};

#endif
