/*
** The guard: the hook, the limits, and what happens when one is reached. What memory costs stands in guard_memory.c.
*/
#include <assert.h>

#include "os/os.h"
#include "sandbox/sandbox_state.h"

#define EXTRA_LEAST    256
#define EXTRA_MAX      (1 << 20)
#define EXTRA_PER_UNIT 16             /* 4 are copied in a unit's time, by each fourth instruction */
#define CHARGE_MAX     ((uint64_t)1 << 40)
#define LATE_INSTRUCTIONS 10          /* between hooks when a slice ends late: few may stand between callbacks */
#define DEAR_LATE      500            /* microseconds between two looks that are too many; 10 is usual */
#define DEAR_USUAL     100            /* as many as there should be where instructions are dear */
#define STRETCH_FADES  32             /* looks after which a long stretch among dear instructions counts a third */
#define RELIEF_STEPS   2              /* of the collector between two looks at the clock: some 20 us each */
#define LATE_FIRST     2000           /* microseconds after a slice, from when on LATE_MS are counted */

static int64_t system_now(void *user) {
  (void)user;
  return clock_monotonic_us();
}

int64_t guard_now(const Sandbox *sandbox) {
  return sandbox->config.now != NULL ? sandbox->config.now(sandbox->config.user) : system_now(NULL);
}

/* ---- killing and falling ---- */

static void hook(lua_State *L, lua_Debug *ar);

static inline int least(int a, int b) { return a < b ? a : b; }

static void settle_time(Sandbox *sandbox) {
  int64_t now = guard_now(sandbox);
  uint64_t spent = now > sandbox->started ? (uint64_t)(now - sandbox->started) : 0;
  sandbox->looked = now;
  sandbox->used.microseconds = sandbox->used_before + spent;
}

static void settle(Sandbox *sandbox) {
  sandbox->used.fuel += (uint64_t)(sandbox->granted - sandbox->credit);
  sandbox->credit = 0;
  sandbox->granted = 0;
  settle_time(sandbox);
}

/* Grants credit until the next look, but not beyond a limit of fuel: so that
   the end by fuel comes at the same unit in each run. */
static void grant(Sandbox *sandbox) {
  uint64_t grant = LOOK;
  uint64_t fuel = sandbox->used.fuel;
  uint64_t ends[2] = {sandbox->limits.fuel, sandbox->slice_over ? 0 : sandbox->slice_fuel};
  for (int i = 0; i < 2; i++) {
    if (ends[i] != 0 && ends[i] >= fuel && ends[i] - fuel < grant) grant = ends[i] - fuel;
  }
  sandbox->credit = sandbox->granted = (int64_t)grant;
}

static bool is_cancelled(const Sandbox *sandbox) {
  return atomic_load_explicit(&sandbox->cancelled, memory_order_relaxed) ||
         (sandbox->watched != NULL && atomic_load_explicit(sandbox->watched, memory_order_relaxed));
}

static SandboxEnd reached(const Sandbox *sandbox) {
  const SandboxLimits *used = &sandbox->used, *limits = &sandbox->limits;
  if (is_cancelled(sandbox)) return SANDBOX_CANCELLED;
  if (limits->fuel != 0 && used->fuel > limits->fuel) return SANDBOX_FUEL_OUT;
  if (limits->microseconds != 0 && used->microseconds > limits->microseconds) return SANDBOX_DEADLINE_OVER;
  return SANDBOX_OK;
}

static COLD void kill_script(Sandbox *sandbox, lua_State *L, SandboxEnd end, bool late) {
  sandbox->killed = end;
  outcome_note_kill(sandbox, L, late ? LATE_MS : 0);
}

/* Has what runs gone on for LATE_MS after its slice? Only processor time counts, which is dear to ask for: a
   busy machine blames no script. */
static COLD bool is_late(Sandbox *sandbox) {
  uint64_t end = sandbox->slice_microseconds;
  if (end == 0 || sandbox->used.microseconds < end + LATE_FIRST || !holds(sandbox, GUARD_LATE)) return false;
  uint64_t now = clock_thread_ns() / 1000;
  if (sandbox->late_since == 0) sandbox->late_since = now;
  return now - sandbox->late_since >= LATE_MS * 1000 - LATE_FIRST;
}

/* Instructions between two hooks, where nothing lets one come sooner. */
static inline int usual_stretch(const Sandbox *sandbox) { return least(sandbox->hook_strings, sandbox->hook_dear); }

/* Some instructions take a thousand times as long as others: a comparison of texts full of NULs, a field that is
   looked up along a chain of __index, a long text that becomes a key. Where two looks in a row came late, and it was
   the processor that had worked so long, hooks come sooner; and from then on after each late one. With each soon look
   half as often again. What a script pays stays the same, for these hooks charge nothing. A deterministic runtime has
   no time to go by. */
static COLD void pace_by_time(Sandbox *sandbox, uint64_t since) {
  uint64_t now = clock_thread_ns() / 1000;
  bool late = since >= DEAR_LATE, worked = sandbox->dear_since != 0 && now - sandbox->dear_since >= since / 2;
  if (late && worked) {
    uint64_t count = (uint64_t)usual_stretch(sandbox) * DEAR_USUAL / since;
    sandbox->hook_dear = count > 0 ? (int)count : 1;
  } else if (since < DEAR_USUAL) {
    sandbox->hook_dear *= 2;
    if (sandbox->hook_dear > HOOK_INSTRUCTIONS) sandbox->hook_dear = HOOK_INSTRUCTIONS;
  }
  sandbox->dear_since = late || sandbox->hook_dear < HOOK_INSTRUCTIONS ? now : 0;
}

/* `since`: microseconds, after the look before this one. */
static inline void pace(Sandbox *sandbox, uint64_t since) {
  if (since < DEAR_LATE && sandbox->dear_since == 0 && sandbox->hook_dear == HOOK_INSTRUCTIONS) return;
  if (!sandbox->config.deterministic && holds(sandbox, GUARD_DEAR)) pace_by_time(sandbox, since);
}

/* Among dear instructions a slice ends before its time, but not in its first half, where another stretch as long as
   the last ones would end after it: none can be interrupted. */
static COLD void end_before_stretch(Sandbox *sandbox, uint64_t since) {
  uint64_t kept = sandbox->stretch - sandbox->stretch / STRETCH_FADES;
  sandbox->stretch = since > kept ? since : kept;
  if (!sandbox->slicing || sandbox->slice_microseconds == 0 || !holds(sandbox, GUARD_DEAR)) return;
  uint64_t used = sandbox->used.microseconds, end = sandbox->slice_microseconds;
  bool in_first_half = used - sandbox->used_before < end - used;
  if (used < end && !in_first_half && end - used < sandbox->stretch) sandbox->slice_over = true;
}

static void compare_limits(Sandbox *sandbox, lua_State *L) {
  if (sandbox->killed == SANDBOX_OK) {
    SandboxEnd end = reached(sandbox);
    bool late = end == SANDBOX_OK && is_late(sandbox);
    if (late || end != SANDBOX_OK) kill_script(sandbox, L, late ? SANDBOX_DEADLINE_OVER : end, late);
  }
  const SandboxLimits *used = &sandbox->used;
  if (sandbox->slicing && ((sandbox->slice_fuel != 0 && used->fuel > sandbox->slice_fuel) ||
                           (sandbox->slice_microseconds != 0 && used->microseconds >= sandbox->slice_microseconds))) {
    sandbox->slice_over = true;
  }
}

static COLD void look(Sandbox *sandbox, lua_State *L) {
  settle(sandbox);
  compare_limits(sandbox, L);
  grant(sandbox);
}

/* A look that leaves the credit alone: when the next one of the others comes hangs on no clock. */
static COLD void look_at_clock(Sandbox *sandbox, lua_State *L) {
  settle_time(sandbox);
  compare_limits(sandbox, L);
}

/* Ends the script: jumps to its landing. A finalizer, during which Lua rests its collector, ends by an error first,
   and the script at its next instruction. */
static COLD int stop(lua_State *L, Sandbox *sandbox) {
  bool lands = holds(sandbox, GUARD_LANDING);
  if (lands && sandbox->landing != NULL && !guard_calls_finalizer(sandbox)) {
    assert(sandbox->killed != SANDBOX_OK);
    longjmp(sandbox->landing->place, 1);
  }
  if (!lands) sandbox->killed = SANDBOX_OK;
  return guard_fall(L);
}

int guard_fall(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->killed != SANDBOX_OK) guard_arm(sandbox);
  lua_settop(L, 0);          /* room for one value, whatever the stack held */
  lua_pushlightuserdata(L, sandbox);
  return lua_error(L);
}

bool guard_can_yield(lua_State *L) {
  return lua_isyieldable(L) && (sandbox_of(L)->task != NULL || !(THREAD_FLAGS(L) & THREAD_HOST));
}

bool guard_can_pass(lua_State *L) {
  return lua_isyieldable(L) && sandbox_of(L)->barred == 0;
}

/* Frames that are walked in no time; more are not counted, as that would take as long as what is charged. */
enum { SHALLOW = 32, DEEP = 8192 };

void guard_charge_catch(lua_State *L) {
  lua_Debug ar;
  int depth = SHALLOW;
  if (!lua_getstack(L, depth, &ar) || !holds(sandbox_of(L), GUARD_CATCH)) return;
  while (depth < DEEP && lua_getstack(L, 16 * depth, &ar)) depth *= 16;
  guard_charge(L, 8 * (uint64_t)depth);
}

/* Where a C function was charged: it stops, or lets the next instruction yield. */
static COLD void look_in_function(Sandbox *sandbox, lua_State *L) {
  look(sandbox, L);
  if (sandbox->killed != SANDBOX_OK) stop(L, sandbox);
  if (sandbox->slice_over) guard_arm(sandbox);
}

static inline void charge(Sandbox *sandbox, lua_State *L, uint64_t units) {
  if (sandbox->current == NULL) return;
  sandbox->credit -= (int64_t)(units < CHARGE_MAX ? units : CHARGE_MAX);
  if (sandbox->credit < 0 || sandbox->killed != SANDBOX_OK) look_in_function(sandbox, L);
}

void guard_charge(lua_State *L, uint64_t units) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox != NULL) charge(sandbox, L, units);
}

bool guard_meter(lua_State *L, uint64_t units) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->current == NULL) return false;
  sandbox->credit -= (int64_t)units;
  if (sandbox->credit < 0) look(sandbox, L);
  return sandbox->killed != SANDBOX_OK;
}

bool guard_pause(lua_State *L, uint64_t units) {
  Sandbox *sandbox = sandbox_of(L);
  charge(sandbox, L, units);
  return sandbox->slice_over && guard_can_pass(L);
}

int guard_yield(lua_State *L, lua_KContext context, lua_KFunction go_on) {
  Sandbox *sandbox = sandbox_of(L);
  assert(sandbox->slice_over && guard_can_pass(L));
  sandbox->passing = PASS_SLICE;
  return lua_yieldk(L, 0, context, go_on);
}

void guard_charge_bytes(lua_State *L, size_t bytes) {
  guard_charge(L, 1 + bytes / 64);
}

void guard_look_now(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox != NULL && sandbox->current != NULL) look_in_function(sandbox, L);
}

void guard_weigh(lua_State *L, size_t bytes) {
  if (sandbox_of(L) == NULL) return;
  guard_charge_bytes(L, bytes);
  size_t kilobytes = bytes / 1024;
  if (kilobytes > 0) lua_gc(L, LUA_GCSTEP, kilobytes < 65536 ? (int)kilobytes : 65536);
}

/* ---- parts ---- */

GuardPart guard_part_begin(lua_State *L, uint64_t fuel) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox == NULL || sandbox->current == NULL) return (GuardPart){0};
  settle(sandbox);
  SandboxLimits *limits = &sandbox->limits, *used = &sandbox->used;
  GuardPart part = {.fuel = limits->fuel, .microseconds = limits->microseconds, .end = used->fuel + fuel};
  if (limits->fuel == 0 || part.end < limits->fuel) limits->fuel = part.end;
  if (limits->microseconds > used->microseconds)
    limits->microseconds = used->microseconds + (limits->microseconds - used->microseconds + 3) / 4;
  grant(sandbox);
  return part;
}

uint64_t guard_part_end(lua_State *L, GuardPart part, bool *over) {
  Sandbox *sandbox = sandbox_of(L);
  *over = false;
  if (sandbox == NULL || sandbox->current == NULL) return 0;
  settle(sandbox);
  sandbox->limits = (SandboxLimits){.fuel = part.fuel, .microseconds = part.microseconds};
  if (sandbox->killed == SANDBOX_FUEL_OUT || sandbox->killed == SANDBOX_DEADLINE_OVER) {
    SandboxEnd end = reached(sandbox);
    *over = end == SANDBOX_OK;
    if (*over) sandbox->killed = SANDBOX_OK;
    else kill_script(sandbox, L, end, false);      /* says how much all of it had */
    sandbox->armed = !*over;
  }
  grant(sandbox);
  guard_enter(sandbox, L);
  return !*over && part.end > sandbox->used.fuel ? part.end - sandbox->used.fuel : 0;
}

/* ---- a memory that is nearly full ---- */

static void pace_collector(Sandbox *sandbox);

/* Completes the collector's cycle, and one more where that did not free enough: the first spares what died while it
   ran. Comes back with the slice's end before that. Raises the error of a memory that is full. */
static COLD void relieve(Sandbox *sandbox, lua_State *L) {
  pace_collector(sandbox);
  do {
    for (int i = 0; i < RELIEF_STEPS && sandbox->cycles_due > 0; i++) {
      if (lua_gc(L, LUA_GCSTEP, 0) == 0) continue;
      sandbox->cycles_due--;
      if (sandbox->memory_used <= sandbox->memory_soft / 2) sandbox->cycles_due = 0;
    }
    look(sandbox, L);
    if (sandbox->killed != SANDBOX_OK) stop(L, sandbox);
  } while (sandbox->cycles_due > 0 && !sandbox->slice_over);
  if (sandbox->cycles_due > 0 || !guard_is_full(sandbox)) return;
  lua_pushliteral(L, "not enough memory");   /* Lua's own words, by which it knows the error */
  lua_error(L);
}

void guard_charge_objects(lua_State *L, uint64_t units) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox == NULL) return;
  charge(sandbox, L, units);
  if (sandbox->current != NULL && sandbox->cycles_due != 0) relieve(sandbox, L);
}

/* ---- the hook ---- */

static bool has_extra(lua_State *L, lua_Debug *ar, int n) {
  if (lua_getlocal(L, ar, -n) == NULL) return false;
  lua_pop(L, 1);
  return true;
}

/* How many arguments beyond its parameters the running function has, from EXTRA_LEAST
   on: half of it to all. Each instruction that says `...` copies them. */
static int extra_arguments(Sandbox *sandbox, lua_State *L, lua_Debug *ar) {
  int n = EXTRA_LEAST;
  if (!holds(sandbox, GUARD_EXTRA) || !has_extra(L, ar, n)) return 0;
  while (n < EXTRA_MAX && has_extra(L, ar, 2 * n)) n *= 2;
  return n;
}

/* Between two looks the collector may sweep for half a millisecond: hooks in a slice ask the clock, too. */
static inline bool slice_is_up(const Sandbox *sandbox) {
  if (!sandbox->slicing || sandbox->slice_microseconds == 0) return false;
  int64_t spent = guard_now(sandbox) - sandbox->started;
  return spent > 0 && sandbox->used_before + (uint64_t)spent >= sandbox->slice_microseconds;
}

/* Looks where a hook has to: at the end of a cell at all limits, else at the clock. */
static inline void look_in_hook(Sandbox *sandbox, lua_State *L, bool ends) {
  int64_t before = sandbox->looked;
  bool dear = usual_stretch(sandbox) < HOOK_INSTRUCTIONS;   /* the credit says nothing about these instructions */
  if (ends && (sandbox->credit < 0 || sandbox->armed)) {
    sandbox->armed = false;
    look(sandbox, L);
  } else if (sandbox->slice_over || dear || slice_is_up(sandbox)) {
    look_at_clock(sandbox, L);
  } else {
    return;
  }
  uint64_t since = sandbox->looked > before ? (uint64_t)(sandbox->looked - before) : 0;
  if (lua_gethookcount(L) == usual_stretch(sandbox)) pace(sandbox, since);
  if (dear) end_before_stretch(sandbox, since);
}

static void hook(lua_State *L, lua_Debug *ar) {
  Sandbox *sandbox = sandbox_of(L);
  ThreadNote *note = THREAD_NOTE(L);
  bool ends = note->left == 0;
  int64_t cell = note->cell, extra = ends ? extra_arguments(sandbox, L, ar) : 0;
  if (ends) sandbox->credit -= cell + cell * extra / EXTRA_PER_UNIT;
  sandbox->restarted = false;
  look_in_hook(sandbox, L, ends);
  if (sandbox->killed != SANDBOX_OK) stop(L, sandbox);
  if (sandbox->uncounted != NULL) dense_refuse(sandbox, L);
  if (sandbox->cycles_due != 0) relieve(sandbox, L);
  bool passes = sandbox->slice_over && guard_can_pass(L);
  if (passes) {
    sandbox->passing = PASS_SLICE;
    lua_yield(L, 0);
  }
  if (sandbox->restarted) return;
  if (ends) {
    int next = extra == 0 ? sandbox->hook_strings : 1 + sandbox->hook_strings * EXTRA_LEAST / (int)extra;
    note->cell = note->left = (uint16_t)(sandbox->cycles_due != 0 ? 1 : next);
  }
  int next = least(note->left, sandbox->hook_dear);
  if (sandbox->slice_over && !passes) next = least(next, LATE_INSTRUCTIONS);
  note->left -= (uint16_t)next;
  if (lua_gethookcount(L) != next) lua_sethook(L, hook, LUA_MASKCOUNT, next);
}

void guard_enter(Sandbox *sandbox, lua_State *L) {
  if (sandbox->current == NULL) return;      /* the host's own code is not hooked */
  sandbox->current = L;
  if (!holds(sandbox, GUARD_THREAD)) return;
  guard_begin_cell(sandbox, L, hook, sandbox->armed ? 1 : sandbox->hook_strings);
  if (lua_gethookcount(L) <= sandbox->hook_dear) return;
  look_at_clock(sandbox, L);                 /* its next hook comes too late among dear instructions */
  if (sandbox->killed != SANDBOX_OK || sandbox->slice_over) guard_arm(sandbox);
}

/* ---- the collector ---- */

/* A script pays for garbage with each allocation, within its slice, its own or another's:
   so none may cost much. Lua's own pace rests until memory has doubled, and then runs
   through the whole cycle while a hundredth of that is allocated, 6,400 elements or
   objects for each KB: who allocates 10 KB just then pays for all. Here it is 320, and
   it rests less, so that memory in use is at most some two times what lives, as with
   Lua's. Less work for each KB (1) would let it grow to four times. Where little lives,
   a cycle is cheap, and cycles may not come too often: there it rests as Lua does. */
enum {
  COLLECT_REST = 25,         /* percent of what is in use, between two cycles; or GUARD_REST_KB */
  COLLECT_WORK = 4,          /* Lua makes 5 of it: elements or objects for each 16 bytes */
  COLLECT_STEP = 10          /* a power of two: bytes between two steps */
};

static void pace_collector(Sandbox *sandbox) {
  size_t rest = 100 * ((size_t)GUARD_REST_KB << 10) / (sandbox->memory_used + 1);
  rest = rest < COLLECT_REST ? COLLECT_REST : rest > 100 ? 100 : rest;
  if ((int)rest == sandbox->rest) return;
  sandbox->rest = (int)rest;
  lua_gc(sandbox->L, LUA_GCINC, 100 + (int)rest, COLLECT_WORK, COLLECT_STEP);
}

/* ---- calls and steps ---- */

void guard_begin(Sandbox *sandbox, const SandboxLimits *limits, const SandboxLimits *used) {
  sandbox->turns++;
  sandbox->limits = *limits;
  sandbox->used = used != NULL ? *used : (SandboxLimits){0, 0};
  sandbox->used_before = sandbox->used.microseconds;
  if (used == NULL) sandbox->printed = 0;
  sandbox->started = guard_now(sandbox);
  sandbox->killed = SANDBOX_OK;
  sandbox->passing = PASS_NONE;
  sandbox->slice_over = sandbox->slicing = false;
  sandbox->slice_fuel = sandbox->slice_microseconds = 0;
  sandbox->closing = sandbox->barred = 0;
  sandbox->late_since = 0;
  sandbox->looked = sandbox->started;
  sandbox->wide = sandbox->owning = sandbox->reached_memory = false;
  sandbox->armed = true;     /* the first instruction looks: a script that is cancelled does nothing */
  sandbox->credit = sandbox->granted = 0;
  pace_collector(sandbox);
}

void guard_end(Sandbox *sandbox) {
  settle(sandbox);
  sandbox->last_used = sandbox->used;
  sandbox->current = NULL;
  sandbox->memory_used -= sandbox->borrowed;
  sandbox->borrowed = 0;
  sandbox->killed = SANDBOX_OK;
  sandbox->armed = sandbox->slicing = sandbox->slice_over = false;
}

/* ---- memory outside ---- */

void guard_hold(lua_State *L, size_t bytes) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox == NULL || sandbox->current == NULL) return;
  guard_charge_bytes(L, bytes);
  size_t room = sandbox->memory_limit > sandbox->memory_used ? sandbox->memory_limit - sandbox->memory_used : 0;
  if (bytes > room) sandbox->reached_memory = true;
  if (bytes > room) luaL_error(L, "not enough memory: %d KiB are allowed", (int)(sandbox->memory_limit >> 10));
  sandbox->memory_used += bytes;
  sandbox->borrowed += bytes;
}
