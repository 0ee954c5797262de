/*
** Lists of messages: whatever was read, checking it names each violation once per
** place, and a list that needs no conversion has none after its repair, for both
** dialects and both ways with unanswered calls. The list itself stays as it was.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "document/document.h"
#include "dialect/repair/repair.h"

static Status one_token(void *user, MessageId id, uint32_t *tokens) {
  (void)user;
  (void)id;
  *tokens = 1;
  return STATUS_OK;
}

/* The codes of violations that the target refuses; all others are described, too. */
static CodeSet codes_in(const Conversation *conversation, const CheckTarget *target) {
  const Sequence *list = conversation_list(conversation);
  CheckReport report = {.memory = memory_system()};
  CodeSet codes = {{0}};
  Buffer text;
  buffer_init(&text, report.memory);
  assert(check_list(target, conversation_store(conversation), list, &report) == STATUS_OK);
  for (uint32_t i = 0; i < report.count; i++) {
    const Violation *violation = &report.list[i];
    assert(violation->index < sequence_count(list) && sequence_at(list, violation->index) == violation->id);
    assert(i == 0 || report.list[i - 1].index <= violation->index);
    assert(check_describe(violation, &text) == STATUS_OK);
    if (violation->severity == SEVERITY_REFUSED) codes_add(&codes, violation->code);
  }
  buffer_free(&text);
  check_report_free(&report);
  return codes;
}

static bool can_repair_all(const CodeSet *codes, Dialect dialect) {
  for (unsigned code = 0; code < CHECK_CODE_COUNT; code++) {
    if (codes_have(codes, (CheckCode)code) && !check_rule((CheckCode)code, dialect)->can_repair) return false;
  }
  return true;
}

static bool is_empty(const CodeSet *codes) { return codes->bits[0] == 0 && codes->bits[1] == 0; }

static void repair(Conversation *conversation, Dialect dialect, bool synthesize) {
  RepairOptions options = {.target = {.dialect = dialect, .skips_members = true}, .codes = CODES_ALL,
                           .synthesize = synthesize};
  if (dialect_form(dialect)->check == NULL || dialect_form(dialect)->repair == NULL) return;
  CodeSet before = codes_in(conversation, &options.target);
  Conversation *copy;
  Ledger *ledger;
  assert(conversation_fork(conversation, &copy) == STATUS_OK);
  assert(repair_conversation(copy, &options, &ledger, NULL) == STATUS_OK);
  CodeSet after = codes_in(copy, &options.target);
  if (can_repair_all(&before, dialect)) assert(is_empty(&after));
  assert((ledger != NULL) <= !is_empty(&before));
  ledger_release(ledger);
  conversation_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  Memory memory = memory_system();
  DocumentLimits limits = {.message_bytes_max = 1 << 16, .file_bytes_max = 1 << 20, .lenient = true};
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = {.custom = one_token}};
  Conversation *conversation;
  Document document;
  DocumentWarnings warnings = {.memory = memory};
  DocumentError error;
  char *block = size == 0 ? NULL : memory_new(&memory, size);
  if (size > 0) memcpy(block, bytes, size);
  assert(conversation_new(&config, &conversation) == STATUS_OK);
  if (document_load(conversation, &limits, block, size, size, &document, &warnings, &error) == STATUS_OK) {
    dialect_detect(conversation_store(conversation), conversation_list(conversation));
    uint32_t count = sequence_count(conversation_list(conversation));
    for (unsigned i = 0; i < 2 * DIALECT_COUNT; i++) repair(conversation, (Dialect)(i / 2), i % 2 != 0);
    assert(sequence_count(conversation_list(conversation)) == count);
    conversation_free(conversation);
  } else {
    conversation_free(conversation);
    memory_free(&memory, block, size);
  }
  memory_free(&memory, warnings.list, warnings.room * sizeof *warnings.list);
  return 0;
}
