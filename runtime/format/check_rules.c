/*
** Shared by the rules of all dialects: forms of messages, and violations.
*/
#include "format/check_rules.h"

#include <assert.h>

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
  if (part.kind == PART_OTHER || part.nested) return false;
  *type = part_type(message, part);
  if (dialect_has_part(dialect, *type)) return false;
  *code = part.kind == PART_REASONING ? CHECK_FOREIGN_REASONING : CHECK_FOREIGN_PART;
  return true;
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

bool id_is_valid(Text id) {
  size_t size = 0;
  char scratch[4];
  Text run;
  while (text_run(&id, scratch, &run)) {
    for (size_t i = 0; i < run.size; i++) {
      char c = run.bytes[i];
      bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
      if (!fits || ++size > 64) return false;
    }
  }
  return size > 0;
}

/* ---- violations ---- */

const Message *checker_message(const Checker *checker, uint32_t index) {
  assert(index < checker->count);
  return store_message(checker->store, checker->ids[index]);
}

Status checker_add(Checker *checker, CheckCode code, uint32_t index, Text subject) {
  CheckReport *report = checker->report;
  assert(index < checker->count);
  assert(report->count == 0 || report->list[report->count - 1].index <= index);
  Violation *grown = memory_grow(&report->memory, report->list, &report->room, report->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  report->list = grown;
  grown[report->count++] = (Violation){.code = code, .index = index, .id = checker->ids[index], .subject = subject};
  return STATUS_OK;
}
