#include "dialect/dialect_members.h"

#include <assert.h>
#include <string.h>

#include "dialect/read/reader_parts.h"
#include "json/json_fields.h"

/* The members of one kind of object. */
typedef struct MemberRow {
  MemberLevel level;
  const char *type;          /* NULL: whatever type */
  const char *names;         /* between spaces */
} MemberRow;

#define MARK " prompt_cache_breakpoint "

static const MemberRow OPENAI[] = {
  {MEMBER_OF_BODY, NULL,
   " model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens"
   " max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key"
   " prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier"
   " stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity"
   " web_search_options "},
  {MEMBER_OF_MESSAGE, NULL, " role content name refusal audio tool_calls function_call tool_call_id "},
  {MEMBER_OF_PART, "text", " type text" MARK},
  {MEMBER_OF_PART, "image_url", " type image_url" MARK},
  {MEMBER_OF_PART, "input_audio", " type input_audio" MARK},
  {MEMBER_OF_PART, "file", " type file" MARK},
  {MEMBER_OF_PART, "refusal", " type refusal "},
  {MEMBER_OF_CALL, NULL, " id type function custom "},
  {MEMBER_OF_FUNCTION, NULL, " name arguments input "},
  {0},
};

static const MemberRow RESPONSES[] = {
  {MEMBER_OF_BODY, NULL,
   " model input instructions background context_management conversation include max_output_tokens max_tool_calls"
   " metadata parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options"
   " prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text"
   " tool_choice tools top_logprobs top_p truncation user "},
  {MEMBER_OF_MESSAGE, "message", " type id role status content phase "},
  {MEMBER_OF_MESSAGE, "", " role content phase "},
  {MEMBER_OF_MESSAGE, "function_call", " type id call_id name arguments status namespace caller async "},
  {MEMBER_OF_MESSAGE, "function_call_output", " type id call_id name output status caller "},
  {MEMBER_OF_MESSAGE, "custom_tool_call", " type id call_id name input status namespace caller "},
  {MEMBER_OF_MESSAGE, "custom_tool_call_output", " type id call_id output status caller "},
  {MEMBER_OF_MESSAGE, "reasoning", " type id summary content encrypted_content status "},
  {MEMBER_OF_MESSAGE, "compaction", " type id encrypted_content "},
  {MEMBER_OF_MESSAGE, "item_reference", " type id "},
  {MEMBER_OF_PART, "input_text", " type text" MARK},
  {MEMBER_OF_PART, "input_image", " type image_url file_id detail" MARK},
  {MEMBER_OF_PART, "input_file", " type file_id file_url file_data filename detail" MARK},
  {MEMBER_OF_PART, "output_text", " type text annotations logprobs "},
  {MEMBER_OF_PART, "refusal", " type refusal "},
  {MEMBER_OF_PART, "summary_text", " type text "},
  {MEMBER_OF_PART, "reasoning_text", " type text "},
  {0},
};

/* cache_control on thinking is for cache_place to report. */
static const MemberRow ANTHROPIC[] = {
  {MEMBER_OF_BODY, NULL,
   " model messages system max_tokens anthropic_beta anthropic_version betas cache_control compaction container"
   " context_management diagnostics fallbacks inference_geo mcp_servers metadata output_config service_tier speed"
   " stop_sequences stream temperature thinking thread tool_choice tools top_k top_p "},
  {MEMBER_OF_MESSAGE, NULL, " role content clear_at output_config "},
  {MEMBER_OF_PART, "text", " type text citations cache_control "},
  {MEMBER_OF_PART, "image", " type source transformations cache_control "},
  {MEMBER_OF_PART, "document", " type source title context citations cache_control "},
  {MEMBER_OF_PART, "search_result", " type source title content citations cache_control "},
  {MEMBER_OF_PART, "tool_use", " type id name input caller toolset_name cache_control "},
  {MEMBER_OF_PART, "tool_result", " type tool_use_id content is_error toolset_name cache_control "},
  {MEMBER_OF_PART, "thinking", " type thinking signature cache_control "},
  {MEMBER_OF_PART, "redacted_thinking", " type data cache_control "},
  {MEMBER_OF_PART, "compaction", " type content encrypted_content signature tool_changes cache_control "},
  {0},
};

static const MemberRow GEMINI[] = {
  {MEMBER_OF_BODY, NULL,
   " model contents systemInstruction system_instruction tools toolConfig tool_config generationConfig"
   " generation_config cachedContent cached_content safetySettings safety_settings labels "},
  {MEMBER_OF_MESSAGE, NULL, " role parts "},
  {MEMBER_OF_PART, NULL,
   " text thought thoughtSignature thought_signature inlineData inline_data fileData file_data functionCall"
   " function_call functionResponse function_response executableCode executable_code codeExecutionResult"
   " code_execution_result toolCall tool_call toolResponse tool_response videoMetadata video_metadata"
   " mediaResolution media_resolution partMetadata part_metadata "},
  {MEMBER_OF_CALL, NULL, " id name args partialArgs willContinue response parts scheduling "},
  {0},
};

/* By Dialect. */
static const MemberRow *const ROWS[DIALECT_COUNT] = {OPENAI, RESPONSES, ANTHROPIC, GEMINI};

/* True if the name stands between the spaces. */
static bool lists(const char *names, Text key) {
  for (const char *at = names + 1, *end; *at != '\0'; at = end + 1) {
    end = strchr(at, ' ');
    assert(end != NULL);
    if (text_equal(key, text_plain(at, (size_t)(end - at)))) return true;
  }
  return false;
}

Text dialect_type(MemberLevel level, Text object) {
  JsonValue type, role;
  bool item_has_role;
  if (!json_find(object, "type", JSON_STRING, &type)) return text_plain(NULL, 0);
  Text text = json_text(&type);
  bool is_message = level == MEMBER_OF_MESSAGE && reader_is_item(text, &item_has_role) && !item_has_role &&
                    json_find(object, "role", JSON_STRING, &role);
  return is_message ? text_plain(NULL, 0) : text;
}

bool dialect_member(Dialect dialect, MemberLevel level, Text type, Text key) {
  assert((unsigned)dialect < DIALECT_COUNT);
  for (const MemberRow *row = ROWS[dialect]; row->names != NULL; row++) {
    if (row->level != level || (row->type != NULL && !text_equal(type, text_of(row->type)))) continue;
    return lists(row->names, key);
  }
  return true;
}

/* Members of Anthropic's that OpenAI-compatible servers have, too: vLLM, llama.cpp and OpenRouter sample by top_k,
   DeepSeek, Kimi and Z.AI switch thinking, OpenRouter places cache marks, LiteLLM names models to fall back on. */
#define TAKEN_OVER " top_k thinking cache_control fallbacks "

unsigned dialects_with_member(unsigned possible, Text key) {
  unsigned dialects = 0;
  assert(possible <= DIALECTS_ALL);
  if (lists(TAKEN_OVER, key)) return 0;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if ((possible >> i & 1) && dialect_member((Dialect)i, MEMBER_OF_BODY, text_of(""), key)) dialects |= 1u << i;
  }
  return dialects == possible ? 0 : dialects;
}
