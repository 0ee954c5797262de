/*
** Marshalling: values that pass into a sandbox and out of it.
**
**     state of the program                  state of the sandbox
**     proxy(draft, options, function)  ->   script's function(borrowed draft, copy, callback)
**                                      <-   results: copies
**
** Values are pushed in one of the two states at a time, in a protected call of that state;
** reading the other state allocates nothing there and cannot raise.
*/
#ifndef EBB_BIND_MARSHAL_H
#define EBB_BIND_MARSHAL_H

#include "bind/handle.h"
#include "sandbox/sandbox.h"

#define MARSHAL_VALUES_MAX 4000000   /* values that leave a sandbox; those of a table count wherever it occurs */
#define MARSHAL_DEPTH_MAX  64        /* of tables in tables */
#define MARSHAL_BYTES_MORE ((size_t)16 << 20)   /* that copies may take beyond what a script leaves of its memory */

/* Places in the program's list of a call; callbacks stand from 1. */
enum { PLACE_DRAFT = 0, PLACE_HOST = -1, PLACE_BOX = -2 };

extern const BindType BIND_SANDBOX;

/* One call into a sandbox, with the parts of the program that the sandbox may use until it ends. */
typedef struct SandboxCall {
  Borrowing borrowing;       /* first: the borrowed conversation's handle points here */
  lua_State *program;        /* runs an Ebb C function, whose frame stays as it is */
  int base;                  /* top of that frame */
  int conversation;          /* stack index in it of the draft's conversation; 0: no draft is passed */
  DraftHandle *draft;        /* the program's draft; NULL: no argument is one */
  DraftHandle *borrowed_draft;              /* the sandbox's handles of draft and conversation; NULL until passed */
  ConversationHandle *borrowed_conversation;
  lua_Integer callbacks;     /* number of functions passed in as callbacks */
  uint64_t number;           /* of the call; callbacks of earlier calls refuse */
} SandboxCall;

typedef struct SandboxHandle SandboxHandle;

struct SandboxHandle {
  Sandbox *sandbox;
  SandboxCall *call;         /* the running call, or NULL */
  /* Runs the entry or proxy at 2 in the sandbox at 1, with the arguments after it. */
  int (*enter)(lua_State *L, SandboxHandle *sandbox);
  lua_CFunction open_core;   /* opens Ebb's library in it: luaopen_ebb_core */
  uint64_t calls;
  SandboxLimits limits;
  bool goes_on;              /* the next call counts toward the limits of the last one */
  lua_Hook program_hook;     /* the program's hook before the call */
};

typedef struct Marshal {
  lua_State *from, *to;
  SandboxHandle *sandbox;    /* NULL: no borrowed draft, no callbacks, no proxies */
  bool inward;               /* `to` is the sandbox's state */
  bool arguments;            /* inward: the values are arguments of a call, whose functions become callbacks */
  uint32_t values;           /* so far; outward those of a table count wherever it occurs */
  size_t bytes, bytes_max;   /* outward: memory of the copies, counted in the same way, and its limit; 0: not yet set */
  uint32_t steps;            /* copies since the last look at the clock; those of long texts count by their bytes */
  int deepest;               /* outward: levels of the tables around and in the current one */
  int copies;                /* outward: index in `to` of a table with the copies of tables by their numbers, the
                                numbers by the tables' addresses, and the copies of long texts by theirs; nil until
                                there is one. 0: nothing is noted */
  struct Copied *copied;     /* their sizes by number, in the userdata above `copies` */
  uint32_t tables, copied_room;
} Marshal;

/* Key of the sandbox's registry: {function = place, function, function ...}, the
   script's functions that may leave. */
extern const char BIND_SCRIPT_FUNCTIONS;

/* Pushes on `to` the counterpart of the value at `index` of `from`: marshal.c has the table of types. Raises in `to`
   for values without a counterpart. */
void  bind_marshal(Marshal *marshal, int index);
/* Pushes on `to` two places for what bind_marshal keeps of tables that leave a sandbox: they must stay
   where they are while it copies. A table or long text is copied once, wherever it occurs. */
void  bind_marshal_open(Marshal *marshal);
/* Raises in L the error on top of the other state, where it stays. */
int   bind_raise_from(lua_State *L, lua_State *other);
bool  bind_is_proxy(lua_State *L, int index);
/* Key of the program's registry: its hint how limits are raised. */
extern const char BIND_LIMIT_HINT;
/* Pushes that hint; NULL: the program has set none. */
const char *bind_push_limit_hint(lua_State *L);
/* Pushes the function host(what, word) of the sandbox's creation, valid in every call. */
void  bind_push_host(lua_State *L, SandboxHandle *sandbox);

/* ---- sandbox_call.c ---- */

/* Begins a call of the sandbox at 1 with the arguments from `first` to the top. May
   raise; then no call has begun. */
void  bind_begin_call(lua_State *L, SandboxCall *call, SandboxHandle *sandbox, int first);
/* Copies the first results on the sandbox's stack to L's and ends the call.
   LUA_OK, or a status with the error on top of L. */
int   bind_end_call(lua_State *L, SandboxHandle *sandbox, int results);

#endif
