/*
** Types of userdata and tables of bound functions.
**
**   - A userdata is created empty, before its parts are allocated by calls that can raise;
**     its type's `end` frees them with it. So a raised error leaks nothing.
**   - Metatables are found by the address of their BindType, never by a name
**     that another library might use, and are locked (__metatable = false).
*/
#ifndef EBB_BIND_TYPE_H
#define EBB_BIND_TYPE_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BindType {
  const char *name;          /* as users see it: "Conversation" */
  /* The number of messages that a value stands for, on which the fuel of CHARGE_LIST depends; NULL: 0. Must not
     raise. */
  uint64_t (*messages)(lua_State *L, int index);
  /* Frees what a userdata holds; NULL: it holds nothing outside of Lua. It gets the block of bind_new, perhaps of zero
     bytes or ended before, and may not call Lua. */
  void (*end)(void *block);
  const char *edits;         /* a hint for who sets a field: what edits a value; NULL: nothing does */
} BindType;

/* The fuel that a call of a bound function costs a sandboxed script, by what the function does. */
typedef enum Charge {
  CHARGE_STEP = 1,           /* looks something up */
  CHARGE_PATH,               /* one or some paths of the tree: O(log n) */
  CHARGE_LIST,               /* walks over the messages of its arguments */
  CHARGE_TEXT,               /* reads its texts: tokens, JSON */
  CHARGE_NEVER               /* reaches files and the like: scripts in sandboxes may not call it */
} Charge;

/* A bound function. `parameters` are names separated by spaces: errors quote them, and a test compares them
   with the annotations in lua/ebb/meta. */
typedef struct BindMethod {
  const char *name;
  lua_CFunction function;
  const char *parameters;
  Charge charge;
} BindMethod;

#define BIND_END {NULL, NULL, NULL, CHARGE_NEVER}      /* the last of a table */

/* __newindex of all types that have no other: raises that the field at 2 cannot be assigned, with the type's hint. */
int   bind_refuse_field(lua_State *L);

/* Creates the metatable of a type, and a table of its methods. `index` (NULL: methods only) is its __index
   function, which ends with bind_index_method; `length` may be NULL. Leaves nothing on the stack. */
void  bind_type(lua_State *L, const BindType *type, lua_CFunction index, lua_CFunction length);
/* Adds methods to a type; the array is static. */
void  bind_methods(lua_State *L, const BindType *type, const BindMethod *methods);
/* Adds plain functions to the table on top; `owner` names it: "core.draft". */
void  bind_functions(lua_State *L, const char *owner, const BindMethod *functions);
/* Pushes the table of methods. */
void  bind_push_methods(lua_State *L, const BindType *type);
/* Pushes {["Type:method"] = {"a", "b"}, ["owner.name"] = ...}, the names of all parameters; empty in a sandbox. */
void  bind_push_parameters(lua_State *L);
/* Pushes the table of functions that tostring calls, by the name of the type; each returns a text, or nil. */
void  bind_push_descriptions(lua_State *L);
/* "step", "path", "list", "text" or "never" for "Type:method" or "owner.name"; NULL for other names. */
const char *bind_charge_name(lua_State *L, const char *name);
/* The running bound function, or NULL; *owner gets "Draft:" or "core.draft.". */
const BindMethod *bind_running(lua_State *L, const char **owner);

/* Pushes a userdata of `size` zero bytes, which its type ends. */
void *bind_new(lua_State *L, const BindType *type, size_t size, int user_values);
/* The block of a userdata of that type; NULL for other values. Raises nothing. */
void *bind_test(lua_State *L, int index, const BindType *type);
/* The type of a userdata; NULL for other values. */
const BindType *bind_type_of(lua_State *L, int index);

/* Pushes a block of `size` zero bytes, for which the collector calls `end` once. */
void *bind_own(lua_State *L, size_t size, void (*end)(void *block));
/* The block at `index` if it was pushed with that `end`; NULL for other values. */
void *bind_test_owned(lua_State *L, int index, void (*end)(void *block));

/* The last call of every __index function: pushes the method under the key at 2 and returns 1, or raises with a
   hint. */
int   bind_index_method(lua_State *L, const BindType *type);
/* Declares the fields of a type by name, NULL at the end, once when the type is opened. bind_find_field returns
   the number of the key at 2 of an __index function among them, or -1, and leaves two values on the stack. */
void  bind_open_fields(lua_State *L, const BindType *type, const char *const *names);
int   bind_find_field(lua_State *L, const char *const *names);

#endif
