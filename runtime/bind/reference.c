/*
** Userdata that name messages and units: a seq, and the owner in whose list it stands.
*/
#include "bind/argument.h"
#include "bind/reference.h"
#include "bind/type.h"
#include "sandbox/guard.h"

const BindType BIND_MESSAGE = {
  .name = "Message",
  .edits = "chat:replace, draft:replace or the table that a filter returns puts another in its place"};
const BindType BIND_UNIT = {.name = "Unit"};

void bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint) {
  owner = lua_absindex(L, owner);
  MessageHandle *handle = bind_new(L, &BIND_MESSAGE, sizeof *handle, 1);
  *handle = (MessageHandle){.id = id, .hint = hint};
  guard_place(L, -1, id);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
}

void bind_set_message(lua_State *L, int index, MessageId id) {
  MessageHandle *handle = lua_touserdata(L, index);
  handle->id = id;
  guard_place(L, index, id);
}

MessageId bind_check_message(lua_State *L, int index) {
  MessageHandle *handle = bind_check(L, index, &BIND_MESSAGE);
  return handle->id;
}

void bind_push_unit(lua_State *L, int owner, MessageId first) {
  owner = lua_absindex(L, owner);
  UnitHandle *handle = bind_new(L, &BIND_UNIT, sizeof *handle, 1);
  handle->first = first;
  guard_place(L, -1, first);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
}
