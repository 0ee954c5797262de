/*
** Check codes: the names of the rules of check.h, and sets of them.
*/
#ifndef EBB_DIALECT_CHECK_CODES_H
#define EBB_DIALECT_CHECK_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define CHECK_CODES(X) \
  X(ORPHAN_RESULT, "orphan_result") \
  X(DUPLICATE_RESULT, "duplicate_result") \
  X(UNANSWERED_CALL, "unanswered_call") \
  X(DUPLICATE_CALL, "duplicate_call") \
  X(CALL_ID, "call_id") \
  X(CALL_NAME, "call_name") \
  X(CALL_ARGUMENTS, "call_arguments") \
  X(CALL_ARGUMENTS_FORM, "call_arguments_form") \
  X(EMPTY_CALLS, "empty_calls") \
  X(CALL_NOT_LAST, "call_not_last") \
  X(CALL_PLACE, "call_place") \
  X(RESULT_COUNT, "result_count") \
  X(RESULTS_LATE, "results_late") \
  X(RESULTS_APART, "results_apart") \
  X(RESULT_NAME, "result_name") \
  X(RESULT_FORM, "result_form") \
  X(RESULT_EMPTY, "result_empty") \
  X(ERROR_EMPTY, "error_empty") \
  X(ERROR_MEDIA, "error_media") \
  X(RESERVED_KEY, "reserved_key") \
  X(SERVER_CALL_ID, "server_call_id") \
  X(SERVER_RESULT, "server_result") \
  X(MISPLACED_PART, "misplaced_part") \
  X(MEDIA_PLACE, "media_place") \
  X(MEDIA, "media") \
  X(MEDIA_DATA, "media_data") \
  X(MEDIA_TYPE, "media_type") \
  X(IMAGE_TYPE, "image_type") \
  X(FILE_NAME, "file_name") \
  X(PART_TYPE, "part_type") \
  X(PART_TEXT, "part_text") \
  X(EMPTY_TEXT, "empty_text") \
  X(EMPTY_CONTENT, "empty_content") \
  X(NULL_CONTENT, "null_content") \
  X(TRAILING_SPACE, "trailing_space") \
  X(TEXT_SIZE, "text_size") \
  X(CONTROL_TOKEN, "control_token") \
  X(FOREIGN_REASONING, "foreign_reasoning") \
  X(FOREIGN_PART, "foreign_part") \
  X(FOREIGN_CALL, "foreign_call") \
  X(FOREIGN_ROLE, "foreign_role") \
  X(SYSTEM_INSIDE, "system_inside") \
  X(SYSTEM_PLACE, "system_place") \
  X(SYSTEM_LATE, "system_late") \
  X(SYSTEM_ROLE, "system_role") \
  X(DEVELOPER_ROLE, "developer_role") \
  X(USER_FIRST, "user_first") \
  X(ALTERNATION, "alternation") \
  X(USER_AFTER_TOOL, "user_after_tool") \
  X(ASSISTANT_LAST, "assistant_last") \
  X(ASSISTANTS_LAST, "assistants_last") \
  X(NO_USER, "no_user") \
  X(NO_MESSAGES, "no_messages") \
  X(UNSIGNED_THINKING, "unsigned_thinking") \
  X(THINKING_MISSING, "thinking_missing") \
  X(BOUND_THINKING, "bound_thinking") \
  X(REASONING_CONTENT, "reasoning_content") \
  X(REASONING_ALONE, "reasoning_alone") \
  X(REASONING_LOST, "reasoning_lost") \
  X(MISSING_SIGNATURE, "missing_signature") \
  X(SENTINEL_SIGNATURE, "sentinel_signature") \
  X(DUPLICATE_ITEM, "duplicate_item") \
  X(ITEM_ID, "item_id") \
  X(STORED_ITEMS, "stored_items") \
  X(TRIGGER_LAST, "trigger_last") \
  X(COMPACTION, "compaction") \
  X(EXTRA_MEMBER, "extra_member") \
  X(CACHE_MARKS, "cache_marks") \
  X(CACHE_PLACE, "cache_place") \
  X(CACHE_ORDER, "cache_order") \
  X(MESSAGE_COUNT, "message_count") \
  X(IMAGE_COUNT, "image_count") \
  X(IMAGE_SIDE, "image_side") \
  X(IMAGE_SIZE, "image_size") \
  X(BODY_SIZE, "body_size") \
  X(MISSING_MEMBER, "missing_member") \
  X(EXCLUSIVE_MEMBERS, "exclusive_members") \
  X(OUTPUT_LIMIT, "output_limit") \
  X(METADATA_SIZE, "metadata_size") \
  X(TOOL_NAME, "tool_name") \
  X(TOOL_DESCRIPTION, "tool_description") \
  X(TOOL_SCHEMA, "tool_schema") \
  X(DUPLICATE_TOOL, "duplicate_tool") \
  X(EMPTY_TOOLS, "empty_tools") \
  X(TOOLS_MISSING, "tools_missing") \
  X(MIXED_TOOLS, "mixed_tools") \
  X(TOOLS_WITH_EFFORT, "tools_with_effort") \
  X(TOOL_CHOICE, "tool_choice") \
  X(NAMED_TOOL_CHOICE, "named_tool_choice") \
  X(FORCED_TOOL, "forced_tool") \
  X(THINKING_MODE, "thinking_mode") \
  X(SAMPLING, "sampling")

typedef enum CheckCode {
#define CHECK_CODE_OF(code, name) CHECK_##code,
  CHECK_CODES(CHECK_CODE_OF)
#undef CHECK_CODE_OF
  CHECK_CODE_COUNT
} CheckCode;

const char *check_code_name(CheckCode code);    /* "orphan_result", ...; static */
bool        check_code_parse(Text name, CheckCode *code);

/* A set of codes. All zero: the empty set. */
typedef struct CodeSet {
  uint64_t bits[2];
} CodeSet;

_Static_assert(CHECK_CODE_COUNT <= 128, "a CodeSet has a bit for each code");

#define CODES_ALL ((CodeSet){{UINT64_MAX, UINT64_MAX}})

static inline bool codes_have(const CodeSet *set, CheckCode code) {
  return (set->bits[code / 64u] >> (code % 64u) & 1) != 0;
}
static inline void codes_add(CodeSet *set, CheckCode code) { set->bits[code / 64u] |= UINT64_C(1) << (code % 64u); }

#endif
