/*
** Memory: the allocator that the host handed in. All of Ebb's own memory goes
** through one of these, so a host can count it, cap it, or make it fail.
**
** The contract is lua_Alloc's: `allocate(user, NULL, 0, n)` makes a block,
** `allocate(user, block, old, n)` resizes one (on failure the old one stays),
** `allocate(user, block, old, 0)` frees it and answers NULL. The sizes are
** always the true ones. Blocks are aligned as malloc aligns them.
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

/* A new block of `size` bytes, not cleared; NULL when there is none. size > 0 */
void *memory_new(const Memory *memory, size_t size);

/* A new block of count * size bytes; NULL also when the product overflows. */
void *memory_new_array(const Memory *memory, size_t count, size_t size);

/* `block` (NULL: a new one) with room for new_count elements of `size` bytes.
   NULL on failure, and then `block` is as it was. */
void *memory_resize_array(const Memory *memory, void *block, size_t old_count, size_t new_count, size_t size);

/* A list of *room elements with room for one more than `used`, doubled where it
   has to be; NULL, and the list as it was, when there is no memory. Such lists
   are freed with *room * size. */
void *memory_grow(const Memory *memory, void *list, uint32_t *room, uint32_t used, size_t size);

/* Copies a C string into a new block; NULL if there is no memory. */
char *memory_copy_string(const Memory *memory, const char *string);
void memory_free_string(const Memory *memory, char *string);   /* NULL is allowed */

/* NULL is allowed. `size` is what the block was made with. */
void memory_free(const Memory *memory, void *block, size_t size);

#endif
