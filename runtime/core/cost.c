#include "core/cost.h"

Counter counter_of(Estimator estimator) {
  if (estimator == ESTIMATE_UTF16_2_5) return (Counter){.estimator = estimator};
  return (Counter){.estimator = estimator, .per_message = 3, .per_name = 1, .per_request = 3};
}

static Status narrow(uint64_t wide, uint32_t *tokens) {
  if (wide > UINT32_MAX) return STATUS_LIMIT;
  *tokens = (uint32_t)wide;
  return STATUS_OK;
}

static void add_span(Estimate *estimate, const Message *message, Span span) {
  if (span.at != 0) estimate_add(estimate, message_text(message, span));
}

/* Adds a part's text; answers what it costs besides. */
static uint64_t add_part(Estimate *estimate, const Message *message, Part part) {
  switch ((PartKind)part.kind) {
  case PART_IMAGE: return IMAGE_TOKENS;
  case PART_TEXT:
  case PART_REASONING:
  case PART_TOOL_RESULT: add_span(estimate, message, part.text); return 0;
  case PART_TOOL_USE: return 0;   /* counted as a call */
  case PART_FILE:
  case PART_AUDIO:
  case PART_ASSET:
  case PART_OTHER: break;
  }
  add_span(estimate, message, part.text.at != 0 ? part.text : part.value);
  return 0;
}

static uint64_t count_message(const Counter *counter, const Message *message) {
  Estimate estimate = estimate_start(counter->estimator);
  uint64_t besides = counter->per_message;
  Text name;
  if (message_content_kind(message) == CONTENT_STRING) estimate_add(&estimate, message_content(message));
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    besides += add_part(&estimate, message, message_part(message, i));
  }
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    Call call = message_call(message, i);
    add_span(&estimate, message, call.name);
    add_span(&estimate, message, call.arguments);
  }
  if (message_field(message, FIELD_REASONING, &name)) estimate_add(&estimate, name);
  if (message_field(message, FIELD_REFUSAL, &name)) estimate_add(&estimate, name);
  if (message_field(message, FIELD_NAME, &name)) {
    estimate_add(&estimate, name);
    besides += counter->per_name;
  }
  return estimate_tokens(&estimate) + besides;
}

Status cost_of_message(const Counter *counter, const Message *message, MessageId id, uint32_t *tokens) {
  if (counter->given != NULL) return counter->given(counter->user, id, tokens);
  return narrow(count_message(counter, message), tokens);
}

Status cost_of_text(const Counter *counter, Text text, uint32_t *tokens) {
  Estimate estimate = estimate_start(counter->estimator);
  estimate_add(&estimate, text);
  return narrow(estimate_tokens(&estimate), tokens);
}
