/*
** The first half of every repair: results that stand elsewhere go behind the messages with
** their calls, and get the ids of these calls where they have none. The repair of the dialect
** then finds every result that has a call where it looks for it:
**
**     calls a, b | result a | user | result b   ->   calls a, b | result a | result b | user
**     call a | call b | result a | result b     ->   call a | result a | call b | result b     openai
**     call a | call b | result a | result b     ->   calls a, b | result a | result b          gemini
**
** The place of a result is the run of messages with such results behind the message that calls,
** in openai, or behind its turn; an item of Responses may stand anywhere behind its call. A message
** that is no more than results of one place moves as it is; of others only these results do.
*/
#include <assert.h>

#include "dialect/repair/repair_plan.h"
#include "json/json_fields.h"

#define MOVED "place of a result"

/* Results [first, end) of one message, which go before the message at a place. */
typedef struct Move {
  uint32_t message, first, end;
  uint32_t next;             /* of the moves to the same place, or UNPAIRED */
  bool whole;                /* all that the message says */
} Move;

typedef struct Moves {
  Plan *plan;
  const Pairing *pairing;
  uint32_t *places;          /* by message: where results of its calls end */
  uint32_t *heads, *tails;   /* by place: the first move there, the last; UNPAIRED: none */
  Move *list;
  uint32_t count, room;
} Moves;

static Dialect dialect_of(const Moves *moves) { return moves->plan->options->target.dialect; }

/* ---- places ---- */

/* True if a message has parts beside its results. */
static bool says_more(const Moves *moves, uint32_t index) {
  const Message *message = plan_message(moves->plan, index);
  uint32_t parts = 0, first = moves->pairing->first_result[index], end = moves->pairing->first_result[index + 1];
  if (moves->pairing->results[first].part == UNPAIRED) return false;
  for (uint32_t i = 0; i < message_part_count(message); i++) parts += !message_part(message, i).nested;
  return parts > end - first;
}

/* True if a message may stand among the results of calls: it has some of them, or nothing of it will be left there. */
static bool is_among_results(const Moves *moves, uint32_t index, uint32_t caller) {
  const Pairing *pairing = moves->pairing;
  bool by_turn = dialect_of(moves) != DIALECT_OPENAI;
  if (!pairing_has_results(pairing, index)) return false;
  for (uint32_t i = pairing->first_result[index]; i < pairing->first_result[index + 1]; i++) {
    if (pairing->results[i].call == UNPAIRED) continue;
    const PairedCall *call = &pairing->calls[pairing->results[i].call];
    if (by_turn ? call->turn == pairing->turns[caller] : call->message == caller) return true;
  }
  return !says_more(moves, index);
}

/* System messages stand between the turns of Anthropic's, and are part of none. */
static bool is_skipped(const Moves *moves, uint32_t index) {
  return dialect_of(moves) == DIALECT_ANTHROPIC && message_role(plan_message(moves->plan, index)) == ROLE_SYSTEM;
}

/* Finds the end of the results that stand behind a message with calls, the last of its turn. */
static uint32_t end_of_results(const Moves *moves, uint32_t caller) {
  uint32_t end = caller + 1;
  for (uint32_t i = end; i < moves->pairing->count; i++) {
    if (is_among_results(moves, i, caller)) end = i + 1;
    else if (!is_skipped(moves, i)) break;
  }
  return end;
}

/* Finds for each message where the results of its calls end. */
static void find_places(Moves *moves) {
  const Pairing *pairing = moves->pairing;
  bool by_turn = dialect_of(moves) != DIALECT_OPENAI;
  for (uint32_t i = 0, next; i < pairing->count; i = next) {
    uint32_t turn = pairing->turns[i], last = i;
    next = i + 1;
    if (turn == UNPAIRED) continue;
    for (; by_turn && next < pairing->count && (pairing->turns[next] == turn || is_skipped(moves, next)); next++) {
      if (pairing->turns[next] == turn) last = next;
    }
    next = last + 1;
    uint32_t place = end_of_results(moves, last);
    for (uint32_t k = i; k <= last; k++) moves->places[k] = place;
  }
}

static bool stays(const Moves *moves, const PairedResult *result) {
  if (result->call == UNPAIRED) return true;
  uint32_t caller = moves->pairing->calls[result->call].message;
  bool behind = result->message > caller;
  return behind && (dialect_of(moves) == DIALECT_RESPONSES || result->message < moves->places[caller]);
}

static uint32_t place_of(const Moves *moves, const PairedResult *result) {
  return moves->places[moves->pairing->calls[result->call].message];
}

static Status add_move(Moves *moves, Move move, uint32_t place) {
  Move *grown = memory_grow(&moves->plan->memory, moves->list, &moves->room, moves->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  moves->list = grown;
  grown[moves->count] = move;
  if (moves->heads[place] == UNPAIRED) moves->heads[place] = moves->count;
  else grown[moves->tails[place]].next = moves->count;
  moves->tails[place] = moves->count++;
  return STATUS_OK;
}

/* Adds the moves of a message's results; those side by side go together. */
static Status move_results(Moves *moves, uint32_t index) {
  const Pairing *pairing = moves->pairing;
  uint32_t first = pairing->first_result[index], end = pairing->first_result[index + 1];
  Status status = STATUS_OK;
  for (uint32_t i = first, next; i < end && status == STATUS_OK; i = next) {
    const PairedResult *result = &pairing->results[i];
    next = i + 1;
    if (stays(moves, result)) continue;
    uint32_t place = place_of(moves, result);
    while (next < end && !stays(moves, &pairing->results[next]) && place_of(moves, &pairing->results[next]) == place) {
      next++;
    }
    Move move = {.message = index, .first = i, .end = next, .next = UNPAIRED};
    move.whole = next - i == end - first && !says_more(moves, index);
    status = add_move(moves, move, place);
  }
  return status;
}

/* ---- labels ---- */

/* Finds the label that ties a result to its call: an id, or Gemini's name of the function. False: it has it. */
static bool find_label(const Moves *moves, const PairedResult *result, Text *label) {
  if (result->call == UNPAIRED) return false;
  const PairedCall *call = &moves->pairing->calls[result->call];
  bool by_name = dialect_of(moves) == DIALECT_GEMINI;
  *label = by_name ? call->name : call->id;
  if (!by_name) return !text_equal(result->id, *label);
  const CheckTarget *target = &moves->plan->options->target;
  return !tool_name_fits(target, result->name) && tool_name_fits(target, *label);
}

static Status put_label(const Moves *moves, const PairedResult *result, Text raw, Buffer *out) {
  static const char *const camel = "functionResponse", *const snake = "function_response";
  Text label;
  JsonValue found;
  if (!find_label(moves, result, &label)) return buffer_add(out, raw.bytes, raw.size);
  const Message *message = plan_message(moves->plan, result->message);
  switch (dialect_of(moves)) {
  case DIALECT_GEMINI:
    return plan_put_renamed(moves->plan, raw, "name", json_find(raw, camel, JSON_OBJECT, &found) ? camel : snake,
                            label, out);
  case DIALECT_ANTHROPIC: return plan_put_renamed(moves->plan, raw, "tool_use_id", "tool_result", label, out);
  case DIALECT_RESPONSES: return plan_put_renamed(moves->plan, raw, "call_id", NULL, label, out);
  case DIALECT_OPENAI: break;
  }
  bool by_name = text_is(message_role_text(message), "function");
  const char *key = message_form(message) == FORM_ITEM ? "call_id" : by_name ? "name" : "tool_call_id";
  return plan_put_renamed(moves->plan, raw, key, NULL, label, out);
}

static bool needs_label(const Moves *moves, uint32_t first, uint32_t end) {
  Text label;
  for (uint32_t i = first; i < end; i++) {
    if (find_label(moves, &moves->pairing->results[i], &label)) return true;
  }
  return false;
}

/* ---- writing ---- */

static Status put_part(const Message *message, Part part, Buffer *list) {
  Text raw = message_text(message, part.value);
  Status status = list->size > 1 ? buffer_add_byte(list, ',') : STATUS_OK;
  return status == STATUS_OK ? buffer_add(list, raw.bytes, raw.size) : status;
}

static Status put_result(const Moves *moves, uint32_t number, Buffer *list) {
  const PairedResult *result = &moves->pairing->results[number];
  const Message *message = plan_message(moves->plan, result->message);
  Status status = list->size > 1 ? buffer_add_byte(list, ',') : STATUS_OK;
  if (status != STATUS_OK) return status;
  return put_label(moves, result, message_text(message, message_part(message, result->part).value), list);
}

/* Writes a message whose parts are `list`. */
static Status put_list(const Moves *moves, uint32_t index, const Buffer *list) {
  const Message *message = plan_message(moves->plan, index);
  MemberEdit edit = {.key = text_of(message_content_key(message)), .value = text_plain(list->bytes, list->size)};
  return json_edit_members(message_raw(message), &edit, 1, &moves->plan->bytes);
}

/* Writes the results of a move as a message. */
static Status put_move(const Moves *moves, const Move *move, Buffer *list) {
  Plan *plan = moves->plan;
  const Message *message = plan_message(plan, move->message);
  Text raw = message_raw(message);
  const PairedResult *first = &moves->pairing->results[move->first];
  if (move->whole && !needs_label(moves, move->first, move->end)) return buffer_add(&plan->bytes, raw.bytes, raw.size);
  if (first->part == UNPAIRED) return put_label(moves, first, raw, &plan->bytes);
  buffer_reset(list);
  Status status = buffer_add_byte(list, '[');
  for (uint32_t i = move->first; i < move->end && status == STATUS_OK; i++) status = put_result(moves, i, list);
  if (status == STATUS_OK) status = buffer_add_byte(list, ']');
  if (status != STATUS_OK) return status;
  if (move->whole) return put_list(moves, move->message, list);
  status = buffer_add_string(&plan->bytes, "{\"role\":\"user\",\"");
  if (status == STATUS_OK) status = buffer_add_string(&plan->bytes, message_content_key(message));
  if (status == STATUS_OK) status = buffer_add_string(&plan->bytes, "\":");
  if (status == STATUS_OK) status = buffer_add(&plan->bytes, list->bytes, list->size);
  return status == STATUS_OK ? buffer_add_byte(&plan->bytes, '}') : status;
}

/* Writes what stays of a message with results. */
static Status put_rest(const Moves *moves, uint32_t index, Buffer *list) {
  const Pairing *pairing = moves->pairing;
  const Message *message = plan_message(moves->plan, index);
  uint32_t number = pairing->first_result[index];
  if (pairing->results[number].part == UNPAIRED) {
    return put_label(moves, &pairing->results[number], message_raw(message), &moves->plan->bytes);
  }
  buffer_reset(list);
  Status status = buffer_add_byte(list, '[');
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    bool is_result = number < pairing->first_result[index + 1] && pairing->results[number].part == i;
    if (is_result && stays(moves, &pairing->results[number])) status = put_result(moves, number, list);
    if (!is_result && !part.nested) status = put_part(message, part, list);
    number += is_result;
  }
  if (status == STATUS_OK) status = buffer_add_byte(list, ']');
  return status == STATUS_OK ? put_list(moves, index, list) : status;
}

/* ---- steps ---- */

/* Plans the moves to the place before a message. */
static Status plan_place(const Moves *moves, uint32_t place, Buffer *list) {
  Status status = STATUS_OK;
  for (uint32_t i = moves->heads[place]; i != UNPAIRED && status == STATUS_OK; i = moves->list[i].next) {
    const Move *move = &moves->list[i];
    size_t at = moves->plan->bytes.size;
    status = put_move(moves, move, list);
    if (status != STATUS_OK) return status;
    status = plan_step(moves->plan, move->whole ? PLAN_PLACE : PLAN_INSERT, place, at, MOVED);
    if (status == STATUS_OK) status = plan_source(moves->plan, move->message);
  }
  return status;
}

/* True if the results of a message move as it is: it says no more, and they go to one place. */
static bool moves_whole(const Moves *moves, uint32_t index) {
  const PairedResult *results = moves->pairing->results;
  uint32_t first = moves->pairing->first_result[index], end = moves->pairing->first_result[index + 1];
  for (uint32_t i = first; i < end; i++) {
    if (stays(moves, &results[i]) || place_of(moves, &results[i]) != place_of(moves, &results[first])) return false;
  }
  return !says_more(moves, index);
}

/* Plans what becomes of a message with results. */
static Status plan_rest(const Moves *moves, uint32_t index, Buffer *list) {
  Plan *plan = moves->plan;
  uint32_t first = moves->pairing->first_result[index], end = moves->pairing->first_result[index + 1], moved = 0;
  bool labelled = false;
  size_t at = plan->bytes.size;
  for (uint32_t i = first; i < end; i++) {
    bool is_moved = !stays(moves, &moves->pairing->results[i]);
    moved += is_moved;
    labelled |= !is_moved && needs_label(moves, i, i + 1);
  }
  if (moved == 0 && !labelled) return STATUS_OK;
  if (moves_whole(moves, index)) return plan_step(plan, PLAN_LEAVE, index, at, MOVED);
  if (moved == end - first && !says_more(moves, index)) return plan_step(plan, PLAN_DROP, index, at, MOVED);
  Status status = put_rest(moves, index, list);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, index, at, moved > 0 ? MOVED : "id of a call") : status;
}

/* ---- contents of one turn ---- */

static bool is_joined(const Moves *moves, uint32_t index) {
  const uint32_t *turns = moves->pairing->turns;
  return turns[index] != UNPAIRED && message_form(plan_message(moves->plan, index)) == FORM_PARTS;
}

/* The end of the contents that Gemini wants in one: those of a turn that calls. `index` + 1: there is one. */
static uint32_t end_of_step(const Moves *moves, uint32_t index) {
  const Pairing *pairing = moves->pairing;
  uint32_t end = index + 1;
  bool joins = dialect_of(moves) == DIALECT_GEMINI && plan_is_repairing(moves->plan, CHECK_CALL_PLACE);
  if (!joins || !is_joined(moves, index)) return end;
  while (end < pairing->count && is_joined(moves, end) && pairing->turns[end] == pairing->turns[index]) end++;
  return pairing->first_call[index] < pairing->first_call[end] ? end : index + 1;
}

/* Plans to put the parts of the contents [index, end) into the first. */
static Status plan_step_of_model(const Moves *moves, uint32_t index, uint32_t end, Buffer *list) {
  Plan *plan = moves->plan;
  size_t at = plan->bytes.size;
  buffer_reset(list);
  Status status = buffer_add_byte(list, '[');
  for (uint32_t i = index; i < end && status == STATUS_OK; i++) {
    const Message *message = plan_message(plan, i);
    for (uint32_t k = 0; k < message_part_count(message) && status == STATUS_OK; k++) {
      if (!message_part(message, k).nested) status = put_part(message, message_part(message, k), list);
    }
  }
  if (status == STATUS_OK) status = buffer_add_byte(list, ']');
  if (status == STATUS_OK) status = put_list(moves, index, list);
  if (status == STATUS_OK) status = plan_step(plan, PLAN_REWRITE, index, at, "place of a call");
  for (uint32_t i = index + 1; i < end && status == STATUS_OK; i++) status = plan_source(plan, i);
  for (uint32_t i = index + 1; i < end && status == STATUS_OK; i++) {
    status = plan_step(plan, PLAN_DROP, i, 0, "joined to the content before");
  }
  return status;
}

/* ---- the whole ---- */

static Status plan_all(Moves *moves) {
  uint32_t count = moves->pairing->count;
  Status status = STATUS_OK;
  Buffer list;
  find_places(moves);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) status = move_results(moves, i);
  buffer_init(&list, moves->plan->memory);
  for (uint32_t i = 0, end; i < count && status == STATUS_OK; i = end) {
    status = plan_place(moves, i, &list);
    end = end_of_step(moves, i);
    if (status != STATUS_OK) break;
    if (end > i + 1) status = plan_step_of_model(moves, i, end, &list);
    else if (pairing_has_results(moves->pairing, i)) status = plan_rest(moves, i, &list);
  }
  if (status == STATUS_OK) status = plan_place(moves, count, &list);
  buffer_free(&list);
  return status;
}

Status plan_moves(Plan *plan) {
  const Memory *memory = &plan->memory;
  size_t places = (size_t)plan->count + 1;
  Moves moves = {.plan = plan, .pairing = &plan->pairing};
  bool moves_any = plan_is_repairing(plan, CHECK_ORPHAN_RESULT) && plan_is_repairing(plan, CHECK_UNANSWERED_CALL);
  if (!moves_any) return STATUS_OK;
  moves.places = memory_new_array(memory, 3 * places, sizeof *moves.places);
  if (moves.places == NULL) return STATUS_MEMORY;
  moves.heads = moves.places + places;
  moves.tails = moves.heads + places;
  for (size_t i = 0; i < places; i++) moves.heads[i] = UNPAIRED;
  Status status = plan_all(&moves);
  memory_free(memory, moves.list, moves.room * sizeof *moves.list);
  memory_free(memory, moves.places, 3 * places * sizeof *moves.places);
  return status;
}
