/*
** The sandbox's allocator: what a script's memory costs, and what it tells of the script.
**
** Single instructions may be dear: `a < b` on two strings with half a million NULs
** takes 3 ms in Lua's own comparison (text_cost.c allows no more), `s | 1` parses
** all of s. Nothing charges for those. So the allocator knows the longest living
** string, and the hook comes the sooner the longer it is: what lies between two
** hooks costs 50 ms at most, whatever the instructions are. To know the strings
** among the blocks that are freed, blocks from STRING_BIG on carry their kind in front:
**
**      | BlockHead, 16 bytes | what Lua sees ...
**
** Tables have the same weakness. Numbers as keys are hashed by their remainder,
** so a script can have all of them in one chain; and when the table grows, each
** is sought along it before it is put in: 5 s for 65,536 of them, in one
** instruction. A table may grow as far as that, at its worst, takes no longer
** than the deadline. The hash part is known by its size, 24 bytes for each of 2^n
** keys, and by the half of it that is there already.
*/
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

/* ---- the reserve ----
**
** A few KB that are kept for calling finalizers when memory fails.
**
** Lua calls a finalizer once. If there is no memory for the call itself (a frame, a
** larger stack), the object goes without it, and what the finalizer would have
** released is lost. Such blocks come from here then:
**
**     | frame | stack      |                free |
**     0                    used            RESERVE_BYTES
**
** Blocks are handed out one after the other; when the last of them has come back,
** the whole reserve is free again. */

bool reserve_open(Reserve *reserve, const Memory *memory) {
  *reserve = (Reserve){.bytes = memory_new(memory, RESERVE_BYTES)};
  return reserve->bytes != NULL;
}

void reserve_close(Reserve *reserve, const Memory *memory) {
  assert(reserve->blocks == 0);
  memory_free(memory, reserve->bytes, RESERVE_BYTES);
  reserve->bytes = NULL;
}

void *reserve_take(Reserve *reserve, size_t size) {
  assert(reserve->used <= RESERVE_BYTES);
  if (size > RESERVE_BYTES) return NULL;
  size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
  if (size > RESERVE_BYTES - reserve->used) return NULL;
  void *block = reserve->bytes + reserve->used;
  reserve->used += size;
  reserve->blocks++;
  return block;
}

bool reserve_owns(const Reserve *reserve, const void *block) {
  return (uintptr_t)block - (uintptr_t)reserve->bytes < RESERVE_BYTES;
}

void reserve_give_back(Reserve *reserve, const void *block) {
  assert(reserve_owns(reserve, block) && reserve->blocks > 0);
  (void)block;
  if (--reserve->blocks == 0) reserve->used = 0;
}

/* ---- blocks ---- */

#define STRING_BIG     ((size_t)8192)
#define STRING_WORK    (5 << 20)      /* bytes of comparison between two hooks: 10 ns each at worst */
#define HEAD           sizeof(BlockHead)
#define KEY_BYTES      ((size_t)24)   /* a key and its value in a hash part */
#define KEYS_LEAST     ((size_t)8192) /* may always be: 20 ms */
#define GROWTH_UNIT    2800           /* keys * keys that are rehashed in a microsecond, at worst */
#define KIND_HASH      (-1)
#define FAILURE_UNITS  10000          /* a failed allocation, beside 1/64 of the bytes in use: Lua collected for it */
#define CLOSURE_FEW    20             /* words of a closure that is charged by its bytes alone: 16 variables */
#define CLOSURE_SQUARE 5              /* variables * variables in a unit's time */
#define STRING_SHORT   ((size_t)65)   /* bytes of the longest string that Lua keeps once: 40 and a header */
#define PART_BIG       ((size_t)256 << 10)
#define STACK_SLOT     ((size_t)16)   /* bytes of a value on Lua's stack, and in lists */
#define STRINGS_FIRST  (128 * sizeof(void *))   /* bytes of Lua's table of short strings, while lua_newstate runs */
#define FULL_PART      16             /* of the limit: one part is left for blocks while the rest is collected */
#define FULL_ROOM      64             /* one part must have become free by that */
#define FULL_DEAR      8              /* less than one part is free: collecting costs, for it will come again soon */

Sandbox *sandbox_of(lua_State *L) {
  void *user;
  return lua_getallocf(L, &user) == guard_allocate ? user : NULL;
}

void guard_begin_cell(Sandbox *sandbox, lua_State *L, lua_Hook hook, int count) {
  ThreadNote *note = THREAD_NOTE(L);
  assert(count >= 1 && count <= HOOK_INSTRUCTIONS);
  if (note->cell == count && lua_gethook(L) == hook) return;
  int next = count < sandbox->hook_dear ? count : sandbox->hook_dear;
  *note = (ThreadNote){.flags = note->flags, .cell = (uint16_t)count, .left = (uint16_t)(count - next)};
  lua_sethook(L, hook, LUA_MASKCOUNT, next);
  sandbox->restarted = true;
}

/* Begins one in the running thread, which has the guard's hook. */
static void begin_cell_here(Sandbox *sandbox, int count) {
  lua_State *L = sandbox->current;
  if (L != NULL) guard_begin_cell(sandbox, L, lua_gethook(L), count);
}

COLD void guard_arm(Sandbox *sandbox) {
  sandbox->armed = true;
  begin_cell_here(sandbox, 1);
}

/* True while Lua calls a finalizer, or closes: it stops the collector meanwhile, and
   nothing else here does. (A plain read, although an allocator may not call Lua.) */
bool guard_calls_finalizer(const Sandbox *sandbox) {
  return sandbox->L != NULL && lua_gc(sandbox->L, LUA_GCISRUNNING) <= 0;
}

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
  int64_t count = longest > 0 ? (int64_t)STRING_WORK >> (longest + 1) : HOOK_INSTRUCTIONS;
  count = count < 1 ? 1 : count > HOOK_INSTRUCTIONS ? HOOK_INSTRUCTIONS : count;
  if (!holds(sandbox, GUARD_LONG)) count = HOOK_INSTRUCTIONS;
  bool sooner = count < sandbox->hook_strings;
  sandbox->hook_strings = (int)count;
  if (sooner && !sandbox->armed) begin_cell_here(sandbox, (int)count);
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
  bool is_short = keys <= UINT32_MAX && (uint64_t)keys * keys / GROWTH_UNIT <= time;
  return time == 0 || is_short || !holds(sandbox, GUARD_GROWTH);
}

/* An allocator cannot stop the script: its next instruction does. */
static inline void spend(Sandbox *sandbox, int64_t units) {
  sandbox->credit -= units;
  if (sandbox->credit < 0 && !sandbox->armed) guard_arm(sandbox);
}

/* True if so many calls are nested that a large block is the stack for more of them: Lua doubles it, and does not say
   what a block is for that grows. */
static bool calls_deep(const Sandbox *sandbox) {
  enum { DEEP = 1000 };
  lua_Debug ar;
  return sandbox->current != NULL && lua_getstack(sandbox->current, DEEP, &ar);
}

/* Refuses a block of `size` bytes: notes why, and charges for the collection that Lua tries before it gives up. Returns
   NULL, the allocator's failure. `by_host`: the host's allocator failed, not the limit. */
static COLD void *refuse(Sandbox *sandbox, size_t size, bool by_host) {
  sandbox->reached_memory = !by_host;
  sandbox->refused_growth = false;
  sandbox->refused_size = size;
  sandbox->refused_deep = calls_deep(sandbox);
  if (sandbox->current != NULL && holds(sandbox, GUARD_FAILURE)) {
    spend(sandbox, FAILURE_UNITS + (int64_t)(sandbox->memory_used / 64));
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

/* Long texts come and go: all pages of each are fresh from the system, which takes longer than to fill them. */
static void charge_memory(Sandbox *sandbox, int kind, size_t size) {
  if (sandbox->current == NULL || !holds(sandbox, GUARD_BYTES)) return;
  bool is_fresh = kind == LUA_TSTRING && size >= PART_BIG;
  spend(sandbox, 2 + (int64_t)(is_fresh ? size / 16 : size / 64));
}

/* To make a closure, Lua seeks each of its variables among the open ones. Few take no time. */
static void charge_closure(Sandbox *sandbox, size_t size) {
  size_t variables = size / sizeof(void *);
  if (sandbox->current == NULL || variables <= CLOSURE_FEW || !holds(sandbox, GUARD_BYTES)) return;
  spend(sandbox, (int64_t)(variables * variables / CLOSURE_SQUARE));
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
    if (new_head != 0) ((BlockHead *)(void *)base)->kind = kind;
    return base + new_head;
  }
  char *base = memory->allocate(memory->user, NULL, 0, new_size + new_head);
  if (base == NULL) return NULL;
  if (new_head != 0) ((BlockHead *)(void *)base)->kind = kind;
  memcpy(base + new_head, block, old_size < new_size ? old_size : new_size);
  free_block(sandbox, block, old_size);
  return base + new_head;
}

/* A block for the call of a finalizer, after it was refused: without one the object's
   memory would never be released. NULL if this is another call. */
static COLD void *take_reserve(Sandbox *sandbox, char *block, size_t old_size, size_t new_size) {
  if (new_size >= STRING_BIG || !guard_calls_finalizer(sandbox)) return NULL;
  char *base = reserve_take(&sandbox->reserve, new_size);
  if (base == NULL || block == NULL) return base;
  memcpy(base, block, old_size);
  free_block(sandbox, block, old_size);
  return base;
}

static int kind_of(const char *block, size_t size) {
  size_t head = head_of(size);
  return block != NULL && head != 0 ? ((const BlockHead *)(const void *)(block - head))->kind : 0;
}

/* A block of Lua's came (+1) or went (-1). */
static void note_block(Sandbox *sandbox, size_t size, int kind, int change) {
  if (kind == LUA_TSTRING) note_string(sandbox, size, change);
  if (kind == KIND_HASH) sandbox->hashes[class_of(keys_of(size))] += (uint32_t)change;
}

static void *release(Sandbox *sandbox, char *block, size_t size) {
  if (block == NULL) return NULL;
  int kind = kind_of(block, size);
  if (sandbox->gives_up) owner_release_box(sandbox, block, size);
  if (kind == LUA_TSTRING && sandbox->uncounted != NULL) dense_forget(sandbox, (BlockHead *)(void *)(block - HEAD));
  note_block(sandbox, size, kind, -1);
  sandbox->memory_used -= size;
  free_block(sandbox, block, size);
  return NULL;
}

static bool exceeds(const Sandbox *sandbox, size_t more, size_t limit) {
  return more > limit || sandbox->memory_used > limit - more;
}

/* Where the limit refuses a block, Lua collects all garbage in one stretch before it gives up: 140 ms for a million
   objects. So near the limit the script's next instruction collects, in slices (relieve). */
static COLD bool is_over_when_full(Sandbox *sandbox, size_t more) {
  if (exceeds(sandbox, more, sandbox->memory_limit)) return true;
  if (sandbox->current != NULL && sandbox->cycles_due == 0 && holds(sandbox, GUARD_FULL)) {
    sandbox->cycles_due = 2;
    guard_arm(sandbox);
  }
  return false;
}

void guard_note_garbage(Sandbox *sandbox) {
  if (sandbox->cycles_due > 0) sandbox->cycles_due = 2;
}

/* The table of all short strings may be big: a refusal would make Lua collect for each new one. */
static bool is_over_limit(Sandbox *sandbox, const char *block, size_t old_size, size_t new_size) {
  if (new_size <= old_size) return false;
  size_t more = new_size - old_size;
  if (new_size > sandbox->block_limit && !sandbox->wide && holds(sandbox, GUARD_BLOCK) &&
      (block == NULL || block != sandbox->strings_part)) {
    return true;
  }
  return exceeds(sandbox, more, sandbox->memory_soft) && is_over_when_full(sandbox, more);
}

void guard_limit_memory(Sandbox *sandbox, size_t bytes) {
  sandbox->memory_limit = bytes;
  sandbox->memory_soft = bytes - bytes / FULL_PART;
}

/* True, and charged, if so much lives that the script has reached its limit. */
bool guard_is_full(Sandbox *sandbox) {
  size_t used = sandbox->memory_used, limit = sandbox->memory_limit, soft = sandbox->memory_soft;
  bool full = used > soft - limit / FULL_ROOM;
  if (full) refuse(sandbox, 0, false);
  else if (used > soft - limit / FULL_DEAR && holds(sandbox, GUARD_FAILURE)) spend(sandbox, (int64_t)(used / 64));
  return full;
}

/* ---- objects with a word before them (number.h): never resized, and small but for owners ---- */

static void *new_behind_word(Sandbox *sandbox, int kind, size_t size) {
  bool owner = kind == LUA_TUSERDATA;
  assert(owner || size < STRING_BIG);
  bool over = is_over_limit(sandbox, NULL, 0, size);
  if (!over) charge_memory(sandbox, 0, size);
  char *base = over ? NULL : sandbox->memory.allocate(sandbox->memory.user, NULL, 0, size + NUMBER_SIZE);
  if (base == NULL) {
    base = owner ? NULL : take_reserve(sandbox, NULL, 0, size);     /* no finalizer makes one */
    if (base == NULL) return refuse(sandbox, size, !over);
    sandbox->memory_used += size;
    return base;
  }
  assert(((uintptr_t)base & 15) == 0);
  *(uint64_t *)(void *)base = owner ? 0 : ++sandbox->objects;
  sandbox->memory_used += size + NUMBER_COST;
  if (owner) sandbox->last_userdata.block = base + NUMBER_SIZE, sandbox->last_userdata.size = size;
  return base + NUMBER_SIZE;
}

static void *release_behind_word(Sandbox *sandbox, char *block, size_t size) {
  if (sandbox->gives_up) owner_release_box(sandbox, block, size);
  owner_release(block, size);
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
  if (block == NULL && (number_is_for(kind) || (kind == LUA_TUSERDATA && sandbox->owning))) {
    return new_behind_word(sandbox, kind, new_size);
  }
  if (new_size == 0 && number_is_before(block)) return release_behind_word(sandbox, block, old_size);
  if (block == NULL) old_size = 0;
  if (new_size == 0) return release(sandbox, block, old_size);
  if (block == NULL && kind == 0 && keys_of(new_size) != 0) kind = KIND_HASH;
  if (kind == KIND_HASH && !may_grow(sandbox, keys_of(new_size))) return refuse_growth(sandbox, new_size);
  bool over = is_over_limit(sandbox, block, old_size, new_size);
  if (!over && is_in_each_run(block == NULL && kind > 0, kind, new_size)) charge_memory(sandbox, kind, new_size);
  int old_kind = kind_of(block, old_size);
  void *result = over ? NULL : resize(sandbox, block, old_size, new_size, kind);
  if (result == NULL) result = take_reserve(sandbox, block, old_size, new_size);
  if (result == NULL) return refuse(sandbox, new_size, !over);
  sandbox->memory_used += new_size - old_size;
  if (block == NULL ? sandbox->L == NULL && kind == 0 && new_size == STRINGS_FIRST : block == sandbox->strings_part) {
    sandbox->strings_part = result;
  }
  if (kind == LUA_TUSERDATA) sandbox->last_userdata.block = result, sandbox->last_userdata.size = new_size;
  note_block(sandbox, old_size, old_kind, -1);
  if (kind == LUA_TSTRING && new_size > SANDBOX_NULS) {
    dense_note(sandbox, (BlockHead *)(void *)((char *)result - HEAD), new_size);
    guard_arm(sandbox);
  }
  if (kind != LUA_TSTRING || new_size >= STRING_BIG) note_block(sandbox, new_size, kind, 1);
  return result;
}

/* Where memory runs out it raises, and the flags stay until the next one: a box (owner.h) may then lie as owners do. */
static void *new_userdata(lua_State *L, size_t size, int user_values, bool owner) {
  Sandbox *sandbox = sandbox_of(L);
  sandbox->wide = size > sandbox->block_limit;
  sandbox->owning = owner;
  void *result = lua_newuserdatauv(L, size, user_values);
  sandbox->wide = sandbox->owning = false;
  return result;
}

void *guard_block(lua_State *L, size_t size, int user_values) {
  return new_userdata(L, size, user_values, false);
}

void *guard_owner_block(lua_State *L, size_t size, int user_values) {
  return new_userdata(L, size, user_values, true);
}

void *guard_scratch(lua_State *L, size_t size) {
  return guard_block(L, size, 0);
}

void guard_check_stack(lua_State *L, int room, const char *what) {
  if (lua_checkstack(L, room)) return;
  if (room < LUAI_MAXSTACK) {
    lua_newuserdatauv(L, (size_t)room * STACK_SLOT, 0);   /* raises, if it was memory that is still missing */
    lua_pop(L, 1);
    if (lua_checkstack(L, room)) return;
  }
  if (what == NULL) luaL_error(L, "stack overflow");
  luaL_error(L, "stack overflow (%s)", what);
}

/* ---- the layout of Lua's objects ---- */

static const GuardLayout KNOWN_LAYOUT = {.string = STRING_HEADER + 1, .key = KEY_BYTES, .value = STACK_SLOT};

/* Bytes that a table takes with room for so many values in its list and keys in its hash part. */
static size_t size_of_table(lua_State *L, int values, int keys) {
  const Sandbox *sandbox = sandbox_of(L);
  size_t before = sandbox->memory_used;
  lua_createtable(L, values, keys);
  size_t size = sandbox->memory_used - before;
  lua_pop(L, 1);
  return size;
}

/* No cycle of the collector runs so early, so that all differences are of what is made. */
GuardLayout guard_measure_layout(lua_State *L) {
  enum { LONG = 1000, FEW = 8, MORE = 16 };      /* a text that Lua does not keep once */
  static const char text[LONG];
  const Sandbox *sandbox = sandbox_of(L);
  size_t before = sandbox->memory_used;
  lua_pushlstring(L, text, LONG);
  GuardLayout layout = {.string = sandbox->memory_used - before - LONG};
  lua_pop(L, 1);
  layout.key = (size_of_table(L, 0, MORE) - size_of_table(L, 0, FEW)) / (MORE - FEW);
  layout.value = (size_of_table(L, MORE, 0) - size_of_table(L, FEW, 0)) / (MORE - FEW);
  return layout;
}

bool guard_knows_layout(const GuardLayout *layout) {
  return layout->string == KNOWN_LAYOUT.string && layout->key == KNOWN_LAYOUT.key &&
         layout->value == KNOWN_LAYOUT.value;
}
