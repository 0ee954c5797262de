/*
** Loans: what a program hands to a script in a sandbox for the time of one call.
**
** A lent draft is a userdata of the sandbox's state over the same Draft, a lent
** function a closure that calls its original in the program's state. When the
** call ends both are taken back: handles that a script has kept say so.
**
**     lender:   registry[sandbox] = { [0] = draft, function, function ... }
**     sandbox:  registry[sandbox] = the lent draft
**
** An edit of a lent draft may need the lender: a counter or clock of its own. They
** are called there, protected, and what they raise is raised in the sandbox.
*/
#include "bind/bind.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

#define CALLBACK_UNITS 200

/* ---- drafts ---- */

/* Handles stand in the registry while they are lent, so they stay where they are. */
static void lend(lua_State *L, Loan *loan, const SandboxHandle *sandbox, const DraftHandle *home,
                 const ConversationHandle *owner) {
  DraftHandle *draft = bind_new(L, &BIND_DRAFT, sizeof *draft, 3);
  draft->lent = true;
  ConversationHandle *conversation = bind_new(L, &BIND_CONVERSATION, sizeof *conversation, 3);
  conversation->loan = loan;
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, sandbox);
  *conversation = *owner;                    /* from here on nothing can fail */
  conversation->loan = loan;
  conversation->warnings = (DocumentWarnings){0};
  conversation->envelope = NULL;             /* the lender's, like the rest */
  draft->draft = home->draft;
  loan->home = home;
  loan->draft = draft;
  loan->owner = conversation;
}

void bind_lend_draft(Crossing *crossing, int index) {
  Loan *loan = crossing->sandbox->loan;
  const DraftHandle *home = bind_test(crossing->from, index, &BIND_DRAFT);
  if (home->draft == NULL) bind_raise(crossing->to, "closed", NULL, "the draft has ended");
  if (loan->draft == NULL && home == loan->home) {
    lua_getiuservalue(crossing->from, index, 1);
    const ConversationHandle *owner = lua_touserdata(crossing->from, -1);
    lua_pop(crossing->from, 1);
    lend(crossing->to, loan, crossing->sandbox, home, owner);
  } else if (home == loan->home) {
    lua_rawgetp(crossing->to, LUA_REGISTRYINDEX, crossing->sandbox);
  } else {
    bind_raise(crossing->to, "argument", NULL, "one draft at a time is lent to a sandbox");
  }
}

/* The handle of the other side for a lent draft, or for a message of it. */
bool bind_push_partner(Crossing *crossing, int index) {
  lua_State *from = crossing->from, *to = crossing->to;
  const Loan *loan = crossing->sandbox != NULL ? crossing->sandbox->loan : NULL;
  bool is_message = bind_test(from, index, &BIND_MESSAGE) != NULL;
  if (loan == NULL || loan->draft == NULL) return false;
  lua_pushvalue(from, index);
  if (is_message) {
    lua_getiuservalue(from, -1, 1);
    lua_remove(from, -2);
  }
  const void *owner = lua_touserdata(from, -1);
  lua_pop(from, 1);
  if (owner != (crossing->inward ? (const void *)loan->home : (const void *)loan->draft)) return false;
  int kind = lua_rawgetp(to, LUA_REGISTRYINDEX, crossing->sandbox);
  if (kind == LUA_TTABLE) {                  /* the lender's list */
    lua_rawgeti(to, -1, 0);
    lua_remove(to, -2);
  }
  if (!is_message) return true;
  bind_push_message(to, -1, bind_check_message(from, index), 0);
  lua_remove(to, -2);
  return true;
}

/* ---- calls back ---- */

typedef struct CallBack {
  SandboxHandle *sandbox;
  lua_State *from;           /* the sandbox's thread that calls */
  lua_Integer function;      /* its place in the list */
  int results;
} CallBack;

/* (call) -> what the lent function answers; in the lender */
static int answer(lua_State *L) {
  CallBack *call = lua_touserdata(L, 1);
  Crossing crossing = {.from = call->from, .to = L, .sandbox = call->sandbox,
                       .bytes_max = sandbox_memory_limit(call->sandbox->sandbox)};
  int arguments = lua_gettop(call->from);
  lua_settop(L, 0);
  lua_rawgetp(L, LUA_REGISTRYINDEX, call->sandbox);
  lua_rawgeti(L, 1, call->function);
  for (int i = 1; i <= arguments; i++) bind_cross(&crossing, i);
  lua_call(L, arguments, LUA_MULTRET);
  call->results = lua_gettop(L) - 1;
  return call->results;
}

/* A lent function, in the sandbox. Upvalues: sandbox, number of the call, place */
static int l_callback(lua_State *L) {
  CallBack call = {.sandbox = lua_touserdata(L, lua_upvalueindex(1)), .from = L,
                   .function = lua_tointeger(L, lua_upvalueindex(3))};
  Loan *loan = call.sandbox->loan;
  guard_charge(L, CALLBACK_UNITS + (lua_type(L, 2) == LUA_TSTRING ? lua_rawlen(L, 2) : 0));
  lua_Integer number = lua_tointeger(L, lua_upvalueindex(2));
  if (loan == NULL || (call.function != LOAN_HOST && loan->number != (uint64_t)number)) {
    return bind_raise(L, "closed", NULL, "this function was lent for a call that is over");
  }
  lua_State *lender = loan->lender;
  lua_settop(lender, loan->base);            /* also what an earlier one left when it failed half-way */
  if (!lua_checkstack(lender, 10)) return bind_raise(L, "memory", NULL, "not enough memory for a call");
  lua_pushcfunction(lender, answer);
  lua_pushlightuserdata(lender, &call);
  if (lua_pcall(lender, 1, LUA_MULTRET, 0) != LUA_OK) return bind_carry_error(L, lender);
  Crossing crossing = {.from = lender, .to = L, .sandbox = call.sandbox, .inward = true};
  lua_settop(L, 0);
  for (int i = 1; i <= call.results; i++) bind_cross(&crossing, loan->base + i);
  lua_settop(lender, loan->base);
  return call.results;
}

/* Functions were noted in the order in which a crossing meets them. */
bool bind_push_callback(Crossing *crossing, int index) {
  lua_State *from = crossing->from, *to = crossing->to;
  Loan *loan = crossing->sandbox->loan;
  lua_rawgetp(from, LUA_REGISTRYINDEX, crossing->sandbox);
  lua_rawgeti(from, -1, ++loan->functions);
  bool noted = lua_rawequal(from, -1, index);
  lua_pop(from, 2);
  if (!noted) return false;
  lua_pushlightuserdata(to, crossing->sandbox);
  lua_pushinteger(to, (lua_Integer)loan->number);
  lua_pushinteger(to, loan->functions);
  lua_pushcclosure(to, l_callback, 3);
  return true;
}

/* host(what, word): the function that the sandbox was made with, in every call. */
void bind_push_host(lua_State *L, SandboxHandle *sandbox) {
  lua_pushlightuserdata(L, sandbox);
  lua_pushinteger(L, 0);
  lua_pushinteger(L, LOAN_HOST);
  lua_pushcclosure(L, l_callback, 3);
}

bool bind_push_lent(Crossing *crossing, int index) {
  lua_State *from = crossing->from;
  if (crossing->inward || lua_tocfunction(from, index) != l_callback) return false;
  lua_getupvalue(from, index, 2);
  lua_getupvalue(from, index, 3);
  const Loan *loan = crossing->sandbox != NULL ? crossing->sandbox->loan : NULL;
  bool living = loan != NULL && lua_tointeger(from, -2) == (lua_Integer)loan->number;
  lua_Integer place = lua_tointeger(from, -1);
  lua_pop(from, 2);
  if (!living) return false;
  lua_rawgetp(crossing->to, LUA_REGISTRYINDEX, crossing->sandbox);
  lua_rawgeti(crossing->to, -1, place);
  lua_remove(crossing->to, -2);
  return true;
}

/* ---- what a loan takes along, before it begins ---- */

static void note(lua_State *L, Loan *loan, int index, int list, int depth) {
  int kind = lua_type(L, index);
  if (kind == LUA_TFUNCTION && !bind_is_proxy(L, index)) {
    lua_pushvalue(L, index);
    lua_rawseti(L, list, ++loan->functions);
  } else if (kind == LUA_TUSERDATA && loan->home == NULL && bind_test(L, index, &BIND_DRAFT) != NULL) {
    loan->home = lua_touserdata(L, index);
    lua_pushvalue(L, index);
    lua_rawseti(L, list, LOAN_DRAFT);
  } else if (kind == LUA_TTABLE && depth < CROSS_DEPTH) {
    luaL_checkstack(L, 4, "values that cross");
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) note(L, loan, lua_gettop(L), list, depth + 1);
  }
}

void bind_begin_loan(lua_State *L, Loan *loan, SandboxHandle *sandbox, int first) {
  int last = lua_gettop(L);
  luaL_checkstack(L, 30, "a call into a sandbox");
  *loan = (Loan){.lender = L, .number = ++sandbox->calls};
  lua_createtable(L, 4, 0);
  int list = last + 1;
  lua_getiuservalue(L, 1, 1);
  lua_rawseti(L, list, LOAN_HOST);
  lua_pushvalue(L, 1);
  lua_rawseti(L, list, LOAN_BOX);
  for (int i = first; i <= last; i++) note(L, loan, i, list, 0);
  loan->functions = 0;
  if (loan->home != NULL) {
    lua_rawgeti(L, list, LOAN_DRAFT);
    lua_getiuservalue(L, -1, 1);
    loan->conversation = lua_gettop(L);
  }
  lua_pushvalue(L, list);
  lua_rawsetp(L, LUA_REGISTRYINDEX, sandbox);
  loan->base = lua_gettop(L);
  sandbox->loan = loan;
}

/* The first refusal of an edit is told by the lender's draft. */
static void settle(lua_State *L, const SandboxHandle *sandbox) {
  const Loan *loan = sandbox->loan;
  lua_State *other = sandbox_state(sandbox->sandbox);
  DraftHandle *home = loan->draft != NULL ? (DraftHandle *)loan->home : NULL;
  if (home == NULL || loan->draft->refused == 0 || !lua_checkstack(other, 4)) return;
  if (home->refused == 0) {
    Crossing crossing = {.from = other, .to = L, .bytes_max = SIZE_MAX};
    lua_rawgetp(L, LUA_REGISTRYINDEX, sandbox);
    lua_rawgeti(L, -1, LOAN_DRAFT);
    lua_rawgetp(other, LUA_REGISTRYINDEX, sandbox);
    lua_getiuservalue(other, -1, DRAFT_REFUSAL);
    bind_cross(&crossing, -1);
    lua_setiuservalue(L, -2, DRAFT_REFUSAL);
    lua_pop(L, 2);
    lua_pop(other, 2);
  }
  home->refused += loan->draft->refused;
}

/* (sandbox, results) -> copies of the values on the sandbox's stack */
static int collect(lua_State *L) {
  SandboxHandle *sandbox = lua_touserdata(L, 1);
  int results = (int)lua_tointeger(L, 2);
  Crossing crossing = {.from = sandbox_state(sandbox->sandbox), .to = L, .sandbox = sandbox,
                       .bytes_max = sandbox_memory_limit(sandbox->sandbox)};
  lua_settop(L, 0);
  settle(L, sandbox);
  for (int i = 1; i <= results; i++) bind_cross(&crossing, i);
  return results;
}

static void clear(lua_State *L, const void *key) {
  if (!lua_checkstack(L, 2)) return;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) != LUA_TNIL) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
  }
  lua_pop(L, 1);
}

int bind_end_loan(lua_State *L, SandboxHandle *sandbox, int results) {
  Loan *loan = sandbox->loan;
  lua_State *other = sandbox_state(sandbox->sandbox);
  lua_settop(L, loan->base);
  lua_pushcfunction(L, collect);
  lua_pushlightuserdata(L, sandbox);
  lua_pushinteger(L, results);
  int status = lua_pcall(L, 2, LUA_MULTRET, 0);
  if (loan->draft != NULL) {
    loan->draft->draft = NULL;
    loan->owner->conversation = NULL;
  }
  sandbox->loan = NULL;
  lua_settop(other, 0);
  clear(other, sandbox);
  clear(L, sandbox);
  return status;
}

/* ---- edits that need the lender ---- */

/* (conversation) */
static int ask_clock(lua_State *L) {
  ConversationHandle *handle = lua_touserdata(L, 1);
  bind_ask_clock(L, 1, handle->callbacks);
  return 0;
}

ConversationHandle *bind_enter_lent(lua_State *L, ConversationHandle *handle) {
  Loan *loan = handle->loan;
  lua_State *lender = loan->lender;
  lua_settop(lender, loan->base);
  handle->callbacks->L = lender;
  handle->callbacks->self = loan->conversation;
  if (!handle->callbacks->has_clock) return handle;
  lua_pushcfunction(lender, ask_clock);
  lua_pushvalue(lender, loan->conversation);
  if (lua_pcall(lender, 1, 0, 0) != LUA_OK) bind_carry_error(L, lender);
  handle->callbacks->L = lender;             /* the clock may have edited something itself */
  handle->callbacks->self = loan->conversation;
  return handle;
}

int bind_raise_lent(lua_State *L, ConversationHandle *handle) {
  lua_settop(handle->loan->lender, handle->callbacks->failed);
  return bind_carry_error(L, handle->loan->lender);
}
