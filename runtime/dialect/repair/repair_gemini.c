/*
** Repairs contents as check_gemini.c reads them: behind a content that calls stand as many
** responses as it has calls, in one content, before its other parts.
**
**     model  call a, call b      user  response a      user  text
**                   |            + response b, if calls are answered ("synthesize")
**                   dropped, if they are not
**
** Responses in several contents are put into the first. A content that calls is joined to
** the model's content before it. Empty parts are dropped, and contents of which nothing is left. A response that the
** API would not take becomes a text.
*/
#include <assert.h>
#include <string.h>

#include "dialect/repair/repair_plan.h"
#include "json/json_fields.h"

#define NONE UINT32_MAX

typedef struct ContentFate {
  uint32_t calls, results;   /* the numbers of its first call and result, among all */
  const char *dropped;       /* why it goes, static; NULL: it stays */
  const char *changed;       /* why it is written anew, static; NULL: it keeps its bytes */
  uint32_t previous;         /* the last content before it that stays, behind all that is inserted; NONE */
  uint32_t joined;           /* the content that gets its parts; NONE */
  uint32_t answers;          /* the content whose unanswered calls get responses in it; NONE */
  uint32_t before;           /* the same for responses in a content that is inserted before it; NONE */
} ContentFate;

typedef enum CallFate { CALL_WAITS, CALL_FITS, CALL_DROPPED, CALL_ANSWERED } CallFate;

typedef struct ContentPlan {
  Plan *plan;
  ContentFate *fates;        /* by content, and one behind the last */
  uint8_t *calls;            /* CallFate, by number */
  bool *results;             /* by number: true if it is dropped */
  uint32_t call_count, result_count;
  uint32_t last;             /* the last content that stays; NONE */
  uint32_t caller;           /* the content whose calls wait; NONE */
  uint32_t holder;           /* the content with their responses so far; NONE */
} ContentPlan;

static const Message *content_at(const ContentPlan *contents, uint32_t index) {
  return plan_message(contents->plan, index);
}

static bool is_model(const ContentPlan *contents, uint32_t index) {
  return message_role(content_at(contents, index)) == ROLE_ASSISTANT;
}

static bool is_content(const Message *message) { return message_form(message) == FORM_PARTS; }

/* True for the object {}. */
static bool is_empty_part(const Message *message, Part part) {
  Json json;
  Text raw = message_text(message, part.value), key;
  json_open_valid(&json, raw.bytes, raw.size);
  return raw.bytes[0] == '{' && json_enter(&json) && !json_next_member(&json, &key);
}

static bool drops_empty(const ContentPlan *contents, const Message *message, Part part) {
  return plan_is_repairing(contents->plan, CHECK_EMPTY_CONTENT) && is_empty_part(message, part);
}

/* The parts that are no calls and no responses, and stay. */
static uint32_t count_others(const ContentPlan *contents, const Message *message) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    bool linked = part.kind == PART_TOOL_USE || part.kind == PART_TOOL_RESULT;
    count += !part.nested && !linked && !drops_empty(contents, message, part);
  }
  return count;
}

static void change(ContentFate *fate, const char *reason) {
  if (fate->changed == NULL) fate->changed = reason;
}

/* ---- responses ---- */

static uint32_t waiting(const ContentPlan *contents) {
  uint32_t count = 0, first;
  if (contents->caller == NONE) return 0;
  first = contents->fates[contents->caller].calls;
  for (uint32_t i = 0; i < message_call_count(content_at(contents, contents->caller)); i++) {
    count += contents->calls[first + i] == CALL_WAITS;
  }
  return count;
}

/* Takes the responses of a content that answer the calls that wait; the others are dropped. Returns how many are
   left. */
static uint32_t take_results(ContentPlan *contents, uint32_t index) {
  const Pairing *pairing = &contents->plan->pairing;
  ContentFate *fate = &contents->fates[index];
  uint32_t caller = contents->caller, first = pairing->first_result[index], fits = 0;
  uint32_t count = pairing->first_result[index + 1] - first;
  CheckCode code = caller == NONE ? CHECK_ORPHAN_RESULT : CHECK_RESULT_COUNT;
  bool repairs = plan_is_repairing(contents->plan, code);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t call = pairing->results[first + i].call;
    bool answers = caller != NONE && call != UNPAIRED && pairing->calls[call].message == caller;
    if (answers) contents->calls[contents->fates[caller].calls + call - pairing->first_call[caller]] = CALL_FITS;
    bool drops = !answers && repairs;
    contents->results[fate->results + i] = drops;
    if (drops) change(fate, orphan_reason(&pairing->results[first + i]));
    if (drops) plan_lose_result(contents->plan, first + i);
    fits += !drops;
  }
  return fits;
}

/* ---- calls ---- */

/* Decides on the calls that still wait, before the content `index`, or at the end. */
static void settle(ContentPlan *contents, uint32_t index) {
  uint32_t caller = contents->caller, holder = contents->holder, dropped = 0;
  CheckCode code = holder == NONE ? CHECK_UNANSWERED_CALL : CHECK_RESULT_COUNT;
  bool repairs = waiting(contents) > 0 && plan_is_repairing(contents->plan, code);
  contents->caller = contents->holder = NONE;
  if (!repairs) return;
  assert(caller < index && (holder == NONE || holder > caller));
  ContentFate *fate = &contents->fates[caller];
  uint32_t count = message_call_count(content_at(contents, caller));
  bool synthesize = contents->plan->options->synthesize;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t *call = &contents->calls[fate->calls + i];
    if (*call != CALL_WAITS) continue;
    *call = synthesize ? CALL_ANSWERED : CALL_DROPPED;
    dropped += !synthesize;
    if (!synthesize) plan_lose(contents->plan, LOSS_CALL, caller, message_call_key(content_at(contents, caller), i));
  }
  if (synthesize && holder != NONE) {
    contents->fates[holder].answers = caller;
    change(&contents->fates[holder], "unanswered call");
  } else if (synthesize) {
    contents->fates[index].before = caller;
    contents->last = NONE;   /* a content of the user: nothing is joined across it */
    return;
  }
  if (dropped > 0) change(fate, "unanswered call");
}

/* True if a content has nothing left but dropped calls. */
static bool is_gone(const ContentPlan *contents, uint32_t index) {
  const Message *message = content_at(contents, index);
  const ContentFate *fate = &contents->fates[index];
  if (!is_content(message) || count_others(contents, message) > 0) return false;
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (contents->calls[fate->calls + i] != CALL_DROPPED) return false;
  }
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    if (!contents->results[fate->results + i]) return false;
  }
  return message_call_count(message) + message_result_count(message) > 0 ||
         plan_is_repairing(contents->plan, CHECK_EMPTY_CONTENT);
}

/* Settles the calls that wait; a caller of which nothing is left goes. */
static void end_step(ContentPlan *contents, uint32_t index) {
  uint32_t caller = contents->caller;
  if (caller == NONE) return;
  settle(contents, index);
  ContentFate *fate = &contents->fates[caller];
  if (!is_gone(contents, caller)) return;
  fate->dropped = "unanswered call";
  if (contents->last == caller) contents->last = fate->previous;
}

/* ---- contents ---- */

/* Puts the parts of a content into another one before it. */
static void join(ContentPlan *contents, uint32_t index, uint32_t to, const char *reason) {
  assert(to < index && contents->fates[to].dropped == NULL);
  contents->fates[index].joined = to;
  contents->fates[index].dropped = reason;
  change(&contents->fates[to], reason);
}

static void keep(ContentPlan *contents, uint32_t index) {
  assert(contents->last == NONE || contents->last < index);
  contents->fates[index].previous = contents->last;
  contents->last = index;
}

static bool is_reply(const ContentPlan *contents, uint32_t index) {
  return index != NONE && is_model(contents, index) && is_content(content_at(contents, index));
}

/* Finds the place of a content that calls: behind the user's. All contents of the model before it become one. */
static void place_caller(ContentPlan *contents, uint32_t index) {
  bool joins = is_reply(contents, index) && plan_is_repairing(contents->plan, CHECK_CALL_PLACE);
  keep(contents, index);
  contents->caller = index;
  if (!joins) return;
  uint32_t first = index;
  while (is_reply(contents, contents->fates[first].previous)) first = contents->fates[first].previous;
  for (uint32_t i = index; i != first; i = contents->fates[i].previous) join(contents, i, first, "place of a call");
  contents->last = first;
}

static bool has_empty_parts(const ContentPlan *contents, const Message *message) {
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (!part.nested && drops_empty(contents, message, part)) return true;
  }
  return false;
}

/* True if the part is a response that is written as a text; *response: its value. */
static bool becomes_text(const ContentPlan *contents, const Message *message, Part part, JsonValue *response) {
  CheckCode code;
  bool is_own = part.kind == PART_TOOL_RESULT && !part.nested;
  return is_own && response_is_refused(message, part, &code, response) && plan_is_repairing(contents->plan, code);
}

static bool has_refused_response(const ContentPlan *contents, const Message *message) {
  JsonValue response;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (becomes_text(contents, message, message_part(message, i), &response)) return true;
  }
  return false;
}

/* True if a response stands behind another part. */
static bool has_late_results(const Message *message) {
  bool others = false;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    if (part.kind == PART_TOOL_RESULT && others) return true;
    others |= part.kind != PART_TOOL_RESULT;
  }
  return false;
}

static void decide(ContentPlan *contents, uint32_t index) {
  const Message *message = content_at(contents, index);
  ContentFate *fate = &contents->fates[index];
  uint32_t fits = 0;
  if (is_content(message) && message_result_count(message) > 0) fits = take_results(contents, index);
  if (has_empty_parts(contents, message)) change(fate, "empty part");
  if (is_content(message) && has_refused_response(contents, message)) change(fate, "response as text");
  if (is_gone(contents, index)) {
    fate->dropped = fate->changed != NULL ? fate->changed : "empty content";
    return;
  }
  if (has_late_results(message) && plan_is_repairing(contents->plan, CHECK_RESULTS_LATE)) change(fate, "late result");
  if (fits > 0 && contents->caller != NONE && message_call_count(message) == 0) {
    if (contents->holder != NONE) join(contents, index, contents->holder, "results apart");
    else keep(contents, contents->holder = index);
    return;
  }
  end_step(contents, index);
  if (message_call_count(message) > 0) place_caller(contents, index);
  else keep(contents, index);
}

/* ---- writing ---- */

/* Adds the JSON of a response as the text of an object: {"output": ".."}, of an error {"error": ".."}. */
static Status put_response_text(const JsonValue *response, Buffer *out) {
  Text raw = text_plain(response->bytes, response->size);
  Text text = response->kind == JSON_STRING ? json_text(response) : raw;
  JsonValue error;
  bool is_error = false;
  for (JsonKind kind = JSON_FALSE; kind <= JSON_OBJECT && response->kind == JSON_OBJECT; kind++) {
    is_error |= json_find(raw, "error", kind, &error);
  }
  return plan_put(out, is_error ? "{\"error\":\"" : "{\"output\":\"", text, "\"}");
}

/* Adds a part with its response as a text. STATUS_MEMORY. */
static Status put_response(ContentPlan *contents, Text part, const JsonValue *response) {
  static const char *const keys[] = {"functionResponse", "function_response"};
  Plan *plan = contents->plan;
  JsonValue inner;
  Buffer text, object;
  buffer_init(&text, plan->memory);
  buffer_init(&object, plan->memory);
  const char *key = keys[json_find(part, keys[0], JSON_OBJECT, &inner) ? 0 : 1];
  json_find(part, key, JSON_OBJECT, &inner);
  Status status = put_response_text(response, &text);
  MemberEdit edit = {.key = text_of("response"), .value = text_plain(text.bytes, text.size)};
  if (status == STATUS_OK) status = json_edit_members(text_plain(inner.bytes, inner.size), &edit, 1, &object);
  edit = (MemberEdit){.key = text_of(key), .value = text_plain(object.bytes, object.size)};
  if (status == STATUS_OK) status = json_edit_members(part, &edit, 1, &plan->scratch);
  buffer_free(&object);
  buffer_free(&text);
  return status;
}

static Status put_part(ContentPlan *contents, const Message *message, Part part, size_t start) {
  Buffer *out = &contents->plan->scratch;
  Text raw = message_text(message, part.value);
  JsonValue response;
  Status status = out->size > start + 1 ? buffer_add_byte(out, ',') : STATUS_OK;
  if (status != STATUS_OK) return status;
  if (becomes_text(contents, message, part, &response)) return put_response(contents, raw, &response);
  return buffer_add(out, raw.bytes, raw.size);
}

/* Writes the responses of a content that stay, or its other parts. */
static Status put_parts(ContentPlan *contents, uint32_t index, bool responses, size_t start) {
  const Message *message = content_at(contents, index);
  const ContentFate *fate = &contents->fates[index];
  Status status = STATUS_OK;
  uint32_t call = fate->calls, result = fate->results;
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    bool is_result = part.kind == PART_TOOL_RESULT, drops = false;
    if (part.nested) continue;
    if (is_result) drops = contents->results[result++];
    else if (part.kind == PART_TOOL_USE) drops = contents->calls[call++] == CALL_DROPPED;
    else drops = drops_empty(contents, message, part);
    if (!drops && is_result == responses) status = put_part(contents, message, part, start);
  }
  assert(call <= contents->call_count && result <= contents->result_count);
  return status;
}

/* Writes responses for the unanswered calls of a content. */
static Status put_answers(ContentPlan *contents, uint32_t caller, size_t start) {
  const Message *message = caller == NONE ? NULL : content_at(contents, caller);
  Buffer *out = &contents->plan->scratch;
  Status status = STATUS_OK;
  for (uint32_t i = 0; message != NULL && i < message_call_count(message) && status == STATUS_OK; i++) {
    Call call = message_call(message, i);
    if (contents->calls[contents->fates[caller].calls + i] != CALL_ANSWERED) continue;
    if (out->size > start + 1) status = buffer_add_byte(out, ',');
    if (status == STATUS_OK) status = buffer_add_string(out, "{\"functionResponse\":{");
    if (status == STATUS_OK && call.id.at != 0) {
      status = plan_put(out, "\"id\":\"", message_text(message, call.id), "\",");
    }
    Text name = call.name.at == 0 ? NO_TEXT : message_text(message, call.name);
    if (status == STATUS_OK) {
      status = plan_put(out, "\"name\":\"", name, "\",\"response\":{\"error\":\"" REPAIR_NO_RESULT "\"}}}");
    }
  }
  return status;
}

/* The content behind the last one that may be joined to `index`. */
static uint32_t end_of(const ContentPlan *contents, uint32_t index) {
  uint32_t end = index + 1;
  while (end < contents->plan->count && contents->fates[end].dropped != NULL) end++;
  return end;
}

/* Writes the parts of a content and of those that are joined to it. */
static Status put_list(ContentPlan *contents, uint32_t index, size_t start) {
  Status status = STATUS_OK;
  uint32_t end = end_of(contents, index);
  for (int responses = 1; responses >= 0 && status == STATUS_OK; responses--) {
    for (uint32_t i = index; i < end && status == STATUS_OK; i++) {
      bool own = i == index || contents->fates[i].joined == index;
      if (own) status = put_parts(contents, i, responses == 1, start);
    }
    if (responses == 1 && status == STATUS_OK) status = put_answers(contents, contents->fates[index].answers, start);
  }
  return status;
}

static Status write_changed(ContentPlan *contents, uint32_t index) {
  Plan *plan = contents->plan;
  Buffer *list = &plan->scratch;
  size_t at = plan->bytes.size;
  buffer_reset(list);
  Status status = buffer_add_byte(list, '[');
  if (status == STATUS_OK) status = put_list(contents, index, 0);
  if (status == STATUS_OK) status = buffer_add_byte(list, ']');
  if (status != STATUS_OK) return status;
  MemberEdit edit = {.key = text_of("parts"), .value = text_plain(list->bytes, list->size)};
  status = json_edit_members(message_raw(content_at(contents, index)), &edit, 1, &plan->bytes);
  if (status == STATUS_OK) status = plan_step(plan, PLAN_REWRITE, index, at, contents->fates[index].changed);
  for (uint32_t i = index + 1, end = end_of(contents, index); i < end && status == STATUS_OK; i++) {
    if (contents->fates[i].joined == index) status = plan_source(plan, i);
  }
  return status;
}

/* Inserts the responses that stand before a content, or at the end. */
static Status insert_answers(ContentPlan *contents, uint32_t index) {
  Plan *plan = contents->plan;
  uint32_t caller = contents->fates[index].before;
  size_t at = plan->bytes.size;
  if (caller == NONE) return STATUS_OK;
  buffer_reset(&plan->scratch);
  Status status = buffer_add_byte(&plan->scratch, '[');
  if (status == STATUS_OK) status = put_answers(contents, caller, 0);
  if (status == STATUS_OK) status = buffer_add_string(&plan->bytes, "{\"role\":\"user\",\"parts\":");
  if (status == STATUS_OK) status = buffer_add(&plan->bytes, plan->scratch.bytes, plan->scratch.size);
  if (status == STATUS_OK) status = buffer_add_string(&plan->bytes, "]}");
  return status == STATUS_OK ? plan_step(plan, PLAN_INSERT, index, at, "unanswered call") : status;
}

/* True if a content of the model, or one that is joined to it, calls. */
static bool calls(const ContentPlan *contents, uint32_t index) {
  for (uint32_t i = index, end = end_of(contents, index); i < end; i++) {
    uint32_t count = message_call_count(content_at(contents, i));
    if (i != index && contents->fates[i].joined != index) continue;
    for (uint32_t k = 0; k < count; k++) {
      if (contents->calls[contents->fates[i].calls + k] != CALL_DROPPED) return true;
    }
  }
  return false;
}

/* Inserts a content of the user before calls at the beginning. */
static Status insert_first(ContentPlan *contents, uint32_t index) {
  Plan *plan = contents->plan;
  size_t at = plan->bytes.size;
  bool inserts = plan_is_repairing(plan, CHECK_USER_FIRST) && is_model(contents, index) && calls(contents, index);
  if (!inserts) return STATUS_OK;
  static const char content[] = "{\"role\":\"user\",\"parts\":[{\"text\":\"" REPAIR_BEGINNING "\"}]}";
  Status status = buffer_add_string(&plan->bytes, content);
  return status == STATUS_OK ? plan_step(plan, PLAN_INSERT, index, at, "user first") : status;
}

static Status write_all(ContentPlan *contents) {
  Plan *plan = contents->plan;
  Status status = STATUS_OK;
  bool begins = true;
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    const ContentFate *fate = &contents->fates[i];
    status = insert_answers(contents, i);
    if (status == STATUS_OK && begins && fate->dropped == NULL) {
      status = insert_first(contents, i);
      begins = false;
    }
    if (status != STATUS_OK) break;
    if (fate->dropped != NULL) status = plan_step(plan, PLAN_DROP, i, plan->bytes.size, fate->dropped);
    else if (fate->changed != NULL) status = write_changed(contents, i);
  }
  return status == STATUS_OK ? insert_answers(contents, plan->count) : status;
}

/* ---- the whole ---- */

static Status open_contents(ContentPlan *contents) {
  Plan *plan = contents->plan;
  contents->fates = memory_new_array(&plan->memory, (size_t)plan->count + 1, sizeof *contents->fates);
  if (contents->fates == NULL) return STATUS_MEMORY;
  for (uint32_t i = 0; i <= plan->count; i++) {
    contents->fates[i] = (ContentFate){.calls = contents->call_count, .results = contents->result_count,
                                       .previous = NONE, .joined = NONE, .answers = NONE, .before = NONE};
    if (i == plan->count) break;
    contents->call_count += message_call_count(content_at(contents, i));
    contents->result_count += message_result_count(content_at(contents, i));
  }
  contents->calls = memory_new_array(&plan->memory, (size_t)contents->call_count + 1, 1);
  contents->results = memory_new_array(&plan->memory, (size_t)contents->result_count + 1, sizeof(bool));
  if (contents->calls == NULL || contents->results == NULL) return STATUS_MEMORY;
  memset(contents->calls, CALL_WAITS, (size_t)contents->call_count + 1);
  memset(contents->results, 0, ((size_t)contents->result_count + 1) * sizeof(bool));
  return STATUS_OK;
}

Status plan_gemini(Plan *plan) {
  ContentPlan contents = {.plan = plan, .last = NONE, .caller = NONE, .holder = NONE};
  Status status = open_contents(&contents);
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) decide(&contents, i);
  if (status == STATUS_OK) end_step(&contents, plan->count);
  if (status == STATUS_OK) status = write_all(&contents);
  memory_free(&plan->memory, contents.results, ((size_t)contents.result_count + 1) * sizeof(bool));
  memory_free(&plan->memory, contents.calls, (size_t)contents.call_count + 1);
  memory_free(&plan->memory, contents.fates, ((size_t)plan->count + 1) * sizeof *contents.fates);
  return status;
}
