#include "core/message/arena.h"

#include <assert.h>
#include <stdint.h>

/* Capacities of blocks: doubled from the least to the greatest. */
#define BLOCK_MIN 1024
#define BLOCK_MAX (256 * 1024)

typedef struct ArenaBlock {
  struct ArenaBlock *older;
  char *bytes;
  size_t used, capacity;
} ArenaBlock;

struct Arena {
  Memory memory;
  uint32_t owners;
  Arena *base;
  ArenaBlock *blocks;
  size_t position;           /* bytes allocated and adopted; >= those of both marks below */
  ArenaMark shared, kept;    /* the states at the last arena_share and arena_keep */
};

Status arena_new(const Memory *memory, Arena *base, Arena **result) {
  Arena *arena = memory_new(memory, sizeof *arena);
  if (arena == NULL) return STATUS_MEMORY;
  *arena = (Arena){.memory = *memory, .owners = 1, .base = base};
  *result = arena;
  return STATUS_OK;
}

Arena *arena_share(Arena *arena) {
  arena->owners++;
  arena->shared = arena_mark(arena);
  return arena;
}

static void drop_block(Arena *arena) {
  ArenaBlock *block = arena->blocks;
  arena->blocks = block->older;
  memory_free(&arena->memory, block->bytes, block->capacity);
  memory_free(&arena->memory, block, sizeof *block);
}

/* Releases the bases in a loop: each fork of a fork adds one. */
void arena_release(Arena *arena) {
  assert(arena == NULL || arena->owners > 0);
  while (arena != NULL && --arena->owners == 0) {
    Arena *base = arena->base;
    Memory memory = arena->memory;
    while (arena->blocks != NULL) drop_block(arena);
    memory_free(&memory, arena, sizeof *arena);
    arena = base;
  }
}

static Status add_block(Arena *arena, char *bytes, size_t used, size_t capacity) {
  ArenaBlock *block = memory_new(&arena->memory, sizeof *block);
  if (block == NULL) return STATUS_MEMORY;
  assert(used <= capacity);
  *block = (ArenaBlock){.older = arena->blocks, .bytes = bytes, .used = used, .capacity = capacity};
  arena->blocks = block;
  return STATUS_OK;
}

static Status add_empty_block(Arena *arena, size_t size) {
  size_t capacity = arena->blocks == NULL ? BLOCK_MIN : arena->blocks->capacity * 2;
  if (capacity > BLOCK_MAX) capacity = BLOCK_MAX;
  if (capacity < size) capacity = size;
  char *bytes = memory_new(&arena->memory, capacity);
  if (bytes == NULL) return STATUS_MEMORY;
  Status status = add_block(arena, bytes, 0, capacity);
  if (status != STATUS_OK) memory_free(&arena->memory, bytes, capacity);
  return status;
}

void *arena_allocate(Arena *arena, size_t size) {
  size = (size + 7) & ~(size_t)7;
  ArenaBlock *block = arena->blocks;
  if (block == NULL || block->capacity - block->used < size) {
    if (add_empty_block(arena, size) != STATUS_OK) return NULL;
    block = arena->blocks;
  }
  void *bytes = block->bytes + block->used;
  block->used += size;
  arena->position += size;
  assert(block->used <= block->capacity && (uintptr_t)bytes % 8 == 0);
  return bytes;
}

Status arena_adopt(Arena *arena, char *bytes, size_t capacity) {
  Status status = add_block(arena, bytes, capacity, capacity);
  if (status == STATUS_OK) arena->position += capacity;
  return status;
}

ArenaMark arena_mark(const Arena *arena) {
  return (ArenaMark){.block = arena->blocks, .used = arena->blocks == NULL ? 0 : arena->blocks->used,
                     .position = arena->position};
}

void arena_keep(Arena *arena) { arena->kept = arena_mark(arena); }

void arena_rewind(Arena *arena, ArenaMark mark) {
  if (mark.position < arena->kept.position) mark = arena->kept;
  if (arena->owners > 1 && mark.position < arena->shared.position) mark = arena->shared;
  assert(mark.position <= arena->position);
  while (arena->blocks != mark.block) {
    assert(arena->blocks != NULL);
    drop_block(arena);
  }
  if (arena->blocks != NULL) arena->blocks->used = mark.used;
  arena->position = mark.position;
  assert(arena->position >= arena->kept.position);
}
