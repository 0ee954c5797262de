/*
** Embedded: Lua modules as bytecode, made by embed.lua at build time: for the
** command all of them, for libebb what it needs.
*/
#ifndef EBB_API_EMBEDDED_H
#define EBB_API_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedModule {
  const char *name;             /* as `require` knows it */
  const unsigned char *bytes;
  size_t size;
} EmbeddedModule;

extern const EmbeddedModule embedded_modules[];   /* sorted by name */
extern const size_t embedded_count;

/* NULL: no module has this name. */
const EmbeddedModule *embedded_find(const char *name);

#endif
