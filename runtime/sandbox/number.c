#include "sandbox/number.h"

#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

/* A userdata's own: the last bytes of its block. */
static char *end_of(lua_State *L, int index) {
  return (char *)lua_touserdata(L, index) + lua_rawlen(L, index) - sizeof(Number);
}

/* Where it stands among those of the library; function_count: nowhere. */
static uint32_t find_function(const Sandbox *sandbox, lua_CFunction function) {
  uint32_t i = 0;
  while (i < sandbox->function_count && sandbox->functions[i] != function) i++;
  return i;
}

bool number_is_absent(lua_State *L, int index) {
  if (!lua_iscfunction(L, index)) return false;
  bool plain = lua_getupvalue(L, index, 1) == NULL;
  if (!plain) lua_pop(L, 1);
  return plain;
}

void number_function(Sandbox *sandbox, lua_CFunction function) {
  if (find_function(sandbox, function) < sandbox->function_count) return;
  assert(sandbox->function_count < FUNCTION_ROOM);
  sandbox->functions[sandbox->function_count++] = function;
}

/* The block of a value that the allocator may have numbered. */
static const void *block_of(lua_State *L, int index) {
  lua_State *thread = lua_tothread(L, index);
  return thread != NULL ? lua_getextraspace(thread) : lua_topointer(L, index);
}

Number number_of(lua_State *L, int index) {
  Number result = {.place = NO_PLACE};
  if (lua_type(L, index) == LUA_TUSERDATA && lua_rawlen(L, index) >= sizeof result) {
    memcpy(&result, end_of(L, index), sizeof result);
    return result;
  }
  if (number_is_absent(L, index)) {
    return (Number){.number = find_function(sandbox_of(L), lua_tocfunction(L, index)), .place = FUNCTION_PLACE};
  }
  const void *block = block_of(L, index);
  if (number_is_before(block)) memcpy(&result.number, (const char *)block - NUMBER_SIZE, sizeof result.number);
  else result.number = (uintptr_t)block;
  return result;
}

/* The next number, to the userdata on top. */
static void give_number(lua_State *L) {
  Number number = {.number = ++sandbox_of(L)->objects, .place = NO_PLACE};
  memcpy(end_of(L, -1), &number, sizeof number);
}

void *guard_userdata(lua_State *L, size_t size, int user_values) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox == NULL) return lua_newuserdatauv(L, size, user_values);
  void *result = guard_block(L, size + sizeof(Number), user_values);
  give_number(L);
  return result;
}

bool guard_ends_owners(lua_State *L) { return HAS_NUMBERS && sandbox_of(L) != NULL; }

void *guard_owner(lua_State *L, size_t size, int user_values, size_t header, void (*end)(void *content)) {
  assert(header <= size);
  if (!guard_ends_owners(L)) return memset(guard_userdata(L, size, user_values), 0, size);
  Sandbox *sandbox = sandbox_of(L);
  char *content = memset(guard_owner_block(L, size + OWNER_TRAILER, user_values), 0, size);
  owner_mark(sandbox->last_userdata.block, content + size, (OwnerTrailer){.end = end, .content = content + header});
  give_number(L);
  return content;
}

void guard_place(lua_State *L, int index, uint32_t place) {
  if (sandbox_of(L) != NULL) memcpy(end_of(L, index) + offsetof(Number, place), &place, sizeof place);
}
