#include "document/convert_list.h"

#include <assert.h>
#include <string.h>

#include "dialect/read/message_form.h"
#include "json/json_fields.h"

/* ---- what a request has of a list ---- */

static Status note_positions(RequestMessages *messages, const Sequence *list) {
  Status status = STATUS_OK;
  uint32_t position = 0;
  if (sequence_sum(list).windows == 0) return STATUS_OK;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      status = map_put(&messages->positions, walk.ids[i], position++);
    }
  }
  assert(status != STATUS_OK || position == sequence_count(list));
  return status;
}

Status request_messages_of(const Conversation *conversation, const Sequence *list, const WindowTexts *windows,
                           RequestMessages *messages) {
  const Memory *memory = conversation_memory(conversation);
  *messages = (RequestMessages){.conversation = conversation, .windows = windows};
  Status status = request_order_of(memory, conversation_windows(conversation), conversation_store(conversation), list,
                                   false, &messages->order);
  if (status != STATUS_OK) return status;
  map_init(&messages->positions, *memory);
  status = note_positions(messages, list);
  if (status != STATUS_OK) request_messages_free(messages);
  return status;
}

void request_messages_free(RequestMessages *messages) {
  request_order_free(&messages->order);
  map_free(&messages->positions);
}

Text request_messages_raw(const RequestMessages *messages, uint32_t index) {
  assert(index < messages->order.count);
  MessageId id = messages->order.ids[index];
  const Message *message = conversation_message(messages->conversation, id);
  if (!message_is_window(message)) return message_raw(message);
  return messages->windows == NULL ? text_plain("", 0) : messages->windows->text(messages->windows->user, id);
}

uint32_t request_messages_position(const RequestMessages *messages, uint32_t index) {
  assert(index < messages->order.count);
  const uint64_t *position = map_find(&messages->positions, messages->order.ids[index]);
  return position == NULL ? index : (uint32_t)*position;
}

/* ---- converting ---- */

typedef struct ListConversion {
  RequestMessages request;
  Pairing pairing;
  Convert convert;
  JsonOut messages, system;
  bool apart, any_system;    /* the target has system texts apart from its messages; some were written */
} ListConversion;

/* True if the message was written as one that is only a role and a text. */
static bool write_bare(ListConversion *work, uint32_t index) {
  const Message *message = conversation_message(work->request.conversation, work->request.order.ids[index]);
  Text spelling;
  if (!message_is_bare(message) || message_role(message) == ROLE_TOOL) return false;
  return !message_field(message, FIELD_SPELLING, &spelling) && convert_bare(&work->convert, message_raw(message));
}

/* True if the message was written as a system text. Those at the head are: before them no message was written, though
   some may have been lost. */
static bool write_system(ListConversion *work, Text raw) {
  Convert *convert = &work->convert;
  if (!work->apart || convert->written > 0 || raw.size == 0) return false;
  convert->out = &work->system;
  bool taken = convert_system(convert, raw);
  convert->out = &work->messages;
  work->any_system = work->any_system || taken;
  return taken;
}

static void write_message(ListConversion *work, Text raw) {
  if (!write_system(work, raw)) convert_message(&work->convert, raw);
}

static void write_all(ListConversion *work, Text system) {
  Convert *convert = &work->convert;
  bool lines = convert->options->lines;
  if (work->apart) json_out_open(&work->system, '[');
  if (!lines) json_out_open(&work->messages, '[');
  convert->index = CONVERT_NEVER;
  if (system.size > 0) write_message(work, system);
  for (uint32_t i = 0; i < work->request.order.count; i++) {
    convert->index = request_messages_position(&work->request, i);
    if (!write_bare(work, i)) write_message(work, request_messages_raw(&work->request, i));
  }
  convert_finish(convert);
  if (work->apart) json_out_close(&work->system, ']');
  if (lines && convert->written > 0) json_out_line(&work->messages);
  if (!lines && convert->status == STATUS_OK) json_out_close(&work->messages, ']');
}

/* Pairs the calls and results of the whole list for the conversion. */
static Status pair_list(ListConversion *work, const Conversation *conversation, const Sequence *list) {
  const Memory *memory = conversation_memory(conversation);
  uint32_t count = sequence_count(list);
  MessageId *ids = memory_new_array(memory, (size_t)count + 1, sizeof *ids);
  if (ids == NULL) return STATUS_MEMORY;
  SequenceWalk walk = sequence_walk(list, 0, count);
  while (sequence_walk_next(&walk)) memcpy(ids + walk.index, walk.ids, walk.count * sizeof *ids);
  Convert *convert = &work->convert;
  Status status = pairing_of(conversation_store(conversation), ids, count, PAIRING_ANY, &convert->calls.key, memory,
                             &work->pairing);
  memory_free(memory, ids, ((size_t)count + 1) * sizeof *ids);
  if (status != STATUS_OK) return status;
  convert->known = memory_new_array(memory, (size_t)work->pairing.call_count + 1, sizeof *convert->known);
  if (convert->known == NULL) return STATUS_MEMORY;
  for (uint32_t i = 0; i < work->pairing.call_count; i++) convert->known[i] = (CallNames){.at = UINT32_MAX};
  convert->pairing = &work->pairing;
  return STATUS_OK;
}

Status convert_list(const Conversation *conversation, const Sequence *list, const WindowTexts *windows, Text system,
                    const ConvertOptions *options, ConvertSinks sinks, ConvertReport *report, bool *changed) {
  ListConversion work = {.pairing = {.memory = *conversation_memory(conversation)}};
  assert(options != NULL && options->target < DIALECT_COUNT && changed != NULL);
  Status status = request_messages_of(conversation, list, windows, &work.request);
  if (status != STATUS_OK) return status;
  json_out_start(&work.messages, sinks.messages);
  json_out_start(&work.system, sinks.system);
  convert_init(&work.convert, options, *conversation_memory(conversation), &work.messages, report);
  work.apart = convert_has_system(options->target);
  convert_fail(&work.convert, pair_list(&work, conversation, list));
  write_all(&work, system);
  convert_fail(&work.convert, work.any_system ? json_out_end(&work.system) : STATUS_OK);
  convert_fail(&work.convert, work.convert.status == STATUS_OK ? json_out_end(&work.messages) : STATUS_OK);
  *changed = work.convert.changed;
  memory_free(conversation_memory(conversation), work.convert.known,
              ((size_t)work.pairing.call_count + 1) * sizeof *work.convert.known);
  pairing_free(&work.pairing);
  status = convert_end(&work.convert);
  request_messages_free(&work.request);
  return status;
}

/* ---- lists that stay as they are ---- */

/* The longest id of a call that every server takes. */
enum { PLAIN_ID_BYTES = 40 };

/* True if every call of a list has an id that stays, and nothing that would be taken for something else. */
static bool keeps_calls(const JsonValue *calls) {
  Json json;
  JsonValue call, id, extra;
  if (calls->kind != JSON_ARRAY) return false;
  json_open_valid(&json, calls->bytes, calls->size);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &call)) {
    Text object = text_plain(call.bytes, call.size);
    if (call.kind != JSON_OBJECT || !json_find(object, "id", JSON_STRING, &id)) return false;
    if (json_find(object, "extra_content", JSON_OBJECT, &extra)) return false;
    Text text = json_text(&id);
    if (text.size == 0 || text.size > PLAIN_ID_BYTES || text.escaped) return false;
  }
  return json.status == STATUS_OK;
}

/* True if the message is a text, calls or a result, and no more, as OpenAI's requests have them. */
static bool keeps_message(const Message *message) {
  Text spelling, key, raw = message_raw(message);
  ContentKind kind = message_content_kind(message);
  if ((kind != CONTENT_STRING && kind != CONTENT_NONE) || message_form(message) != FORM_CONTENT) return false;
  if (message_field(message, FIELD_SPELLING, &spelling)) return false;
  if (message_is_bare(message)) return message_role(message) != ROLE_TOOL;
  uint32_t levels = JSON_DEPTH_MAX - CONVERT_DEPTH;
  if (message_levels_most(message) > levels && json_may_be_deep(raw, levels)) return false;
  Json json;
  json_open_valid(&json, raw.bytes, raw.size);
  json_enter(&json);
  while (json_next_member(&json, &key)) {
    JsonValue value;
    bool has_calls = text_is(key, "tool_calls");
    bool is_known = has_calls || text_is(key, "role") || text_is(key, "content") || text_is(key, "tool_call_id");
    if (!is_known || !message_member_value(message, &json, key, &value)) return false;
    if (has_calls && !keeps_calls(&value)) return false;
  }
  return json.status == STATUS_OK;
}

bool convert_list_keeps(const Conversation *conversation, const Sequence *list, const ConvertOptions *options) {
  bool has_ids = options->id_min > 1 || options->id_max > 0 || options->alphanumeric_ids;     /* rules of its own */
  if (options->target != DIALECT_OPENAI || options->is_foreign || has_ids) return false;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (!keeps_message(conversation_message(conversation, walk.ids[i]))) return false;
    }
  }
  return true;
}
