#include "core/message/sum.h"

const Sum SUM_ZERO = {.earliest = INT64_MAX, .latest = INT64_MIN};

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
