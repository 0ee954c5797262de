/*
** Reads the ledgers of a state: runs of what was done, what was kept for which
** policy, and notes.
*/
#include "state/state_parts.h"

static bool read_role(StateLoader *l, Json *json, Role *role) {
  Text label;
  if (!state_text(l, json, &label)) return false;
  for (int i = 0; i <= ROLE_NONE; i++) {
    *role = (Role)i;
    if (text_is(label, role_name(*role))) return true;
  }
  return state_fail_json(l, json, "a role");
}

static bool read_action(StateLoader *l, Json *json, Action *action) {
  Text label;
  if (!state_text(l, json, &label)) return false;
  for (*action = ACTION_DROPPED; *action <= ACTION_INSERTED; ++*action) {
    if (text_is(label, action_name(*action))) return true;
  }
  return state_fail_json(l, json, "an action");
}

/* Reads the reason, which comes next, and makes a cause of both texts. The ledger
   copies them decoded. */
static bool read_reason(StateLoader *l, Json *json, Ledger *ledger, Text author, Cause *cause) {
  Text reason;
  if (!state_text(l, json, &reason)) return false;
  buffer_reset(&l->scratch);
  Status status = text_decode(author, &l->scratch);
  size_t middle = l->scratch.size;
  if (status == STATUS_OK) status = text_decode(reason, &l->scratch);
  if (status == STATUS_OK) status = buffer_add_byte(&l->scratch, '\0');
  if (status != STATUS_OK) return state_fail_memory(l);
  Text plain_author = text_plain(l->scratch.bytes, middle);
  Text plain_reason = text_plain(l->scratch.bytes + middle, l->scratch.size - 1 - middle);
  return ledger_cause(ledger, plain_author, plain_reason, cause) == STATUS_OK || state_fail_memory(l);
}

static bool read_cause(StateLoader *l, Json *json, Ledger *ledger, Cause *cause) {
  Text author;
  return state_text(l, json, &author) && read_reason(l, json, ledger, author, cause);
}

/* Reads a run of a ledger and adds it; false with an error noted. */
static bool read_run(StateLoader *l, Json *json, Ledger *ledger) {
  LedgerRun run;
  Cause cause;
  int64_t first, count, replacement, last = store_count(l->store);
  if (!state_enter(l, json, JSON_ARRAY, "a list") || !read_action(l, json, &run.action) ||
      !read_cause(l, json, ledger, &cause) || !state_integer(l, json, 1, last, &first, "a seq") ||
      !state_integer(l, json, 1, last - first + 1, &count, "a count") ||
      !state_integer(l, json, 0, last, &replacement, "a seq") || !read_role(l, json, &run.role) ||
      !state_integer(l, json, INT64_MIN, INT64_MAX, &run.freed, "tokens") || !state_end_list(l, json)) {
    return false;
  }
  run.first = (MessageId)first;
  run.count = (uint32_t)count;
  run.replacement = (MessageId)replacement;
  bool fits = (run.action == ACTION_DROPPED || count == 1) && (run.action == ACTION_REPLACED) == (replacement != 0);
  if (!fits || ledger_count(ledger) > UINT32_MAX - run.count) {
    return state_fail_json(l, json, "what an edit may have done");
  }
  if (ledger_reserve(ledger) != STATUS_OK) return state_fail_memory(l);
  ledger_add(ledger, cause, run);
  return true;
}

static bool read_runs(StateLoader *l, Json *json, Ledger *ledger) {
  if (!state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!read_run(l, json, ledger)) return false;
  }
  return state_end(l, json, "an entry");
}

static bool read_keeps(StateLoader *l, Json *json, Ledger *ledger) {
  if (!state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    Cause cause;
    Text author;
    int64_t id;
    if (!state_value_text(l, json, &author) || !read_reason(l, json, ledger, author, &cause) ||
        !state_integer(l, json, 1, store_count(l->store), &id, "a seq")) {
      return false;
    }
    if (ledger_keep(ledger, cause, (MessageId)id) != STATUS_OK) return state_fail_memory(l);
  }
  return state_end(l, json, "what was kept");
}

static bool add_note(StateLoader *l, Ledger *ledger, Text author, Text note) {
  Buffer copy;
  buffer_init(&copy, l->scratch.memory);
  Status status = text_decode(author, &copy);
  if (status == STATUS_OK && state_plain(l, &note)) {
    status = ledger_note(ledger, text_plain(copy.bytes == NULL ? "" : copy.bytes, copy.size), note);
  }
  buffer_free(&copy);
  return (status == STATUS_OK && l->error->status == STATUS_OK) || state_fail_memory(l);
}

static bool read_notes(StateLoader *l, Json *json, Ledger *ledger) {
  Text author, note;
  if (!state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!state_value_text(l, json, &author) || !state_text(l, json, &note)) return false;
    if (!add_note(l, ledger, author, note)) return false;
  }
  return state_end(l, json, "a note");
}

bool state_read_ledger(StateLoader *l, const JsonValue *value, Ledger **ledger) {
  static bool (*const readers[])(StateLoader *, Json *, Ledger *) = {read_runs, read_keeps, read_notes};
  Json json;
  JsonValue parts[LEDGER_FIELDS];
  if (ledger_new(conversation_memory(l->conversation), *store_hash_key(l->store), ledger) != STATUS_OK) {
    return state_fail_memory(l);
  }
  json_open_value(&json, value);
  if (!state_fields(l, &json, LEDGER_NAMES, LEDGER_FIELDS, LEDGER_FIELDS, "runs, keeps, notes", parts)) return false;
  for (int i = 0; i < LEDGER_FIELDS; i++) {
    json_open_value(&json, &parts[i]);
    if (!readers[i](l, &json, *ledger)) return false;
  }
  return true;
}
