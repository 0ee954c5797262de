/*
** Trusted library: Lua modules of the program in a sandbox's state, beside the scripts.
**
**     _G of the state          what scripts start from
**     the library's globals    copies of it, and a `require` of the program's modules,
**                              debug.getinfo, an os.getenv that finds no variable
**
** Nothing that a script changes is seen by the library. In its globals `_G` is the
** state's, and chunks of `load` run in the globals of scripts.
*/
#ifndef EBB_SANDBOX_TRUSTED_LIBRARY_H
#define EBB_SANDBOX_TRUSTED_LIBRARY_H

#include <lua.h>

/* Opens the library before a script has run. Pops a function, find(name) -> the loader of
   a module: a chunk, which gets the library's globals, or a C function; it raises for an
   unknown name. Raises for lack of memory; the next call opens all of it anew. */
void trusted_library_open(lua_State *L);
/* Pushes the library's globals, or its modules by name: {name = module}. */
void trusted_library_push_globals(lua_State *L);
void trusted_library_push_modules(lua_State *L);
/* Pushes a module; loads it with its first use. Raises what find and the module raise. */
void trusted_library_require(lua_State *L, const char *name);

#endif
