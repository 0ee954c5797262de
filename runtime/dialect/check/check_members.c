/*
** The rules for a message that all dialects have. extra_member: the members of a message, of
** its parts and of its calls are those of the dialect, or further ones of the profile.
*/
#include "dialect/check/check_rules.h"
#include "dialect/dialect_members.h"
#include "json/json_fields.h"

static bool profile_has(const CheckProfile *profile, Text key) {
  for (uint32_t i = 0; i < profile->member_count; i++) {
    if (text_equal(key, profile->members[i])) return true;
  }
  return false;
}

/* True for members that are reported as calls of another dialect. */
static bool is_foreign_call(Text key) { return text_is(key, "tool_calls") || text_is(key, "function_call"); }

/* True if the message has another dialect's form, which other rules report. */
static bool is_foreign(Dialect dialect, const Message *message) {
  MessageForm form = message_form(message);
  if (dialect == DIALECT_GEMINI) return form != FORM_PARTS;
  bool is_tool = form == FORM_CONTENT && message_role(message) == ROLE_TOOL;
  if (dialect == DIALECT_RESPONSES) return form == FORM_PARTS || is_tool;
  return form != FORM_CONTENT || (dialect == DIALECT_ANTHROPIC && is_tool);
}

/* Checks the members of one object, the value at the cursor. */
static Status check_object(Checker *checker, uint32_t index, MemberLevel level, Text type, Json *json) {
  Text key;
  JsonValue value;
  Status status = STATUS_OK;
  Dialect dialect = checker->target->dialect;
  if (!json_enter(json)) return STATUS_OK;
  while (status == STATUS_OK && json_next_member(json, &key) && json_value(json, &value)) {
    bool extra = !dialect_member(dialect, level, type, key) && !profile_has(&checker->target->profile, key) &&
                 !(level == MEMBER_OF_MESSAGE && is_foreign_call(key));
    status = checker_add_if(checker, extra, CHECK_EXTRA_MEMBER, index, key);
  }
  return status;
}

static Status check_text(Checker *checker, uint32_t index, MemberLevel level, Text type, Text object) {
  Json json;
  if (object.size == 0 || object.bytes[0] != '{') return STATUS_OK;
  json_open_valid(&json, object.bytes, object.size);
  return check_object(checker, index, level, type, &json);
}

/* An element of tool_calls, and the function in it. */
static Status check_call(Checker *checker, uint32_t index, Text call) {
  static const char *const inner[] = {"function", "custom"};
  JsonValue value;
  Status status = check_text(checker, index, MEMBER_OF_CALL, dialect_type(MEMBER_OF_CALL, call), call);
  for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
    if (!json_find(call, inner[i], JSON_OBJECT, &value)) continue;
    status = check_text(checker, index, MEMBER_OF_FUNCTION, NO_TEXT, text_plain(value.bytes, value.size));
  }
  return status;
}

static Status check_calls(Checker *checker, uint32_t index, Text message) {
  Json json;
  JsonValue list, value;
  Status status = STATUS_OK;
  if (!json_find(message, "tool_calls", JSON_ARRAY, &list)) return STATUS_OK;
  json_open_value(&json, &list);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &value)) {
    if (value.kind == JSON_OBJECT) status = check_call(checker, index, text_plain(value.bytes, value.size));
  }
  return status;
}

/* A part; Gemini's have a call or a response in them. */
static Status check_part(Checker *checker, uint32_t index, Text part, Text type) {
  static const char *const inner[] = {"functionCall", "function_call", "functionResponse", "function_response"};
  JsonValue value;
  Status status = check_text(checker, index, MEMBER_OF_PART, type, part);
  if (checker->target->dialect != DIALECT_GEMINI) return status;
  for (size_t i = 0; i < 4 && status == STATUS_OK; i++) {
    if (!json_find(part, inner[i], JSON_OBJECT, &value)) continue;
    status = check_text(checker, index, MEMBER_OF_CALL, NO_TEXT, text_plain(value.bytes, value.size));
  }
  return status;
}

/* Adds a violation for each member of a message, its parts and calls that the dialect lacks. */
static Status check_members(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Text raw = message_raw(message);
  Dialect dialect = checker->target->dialect;
  Text type = dialect == DIALECT_RESPONSES ? dialect_type(MEMBER_OF_MESSAGE, raw) : NO_TEXT;
  if (is_foreign(dialect, message)) return STATUS_OK;
  Status status = check_text(checker, index, MEMBER_OF_MESSAGE, type, raw);
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    Text object = message_text(message, part.value);
    if (object.bytes[0] == '{') status = check_part(checker, index, object, part_type(message, part));
  }
  return status == STATUS_OK && dialect == DIALECT_OPENAI ? check_calls(checker, index, raw) : status;
}

/* ---- what all dialects have ---- */

static uint32_t images_of(const Message *message) {
  uint32_t images = 0;
  for (uint32_t i = 0; i < message_part_count(message); i++) images += message_part(message, i).kind == PART_IMAGE;
  return images;
}

/* Adds a violation for each part of text, in results too, that has no string. */
static Status check_texts(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    bool is_wrong = part.kind == PART_TEXT && part.value.at != 0 && part.text.at == 0;
    if (is_wrong) status = checker_add(checker, CHECK_PART_TEXT, index, NO_TEXT);
  }
  return status;
}

Status check_common(Checker *checker, uint32_t index) {
  const CheckProfile *profile = &checker->target->profile;
  const Message *message = checker_message(checker, index);
  uint64_t bytes = checker->bytes;
  uint32_t images = checker->images;
  checker->bytes += message_raw(message).size;
  checker->images += images_of(message);
  bool many_bytes = profile->bytes_max != 0 && bytes <= profile->bytes_max && checker->bytes > profile->bytes_max;
  bool many_images = profile->images_max != 0 && images <= profile->images_max &&
                     checker->images > profile->images_max;
  bool many_messages = profile->messages_max != 0 && index == profile->messages_max;
  Status status = checker_add_if(checker, many_messages, CHECK_MESSAGE_COUNT, index, NO_TEXT);
  if (status == STATUS_OK) status = checker_add_if(checker, many_bytes, CHECK_BODY_SIZE, index, NO_TEXT);
  if (status == STATUS_OK) status = checker_add_if(checker, many_images, CHECK_IMAGE_COUNT, index, NO_TEXT);
  if (status == STATUS_OK) status = check_media(checker, index);
  if (status == STATUS_OK) status = check_texts(checker, index);
  return status == STATUS_OK && checker_wants(checker, CHECK_EXTRA_MEMBER) ? check_members(checker, index) : status;
}
