/*
** Marshalling: values that pass between the state of a program and that of a sandbox.
**
**     nil, booleans, numbers, strings, ebb.null       as they are
**     tables                                          copies, read without metamethods; a JSON mark stays;
**                                                     out of the sandbox a table or long text is copied once
**     the borrowed draft, its messages                the handle of the other side
**     functions into the sandbox                      callbacks, until the call ends
**     functions out of it                             proxies, where the caller accepts them
**
** The state that is read gets no new objects and cannot raise: it may be in the
** middle of something else.
**
** Copying is part of the call: it ends by the call's deadline, which also bounds what
** keys that collide in a table cost, and copies that leave take the memory that the
** script leaves unused, and MARSHAL_BYTES_MORE. A table or long text that occurs twice is
** one again, but counts twice: who walks over all of it pays for each occurrence.
*/
#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/key_order.h"
#include "bind/marshal.h"
#include "bind/type.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

#define PRESIZED       8         /* elements of a list; its length is only what the other side says */
#define CALLBACK_UNITS 200
#define STEP           64        /* values between two looks at the clock: 3 ms if the keys of a table collide */
#define STEP_BYTES     1024      /* of a text that leaves, which are a value more: fresh memory is 4 us for each */
#define TEXT_LONG      4096      /* bytes of a text that is copied once */
#define COLLECT_STEPS  16        /* of the collector between two looks, some 10 us each */
#define STEP_UNITS     512       /* fuel of so many values that enter: some 100 ns for each */
#define COPIED_ROOM    16        /* tables; doubles */
#define TABLE_BYTES    64        /* of memory, and of an entry in it, at the least */
#define VALUE_BYTES    24

const char BIND_SCRIPT_FUNCTIONS = 0, BIND_LIMIT_HINT = 0;

/* Pushes a copy of the value at `index` of `from` onto `to`. `depth`: tables around it. Raises in `to` for values
   without a copy, and at the caps on values, bytes and depth. */
static void copy(Marshal *marshal, int index, int depth);

static int refuse(Marshal *marshal, const char *what) {
  const char *way = marshal->inward ? "enter" : "leave";
  return bind_raise(marshal->to, "argument", NULL, "%s cannot %s a sandbox", what, way);
}

/* ---- proxies: functions of the script in the program ---- */

/* Calls the script's function, with itself as the entry. Upvalues: the sandbox, the function's place. */
static int l_proxy(lua_State *L) {
  SandboxHandle *sandbox = lua_touserdata(L, lua_upvalueindex(1));
  if (sandbox->sandbox == NULL) return bind_raise(L, "closed", NULL, "the sandbox is closed");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushcclosure(L, l_proxy, 2);
  lua_insert(L, 2);
  sandbox->goes_on = false;
  return sandbox->enter(L, sandbox);
}

bool bind_is_proxy(lua_State *L, int index) { return lua_tocfunction(L, index) == l_proxy; }

/* Pushes the script's function if the value is a proxy that returns to its sandbox. */
static bool push_proxy_original(Marshal *marshal, int index) {
  lua_State *from = marshal->from, *to = marshal->to;
  if (!marshal->inward || !bind_is_proxy(from, index)) return false;
  lua_getupvalue(from, index, 1);
  lua_getupvalue(from, index, 2);
  bool same_sandbox = lua_touserdata(from, -2) == marshal->sandbox;
  lua_Integer place = lua_tointeger(from, -1);
  lua_pop(from, 2);
  if (!same_sandbox) bind_raise(to, "argument", NULL, "a function of one sandbox cannot enter another");
  lua_rawgetp(to, LUA_REGISTRYINDEX, &BIND_SCRIPT_FUNCTIONS);
  lua_rawgeti(to, -1, place);
  lua_remove(to, -2);
  return true;
}

/* Pushes a proxy of a script's function; false: the function may not leave. */
static bool push_proxy(Marshal *marshal, int index) {
  lua_State *from = marshal->from, *to = marshal->to;
  if (marshal->inward || marshal->sandbox == NULL) return false;
  lua_pushvalue(from, index);
  lua_rawgetp(from, LUA_REGISTRYINDEX, &BIND_SCRIPT_FUNCTIONS);
  lua_insert(from, -2);
  bool may_leave = lua_rawget(from, -2) == LUA_TNUMBER;
  lua_Integer place = lua_tointeger(from, -1);
  lua_pop(from, 2);
  if (!may_leave) return false;
  lua_rawgetp(to, LUA_REGISTRYINDEX, marshal->sandbox);
  lua_rawgeti(to, -1, PLACE_BOX);
  lua_remove(to, -2);
  lua_pushinteger(to, place);
  lua_pushcclosure(to, l_proxy, 2);
  return true;
}

/* ---- callbacks: functions of the program in the sandbox ---- */

typedef struct Callback {
  SandboxHandle *sandbox;
  lua_State *from;           /* the sandbox's thread that calls */
  lua_Integer place;         /* in the program's list */
  int results;
} Callback;

/* (callback) -> what the program's function returns; runs in the program's state */
static int run_callback(lua_State *L) {
  Callback *callback = lua_touserdata(L, 1);
  Marshal marshal = {.from = callback->from, .to = L, .sandbox = callback->sandbox};
  int arguments = lua_gettop(callback->from);
  lua_settop(L, 0);
  bind_marshal_open(&marshal);
  lua_rawgetp(L, LUA_REGISTRYINDEX, callback->sandbox);
  lua_rawgeti(L, -1, callback->place);
  lua_remove(L, -2);
  int first = lua_gettop(L);
  for (int i = 1; i <= arguments; i++) bind_marshal(&marshal, i);
  lua_call(L, arguments, LUA_MULTRET);
  callback->results = lua_gettop(L) - first + 1;
  return callback->results;
}

/* A function of the program, in the sandbox. Upvalues: sandbox, number of the call, place */
static int l_callback(lua_State *L) {
  Callback callback = {.sandbox = lua_touserdata(L, lua_upvalueindex(1)), .from = L,
                       .place = lua_tointeger(L, lua_upvalueindex(3))};
  SandboxCall *call = callback.sandbox->call;
  guard_charge(L, CALLBACK_UNITS + (lua_type(L, 2) == LUA_TSTRING ? lua_rawlen(L, 2) : 0));
  lua_Integer number = lua_tointeger(L, lua_upvalueindex(2));
  if (call == NULL || (callback.place != PLACE_HOST && call->number != (uint64_t)number)) {
    return bind_raise(L, "closed", NULL, "this function belongs to a call that has ended");
  }
  lua_State *program = call->program;
  lua_settop(program, call->base);           /* also what a callback that failed half-way left there */
  if (!lua_checkstack(program, 10)) return bind_raise(L, "memory", NULL, "not enough memory for a call");
  lua_pushcfunction(program, run_callback);
  lua_pushlightuserdata(program, &callback);
  if (lua_pcall(program, 1, LUA_MULTRET, 0) != LUA_OK) return bind_raise_from(L, program);
  Marshal marshal = {.from = program, .to = L, .sandbox = callback.sandbox, .inward = true};
  lua_settop(L, 0);
  for (int i = 1; i <= callback.results; i++) bind_marshal(&marshal, call->base + i);
  lua_settop(program, call->base);
  return callback.results;
}

static void push_callback(lua_State *L, SandboxHandle *sandbox, uint64_t number, lua_Integer place) {
  lua_pushlightuserdata(L, sandbox);
  lua_pushinteger(L, (lua_Integer)number);
  lua_pushinteger(L, place);
  lua_pushcclosure(L, l_callback, 3);
}

void bind_push_host(lua_State *L, SandboxHandle *sandbox) { push_callback(L, sandbox, 0, PLACE_HOST); }

/* Pushes a callback of a function among the arguments of a call. They were listed in
   the order in which marshalling reaches them; false: this one is not the next. */
static bool push_argument_callback(Marshal *marshal, int index) {
  lua_State *from = marshal->from;
  if (!marshal->arguments) return false;
  SandboxCall *call = marshal->sandbox->call;
  lua_rawgetp(from, LUA_REGISTRYINDEX, marshal->sandbox);
  lua_rawgeti(from, -1, ++call->callbacks);
  bool listed = lua_rawequal(from, -1, index);
  lua_pop(from, 2);
  if (listed) push_callback(marshal->to, marshal->sandbox, call->number, call->callbacks);
  return listed;
}

/* Pushes the program's function if the value is a callback of the call that runs. */
static bool push_callback_original(Marshal *marshal, int index) {
  lua_State *from = marshal->from;
  if (marshal->inward || lua_tocfunction(from, index) != l_callback) return false;
  lua_getupvalue(from, index, 2);
  lua_getupvalue(from, index, 3);
  const SandboxCall *call = marshal->sandbox != NULL ? marshal->sandbox->call : NULL;
  bool valid = call != NULL && lua_tointeger(from, -2) == (lua_Integer)call->number;
  lua_Integer place = lua_tointeger(from, -1);
  lua_pop(from, 2);
  if (!valid) return false;
  lua_rawgetp(marshal->to, LUA_REGISTRYINDEX, marshal->sandbox);
  lua_rawgeti(marshal->to, -1, place);
  lua_remove(marshal->to, -2);
  return true;
}

/* ---- drafts ---- */

/* Pushes handles of a draft and its conversation. They stay valid: the registry holds them. */
static void borrow(lua_State *L, SandboxCall *call, const SandboxHandle *sandbox, const ConversationHandle *owner) {
  DraftHandle *draft = bind_new(L, &BIND_DRAFT, sizeof *draft, 3);
  draft->borrowed = true;
  ConversationHandle *conversation = bind_new(L, &BIND_CONVERSATION, sizeof *conversation, 2);
  conversation->borrowing = &call->borrowing;
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, sandbox);
  *conversation = *owner;                    /* from here on nothing can fail */
  conversation->borrowing = &call->borrowing;
  conversation->warnings = (DocumentWarnings){0};
  conversation->envelope = NULL;             /* the program's, like the rest */
  draft->draft = call->draft->draft;
  call->borrowed_draft = draft;
  call->borrowed_conversation = conversation;
}

/* Pushes the borrowed draft for the draft of the program at `index`. */
static void push_borrowed_draft(Marshal *marshal, int index) {
  SandboxCall *call = marshal->sandbox->call;
  const DraftHandle *draft = bind_test(marshal->from, index, &BIND_DRAFT);
  if (draft->draft == NULL) bind_raise(marshal->to, "closed", NULL, "the draft has ended");
  if (draft != call->draft) {
    bind_raise(marshal->to, "argument", NULL, "a sandbox borrows one draft at a time");
  } else if (call->borrowed_draft != NULL) {
    lua_rawgetp(marshal->to, LUA_REGISTRYINDEX, marshal->sandbox);
  } else {
    lua_getiuservalue(marshal->from, index, 1);
    const ConversationHandle *owner = lua_touserdata(marshal->from, -1);
    lua_pop(marshal->from, 1);
    borrow(marshal->to, call, marshal->sandbox, owner);
  }
}

/* Pushes the other side's handle of the borrowed draft, or of a message of it; false: it is another draft's. */
static bool push_counterpart(Marshal *marshal, int index, bool is_message) {
  lua_State *from = marshal->from, *to = marshal->to;
  const SandboxCall *call = marshal->sandbox != NULL ? marshal->sandbox->call : NULL;
  if (call == NULL || call->borrowed_draft == NULL) return false;
  lua_pushvalue(from, index);
  if (is_message) {
    lua_getiuservalue(from, -1, 1);
    lua_remove(from, -2);
  }
  const void *owner = lua_touserdata(from, -1);
  lua_pop(from, 1);
  if (owner != (marshal->inward ? (const void *)call->draft : (const void *)call->borrowed_draft)) return false;
  if (lua_rawgetp(to, LUA_REGISTRYINDEX, marshal->sandbox) == LUA_TTABLE) {   /* the program's list */
    lua_rawgeti(to, -1, PLACE_DRAFT);
    lua_remove(to, -2);
  }
  if (!is_message) return true;
  bind_push_message(to, -1, bind_check_message(from, index), 0);
  lua_remove(to, -2);
  return true;
}

/* ---- what copies may cost ---- */

/* Sizes of a table that left, with all in it; height 0: it is being copied. */
typedef struct Copied {
  uint32_t values;
  int height;
  size_t bytes;
} Copied;

const char *bind_push_limit_hint(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_LIMIT_HINT);
  const char *hint = lua_tostring(L, -1);
  return hint != NULL && hint[0] != '\0' ? hint : NULL;
}

void bind_marshal_open(Marshal *marshal) {
  assert(!marshal->inward && marshal->copies == 0);
  lua_pushnil(marshal->to);
  marshal->copies = lua_gettop(marshal->to);
  lua_pushnil(marshal->to);
}

/* The memory that copies may take: what the script leaves of its own. */
static size_t bytes_left(const Sandbox *sandbox) {
  size_t limit = sandbox_memory_limit(sandbox), used = sandbox_memory_used(sandbox);
  return (used < limit ? limit - used : 0) + MARSHAL_BYTES_MORE;
}

static int raise_memory(Marshal *marshal) {
  return bind_raise(marshal->to, "limit", bind_push_limit_hint(marshal->to),
                    "stopped: what it hands out needs more memory than it leaves of the %d KiB that are allowed",
                    (int)(sandbox_memory_limit(marshal->sandbox->sandbox) >> 10));
}

/* Raises if the call has no time left. What enters costs fuel, which has its own look at the clock. */
static void check_time(Marshal *marshal) {
  lua_State *to = marshal->to;
  marshal->steps = 0;
  if (marshal->inward) {
    guard_charge_objects(to, STEP_UNITS);
    return;
  }
  switch (sandbox_check_time(marshal->sandbox->sandbox)) {
    case SANDBOX_OK: return;
    case SANDBOX_CANCELLED: bind_raise(to, "cancelled", NULL, "stopped: it was cancelled"); break;
    default:
      bind_raise(to, "limit", bind_push_limit_hint(to), "stopped: to hand out its values takes longer than it may run");
  }
}

/* Completes the collector's cycle and one more: the first spares what died while it ran. */
static void collect_garbage(Marshal *marshal) {
  for (int cycles = 0, steps = 1; cycles < 2; steps++) {
    cycles += lua_gc(marshal->from, LUA_GCSTEP, 0) != 0;     /* it answers -1 within a finalizer */
    if (steps % COLLECT_STEPS == 0) check_time(marshal);
  }
}

/* Raises if the values that leave are too many or too big. Garbage of the script counts only until it is in the way. */
static void check_caps(Marshal *marshal) {
  if (marshal->inward) return;               /* the sandbox's own limit holds what enters */
  if (marshal->values > MARSHAL_VALUES_MAX) refuse(marshal, "so much at once");
  if (marshal->bytes <= marshal->bytes_max) return;
  const Sandbox *sandbox = marshal->sandbox->sandbox;
  marshal->bytes_max = bytes_left(sandbox);
  if (marshal->bytes <= marshal->bytes_max) return;
  if (marshal->bytes <= sandbox_memory_limit(sandbox) + MARSHAL_BYTES_MORE) collect_garbage(marshal);
  marshal->bytes_max = bytes_left(sandbox);
  if (marshal->bytes > marshal->bytes_max) raise_memory(marshal);
}

static int raise_stack(Marshal *marshal) {
  return bind_raise(marshal->to, "memory", NULL, "not enough memory for values that enter or leave a sandbox");
}

/* ---- values ---- */

/* The key below the value on top of `from`. */
static void copy_key(Marshal *marshal) {
  int kind = lua_type(marshal->from, -2);
  if (kind != LUA_TSTRING && kind != LUA_TNUMBER && kind != LUA_TBOOLEAN) {
    refuse(marshal, lua_pushfstring(marshal->to, "a table with a %s as key", lua_typename(marshal->to, kind)));
  }
  copy(marshal, lua_gettop(marshal->from) - 1, 0);
}

typedef struct Entries {
  Marshal *marshal;
  int depth;                 /* of the values */
} Entries;

/* Sets the copy of the entry on top of `from` in the table on top of `to`. */
static void copy_entry(lua_State *from, void *user) {
  const Entries *entries = user;
  copy_key(entries->marshal);
  copy(entries->marshal, lua_gettop(from), entries->depth);
  lua_rawset(entries->marshal->to, -3);
}

/* Pushes the copy, and leaves it there. What enters is numbered by the sandbox as it comes, so it has an order. */
static void copy_entries(Marshal *marshal, int index, int depth) {
  lua_State *from = marshal->from, *to = marshal->to;
  size_t size = lua_rawlen(from, index);
  Entries entries = {.marshal = marshal, .depth = depth + 1};
  lua_createtable(to, size < PRESIZED ? (int)size : PRESIZED, 0);
  if (marshal->inward) {
    if (!key_order_walk(from, index, copy_entry, &entries)) raise_stack(marshal);
  } else {
    for (lua_pushnil(from); lua_next(from, index) != 0; lua_pop(from, 1)) copy_entry(from, &entries);
  }
  bind_set_json_mark(to, bind_json_mark(from, index));
}

/* Pushes the copy of a table that left already, whose size counts again; false: it has not. */
static bool push_copied(Marshal *marshal, int index, int depth) {
  lua_State *to = marshal->to;
  lua_rawgetp(to, marshal->copies, lua_topointer(marshal->from, index));
  lua_Integer number = lua_tointeger(to, -1);
  lua_pop(to, 1);
  if (number == 0) return false;
  const Copied *copied = &marshal->copied[number - 1];
  if (copied->height == 0) refuse(marshal, "a table that is nested so deep (it contains itself)");
  if (depth + copied->height > MARSHAL_DEPTH_MAX) refuse(marshal, "a table that is nested so deep");
  marshal->values += min_u32(copied->values, MARSHAL_VALUES_MAX);
  marshal->bytes += copied->bytes;
  if (depth + copied->height > marshal->deepest) marshal->deepest = depth + copied->height;
  check_caps(marshal);
  lua_rawgeti(to, marshal->copies, number);
  return true;
}

/* Puts the table of the copies into its place, when the first is made. */
static void make_copies(Marshal *marshal) {
  if (!lua_isnil(marshal->to, marshal->copies)) return;
  lua_newtable(marshal->to);
  lua_replace(marshal->to, marshal->copies);
}

/* Numbers the table at `index` of `from`, with room for its size. */
static lua_Integer number_table(Marshal *marshal, int index) {
  lua_State *to = marshal->to;
  if (marshal->tables == marshal->copied_room) {
    uint32_t room = marshal->copied_room == 0 ? COPIED_ROOM : 2 * marshal->copied_room;
    Copied *grown = lua_newuserdatauv(to, room * sizeof *grown, 0);
    if (marshal->tables == 0) make_copies(marshal);
    else memcpy(grown, marshal->copied, marshal->tables * sizeof *grown);
    lua_replace(to, marshal->copies + 1);
    marshal->copied = grown;
    marshal->copied_room = room;
  }
  marshal->copied[marshal->tables++] = (Copied){0};
  lua_pushinteger(to, marshal->tables);
  lua_rawsetp(to, marshal->copies, lua_topointer(marshal->from, index));
  return marshal->tables;
}

/* Pushes a copy of a table that leaves, the first time it is reached. */
static void copy_first(Marshal *marshal, int index, int depth) {
  lua_Integer number = number_table(marshal, index);
  uint32_t values = marshal->values;
  size_t bytes = marshal->bytes;
  int deepest = marshal->deepest;
  marshal->bytes += TABLE_BYTES;
  marshal->deepest = depth + 1;
  copy_entries(marshal, index, depth);
  marshal->copied[number - 1] = (Copied){.values = marshal->values - values, .bytes = marshal->bytes - bytes,
                                         .height = marshal->deepest - depth};
  if (deepest > marshal->deepest) marshal->deepest = deepest;
  lua_pushvalue(marshal->to, -1);
  lua_rawseti(marshal->to, marshal->copies, number);
}

static void copy_table(Marshal *marshal, int index, int depth) {
  if (depth >= MARSHAL_DEPTH_MAX) refuse(marshal, "a table that is nested so deep");
  if (marshal->inward) copy_entries(marshal, index, depth);
  else if (marshal->tables == 0 || !push_copied(marshal, index, depth)) copy_first(marshal, index, depth);
}

/* Pushes a text that leaves. The script's own stays where it is, for what is copied refers to it. */
static void copy_long(Marshal *marshal, const char *bytes, size_t size) {
  lua_State *to = marshal->to;
  make_copies(marshal);
  if (lua_rawgetp(to, marshal->copies, bytes) != LUA_TNIL) return;
  lua_pop(to, 1);
  marshal->steps += (uint32_t)(size / STEP_BYTES);
  if (marshal->steps >= STEP) check_time(marshal);
  lua_pushlstring(to, bytes, size);
  lua_pushvalue(to, -1);
  lua_rawsetp(to, marshal->copies, bytes);
}

static void copy_string(Marshal *marshal, int index) {
  size_t size;
  const char *bytes = lua_tolstring(marshal->from, index, &size);
  marshal->bytes += size;
  check_caps(marshal);
  if (size < TEXT_LONG || marshal->copies == 0) lua_pushlstring(marshal->to, bytes, size);
  else copy_long(marshal, bytes, size);
}

/* Only the borrowed draft and its messages exist on both sides. */
static void copy_userdata(Marshal *marshal, int index) {
  lua_State *from = marshal->from, *to = marshal->to;
  bool is_draft = bind_test(from, index, &BIND_DRAFT) != NULL;
  bool is_message = !is_draft && bind_test(from, index, &BIND_MESSAGE) != NULL;
  if (is_draft && marshal->inward) {
    push_borrowed_draft(marshal, index);
  } else if (!is_draft && !is_message) {
    const BindType *type = bind_type_of(from, index);
    refuse(marshal, lua_pushfstring(to, "a %s", type != NULL ? type->name : "userdata"));
  } else if (!push_counterpart(marshal, index, is_message)) {
    refuse(marshal, is_draft ? "another draft" : "a message of another draft");
  }
}

static void copy_function(Marshal *marshal, int index) {
  bool done = push_proxy_original(marshal, index) || push_callback_original(marshal, index) ||
              push_proxy(marshal, index) || push_argument_callback(marshal, index);
  if (!done) refuse(marshal, "a function");
}

static void copy(Marshal *marshal, int index, int depth) {
  lua_State *from = marshal->from, *to = marshal->to;
  int kind = lua_type(from, index);
  if (!lua_checkstack(to, 6) || !lua_checkstack(from, 8)) raise_stack(marshal);
  marshal->values++;
  marshal->bytes += VALUE_BYTES;
  if (++marshal->steps >= STEP) check_time(marshal);
  check_caps(marshal);
  switch (kind) {
    case LUA_TNIL: lua_pushnil(to); return;
    case LUA_TBOOLEAN: lua_pushboolean(to, lua_toboolean(from, index)); return;
    case LUA_TNUMBER:
      if (lua_isinteger(from, index)) lua_pushinteger(to, lua_tointeger(from, index));
      else lua_pushnumber(to, lua_tonumber(from, index));
      return;
    case LUA_TSTRING: copy_string(marshal, index); return;
    case LUA_TTABLE: copy_table(marshal, index, depth); return;
    case LUA_TUSERDATA: copy_userdata(marshal, index); return;
    case LUA_TFUNCTION: copy_function(marshal, index); return;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(from, index) == NULL) {
        lua_pushlightuserdata(to, NULL);     /* ebb.null */
        return;
      }
      break;
    default: break;
  }
  refuse(marshal, lua_pushfstring(to, "a %s", lua_typename(to, kind)));
}

void bind_marshal(Marshal *marshal, int index) { copy(marshal, lua_absindex(marshal->from, index), 0); }

int bind_raise_from(lua_State *L, lua_State *other) {
  Marshal marshal = {.from = other, .to = L, .inward = true};
  int kind = lua_type(other, -1);
  if (kind == LUA_TSTRING) {
    bind_marshal(&marshal, -1);
  } else if (bind_is_error(other, -1)) {
    bind_marshal(&marshal, -1);              /* its fields are texts */
    bind_mark_error(L);
  } else {
    lua_pushfstring(L, "(error object is a %s value)", lua_typename(L, kind));
  }
  return lua_error(L);
}
