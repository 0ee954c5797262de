#include "format/document.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

const char *document_shape_name(DocumentShape shape) {
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

typedef struct Loader {
  Conversation *conversation;
  Reader reader;
  Document *document;
  DocumentWarnings *warnings;
  Map ids;                   /* hash of a message's id -> its seq */
  Map kinds;                 /* hash of an unknown part's type -> 1 */
  const char *bytes, *end;   /* of the file */
  const char *warned;        /* the part warned about last, or the file's start */
  Place warned_place;
  const char *value;         /* start of the line's value (JSONL) or of the file: paths count from here */
  Json json;
  const char *last_end;      /* behind the message read last; NULL before the first */
  bool started;              /* the cursor stands before a message */
} Loader;

/* Ids must be unique in a file. */
static bool check_id(Loader *loader, Text raw, const MessageShape *shape) {
  Span span = shape->fields[FIELD_ID];
  if (span.at == 0) return true;
  Text id = {.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
  uint64_t hash = text_hash(id, 0);
  const uint64_t *known = map_find(&loader->ids, hash);
  Text other;
  if (known != NULL && message_field(conversation_message(loader->conversation, (MessageId)*known), FIELD_ID, &other) &&
      text_equal(id, other)) {
    return json_fail(&loader->json, STATUS_DUPLICATE, id.bytes - 1, "an id that no other message of the file has");
  }
  MessageId seq = loader->document->first + loader->document->count;
  if (map_put(&loader->ids, hash, seq) != STATUS_OK) return json_fail(&loader->json, STATUS_MEMORY, id.bytes, "memory");
  return true;
}

/* The type of a part, "no type" if it has none. */
static Text type_of(Text part) {
  Json json;
  JsonValue value;
  Text key, type = text_of("no type");
  json_open(&json, part.bytes, part.size);
  if (part.bytes[0] != '{' || !json_enter(&json)) return type;
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (text_equal(key, text_of("type")) && value.kind == JSON_STRING) type = json_text(&value);
  }
  return type;
}

/* Counted on from the last one, so that many warnings take one walk over the file. */
static Place place_of_warning(Loader *loader, const char *part) {
  Place place = place_of(loader->warned, (size_t)(loader->end - loader->warned), (size_t)(part - loader->warned));
  if (place.line == 1) place.byte += loader->warned_place.byte - 1;
  place.line += loader->warned_place.line - 1;
  loader->warned = part;
  loader->warned_place = place;
  return place;
}

static bool warn(Loader *loader, Text part) {
  Text kind = type_of(part);
  uint64_t hash = text_hash(kind, 0);
  if (map_find(&loader->kinds, hash) != NULL) return true;
  DocumentWarnings *to = loader->warnings;
  DocumentWarning *grown = memory_grow(&to->memory, to->list, &to->room, to->count, sizeof *grown);
  if (grown != NULL) to->list = grown;
  if (grown == NULL || map_put(&loader->kinds, hash, 1) != STATUS_OK) {
    return json_fail(&loader->json, STATUS_MEMORY, part.bytes, "memory");
  }
  grown[to->count++] = (DocumentWarning){.place = place_of_warning(loader, part.bytes), .kind = kind};
  return true;
}

/* Each type of part that nobody knows is warned about once. */
static bool warn_of_unknown(Loader *loader, Text raw, const MessageShape *shape) {
  for (uint32_t i = 0; i < shape->part_count; i++) {
    Span part = shape->parts[i].value;
    if (shape->parts[i].kind == PART_OTHER && !warn(loader, text_plain(raw.bytes + part.at, part.size))) return false;
  }
  return true;
}

static Status read_one(Loader *loader, Text *raw, MessageShape *shape) {
  Document *document = loader->document;
  if (!reader_message(&loader->reader, &loader->json, raw, shape)) return loader->json.status;
  if (!check_id(loader, *raw, shape) || !warn_of_unknown(loader, *raw, shape)) return loader->json.status;
  if (document->count == 0) {
    document->before = text_plain(loader->bytes, (size_t)(raw->bytes - loader->bytes));
  } else if (document->count == 1) {
    document->gap = text_plain(loader->last_end, (size_t)(raw->bytes - loader->last_end));
  }
  loader->last_end = raw->bytes + raw->size;
  document->count++;
  return STATUS_OK;
}

static Status next_of_array(void *user, bool *more, Text *raw, MessageShape *shape) {
  Loader *loader = user;
  *more = loader->started || json_next_element(&loader->json);
  loader->started = false;
  if (!*more) return loader->json.status;
  return read_one(loader, raw, shape);
}

/* Skips white space; answers whether there was a newline in it. */
static bool skip_blank(Json *json) {
  bool newline = false;
  for (; json->at < json->end; json->at++) {
    if (*json->at == '\n') newline = true;
    else if (*json->at != ' ' && *json->at != '\r' && *json->at != '\t') break;
  }
  return newline;
}

static Status next_of_lines(void *user, bool *more, Text *raw, MessageShape *shape) {
  Loader *loader = user;
  Json *json = &loader->json;
  bool newline = skip_blank(json);
  *more = json->at < json->end;
  if (!*more) return STATUS_OK;
  if (loader->last_end != NULL && !newline) {
    json_fail(json, STATUS_SYNTAX, json->at, "a new line between messages");
    return json->status;
  }
  loader->value = json->at;
  return read_one(loader, raw, shape);
}

static Status append_all(Loader *loader, Status (*next)(void *, bool *, Text *, MessageShape *)) {
  MessageSource source = {.next = next, .user = loader, .adopted = true};
  Status status = operation_append(loader->conversation, &source);
  if (loader->json.status != STATUS_OK) return loader->json.status;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.at, "room for the message");
  return status;
}

/* The cursor stands before '['. What is behind the last message is `after`. */
static Status load_array(Loader *loader) {
  if (!json_enter(&loader->json)) return loader->json.status;
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));
  loader->last_end = loader->json.at;
  loader->started = json_next_element(&loader->json);
  if (!loader->started) return loader->json.status;
  return append_all(loader, next_of_array);
}

static Status load_lines(Loader *loader) {
  Json probe = loader->json;
  loader->document->shape = DOCUMENT_JSONL;
  loader->document->gap = text_of("\n");
  skip_blank(&probe);
  if (probe.at < probe.end) return append_all(loader, next_of_lines);
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));   /* a BOM */
  loader->last_end = loader->json.at;
  return STATUS_OK;
}

/* Members of a body that the model reads besides its messages. */
static bool is_overhead(Text key) {
  static const char *const names[] = {"tools", "functions", "system", "instructions", "response_format"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (text_equal(key, text_of(names[i]))) return true;
  }
  return false;
}

static Status load_member(Loader *loader, Text key) {
  JsonValue value;
  JsonKind kind;
  if (text_equal(key, text_of("messages"))) {
    if (loader->last_end != NULL) {
      json_fail(&loader->json, STATUS_DUPLICATE, key.bytes - 1, "messages once");
      return loader->json.status;
    }
    if (!json_peek(&loader->json, &kind)) return loader->json.status;
    if (kind != JSON_ARRAY) json_fail(&loader->json, STATUS_SHAPE, loader->json.at, "a list of messages");
    return kind == JSON_ARRAY ? load_array(loader) : loader->json.status;
  }
  if (!json_value(&loader->json, &value)) return loader->json.status;
  if (text_equal(key, text_of("model")) && value.kind == JSON_STRING) loader->document->model = json_text(&value);
  if (is_overhead(key) && value.kind != JSON_NULL && conversation_counter(loader->conversation)->given == NULL) {
    uint32_t tokens;
    Text text = text_plain(value.bytes, value.size);
    Status status = cost_of_text(conversation_counter(loader->conversation), text, &tokens);
    if (status != STATUS_OK) return status;
    conversation_add_overhead(loader->conversation, tokens);
  }
  return STATUS_OK;
}

static Status load_body(Loader *loader) {
  Text key;
  loader->document->shape = DOCUMENT_BODY;
  if (!json_enter(&loader->json)) return loader->json.status;
  while (json_next_member(&loader->json, &key)) {
    Status status = load_member(loader, key);
    if (status != STATUS_OK) return status;
  }
  if (loader->json.status == STATUS_OK) {
    skip_blank(&loader->json);
    if (loader->json.at < loader->json.end) {
      json_fail(&loader->json, STATUS_SHAPE, loader->json.at,
                "one request body (a file of many conversations is not one conversation)");
    }
  }
  return loader->json.status;
}

/* What a first object can be. Other systems' bodies are known only to be refused with a word that helps. */
typedef enum First { FIRST_MESSAGE, FIRST_BODY, FIRST_GEMINI, FIRST_RESPONSES } First;

static First first_of_key(Text key, JsonKind kind) {
  if (text_equal(key, text_of("messages"))) return FIRST_BODY;
  if (kind == JSON_ARRAY && text_equal(key, text_of("contents"))) return FIRST_GEMINI;
  if ((kind == JSON_ARRAY || kind == JSON_STRING) && text_equal(key, text_of("input"))) return FIRST_RESPONSES;
  return FIRST_MESSAGE;
}

/* What the object at the cursor is. A role makes it a message, wherever it
   stands; a body that breaks off is a body still. *key: what told. */
static First look_at_first(Json json, Text *told) {
  Text key;
  JsonKind kind;
  JsonValue value;
  First first = FIRST_MESSAGE;
  json_enter(&json);
  while (json_next_member(&json, &key) && json_peek(&json, &kind)) {
    if (text_equal(key, text_of("role"))) return FIRST_MESSAGE;
    First here = first_of_key(key, kind);
    if (here != FIRST_MESSAGE && first != FIRST_BODY) {
      first = here;
      *told = key;
    }
    if (!json_value(&json, &value)) break;
  }
  return first;
}

static Status over_file_cap(Loader *loader, const DocumentLimits *limits) {
  if ((size_t)(loader->end - loader->bytes) <= limits->file_bytes_max) return STATUS_OK;
  json_fail(&loader->json, STATUS_LIMIT, loader->bytes, "a file within the cap (--max-file raises it)");
  return STATUS_LIMIT;
}

static Status load_object(Loader *loader, const DocumentLimits *limits, const Json *probe) {
  Text told = {0};
  Status status;
  switch (look_at_first(*probe, &told)) {
  case FIRST_BODY:
    status = over_file_cap(loader, limits);
    return status == STATUS_OK ? load_body(loader) : status;
  case FIRST_GEMINI:
    json_fail(&loader->json, STATUS_SHAPE, told.bytes - 1,
              "messages (contents are of Gemini's form, which is not read)");
    return STATUS_SHAPE;
  case FIRST_RESPONSES:
    json_fail(&loader->json, STATUS_SHAPE, told.bytes - 1,
              "messages (input is of the Responses API's form, which is not read)");
    return STATUS_SHAPE;
  default:
    return load_lines(loader);
  }
}

static Status load_any(Loader *loader, const DocumentLimits *limits) {
  Json *json = &loader->json;
  size_t size = (size_t)(json->end - json->at);
  if (size >= 3 && memcmp(json->at, "\xEF\xBB\xBF", 3) == 0) {
    json->at += 3;
    loader->value += 3;
  }
  Json probe = *json;
  skip_blank(&probe);
  if (probe.at < probe.end && *probe.at == '{') return load_object(loader, limits, &probe);
  if (probe.at == probe.end || *probe.at != '[') return load_lines(loader);
  Status status = over_file_cap(loader, limits);
  if (status == STATUS_OK) status = load_array(loader);
  if (status == STATUS_OK) json_end(json);
  return status == STATUS_OK ? json->status : status;
}

static void describe_error(const Loader *loader, Status status, DocumentError *error) {
  const Json *json = &loader->json;
  const char *at = json->status == STATUS_OK ? json->at : json->error;
  *error = (DocumentError){.status = status};
  error->expected = json->status == STATUS_OK ? "less" : json->expected;
  error->place = place_of(loader->bytes, (size_t)(loader->end - loader->bytes), (size_t)(at - loader->bytes));
  if (at >= loader->value) {
    place_path(loader->value, (size_t)(loader->end - loader->value), (size_t)(at - loader->value), error->path,
               sizeof error->path);
  }
}

Status document_load(Conversation *conversation, const DocumentLimits *limits, char *bytes, size_t size,
                     size_t capacity, Document *document, DocumentWarnings *warnings, DocumentError *error) {
  static const char nothing[] = "";
  const char *from = bytes == NULL ? nothing : bytes;
  Loader loader = {.conversation = conversation, .document = document, .warnings = warnings, .bytes = from,
                   .end = from + size, .warned = from, .warned_place = {.line = 1, .byte = 1}, .value = from};
  const Memory *memory = conversation_memory(conversation);
  assert(sequence_count(conversation_list(conversation)) == 0);
  *document = (Document){.shape = DOCUMENT_ARRAY, .loaded = true, .gap = text_of(","),
                         .first = store_count(conversation_store(conversation)) + 1};
  reader_init(&loader.reader, *memory);
  loader.reader.message_bytes_max = limits->message_bytes_max;
  map_init(&loader.ids, *memory);
  map_init(&loader.kinds, *memory);
  json_open(&loader.json, from, size);
  Status status = load_any(&loader, limits);
  if (status == STATUS_OK && bytes != NULL) {
    status = store_adopt(conversation_store(conversation), bytes, size, capacity);
  }
  const char *rest = loader.last_end == NULL ? from : loader.last_end;
  document->after = text_plain(rest, (size_t)(loader.end - rest));
  if (status != STATUS_OK) describe_error(&loader, status, error);
  reader_free(&loader.reader);
  map_free(&loader.ids);
  map_free(&loader.kinds);
  return status;
}

/* ---- writing ---- */

/* Bytes that lie together are gathered and written once. */
typedef struct Writer {
  const Document *document;
  const Conversation *conversation;
  Sink sink;
  const char *from, *to;     /* gathered */
  MessageId before;          /* written last; 0: none */
} Writer;

static Status flush(Writer *writer) {
  if (writer->from == writer->to) return STATUS_OK;
  Status status = writer->sink.write(writer->sink.user, writer->from, (size_t)(writer->to - writer->from));
  writer->from = writer->to = NULL;
  return status;
}

static Status put(Writer *writer, const char *bytes, size_t size) {
  if (size == 0) return STATUS_OK;
  if (bytes == writer->to && writer->to != NULL) {
    writer->to += size;
    return STATUS_OK;
  }
  Status status = flush(writer);
  writer->from = bytes;
  writer->to = bytes + size;
  return status;
}

static bool was_read(const Document *document, MessageId id) {
  return id >= document->first && id - document->first < document->count;
}

/* What stood before a message, or the one whose place it takes, in the file; or
   what stands between others. */
static Text gap_of(const Writer *writer, MessageId id) {
  const Document *document = writer->document;
  id = store_origin(conversation_store(writer->conversation), id);
  if (!was_read(document, id) || id == document->first) return document->gap;
  Text before = message_raw(conversation_message(writer->conversation, id - 1));
  Text here = message_raw(conversation_message(writer->conversation, id));
  const char *end = before.bytes + before.size;
  return text_plain(end, (size_t)(here.bytes - end));
}

static Status put_message(Writer *writer, MessageId id) {
  Status status = STATUS_OK;
  if (writer->before != 0) {
    Text gap = gap_of(writer, id);
    status = put(writer, gap.bytes, gap.size);
  }
  Text raw = message_raw(conversation_message(writer->conversation, id));
  writer->before = id;
  return status == STATUS_OK ? put(writer, raw.bytes, raw.size) : status;
}

Status document_write(const Document *document, const Conversation *conversation, const Sequence *list, Sink sink) {
  Writer writer = {.document = document, .conversation = conversation, .sink = sink};
  Status status = put(&writer, document->before.bytes, document->before.size);
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) status = put_message(&writer, walk.ids[i]);
  }
  /* JSONL without messages has no line to end. */
  bool ends = status == STATUS_OK && (document->shape != DOCUMENT_JSONL || writer.before != 0 || document->count == 0);
  if (ends) status = put(&writer, document->after.bytes, document->after.size);
  return status == STATUS_OK ? flush(&writer) : status;
}
