/*
** Guard: what a C function owes before it works for a script.
**
** Outside of a sandbox (a stock Lua, the user's own script) charging costs one
** comparison and does nothing.
*/
#ifndef EBB_SANDBOX_GUARD_H
#define EBB_SANDBOX_GUARD_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/* Units are about one VM instruction, 5 ns. Raises when a limit is reached: own
   nothing then that the collector does not own. */
void guard_charge(lua_State *L, uint64_t units);

/* For work that touches `bytes` bytes at the speed of memcpy. */
void guard_charge_bytes(lua_State *L, size_t bytes);

/* Memory behind a userdata that goes through another allocator: lets the
   collector know of it by a step. */
void guard_weigh(lua_State *L, size_t bytes);

/* Bytes elsewhere that stay until the call is over: they count against the limit of
   memory till then. Raises, before anything is made, where that is reached. */
void guard_hold(lua_State *L, size_t bytes);

/* A part of a call with a limit of its own: what runs between the two ends after
   `fuel` units, or a quarter of the time that is left, as if that were all.
   guard_part_end answers what is left of the part; *over: it was used up, and the
   call goes on. If all is used up, the call falls at its next instruction. Parts may
   stand in one another. Outside of a sandbox they do nothing. */
typedef struct GuardPart {
  uint64_t fuel, microseconds;   /* limits around it */
  uint64_t end;                  /* as fuel that was used */
} GuardPart;
GuardPart guard_part_begin(lua_State *L, uint64_t fuel);
uint64_t  guard_part_end(lua_State *L, GuardPart part, bool *over);

/* A userdata for our own work, which the biggest block does not bound. */
void *guard_userdata(lua_State *L, size_t size, int user_values);

#endif
