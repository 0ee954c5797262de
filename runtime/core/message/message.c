#define _GNU_SOURCE /* memmem */
#include <assert.h>
#include <string.h>

#include "base/names.h"
#include "core/message/message_data.h"

static const struct {
  const char *spelling;
  Role role;
} SPELLINGS[] = {
  {"system", ROLE_SYSTEM}, {"user", ROLE_USER},        {"assistant", ROLE_ASSISTANT},
  {"tool", ROLE_TOOL},     {"developer", ROLE_SYSTEM}, {"function", ROLE_TOOL},
};

const char *role_name(Role role) {
  assert(role <= ROLE_NONE);
  return role == ROLE_NONE ? "window" : SPELLINGS[role].spelling;
}

bool role_parse(Text text, Role *role) {
  for (size_t i = 0; i < COUNT_OF(SPELLINGS); i++) {
    if (text_is(text, SPELLINGS[i].spelling)) {
      *role = SPELLINGS[i].role;
      return true;
    }
  }
  return false;
}

const char *part_kind_name(PartKind kind) {
  static const char *const names[] = {"text",     "image",       "file",      "audio", "asset",
                                      "tool_use", "tool_result", "reasoning", "other"};
  assert(kind <= PART_OTHER);
  return names[kind];
}

bool message_is_window(const Message *message) { return message->content_kind == CONTENT_WINDOW; }

Role message_role(const Message *message) { return message_is_window(message) ? ROLE_NONE : (Role)message->role; }

Text message_raw(const Message *message) { return text_plain(message->raw, message->raw_size); }

uint32_t message_tokens(const Message *message) { return message->tokens; }

Text message_role_text(const Message *message) {
  Text mapped;
  if (!message->other_spelling) return text_of(role_name(message_role(message)));
  if (message_field(message, FIELD_SPELLING, &mapped)) return mapped;
  return text_of(message->role == ROLE_SYSTEM ? "developer" : "function");
}

ContentKind message_content_kind(const Message *message) { return (ContentKind)message->content_kind; }

MessageForm message_form(const Message *message) {
  return message->details == NULL ? FORM_CONTENT : (MessageForm)message->details->form;
}

Text message_text(const Message *message, Span span) {
  assert((uint64_t)span.at + span.size <= message->raw_size);
  return (Text){.bytes = message->raw + span.at, .size = span.size, .escaped = span.escaped};
}

Text message_content(const Message *message) {
  Span content = {.at = message->content_at, .size = message->content_size, .escaped = message->content_escaped};
  return message_text(message, content);
}

uint32_t message_levels_most(const Message *message) {
  bool is_text = message->content_kind == CONTENT_STRING;
  return (message->raw_size - (is_text ? message->content_size : 0)) / 2;      /* two brackets each */
}

bool message_is_bare(const Message *message) {
  static const char head[] = "{\"role\":\"", middle[] = "\",\"content\":\"";
  Text raw = message_raw(message), role = message_role_text(message), content = message_content(message);
  size_t start = sizeof head - 1 + role.size + sizeof middle - 1;
  if (raw.size != start + content.size + 2 || content.bytes != raw.bytes + start) return false;
  const char *at = raw.bytes + sizeof head - 1;      /* where the role stands: its text may be static */
  return memcmp(raw.bytes, head, sizeof head - 1) == 0 && memcmp(at, role.bytes, role.size) == 0 &&
         memcmp(at + role.size, middle, sizeof middle - 1) == 0;
}

bool message_field(const Message *message, MessageField field, Text *value) {
  Details *details = message->details;
  assert(field < FIELD_COUNT);
  if (details == NULL || !(details->fields & (1u << field))) return false;
  const Span *span = details_fields(details);
  for (unsigned before = 0; before < (unsigned)field; before++) span += (details->fields >> before) & 1u;
  *value = message_text(message, *span);
  return true;
}

bool message_timestamp(const Message *message, int64_t *milliseconds) {
  if (message->details == NULL || !message->details->has_timestamp) return false;
  memcpy(milliseconds, details_timestamp(message->details), sizeof *milliseconds);
  return true;
}

uint32_t message_part_count(const Message *message) { return message->details ? message->details->part_count : 0; }

Part message_part(const Message *message, uint32_t index) {
  assert(index < message_part_count(message));
  return details_parts(message->details)[index];
}

uint32_t message_call_count(const Message *message) { return message->details ? message->details->call_count : 0; }

Call message_call(const Message *message, uint32_t index) {
  assert(index < message_call_count(message));
  return details_calls(message->details)[index].call;
}

Text message_call_key(const Message *message, uint32_t index) {
  Call call = message_call(message, index);
  return message_text(message, call.id.at != 0 ? call.id : call.name);
}

uint32_t message_result_count(const Message *message) { return message->details ? message->details->result_count : 0; }

Result message_result(const Message *message, uint32_t index) {
  assert(index < message_result_count(message));
  return details_results(message->details)[index].result;
}

Text message_result_key(const Message *message, uint32_t index) {
  Result result = message_result(message, index);
  return message_text(message, result.id.at != 0 ? result.id : result.name);
}

bool message_may_answer(const Message *message, uint32_t result, const Message *caller, uint32_t call) {
  Result answer = message_result(message, result);
  Call question = message_call(caller, call);
  if (text_equal(message_result_key(message, result), message_call_key(caller, call))) return true;
  if (answer.name.at == 0 || (answer.id.at != 0 && question.id.at != 0)) return false;
  return text_equal(message_text(message, answer.name), message_text(caller, question.name));
}

bool message_is_fragment(const Message *message) {
  return message_form(message) == FORM_ITEM && message_role(message) == ROLE_ASSISTANT;
}

bool message_starts_turn(const Message *message) { return message->starts_turn; }

bool message_next_text(const Message *message, uint32_t *at, Text *text) {
  uint32_t parts = message_part_count(message), calls = message_call_count(message);
  for (; *at < 1 + parts + calls; ++*at) {
    uint32_t index = *at;
    if (index == 0) {
      if (message->content_kind != CONTENT_STRING) continue;
      *text = message_content(message);
    } else if (index <= parts) {
      Part part = message_part(message, index - 1);
      if (part.text.at == 0 || part.kind == PART_REASONING || part.kind == PART_IMAGE) continue;
      *text = message_text(message, part.text);
    } else {
      *text = message_text(message, message_call(message, index - 1 - parts).arguments);
    }
    ++*at;
    return true;
  }
  return false;
}

Status message_contains(const Message *message, Text needle, Buffer *scratch, bool *contains) {
  assert(!needle.escaped);
  uint32_t at = 0;
  Text text;
  *contains = false;
  while (!*contains && message_next_text(message, &at, &text)) {
    if (text.escaped) {
      buffer_reset(scratch);
      Status status = text_decode(text, scratch);
      if (status != STATUS_OK) return status;
      text = text_plain(scratch->bytes, scratch->size);
    }
    bool fits = text.size >= needle.size;
    *contains = needle.size == 0 || (fits && memmem(text.bytes, text.size, needle.bytes, needle.size) != NULL);
  }
  return STATUS_OK;
}
