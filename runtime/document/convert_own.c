#include "document/convert_own.h"

#include <assert.h>

#include "dialect/dialect_members.h"
#include "document/convert_list.h"

typedef struct OwnText {
  size_t at, size;           /* in OwnForm.bytes */
} OwnText;

/* A message that is written anew. */
typedef struct RunMessage {
  MessageId id;
  uint32_t index;            /* its position in the list */
  Text raw;
  unsigned dialects;         /* in whose form it is, as bits */
} RunMessage;

typedef struct OwnConversion {
  const Document *document;
  bool all;                  /* messages of the file count, too */
  OwnForm *form;
  RequestMessages request;
  Convert convert;
  JsonOut out, system;
  bool apart, any_system;    /* the target has system texts apart from its messages; a message became one */
  Buffer written;            /* the messages of the run */
  RunMessage *run;           /* neighbours that are written anew */
  uint32_t run_count, run_room;
  uint32_t origin;           /* the first of the run in ConvertReport.origins */
} OwnConversion;

static bool was_read(const Document *document, MessageId id) {
  return id >= document->first && id - document->first < document->count;
}

/* True if some message that counts has none of the `dialects`. */
static bool some_lacks(const Document *document, const Store *store, const Sequence *list, unsigned dialects,
                       bool all) {
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (!all && was_read(document, walk.ids[i])) continue;
      if (dialects == 0 || (message_dialects(store_message(store, walk.ids[i])) & dialects) == 0) return true;
    }
  }
  return false;
}

bool own_form_may_lack(const Document *document, const Conversation *conversation, const Sequence *list, bool all) {
  const Store *store = conversation_store(conversation);
  if (document->shape != DOCUMENT_BODY || document->dialects == 0) return false;
  bool has_windows = sequence_sum(list).windows > 0;
  if (!has_windows && !some_lacks(document, store, list, 0, all)) return false;       /* no need to detect a dialect */
  Dialect own = document_dialect(document, store, list);
  return (has_windows && !dialect_form(own)->takes_texts) || some_lacks(document, store, list, 1u << own, all);
}

/* ---- what is written ---- */

static Status add_text(OwnForm *form, OwnText text) {
  OwnText *grown = memory_grow(&form->memory, form->texts, &form->room, form->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  form->texts = grown;
  grown[form->count++] = text;
  return STATUS_OK;
}

/* Has a text stand in the place of a message. STATUS_MEMORY. */
static Status place_text(OwnForm *form, MessageId id, OwnText text) {
  Status status = add_text(form, text);
  return status == STATUS_OK ? map_put(&form->places, id, form->count - 1) : status;
}

/* Adds the members of a message that no request has to the bytes of `element`, or reports them (convert_put_extra). */
static Status put_extra(OwnConversion *work, const RunMessage *message, const Text *element) {
  Convert *convert = &work->convert;
  if ((message->dialects >> convert->options->target & 1) != 0) return STATUS_OK;     /* written as it is, for all that
                                                                                         it mixes forms */
  convert->index = message->index;
  convert->pieces.dialects = message->dialects;
  return convert_put_extra(convert, message->raw, element, &work->form->bytes);
}

/* The message of the run, from *next on, with which an element begins; NULL: another one had the same. Members of those
   before it are reported: nothing begins with them. */
static const RunMessage *message_of(OwnConversion *work, uint32_t origin, uint32_t *next) {
  for (; *next < work->run_count && work->run[*next].index < origin; ++*next) {
    convert_fail(&work->convert, put_extra(work, &work->run[*next], NULL));
  }
  bool begins = *next < work->run_count && work->run[*next].index == origin;
  return begins ? &work->run[(*next)++] : NULL;
}

/* Adds the elements that the run became, with the gap of the document between them. */
static Status put_elements(OwnConversion *work) {
  Json json;
  JsonValue value;
  uint32_t next = 0;
  Status status = STATUS_OK;
  Buffer *bytes = &work->form->bytes;
  const ConvertReport *report = work->convert.report;
  json_open(&json, work->written.bytes, work->written.size);
  for (uint32_t i = work->origin; status == STATUS_OK && i < report->origin_count; i++) {
    if (!json_value(&json, &value)) break;
    assert(value.kind == JSON_OBJECT && value.size > 2);
    Text element = text_plain(value.bytes, value.size);
    Text gap = i > work->origin ? work->document->gap : text_plain("", 0);
    status = buffer_add(bytes, gap.bytes, gap.size);
    if (status == STATUS_OK) status = buffer_add(bytes, element.bytes, element.size - 1);
    const RunMessage *message = message_of(work, report->origins[i].first, &next);
    if (status == STATUS_OK && message != NULL) status = put_extra(work, message, &element);
    if (status == STATUS_OK) status = buffer_add_byte(bytes, '}');
  }
  message_of(work, UINT32_MAX, &next);
  return status;
}

/* Ends the neighbours that are written anew, if there are any: the first stands for all. */
static void end_run(OwnConversion *work) {
  OwnForm *form = work->form;
  Convert *convert = &work->convert;
  size_t at = form->bytes.size;
  if (work->run_count == 0 || convert->status != STATUS_OK) return;
  convert_finish(convert);
  convert_fail(convert, json_out_end(&work->out));
  if (convert->status == STATUS_OK) convert_fail(convert, put_elements(work));
  for (uint32_t i = 0; i < work->run_count && convert->status == STATUS_OK; i++) {
    OwnText text = {.at = at, .size = i == 0 ? form->bytes.size - at : 0};
    convert_fail(convert, place_text(form, work->run[i].id, text));
  }
  work->origin = convert->report->origin_count;
  work->run_count = 0;
  buffer_reset(&work->written);
  json_out_start(&work->out, sink_to_buffer(&work->written));
}

static void add_to_run(OwnConversion *work, MessageId id, Text raw) {
  Convert *convert = &work->convert;
  RunMessage *grown = memory_grow(&work->form->memory, work->run, &work->run_room, work->run_count, sizeof *grown);
  if (grown == NULL) {
    convert_fail(convert, STATUS_MEMORY);
    return;
  }
  work->run = grown;
  grown[work->run_count++] = (RunMessage){.id = id, .index = convert->index, .raw = raw,
                                          .dialects = convert->pieces.dialects};
  convert_message(convert, raw);
}

/* ---- the list ---- */

static bool is_candidate(const OwnConversion *work, MessageId id) {
  return work->all || !was_read(work->document, id) ||
         message_is_window(conversation_message(work->request.conversation, id));
}

/* True if a message lacks the form of the body. Members that its requests do not have count as little as they do where
   dialects are told. */
static bool lacks_form(OwnConversion *work, MessageId id) {
  const Message *message = conversation_message(work->request.conversation, id);
  if (work->convert.options->late_system && work->convert.pieces.fits_inside) return false;
  unsigned dialects = message_is_window(message) ? work->convert.pieces.dialects : message_dialects(message);
  return (dialects >> work->convert.options->target & 1) == 0;
}

/* True if the message was written as a system text. Those at the head are: before them no message is written, though
   some may have been lost. */
static bool write_system(OwnConversion *work, MessageId id, Text raw) {
  Convert *convert = &work->convert;
  if (!work->apart || convert->written > 0) return false;
  convert->out = &work->system;
  bool taken = convert_system(convert, raw);
  convert->out = &work->out;
  if (!taken) return false;
  RunMessage message = {.id = id, .index = convert->index, .raw = raw, .dialects = convert->pieces.dialects};
  convert_fail(convert, put_extra(work, &message, NULL));
  convert_fail(convert, place_text(work->form, id, (OwnText){0}));
  work->any_system = true;
  return true;
}

static void write_message(OwnConversion *work, MessageId id, Text raw) {
  Convert *convert = &work->convert;
  bool may_change = is_candidate(work, id);
  if (may_change && write_system(work, id, raw)) return;
  convert_fail(convert, pieces_read(&convert->pieces, raw));
  if (convert->status != STATUS_OK) return;
  if (may_change && lacks_form(work, id)) {
    add_to_run(work, id, raw);
  } else {
    end_run(work);
    convert_keep(convert);
  }
}

static void write_all(OwnConversion *work, Text system) {
  Convert *convert = &work->convert;
  convert->index = CONVERT_NEVER;
  convert->out = &work->system;
  json_out_open(&work->system, '[');
  if (work->apart && system.size > 0) convert_system(convert, system);
  convert->out = &work->out;
  for (uint32_t i = 0; i < work->request.order.count && convert->status == STATUS_OK; i++) {
    Text raw = request_messages_raw(&work->request, i);
    convert->index = request_messages_position(&work->request, i);
    if (raw.size > 0) write_message(work, work->request.order.ids[i], raw);
  }
  end_run(work);
  json_out_close(&work->system, ']');
  convert_fail(convert, json_out_end(&work->system));
  if (!work->any_system) buffer_reset(&work->form->system);
}

static Status convert_request(OwnConversion *work, Text system, const ConvertOptions *options, ConvertReport *report) {
  Convert *convert = &work->convert;
  buffer_init(&work->written, work->form->memory);
  json_out_start(&work->out, sink_to_buffer(&work->written));
  json_out_start(&work->system, sink_to_buffer(&work->form->system));
  convert_init(convert, options, work->form->memory, &work->out, report);
  work->apart = convert_has_system(options->target);
  write_all(work, system);
  Status status = convert_end(convert);
  memory_free(&work->form->memory, work->run, work->run_room * sizeof *work->run);
  buffer_free(&work->written);
  return status;
}

Status own_form_of(const Document *document, const Conversation *conversation, const Sequence *list,
                   const WindowTexts *windows, Text system, const ConvertOptions *options, bool all, OwnForm *form,
                   ConvertReport *report) {
  const Memory *memory = conversation_memory(conversation);
  ConvertOptions own = *options;
  assert(options->target < DIALECT_COUNT && !options->is_foreign && !options->lines);
  own.skips_extra = own.keep_extra = true;
  report->with_origins = true;
  *form = (OwnForm){.memory = *memory};
  map_init(&form->places, *memory);
  buffer_init(&form->bytes, *memory);
  buffer_init(&form->system, *memory);
  OwnConversion work = {.document = document, .all = all, .form = form};
  Status status = request_messages_of(conversation, list, windows, &work.request);
  if (status != STATUS_OK) return status;
  status = convert_request(&work, system, &own, report);
  request_messages_free(&work.request);
  return status;
}

void own_form_free(OwnForm *form) {
  memory_free(&form->memory, form->texts, form->room * sizeof *form->texts);
  map_free(&form->places);
  buffer_free(&form->bytes);
  buffer_free(&form->system);
}

bool own_form_find(const OwnForm *form, MessageId id, Text *text) {
  const uint64_t *index = map_find(&form->places, id);
  if (index == NULL) return false;
  assert(*index < form->count);
  *text = text_plain(form->bytes.bytes + form->texts[*index].at, form->texts[*index].size);
  return true;
}

bool own_form_next(const OwnForm *form, size_t *at, MessageId *id, Text *text) {
  uint64_t key, index;
  if (!map_next(&form->places, at, &key, &index)) return false;
  *id = (MessageId)key;
  return own_form_find(form, *id, text);
}
