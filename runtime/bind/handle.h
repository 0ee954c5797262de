/*
** Handles of conversations, batches, drafts, messages and units, and the callbacks of a conversation.
**
** User values of a conversation: 1 the caller's functions {counter, clock, on_limit}, 2 the
** Callbacks, both shared by forks; 3 the library's state of this conversation, or nil. Of a
** batch or draft: 1 its conversation; of a draft: 2 the table `memory`, 3 the first refusal.
*/
#ifndef EBB_BIND_HANDLE_H
#define EBB_BIND_HANDLE_H

#include "bind/type.h"
#include "core/draft/draft.h"
#include "document/document.h"

extern const BindType BIND_CONVERSATION, BIND_BATCH, BIND_DRAFT, BIND_MESSAGE, BIND_UNIT;

/* ---- userdata that name a message or unit: a seq, and as first user value the owner, in whose list it is ---- */

typedef struct MessageHandle {
  MessageId id;
  uint32_t hint;             /* its position when the handle was pushed */
} MessageHandle;

typedef struct UnitHandle {
  MessageId first;
} UnitHandle;

/* Pushes a message of the owner at stack index `owner`; `hint`: its position, if known. */
void  bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint);
void  bind_set_message(lua_State *L, int index, MessageId id);   /* sets the id of a pushed message */
MessageId bind_check_message(lua_State *L, int index);           /* the id of the message at index; raises */
/* Pushes the unit of the owner at `owner` whose first message is `first`. */
void  bind_push_unit(lua_State *L, int owner, MessageId first);

/* ---- conversations, batches and drafts ---- */

/* Where the callbacks of a conversation run, and their time; shared by its forks. */
typedef struct Callbacks {
  lua_State *L;
  int self;                  /* stack index of the conversation that is being called */
  int64_t now;               /* of the running edit, ms */
  bool has_clock, has_counter;
  bool busy;                 /* a callback runs: edits are refused */
  lua_Integer sources;       /* number of the newest content function of a window (window.c) */
  int failed;                /* after STATUS_HOST: stack index of the error that a callback raised */
  Conversation *sole;        /* while a transaction runs: its branch, which alone may be edited */
} Callbacks;

typedef struct ConversationHandle ConversationHandle;

/* How a sandbox edits a conversation that it borrows: callbacks run in the state that owns the
   conversation. */
typedef struct Borrowing {
  ConversationHandle *(*enter)(lua_State *L, ConversationHandle *handle);   /* as bind_enter */
  int (*raise)(lua_State *L, ConversationHandle *handle);                   /* what a callback raised there */
} Borrowing;

struct ConversationHandle {
  Conversation *conversation;
  const Borrowing *borrowing;   /* NULL: this state owns it */
  Document document;
  Envelope *envelope;        /* owns the document's texts; NULL: they are static. Forks share it */
  DocumentWarnings warnings;
  Callbacks *callbacks;      /* user value 2; functions in user value 1 */
  uint64_t limit;
  bool has_limit;
  bool saved;                /* read as a saved conversation (bind/state.h), and written so */
  bool is_tail;              /* of a session, whose other messages were not read (bind/storage_tail.c) */
  uint32_t hidden;           /* messages of its batch 0 that stand before the tail */
  bool limit_reported;       /* on_limit was called, and the conversation is still over the limit */
};

typedef struct BatchHandle {
  Sequence *list;
  Units *units;
  uint64_t removals;         /* conversation_removals when the conversation was last known to have all its messages */
} BatchHandle;

typedef struct DraftHandle {
  Draft *draft;
  bool borrowed;             /* as its conversation */
  uint32_t refused;          /* number of refused edits */
} DraftHandle;

/* Ends the draft of a handle; also what the collector calls. */
void  bind_end_draft(void *handle);

#define BIND_FUNCTIONS 1
#define BIND_CALLBACKS 2
#define BIND_STATE     3
#define DRAFT_REFUSAL  3

ConversationHandle *bind_check_conversation(lua_State *L, int index);
/* Begins an edit of the conversation at index: raises in finalizers and during callbacks, and reads the caller's clock.
   The conversation stays at its stack index until the edit ends, where callbacks find it. */
ConversationHandle *bind_enter(lua_State *L, int index);
/* Pushes the table in which the Lua library keeps its state of a conversation. */
void  bind_push_state(lua_State *L, int conversation);
/* Reads the caller's clock before anything has happened, because it may raise. */
void  bind_ask_clock(lua_State *L, int conversation, Callbacks *callbacks);
Clock bind_clock(Callbacks *callbacks);      /* the caller's, or the system's */
/* Calls a C function that runs a callback, with `arguments` from the stack; it leaves 1 result. Functions of the core
   are on the C stack, and no error may jump over them, not even Lua's own for want of memory. So the call is
   protected, and arguments that need memory are created in the function. false: return STATUS_HOST to the core. */
bool  bind_call_back(lua_State *L, Callbacks *callbacks, lua_CFunction function, int arguments);
/* Raises the status of a failed edit, or for STATUS_HOST the callback's own error. */
int   bind_raise_edit(lua_State *L, int conversation, Status status, const char *what);

/* The batch that the value at index names by its number or by a checkpoint, which also has a length; raises. */
uint32_t bind_batch_argument(lua_State *L, ConversationHandle *handle, int index, bool *has_length, uint32_t *length);
/* Messages that stand before the first one of the current list. */
uint32_t bind_hidden(const ConversationHandle *handle);
/* Pushes the number of the current batch, the result of edits; returns 1. */
int   bind_push_batch(lua_State *L, const ConversationHandle *handle);
/* The tokens of a request with the visible messages, calibrated. */
uint64_t bind_request_tokens(const Conversation *conversation);
bool  bind_is_over_limit(const ConversationHandle *handle);      /* false without a limit */
/* Calls the caller's on_limit if the conversation is over its limit and was not at the last call. */
void  bind_check_limit(lua_State *L, int conversation);

#endif
