/*
** Ebb for hosts that know Lua: C functions on the stack of the Lua inside.
**
**     static int roll(const ebb_lua *lua, ebb_lua_state *L, void *user) {
**       int64_t sides = lua->checkinteger(L, 1);
**       if (sides < 1) return lua->raise(L, "argument", "a die of %d sides", (int)sides);
**       lua->pushinteger(L, 1 + dice_next(user) % sides);
**       return 1;
**     }
**
**     ebb_lua_register(runtime, "host.roll", roll, &dice, 20);      -- scripts: host.roll(6)
**
** libebb hides its Lua, 5.4, so that it cannot meet another one of the host's. So
** no liblua that the host links knows these states, and the type is another one
** than lua_State for the compiler to say so. Each function of ebb_lua does what
** Lua's function of that name does, lua_ or luaL_ before it. What is not here
** would lead out of the sandbox: threads, hooks, bytecode, C modules, other metatables.
**
** (A host with a Lua 5.4 of its own that wants Ebb in there needs no libebb: the
** module does that, `require "ebb"`. It knows soft limits only: that state is
** the host's. Hosts that need neither stacks nor objects have ebb_register.)
**
** L is valid until the function returns. Functions here may raise an error, which
** leaves the C function at once, without its cleanup or C++ destructors: what it
** must free it gives to an object (newobject), or frees before. A C++ exception
** must not leave it. It runs in the C locale (ebb.h says why). `L` is the script's:
** what it calls is charged to the script, and it may be stopped there. The functions
** of ebb.h answer EBB_BUSY meanwhile, but for those that only read chats.
*/
#ifndef EBB_LUA_H
#define EBB_LUA_H

#include "ebb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_lua ebb_lua;
typedef struct ebb_lua_state ebb_lua_state;

/* Arguments are at 1 to gettop; the answer is how many results are on top. */
typedef int (*ebb_lua_function)(const ebb_lua *lua, ebb_lua_state *L, void *user);

enum {
  EBB_LUA_NONE = -1, EBB_LUA_NIL, EBB_LUA_BOOLEAN, EBB_LUA_LIGHTUSERDATA, EBB_LUA_NUMBER, EBB_LUA_STRING,
  EBB_LUA_TABLE, EBB_LUA_FUNCTION, EBB_LUA_USERDATA, EBB_LUA_THREAD
};

/* A kind of objects that scripts hold. It is known by its address, and must live
   as long as the runtime. Scripts see the methods, object:name(...), and nothing else. */
typedef struct ebb_lua_method {
  const char *name;
  ebb_lua_function function;             /* the object is at 1: checkobject; `user` is that of the type */
  uint64_t cost;
} ebb_lua_method;

typedef struct ebb_lua_type {
  const char *name;                      /* in errors: "door" */
  const ebb_lua_method *methods;         /* ends with a NULL name; may be NULL */
  void (*finish)(void *object, void *user);   /* once, when it is collected, or with the runtime; may be NULL */
  void *user;
} ebb_lua_type;

struct ebb_lua {
  size_t size;                           /* later versions may add functions behind */

  /* the stack */
  int         (*gettop)(ebb_lua_state *L);
  void        (*settop)(ebb_lua_state *L, int index);
  void        (*pushvalue)(ebb_lua_state *L, int index);
  void        (*rotate)(ebb_lua_state *L, int index, int count);
  void        (*checkstack)(ebb_lua_state *L, int room, const char *message);   /* 20 places are there */

  /* looking */
  int         (*type)(ebb_lua_state *L, int index);
  int         (*toboolean)(ebb_lua_state *L, int index);
  int64_t     (*tointegerx)(ebb_lua_state *L, int index, int *is_integer);
  double      (*tonumberx)(ebb_lua_state *L, int index, int *is_number);
  const char *(*tolstring)(ebb_lua_state *L, int index, size_t *size);
  uint64_t    (*rawlen)(ebb_lua_state *L, int index);

  /* arguments; these raise "bad argument" */
  int64_t     (*checkinteger)(ebb_lua_state *L, int index);
  double      (*checknumber)(ebb_lua_state *L, int index);
  const char *(*checklstring)(ebb_lua_state *L, int index, size_t *size);
  int64_t     (*optinteger)(ebb_lua_state *L, int index, int64_t otherwise);
  void        (*checktype)(ebb_lua_state *L, int index, int type);

  /* making */
  void        (*pushnil)(ebb_lua_state *L);
  void        (*pushboolean)(ebb_lua_state *L, int value);
  void        (*pushinteger)(ebb_lua_state *L, int64_t value);
  void        (*pushnumber)(ebb_lua_state *L, double value);
  void        (*pushlstring)(ebb_lua_state *L, const char *bytes, size_t size);
  void        (*createtable)(ebb_lua_state *L, int elements, int fields);

  /* tables */
  int         (*getfield)(ebb_lua_state *L, int index, const char *name);
  void        (*setfield)(ebb_lua_state *L, int index, const char *name);
  int         (*geti)(ebb_lua_state *L, int index, int64_t element);
  void        (*seti)(ebb_lua_state *L, int index, int64_t element);
  int         (*next)(ebb_lua_state *L, int index);
  int         (*getglobal)(ebb_lua_state *L, const char *name);           /* of scripts */

  /* functions; `call` runs to the end: slices do not interrupt it */
  void        (*call)(ebb_lua_state *L, int arguments, int results);
  /* Raises {code, message}, the code one of ebb_status_name's or your own. Never returns. */
  int         (*raise)(ebb_lua_state *L, const char *code, const char *format, ...);

  /* values that the host keeps, such as a function of a script's */
  int         (*ref)(ebb_lua_state *L);                                   /* pops it */
  int         (*pushref)(ebb_lua_state *L, int ref);                      /* its type */
  void        (*unref)(ebb_lua_state *L, int ref);

  /* objects: `size` bytes, zeroed, aligned as malloc's, which the collector frees */
  void       *(*newobject)(ebb_lua_state *L, size_t size, const ebb_lua_type *type);
  void       *(*checkobject)(ebb_lua_state *L, int index, const ebb_lua_type *type);
};

/* As ebb_register. EBB_ARGUMENT, EBB_MEMORY. */
EBB_API ebb_status ebb_lua_register(ebb_runtime *runtime, const char *name, ebb_lua_function function, void *user,
                                    uint64_t cost);

/* Runs a function of the host's now, protected, within the runtime's fuel and
   deadline: to call what scripts have left with it. Its results are dropped.
   EBB_SCRIPT and the others of a script that fails. */
EBB_API ebb_status ebb_lua_run(ebb_runtime *runtime, ebb_lua_function function, void *user);

#ifdef __cplusplus
}
#endif
#endif
