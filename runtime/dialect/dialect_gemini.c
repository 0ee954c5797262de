/*
** Google's Gemini: content parts have no type, their members tell them apart; a message
** has them under "parts".
*/
#include "dialect/repair/repair_plan.h"

static bool fits(const Message *message) { return message_form(message) == FORM_PARTS; }

const DialectForm dialect_gemini = {
  .name = "gemini",
  .title = "Gemini generateContent",
  .messages = "contents",
  .system = "systemInstruction",
  .traits = TRAIT_OBJECT,
  .fits = fits,
  .check = check_gemini,
  .repair = plan_gemini,
  .pieces = &gemini_pieces,
  .writer = &gemini_writer,
};
