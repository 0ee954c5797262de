/*
** Drafts against plain slots: random edits, after each of which the list, the
** tokens, the holds and the ledger are worked out again from arrays; then the
** draft is thrown away, made again the same way, and committed. SEED=n repeats a
** run, STEPS=n sets its length.
*/
#define _GNU_SOURCE /* open_memstream */
#include "base/minmax.h"
#include "draft_kit.h"

#define SLOTS 80

typedef struct PlainSlot {
  MessageId id;
  bool gone;
  Hold held;
  uint32_t unit;
} PlainSlot;

typedef struct Trim {
  Conversation *chat;
  Draft *draft;
  bool guarded;
  uint32_t count, began;     /* slots; messages stored when it began */
  PlainSlot slots[SLOTS];
  MessageId stands[PLAIN_ROOM + 1];    /* per id: what stands in its place, or 0 */
  Units *units;              /* of the list, while hold_all works */
} Trim;

static Fail fail;

static const Message *message_of(const Trim *trim, MessageId id) { return conversation_message(trim->chat, id); }

/* ---- what should be ---- */

/* The first reason stays, but what waits for results may be kept for good. */
static void hold_unit(Trim *trim, uint32_t unit, Hold hold) {
  for (uint32_t i = 0; i < trim->count; i++) {
    PlainSlot *slot = &trim->slots[i];
    bool free = slot->held == HOLD_NONE || (slot->held == HOLD_PENDING && hold == HOLD_REQUESTED);
    if (slot->unit == unit && free) slot->held = hold;
  }
}

static bool guarded_by(const Trim *trim, uint32_t i, Hold hold, uint32_t last) {
  MessageId id = trim->slots[i].id, origin = store_origin(conversation_store(trim->chat), id);
  switch (hold) {
  case HOLD_SYSTEM: return message_role(message_of(trim, id)) == ROLE_SYSTEM;
  case HOLD_PINNED: return marks_has(conversation_marks(trim->chat), text_of(MARK_PINNED), origin);
  case HOLD_PENDING: return trim->units->units[trim->slots[i].unit].pending;
  default: return i == last;
  }
}

/* The rules of guards, slot by slot; held ones stay held, but for a call of the
   policy's own that waits no more. */
static void hold_all(Trim *trim) {
  Hold before[SLOTS];
  uint32_t last = UNIT_NONE;
  const Sequence *list;
  Memory memory = memory_system();
  assert_int_equal(draft_list(trim->draft, &list), STATUS_OK);
  assert_int_equal(units_new(&memory, conversation_store(trim->chat), list, &trim->units), STATUS_OK);
  for (uint32_t i = 0; i < trim->count; i++) {
    PlainSlot *slot = &trim->slots[i];
    before[i] = slot->held;
    slot->held = HOLD_NONE;
    slot->unit = trim->units->unit_of[i];
    if (message_starts_turn(message_of(trim, slot->id))) last = i;
  }
  for (Hold hold = HOLD_SYSTEM; trim->guarded && hold <= HOLD_LAST_USER; hold++) {
    for (uint32_t i = 0; i < trim->count; i++) {
      if (guarded_by(trim, i, hold, last)) hold_unit(trim, trim->slots[i].unit, hold);
    }
  }
  units_free(trim->units);
  for (uint32_t i = 0; i < trim->count; i++) {
    bool own = before[i] == HOLD_PENDING && trim->slots[i].id > trim->began;
    if (before[i] != HOLD_NONE && !own) hold_unit(trim, trim->slots[i].unit, before[i]);
  }
}

static void begin(Trim *trim, Conversation *chat, bool guarded) {
  *trim = (Trim){.chat = chat, .guarded = guarded, .count = visible_count(chat)};
  trim->began = store_count(conversation_store(chat));
  trim->draft = numbered_draft(chat, guarded);
  for (uint32_t i = 0; i < trim->count; i++) {
    trim->slots[i].id = visible(chat, i);
    trim->stands[visible(chat, i)] = visible(chat, i);
  }
  hold_all(trim);
}

static uint64_t plain_tokens(const Trim *trim) {
  uint64_t tokens = conversation_overhead(trim->chat);
  for (uint32_t i = 0; i < trim->count; i++) {
    if (!trim->slots[i].gone) tokens += message_tokens(message_of(trim, trim->slots[i].id));
  }
  return tokens;
}

/* Whatever was done: each message that there was has one fate, and what is live is kept, replaced or inserted. */
static void check_counts(const Trim *trim, uint32_t live, uint32_t unchanged) {
  EditCounts counts = draft_edit_counts(trim->draft);
  assert_int_equal(counts.unchanged, unchanged);
  assert_int_equal(counts.unchanged + counts.replaced + counts.inserted, live);
  assert_int_equal(counts.unchanged + counts.dropped + counts.replaced, sequence_count(conversation_list(trim->chat)));
}

static void check_slots(const Trim *trim) {
  uint32_t live = 0, unchanged = 0;
  uint64_t guarded = conversation_overhead(trim->chat), lasting = guarded;
  if (one_in(3)) assert_int_equal(draft_number_slots(trim->draft), STATUS_OK);
  for (uint32_t i = 0; i < trim->count; i++) {
    const PlainSlot *slot = &trim->slots[i];
    uint32_t number = draft_slot_of(trim->draft, slot->id);
    if (number == UNIT_NONE) assert_true(slot->gone);      /* dropped, then numbered anew */
    if (number == UNIT_NONE) continue;
    assert_int_equal(draft_slot_message(trim->draft, number), slot->id);
    assert_int_equal(draft_slot_is_dropped(trim->draft, number), slot->gone);
    assert_int_equal(draft_slot_hold(trim->draft, number), slot->held);
    live += !slot->gone;
    unchanged += !slot->gone && slot->id <= trim->began;
    if (!slot->held || slot->gone) continue;
    guarded += message_tokens(message_of(trim, slot->id));
    if (slot->held != HOLD_PENDING && slot->held != HOLD_LAST_USER) {
      lasting += message_tokens(message_of(trim, slot->id));
    }
  }
  assert_int_equal(draft_count(trim->draft), live);
  assert_int_equal(draft_unchanged_count(trim->draft), unchanged);
  check_counts(trim, live, unchanged);
  assert_int_equal(guarded_tokens(trim->draft), guarded);
  assert_int_equal(lasting_tokens(trim->draft), lasting);
}

static void check_handles(const Trim *trim) {
  for (MessageId id = 1; id <= store_count(conversation_store(trim->chat)); id++) {
    uint32_t slot = draft_slot_of(trim->draft, id);
    bool gone = slot == UNIT_NONE || draft_slot_is_dropped(trim->draft, slot);
    if (trim->stands[id] == 0) assert_true(gone);
    else if (!gone) assert_int_equal(draft_slot_message(trim->draft, slot), trim->stands[id]);
  }
}

static void check_list(const Trim *trim) {
  const Sequence *list;
  uint32_t at = 0;
  assert_int_equal(draft_list(trim->draft, &list), STATUS_OK);
  assert_int_equal(sequence_count(list), draft_count(trim->draft));
  for (uint32_t i = 0; i < trim->count; i++) {
    if (!trim->slots[i].gone) assert_int_equal(sequence_at(list, at++), trim->slots[i].id);
  }
}

static void check(const Trim *trim) {
  draft_check(trim->draft);
  check_slots(trim);
  check_handles(trim);
  assert_int_equal(draft_tokens(trim->draft), plain_tokens(trim));
  int64_t freed = (int64_t)(draft_tokens_before(trim->draft) - draft_tokens(trim->draft));
  assert_int_equal(ledger_freed(draft_ledger(trim->draft)), freed);
  if (one_in(3)) check_list(trim);      /* not always: the list then lags behind the slots */
}

/* ---- random edits, done twice ---- */

static uint32_t plain_slot(const Trim *trim, MessageId id) {
  uint32_t slot = 0;
  while (slot < trim->count && trim->slots[slot].id != trim->stands[id]) slot++;
  return trim->stands[id] == 0 ? trim->count : slot;
}

static Status plain_refusal(const Trim *trim, MessageId id) {
  uint32_t slot = plain_slot(trim, id);
  if (slot == trim->count || trim->slots[slot].gone) return STATUS_RANGE;
  return trim->slots[slot].held ? STATUS_GUARDED : STATUS_OK;
}

static MessageId any_id(const Trim *trim) {
  return 1 + below(store_count(conversation_store(trim->chat)) + one_in(9));
}

static void drop_plain_unit(Trim *trim, uint32_t unit) {
  for (uint32_t i = 0; i < trim->count; i++) trim->slots[i].gone |= trim->slots[i].unit == unit;
}

static void do_drop(Trim *trim) {
  MessageId ids[3];
  uint32_t count = 1 + below(3);
  Status expected = STATUS_OK;
  uint64_t freed, before = plain_tokens(trim);
  Hold why;
  for (uint32_t i = 0; i < count; i++) {
    ids[i] = any_id(trim);
    if (expected == STATUS_OK) expected = plain_refusal(trim, ids[i]);
  }
  assert_int_equal(draft_drop(trim->draft, ids, count, text_of("old"), &freed, &why), expected);
  if (expected != STATUS_OK) return;
  for (uint32_t i = 0; i < count; i++) {
    PlainSlot *slot = &trim->slots[plain_slot(trim, ids[i])];
    slot->gone = true;
    if (trim->guarded) drop_plain_unit(trim, slot->unit);
  }
  assert_int_equal(freed, before - plain_tokens(trim));
}

static bool unit_is_there(const Trim *trim, uint32_t unit, bool only_free) {
  for (uint32_t i = 0; i < trim->count; i++) {
    if (trim->slots[i].unit == unit && !trim->slots[i].gone && !(only_free && trim->slots[i].held)) return true;
  }
  return false;
}

/* Units that may go, as few as it takes: the first m of them, for the least m. */
static void drop_plain_oldest(Trim *trim, uint64_t to, uint32_t keep) {
  uint32_t unit = 0;
  for (uint32_t i = 0; i < trim->count; i++) unit = max_u32(unit, trim->slots[i].unit + 1);
  while (unit > 0 && keep > 0) keep -= unit_is_there(trim, --unit, false);
  for (uint32_t i = 0; i < unit && plain_tokens(trim) > to; i++) {
    if (unit_is_there(trim, i, true)) drop_plain_unit(trim, i);
  }
}

static void do_drop_oldest(Trim *trim) {
  uint64_t before = plain_tokens(trim), to = below((uint32_t)before + 10), freed;
  uint32_t keep = below(6), messages, live = draft_count(trim->draft);
  if (one_in(2)) to = before - below(12);
  assert_int_equal(draft_drop_oldest(trim->draft, to, keep, text_of("oldest"), &messages, &freed), STATUS_OK);
  drop_plain_oldest(trim, to, keep);
  assert_int_equal(freed, before - plain_tokens(trim));
  assert_int_equal(messages, live - draft_count(trim->draft));
}

static Word random_word(void) {
  Word word = {.kind = "uuaattUs"[below(8)], .size = below(60), .fill = 'x'};
  uint32_t ids = word.kind == 'a' ? below(3) : word.kind == 'U' ? 1 + below(2) : word.kind == 't';
  for (uint32_t i = 0; i < ids; i++) word.ids[i] = (char)('x' + (below(2) + i) % 3);
  return word;
}

/* The words of a message, so that another of the same frame can be written. */
static Word word_of(const Message *message) {
  Word word = {.kind = "suat"[message_role(message)], .size = below(60), .fill = 'y'};
  uint32_t calls = message_call_count(message), results = message_result_count(message);
  if (word.kind == 'u' && results > 0) word.kind = 'U';
  for (uint32_t i = 0; i < calls; i++) word.ids[i] = message_call_key(message, i).bytes[0];
  for (uint32_t i = 0; i < results; i++) word.ids[i] = message_text(message, message_result(message, i).id).bytes[0];
  return word;
}

static void do_replace(Trim *trim) {
  MessageId id = any_id(trim), made = 0;
  Hold why;
  Status expected = plain_refusal(trim, id);
  uint32_t slot = plain_slot(trim, id);
  Word word = random_word();
  if (expected == STATUS_OK && !one_in(3)) {
    word = word_of(message_of(trim, trim->slots[slot].id));
  } else if (expected == STATUS_OK) {
    Word old = word_of(message_of(trim, trim->slots[slot].id));
    if (old.kind != word.kind || strcmp(old.ids, word.ids) != 0) expected = STATUS_ARGUMENT;
  }
  assert_int_equal(draft_put_word(trim->draft, true, id, &word, &made, &why), expected);
  if (expected != STATUS_OK) return;
  MessageId old = trim->slots[slot].id;
  for (MessageId i = 1; i <= made; i++) {
    if (trim->stands[i] == old) trim->stands[i] = made;
  }
  trim->stands[made] = trim->slots[slot].id = made;
}

/* Would something at a position of the list stand between messages of a unit? */
static bool plain_tears(const Trim *trim, uint32_t position) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < trim->count; i++) {
    if (trim->slots[i].gone || at++ >= position) continue;
    for (uint32_t j = i + 1, behind = at; j < trim->count; j++) {
      if (trim->slots[j].gone) continue;
      if (behind++ >= position && trim->slots[j].unit == trim->slots[i].unit) return true;
    }
  }
  return false;
}

static void do_insert(Trim *trim) {
  uint32_t live = draft_count(trim->draft), position = below(live + 2), count = 0;
  Word word = random_word();
  Hold why;
  MessageId made;
  if (trim->count + 1 > SLOTS) return;
  bool tears = trim->guarded && plain_tears(trim, position);
  Status status = draft_put_word(trim->draft, false, position, &word, &made, &why);
  assert_int_equal(status, position > live ? STATUS_RANGE : tears ? STATUS_GUARDED : STATUS_OK);
  if (status != STATUS_OK) return;
  for (uint32_t i = 0; i < trim->count; i++) {
    if (!trim->slots[i].gone) {
      trim->slots[count++] = trim->slots[i];
      continue;
    }
    for (MessageId id = 1; id <= made; id++) {
      if (trim->stands[id] == trim->slots[i].id) trim->stands[id] = 0;
    }
  }
  memmove(trim->slots + position + 1, trim->slots + position, (count - position) * sizeof *trim->slots);
  trim->slots[position] = (PlainSlot){.id = made};
  trim->stands[made] = made;
  trim->count = count + 1;
  hold_all(trim);
}

static void do_keep(Trim *trim) {
  MessageId id = any_id(trim);
  uint32_t slot = plain_slot(trim, id);
  bool there = slot < trim->count && !trim->slots[slot].gone;
  assert_int_equal(draft_keep(trim->draft, id, text_of("mine")), there ? STATUS_OK : STATUS_RANGE);
  if (there) hold_unit(trim, trim->slots[slot].unit, HOLD_REQUESTED);
}

static void step(Trim *trim) {
  switch (below(8)) {
  case 0:
  case 1: do_drop(trim); break;
  case 2: do_drop_oldest(trim); break;
  case 3:
  case 4: do_replace(trim); break;
  case 5: do_insert(trim); break;
  case 6: if (one_in(3)) do_keep(trim); break;
  default: assert_int_equal(draft_set_author(trim->draft, text_of(one_in(2) ? "one" : "")), STATUS_OK);
  }
  check(trim);
}

static Conversation *random_chat(void) {
  Conversation *chat = chat_of(&fail, "");
  for (uint32_t i = 0; i < 8; i++) {
    Words words = {0};
    uint32_t some = 1 + below(4);
    for (uint32_t j = 0; j < some; j++) words_add(&words, random_word());
    put_words(chat, one_in(4) ? WORDS_INSERT : WORDS_APPEND, below(visible_count(chat) + 1), &words);
  }
  for (uint32_t i = below(3); i > 0; i--) {
    MessageId id = visible(chat, below(visible_count(chat)));
    conversation_mark(chat, text_of(MARK_PINNED), store_origin(conversation_store(chat), id));
  }
  return chat;
}

static void commit(Trim *trim) {
  uint32_t batch, batches = history_count(conversation_history(trim->chat));
  bool changed = ledger_count(draft_ledger(trim->draft)) > 0;
  assert_int_equal(draft_commit(trim->draft, BATCH_TRIM, text_of("trim"), NULL, &batch), STATUS_OK);
  const History *history = conversation_history(trim->chat);
  assert_int_equal(history_count(history), batches + changed);
  assert_int_equal(history_current(history), batch);
  assert_int_equal(conversation_tokens(trim->chat), plain_tokens(trim));
  if (changed) {
    assert_ptr_equal(history_ledger(history, batch), draft_ledger(trim->draft));
    assert_int_equal(history_batch(history, batch).kind, BATCH_TRIM);
  }
  uint32_t at = 0;
  for (uint32_t i = 0; i < trim->count; i++) {
    if (!trim->slots[i].gone) assert_int_equal(visible(trim->chat, at++), trim->slots[i].id);
  }
  assert_int_equal(visible_count(trim->chat), at);
}

/* The same chance makes the same draft: once for nothing, once for good. */
static void trim_twice(Conversation *chat, uint32_t steps) {
  static Trim trim;
  uint64_t start = chance;
  bool guarded = !one_in(4);
  char *before = snapshot(chat, true);
  begin(&trim, chat, guarded);
  check(&trim);
  for (uint32_t i = 0; i < steps; i++) step(&trim);
  char *tried = ledger_written(draft_ledger(trim.draft));
  draft_free(trim.draft);
  assert_snapshot(chat, true, before);
  chance = start;
  guarded = !one_in(4);
  begin(&trim, chat, guarded);
  check(&trim);
  for (uint32_t i = 0; i < steps; i++) step(&trim);
  char *done = ledger_written(draft_ledger(trim.draft));
  assert_string_equal(done, tried);
  commit(&trim);
  draft_free(trim.draft);
  free(before);
  free(tried);
  free(done);
}

static void drafts_agree_with_plain_slots(void **state) {
  (void)state;
  for (uint32_t steps = test_steps(4000), some; steps > 0; steps -= some) {
    some = 1 + below(24);
    if (some > steps) some = steps;
    fail = (Fail){0};
    Conversation *chat = random_chat();
    trim_twice(chat, some);
    if (visible_count(chat) < 40) trim_twice(chat, some);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* ---- the oldest, at every budget ---- */

static void no_more_goes_than_must(void **state) {
  (void)state;
  fail = (Fail){0};
  Conversation *chat = chat_of(&fail, "s9 u30 a9(xy) t40(y) t8(x) u90 a7 U5(z) u50 a20(z) t9(z) a3 u9 a(x)");
  /* what may go, oldest first: */
  static const MessageId units[][3] = {{2}, {3, 4, 5}, {6}, {7}, {8}, {9}, {10, 11}, {12}};
  uint64_t total = conversation_tokens(chat);
  for (uint64_t to = 0; to <= total; to++) {
    uint64_t left = total, freed;
    uint32_t gone = 0, messages;
    Draft *draft;
    for (size_t i = 0; i < 8 && left > to; i++) {
      for (size_t j = 0; j < 3 && units[i][j] != 0; j++, gone++) {
        left -= message_tokens(conversation_message(chat, units[i][j]));
      }
    }
    assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
    assert_int_equal(draft_drop_oldest(draft, to, 0, text_of("oldest"), &messages, &freed), STATUS_OK);
    assert_int_equal(draft_tokens(draft), left);
    assert_int_equal(messages, gone);
    assert_int_equal(freed, total - left);
    draft_free(draft);
  }
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(drafts_agree_with_plain_slots),
    cmocka_unit_test(no_more_goes_than_must),
  };
  chance = test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
