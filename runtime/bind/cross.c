/*
** Values that cross between the state of a program and that of a sandbox.
**
**     nil, booleans, numbers, strings, ebb.null       as they are
**     tables                                          copies, fields read raw; lists and raw JSON stay such
**     a lent draft, its messages                      the handle of the other side
**     functions into the sandbox                      callbacks, until the call ends
**     functions out of it                             proxies, where the caller wants them
**
** The state that is read gets no new objects and cannot raise: it may be in the
** middle of something else.
*/
#include <string.h>

#include "bind/bind.h"
#include "sandbox/sandbox.h"

#define VALUES_MAX 4000000   /* out of a sandbox: a small table may say many */
#define PRESIZED   8         /* elements of a list; its length is only what the other side says */

static void copy(Crossing *crossing, int index, int depth);

static int refuse(Crossing *crossing, const char *what) {
  const char *way = crossing->inward ? "enter" : "leave";
  return bind_raise(crossing->to, "argument", NULL, "%s cannot %s a sandbox", what, way);
}

static void copy_key(Crossing *crossing) {
  int kind = lua_type(crossing->from, -2);
  if (kind != LUA_TSTRING && kind != LUA_TNUMBER && kind != LUA_TBOOLEAN) {
    refuse(crossing, lua_pushfstring(crossing->to, "a table with a %s as key", lua_typename(crossing->to, kind)));
  }
  copy(crossing, lua_gettop(crossing->from) - 1, 0);
}

static void copy_table(Crossing *crossing, int index, int depth) {
  lua_State *from = crossing->from, *to = crossing->to;
  if (depth >= CROSS_DEPTH) refuse(crossing, "a table that is nested so deep");
  size_t size = lua_rawlen(from, index);
  lua_createtable(to, size < PRESIZED ? (int)size : PRESIZED, 0);
  lua_pushnil(from);
  while (lua_next(from, index) != 0) {
    copy_key(crossing);
    copy(crossing, lua_gettop(from), depth + 1);
    lua_rawset(to, -3);
    lua_pop(from, 1);
  }
  bind_set_json_mark(to, bind_json_mark(from, index));
}

static void copy_string(Crossing *crossing, int index) {
  size_t size;
  const char *bytes = lua_tolstring(crossing->from, index, &size);
  crossing->bytes += size;
  lua_pushlstring(crossing->to, bytes, size);
}

/* A message of the lent draft, or the draft itself; nothing else is at home on both sides. */
static void copy_userdata(Crossing *crossing, int index) {
  lua_State *from = crossing->from, *to = crossing->to;
  bool is_draft = bind_test(from, index, &BIND_DRAFT) != NULL;
  if (is_draft && crossing->inward) {
    bind_lend_draft(crossing, index);
    return;
  }
  if (!is_draft && bind_test(from, index, &BIND_MESSAGE) == NULL) {
    const BindType *type = bind_type_of(from, index);
    refuse(crossing, lua_pushfstring(to, "a %s", type != NULL ? type->name : "userdata"));
  }
  if (!bind_push_partner(crossing, index)) refuse(crossing, is_draft ? "another draft" : "a message of another draft");
}

static void copy_function(Crossing *crossing, int index) {
  bool known =
      bind_push_original(crossing, index) || bind_push_lent(crossing, index) || bind_push_proxy(crossing, index);
  if (!known && !(crossing->lends && bind_push_callback(crossing, index))) refuse(crossing, "a function");
}

static void check_caps(Crossing *crossing) {
  if (crossing->inward) return;              /* what enters is held by the sandbox's own limit */
  if (crossing->values > VALUES_MAX || crossing->bytes > crossing->bytes_max) refuse(crossing, "so much at once");
}

static void copy(Crossing *crossing, int index, int depth) {
  lua_State *from = crossing->from, *to = crossing->to;
  int kind = lua_type(from, index);
  luaL_checkstack(to, 6, "values that cross");
  if (!lua_checkstack(from, 8)) bind_raise(to, "memory", NULL, "not enough memory for what crosses");
  crossing->values++;
  check_caps(crossing);
  switch (kind) {
    case LUA_TNIL: lua_pushnil(to); return;
    case LUA_TBOOLEAN: lua_pushboolean(to, lua_toboolean(from, index)); return;
    case LUA_TNUMBER:
      if (lua_isinteger(from, index)) lua_pushinteger(to, lua_tointeger(from, index));
      else lua_pushnumber(to, lua_tonumber(from, index));
      return;
    case LUA_TSTRING: copy_string(crossing, index); return;
    case LUA_TTABLE: copy_table(crossing, index, depth); return;
    case LUA_TUSERDATA: copy_userdata(crossing, index); return;
    case LUA_TFUNCTION: copy_function(crossing, index); return;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(from, index) == NULL) {
        lua_pushlightuserdata(to, NULL);     /* ebb.null */
        return;
      }
      break;
    default: break;
  }
  refuse(crossing, lua_pushfstring(to, "a %s", lua_typename(to, kind)));
}

void bind_cross(Crossing *crossing, int index) {
  copy(crossing, lua_absindex(crossing->from, index), 0);
}

int bind_carry_error(lua_State *L, lua_State *other) {
  Crossing crossing = {.from = other, .to = L, .inward = true};
  int kind = lua_type(other, -1);
  if (kind == LUA_TSTRING) {
    bind_cross(&crossing, -1);
  } else if (bind_is_error(other, -1)) {
    bind_cross(&crossing, -1);               /* its fields are texts */
    bind_mark_error(L);
  } else {
    lua_pushfstring(L, "(error object is a %s value)", lua_typename(L, kind));
  }
  return lua_error(L);
}
