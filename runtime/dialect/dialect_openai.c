/*
** OpenAI's Chat Completions: calls are members beside the content, and each result is a
** message of its own.
*/
#include "dialect/repair/repair_plan.h"

static bool fits(const Message *message) {
  if (message_form(message) != FORM_CONTENT) return false;
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (call_is_part(message, i)) return false;
  }
  return parts_fit(DIALECT_OPENAI, message);
}

const DialectForm dialect_openai = {
  .name = "openai",
  .title = "OpenAI Chat Completions",
  .messages = "messages",
  .takes_texts = true,
  .part_types = {"text", "refusal", "image_url", "input_audio", "file"},
  .fits = fits,
  .check = check_openai,
  .repair = plan_openai,
  .pieces = &openai_pieces,
  .writer = &openai_writer,
};
