/*
** Operations: the edits of a conversation, exact as asked.
**
** Every one but append and rollback starts a new batch. Positions count from 0
** in the visible list, ranges are half-open. A refused operation leaves no
** trace: no message, no batch, no link.
**
** Raw operations may tear a unit; `whole_units` widens what is kept so that
** none is torn.
*/
#ifndef EBB_CORE_OPERATION_H
#define EBB_CORE_OPERATION_H

#include "core/conversation.h"

/* Extends the current batch. STATUS_ARGUMENT for an empty source. */
Status operation_append(Conversation *conversation, MessageSource *source);

/* STATUS_RANGE unless position <= count; STATUS_ARGUMENT for an empty source. */
Status operation_insert(Conversation *conversation, uint32_t position, MessageSource *source);

/* Puts the first message of the source in the place of another, which stays in
   the store; links and marks go over. */
Status operation_replace(Conversation *conversation, uint32_t index, MessageSource *source);

/* Cuts, made in the order written here, each on the result of the one before. */
typedef struct Truncate {
  bool has_keep_first, has_keep_last, has_remove_first, has_remove_last, has_range, has_role;
  uint32_t keep_first, keep_last, remove_first, remove_last;
  uint32_t start, end;       /* start <= end */
  Role role;
  bool within;               /* cut among that role and leave all others; else only that role is kept */
  bool whole_units;
} Truncate;

/* STATUS_ARGUMENT if it asks for nothing or start > end. */
Status operation_truncate(Conversation *conversation, const Truncate *truncate);

/* Keeps the visible system messages, or none; then the tool description rule. */
Status operation_clear(Conversation *conversation, bool keep_system);

/* A list of texts; an empty one is no condition. */
typedef struct TextList {
  const Text *texts;         /* plain */
  uint32_t count;
} TextList;

bool text_list_has(TextList list, Text text);

/* All conditions hold. */
typedef struct Filter {
  unsigned roles;            /* bit per role; 0: no condition */
  TextList contains, excludes;
  TextList include_names, exclude_names, include_ids, exclude_ids;
  bool exclude_calls;        /* no messages with calls, nor results of calls */
  TextList exclude_calls_of; /* only calls of these tools */
  /* The caller's own condition; NULL: none. */
  Status (*where)(void *user, uint32_t position, MessageId id, bool *keep);
  void *user;
  bool whole_units;
} Filter;

/* STATUS_ARGUMENT if it has no condition. */
Status operation_filter(Conversation *conversation, const Filter *filter);

/* Makes `batch` current; with has_length, the state when it had `length`
   messages, which becomes a new batch, its child, if it has grown since. */
Status operation_rollback(Conversation *conversation, uint32_t batch, bool has_length, uint32_t length);

#endif
