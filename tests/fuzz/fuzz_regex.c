/*
** Regex rules: the input is flags, a pattern, a replacement, a text to trim, and a
** text, each ended by a line feed but for the last. Whatever they are, a rule ends
** in time; what it makes is valid UTF-8; a set, which tries no rule whose literal
** the text lacks, makes what the rule alone does; and machine code finds what the
** interpreter finds.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "regex/rule_set.h"
#include "base/utf8.h"

static Text next_line(const char **at, const char *end) {
  const char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));
  if (stop == NULL) stop = end;
  *at = stop < end ? stop + 1 : end;
  return text_plain(start, (size_t)(stop - start));
}

/* The rule alone. */
static Status replace(RegexEngine *engine, const RuleSource *rule, Text text, Buffer *out, uint32_t *count) {
  Regex *regex = NULL;
  RegexTemplate *by = NULL;
  RegexError error;
  Status status = regex_new(engine, rule->pattern.bytes, rule->pattern.size, rule->flags, &regex, &error);
  if (status == STATUS_OK) status = regex_template_new(regex, rule->replacement, rule->trims, rule->trim_count, &by);
  regex_start(engine);
  if (status == STATUS_OK) status = regex_replace(regex, by, text, NULL, out, count);
  regex_template_free(by);
  regex_free(regex);
  return status;
}

static void check_replace(RegexEngine *engine, RuleSource rule, Text text, const RuleResult *result) {
  Memory memory = memory_system();
  bool has_verbs = memchr(rule.pattern.bytes, '*', rule.pattern.size) != NULL &&
                   memchr(rule.pattern.bytes, '(', rule.pattern.size) != NULL;
  for (int once = 0; once < 2; once++) {
    Buffer out;
    uint32_t count = 0;
    buffer_init(&out, memory);
    if (once) rule.flags |= REGEX_ONCE;
    Status status = replace(engine, &rule, text, &out, &count);
    /* Verbs such as (*COMMIT) may say different things of a match; limits are no answer. */
    if (status == STATUS_OK && result->failure_count == 0 && !(once && has_verbs)) {
      assert((count > 0) == result->changed);
      if (count > 0) {
        assert(out.size == result->text.size);
        assert(out.size == 0 || memcmp(out.bytes, result->text.bytes, out.size) == 0);
      }
    }
    buffer_free(&out);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *at = size > 0 ? (const char *)data : "", *end = at + size;
  Text letters = next_line(&at, end);
  RuleSource rule = {.kinds = 1, .depth_last = UINT32_MAX};
  char bad;
  if (!regex_flags(letters.bytes, letters.size, &rule.flags, &bad)) rule.flags = REGEX_GLOBAL;
  rule.pattern = next_line(&at, end);
  rule.replacement = next_line(&at, end);
  Text trim = next_line(&at, end);
  rule.trims = &trim;
  rule.trim_count = trim.size > 0;
  Text text = text_plain(at, (size_t)(end - at));

  Memory memory = memory_system();
  RegexEngine *engine = NULL;
  RuleSet *set = NULL;
  RegexError error;
  if (regex_engine_new(&memory, &engine) != STATUS_OK || rule_set_new(engine, &set) != STATUS_OK) return 0;
  Status added = rule_set_add(set, &rule, &error);
  if (added == STATUS_ARGUMENT) assert(error.offset <= rule.pattern.size && error.message[0] != '\0');
  RuleResult result;
  if (added == STATUS_OK && rule_set_apply(set, text, 1, 0, &result) == STATUS_OK) {
    assert(utf8_check(result.text.bytes, result.text.size) == result.text.size);
    assert(result.failure_count <= 1);
    check_replace(engine, rule, text, &result);
  }
  rule_set_free(set);
  regex_engine_free(engine);
  return 0;
}
