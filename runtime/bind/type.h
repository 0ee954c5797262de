/*
** Types of userdata and tables of bound functions.
**
**   - A userdata is made, empty, before anything that can raise; its __gc frees
**     what it holds. So a raised error leaks nothing.
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
  /* Messages that a value stands for, where a price depends on them; NULL: none. Raises nothing. */
  uint64_t (*messages)(lua_State *L, int index);
} BindType;

/* What a call of a bound function costs a sandboxed script. */
typedef enum Charge {
  CHARGE_STEP = 1,           /* looks something up */
  CHARGE_PATH,               /* one or some paths of the tree: O(log n) */
  CHARGE_LIST,               /* walks over the messages of its arguments */
  CHARGE_TEXT,               /* reads its texts: tokens, JSON */
  CHARGE_NEVER               /* files and the like: refused to sandboxed scripts */
} Charge;

/* A bound function. Parameters are names separated by spaces: errors quote them, and
   what users read in lua/ebb/meta is held against them. */
typedef struct BindMethod {
  const char *name;
  lua_CFunction function;
  const char *parameters;
  Charge charge;
} BindMethod;

#define BIND_END {NULL, NULL, NULL, CHARGE_NEVER}      /* the last of a table */

/* Makes a metatable with a table of methods; `index` (NULL: methods only) is
   asked first and answers 0 values for "look among the methods". Leaves
   nothing on the stack. */
void  bind_type(lua_State *L, const BindType *type, lua_CFunction index, lua_CFunction length, lua_CFunction gc);
/* Adds methods to a type; the array is static. */
void  bind_methods(lua_State *L, const BindType *type, const BindMethod *methods);
/* Adds plain functions to the table on top; `owner` names it: "core.draft". */
void  bind_functions(lua_State *L, const char *owner, const BindMethod *functions);
/* Pushes the table of methods. */
void  bind_push_methods(lua_State *L, const BindType *type);
/* Pushes {["Type:method"] = {"a", "b"}, ["owner.name"] = ...}, the names of all parameters; empty in a sandbox. */
void  bind_push_parameters(lua_State *L);
/* Pushes the table of functions that tostring calls, by the name of the type; each answers a text, or nil. */
void  bind_push_descriptions(lua_State *L);
/* "step", "path", "list", "text" or "never" for "Type:method" or "owner.name"; NULL: there is no such function. */
const char *bind_charge_name(lua_State *L, const char *name);
/* The bound function that runs, or NULL; *owner is "Draft:" or "core.draft.". */
const BindMethod *bind_running(lua_State *L, const char **owner);

void *bind_new(lua_State *L, const BindType *type, size_t size, int user_values);     /* zeroed */
void *bind_test(lua_State *L, int index, const BindType *type);      /* NULL: it is not of that type */
/* The type of a value, or NULL. */
const BindType *bind_type_of(lua_State *L, int index);

/* Pushes a block of `size` zero bytes, for which the collector calls `end` once. */
void *bind_own(lua_State *L, size_t size, void (*end)(void *block));
/* The block of the value at `index` if it has that `end`, or NULL. */
void *bind_test_owned(lua_State *L, int index, void (*end)(void *block));

/* The end of every index function: the method under the key at 2, or an error
   with a hint. */
int   bind_index_method(lua_State *L, const BindType *type);
/* Fields of a type by name, NULL at the end: opened once; then the key at 2 of
   an index function gives its number, or -1. Leaves two values on the stack. */
void  bind_open_fields(lua_State *L, const BindType *type, const char *const *names);
int   bind_find_field(lua_State *L, const char *const *names);

#endif
