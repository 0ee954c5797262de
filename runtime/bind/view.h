/*
** Views: the list of messages that conversations, batches and drafts have in common.
*/
#ifndef EBB_BIND_VIEW_H
#define EBB_BIND_VIEW_H

#include "bind/handle.h"
#include "dialect/dialect.h"

/* What a function of Lua reads of the conversation, batch or draft that it was called with: borrowed
   from the value at `owner`, and valid until the owner is edited. */
typedef struct View {
  int owner;                 /* absolute stack index */
  ConversationHandle *handle;
  Conversation *conversation;
  const Sequence *list;
  Draft *draft;              /* NULL: not a draft */
  BatchHandle *batch;        /* NULL: not a batch */
} View;

/* The view of the value at index; raises for other values than those three, and if a draft's list
   cannot be built (STATUS_MEMORY, STATUS_LIMIT). */
View  bind_view(lua_State *L, int index);
/* The same, but of a draft without its list (NULL), which costs O(slots) after an edit: a
   policy that edits and looks in turns needs the slots only. */
View  bind_look(lua_State *L, int index);
void  bind_view_list(lua_State *L, View *view);            /* fills in the list after bind_look; raises */
/* Refuses a message that the conversation has no longer. */
void  bind_check_there(lua_State *L, const View *view, MessageId id);
/* Refuses a draft whose conversation, which is open, was pruned since: messages that it shows are gone. */
void  bind_check_draft_lasts(lua_State *L, const Draft *draft);
bool  bind_is_view(lua_State *L, int index);               /* true if bind_view accepts the value */
const Units *bind_view_units(lua_State *L, View *view);    /* of the list, or of a draft's slots; raises */
/* The same, but of a draft they may be out of order: for what looks at single units. */
const Units *bind_view_groups(lua_State *L, View *view);
/* The slot of a message in a draft, else its position in the list; UNIT_NONE if it has none.
   `hint`: the position to try first. */
uint32_t bind_view_slot(lua_State *L, View *view, MessageId id, uint32_t hint);
MessageId bind_view_slot_message(const View *view, uint32_t slot);
bool  bind_view_slot_is_dropped(const View *view, uint32_t slot);
uint64_t bind_view_tokens(const View *view);
/* Tokens of any message of the store, as the owner counts them. */
uint32_t bind_view_message_tokens(const View *view, MessageId id);

/* The dialect of the view's messages, and of the body that they were read from. */
Dialect bind_own_dialect(const View *view);
/* The dialect that an argument names, or without one that of the view; raises for other names. */
Dialect bind_dialect(lua_State *L, int index, const View *view);

/* Pushes the Batch of the conversation at 1 that the number or name at `index` stands for, with
   `length` messages (has_length false: as many as it has, or had when it got the name); its list. */
const Sequence *bind_push_batch_list(lua_State *L, int index, bool has_length, uint32_t length);

#endif
