#include "core/message/cost.h"

#include <assert.h>

#include "tokens/document_cost.h"

const char *trust_name(Trust trust) {
  assert(trust <= TRUST_GIVEN);
  static const char *const names[] = {"exact", "derived", "estimated", "calibrated", "given"};
  return names[trust];
}

/* ---- counters ---- */

/* OpenAI's framing: message and role, name, reply, and that of tools. */
static Counter framed(void) {
  Counter counter = {.per_message = 3 + 1, .per_name = 1, .per_request = 3, .per_tools = 9};
  image_rule_parse("tiles_512", &counter.image);
  return counter;
}

Counter counter_of(Estimator estimator) {
  Counter counter = framed();
  counter.estimator = estimator;
  /* The system prompt that Anthropic adds to tools: platform.claude.com, "Pricing", section "Tool use pricing". */
  if (estimator == ESTIMATE_CLAUDE || estimator == ESTIMATE_CLAUDE_4_7) counter.per_tools = 346;
  if (estimator == ESTIMATE_UTF16_2_5) counter.per_message = counter.per_name = counter.per_request = 0;
  return counter;
}

Counter counter_of_tokenizer(Tokenizer *tokenizer) {
  Counter counter = framed();
  counter.tokenizer = tokenizer;
  return counter;
}

static bool image_rule_equal(const ImageRule *a, const ImageRule *b) {
  return a->method == b->method && a->base == b->base && a->tile == b->tile && a->hundredths == b->hundredths &&
         a->edge_max == b->edge_max && a->tokens_max == b->tokens_max;
}

bool counter_equal(const Counter *a, const Counter *b) {
  if (a->custom != NULL || b->custom != NULL) return a->custom == b->custom && a->user == b->user;
  bool same = a->tokenizer == b->tokenizer && (a->tokenizer != NULL || a->estimator == b->estimator);
  return same && a->per_message == b->per_message && a->per_name == b->per_name && a->per_request == b->per_request &&
         a->per_tools == b->per_tools && a->image_assumed == b->image_assumed &&
         image_rule_equal(&a->image, &b->image);
}

Trust counter_trust(const Counter *counter) {
  if (counter->custom != NULL) return TRUST_GIVEN;
  return counter->tokenizer != NULL ? TRUST_DERIVED : TRUST_ESTIMATED;
}

/* ---- tallies ---- */

Tally tally_start(const Counter *counter) {
  return (Tally){.counter = counter, .estimate = estimate_start(counter->estimator)};
}

void tally_text(Tally *tally, Text text) {
  uint64_t tokens = 0;
  if (tally->status != STATUS_OK) return;
  if (tally->counter->tokenizer == NULL) estimate_add(&tally->estimate, text);
  else tally->status = tokenizer_count(tally->counter->tokenizer, text, &tokens);
  tally->tokens += tokens;
}

Status tally_end(const Tally *tally, Cost *cost) {
  if (tally->status != STATUS_OK) return tally->status;
  assert(tally->counter != NULL);
  uint64_t tokens = tally->tokens + estimate_tokens(&tally->estimate);
  if (tokens > UINT32_MAX) return STATUS_LIMIT;
  *cost = (Cost){.tokens = (uint32_t)tokens, .guessed = tally->guessed};
  return STATUS_OK;
}

/* ---- messages ---- */

static void add_span(Tally *tally, const Message *message, Span span) {
  if (span.at != 0) tally_text(tally, message_text(message, span));
}

static void add_image(Tally *tally, const Message *message, Part part) {
  const ImageRule *rule = &tally->counter->image;
  ImageSize size = IMAGE_UNKNOWN;
  bool has_size = image_cost_is_fixed(rule, part.low);
  if (!has_size && part.text.at != 0) has_size = image_size(message_text(message, part.text), &size);
  tally->guessed |= !has_size || tally->counter->image_assumed;
  tally->tokens += image_tokens(rule, size, part.low);
}

/* A file or a sound: what it costs, or what a part costs that only names it. */
static void add_document(Tally *tally, const Message *message, Part part) {
  uint64_t tokens = 0;
  Text text = message_text(message, part.text.at != 0 ? part.text : part.value);
  tally->guessed = true;
  if (document_tokens(text, &tokens)) tally->tokens += tokens;
  else tally_text(tally, text);
}

static void add_part(Tally *tally, const Message *message, Part part) {
  switch ((PartKind)part.kind) {
  case PART_IMAGE: add_image(tally, message, part); return;
  case PART_REASONING:
    tally->guessed |= part.sealed;
    add_span(tally, message, part.text);
    return;
  case PART_TEXT:
  case PART_TOOL_RESULT: add_span(tally, message, part.text); return;
  case PART_TOOL_USE: return;     /* counted as a call */
  case PART_FILE:
  case PART_AUDIO: add_document(tally, message, part); return;
  case PART_ASSET:
  case PART_OTHER: break;
  }
  tally->guessed = true;
  tally_text(tally, message_text(message, part.text.at != 0 ? part.text : part.value));
}

static void add_field(Tally *tally, const Message *message, MessageField field) {
  Text text;
  if (message_field(message, field, &text)) tally_text(tally, text);
}

/* OpenAI's older form of calls and results, without ids, has another frame: npm openai-chat-tokens 0.2.8,
   whose tests hold it against the API. */
enum { PER_FUNCTION_CALL = 3, LESS_PER_FUNCTION_RESULT = 2 };

static bool is_function_call(const Message *message) {
  return message_call_count(message) == 1 && message_call(message, 0).id.at == 0 && message_part_count(message) == 0;
}

/* Such a result answers by its name. */
static bool is_function_result(const Message *message) {
  Text name;
  if (message_role(message) != ROLE_TOOL || message_part_count(message) > 0) return false;
  return message_result_count(message) == 1 && message_field(message, FIELD_NAME, &name) &&
         message_text(message, message_result(message, 0).id).bytes == name.bytes;
}

/* OpenAI's present form, where the texts are counted exactly: a call costs 5 besides its name and arguments; several of
   one message are wrapped, which costs 21, and 2 for each; the name of a result is not read. Found by github
   forestwanglin/openai-java (TikTokenUtils); 35 tokens, which the API counted in its issue 5, agree. */
enum { ONE_CALL = 5, WRAPPED_CALLS = 21, PER_WRAPPED_CALL = 2 };

static bool has_tool_calls(const Message *message) {
  if (message_call_count(message) == 0 || message_call(message, 0).id.at == 0) return false;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (message_part(message, i).kind == PART_TOOL_USE) return false;
  }
  return message_form(message) == FORM_CONTENT;
}

static uint32_t cost_of_tool_calls(const Message *message) {
  uint32_t count = message_call_count(message);
  return count == 1 ? ONE_CALL : WRAPPED_CALLS + PER_WRAPPED_CALL * count;
}

/* A result with an id and a name. */
static bool is_named_result(const Counter *counter, const Message *message) {
  if (counter->tokenizer == NULL || message_role(message) != ROLE_TOOL) return false;
  if (message_result_count(message) != 1) return false;
  return message_form(message) == FORM_CONTENT && message_result(message, 0).id.at != 0 && !is_function_result(message);
}

static void add_frame(Tally *tally, const Message *message) {
  Text name;
  const Counter *counter = tally->counter;
  bool named = message_field(message, FIELD_NAME, &name) && !is_named_result(counter, message);
  if (named) tally->tokens += counter->per_name;
  tally->tokens += counter->per_message;
  if (counter->per_message < LESS_PER_FUNCTION_RESULT) return;      /* a rule without framing */
  if (counter->tokenizer != NULL && has_tool_calls(message)) tally->tokens += cost_of_tool_calls(message);
  if (is_function_call(message)) tally->tokens += PER_FUNCTION_CALL;
  if (is_function_result(message)) tally->tokens -= LESS_PER_FUNCTION_RESULT;
}

/* Counts reasoning too: it is part of the message in the request. */
static void add_message(Tally *tally, const Message *message) {
  add_frame(tally, message);
  if (message_content_kind(message) == CONTENT_STRING) tally_text(tally, message_content(message));
  for (uint32_t i = 0; i < message_part_count(message); i++) add_part(tally, message, message_part(message, i));
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    Call call = message_call(message, i);
    add_span(tally, message, call.name);
    add_span(tally, message, call.arguments);
  }
  add_field(tally, message, FIELD_REASONING);
  add_field(tally, message, FIELD_REFUSAL);
  if (!is_named_result(tally->counter, message)) add_field(tally, message, FIELD_NAME);
}

Status cost_of_message(const Counter *counter, const Message *message, MessageId id, Cost *cost) {
  *cost = (Cost){0};
  if (message_is_window(message)) return STATUS_OK;      /* budgets add the tokens of its rendering */
  if (counter->custom != NULL) return counter->custom(counter->user, id, &cost->tokens);
  Tally tally = tally_start(counter);
  add_message(&tally, message);
  return tally_end(&tally, cost);
}

/* ---- reasoning ---- */

static bool is_reasoning_only(const Message *message) {
  uint32_t parts = message_part_count(message);
  if (parts == 0 || message_call_count(message) > 0 || message_result_count(message) > 0) return false;
  for (uint32_t i = 0; i < parts; i++) {
    if (message_part(message, i).kind != PART_REASONING) return false;
  }
  return true;
}

Status cost_of_reasoning(const Counter *counter, const Message *message, Cost *cost) {
  *cost = (Cost){0};
  if (message_is_window(message) || counter->custom != NULL) return STATUS_OK;
  Tally tally = tally_start(counter);
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.kind == PART_REASONING && !part.nested) add_part(&tally, message, part);
  }
  add_field(&tally, message, FIELD_REASONING);
  if (is_reasoning_only(message)) tally.tokens += counter->per_message;
  return tally_end(&tally, cost);
}
