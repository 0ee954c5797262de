/*
** Numbers: in which order the objects of a sandbox were created.
**
** Tables, functions, coroutines and userdata have no order of their own as keys but that of their addresses, which
** differs from run to run. So the allocator counts them:
**
**     | number, 8 bytes | table, function or coroutine ...    at an address of 16 n + 8, where no other block begins
**     | userdata ...    | number, place |                     at its end (guard_userdata); one that owns something
**                                                             outside of Lua lies there too (owner.h)
**
** C functions without upvalues are no objects: the library's have the order in which it was opened.
**
** The place of a userdata is an order of its type's, which comes before the number: of a message its seq.
*/
#ifndef EBB_SANDBOX_NUMBER_H
#define EBB_SANDBOX_NUMBER_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_SIZE  8
#define NUMBER_COST  16           /* bytes of memory: allocators hand out multiples of 16 */
#define NUMBER_KINDS (1u << LUA_TTABLE | 1u << LUA_TFUNCTION | 1u << LUA_TTHREAD)
#define NO_PLACE     UINT32_MAX
#define FUNCTION_PLACE (NO_PLACE - 1)    /* of C functions without upvalues: before all that have no place */

/* Where malloc aligns to 8 bytes only, blocks cannot be told apart: there the order is that of addresses. */
#define HAS_NUMBERS (_Alignof(max_align_t) >= 16)

typedef struct Number {
  uint64_t number;
  uint32_t place;
} Number;

/* True for the kinds of new blocks, as Lua tells its allocator, that have a number before them. */
static inline bool number_is_for(int kind) {
  return HAS_NUMBERS && kind > 0 && kind <= LUA_TTHREAD && (NUMBER_KINDS >> kind & 1u) != 0;
}

static inline bool number_is_before(const void *block) {
  return HAS_NUMBERS && ((uintptr_t)block & 15) == NUMBER_SIZE;
}

struct Sandbox;
/* Gives a C function without upvalues the next number, if it has none. */
void   number_function(struct Sandbox *sandbox, lua_CFunction function);
/* The number of the table, function, coroutine or userdata at `index`; of other values their address. */
Number number_of(lua_State *L, int index);

/* True for C functions without upvalues: they are no objects. */
bool   number_is_absent(lua_State *L, int index);

#endif
