/*
** The guard: allocator, hook, and what happens when a limit is reached.
**
** Single instructions may be dear: `a < b` on two strings of 4 MiB of zero bytes
** takes 40 ms in Lua's own comparison, `s | 1` parses all of s. Nothing charges
** for those. So the allocator knows the longest living string, and the hook comes
** the sooner the longer it is: what lies between two hooks costs 50 ms at most,
** whatever the instructions are. To know the strings among the blocks that are
** freed, blocks from STRING_BIG on carry their kind in front:
**
**      | kind, 16 bytes | what Lua sees ...
**
** Tables have the same weakness. Numbers as keys are hashed by their remainder,
** so a script can have all of them in one chain; and when the table grows, each
** is sought along it before it is put in: 5 s for 65,536 of them, in one
** instruction. A table may grow as far as that, at its worst, takes no longer
** than the deadline. The hash part is known by its size, 24 bytes for each of 2^n
** keys, and by the half of it that is there already.
*/
#include <assert.h>
#include <string.h>

#include "os/clock.h"
#include "sandbox/sandbox_state.h"

#define STRING_BIG     ((size_t)8192)
#define STRING_WORK    (5 << 20)      /* bytes of comparison between two hooks: 10 ns each at worst */
#define HEAD           ((size_t)16)
#define EXTRA_LEAST    256
#define EXTRA_MAX      (1 << 20)
#define EXTRA_PER_UNIT 16             /* 4 are copied in a unit's time, by each fourth instruction */
#define KEY_BYTES      ((size_t)24)   /* a key and its value in a hash part */
#define KEYS_LEAST     ((size_t)8192) /* may always be: 20 ms */
#define GROWTH_UNIT    2800           /* keys * keys that are rehashed in a microsecond, at worst */
#define KIND_HASH      (-1)
#define FAILURE_UNITS  10000          /* a failed allocation, beside 1/64 of the bytes in use: Lua collected for it */
#define CHARGE_MAX     ((uint64_t)1 << 40)
#define LATE_INSTRUCTIONS 10          /* between hooks when a slice ends late: few may stand between callbacks */
#define LATE_FIRST     2000           /* microseconds after a slice, from when on LATE_MS are counted */
#define CLOSURE_FEW    20             /* words of a closure that is charged by its bytes alone: 16 variables */
#define CLOSURE_SQUARE 5              /* variables * variables in a unit's time */
#define STRING_SHORT   ((size_t)65)   /* bytes of the longest string that Lua keeps once: 40 and a header */
#define PART_BIG       ((size_t)256 << 10)

static int64_t system_now(void *user) {
  (void)user;
  return clock_monotonic_us();
}

int64_t guard_now(const Sandbox *sandbox) {
  return sandbox->config.now != NULL ? sandbox->config.now(sandbox->config.user) : system_now(NULL);
}

Sandbox *sandbox_of(lua_State *L) {
  void *user;
  return lua_getallocf(L, &user) == guard_allocate ? user : NULL;
}

/* ---- killing and falling ---- */

static void hook(lua_State *L, lua_Debug *ar);

static void set_hook(lua_State *L, int count) {
  if (lua_gethook(L) != hook || lua_gethookcount(L) != count) lua_sethook(L, hook, LUA_MASKCOUNT, count);
}

/* The next instruction asks. Safe within the allocator: it touches numbers only. */
static COLD void arm(Sandbox *sandbox) {
  sandbox->armed = true;
  if (sandbox->current != NULL) set_hook(sandbox->current, 1);
}

static void settle(Sandbox *sandbox) {
  sandbox->used.fuel += (uint64_t)(sandbox->granted - sandbox->credit);
  sandbox->credit = 0;
  sandbox->granted = 0;
  int64_t now = guard_now(sandbox);
  uint64_t spent = now > sandbox->started ? (uint64_t)(now - sandbox->started) : 0;
  sandbox->used.microseconds = sandbox->used_before + spent;
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

static COLD void look(Sandbox *sandbox, lua_State *L) {
  settle(sandbox);
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
  grant(sandbox);
}

/* True while Lua calls a finalizer, or closes: it stops the collector meanwhile, and
   nothing else here does. (A plain read, although an allocator may not call Lua.) */
static bool calls_finalizer(const Sandbox *sandbox) {
  return sandbox->L != NULL && lua_gc(sandbox->L, LUA_GCISRUNNING) <= 0;
}

/* Ends the script: jumps to its landing. A finalizer, during which Lua rests its collector, ends by an error first,
   and the script at its next instruction. */
static COLD int stop(lua_State *L, Sandbox *sandbox) {
  bool lands = holds(sandbox, GUARD_LANDING);
  if (lands && sandbox->landing != NULL && !calls_finalizer(sandbox)) landing_jump(sandbox);
  if (!lands) sandbox->killed = SANDBOX_OK;
  return guard_fall(L);
}

int guard_fall(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->killed != SANDBOX_OK) arm(sandbox);
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
  if (sandbox->slice_over) arm(sandbox);
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

static void hook(lua_State *L, lua_Debug *ar) {
  Sandbox *sandbox = sandbox_of(L);
  int64_t count = lua_gethookcount(L), extra = extra_arguments(sandbox, L, ar);
  sandbox->credit -= count + count * extra / EXTRA_PER_UNIT;
  bool dear = sandbox->hook_count < HOOK_INSTRUCTIONS;   /* the credit says nothing about these instructions */
  if (sandbox->credit < 0 || sandbox->armed || sandbox->slice_over || dear) {
    sandbox->armed = false;
    look(sandbox, L);
  }
  if (sandbox->killed != SANDBOX_OK) stop(L, sandbox);
  int next = extra == 0 ? sandbox->hook_count : 1 + sandbox->hook_count * EXTRA_LEAST / (int)extra;
  if (sandbox->slice_over && guard_can_pass(L)) {
    sandbox->passing = PASS_SLICE;
    lua_yield(L, 0);
  } else if (sandbox->slice_over && next > LATE_INSTRUCTIONS) {
    next = LATE_INSTRUCTIONS;
  }
  set_hook(L, next);
}

void guard_enter(Sandbox *sandbox, lua_State *L) {
  if (sandbox->current == NULL) return;      /* the host's own code is not hooked */
  sandbox->current = L;
  if (holds(sandbox, GUARD_THREAD)) set_hook(L, sandbox->armed ? 1 : sandbox->hook_count);
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
  sandbox->wide = sandbox->reached_memory = false;
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

/* ---- memory ---- */

static int class_of(size_t size) {
  int class = 0;
  while (size > 1) {
    size >>= 1;
    class++;
  }
  return class;
}

/* A string came (+1) or went (-1): how far apart may hooks be? */
static COLD void note_string(Sandbox *sandbox, size_t size, int change) {
  sandbox->strings[class_of(size)] += (uint32_t)change;
  int longest = STRING_CLASSES - 1;
  while (longest > 0 && sandbox->strings[longest] == 0) longest--;
  int64_t count = longest > 0 ? STRING_WORK >> (longest + 1) : HOOK_INSTRUCTIONS;
  count = count < 1 ? 1 : count > HOOK_INSTRUCTIONS ? HOOK_INSTRUCTIONS : count;
  if (!holds(sandbox, GUARD_LONG)) count = HOOK_INSTRUCTIONS;
  bool sooner = count < sandbox->hook_count;
  sandbox->hook_count = (int)count;
  if (sooner && sandbox->current != NULL && !sandbox->armed) set_hook(sandbox->current, sandbox->hook_count);
}

/* Keys of a hash part that a block of this size may hold; 0: it is not a hash part. */
static size_t keys_of(size_t size) {
  size_t keys = size / KEY_BYTES;
  return size % KEY_BYTES == 0 && keys >= KEYS_LEAST && (keys & (keys - 1)) == 0 ? keys : 0;
}

/* May a table grow to so many keys? */
static bool may_grow(const Sandbox *sandbox, size_t keys) {
  if (sandbox->current == NULL || keys <= KEYS_LEAST || sandbox->hashes[class_of(keys) - 1] == 0) return true;
  uint64_t time = limits_time(&sandbox->limits);
  return time == 0 || (uint64_t)keys * keys / GROWTH_UNIT <= time || !holds(sandbox, GUARD_GROWTH);
}

/* Refuses a block of `size` bytes: notes why, and charges for the collection that Lua tries before it gives up. Returns
   NULL, the allocator's failure. `by_host`: the host's allocator failed, not the limit. */
static COLD void *refuse(Sandbox *sandbox, size_t size, bool by_host) {
  sandbox->reached_memory = !by_host;
  sandbox->refused_growth = false;
  sandbox->refused_size = size;
  if (sandbox->current != NULL && holds(sandbox, GUARD_FAILURE)) {
    sandbox->credit -= FAILURE_UNITS + (int64_t)(sandbox->memory_used / 64);
    if (sandbox->credit < 0 && !sandbox->armed) arm(sandbox);
  }
  return NULL;
}

static void *refuse_growth(Sandbox *sandbox, size_t size) {
  refuse(sandbox, size, false);
  sandbox->refused_growth = true;
  return NULL;
}

/* Does each run of a script allocate this block? Fuel must repeat, and what the
   collector has come by until then does not: that goes by addresses. So a short
   string, which Lua finds again unless it was collected, is not charged, nor are the
   parts of objects: stacks, which collecting shrinks, and those of tables, which
   cost the instructions that fill them. Unless they are big. */
static bool is_in_each_run(bool new_object, int kind, size_t size) {
  if (!new_object) return size >= PART_BIG;
  return kind != LUA_TSTRING || size > STRING_SHORT;
}

static void charge_memory(Sandbox *sandbox, size_t size) {
  if (sandbox->current == NULL || !holds(sandbox, GUARD_BYTES)) return;
  sandbox->credit -= 2 + (int64_t)(size / 64);
  if (sandbox->credit < 0 && !sandbox->armed) arm(sandbox);
}

/* To make a closure, Lua seeks each of its variables among the open ones. Few take no time. */
static void charge_closure(Sandbox *sandbox, size_t size) {
  size_t variables = size / sizeof(void *);
  if (sandbox->current == NULL || variables <= CLOSURE_FEW || !holds(sandbox, GUARD_BYTES)) return;
  sandbox->credit -= (int64_t)(variables * variables / CLOSURE_SQUARE);
  if (sandbox->credit < 0 && !sandbox->armed) arm(sandbox);
}

static size_t head_of(size_t size) {
  return size >= STRING_BIG ? HEAD : 0;
}

static void free_block(Sandbox *sandbox, char *block, size_t size) {
  if (reserve_owns(&sandbox->reserve, block)) {
    reserve_give_back(&sandbox->reserve, block);
  } else {
    size_t head = head_of(size);
    sandbox->memory.allocate(sandbox->memory.user, block - head, size + head, 0);
  }
}

/* Moves a block of Lua's between one with a head and one without, or resizes it.
   The kind is kept; small blocks need none. */
static void *resize(Sandbox *sandbox, char *block, size_t old_size, size_t new_size, int kind) {
  const Memory *memory = &sandbox->memory;
  size_t old_head = head_of(old_size), new_head = head_of(new_size);
  bool reserved = block != NULL && reserve_owns(&sandbox->reserve, block);
  if (reserved && new_size <= old_size) return block;
  if (!reserved && (old_size == 0 || old_head == new_head)) {
    char *start = block != NULL ? block - old_head : NULL;
    size_t old_total = block != NULL ? old_size + old_head : 0;
    char *base = memory->allocate(memory->user, start, old_total, new_size + new_head);
    if (base == NULL) return NULL;
    if (new_head != 0) *(int *)(void *)base = kind;
    return base + new_head;
  }
  char *base = memory->allocate(memory->user, NULL, 0, new_size + new_head);
  if (base == NULL) return NULL;
  if (new_head != 0) *(int *)(void *)base = kind;
  memcpy(base + new_head, block, old_size < new_size ? old_size : new_size);
  free_block(sandbox, block, old_size);
  return base + new_head;
}

/* A block for the call of a finalizer, after it was refused: without one the object's
   memory would never be released. NULL if this is another call. */
static COLD void *take_reserve(Sandbox *sandbox, char *block, size_t old_size, size_t new_size) {
  if (new_size >= STRING_BIG || !calls_finalizer(sandbox)) return NULL;
  char *base = reserve_take(&sandbox->reserve, new_size);
  if (base == NULL || block == NULL) return base;
  memcpy(base, block, old_size);
  free_block(sandbox, block, old_size);
  return base;
}

static int kind_of(const char *block, size_t size) {
  size_t head = head_of(size);
  return block != NULL && head != 0 ? *(const int *)(const void *)(block - head) : 0;
}

/* A block of Lua's came (+1) or went (-1). */
static void note_block(Sandbox *sandbox, size_t size, int kind, int change) {
  if (kind == LUA_TSTRING) note_string(sandbox, size, change);
  if (kind == KIND_HASH) sandbox->hashes[class_of(keys_of(size))] += (uint32_t)change;
}

static void *release(Sandbox *sandbox, char *block, size_t size) {
  if (block == NULL) return NULL;
  note_block(sandbox, size, kind_of(block, size), -1);
  sandbox->memory_used -= size;
  free_block(sandbox, block, size);
  return NULL;
}

static bool is_over_limit(const Sandbox *sandbox, size_t old_size, size_t new_size) {
  if (new_size <= old_size) return false;
  size_t more = new_size - old_size;
  if (new_size > sandbox->block_limit && !sandbox->wide && holds(sandbox, GUARD_BLOCK)) return true;
  return more > sandbox->memory_limit || sandbox->memory_used > sandbox->memory_limit - more;
}

/* ---- objects with a number (number.h): small, and never resized ---- */

static void *new_numbered(Sandbox *sandbox, size_t size) {
  assert(size < STRING_BIG);
  bool over = is_over_limit(sandbox, 0, size);
  if (!over) charge_memory(sandbox, size);
  char *base = over ? NULL : sandbox->memory.allocate(sandbox->memory.user, NULL, 0, size + NUMBER_SIZE);
  if (base == NULL) {
    base = take_reserve(sandbox, NULL, 0, size);
    if (base == NULL) return refuse(sandbox, size, !over);
    sandbox->memory_used += size;
    return base;
  }
  assert(((uintptr_t)base & 15) == 0);
  *(uint64_t *)(void *)base = ++sandbox->objects;
  sandbox->memory_used += size + NUMBER_COST;
  return base + NUMBER_SIZE;
}

static void *release_numbered(Sandbox *sandbox, char *block, size_t size) {
  sandbox->memory_used -= size + NUMBER_COST;
  sandbox->memory.allocate(sandbox->memory.user, block - NUMBER_SIZE, size + NUMBER_SIZE, 0);
  return NULL;
}

/* For a new block Lua hands over the kind of what it is for as the old size; a
   string is never resized. */
void *guard_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Sandbox *sandbox = user;
  int kind = block == NULL ? (int)old_size : 0;
  if (block == NULL && kind == LUA_TFUNCTION) charge_closure(sandbox, new_size);
  if (block == NULL && number_is_for(kind)) return new_numbered(sandbox, new_size);
  if (new_size == 0 && number_is_before(block)) return release_numbered(sandbox, block, old_size);
  if (block == NULL) old_size = 0;
  if (new_size == 0) return release(sandbox, block, old_size);
  if (block == NULL && kind == 0 && keys_of(new_size) != 0) kind = KIND_HASH;
  if (kind == KIND_HASH && !may_grow(sandbox, keys_of(new_size))) return refuse_growth(sandbox, new_size);
  bool over = is_over_limit(sandbox, old_size, new_size);
  if (!over && is_in_each_run(block == NULL && kind > 0, kind, new_size)) charge_memory(sandbox, new_size);
  int old_kind = kind_of(block, old_size);
  void *result = over ? NULL : resize(sandbox, block, old_size, new_size, kind);
  if (result == NULL) result = take_reserve(sandbox, block, old_size, new_size);
  if (result == NULL) return refuse(sandbox, new_size, !over);
  sandbox->memory_used += new_size - old_size;
  note_block(sandbox, old_size, old_kind, -1);
  if (kind != LUA_TSTRING || new_size >= STRING_BIG) note_block(sandbox, new_size, kind, 1);
  return result;
}

void *guard_block(lua_State *L, size_t size, int user_values) {
  Sandbox *sandbox = sandbox_of(L);
  if (size <= sandbox->block_limit) return lua_newuserdatauv(L, size, user_values);
  sandbox->wide = true;
  void *result = lua_newuserdatauv(L, size, user_values);
  sandbox->wide = false;
  return result;
}

void *guard_scratch(lua_State *L, size_t size) {
  return guard_block(L, size, 0);
}

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
