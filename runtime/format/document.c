#include "format/document.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "format/detect.h"
#include "format/salvage.h"
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

typedef struct DocumentLoader {
  Conversation *conversation;
  Reader reader;
  Document *document;
  DocumentWarnings *warnings;
  Map ids;                   /* hash of a message's id -> its seq */
  Map kinds;                 /* hash of an unknown part's type -> 1 */
  const char *bytes, *end;   /* of the file, or of its salvaged copy */
  DocumentComing coming;     /* wait not NULL: bytes are still being read, and the cursor ends where they do */
  bool lenient;
  Salvage salvage;                 /* of a lenient reading, else empty */
  const char *file_end;      /* of a lenient reading */
  SourceWalk walk;            /* over the file itself, at the last warning */
  const char *value;         /* start of the line's value (JSONL) or of the file; paths start here */
  Json json;
  const char *last_end;      /* behind the last message read; NULL before the first */
  bool started;              /* the cursor is before a message */
} DocumentLoader;

/* The position in the file itself. */
static const char *origin_of(const DocumentLoader *loader, const char *at) {
  assert(at >= loader->bytes && at <= loader->end);
  return loader->walk.start + salvage_origin(&loader->salvage, (size_t)(at - loader->bytes));
}

static bool warn(DocumentLoader *loader, DocumentOddity what, Text kind, const char *at) {
  SourcePosition place = source_position_next(&loader->walk, origin_of(loader, at));
  Status status = document_warn(loader->warnings, (DocumentWarning){.what = what, .place = place, .kind = kind});
  return status == STATUS_OK || json_fail(&loader->json, status, at, "memory");
}

static const HashKey *hash_key_of(const DocumentLoader *loader) {
  return store_hash_key(conversation_store(loader->conversation));
}

/* Checks that the id is unique in the file; a lenient reading only warns. */
static bool check_id(DocumentLoader *loader, Text raw, const MessageShape *shape) {
  Span span = shape->fields[FIELD_ID];
  if (span.at == 0) return true;
  Text id = {.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
  uint64_t hash = hash_text(id, hash_key_of(loader));
  const uint64_t *other_seq = map_find(&loader->ids, hash);
  Text other;
  const Message *message = other_seq == NULL ? NULL : conversation_message(loader->conversation, (MessageId)*other_seq);
  if (message != NULL && message_field(message, FIELD_ID, &other) && text_equal(id, other)) {
    if (loader->lenient) return warn(loader, ODD_ID, id, id.bytes - 1);
    return json_fail(&loader->json, STATUS_DUPLICATE, id.bytes - 1, "an id that no other message of the file has");
  }
  MessageId seq = loader->document->first + loader->document->count;
  if (map_put(&loader->ids, hash, seq) != STATUS_OK) return json_fail(&loader->json, STATUS_MEMORY, id.bytes, "memory");
  return true;
}

static bool warn_of_part(DocumentLoader *loader, Text part) {
  JsonValue type;
  Text kind = json_find(part, "type", JSON_STRING, &type) ? json_text(&type) : text_of("no type");
  uint64_t hash = hash_text(kind, hash_key_of(loader));
  if (map_find(&loader->kinds, hash) != NULL) return true;
  if (map_put(&loader->kinds, hash, 1) != STATUS_OK) {
    return json_fail(&loader->json, STATUS_MEMORY, part.bytes, "memory");
  }
  return warn(loader, ODD_PART, kind, part.bytes);
}

/* Warns once about each unknown type of part. */
static bool warn_of_unknown(DocumentLoader *loader, Text raw, const MessageShape *shape) {
  for (uint32_t i = 0; i < shape->part_count; i++) {
    Span part = shape->parts[i].value;
    if (shape->parts[i].kind == PART_OTHER && !warn_of_part(loader, text_plain(raw.bytes + part.at, part.size)))
      return false;
  }
  return true;
}

static Status read_one(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Document *document = loader->document;
  if (!reader_message(&loader->reader, &loader->json, raw, shape)) return loader->json.status;
  if (!check_id(loader, *raw, shape) || !warn_of_unknown(loader, *raw, shape)) return loader->json.status;
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
  Status status = operation_append(loader->conversation, &source);
  if (loader->json.status != STATUS_OK) return loader->json.status;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.at, "room for the message");
  return status;
}

/* The cursor is before '['. All text behind the last message is `after`. */
static Status load_array(DocumentLoader *loader) {
  if (!json_enter(&loader->json)) return loader->json.status;
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));
  loader->last_end = loader->json.at;
  loader->started = json_next_element(&loader->json);
  if (!loader->started) return loader->json.status;
  return append_all(loader, next_of_array);
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

static Status load_member(DocumentLoader *loader, Text key) {
  JsonValue value;
  JsonKind kind;
  if (text_is(key, "messages")) {
    if (loader->last_end != NULL) {
      json_fail(&loader->json, STATUS_DUPLICATE, key.bytes - 1, "messages once");
      return loader->json.status;
    }
    if (!json_peek(&loader->json, &kind)) return loader->json.status;
    if (kind != JSON_ARRAY) json_fail(&loader->json, STATUS_SHAPE, loader->json.at, "a list of messages");
    return kind == JSON_ARRAY ? load_array(loader) : loader->json.status;
  }
  if (!json_value(&loader->json, &value)) return loader->json.status;
  if (text_is(key, "model") && value.kind == JSON_STRING) loader->document->model = json_text(&value);
  RequestMember member;
  if (request_member_of(key, &member)) loader->document->members[member] = value;
  return STATUS_OK;
}

Status document_overhead(const Document *document, const Counter *counter, const Memory *memory, Cost *cost) {
  *cost = (Cost){0};
  for (unsigned member = 0; member < REQUEST_MEMBERS; member++) {
    if (document->members[member].bytes == NULL) continue;
    Status status = request_member_cost(counter, memory, (RequestMember)member, &document->members[member], cost);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status add_overhead(DocumentLoader *loader) {
  Cost cost;
  Status status = document_overhead(loader->document, conversation_counter(loader->conversation),
                                    conversation_memory(loader->conversation), &cost);
  if (status == STATUS_OK) conversation_add_overhead(loader->conversation, cost);
  return status;
}

static Status load_body(DocumentLoader *loader) {
  Text key;
  loader->document->shape = DOCUMENT_BODY;
  if (!json_enter(&loader->json)) return loader->json.status;
  while (json_next_member(&loader->json, &key)) {
    Status status = load_member(loader, key);
    if (status != STATUS_OK) return status;
  }
  if (loader->json.status == STATUS_OK) {
    Status status = add_overhead(loader);
    if (status != STATUS_OK) return status;
    json_skip_blank(&loader->json);
    if (loader->json.at < loader->json.end) {
      json_fail(&loader->json, STATUS_SHAPE, loader->json.at,
                "one request body (a file of many conversations is not one conversation)");
    }
  }
  return loader->json.status;
}

static const char *const OVER_FILE_CAP = "a file within the cap (256 MiB unless set)";

static bool within_file_cap(DocumentLoader *loader, const DocumentLimits *limits) {
  if ((size_t)(loader->end - loader->bytes) <= limits->file_bytes_max) return true;
  return json_fail(&loader->json, STATUS_LIMIT, loader->bytes, OVER_FILE_CAP);
}

/* Reads the messages in whichever shape the first bytes have; refuses forms that are detected but not supported. */
static Status load_any(DocumentLoader *loader, const DocumentLimits *limits) {
  Json *json = &loader->json;
  Text evidence;
  json_skip_mark(json);
  loader->value = json->at;
  FileFormat first = detect_format(*json, &evidence);
  if (first == FORMAT_LINES) return load_lines(loader);
  if (wait_for_all(loader) != STATUS_OK) return json->status;
  if (first == FORMAT_GEMINI) {
    json_fail(json, STATUS_SHAPE, evidence.bytes - 1, "messages (contents are of Gemini's form, which is not read)");
  } else if (first == FORMAT_RESPONSES) {
    json_fail(json, STATUS_SHAPE, evidence.bytes - 1,
              "messages (input is of the Responses API's form, which is not read)");
  } else if (within_file_cap(loader, limits)) {
    Status status = first == FORMAT_BODY ? load_body(loader) : load_array(loader);
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
  const char *origin = origin_of(loader, at);
  *error = (DocumentError){.status = status};
  error->expected = json->status == STATUS_OK ? "less" : json->expected;
  error->place =
      source_position(loader->walk.start, (size_t)(origin - loader->walk.start), (size_t)(origin - loader->walk.start));
  if (at < loader->value) return;
  const char *value = origin_of(loader, loader->value);   /* in the file: indexes in a salvaged copy differ */
  if (loader->salvage.changed) end = loader->file_end;
  source_path(value, (size_t)(end - value), (size_t)(origin - value), loader->lenient, error->path, sizeof error->path);
}

/* Replaces the file's bytes by a salvaged copy, owned by the store, if they need it. */
static Status salvage(DocumentLoader *loader, size_t size) {
  Store *store = conversation_store(loader->conversation);
  const Memory *memory = conversation_memory(loader->conversation);
  loader->file_end = loader->end;
  Status status = salvage_scan(&loader->salvage, &loader->reader, loader->bytes, size, loader->warnings);
  if (status != STATUS_OK || !loader->salvage.changed) return status;
  size_t room = loader->salvage.size > 0 ? loader->salvage.size : 1;
  char *copy = memory_new(memory, room);
  if (copy == NULL) return STATUS_MEMORY;
  salvage_copy(&loader->salvage, copy);
  status = store_adopt(store, copy, loader->salvage.size, room);
  if (status != STATUS_OK) {
    memory_free(memory, copy, room);
    return status;
  }
  loader->bytes = loader->value = copy;
  loader->end = copy + loader->salvage.size;
  return STATUS_OK;
}

static void loader_init(DocumentLoader *loader, const DocumentLimits *limits) {
  const Memory *memory = conversation_memory(loader->conversation);
  reader_init(&loader->reader, *memory);
  loader->reader.message_bytes_max = limits->message_bytes_max;
  loader->reader.aliases = limits->aliases;
  loader->reader.alias_count = limits->alias_count;
  loader->lenient = limits->lenient;
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
  if (status == STATUS_OK && loader.salvage.changed) memory_free(memory, bytes, capacity);
  else if (status == STATUS_OK && bytes != NULL)
    status = store_adopt(conversation_store(conversation), bytes, size, capacity);
  const char *rest = loader.last_end == NULL ? loader.bytes : loader.last_end;
  document->after = text_plain(rest, (size_t)(loader.end - rest));
  document->block = text_plain(loader.bytes, (size_t)(loader.end - loader.bytes));
  if (status != STATUS_OK) describe_error(&loader, status, error);
  loader_free(&loader);
  return status;
}

/* ---- bytes of its own ---- */

/* Larger envelopes share the store's bytes: a file may be nearly all white space. */
#define ENVELOPE_COPY_MAX ((size_t)1 << 20)

/* Copies of the text before the first message, the gap, the text behind the last message
   and the texts of warnings. */
struct Envelope {
  Memory memory;
  uint32_t owners;
  Arena *shared;             /* long texts stay in the bytes of a store; NULL: all are in `bytes` */
  size_t size;
  char bytes[];
};

/* The copy in the envelope of a text of the document. */
static const char *copy_of(const Document *document, const Envelope *envelope, const char *text) {
  size_t before = document->before.size, into = (size_t)(text - document->before.bytes);
  if (text >= document->before.bytes && into < before) return envelope->bytes + into;
  assert(text >= document->after.bytes && text < document->after.bytes + document->after.size);
  return envelope->bytes + before + document->gap.size + (size_t)(text - document->after.bytes);
}

static char *put_text(char *at, Text *text) {
  if (text->size > 0) memcpy(at, text->bytes, text->size);
  text->bytes = at;
  return at + text->size;
}

static size_t size_of_texts(const Document *document, const DocumentWarnings *warnings) {
  size_t size = document->before.size + document->gap.size + document->after.size;
  for (uint32_t i = 0; i < warnings->count; i++) size += warnings->list[i].kind.size;
  return size;
}

Status document_keep(Document *document, DocumentWarnings *warnings, const Memory *memory, Store *store,
                     Envelope **result) {
  size_t size = size_of_texts(document, warnings);
  bool shares = store != NULL && size > ENVELOPE_COPY_MAX;
  if (shares) size = 0;
  Envelope *envelope = memory_new(memory, sizeof *envelope + size);
  if (envelope == NULL) return STATUS_MEMORY;
  *envelope = (Envelope){.memory = *memory, .owners = 1, .size = size};
  *result = envelope;
  if (shares) {
    envelope->shared = store_share_bytes(store);
    return STATUS_OK;
  }
  for (unsigned member = 0; member < REQUEST_MEMBERS; member++) {
    JsonValue *value = &document->members[member];
    if (value->bytes != NULL) value->bytes = copy_of(document, envelope, value->bytes);
  }
  if (document->model.size > 0) document->model.bytes = copy_of(document, envelope, document->model.bytes);
  char *at = put_text(envelope->bytes, &document->before);
  at = put_text(at, &document->gap);
  at = put_text(at, &document->after);
  for (uint32_t i = 0; i < warnings->count; i++) at = put_text(at, &warnings->list[i].kind);
  assert(at == envelope->bytes + size);
  return STATUS_OK;
}

Envelope *envelope_share(Envelope *envelope) {
  assert(envelope == NULL || envelope->owners > 0);
  if (envelope != NULL) envelope->owners++;
  return envelope;
}

void envelope_release(Envelope *envelope) {
  if (envelope == NULL || --envelope->owners > 0) return;
  Memory memory = envelope->memory;
  arena_release(envelope->shared);
  memory_free(&memory, envelope, sizeof *envelope + envelope->size);
}
