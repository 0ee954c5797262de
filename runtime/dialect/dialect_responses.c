/*
** OpenAI's Responses: a reply is a run of items, of which only messages have a role. Calls,
** their outputs and reasoning are items of their own.
*/
#include "dialect/repair/repair_plan.h"

static bool fits(const Message *message) {
  if (message_form(message) == FORM_ITEM) return true;
  if (message_form(message) != FORM_CONTENT || message_content_kind(message) == CONTENT_NONE) return false;
  if (message_role(message) == ROLE_TOOL || message_call_count(message) > 0) return false;
  Text text;
  if (message_field(message, FIELD_REASONING, &text) || message_field(message, FIELD_REFUSAL, &text)) return false;
  return parts_fit(DIALECT_RESPONSES, message);
}

const DialectForm dialect_responses = {
  .name = "responses",
  .title = "OpenAI Responses",
  .messages = "input",
  .system = "instructions",
  .traits = TRAIT_STRING | TRAIT_ITEMS,
  .takes_texts = true,
  .part_types = {"input_text", "output_text", "refusal", "input_image", "input_file", "input_audio"},
  .fits = fits,
  .check = check_responses,
  .repair = plan_responses,
  .pieces = &responses_pieces,
  .writer = &responses_writer,
};
