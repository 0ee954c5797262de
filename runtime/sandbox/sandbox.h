/*
** Sandbox: a lua_State with limits, for scripts that the host does not trust.
**
**     host:   sandbox_new -> sandbox_load -> sandbox_call        to the end
**                                         -> task_start          in slices:
**             task_step -> READY | REQUEST | DONE | FAILED
**
** A script reaches the guarded libraries, what the host puts into the state,
** and nothing else: no file, process, clock, bytecode, address, or metatable of
** a value that others share. At its limits of fuel and time it is stopped: none of its
** functions runs again, be it a handler or __close, however deep it is (landing.c).
**
** Fuel is counted in units of about one VM instruction (5 ns): the VM's own
** instructions by a count hook, the bytes of new objects by the allocator, the rest
** by every C function that a script can call (guard_charge). Fuel repeats from
** run to run, time does not: limit fuel where results must repeat, and set a
** deadline as the safety net.
**
** Threads: one thread at a time uses a sandbox; sandbox_cancel may be called from any.
** Errors: no function here raises, unless its comment says so. They return how the call
** ended, and sandbox_message has the words. A host that uses the lua_State itself does so
** in a function of sandbox_run, because Lua may raise for want of memory. The thread's
** stack should have 2 MiB; 1 MiB is needed.
**
** Not promised: safety from bugs in the Lua VM, and that the cost of one VM instruction
** is bounded. Comparing strings with many NULs, keys that collide, and chains of __index
** cost more than their fuel; the deadline and sandbox_cancel end those. Scripts that mean
** harm belong in a process of their own (host/isolate.c).
**
** Scripts run in the C locale of their thread, whatever the program has set.
**
** Ebb's functions for Lua can be opened in a sandbox (luaopen_ebb_core in a function of
** sandbox_run): they cost fuel there, and those that reach files refuse. A program in Lua
** can run scripts in sandboxes, too, and let them use its drafts: bind/sandbox.c.
*/
#ifndef EBB_SANDBOX_SANDBOX_H
#define EBB_SANDBOX_SANDBOX_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct Sandbox Sandbox;
typedef struct Task Task;

/* For one call, or for a whole task over all of its steps. 0: no limit. */
typedef struct SandboxLimits {
  uint64_t fuel;
  uint64_t microseconds;     /* of running: the time between steps does not count */
} SandboxLimits;

#define SANDBOX_MEMORY   ((size_t)64 << 20)   /* bytes in use */
#define SANDBOX_BLOCK    ((size_t)4 << 20)    /* bytes of one string or table part */
#define SANDBOX_NULS     ((size_t)512 << 10)  /* NUL bytes of one string */
#define SANDBOX_SOURCE   ((size_t)1 << 20)    /* bytes of one chunk of source */
#define SANDBOX_FUEL     UINT64_C(200000000)
#define SANDBOX_DEADLINE UINT64_C(2000000)    /* microseconds */

/* Zero-filled it is a usable config: every absent member has a default. */
typedef struct SandboxConfig {
  Memory memory;             /* allocate == NULL: the system's */
  size_t memory_limit;       /* 0: SANDBOX_MEMORY */
  size_t block_limit;        /* 0: SANDBOX_BLOCK */
  SandboxLimits limits;      /* of calls without limits of their own; 0: SANDBOX_FUEL, SANDBOX_DEADLINE */
  uint64_t seed;             /* of math.random: equal seeds give equal numbers */
  bool deterministic;        /* scripts see nothing of the collector: no memory count, weak values stay */
  void *user;                /* handed to the functions below */
  int64_t (*now)(void *user);                                   /* microseconds, only growing; NULL: the system's */
  /* A line of print without its end, at most 1 MiB in all of a call or task. Control characters in it
     are as the script wrote them. NULL: print does nothing. */
  void (*print)(void *user, const char *line, size_t size);
  /* The text of module `name` for require: STATUS_OK and bytes that stay valid
     until the next call; STATUS_ABSENT: there is no such module. Names hold letters,
     digits, "_", "-" and single dots within, nothing else: no path can be said.
     NULL: require finds nothing. */
  Status (*module)(void *user, const char *name, const char **text, size_t *size);
#ifdef SANDBOX_SWITCHES
  unsigned off;              /* guards that a test switches off: inside.h */
#endif
} SandboxConfig;

/* Creates a sandbox; NULL if memory runs out. */
Sandbox *sandbox_new(const SandboxConfig *config);
void     sandbox_free(Sandbox *sandbox);       /* NULL is allowed; its tasks end with it */
/* The main thread, on whose stack values come and go. */
lua_State *sandbox_state(Sandbox *sandbox);
/* The sandbox of a state, from any of its threads; NULL for a state that no sandbox created. */
Sandbox *sandbox_of(lua_State *L);

typedef enum SandboxEnd {
  SANDBOX_OK = 0,
  SANDBOX_SYNTAX,            /* not Lua, or not as text, or too long */
  SANDBOX_ERROR,             /* the script raised */
  SANDBOX_FUEL_OUT,
  SANDBOX_DEADLINE_OVER,
  SANDBOX_MEMORY_OUT,        /* the limit, or the host's allocator */
  SANDBOX_CANCELLED,
  SANDBOX_BUSY               /* called from within a script of the same sandbox */
} SandboxEnd;

/* "fuel", "deadline", "memory", "cancelled", "syntax", "error", "busy"; NULL for SANDBOX_OK. Static. */
const char *sandbox_end_code(SandboxEnd end);

/* The words of the last failure, with chunk:line where known; for limits with the limit and its
   amount. Never NULL; valid until the next call of this
   sandbox. UTF-8, whatever was raised. Only strings and tables {code, message, hint} are shown in full. */
const char *sandbox_message(const Sandbox *sandbox);
/* The code of the error table that was raised ("guarded"), or that of the end. Same life. */
const char *sandbox_code(const Sandbox *sandbox);
/* Used by the last call, or by the last step's whole task. */
SandboxLimits sandbox_used(const Sandbox *sandbox);
size_t sandbox_memory_used(const Sandbox *sandbox);
/* True if the last call reached its limit of memory; after SANDBOX_MEMORY_OUT false means that the
   host's allocator failed. */
bool sandbox_reached_memory(const Sandbox *sandbox);
/* Describes the allocation that was refused last: beyond the limit, one block, or a table's keys.
   `size`: of `text`; 96 bytes suffice. */
void sandbox_describe_memory(const Sandbox *sandbox, char *text, size_t size);
size_t sandbox_memory_limit(const Sandbox *sandbox);
/* Sets the limit of memory from now on; 0: SANDBOX_MEMORY. Below what is in use every further
   allocation fails. */
void sandbox_limit_memory(Sandbox *sandbox, size_t bytes);

/* Compiles a text, never bytecode; skips a first line that begins with #. Pushes the chunk, or on
   failure nothing. `name` in Lua's form: "@file.lua". SANDBOX_SYNTAX, SANDBOX_MEMORY_OUT,
   SANDBOX_BUSY. */
SandboxEnd sandbox_load(Sandbox *sandbox, const char *text, size_t size, const char *name);

/* Calls the function below `arguments` values; pops all of them, and pushes `results`
   values (or LUA_MULTRET), or on failure nothing. limits == NULL: those of the config.
   Any end but SANDBOX_SYNTAX. */
SandboxEnd sandbox_call(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits);

/* The same, but fuel and time of the last call count, too: several calls share one limit. */
SandboxEnd sandbox_go_on(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits);

/* The host's work on a call's values, during the call or behind its end: SANDBOX_OK while the call has time
   left, by its deadline or, without one, by the time of its fuel; else SANDBOX_DEADLINE_OVER or
   SANDBOX_CANCELLED. Time counts from the begin of the call. */
SandboxEnd sandbox_check_time(const Sandbox *sandbox);
/* Counts the time since the end of the last call toward the limits of the calls that go on from it. */
void sandbox_count_time(Sandbox *sandbox);

/* Runs the host's own C function on the main thread, protected, without fuel or
   deadline (memory stays limited): its argument is `user` as light userdata. Its
   results are dropped, but it may leave values in the registry or in globals.
   SANDBOX_ERROR if it raised, SANDBOX_MEMORY_OUT, SANDBOX_BUSY. */
SandboxEnd sandbox_run(Sandbox *sandbox, lua_CFunction function, void *user);

/* A function of the host that a script calls puts its work between these two, so that it runs in
   the thread's own locale, not in the C locale of scripts. It must not raise in between. */
Locale sandbox_begin_callback(lua_State *L);
void   sandbox_end_callback(Locale inside);

/* Pushes a set of globals for one of several scripts that do not trust each
   other: libraries, load and require of its own, with the values that the state's
   globals have now. `modules`: index of a table of what else require answers, by
   name; 0: nothing. May raise, for want of memory. */
void sandbox_push_globals(lua_State *L, int modules);

/* Stops the running script, and every later one until sandbox_uncancel. From any thread. */
void sandbox_cancel(Sandbox *sandbox);
void sandbox_uncancel(Sandbox *sandbox);

/* Collects garbage for about `microseconds`; true when a cycle was completed. */
bool sandbox_collect(Sandbox *sandbox, uint64_t microseconds);

/* ---- tasks: calls in slices ----
**
** A task is a thread of the sandbox. At the end of a slice the hook yields, and
** our own resume, pcall and metamethods hand that outward through all coroutines
** of the script, which never see it. Functions of the library that call functions of the
** script, or work for long, hand it on too. Where Lua cannot yield (a handler of xpcall,
** __close in coroutine.close, __newindex of table.insert, the parser) the slice ends late, and
** after LATE_MS of processor time the script is stopped.
**
** A script asks its host by request(value): the step answers TASK_REQUEST, and
** the next step goes on with what task_answer gave. Several tasks of one
** sandbox may wait at once. A step from within a script of the same sandbox does
** nothing and answers what the last one did.
*/

typedef enum TaskState {
  TASK_DONE,                 /* its results are pushed on the main thread */
  TASK_READY,                 /* the slice is over */
  TASK_REQUEST,              /* task_request pushes what it wants */
  TASK_FAILED                /* task_end says how, sandbox_message says more */
} TaskState;

/* Creates a task from the function and `arguments` values on the main thread's stack, which it pops
   in any case. limits == NULL: those of the config. SANDBOX_MEMORY_OUT, SANDBOX_BUSY. */
SandboxEnd task_start(Sandbox *sandbox, int arguments, const SandboxLimits *limits, Task **task);

/* Runs for about `microseconds` and at most `fuel` (0: no such bound on this
   slice). *results: how many values TASK_DONE pushed; may be NULL, then they
   are dropped. A task that is done or failed stays so. */
TaskState task_step(Task *task, uint64_t microseconds, uint64_t fuel, int *results);

/* Pushes the value of the open request on the main thread, or nil without one. SANDBOX_MEMORY_OUT. */
SandboxEnd task_request(Task *task);
/* Pops the value on top of the main thread's stack, which becomes the answer to the open request;
   the next step continues the script. SANDBOX_ERROR without an open request. */
SandboxEnd task_answer(Task *task);
/* Refuses the open request: request() raises {code, message} in the script. SANDBOX_ERROR without
   one; SANDBOX_MEMORY_OUT. */
SandboxEnd task_refuse(Task *task, const char *code, const char *message);

/* Replaces the limits of the task; fuel and time that it has used count. */
void task_limit(Task *task, const SandboxLimits *limits);
/* Gives the task a flag that any thread may set: then it ends as by sandbox_cancel, at its next
   step or within the running one. The flag must live as long as the task. */
void task_watch(Task *task, const atomic_bool *cancelled);

SandboxEnd task_end(const Task *task);         /* of a failed task; else SANDBOX_OK */
SandboxLimits task_used(const Task *task);     /* by all of its steps */
/* Ends a task, in any state: no code of its script runs again. NULL is allowed. */
void task_free(Task *task);

#endif
