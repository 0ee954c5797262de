/*
** What the files of this layer share: the state of a sandbox, and how its libraries
** reach the guard.
**
**              charge                        look                       fall
**   hook ----------------+
**   allocator (arms it) -+-> credit < 0 --> fuel? deadline? cancelled? --> killed: to the landing
**   C functions ---------+                  slice over? ----------------> the hook yields
**
** The hook charges instructions by cells: so many of one thread as `cell` says, the same ones
** in each run. Where instructions are dear, hooks within a cell look at the clock, and charge
** nothing: no clock decides what a script pays. Only where a slice ends by its time within a C
** function, a new cell begins there, and up to HOOK_INSTRUCTIONS are not charged.
**
** Charging counts `credit` down. When it is used up, every LOOK units, the guard looks:
** it reads the clock and compares the limits, which would be too expensive for each
** charge. Once `killed` is set it stays until the host's call has returned, and none of
** the script's functions runs again: the guard jumps to where the host's call waits
** (landing.c), and nothing between is unwound.
**
** The sandbox is found from any thread as the user value of its allocator, so a function
** that runs in a state without a sandbox finds none.
*/
#ifndef EBB_SANDBOX_SANDBOX_STATE_H
#define EBB_SANDBOX_SANDBOX_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>

#include "os/os.h"
#include "sandbox/guard.h"
#include "sandbox/match.h"
#include "sandbox/owner.h"
#include "sandbox/number.h"
#include "sandbox/sandbox.h"

#define LOOK              2000   /* units between two looks at the clock: some 10 us */
#define HOOK_INSTRUCTIONS 500    /* VM instructions between two calls of the hook, at most */
#define LATE_MS           10     /* of processor time that what cannot be interrupted may go on after its slice */
#define CLOSE_DEPTH       64     /* nested calls of coroutine.close; Lua 5.4.4 overflows its C stack beyond */
#define RANGE_MAX         10000000   /* elements that one function of `table` may walk over */
#define VALUES_MAX        100000     /* results of one call: `...` copies them all in one instruction */
#define SORT_MAX          100000     /* elements: a comparison function cannot be sliced */
#define PACK_FORMAT_MAX   65536      /* bytes of a format of string.pack */
#define FUNCTION_ROOM     96                   /* of the library, without upvalues */
#define PRINT_MAX         ((size_t)1 << 20)   /* bytes that a call or task prints */
#define MODULE_NAME_MAX   120
#define MESSAGE_MAX       1024   /* bytes of the words of a failure, with the NUL */
#define STRING_CLASSES    48     /* powers of two by which strings and hash parts are counted */

/* A function of the unusual case, which stays out of the code of its callers: a matcher with it among its own
   instructions takes a fifth longer. */
#define COLD __attribute__((noinline, cold))

/* The guards, which tests switch off one by one to see that each is needed. */
typedef enum Guard {
  GUARD_MATCH = 1 << 0,      /* fuel within pattern matching */
  GUARD_RANGE = 1 << 1,      /* caps and charges of C loops */
  GUARD_THREAD = 1 << 2,     /* the hook in every coroutine */
  GUARD_LANDING = 1 << 3,    /* a stopped script is not unwound: no pcall, handler or __close sees it */
  GUARD_CATCH = 1 << 4,      /* caught errors cost by the depth of the stack */
  GUARD_FINALIZER = 1 << 5,  /* no __gc */
  GUARD_LATE = 1 << 6,       /* what cannot yield ends soon after its slice */
  GUARD_FAILURE = 1 << 7,    /* failed allocations cost */
  GUARD_BYTES = 1 << 8,      /* bytes cost */
  GUARD_LONG = 1 << 9,       /* long strings make the hook come sooner */
  GUARD_BLOCK = 1 << 10,     /* the biggest block */
  GUARD_COLLECT = 1 << 11,   /* collectgarbage counts only */
  GUARD_TEXT = 1 << 12,      /* no bytecode */
  GUARD_META = 1 << 13,      /* locked metatables */
  GUARD_DEPTH = 1 << 14,     /* of close */
  GUARD_PARSE = 1 << 15,     /* what makes the parser quadratic */
  GUARD_CONVERT = 1 << 16,   /* error objects are not asked for their text */
  GUARD_ORDER = 1 << 17,     /* pairs in order */
  GUARD_GROWTH = 1 << 18,    /* how far tables grow */
  GUARD_EXTRA = 1 << 19,     /* arguments that `...` copies are charged */
  GUARD_WEAK = 1 << 20,      /* no weak keys */
  GUARD_PRINT = 1 << 21,     /* how much is printed */
  GUARD_DEAR = 1 << 22,      /* dear instructions make the hook come sooner */
  GUARD_DENSE = 1 << 23,     /* how many NULs a text has */
  GUARD_FULL = 1 << 24       /* collecting in slices where memory is full */
} Guard;

#ifdef SANDBOX_SWITCHES
#define holds(sandbox, guard) (((sandbox)->config.off & (unsigned)(guard)) == 0)
#else
#define holds(sandbox, guard) ((void)sizeof(sandbox), true)   /* asks nothing */
#endif

/* Why a coroutine yields to the host: what it passes outward through the coroutines around it. */
typedef enum Passing { PASS_NONE, PASS_SLICE, PASS_REQUEST } Passing;

/* The guard's note on a thread, in the thread's extra space. A new thread's is cleared. */
typedef struct ThreadNote {
  uint16_t flags;
  uint16_t cell;             /* instructions of the running cell; 0: the thread has not run */
  uint16_t left;             /* of the cell, those behind the next hook */
} ThreadNote;

_Static_assert(sizeof(ThreadNote) <= LUA_EXTRASPACE, "Lua keeps so much for each thread");

/* Flags of a thread. */
#define THREAD_HOST 1        /* the main thread or a task's: no script may resume it */
#define THREAD_HELD 2        /* it passed a yield outward: it counts as running until it continues */

#define UNIT_PER_US 200      /* fuel */

/* Microseconds that work without fuel may take: the deadline, or the time of the fuel; 0: no limit. */
static inline uint64_t limits_time(const SandboxLimits *limits) {
  return limits->microseconds != 0 ? limits->microseconds : limits->fuel / UNIT_PER_US;
}

/* Where a stopped script comes down (landing.c). */
typedef struct Landing {
  jmp_buf place;
  struct Landing *outer;
  int barred;                /* as in Sandbox, before */
} Landing;

/* A few KB that are kept for calling finalizers when memory fails (guard_memory.c). */
enum { RESERVE_BYTES = 8192 };

typedef struct Reserve {
  char *bytes;               /* RESERVE_BYTES of them; NULL: not opened */
  size_t used;               /* up to here they were handed out */
  size_t blocks;             /* that have not come back */
} Reserve;

/* What stands before big blocks (guard_memory.c). */
typedef struct BlockHead {
  int kind;                  /* of Lua's types, or a hash part */
  uint32_t size;             /* of a text whose NULs are not counted yet, as `next` */
  struct BlockHead *next;
} BlockHead;

_Static_assert(sizeof(BlockHead) == 16, "what stands behind it is aligned as malloc aligns");

struct Sandbox {
  lua_State *L;
  lua_State *runner;         /* thread that calls run on, while none runs; NULL: the next call makes one */
  Memory memory;
  size_t memory_limit, block_limit, memory_used;
  size_t memory_soft;        /* above it the next instruction collects */
  int cycles_due;            /* of the collector, because of that; 0: none */
  char *strings_part;        /* Lua's table of short strings */
  Reserve reserve;           /* for calling finalizers */
  size_t borrowed;           /* part of memory_used: bytes outside of the state, until the call is over */
  size_t refused_size;       /* of the block that was refused last */
  bool refused_growth;       /* it was a table that would take too long to grow */
  bool refused_deep;         /* calls were nested so deeply that it was their stack, most likely */
  struct {
    char *block;
    size_t size;
  } last_userdata;           /* the block that was made last for one */
  OwnerBoxes boxes;          /* how those of buffers lie (owner.h) */
  bool gives_up;             /* Lua has given up a finalizer: boxes that go may have a block that was not freed */
  bool reached_memory;       /* in this call the limit refused a block, not the host's allocator */
  SandboxConfig config;
  atomic_bool cancelled;

  lua_State *current;        /* the running thread; NULL: the host runs */
  SandboxLimits limits, used;   /* of the running call or task */
  SandboxLimits last_used;      /* by the call or task that ran last */
  int64_t credit, granted;   /* units until the next look, now and at the last one */
  int64_t started;           /* when this step began, microseconds of guard_now */
  uint64_t used_before;      /* microseconds of the steps before */
  uint64_t slice_fuel, slice_microseconds;   /* where the slice ends, as totals of `used`; 0: nowhere */
  uint64_t late_since;       /* processor time, microseconds, at which the slice was over for some time; 0: it is not */
  SandboxEnd killed;
  Landing *landing;          /* where a stopped script comes down; NULL: none runs */
  bool wide;                 /* the next block may exceed block_limit */
  bool owning;               /* the next userdata is an owner's (owner.h) */
  bool armed;                /* the hook is at every instruction until the next look */
  bool slicing, slice_over;
  Passing passing;
  int barred;                /* C functions on the stack through which no yield can pass outward */
  int closing;               /* nested calls of coroutine.close */
  Task *task;                /* the running one; NULL in a call */
  const atomic_bool *watched;   /* the flag that ends the running task (task_watch); NULL: none */
  Task *tasks;               /* the first of all, linked by `next` */

  int rest;                  /* of the collector, percent, as it was set last; 0: it was not */
  int hook_strings;          /* instructions of a cell: fewer while long strings live */
  int hook_dear;             /* instructions between two hooks, at most: fewer while they are dear */
  bool restarted;            /* a new cell has begun within the hook */
  int64_t looked;            /* when the guard looked last, microseconds of guard_now */
  uint64_t dear_since;       /* processor time, microseconds, of the last look, while looks come late; 0: they do not */
  uint64_t stretch;          /* microseconds between two looks among dear instructions: of the last ones, the most */
  uint32_t strings[STRING_CLASSES];   /* living strings of 2^i bytes and more, from STRING_BIG */
  uint32_t hashes[STRING_CLASSES];    /* living hash parts with room for 2^i keys */
  BlockHead *uncounted;      /* texts that are new, and long enough to have too many NULs */

  MatchSets sets;            /* of %a, %d ... */
  MatchCache cache;
  const char *mode_word;     /* the collector's string for modes (library_kit.c) */
  bool has_modes;            /* a script has set one */
  size_t printed;            /* bytes, by this call or the tasks since one was started; > PRINT_MAX: no more */
  uint64_t turns;            /* calls, steps and functions of the host's that were run: each may change any table */
  uint64_t objects;          /* the last number of an object (number.h) */
  lua_CFunction functions[FUNCTION_ROOM];    /* of the library, without upvalues, in the order of their numbers */
  uint32_t function_count;
  struct Replacing *gsub;    /* state of a string.gsub that may be interrupted, in the registry under this address */
  lua_Integer labels;        /* the last number that tostring used instead of an address */
  Locale outside;            /* the thread's locale before scripts ran in the C locale */
  char message[MESSAGE_MAX];
  char code[64];
};

/* ---- outcome.c ---- */

/* Enter and leave the C locale, in which Lua runs: numbers have a point there, and letters are
   ASCII. Leave takes the result of enter. Neither raises, and nothing between them may. */
Locale sandbox_enter_locale(Sandbox *sandbox);
void   sandbox_leave_locale(Sandbox *sandbox, Locale before);
/* Notes the failure that lies on top of L with `status`, and pops it. LANDING_STOPPED: leaves L as it is. */
SandboxEnd outcome_note(Sandbox *sandbox, lua_State *L, int status);
/* Notes why the script was killed, in L. `late`: milliseconds after its slice; 0: it was not late. */
void  outcome_note_kill(Sandbox *sandbox, lua_State *L, int late);
SandboxEnd outcome_note_text(Sandbox *sandbox, SandboxEnd end, const char *code, const char *text);

/* ---- guard.c ---- */

#define THREAD_NOTE(L)  ((ThreadNote *)lua_getextraspace(L))
#define THREAD_FLAGS(L) (THREAD_NOTE(L)->flags)

/* Notes that thread L is new: it has these flags, and no cell has begun. */
static inline void thread_begin(lua_State *L, uint16_t flags) {
  *THREAD_NOTE(L) = (ThreadNote){.flags = flags};
}

int64_t guard_now(const Sandbox *sandbox);   /* microseconds */
/* Sets the hook of `L`, which is about to run. */
void  guard_enter(Sandbox *sandbox, lua_State *L);
/* The least KB that may be allocated between two cycles of the collector. */
enum { GUARD_REST_KB = 256 };
/* Begin and end a call or step: `used` (NULL: nothing) counts toward the limits. */
void  guard_begin(Sandbox *sandbox, const SandboxLimits *limits, const SandboxLimits *used);
void  guard_end(Sandbox *sandbox);
/* After a landing within C functions that clean up: raises an error, and the script is stopped at its next
   instruction. */
int   guard_fall(lua_State *L);
/* May a script's function that is called here yield, to its coroutine.resume or the host? If not, the caller keeps its
   state on the C stack. */
bool  guard_can_yield(lua_State *L);
/* Can a yield of the guard's pass outward from here to the host? */
bool  guard_can_pass(lua_State *L);
/* guard_charge where nothing may be raised: true when the script is stopped; the caller comes to an end, and charges
   what stops it. */
bool  guard_meter(lua_State *L, uint64_t units);
/* guard_charge for C functions that can be interrupted: true when the slice is over. Then the caller keeps its state in
   Lua values and ends with guard_yield, as with lua_yieldk. */
bool  guard_pause(lua_State *L, uint64_t units);
int   guard_yield(lua_State *L, lua_KContext context, lua_KFunction go_on);
/* Charges a caught error: Lua walks over the whole stack to shrink it. */
void  guard_charge_catch(lua_State *L);
/* Compares the limits at once, whatever credit remains: before work of unknown cost. */
void  guard_look_now(lua_State *L);

/* ---- guard_memory.c ---- */

/* Open and close the reserve. False: no memory. No block may be out at the end. */
bool  reserve_open(Reserve *reserve, const Memory *memory);
void  reserve_close(Reserve *reserve, const Memory *memory);
/* NULL: what is left is too small. Aligned as malloc's blocks are. */
void *reserve_take(Reserve *reserve, size_t size);
bool  reserve_owns(const Reserve *reserve, const void *block);
void  reserve_give_back(Reserve *reserve, const void *block);

/* Begins a cell of `count` instructions in thread L, with the guard's hook, unless such a cell runs there: what the one
   before had not charged is not charged. Safe within the allocator: only numbers change. */
void  guard_begin_cell(Sandbox *sandbox, lua_State *L, lua_Hook hook, int count);
/* The state's allocator; user is the sandbox. */
void *guard_allocate(void *user, void *block, size_t old_size, size_t new_size);
/* Pushes a userdata to which block_limit does not apply; the second one with a word before it (number.h). */
void *guard_block(lua_State *L, size_t size, int user_values);
void *guard_owner_block(lua_State *L, size_t size, int user_values);
/* The same for this layer's own work. */
void *guard_scratch(lua_State *L, size_t size);
/* Lets the next instruction look at the limits. */
void  guard_arm(Sandbox *sandbox);
void  guard_limit_memory(Sandbox *sandbox, size_t bytes);
/* After a whole cycle of the collector: true if what lives is as much as is allowed, which is charged and noted as a
   refused block. */
bool  guard_is_full(Sandbox *sandbox);
/* Notes that all became garbage that a script held which was stopped: a cycle that runs already spares it, so that the
   memory would still look full behind it. */
void  guard_note_garbage(Sandbox *sandbox);
/* True while Lua calls a finalizer, or closes. */
bool  guard_calls_finalizer(const Sandbox *sandbox);

/* How Lua lays out what the allocator knows by its size. */
typedef struct GuardLayout {
  size_t string;             /* bytes of a text's block before and behind its bytes */
  size_t key;                /* of a key and its value in a hash part */
  size_t value;              /* of a value in a list */
} GuardLayout;

/* Measures it, before any script runs. Raises if memory runs out. */
GuardLayout guard_measure_layout(lua_State *L);
/* True if the costs and limits of this layer are meant for such a Lua. */
bool  guard_knows_layout(const GuardLayout *layout);

/* ---- text_cost.c: texts with many NULs ---- */

#define STRING_HEADER ((size_t)24)   /* bytes of Lua's own before those of a text (guard_measure_layout) */

/* Notes a new text in a block of `size` bytes, to be counted at the next instruction, which the caller lets look;
   forgets one that goes. */
void dense_note(Sandbox *sandbox, BlockHead *head, size_t size);
void dense_forget(Sandbox *sandbox, const BlockHead *head);
/* Raises if one of the texts noted has more NULs than SANDBOX_NULS. */
void dense_refuse(Sandbox *sandbox, lua_State *L);

/* ---- landing.c ---- */

#define LANDING_STOPPED (-1)   /* in the place of a status of Lua: the thread may not be touched again */

/* lua_resume of a thread that may be stopped within; sandbox->current is set. LANDING_STOPPED: it was. */
int  landing_resume(Sandbox *sandbox, lua_State *thread, lua_State *from, int arguments, int *results);

/* ---- the libraries: each is opened into the table on top ---- */

typedef struct LibraryFunction {
  const char *name;
  lua_CFunction function;
} LibraryFunction;

/* Pushes a C function without upvalues, and gives it a number. */
void library_push(lua_State *L, lua_CFunction function);
void library_set(lua_State *L, const LibraryFunction *functions);     /* NULL name at the end */
/* As `functions`, but each gets the function of that name in the stock library at
   `stock` as its upvalue. */
void library_wrap(lua_State *L, int stock, const LibraryFunction *functions);
/* Calls the wrapped stock function with the arguments on the stack and returns its results; for functions without
   upvalues. */
int  library_stock(lua_State *L);
/* Replaces the key on top by the value that the one at `table` has there, as lua_gettable. A function of __index may
   yield: then `go_on` goes on with the value on top. NULL: it may not. */
void library_index(lua_State *L, int table, lua_KContext context, lua_KFunction go_on);
/* Pushes the text of the value at index as tostring does, without addresses. */
const char *library_text(lua_State *L, int index, size_t *size);

/* luaL_checklstring, luaL_checkinteger and luaL_optinteger, in one call where the
   argument is what it should be: three of them take as long as a short search. */
static inline const char *library_string_at(lua_State *L, int index, size_t *size) {
  const char *text = lua_tolstring(L, index, size);
  return text != NULL ? text : luaL_checklstring(L, index, size);
}

static inline lua_Integer library_integer_at(lua_State *L, int index) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  return is_integer ? value : luaL_checkinteger(L, index);
}

static inline lua_Integer library_integer_or(lua_State *L, int index, lua_Integer otherwise) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  return is_integer ? value : luaL_optinteger(L, index, otherwise);
}

void library_open(lua_State *L);             /* opens all into the globals */
void library_basic(lua_State *L);
void library_printer(lua_State *L);          /* printer, for the library's own globals on top */
void library_metatable(lua_State *L);        /* getmetatable, setmetatable */
/* Sets setmetatable in the globals on top; `own`: for the library's own code, which may have weak keys. */
void library_setmetatable(lua_State *L, bool own);
void library_order(lua_State *L);            /* next, pairs */
/* load, require: of the globals on top, which their chunks get. modules: as of sandbox_push_globals. */
void library_load(lua_State *L, int modules);
void library_loaded(lua_State *L);           /* makes the globals on top the modules that luaL_requiref finds */
void library_coroutine(lua_State *L);
void library_match(lua_State *L);            /* find, match, gmatch, gsub */
void library_string(lua_State *L, int stock);
void library_string_meta(lua_State *L);      /* pushes the metatable of strings; the library is on top */
void library_table(lua_State *L);
void library_sort(lua_State *L);

/* ---- library_kit.c ---- */

/* Takes "__mode" from the collector, before a script has run. Raises. */
void mode_open(lua_State *L);
/* Sets the mode that the collector reads in the metatable on top; NULL: none. */
void mode_set(lua_State *L, const char *mode);

/* ---- parsing (library_load.c) ---- */

/* As luaL_loadbufferx with mode "t", with caps; pushes the chunk or a message. */
int  load_text(lua_State *L, const char *text, size_t size, const char *name, const char *mode);

/* ---- text_cost.c: sources ---- */

#define PARSE_JUMPS_MAX 5000                /* 35 ms */
#define PARSE_LOOKS_MAX (UINT64_C(50) << 20)   /* 1 ns each */

typedef struct ParseCost {
  uint64_t jumps;            /* words that jump, and labels */
  uint64_t looks;            /* upper bound of comparisons of names; counting stops above the maximum */
} ParseCost;

/* Estimates the work of Lua's parser for a text that grows faster than its bytes. */
ParseCost parse_cost(const char *text, size_t size);

/* ---- tasks (task.c) ---- */

int  library_request(lua_State *L);
void task_free_all(Sandbox *sandbox);        /* before the state is closed */

#endif
