/*
** Drafts for tests: edits from words, and what their ledger says.
*/
#ifndef EBB_TESTS_DRAFT_KIT_H
#define EBB_TESTS_DRAFT_KIT_H

#include "conversation_kit.h"

#include "core/draft/draft.h"

/* With its slots numbered, so that they can be looked at. */
static UNUSED Draft *numbered_draft(Conversation *chat, bool guarded) {
  Draft *draft;
  assert_int_equal(draft_new(chat, guarded, &draft), STATUS_OK);
  assert_int_equal(draft_number_slots(draft), STATUS_OK);
  return draft;
}

static UNUSED uint64_t guarded_tokens(Draft *draft) {
  GuardedSum guarded;
  assert_int_equal(draft_guarded(draft, &guarded), STATUS_OK);
  assert_true(guarded.lasting <= guarded.tokens);
  return guarded.tokens + draft_overhead(draft);
}

static UNUSED uint64_t lasting_tokens(Draft *draft) {
  GuardedSum guarded;
  assert_int_equal(draft_guarded(draft, &guarded), STATUS_OK);
  return guarded.lasting + draft_overhead(draft);
}

/* Replaces message `at`, or inserts at position `at`. */
static Status draft_put_word(Draft *draft, bool replace, uint32_t at, const Word *word, MessageId *made, Hold *why) {
  Reader reader;
  MessageShape shape;
  char room[JSON_ROOM];
  int64_t freed;
  reader_init(&reader, memory_system());
  Text raw = read_word(&reader, word, room, &shape);
  Status status = replace ? draft_replace(draft, at, raw, &shape, text_of("shorter"), made, &freed, why)
                          : draft_insert(draft, at, raw, &shape, text_of("told"), made);
  reader_free(&reader);
  return status;
}

static UNUSED Status draft_put(Draft *draft, bool replace, uint32_t at, const char *text, MessageId *made, Hold *why) {
  Word word = word_parse(&text);
  return draft_put_word(draft, replace, at, &word, made, why);
}

static UNUSED int64_t ledger_freed(const Ledger *ledger) {
  int64_t freed = 0;
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) freed += ledger_run(ledger, i).freed;
  return freed;
}

static void write_ledger(FILE *out, const Ledger *ledger) {
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) {
    LedgerRun run = ledger_run(ledger, i);
    Text by = ledger_text(ledger, run.cause.author), reason = ledger_text(ledger, run.cause.reason);
    fprintf(out, "%s %s seq %u + %u by seq %u, %.*s, %.*s: %lld\n", action_name(run.action), role_name(run.role),
            (unsigned)run.first, (unsigned)run.count, (unsigned)run.replacement, (int)by.size,
            by.size == 0 ? "" : by.bytes, (int)reason.size, reason.size == 0 ? "" : reason.bytes, (long long)run.freed);
  }
}

static UNUSED char *ledger_written(const Ledger *ledger) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  write_ledger(out, ledger);
  fclose(out);
  return text;
}

#endif
