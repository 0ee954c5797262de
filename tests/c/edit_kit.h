/*
** Edits of conversations for tests, from words; each ends where the first status is not OK:
**
**     u4         appends a message, as +u4       <2      keeps the last two messages
**     =2:u4      replaces message 2             !0      rolls back to batch 0
**     @2:u4      inserts at position 2          ~       keeps the messages of the user
**     #name      makes a checkpoint             p0      prunes all but the newest 0 batches, and compacts
**     *2  /2     marks message 2, or unmarks    m"a":1  remembers {"a":1}
**     wx         puts window x                  r2      overwrites the text of message 2
**     t3         trims: drops the first 3 messages, keeps one, inserts one, says why
**     d1         drops message 1 and its unit by a draft    D    drops message 0 by one, and keeps the last but one
**     R1         replaces message 1 by a draft              K60  takes a report of 60 tokens
**     e  E       chooses another counter                    &2   marks message 2 with another name
**     vx         closes window x                F2     forgets message 2
*/
#ifndef EBB_TESTS_EDIT_KIT_H
#define EBB_TESTS_EDIT_KIT_H

#include "draft_kit.h"

#include "core/forget.h"

static Status trim_by_draft(Conversation *chat, uint32_t count) {
  Draft *draft = numbered_draft(chat, true);
  uint32_t batch;
  uint64_t freed;
  Hold hold;
  MessageId ids[16], made;
  const Sequence *list = conversation_list(chat);
  Text policy = text_of("{\"trims\":1}");
  uint32_t first = message_role(conversation_message(chat, sequence_at(list, 0))) == ROLE_SYSTEM;
  for (uint32_t i = 0; i < count; i++) ids[i] = sequence_at(list, first + i);
  MessageId kept = sequence_at(list, first + count);
  assert_int_equal(draft_set_author(draft, text_of("trimmer")), STATUS_OK);
  assert_int_equal(draft_keep(draft, kept, text_of("kept")), STATUS_OK);
  assert_int_equal(draft_drop(draft, ids, count, text_of("old"), &freed, &hold), STATUS_OK);
  assert_int_equal(draft_put(draft, false, ids[0] - 1, "u1", &made, &hold), STATUS_OK);
  assert_int_equal(ledger_note(draft_ledger(draft), text_of("trimmer"), text_of("done")), STATUS_OK);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of("trimmed"), &policy, &batch), STATUS_OK);
  draft_free(draft);
  return STATUS_OK;
}

static Status drop_by_draft(Conversation *chat, uint32_t place) {
  Draft *draft = numbered_draft(chat, true);
  MessageId id = sequence_at(conversation_list(chat), place);
  uint32_t batch;
  uint64_t freed;
  Hold hold;
  assert_int_equal(draft_drop(draft, &id, 1, text_of("old"), &freed, &hold), STATUS_OK);
  Status status = draft_commit(draft, BATCH_TRIM, text_of("trimmed"), NULL, &batch);
  draft_free(draft);
  return status;
}

static Status drop_and_keep(Conversation *chat) {
  Draft *draft = numbered_draft(chat, true);
  const Sequence *list = conversation_list(chat);
  MessageId id = sequence_at(list, 0), kept = sequence_at(list, sequence_count(list) - 2);
  uint32_t batch;
  uint64_t freed;
  Hold hold;
  assert_int_equal(draft_drop(draft, &id, 1, text_of("old"), &freed, &hold), STATUS_OK);
  assert_int_equal(draft_keep(draft, kept, text_of("kept")), STATUS_OK);
  Status status = draft_commit(draft, BATCH_TRIM, text_of("trimmed"), NULL, &batch);
  draft_free(draft);
  return status;
}

static Status replace_by_draft(Conversation *chat, uint32_t place) {
  Draft *draft = numbered_draft(chat, true);
  uint32_t batch;
  Hold hold;
  MessageId made;
  MessageId id = sequence_at(conversation_list(chat), place);
  assert_int_equal(draft_put(draft, true, id, "a1", &made, &hold), STATUS_OK);
  Status status = draft_commit(draft, BATCH_TRIM, text_of("trimmed"), NULL, &batch);
  draft_free(draft);
  return status;
}

static Status put_window(Conversation *chat, const char *id, unsigned flags) {
  MessageId now = store_count(conversation_store(chat));
  Window window = {.content = WINDOW_TEXT, .version = 1, .created = now, .updated = now, .flags = flags};
  window.texts[WINDOW_ID] = text_plain(id, 1);
  window.texts[WINDOW_CONTENT] = text_of("now");
  return conversation_put_window(chat, &window);
}

static void blacken(char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == 'x') bytes[i] = '#';
  }
}

static Status overwrite(Conversation *chat, MessageId id) {
  char *bytes;
  size_t size;
  Status status = conversation_redact(chat, id, &bytes, &size);
  conversation_settle_redactions(chat, status == STATUS_OK);
  if (status == STATUS_OK) blacken(bytes, size);
  return status;
}

static UNUSED Status edit(Conversation *chat, const char *word) {
  uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10), pruned, removed;
  Truncate cut = {.has_keep_last = true, .keep_last = number};
  Filter filter = {.roles = 1u << ROLE_USER};
  Counter counter = counter_of(*word == 'E' ? ESTIMATE_CLAUDE : ESTIMATE_CJK);
  const char *message = strchr(word, ':');
  char text[64];
  switch (*word) {
  case '+': return put(chat, WORDS_APPEND, 0, word + 1);
  case '=': return put(chat, WORDS_REPLACE, number, message + 1);
  case '@': return put(chat, WORDS_INSERT, number, message + 1);
  case '<': return operation_truncate(chat, &cut);
  case '~': return operation_filter(chat, &filter);
  case '!': return operation_rollback(chat, number, false, 0);
  case '#': return history_name(conversation_history(chat), text_of(word + 1));
  case 'p': return conversation_compact(chat, number, &pruned, &removed);
  case '*': return conversation_mark(chat, text_of("pinned"), number);
  case '/': return conversation_unmark(chat, text_of("pinned"), number);
  case 'w': return isdigit((unsigned char)word[1]) ? put(chat, WORDS_APPEND, 0, word) : put_window(chat, word + 1, 0);
  case 'd': return drop_by_draft(chat, number);
  case 'r': return overwrite(chat, number);
  case 'F': return conversation_forget(chat, number, text_plain("", 0), blacken, NULL);
  case 'D': return drop_and_keep(chat);
  case 'R': return replace_by_draft(chat, number);
  case 'K': return conversation_calibrate(chat, number);
  case '&': return conversation_mark(chat, text_of("seen"), number);
  case 'v': return put_window(chat, word + 1, WINDOW_CLOSED);
  case 'E':
  case 'e': return conversation_recount(chat, &counter, (Cost){0});
  case 'm':
    snprintf(text, sizeof text, "{%s}", word + 1);
    return conversation_remember(chat, text_of(text));
  case 't':
    return strchr(word, '(') == NULL ? trim_by_draft(chat, number) : put(chat, WORDS_APPEND, 0, word);
  default: return put(chat, WORDS_APPEND, 0, word);
  }
}

/* Makes all edits of a text up to a word |, which must not fail. Returns the text behind it. */
static UNUSED const char *edits(Conversation *chat, const char *text) {
  char word[32];
  for (int length; sscanf(text, " %31[^ ]%n", word, &length) == 1; text += length) {
    if (*word == '|') return text + length;
    assert_int_equal(edit(chat, word), STATUS_OK);
  }
  return text;
}

#endif
