/*
** Reads an open state. Nothing is trusted: every number is checked against the thing that it
** refers to, so that a damaged state is refused and never half read.
**
**     messages with their lists -> marks -> batches, each from its parent's state -> checkpoints
*/
#include <assert.h>

#include "base/bitset.h"
#include "state/state_parts.h"

/* ---- marks ---- */

static bool read_mark(StateLoader *l, Json *json, Text label) {
  int64_t id, before = 0;
  if (!state_plain(l, &label) || !state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!state_value_integer(l, json, before + 1, store_count(l->store), &id,
                             "the seq of a message, greater than the one before")) {
      return false;
    }
    if (store_origin(l->store, (MessageId)id) != id) return state_fail_json(l, json, "a message that replaced none");
    if (marks_add(l->marks, label, (MessageId)id) != STATUS_OK) return state_fail_memory(l);
    before = id;
  }
  return state_end(l, json, "a seq");
}

static bool read_marks(StateLoader *l) {
  Json json;
  Text label;
  if (marks_new(conversation_memory(l->conversation), &l->marks) != STATUS_OK) return state_fail_memory(l);
  if (!state_open_field(l, &json, STATE_MARKS, JSON_OBJECT)) return false;
  while (json_next_member(&json, &label)) {
    if (!read_mark(l, &json, label)) return false;
  }
  return state_end(l, &json, "a mark");
}

/* ---- calibration ---- */

static bool read_calibration(StateLoader *l, Calibration *calibration) {
  Json json;
  int64_t reported, counted;
  if (!state_open_field(l, &json, STATE_CALIBRATION, JSON_ARRAY) ||
      !state_integer(l, &json, 0, (int64_t)CALIBRATION_REPORT_MAX, &reported, "tokens") ||
      !state_integer(l, &json, reported == 0 ? 0 : 1, reported, &counted, "no more tokens than were reported") ||
      !state_end_list(l, &json)) {
    return false;
  }
  *calibration = (Calibration){.reported = (uint64_t)reported, .counted = (uint64_t)counted};
  return reported / CALIBRATION_RATIO_MAX <= counted || state_fail_json(l, &json, "a likely ratio");
}

/* ---- all ---- */

Status state_read(Conversation *conversation, const State *state, StateError *error) {
  return state_read_roles(conversation, state, NULL, 0, error);
}

Status state_read_roles(Conversation *conversation, const State *state, const RoleAlias *aliases, uint32_t alias_count,
                        StateError *error) {
  const Memory *memory = conversation_memory(conversation);
  StateLoader l = {.conversation = conversation, .store = conversation_store(conversation), .aliases = aliases,
                   .alias_count = alias_count, .fields = state->fields, .bytes = state->bytes, .error = error};
  *error = (StateError){0};
  buffer_init(&l.scratch, *memory);
  store_rewind(l.store, (StoreMark){0});     /* without a tool description; its history goes below */
  Calibration calibration;
  bool good = state_read_messages(&l) && read_marks(&l) && state_read_windows(&l) && state_read_history(&l) &&
              read_calibration(&l, &calibration);
  if (good) {
    conversation_take_calibration(conversation, calibration);
    conversation_take_marks(conversation, l.marks);
    conversation_take_windows(conversation, l.windows);
    conversation_take_history(conversation, l.history);
  } else {
    marks_release(l.marks);
    windows_free(l.windows);
    history_free(l.history);
  }
  bitset_free(memory, l.seen, (size_t)store_count(l.store) + 1);
  buffer_free(&l.scratch);
  assert(good == (error->status == STATUS_OK));
  return error->status;
}
