/*
** Contents of userdata that have an end, in a sandbox: memory, or a reference, outside of Lua.
**
** A finalizer ends them. But at the last of its 200 levels of C calls Lua cannot call one: it gives up, warns, and
** frees the userdata some time later. So each says at its end what ends it, and once a sandbox was warned, its
** allocator ends what goes without:
**
**     | content ... | secret, end, content | number, place |
**
** The secret, random for each sandbox, tells such a block from one of other bytes; it is wiped out when the content
** has ended.
**
** Buffers of Lua's auxiliary library have such content, too: a long text grows in a block beside its userdata, the box,
** whose form is the library's. Boxes are known by their metatable, which no script can reach; how they lie in their
** blocks is measured when the sandbox opens.
*/
#ifndef EBB_SANDBOX_OWNER_H
#define EBB_SANDBOX_OWNER_H

#include <lua.h>
#include <stdint.h>

#include "sandbox/number.h"

typedef struct OwnerTrailer {
  uint64_t secret;           /* of the sandbox; 0: the content has ended */
  void (*end)(void *content);
  void *content;
} OwnerTrailer;

#define OWNER_TRAILER (sizeof(OwnerTrailer) + sizeof(Number))    /* bytes behind the content */

/* How the boxes of buffers lie in their blocks. */
typedef struct OwnerBoxes {
  size_t size;               /* of the block; 0: not known */
  size_t metatable_at, content_at;
  const void *metatable;
} OwnerBoxes;

struct Sandbox;
/* Lets the sandbox know when Lua gives up a finalizer. Before any script runs. */
void owner_open(struct Sandbox *sandbox);
/* Learns how boxes lie, in a protected call. Raises if memory runs out. */
void owner_learn_boxes(lua_State *L, struct Sandbox *sandbox);
/* Ends the content of a block of Lua's that goes, if it has one that has not ended. For the allocator. */
void owner_release(struct Sandbox *sandbox, char *block, size_t size);

#endif
