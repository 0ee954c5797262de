#include "document/document.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "document/detect.h"
#include "document/document_loader.h"
#include "dialect/dialect_members.h"
#include "json/json_fields.h"

const char *document_shape_name(DocumentShape shape) {
  assert((unsigned)shape <= DOCUMENT_BODY);
  static const char *const names[] = {"array", "jsonl", "body"};
  return names[shape];
}

Document document_new(DocumentShape shape) {
  Document document = {.shape = shape};
  document.before = text_of(shape == DOCUMENT_JSONL ? "" : "[\n");
  document.gap = text_of(shape == DOCUMENT_JSONL ? "\n" : ",\n");
  document.after = text_of(shape == DOCUMENT_JSONL ? "\n" : "\n]\n");
  return document;
}

/* ---- reading ---- */

static Status read_one(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Document *document = loader->document;
  if (!reader_message(&loader->reader, &loader->json, raw, shape)) return loader->json.status;
  Text id;
  if (document_shape_id(*raw, shape, &id) && !document_check_id(loader, id, id.bytes - 1)) return loader->json.status;
  if (!document_check_parts(loader, *raw, shape)) return loader->json.status;
  if (document->count == 0) {
    document->before = text_plain(loader->bytes, (size_t)(raw->bytes - loader->bytes));
  } else if (document->count == 1) {
    document->gap = text_plain(loader->last_end, (size_t)(raw->bytes - loader->last_end));
  }
  assert(loader->last_end == NULL || loader->last_end <= raw->bytes);
  loader->last_end = raw->bytes + raw->size;
  assert(loader->last_end <= loader->json.end);
  document->count++;
  return STATUS_OK;
}

static Status next_of_array(void *user, bool *more, Text *raw, MessageShape *shape) {
  DocumentLoader *loader = user;
  *more = loader->started || json_next_element(&loader->json);
  loader->started = false;
  if (!*more) return loader->json.status;
  return read_one(loader, raw, shape);
}

/* Waits for more bytes and moves the cursor's end behind them. */
static Status wait_for_more(DocumentLoader *loader) {
  size_t have = (size_t)(loader->json.end - loader->bytes), size = (size_t)(loader->end - loader->bytes);
  Status status = loader->coming.wait(loader->coming.user, &have, &size);
  assert(have <= size && loader->bytes + have >= loader->json.end);
  loader->json.end = loader->bytes + have;
  loader->end = loader->bytes + size;
  if (loader->json.end == loader->end) loader->coming.wait = NULL;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.end, "the rest of the file");
  return status;
}

static Status wait_for_all(DocumentLoader *loader) {
  Status status = STATUS_OK;
  while (loader->coming.wait != NULL && status == STATUS_OK) status = wait_for_more(loader);
  return status;
}

/* Skips white space, waiting for more bytes; *newline: it has a newline. */
static Status skip_blank_lines(DocumentLoader *loader, bool *newline) {
  *newline = json_skip_blank(&loader->json);
  while (loader->json.at == loader->json.end && loader->coming.wait != NULL) {
    Status status = wait_for_more(loader);
    if (status != STATUS_OK) return status;
    *newline |= json_skip_blank(&loader->json);
  }
  return STATUS_OK;
}

/* What lacks its end is noticed at the first byte of a later line, and told at the end of its own. */
static void tell_at_own_line(Json *json, const char *start) {
  const char *end = json->error;
  while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n')) end--;
  if (end > start && memchr(end, '\n', (size_t)(json->error - end)) != NULL) json->error = end;
}

/* Reads the message at the cursor; again, with more bytes, if it failed at their end. */
static Status read_line(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Json before = loader->json;
  Status status = read_one(loader, raw, shape);
  while (status != STATUS_OK && loader->coming.wait != NULL) {
    if ((size_t)(loader->json.end - loader->json.error) > READER_BEHIND_CAP) break;
    before.end = loader->json.end;
    loader->json = before;
    status = wait_for_more(loader);
    if (status != STATUS_OK) return status;
    status = read_one(loader, raw, shape);
  }
  if (status == STATUS_SYNTAX) tell_at_own_line(&loader->json, loader->value);
  return status;
}

static Status next_of_lines(void *user, bool *more, Text *raw, MessageShape *shape) {
  DocumentLoader *loader = user;
  Json *json = &loader->json;
  bool newline;
  Status status = skip_blank_lines(loader, &newline);
  if (status != STATUS_OK) return status;
  *more = json->at < json->end;
  if (!*more) return STATUS_OK;
  if (loader->last_end != NULL && !newline) {
    json_fail(json, STATUS_SYNTAX, json->at, "a new line between messages");
    return json->status;
  }
  loader->value = json->at;
  return read_line(loader, raw, shape);
}

static Status append_all(DocumentLoader *loader, Status (*next)(void *, bool *, Text *, MessageShape *)) {
  MessageSource source = {.next = next, .user = loader, .adopted = true};
  return document_append_from(loader, &source);
}

/* The cursor is before '['. All text behind the last message is `after`. */
static Status load_array(DocumentLoader *loader) {
  if (!json_enter(&loader->json)) return loader->json.status;
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));
  loader->last_end = loader->json.at;
  loader->started = json_next_element(&loader->json);
  if (loader->started) return append_all(loader, next_of_array);
  if (loader->messages == NULL || loader->json.status != STATUS_OK) return loader->json.status;
  return document_load_apart(loader);
}

static Status load_lines(DocumentLoader *loader) {
  Json probe = loader->json;
  loader->document->shape = DOCUMENT_JSONL;
  loader->document->gap = text_of("\n");
  json_skip_blank(&probe);
  if (probe.at == probe.end) {
    Status status = wait_for_all(loader);
    if (status != STATUS_OK) return status;
    probe.end = loader->end;
    json_skip_blank(&probe);
  }
  if (probe.at < probe.end) return append_all(loader, next_of_lines);
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));   /* a BOM */
  loader->last_end = loader->json.at;
  return STATUS_OK;
}

/* Reads the messages of a body: a list, or one value instead, which is only noted. */
static Status load_messages(DocumentLoader *loader, Text key) {
  Json *json = &loader->json;
  JsonKind kind;
  unsigned traits = dialects_traits(loader->document->dialects);
  if (loader->last_end != NULL || loader->single.bytes != NULL) {
    json_fail(json, STATUS_DUPLICATE, key.bytes - 1, "the messages once");
    return json->status;
  }
  if (!json_peek(json, &kind)) return json->status;
  if (kind == JSON_ARRAY) return load_array(loader);
  bool takes = (kind == JSON_STRING && (traits & TRAIT_STRING)) || (kind == JSON_OBJECT && (traits & TRAIT_OBJECT));
  if (takes) json_value(json, &loader->single);
  else json_fail(json, STATUS_SHAPE, json->at, "a list of messages");
  return json->status;
}

static Status load_member(DocumentLoader *loader, Text key) {
  JsonValue value;
  if (text_equal(key, loader->member)) return load_messages(loader, key);
  if (!json_value(&loader->json, &value)) return loader->json.status;
  if (text_is(key, "model") && value.kind == JSON_STRING) loader->document->model = json_text(&value);
  RequestMember member;
  if (request_member_of(key, &member)) loader->document->members[member] = value;
  loader->document->likely |= dialects_with_member(loader->document->dialects, key);
  return STATUS_OK;
}

/* The text of the first message, if that is a system message; false if it is not. Edits of the visible list do not
   change it, so that a saved conversation costs what it did. */
static bool first_system(const Conversation *conversation, Text *text) {
  enum { FIRST = 1 };        /* id of the first message of a store */
  if (!store_has(conversation_store(conversation), FIRST)) return false;
  const Message *message = conversation_message(conversation, FIRST);
  if (message_role(message) != ROLE_SYSTEM) return false;
  *text = message_content_kind(message) == CONTENT_STRING ? message_content(message) : text_of("");
  return true;
}

Status document_overhead(const Document *document, const Conversation *conversation, const Counter *counter,
                         Cost *cost) {
  Text system;
  bool has_system = first_system(conversation, &system);
  *cost = (Cost){0};
  for (unsigned member = 0; member < REQUEST_MEMBERS; member++) {
    if (document->members[member].bytes == NULL) continue;
    Status status = request_member_cost(counter, conversation_memory(conversation), (RequestMember)member,
                                        &document->members[member], has_system ? &system : NULL, cost);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status add_overhead(DocumentLoader *loader) {
  Cost cost;
  Status status = document_overhead(loader->document, loader->conversation, conversation_counter(loader->conversation),
                                    &cost);
  if (status == STATUS_OK) conversation_set_overhead(loader->conversation, cost);
  return status;
}

/* Reads the body at the cursor, and white space behind it. */
static Status load_members(DocumentLoader *loader) {
  Json *json = &loader->json;
  Text key;
  if (!json_enter(json)) return json->status;
  while (json_next_member(json, &key)) {
    Status status = load_member(loader, key);
    if (status != STATUS_OK) return status;
  }
  if (json->status != STATUS_OK) return json->status;
  json_skip_blank(json);
  if (json->at < json->end) {
    json_fail(json, STATUS_SHAPE, json->at, "one request body (a file of many conversations is not one conversation)");
  }
  return json->status;
}

/* Replaces the file's bytes by a copy, owned by the store, of `size` bytes that are not yet written. */
static Status take_copy(DocumentLoader *loader, size_t size) {
  const Memory *memory = conversation_memory(loader->conversation);
  char *copy = memory_new(memory, size > 0 ? size : 1);
  if (copy == NULL) return STATUS_MEMORY;
  Status status = store_adopt(conversation_store(loader->conversation), copy, size, size > 0 ? size : 1);
  if (status != STATUS_OK) {
    memory_free(memory, copy, size > 0 ? size : 1);
    return status;
  }
  loader->bytes = loader->value = copy;
  loader->end = copy + size;
  loader->copied = true;
  return STATUS_OK;
}

static char *put_bytes(char *at, const char *bytes, size_t size) {
  if (size > 0) memcpy(at, bytes, size);
  return at + size;
}

/* Makes the single value a list, in a copy of the body: a string is the content of a user's message. */
static Status spread_single(DocumentLoader *loader) {
  bool string = loader->single.kind == JSON_STRING;
  Text open = text_of(string ? "[{\"role\":\"user\",\"content\":" : "["), close = text_of(string ? "}]" : "]");
  Text body = text_plain(loader->bytes, (size_t)(loader->end - loader->bytes));
  size_t value_size = loader->single.size, before = (size_t)(loader->single.bytes - body.bytes);
  if (!loader->copied) loader->file_end = loader->end;
  Status status = take_copy(loader, body.size + open.size + close.size);
  if (status != STATUS_OK) {
    json_fail(&loader->json, status, loader->single.bytes, "memory");
    return status;
  }
  char *at = put_bytes((char *)(uintptr_t)loader->bytes, body.bytes, before);
  at = put_bytes(at, open.bytes, open.size);
  at = put_bytes(at, body.bytes + before, value_size);
  at = put_bytes(at, close.bytes, close.size);
  at = put_bytes(at, body.bytes + before + value_size, body.size - before - value_size);
  assert(at == loader->end);
  loader->document->single = string ? SINGLE_STRING : SINGLE_OBJECT;
  loader->opening = (Inserted){.at = before, .size = open.size};
  loader->closing = (Inserted){.at = before + value_size, .size = close.size};
  bool tolerant = loader->json.tolerant;
  json_open(&loader->json, loader->bytes, (size_t)(loader->end - loader->bytes));
  loader->json.tolerant = tolerant;
  json_skip_mark(&loader->json);
  loader->single = (JsonValue){0};
  return STATUS_OK;
}

static Status load_body(DocumentLoader *loader, Text member) {
  loader->document->shape = DOCUMENT_BODY;
  loader->document->dialects = dialects_of_member(member);
  loader->member = member;
  loader->reader.all_items = (dialects_traits(loader->document->dialects) & TRAIT_ITEMS) != 0;
  Status status = load_members(loader);
  if (status == STATUS_OK && loader->single.bytes != NULL) {
    status = spread_single(loader);
    if (status == STATUS_OK) status = load_members(loader);
  }
  return status == STATUS_OK ? add_overhead(loader) : status;
}

static const char *const OVER_FILE_CAP = "a file within the cap (256 MiB by default)";

static bool within_file_cap(DocumentLoader *loader, const DocumentLimits *limits) {
  if ((size_t)(loader->end - loader->bytes) <= limits->file_bytes_max) return true;
  return json_fail(&loader->json, STATUS_LIMIT, loader->bytes, OVER_FILE_CAP);
}

/* Reads the messages in whichever shape the first bytes have. */
static Status load_any(DocumentLoader *loader, const DocumentLimits *limits) {
  Json *json = &loader->json;
  Text evidence;
  json_skip_mark(json);
  loader->value = json->at;
  Json shape = *json;
  if (limits->envelope.bytes != NULL) json_open(&shape, limits->envelope.bytes, limits->envelope.size);
  FileFormat first = detect_format(shape, &evidence);
  if (first == FORMAT_LINES) return load_lines(loader);
  if (wait_for_all(loader) != STATUS_OK) return json->status;
  if (within_file_cap(loader, limits)) {
    Status status = first == FORMAT_BODY ? load_body(loader, evidence) : load_array(loader);
    if (status != STATUS_OK) return status;
    if (first == FORMAT_ARRAY) json_end(json);
  }
  return json->status;
}

/* ---- how much there may be ---- */

bool document_cap(const DocumentLimits *limits, const char *bytes, size_t size, size_t *cap, size_t *needed) {
  size_t message = limits->message_bytes_max;
  Json json;
  Text evidence;
  JsonValue value;
  json_open(&json, bytes, size);
  json.tolerant = limits->lenient;
  json_skip_mark(&json);
  json_skip_blank(&json);
  FileFormat first = detect_format(json, &evidence);
  *cap = first == FORMAT_LINES ? SIZE_MAX : limits->file_bytes_max;
  *needed = size;
  if (first != FORMAT_LINES) return true;
  if (json.at == json.end || *json.at != '{') {   /* white space, or invalid: refused without reading more */
    if (json.at < json.end && !limits->lenient) *cap = size;
    return true;
  }
  size_t before = (size_t)(json.at - json.start);
  if (json_value(&json, &value)) return true;
  if ((size_t)(json.end - json.error) > READER_BEHIND_CAP) {   /* not at the end of these bytes */
    if (!limits->lenient) *cap = size;
    return true;
  }
  /* The first value is longer than these bytes. A message within its cap would end soon. */
  size_t behind = before + READER_BEHIND_CAP + 1;
  size_t enough = message > SIZE_MAX - behind ? SIZE_MAX : message + behind;
  if (size >= enough) *cap = evidence.bytes == NULL ? limits->file_bytes_max : size;
  *needed = enough;
  return size >= enough;
}

DocumentError document_over_cap(void) {
  return (DocumentError){.status = STATUS_LIMIT, .place = {.line = 1, .byte = 1}, .expected = OVER_FILE_CAP};
}

/* ---- all of it ---- */

static void describe_error(const DocumentLoader *loader, Status status, DocumentError *error) {
  const Json *json = &loader->json;
  const char *end = loader->coming.wait != NULL ? json->end : loader->end;      /* of the bytes read so far */
  const char *at = json->status == STATUS_OK ? json->at : json->error;
  const char *origin = document_origin(loader, at);
  *error = (DocumentError){.status = status};
  error->expected = json->status == STATUS_OK ? "less" : json->expected;
  error->place =
      source_position(loader->walk.start, (size_t)(origin - loader->walk.start), (size_t)(origin - loader->walk.start));
  if (at < loader->value) return;
  const char *value = document_origin(loader, loader->value);   /* in the file: indexes in a salvaged copy differ */
  if (loader->copied) end = loader->file_end;
  source_path(value, (size_t)(end - value), (size_t)(origin - value), loader->lenient, error->path, sizeof error->path);
}

/* Replaces the file's bytes by a salvaged copy if they need it. */
static Status salvage(DocumentLoader *loader, size_t size) {
  loader->file_end = loader->end;
  Status status = salvage_scan(&loader->salvage, &loader->reader, loader->bytes, size, loader->warnings);
  if (status != STATUS_OK || !loader->salvage.changed) return status;
  status = take_copy(loader, loader->salvage.size);
  if (status == STATUS_OK) salvage_copy(&loader->salvage, (char *)(uintptr_t)loader->bytes);
  return status;
}

static void loader_init(DocumentLoader *loader, const DocumentLimits *limits) {
  const Memory *memory = conversation_memory(loader->conversation);
  reader_init(&loader->reader, *memory);
  loader->reader.message_bytes_max = limits->message_bytes_max;
  loader->reader.aliases = limits->aliases;
  loader->reader.alias_count = limits->alias_count;
  loader->lenient = limits->lenient;
  loader->messages = limits->messages;
  loader->salvage.memory = *memory;
  map_init(&loader->ids, *memory);
  map_init(&loader->kinds, *memory);
}

static void loader_free(DocumentLoader *loader) {
  reader_free(&loader->reader);
  salvage_free(&loader->salvage);
  map_free(&loader->ids);
  map_free(&loader->kinds);
}

/* Waits for the first bytes, or in a lenient reading for all. */
static Status start_bytes(DocumentLoader *loader, const DocumentLimits *limits) {
  if (limits->coming.wait == NULL) return STATUS_OK;
  loader->coming = limits->coming;
  json_open(&loader->json, loader->bytes, 0);
  Status status = wait_for_more(loader);
  return status == STATUS_OK && limits->lenient ? wait_for_all(loader) : status;
}

Status document_load(Conversation *conversation, const DocumentLimits *limits, char *bytes, size_t size,
                     size_t capacity, Document *document, DocumentWarnings *warnings, DocumentError *error) {
  static const char nothing[] = "";
  const char *from = bytes == NULL ? nothing : bytes;
  const Memory *memory = conversation_memory(conversation);
  DocumentLoader loader = {.conversation = conversation, .document = document, .warnings = warnings, .bytes = from,
                   .end = from + size, .value = from,
                   .walk = {.start = from, .at = from, .place = {.line = 1, .byte = 1}}};
  assert(sequence_count(conversation_list(conversation)) == 0);
  *document = (Document){.shape = DOCUMENT_ARRAY, .loaded = true, .gap = text_of(","),
                         .first = store_count(conversation_store(conversation)) + 1};
  loader_init(&loader, limits);
  Status status = start_bytes(&loader, limits);
  if (status == STATUS_OK && limits->lenient) status = salvage(&loader, (size_t)(loader.end - loader.bytes));
  if (loader.coming.wait == NULL) json_open(&loader.json, loader.bytes, (size_t)(loader.end - loader.bytes));
  if (status == STATUS_OK) status = load_any(&loader, limits);
  else json_fail(&loader.json, status, loader.bytes, "memory");
  if (status == STATUS_OK && loader.copied) memory_free(memory, bytes, capacity);
  else if (status == STATUS_OK && bytes != NULL)
    status = store_adopt(conversation_store(conversation), bytes, size, capacity);
  const char *rest = loader.last_end == NULL ? loader.bytes : loader.last_end;
  document->after = text_plain(rest, (size_t)(loader.end - rest));
  document->block = text_plain(loader.bytes, (size_t)(loader.end - loader.bytes));
  if (status != STATUS_OK) describe_error(&loader, status, error);
  loader_free(&loader);
  return status;
}
