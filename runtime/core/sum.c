/*
** Sum: how messages add up (see sum.h).
*/
#include "core/sum.h"

#include <assert.h>

const Sum SUM_ZERO = {.earliest = INT64_MAX, .latest = INT64_MIN};

/* *part += more; false, and then of no use, if that passes 2^32 - 1. */
static bool part_add(uint32_t *part, uint32_t more) {
  *part += more;
  return *part >= more;
}

Status sum_add(Sum *sum, const Sum *other) {
  Sum both = *sum;
  bool fits = part_add(&both.turns, other->turns);
  fits &= part_add(&both.moved, other->moved);
  fits &= part_add(&both.windows, other->windows);
  for (int role = 0; role < ROLE_COUNT; role++) {
    fits &= part_add(&both.count[role], other->count[role]);
    fits &= part_add(&both.tokens[role], other->tokens[role]);
  }
  if (!fits) return STATUS_LIMIT;
  if (other->earliest < both.earliest) both.earliest = other->earliest;
  if (other->latest > both.latest) both.latest = other->latest;
  *sum = both;
  return STATUS_OK;
}

Sum sum_of_message(const Message *message) {
  Sum sum = SUM_ZERO;
  Role role = message_role(message);
  if (role == ROLE_NONE) {
    sum.windows = 1;
  } else {
    sum.count[role] = 1;
    sum.tokens[role] = message_tokens(message);
  }
  sum.turns = message_starts_turn(message);
  int64_t time;
  if (message_timestamp(message, &time)) sum.earliest = sum.latest = time;
  return sum;
}

static uint64_t total(const uint32_t parts[ROLE_COUNT]) {
  uint64_t all = 0;
  for (int role = 0; role < ROLE_COUNT; role++) all += parts[role];
  return all;
}

uint64_t sum_measure(const Sum *sum, Measure measure) {
  switch (measure) {
  case MEASURE_COUNT: return total(sum->count) + sum->windows;
  case MEASURE_TOKENS: return total(sum->tokens);
  case MEASURE_TURNS: return sum->turns;
  case MEASURE_WINDOWS: return sum->windows;
  default: break;
  }
  assert(measure < MEASURE_ROLE_TOKENS + ROLE_COUNT);
  return measure < MEASURE_ROLE_TOKENS ? sum->count[measure - MEASURE_ROLE_COUNT]
                                       : sum->tokens[measure - MEASURE_ROLE_TOKENS];
}
