/*
** Contents of userdata that have an end, in a sandbox: memory, or a reference, outside of Lua.
**
** Each says at the end of its block what ends it, and the allocator ends it when the block goes. It tells such blocks
** from others by where they begin, and from numbered objects by the word before them:
**
**     | IS_OWNER, 8 bytes | content ... | end, content | number, place |    at an address of 16 n + 8 (number.h)
**
** Finalizers would do the same at a price that grows with what lives: in each of its cycles the collector walks in one
** stretch along all objects that have one, a chat of the host's among them. And at the last of its 200 levels of C
** calls Lua cannot call a finalizer: it gives up, warns, and frees the userdata some time later.
**
** Buffers of Lua's auxiliary library have a finalizer: a long text grows in a block beside its userdata, the box,
** whose form is the library's. Once a sandbox was warned, its allocator ends those, too. Boxes are known by their
** metatable, which no script can reach; how they lie in their blocks is measured when the sandbox opens.
*/
#ifndef EBB_SANDBOX_OWNER_H
#define EBB_SANDBOX_OWNER_H

#include <lua.h>
#include <stdint.h>

#include "sandbox/number.h"

typedef struct OwnerTrailer {
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
/* Says in the word before `block` and at `at`, in the block, what ends its content. */
void owner_mark(char *block, char *at, OwnerTrailer ending);
/* Ends the content of a block of `size` bytes with a word before it, if it is an owner's. */
void owner_release(char *block, size_t size);

/* Lets the sandbox know when Lua gives up a finalizer. Before any script runs. */
void owner_open(struct Sandbox *sandbox);
/* Learns how boxes lie, in a protected call. Raises if memory runs out. */
void owner_learn_boxes(lua_State *L, struct Sandbox *sandbox);
/* Frees what a block of Lua's that goes holds, if it is a box whose finalizer was given up. */
void owner_release_box(struct Sandbox *sandbox, char *block, size_t size);

#endif
