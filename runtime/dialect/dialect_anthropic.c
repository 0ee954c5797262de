/*
** Anthropic's Messages: calls and results are content parts; the system text stands beside
** the messages.
*/
#include "dialect/repair/repair_plan.h"

static bool fits(const Message *message) {
  Text text;
  Role role = message_role(message);
  if (message_form(message) != FORM_CONTENT || message_content_kind(message) == CONTENT_NONE) return false;
  if (role != ROLE_USER && role != ROLE_ASSISTANT) return false;
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (!call_is_part(message, i)) return false;
  }
  if (message_field(message, FIELD_REASONING, &text) || message_field(message, FIELD_REFUSAL, &text)) return false;
  return parts_fit(DIALECT_ANTHROPIC, message);
}

const DialectForm dialect_anthropic = {
  .name = "anthropic",
  .title = "Anthropic Messages",
  .messages = "messages",
  .system = "system",
  .takes_texts = true,
  .part_types = {"text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking",
                 "search_result", "compaction", "fallback", "container_upload", "mcp_tool_listing",
                 "tool_reference", "browser_state", "tool_addition", "tool_removal"},
  .type_endings = {"_tool_use", "_tool_result"},
  .models = "claude-",
  .fits = fits,
  .check = check_anthropic,
  .repair = plan_anthropic,
  .pieces = &anthropic_pieces,
  .writer = &anthropic_writer,
};
