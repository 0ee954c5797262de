/*
** Values that pass into a sandbox and out of it.
**
**     state of the program                  state of the sandbox
**     proxy(draft, options, function)  ->   script's function(borrowed draft, copy, callback)
**                                      <-   results: copies
**
** Only one of the two states is written to at a time, within a protected call of
** its own; what is read of the other needs no memory there and cannot raise.
*/
#ifndef EBB_BIND_MARSHAL_H
#define EBB_BIND_MARSHAL_H

#include "bind/handle.h"
#include "sandbox/sandbox.h"

#define MARSHAL_VALUES_MAX 4000000   /* out of a sandbox: a small table may stand for many */
#define MARSHAL_DEPTH_MAX  64        /* of tables in tables */

extern const BindType BIND_SANDBOX;

/* One call into a sandbox, and what the sandbox may use of the program until it ends. */
typedef struct SandboxCall {
  Borrowing borrowing;       /* first: the borrowed conversation's handle points here */
  lua_State *program;        /* runs an Ebb C function, whose frame stays as it is */
  int base;                  /* top of that frame */
  int conversation;          /* where the draft's conversation stands there; 0: there is no draft */
  DraftHandle *draft;        /* the program's; NULL: there is none among the arguments */
  DraftHandle *borrowed_draft;              /* the sandbox's, and that of its conversation; NULL: it has not entered */
  ConversationHandle *borrowed_conversation;
  lua_Integer callbacks;     /* so many have entered */
  uint64_t number;           /* of the call: callbacks of earlier ones have ended */
} SandboxCall;

typedef struct SandboxHandle SandboxHandle;

struct SandboxHandle {
  Sandbox *sandbox;
  SandboxCall *call;         /* NULL: nothing runs in it */
  /* Runs the entry or proxy at 2 in the sandbox at 1, with the arguments behind it. */
  int (*enter)(lua_State *L, SandboxHandle *sandbox);
  lua_CFunction open_core;   /* opens Ebb's library in it: luaopen_ebb_core */
  uint64_t calls;
  SandboxLimits limits;
  bool goes_on;              /* the next call counts toward the limits of the last one */
  lua_Hook program_hook;     /* as the call found it */
};

typedef struct Marshal {
  lua_State *from, *to;
  SandboxHandle *sandbox;    /* NULL: no borrowed draft, no callbacks, no proxies */
  bool inward;               /* `to` is the sandbox's */
  bool arguments;            /* inward: of a call, whose functions are listed */
  uint32_t values;           /* so far */
  size_t bytes, bytes_max;
} Marshal;

/* Key of the sandbox's registry: {function = place, function, function ...}, the
   script's functions that may leave. */
extern const char BIND_SCRIPT_FUNCTIONS;

/* Pushes on `to` what the value at `index` of `from` is there: marshal.c has the table.
   Raises in `to` for what cannot enter or leave. */
void  bind_marshal(Marshal *marshal, int index);
/* Raises in L what lies on top of the other state; it stays there. */
int   bind_raise_from(lua_State *L, lua_State *other);
bool  bind_is_proxy(lua_State *L, int index);
/* Pushes host(what, word): the function that the sandbox was made with, valid in every call. */
void  bind_push_host(lua_State *L, SandboxHandle *sandbox);
/* Begins a call of the sandbox at 1 with the arguments from `first` to the top. May
   raise; then no call has begun. */
void  bind_begin_call(lua_State *L, SandboxCall *call, SandboxHandle *sandbox, int first);
/* Copies the first results on the sandbox's stack to L's and ends the call.
   LUA_OK, or a status with the error on top of L. */
int   bind_end_call(lua_State *L, SandboxHandle *sandbox, int results);

#endif
