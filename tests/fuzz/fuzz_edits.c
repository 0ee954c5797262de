/*
** Operations on conversations and on plain arrays, as in the model test, but
** drawn from the input's bytes, so that a run which meets new code is bred on:
**
**     bytes    | 0x03 | 0x91 0x07 | 0x40 | 0x11 0x02 | ...
**     drawn    which fork,  which operation,  how many, where ...
**
** What is compared after a step is picked by chance of its own, so that all bytes
** are spent on operations.
*/
#undef NDEBUG
#define _GNU_SOURCE /* open_memstream */
#define TEST_BELOW
#include "model_steps.h"

#define OPERATIONS 120       /* of one input */

static struct {
  const uint8_t *bytes;
  size_t size, at;
  bool spent;                /* bytes decide; else chance does */
  uint64_t chance;
} input;

static uint32_t next_byte(void) { return input.at < input.size ? input.bytes[input.at++] : 0; }

/* Chance also ends what was begun when the bytes are gone: who draws until it fits must not draw the same for ever. */
static uint32_t below(uint32_t limit) {
  if (!input.spent || input.at == input.size) return (uint32_t)(test_random(&input.chance) % limit);
  uint32_t drawn = next_byte();
  if (limit > 256) drawn |= next_byte() << 8;
  return drawn % limit;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  templates_make();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input.bytes = data;
  input.size = size;
  input.at = 0;
  input.chance = size;
  run.plan = (Plan){.small = 6, .large = 60};
  run.side_count = 1;
  run.time = 0;
  side_new(&run.sides[0], &run.fail);
  input.spent = true;
  do_add(&run.sides[0], false, 1 + below(12));
  for (uint32_t i = 0; i < OPERATIONS && input.at < input.size; i++) {
    input.spent = true;
    Side *side = &run.sides[below(run.side_count)];
    do_something(side);
    input.spent = false;
    same_side(side, &run.sides[below(run.side_count)]);
  }
  for (uint32_t i = 0; i < run.side_count; i++) same_history(&run.sides[i]);
  for (uint32_t i = 0; i < run.side_count; i++) side_free(&run.sides[i]);
  assert_int_equal(run.fail.in_use, 0);
  return 0;
}
