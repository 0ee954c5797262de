/*
** Sandbox: a lua_State with limits, for scripts of strangers.
**
**     host:   sandbox_new -> sandbox_load -> sandbox_call        to the end
**                                         -> task_start          in slices:
**             task_step -> READY | REQUEST | DONE | FAILED
**
** A script reaches the guarded libraries, what the host puts into the state,
** and nothing else: no file, process, clock, bytecode, address, or metatable of
** a value that others share. It stops within its fuel, its deadline and its
** memory; whatever it catches, it cannot catch that.
**
** Fuel is counted in units of about one VM instruction (5 ns): the VM's own
** instructions by a count hook, the bytes of new objects by the allocator, the rest
** by every C function that a script can call (guard_charge). Fuel repeats from
** run to run, time does not: give fuel where results must repeat, and a
** deadline as the safety net.
**
** Who may call: one thread at a time; sandbox_cancel alone from any thread.
** Functions here are protected themselves, they never raise. What a host does
** to the lua_State itself may raise (for want of memory) and belongs into
** sandbox_run. The C stack needs 1 MiB (say 2).
**
** Not promised: safety from bugs in the Lua VM, and that what one of its
** instructions does at worst fits into the fuel of one: strings of megabytes that
** are compared, keys that fall into one chain, chains of __index. The deadline
** ends those, and sandbox_cancel. Neither ends a step of the collector, and a
** chain of weak keys (__mode "k") takes that the square of its length: 60,000 of
** them, 10 s. For scripts that mean harm there are processes (host/isolate.c).
**
** Scripts run in the C locale of their thread, whatever the program has set.
**
** The binding opens in a sandbox (luaopen_ebb_core within sandbox_run): its
** functions are charged there, and those that reach files refuse. The other way
** round, a program's Lua runs scripts of strangers in sandboxes of its own and
** lends them its drafts: bind/sandbox.c.
*/
#ifndef EBB_SANDBOX_SANDBOX_H
#define EBB_SANDBOX_SANDBOX_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/locale.h"
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
#define SANDBOX_SOURCE   ((size_t)1 << 20)    /* bytes of one chunk of source */
#define SANDBOX_FUEL     UINT64_C(200000000)
#define SANDBOX_DEADLINE UINT64_C(2000000)    /* microseconds */

/* Zero-filled it is a usable config: every absent member has a default. */
typedef struct SandboxConfig {
  Memory memory;             /* allocate == NULL: the system's */
  size_t memory_limit;       /* 0: SANDBOX_MEMORY */
  size_t block_limit;        /* 0: SANDBOX_BLOCK */
  SandboxLimits limits;      /* of calls that bring none; 0: SANDBOX_FUEL, SANDBOX_DEADLINE */
  uint64_t seed;             /* of math.random: the same seed, the same numbers */
  void *user;                /* handed to the functions below */
  int64_t (*now)(void *user);                                   /* microseconds, only growing; NULL: the system's */
  void (*print)(void *user, const char *line, size_t size);     /* a line without its end; NULL: print does nothing */
  /* The text of module `name` for require: STATUS_OK and bytes that stay valid
     until the next call; STATUS_ABSENT: there is no such module. Names hold letters,
     digits, "_", "-" and single dots within, nothing else: no path can be said.
     NULL: require finds nothing. */
  Status (*module)(void *user, const char *name, const char **text, size_t *size);
#ifdef SANDBOX_SWITCHES
  unsigned off;              /* guards that a test switches off: inside.h */
#endif
} SandboxConfig;

/* NULL for want of memory. */
Sandbox *sandbox_new(const SandboxConfig *config);
void     sandbox_free(Sandbox *sandbox);       /* NULL is allowed; its tasks end with it */
/* The main thread, on whose stack values come and go. */
lua_State *sandbox_state(Sandbox *sandbox);
/* The sandbox of a state, from any of its threads; NULL for a state that another made. */
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

/* What went wrong last, with chunk:line where there is one: for limits also which,
   and how much was allowed. Never NULL; valid until the next call of this
   sandbox. UTF-8, whatever was raised. Only strings and tables {code, message, hint} are shown in full. */
const char *sandbox_message(const Sandbox *sandbox);
/* The code of the error table that was raised ("guarded"), or that of the end. Same life. */
const char *sandbox_code(const Sandbox *sandbox);
/* Used by the last call, or by the last step's whole task. */
SandboxLimits sandbox_used(const Sandbox *sandbox);
size_t sandbox_memory_used(const Sandbox *sandbox);
/* Did the last call run into its limit of memory? Else it is the host's that ran out. */
bool sandbox_reached_memory(const Sandbox *sandbox);
/* What was refused last: all of it, one block, a table's keys. 96 bytes will do. */
void sandbox_describe_memory(const Sandbox *sandbox, char *text, size_t size);
size_t sandbox_memory_limit(const Sandbox *sandbox);
/* From now on; 0: SANDBOX_MEMORY. Less than is in use: nothing more is given. */
void sandbox_limit_memory(Sandbox *sandbox, size_t bytes);

/* Text, never bytecode; a first line that begins with # is skipped. Pushes the
   chunk; when it fails it pushes nothing. `name` as Lua wants it: "@file.lua". */
SandboxEnd sandbox_load(Sandbox *sandbox, const char *text, size_t size, const char *name);

/* Calls the function below `arguments` values; they are popped, and `results`
   values (or LUA_MULTRET) pushed; nothing is pushed on failure. limits == NULL:
   those of the config. */
SandboxEnd sandbox_call(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits);

/* The same, but what the last call used counts too: several calls within one limit. */
SandboxEnd sandbox_go_on(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits);

/* Runs the host's own C function on the main thread, protected, without fuel or
   deadline (memory stays limited): its argument is `user` as light userdata. Its
   results are dropped, but it may leave values in the registry or in globals. */
SandboxEnd sandbox_run(Sandbox *sandbox, lua_CFunction function, void *user);

/* Around a function of the host's that a script calls: it sees the locale of its
   own thread, scripts that of C. The function must return, not raise. */
Locale sandbox_begin_callback(lua_State *L);
void   sandbox_end_callback(Locale inside);

/* Pushes a set of globals for one of several scripts that do not trust each
   other: libraries, load and require of its own, with the values that the state's
   globals have now. `modules`: index of a table of what else require answers, by
   name; 0: nothing. May raise, for want of memory. */
void sandbox_push_globals(lua_State *L, int modules);

/* Stops what runs, and what runs next until sandbox_uncancel. From any thread. */
void sandbox_cancel(Sandbox *sandbox);
void sandbox_uncancel(Sandbox *sandbox);

/* Collects garbage for about `microseconds`; true when a cycle was completed. */
bool sandbox_collect(Sandbox *sandbox, uint64_t microseconds);

/* ---- tasks: calls in slices ----
**
** A task is a thread of the sandbox. At the end of a slice the hook yields, and
** our own resume, pcall and metamethods hand that outward through all coroutines
** of the script, which never see it. Where Lua cannot yield (a comparison
** function of table.sort, a replacement function of gsub) the slice ends late.
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

/* Takes the function and `arguments` values off the main thread's stack.
   limits == NULL: those of the config. SANDBOX_OK and *task, or a failure. */
SandboxEnd task_start(Sandbox *sandbox, int arguments, const SandboxLimits *limits, Task **task);

/* Runs for about `microseconds` and at most `fuel` (0: no such bound on this
   slice). *results: how many values TASK_DONE pushed; may be NULL, then they
   are dropped. A task that is done or failed stays so. */
TaskState task_step(Task *task, uint64_t microseconds, uint64_t fuel, int *results);

/* Pushes the value of the open request on the main thread. */
SandboxEnd task_request(Task *task);
/* Takes the value on top of the main thread as the answer to the open request. */
SandboxEnd task_answer(Task *task);
/* request() raises {code, message} in the script instead. */
SandboxEnd task_refuse(Task *task, const char *code, const char *message);

/* Other limits from now on; what the task has used counts. */
void task_limit(Task *task, const SandboxLimits *limits);
/* A flag of the host's, which any thread may set: then the task ends as by sandbox_cancel, when
   it is stepped or within the step. It must live as long as the task. */
void task_watch(Task *task, const atomic_bool *cancelled);

SandboxEnd task_end(const Task *task);        /* SANDBOX_OK while it lives and when it is done */
SandboxLimits task_used(const Task *task);
void task_free(Task *task);                    /* NULL is allowed; also in mid-run, nothing of the script runs again */

#endif
