/*
** Operations: edits of a conversation that do exactly what the caller says.
**
** Each starts a new batch, except append and rollback. Positions count from 0 in the
** current list, ranges are half-open. A refused operation leaves no trace: no message,
** no batch, no link. Besides the status values named below, all return STATUS_MEMORY,
** STATUS_LIMIT, STATUS_HOST, and the status of a source or callback.
**
** An operation may tear a unit; with `whole_units` it keeps all messages of a unit of
** which it keeps one.
**
** `description` is the caller's own description of the batch, plain and copied; with size 0
** the batch says what the operation did, in words such as "insert 2 at 0".
*/
#ifndef EBB_CORE_OPERATION_H
#define EBB_CORE_OPERATION_H

#include "core/conversation.h"

/* Appends to the current batch. STATUS_ARGUMENT for an empty source. */
Status operation_append(Conversation *conversation, MessageSource *source);

/* Inserts at a position. STATUS_RANGE unless position <= count; STATUS_ARGUMENT for an empty source. */
Status operation_insert(Conversation *conversation, uint32_t position, MessageSource *source,
                         Text description);

/* Replaces a message by the first one of the source, which takes over links and marks. The
   old one stays in the store. STATUS_RANGE unless index < count. */
Status operation_replace(Conversation *conversation, uint32_t index, MessageSource *source, Text description);

/* Cuts in the order of the fields, each on the result of the previous one. */
typedef struct Truncate {
  bool has_keep_first, has_keep_last, has_remove_first, has_remove_last, has_range, has_role;
  uint32_t keep_first, keep_last, remove_first, remove_last;
  uint32_t start, end;       /* start <= end */
  Role role;
  bool keep_others;          /* with has_role: keep all messages of other roles; else drop them */
  bool whole_units;
  Text description;
} Truncate;

/* STATUS_ARGUMENT without a cut, and if start > end. */
Status operation_truncate(Conversation *conversation, const Truncate *truncate);

/* Drops all messages, or all but the system messages; then adds the tool description
   (conversation_set_tools). */
Status operation_clear(Conversation *conversation, bool keep_system, Text description);

/* A list of texts; an empty list is no condition. */
typedef struct TextList {
  const Text *texts;         /* plain */
  uint32_t count;
} TextList;

bool text_list_has(TextList list, Text text);

/* The conditions for keeping a message; all of them must hold. */
typedef struct Filter {
  unsigned roles;            /* bit per role; 0: no condition */
  TextList contains, excludes;
  TextList include_names, exclude_names, include_ids, exclude_ids;
  bool exclude_calls;        /* drop messages with calls or results */
  TextList exclude_calls_of; /* the same for calls of these tools, and their results */
  /* The caller's own condition, tried last; NULL: none. */
  Status (*where)(void *user, uint32_t position, MessageId id, bool *keep);
  void *user;
  bool whole_units;
  Text description;
} Filter;

/* STATUS_ARGUMENT without a condition. */
Status operation_filter(Conversation *conversation, const Filter *filter);

/* Makes `batch` current; with has_length its state with `length` messages, as a new child
   batch if it has grown since. STATUS_RANGE if that state does not exist or was pruned. */
Status operation_rollback(Conversation *conversation, uint32_t batch, bool has_length, uint32_t length);

#endif
