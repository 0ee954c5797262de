/*
** What tests of regular expressions live in: an engine whose memory can be made to fail.
*/
#ifndef EBB_TESTS_REGEX_WORLD_H
#define EBB_TESTS_REGEX_WORLD_H

#include "check.h"

#include <stdlib.h>

#include "regex/regex.h"

typedef struct World {
  Fail fail;
  Memory memory;
  RegexEngine *engine;
} World;

static int open_world(void **state) {
  World *world = calloc(1, sizeof *world);
  world->memory = fail_memory(&world->fail);
  *state = world;
  return regex_engine_new(&world->memory, &world->engine) != STATUS_OK;
}

static int close_world(void **state) {
  World *world = *state;
  regex_engine_free(world->engine);
  size_t left = world->fail.in_use;
  free(world);
  return left != 0;
}

#endif
