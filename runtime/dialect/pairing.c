/*
** While calls are matched by a key, a map has for each key the open call that the next result
** takes. The calls of one turn form a queue, `next` and `tail`, and the queues a stack, `below`:
**
**     turn 1  a  a      turn 2  a  a       <- top
**             |--next-->  ^     |--next-->
**                         |_____below
**
** Results side by side then share the calls that they took in the order of both.
*/
#include "dialect/pairing.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "dialect/check/check_rules.h"
#include "json/json_fields.h"

typedef enum MatchBy { BY_ID, BY_NAME, BY_ORDER } MatchBy;

typedef struct MatchRule {
  MatchBy by;
  bool bare_calls, bare_results;      /* only those without an id */
} MatchRule;

static const MatchRule RULES[] = {
  {.by = BY_ID}, {.by = BY_NAME, .bare_results = true}, {.by = BY_NAME, .bare_calls = true},
  {.by = BY_ORDER, .bare_results = true, .bare_calls = true}, {.by = BY_ORDER, .bare_results = true},
};

/* A result of the current run of results, or a call that one of them took. */
typedef struct Taken {
  uint64_t hash;             /* of its key */
  uint32_t number;
} Taken;

typedef struct Matching {
  Pairing *pairing;
  MatchRule rule;
  const HashKey *key;
  Map tops;                  /* hash of a key -> the open call on top, from 1; 0: none */
  Taken *results, *calls;    /* of the current run of results; there is room for all results */
  uint32_t taken;
} Matching;

/* ---- calls and results of the list ---- */

static Text text_at(const Message *message, Span span) { return span.at == 0 ? NO_TEXT : message_text(message, span); }

/* True for items such as computer calls and approvals, which have results of a form of their own. */
static bool is_strict(const Message *message) {
  static const char *const free[] = {"function_call", "function_call_output", "custom_tool_call",
                                     "custom_tool_call_output"};
  JsonValue type;
  if (message_form(message) != FORM_ITEM || !json_find(message_raw(message), "type", JSON_STRING, &type)) return false;
  for (size_t i = 0; i < sizeof free / sizeof *free; i++) {
    if (text_is(json_text(&type), free[i])) return false;
  }
  return true;
}

static bool is_call_of(Dialect dialect, const Message *message, uint32_t call) {
  if (dialect == PAIRING_ANY) return true;
  switch (dialect) {
  case DIALECT_OPENAI: return message_form(message) != FORM_PARTS && !call_is_part(message, call);
  case DIALECT_RESPONSES: return message_form(message) == FORM_ITEM;
  case DIALECT_ANTHROPIC: return message_form(message) == FORM_CONTENT && call_is_part(message, call);
  case DIALECT_GEMINI: break;
  }
  return message_form(message) == FORM_PARTS;
}

static Status add_calls(Pairing *pairing, const Message *message, uint32_t index, Dialect dialect) {
  bool by_name = message_call_count(message) == 1 && message_is_legacy_call(message);
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (!is_call_of(dialect, message, i)) continue;
    PairedCall *grown =
      memory_grow(&pairing->memory, pairing->calls, &pairing->call_room, pairing->call_count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    pairing->calls = grown;
    Call call = message_call(message, i);
    Text name = text_at(message, call.name), id = text_at(message, call.id);
    grown[pairing->call_count++] =
      (PairedCall){.message = index, .number = i, .turn = pairing->turns[index], .result = UNPAIRED,
                   .strict = is_strict(message), .id = id.size == 0 && by_name ? name : id, .name = name};
  }
  return STATUS_OK;
}

static Status add_result(Pairing *pairing, PairedResult result) {
  PairedResult *grown =
    memory_grow(&pairing->memory, pairing->results, &pairing->result_room, pairing->result_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  pairing->results = grown;
  result.call = UNPAIRED;
  grown[pairing->result_count++] = result;
  return STATUS_OK;
}

/* Adds a message that is a result. A tool message may lack the id of its call. */
static Status add_whole(Pairing *pairing, const Message *message, uint32_t index) {
  Text name;
  PairedResult result = {.message = index, .part = UNPAIRED, .strict = is_strict(message), .id = NO_TEXT,
                         .name = NO_TEXT};
  if (message_field(message, FIELD_NAME, &name)) result.name = name;
  tool_answers(message, &result.id);
  return add_result(pairing, result);
}

static Status add_result_parts(Pairing *pairing, const Message *message, uint32_t index) {
  uint32_t number = 0;
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    if (part.kind != PART_TOOL_RESULT || part.nested || number == message_result_count(message)) continue;
    Result result = message_result(message, number++);
    status = add_result(pairing, (PairedResult){.message = index, .part = i, .id = text_at(message, result.id),
                                                .name = text_at(message, result.name)});
  }
  return status;
}

static Status add_results(Pairing *pairing, const Message *message, uint32_t index, Dialect dialect) {
  MessageForm form = message_form(message);
  Role role = message_role(message);
  if (dialect == PAIRING_ANY && role != ROLE_TOOL) return add_result_parts(pairing, message, index);
  if (dialect == PAIRING_ANY) dialect = form == FORM_ITEM ? DIALECT_RESPONSES : DIALECT_OPENAI;
  switch (dialect) {
  case DIALECT_OPENAI: return role == ROLE_TOOL && form != FORM_PARTS ? add_whole(pairing, message, index) : STATUS_OK;
  case DIALECT_RESPONSES:
    return form == FORM_ITEM && message_result_count(message) > 0 ? add_whole(pairing, message, index) : STATUS_OK;
  case DIALECT_ANTHROPIC:
    return form == FORM_CONTENT && role == ROLE_USER ? add_result_parts(pairing, message, index) : STATUS_OK;
  case DIALECT_GEMINI: break;
  }
  return form == FORM_PARTS && role == ROLE_USER ? add_result_parts(pairing, message, index) : STATUS_OK;
}

/* Numbers the turns of the assistant. System messages are part of no turn of Anthropic's. */
static void number_turns(Pairing *pairing, const Store *store, const MessageId *ids, Dialect dialect) {
  uint32_t turn = 0;
  bool goes_on = false;
  for (uint32_t i = 0; i < pairing->count; i++) {
    Role role = message_role(store_message(store, ids[i]));
    bool skips = role == ROLE_SYSTEM && dialect == DIALECT_ANTHROPIC;
    if (role == ROLE_ASSISTANT && !goes_on) turn++;
    if (!skips) goes_on = role == ROLE_ASSISTANT;
    pairing->turns[i] = role == ROLE_ASSISTANT ? turn : UNPAIRED;
  }
}

static Status add_all(Pairing *pairing, const Store *store, const MessageId *ids, Dialect dialect) {
  size_t places = (size_t)pairing->count + 1;
  pairing->first_call = memory_new_array(&pairing->memory, places, sizeof *pairing->first_call);
  pairing->first_result = memory_new_array(&pairing->memory, places, sizeof *pairing->first_result);
  pairing->turns = memory_new_array(&pairing->memory, places, sizeof *pairing->turns);
  if (pairing->first_call == NULL || pairing->first_result == NULL || pairing->turns == NULL) return STATUS_MEMORY;
  number_turns(pairing, store, ids, dialect);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i <= pairing->count && status == STATUS_OK; i++) {
    pairing->first_call[i] = pairing->call_count;
    pairing->first_result[i] = pairing->result_count;
    if (i == pairing->count) break;
    const Message *message = store_message(store, ids[i]);
    status = add_calls(pairing, message, i, dialect);
    if (status == STATUS_OK) status = add_results(pairing, message, i, dialect);
  }
  return status;
}

/* ---- matching ---- */

/* True if no result is left without a call, or no call without a result. */
static bool is_done(const Pairing *pairing) {
  bool open = false, left = false;
  for (uint32_t i = 0; i < pairing->call_count && !open; i++) open = pairing->calls[i].result == UNPAIRED;
  for (uint32_t i = 0; i < pairing->result_count && !left; i++) left = pairing->results[i].call == UNPAIRED;
  return !open || !left;
}

static uint64_t hash_of(const Matching *matching, Text id, Text name) {
  Text text = matching->rule.by == BY_ID ? id : matching->rule.by == BY_NAME ? name : NO_TEXT;
  return hash_text(text, matching->key);
}

static bool is_open(const Matching *matching, const PairedCall *call) {
  if (call->result != UNPAIRED || (matching->rule.bare_calls && call->id.size > 0)) return false;
  if (matching->rule.by != BY_ID && call->strict) return false;
  return matching->rule.by == BY_ORDER || (matching->rule.by == BY_ID ? call->id : call->name).size > 0;
}

static bool is_loose(const Matching *matching, const PairedResult *result) {
  if (result->call != UNPAIRED || (matching->rule.bare_results && result->id.size > 0)) return false;
  if (matching->rule.by != BY_ID && result->strict) return false;
  if (matching->rule.by == BY_ORDER) return result->name.size == 0;
  return (matching->rule.by == BY_ID ? result->id : result->name).size > 0;
}

/* Puts an open call on the stack of its key: before those of its turn that are there, or behind them. */
static Status push_call(Matching *matching, uint32_t number, bool before) {
  PairedCall *calls = matching->pairing->calls, *call = &calls[number];
  uint64_t hash = hash_of(matching, call->id, call->name), *top = map_find(&matching->tops, hash);
  uint32_t head = top == NULL || *top == 0 ? UNPAIRED : (uint32_t)*top - 1;
  bool is_next = head != UNPAIRED && calls[head].turn == call->turn && !before;
  call->next = UNPAIRED;
  call->below = head;
  call->tail = number;
  if (!is_next) return map_put(&matching->tops, hash, (uint64_t)number + 1);
  calls[calls[head].tail].next = number;
  calls[head].tail = number;
  return STATUS_OK;
}

/* Pairs a result with the call on top of its key's stack, if there is one. */
static void take_call(Matching *matching, uint32_t number) {
  PairedCall *calls = matching->pairing->calls;
  PairedResult *result = &matching->pairing->results[number];
  uint64_t hash = hash_of(matching, result->id, result->name), *top = map_find(&matching->tops, hash);
  if (top == NULL || *top == 0) return;
  PairedCall *call = &calls[*top - 1];
  assert(call->result == UNPAIRED);
  result->call = (uint32_t)*top - 1;
  call->result = number;
  matching->results[matching->taken] = (Taken){.hash = hash, .number = number};
  matching->calls[matching->taken++] = (Taken){.hash = hash, .number = result->call};
  if (call->next != UNPAIRED) {
    calls[call->next].below = call->below;
    calls[call->next].tail = call->tail;
    *top = (uint64_t)call->next + 1;
  } else {
    *top = call->below == UNPAIRED ? 0 : (uint64_t)call->below + 1;
  }
}

static int compare_taken(const void *a, const void *b) {
  const Taken *left = a, *right = b;
  if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
  return left->number < right->number ? -1 : left->number > right->number;
}

/* Ends a run of results: those of one key answer the calls that they took in the order of both. */
static void end_run(Matching *matching) {
  uint32_t count = matching->taken;
  matching->taken = 0;
  if (count < 2) return;
  qsort(matching->results, count, sizeof *matching->results, compare_taken);
  qsort(matching->calls, count, sizeof *matching->calls, compare_taken);
  for (uint32_t i = 0; i < count; i++) {
    matching->pairing->results[matching->results[i].number].call = matching->calls[i].number;
    matching->pairing->calls[matching->calls[i].number].result = matching->results[i].number;
  }
}

/* Matches the results and the calls of one message. In either direction a call stands on those of its turn that come
   later, so that the first is taken first. */
static Status match_message(Matching *matching, uint32_t message, bool backward) {
  const Pairing *pairing = matching->pairing;
  uint32_t first = pairing->first_result[message], end = pairing->first_result[message + 1];
  Status status = STATUS_OK;
  if (first == end) end_run(matching);
  for (uint32_t k = first; k < end; k++) {
    uint32_t result = backward ? end - 1 - (k - first) : k;
    if (is_loose(matching, &pairing->results[result])) take_call(matching, result);
  }
  first = pairing->first_call[message];
  end = pairing->first_call[message + 1];
  for (uint32_t k = first; k < end && status == STATUS_OK; k++) {
    uint32_t call = backward ? end - 1 - (k - first) : k;
    if (is_open(matching, &pairing->calls[call])) status = push_call(matching, call, backward);
  }
  return status;
}

/* Notes which results have the id of a call, wherever it stands; those without a call in the end are there again. */
static void note_ids(Matching *matching) {
  Pairing *pairing = matching->pairing;
  for (uint32_t i = 0; i < pairing->result_count; i++) {
    PairedResult *result = &pairing->results[i];
    result->is_again = result->id.size > 0 && map_find(&matching->tops, hash_of(matching, result->id, NO_TEXT)) != NULL;
  }
}

/* Walks the list once: results take calls before them, or behind them if it is walked from its end. */
static Status match(Matching *matching, bool backward) {
  uint32_t count = matching->pairing->count;
  Status status = STATUS_OK;
  map_init(&matching->tops, matching->pairing->memory);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    status = match_message(matching, backward ? count - 1 - i : i, backward);
  }
  end_run(matching);
  if (matching->rule.by == BY_ID && !backward) note_ids(matching);
  map_free(&matching->tops);
  return status;
}

/* ---- by place ---- */

/* A turn's calls, and the results directly behind it; the first message of these has those before `next`. */
typedef struct Step {
  uint32_t call, call_end, result, next, result_end;
} Step;

static bool waits(const PairedCall *call) { return call->result == UNPAIRED && !call->strict; }

/* True if a result has no call; one that is there again never gets one by its place. */
static bool is_left(const PairedResult *result) {
  return result->call == UNPAIRED && !result->strict && !result->is_again;
}

/* Pairs what is left of a step, in order: of all calls if the next message has a result for each of them and only their
   number counts, else of those without an id. */
static void pair_step(Pairing *pairing, Step step, bool by_count) {
  uint32_t open = 0, left = 0, result = step.result;
  for (uint32_t i = step.call; i < step.call_end; i++) open += waits(&pairing->calls[i]);
  for (uint32_t i = step.result; i < step.next; i++) left += is_left(&pairing->results[i]);
  bool all = by_count && open == left;
  for (uint32_t i = step.call; i < step.call_end; i++) {
    PairedCall *call = &pairing->calls[i];
    if (!waits(call) || (!all && call->id.size > 0)) continue;
    while (result < step.result_end && !is_left(&pairing->results[result])) result++;
    if (result == step.result_end) return;
    pairing->results[result].call = i;
    call->result = result;
  }
}

static void pair_by_place(Pairing *pairing, bool by_count) {
  uint32_t i = 0;
  while (i < pairing->count) {
    uint32_t turn = pairing->turns[i];
    Step step = {.call = pairing->first_call[i]};
    for (i++; turn != UNPAIRED && i < pairing->count && pairing->turns[i] == turn;) i++;
    if (turn == UNPAIRED) continue;
    step.call_end = pairing->first_call[i];
    step.result = pairing->first_result[i];
    step.next = pairing->first_result[i < pairing->count ? i + 1 : i];
    while (i < pairing->count && pairing_has_results(pairing, i)) i++;
    step.result_end = pairing->first_result[i];
    pair_step(pairing, step, by_count);
  }
}

/* ---- the whole ---- */

Status pairing_of(const Store *store, const MessageId *ids, uint32_t count, Dialect dialect, const HashKey *key,
                  const Memory *memory, Pairing *pairing) {
  *pairing = (Pairing){.memory = *memory, .count = count};
  Status status = add_all(pairing, store, ids, dialect);
  if (status != STATUS_OK || pairing->result_count == 0) return status;
  Matching matching = {.pairing = pairing, .key = key};
  size_t room = 2 * (size_t)pairing->result_count;
  matching.results = memory_new_array(memory, room, sizeof *matching.results);
  if (matching.results == NULL) return STATUS_MEMORY;
  matching.calls = matching.results + pairing->result_count;
  for (size_t i = 0; i < 2 * sizeof RULES / sizeof *RULES && status == STATUS_OK && !is_done(pairing); i++) {
    matching.rule = RULES[i / 2];
    status = match(&matching, i % 2 == 1);
  }
  memory_free(memory, matching.results, room * sizeof *matching.results);
  if (status == STATUS_OK) pair_by_place(pairing, dialect == DIALECT_GEMINI);
  return status;
}

void pairing_free(Pairing *pairing) {
  const Memory *memory = &pairing->memory;
  size_t places = (size_t)pairing->count + 1;
  memory_free(memory, pairing->calls, pairing->call_room * sizeof *pairing->calls);
  memory_free(memory, pairing->results, pairing->result_room * sizeof *pairing->results);
  memory_free(memory, pairing->first_call, places * sizeof *pairing->first_call);
  memory_free(memory, pairing->first_result, places * sizeof *pairing->first_result);
  memory_free(memory, pairing->turns, places * sizeof *pairing->turns);
}
