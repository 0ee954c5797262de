/*
** Guard: what C functions call before they work for a script, so that their work counts
** against the script's limits (sandbox.h).
**
** Outside of a sandbox (a plain Lua state, the user's own script) these functions cost one
** comparison and do nothing else.
*/
#ifndef EBB_SANDBOX_GUARD_H
#define EBB_SANDBOX_GUARD_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts `units` of fuel, each about one VM instruction or 5 ns. Raises when a limit is reached:
   everything that the caller has allocated must belong to the collector then. */
void guard_charge(lua_State *L, uint64_t units);

/* Counts the fuel of work that touches `bytes` bytes at the speed of memcpy. Raises as guard_charge. */
void guard_charge_bytes(lua_State *L, size_t bytes);

/* guard_charge for functions that make many objects: it collects where memory is nearly full. Else the limit would
   refuse one of them in the end, and Lua collect in one stretch that no deadline interrupts. Whatever the caller has
   made must be on the stack. */
void guard_charge_objects(lua_State *L, uint64_t units);

/* lua_pcall for C functions that must clean up after a script's function: it returns with an error also when the script
   is stopped, which otherwise runs none of the functions around. Needs a free slot of the stack. */
int guard_pcall(lua_State *L, int arguments, int results);

/* Tells the collector of memory that a userdata owns in another allocator, by a step. */
void guard_weigh(lua_State *L, size_t bytes);

/* Counts bytes outside of the state, which stay until the host's call is over, against the limit of
   memory. Raises if that is reached; so call it before the bytes are allocated. */
void guard_hold(lua_State *L, size_t bytes);

/* A part of a call with a limit of its own, for a piece of code that may fail alone. Between begin and
   end the code is stopped after `fuel` units, or a quarter of the remaining time. guard_part_end
   returns the remaining fuel of the part; *over: the part was used up, and the call continues. If the
   limits of the whole call are used up, it is stopped at its next instruction. Parts may be nested. */
typedef struct GuardPart {
  uint64_t fuel, microseconds;   /* limits around it */
  uint64_t end;                  /* the used fuel at which the part ends */
} GuardPart;
GuardPart guard_part_begin(lua_State *L, uint64_t fuel);
uint64_t  guard_part_end(lua_State *L, GuardPart part, bool *over);

/* As luaL_checkstack, for any state: makes room for `room` more values, or raises. A stack that would be too long is
   "stack overflow (what)"; `what` may be NULL. Memory that is missing is Lua's error of memory, which luaL_checkstack
   calls a stack overflow, too. */
void guard_check_stack(lua_State *L, int room, const char *what);
/* Pushes a userdata for the library's own work, to which the limit of one block does not apply. May
   raise, for want of memory. Every userdata that a script can have comes from here: it has a number, by
   which pairs orders keys. */
void *guard_userdata(lua_State *L, size_t size, int user_values);
/* True if the allocator ends what userdata own: in sandboxes, where malloc aligns to 16 bytes. */
bool  guard_ends_owners(lua_State *L);
/* As guard_userdata, of zero bytes, for content that has an end, behind `header` bytes: `end` is called when the block
   goes. It may free, and call nothing of Lua's; it must bear zero bytes, and content that it has ended. Where
   guard_ends_owners is false, a finalizer of the caller's calls it. */
void *guard_owner(lua_State *L, size_t size, int user_values, size_t header, void (*end)(void *content));
/* The label of the value at index: a number that texts have in the place of its address, in the order in
   which values were first written. For states of a sandbox. Raises, for want of memory. */
lua_Integer guard_label(lua_State *L, int index);
/* Sets the place of a userdata of guard_userdata in the order of keys; those without one come last, and
   equal ones in the order in which they were created. */
void  guard_place(lua_State *L, int index, uint32_t place);

#endif
