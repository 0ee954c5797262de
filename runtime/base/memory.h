/*
** Memory: the host's allocator. All of Ebb's own memory goes through one of these,
** so a host can count it, cap it, or make it fail.
**
** The contract is lua_Alloc's: `allocate(user, NULL, 0, n)` makes a block,
** `allocate(user, block, old, n)` resizes it (on failure the old block stays),
** `allocate(user, block, old, 0)` frees it and returns NULL. `old` is always the
** true size. Blocks are aligned as by malloc.
*/
#ifndef EBB_BASE_MEMORY_H
#define EBB_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "Ebb needs a 64-bit system");

typedef struct Memory {
  void *(*allocate)(void *user, void *block, size_t old_size, size_t new_size);
  void *user;
} Memory;

/* malloc, realloc and free. */
Memory memory_system(void);

/* A new block of `size` bytes, not cleared; NULL if there is no memory. size > 0 */
void *memory_new(const Memory *memory, size_t size);

/* A new block of count * size bytes, not cleared; NULL also if the product overflows. count > 0 */
void *memory_new_array(const Memory *memory, size_t count, size_t size);

/* Resizes `block` (NULL: a new one) to new_count elements of `size` bytes. NULL on
   failure; `block` is unchanged then. new_count > 0 */
void *memory_resize_array(const Memory *memory, void *block, size_t old_count, size_t new_count, size_t size);

/* Makes room in a list of *room elements (at first NULL and 0) for one more than `used`, by doubling it. Returns
   the list, which may have moved. NULL if there is no memory; the list is unchanged then. Free with *room * size. */
void *memory_grow(const Memory *memory, void *list, uint32_t *room, uint32_t used, size_t size);

/* Copies a C string into a new block; NULL if there is no memory. */
char *memory_copy_string(const Memory *memory, const char *string);
void memory_free_string(const Memory *memory, char *string);   /* NULL is allowed */

/* NULL is allowed. `size` is what the block was made with. */
void memory_free(const Memory *memory, void *block, size_t size);

#endif
