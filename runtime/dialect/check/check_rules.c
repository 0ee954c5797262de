/*
** Shared by the rules of all dialects: forms of messages, and violations.
*/
#include "dialect/check/check_rules.h"

#include <assert.h>

#include "base/names.h"
#include "json/json_fields.h"

/* ---- forms of messages ---- */

bool message_is_legacy_call(const Message *message) {
  JsonValue call;
  return json_find(message_raw(message), "function_call", JSON_OBJECT, &call);
}

bool tool_answers(const Message *message, Text *id) {
  uint32_t count = message_result_count(message);      /* the message's own result is behind those of its parts */
  if (count == 0 || result_is_part(message, count - 1)) return false;
  *id = message_text(message, message_result(message, count - 1).id);
  return true;
}

/* Parts of types that the reader does not know are never reported: providers keep adding new ones. */
bool part_is_foreign(Dialect dialect, const Message *message, Part part, CheckCode *code, Text *type) {
  if (part.nested) return false;
  *type = part_type(message, part);
  *code = CHECK_PART_TYPE;
  if (type->size == 0 && message_form(message) == FORM_CONTENT) return true;
  if (part.kind == PART_OTHER) return false;
  if (dialect_has_part(dialect, *type)) return false;
  /* Reasoning that is a message of its own, or stands in one of another form, goes with a conversion only. */
  bool can_go = part.kind == PART_REASONING && message_form(message) == FORM_CONTENT;
  *code = can_go ? CHECK_FOREIGN_REASONING : CHECK_FOREIGN_PART;
  return true;
}

bool result_part_is_foreign(Dialect dialect, const Message *message, Part part, CheckCode *code, Text *type) {
  static const char *const tools_write[] = {"resource", "resource_link", "audio"};
  *type = part_type(message, part);
  *code = type->size == 0 ? CHECK_PART_TYPE : CHECK_FOREIGN_PART;
  if (type->size == 0) return true;
  if (dialect_has_part(dialect, *type)) return false;
  return part.kind != PART_OTHER || NAMES_HAVE(tools_write, *type);
}

bool arguments_are_string(const Message *message, Call call) {
  return call.arguments.at != 0 && message_raw(message).bytes[call.arguments.at - 1] == '"';
}

bool message_lacks_reasoning(const CheckTarget *target, const Message *message) {
  ReasoningRule rule = target->profile.reasoning;
  JsonValue value;
  bool needs = rule == REASONING_REQUIRE || (rule == REASONING_REQUIRE_WITH_CALLS && message_call_count(message) > 0);
  return needs && message_role(message) == ROLE_ASSISTANT &&
         !json_find(message_raw(message), "reasoning_content", JSON_STRING, &value);
}

static bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

bool text_is_blank(Text text) {
  char scratch[4];
  Text run;
  while (text_run(&text, scratch, &run)) {
    for (size_t i = 0; i < run.size; i++) {
      if (!is_space(run.bytes[i])) return false;
    }
  }
  return true;
}

bool text_ends_in_space(Text text) {
  char scratch[4], last = 'x';
  Text run;
  while (text_run(&text, scratch, &run)) last = run.bytes[run.size - 1];      /* runs are never empty */
  return is_space(last);
}

static bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool id_fits(const IdRule *rule, Text id) {
  uint32_t count = 0;
  char scratch[4];
  Text run;
  while (text_run(&id, scratch, &run)) {
    for (size_t i = 0; i < run.size; i++) {
      char c = run.bytes[i];
      bool fits = rule->characters == ID_ANY || is_letter_or_digit(c) ||
                  (rule->characters == ID_WORD && (c == '_' || c == '-'));
      if (!fits) return false;
      count += ((unsigned char)c & 0xc0u) != 0x80u;
      if (rule->max != 0 && count > rule->max) return false;
    }
  }
  return count >= rule->min;
}

bool id_is_valid(Text id) { return id_fits(&(IdRule){.min = 1, .max = 64, .characters = ID_WORD}, id); }

IdRule target_call_id(const CheckTarget *target) {
  static const IdRule own[DIALECT_COUNT] = {
    [DIALECT_OPENAI] = {.min = 1, .max = 40, .characters = ID_ANY},
    [DIALECT_RESPONSES] = {.min = 1, .max = 64, .characters = ID_ANY},
    [DIALECT_ANTHROPIC] = {.min = 1, .characters = ID_WORD},
    [DIALECT_GEMINI] = {.characters = ID_ANY},
  };
  return target->profile.has_call_id ? target->profile.call_id : own[target->dialect];
}

uint32_t target_tool_name_max(const CheckTarget *target) {
  if (target->profile.tool_name_max != 0) return target->profile.tool_name_max;
  return target->dialect == DIALECT_OPENAI ? 64 : 128;
}

bool tool_name_fits(const CheckTarget *target, Text name) {
  IdRule rule = {.min = 1, .max = target_tool_name_max(target), .characters = ID_WORD};
  if (target->dialect != DIALECT_GEMINI) return id_fits(&rule, name);
  char scratch[4];
  Text run;
  uint32_t count = 0;
  while (text_run(&name, scratch, &run)) {
    for (size_t i = 0; i < run.size; i++) {
      char c = run.bytes[i];
      bool first = is_letter_or_digit(c) ? count > 0 || c > '9' : c == '_';
      bool fits = count == 0 ? first : first || is_letter_or_digit(c) || c == '.' || c == ':' || c == '-';
      if (!fits || ++count > rule.max) return false;
    }
  }
  return count > 0;
}

bool part_find(const Message *message, Part part, const char *name, JsonKind kind, JsonValue *value) {
  Text raw = message_text(message, part.value);
  return raw.bytes[0] == '{' && json_find(raw, name, kind, value);
}

bool part_has(const Message *message, Part part, const char *name) {
  JsonValue value;
  for (JsonKind kind = JSON_FALSE; kind <= JSON_OBJECT; kind++) {
    if (part_find(message, part, name, kind, &value)) return true;
  }
  return false;
}

/* ---- violations ---- */

const Message *checker_message(const Checker *checker, uint32_t index) {
  assert(index < checker->count);
  return store_message(checker->store, checker->ids[index]);
}

bool checker_wants(const Checker *checker, CheckCode code) {
  Severity severity = (Severity)checker->severities[code], least = checker->report->least;
  return severity != SEVERITY_NONE && severity >= least;
}

Status checker_add(Checker *checker, CheckCode code, uint32_t index, Text subject) {
  CheckReport *report = checker->report;
  assert(index < checker->count || index == CHECK_BODY);
  assert(report->count == 0 || report->list[report->count - 1].index <= index);
  if (!checker_wants(checker, code)) return STATUS_OK;
  Violation *grown = memory_grow(&report->memory, report->list, &report->room, report->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  report->list = grown;
  grown[report->count++] = (Violation){
    .code = code, .rule = check_rule(code, checker->target->dialect), .severity = (Severity)checker->severities[code],
    .index = index, .id = index == CHECK_BODY ? 0 : checker->ids[index], .subject = subject};
  assert(grown[report->count - 1].rule != NULL);
  return STATUS_OK;
}

Status checker_see(Checker *checker, Text id, bool *again) {
  uint64_t hash = hash_text(id, &checker->calls.key);
  *again = map_find(&checker->seen, hash) != NULL;
  return *again ? STATUS_OK : map_put(&checker->seen, hash, 1);
}

Status text_reads_object(Text text, Buffer *scratch, bool *is_object) {
  Json json;
  JsonValue value;
  if (text.escaped) {
    buffer_reset(scratch);
    Status status = text_decode(text, scratch);
    if (status != STATUS_OK) return status;
    text = text_plain(scratch->bytes, scratch->size);
  }
  *is_object = false;
  if (text.size == 0) return STATUS_OK;
  json_open(&json, text.bytes, text.size);
  json.tolerant = true;
  bool reads = json_value(&json, &value) && json_end(&json);
  bool is_deep = json.status == STATUS_LIMIT;      /* deeper than is read here: servers may read it */
  *is_object = is_deep || (reads && value.kind == JSON_OBJECT);
  return STATUS_OK;
}

bool checker_see_mark(Checker *checker, Text object, bool *is_late) {
  JsonValue mark, ttl;
  *is_late = false;
  if (object.size == 0 || object.bytes[0] != '{') return false;
  if (!json_find(object, "cache_control", JSON_OBJECT, &mark)) return false;
  bool has_ttl = json_find(text_plain(mark.bytes, mark.size), "ttl", JSON_STRING, &ttl);
  bool is_long = has_ttl && text_is(json_text(&ttl), "1h");
  *is_late = is_long && checker->has_short_mark;
  checker->has_short_mark |= !is_long;
  checker->cache_marks++;
  return true;
}
