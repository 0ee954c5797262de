/*
** Handles of conversations, batches and drafts, and the callbacks of a conversation.
**
** User values of a conversation: 1 the caller's functions {counter, clock, on_limit}, 2 the
** Callbacks, both shared by forks; 3 the library's state of this conversation, or nil. Of a
** batch or draft: 1 its conversation; of a draft: 2 the table `memory`, 3 the first refusal.
*/
#ifndef EBB_BIND_HANDLE_H
#define EBB_BIND_HANDLE_H

#include "bind/type.h"
#include "core/draft.h"
#include "format/document.h"

extern const BindType BIND_CONVERSATION, BIND_BATCH, BIND_DRAFT;

/* What the conversations of one store share: where callbacks run, and their time. */
typedef struct Callbacks {
  lua_State *L;
  int self;                  /* stack index of the conversation whose call this is */
  int64_t now;
  bool has_clock, has_counter;
  bool busy;                 /* a callback runs: edits are refused */
  lua_Integer sources;       /* tables of windows' functions that were ever noted (window.c) */
  int failed;                /* after STATUS_HOST: stack index of what a callback raised */
  Conversation *sole;        /* while a transaction runs: its branch, which alone may be edited */
} Callbacks;

typedef struct ConversationHandle ConversationHandle;

/* How a sandbox edits a conversation that it borrows: callbacks run in the state that
   owns all of the conversation. */
typedef struct Borrowing {
  ConversationHandle *(*enter)(lua_State *L, ConversationHandle *handle);   /* as bind_enter */
  int (*raise)(lua_State *L, ConversationHandle *handle);                   /* what a callback raised there */
} Borrowing;

struct ConversationHandle {
  Conversation *conversation;
  const Borrowing *borrowing;   /* NULL: this state owns it */
  Document document;
  Envelope *envelope;        /* holds its texts; NULL: they are static. Forks share it */
  DocumentWarnings warnings;
  Callbacks *callbacks;      /* user value 2; functions in user value 1 */
  uint64_t limit;
  bool has_limit, limit_reported;      /* told: on_limit was called and it is over still */
};

typedef struct BatchHandle {
  Sequence *list;
  Units *units;
} BatchHandle;

typedef struct DraftHandle {
  Draft *draft;
  bool borrowed;             /* as its conversation */
  uint32_t refused;          /* edits that it answered with false */
} DraftHandle;

#define BIND_FUNCTIONS 1
#define BIND_CALLBACKS 2
#define BIND_STATE     3
#define DRAFT_REFUSAL  3

ConversationHandle *bind_check_conversation(lua_State *L, int index);
/* Before an edit: refuses during callbacks, asks the clock. The conversation
   stays at its place of the stack until the edit is done: callbacks find it there. */
ConversationHandle *bind_enter(lua_State *L, int index);
/* Pushes the table of what the library keeps beside a conversation. */
void  bind_push_state(lua_State *L, int conversation);
/* Asks the caller's clock before anything has happened, so that it may raise. */
void  bind_ask_clock(lua_State *L, int conversation, Callbacks *callbacks);
Clock bind_clock(Callbacks *callbacks);      /* the caller's, or the system's */
/* Calls a C function that runs a callback, with `arguments` from the stack; 1
   result. The core stands below and nothing may jump over it, not even Lua's own
   error that memory ran out: so all of it is protected, and what makes the
   arguments belongs into the function. false: answer STATUS_HOST to the core. */
bool  bind_call_back(lua_State *L, Callbacks *callbacks, lua_CFunction function, int arguments);
/* After an edit that failed: raises its status, or the callback's own error. */
int   bind_raise_edit(lua_State *L, int conversation, Status status, const char *what);

/* A batch by number or by checkpoint name. */
uint32_t bind_batch_argument(lua_State *L, ConversationHandle *handle, int index, bool *has_length, uint32_t *length);
/* Pushes the number of the current batch, which edits answer; returns 1. */
int   bind_push_batch(lua_State *L, const ConversationHandle *handle);
/* What a request with the present messages counts for: calibrated. */
uint64_t bind_request_tokens(const Conversation *conversation);
bool  bind_is_over_limit(const ConversationHandle *handle);
/* Calls the caller's on_limit if the conversation has come over its limit. */
void  bind_check_limit(lua_State *L, int conversation);

#endif
