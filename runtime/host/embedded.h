/*
** Embedded: the Lua library as bytecode, made by embed.lua at build time.
*/
#ifndef EBB_HOST_EMBEDDED_H
#define EBB_HOST_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedModule {
  const char *name;             /* as `require` knows it */
  const unsigned char *bytes;
  size_t size;
} EmbeddedModule;

extern const EmbeddedModule embedded_modules[];   /* sorted by name */
extern const size_t embedded_count;

#endif
