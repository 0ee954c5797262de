#include "format/document.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/minmax.h"
#include "format/detect.h"
#include "format/dialect_members.h"
#include "format/salvage.h"
#include "json/json_fields.h"

enum { BODY_DEPTH = 2 };     /* of messages in a body */

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
  bool copied;               /* `bytes` are a copy of the file's, owned by the store */
  const char *file_end;      /* of the file itself, once all of it is read */
  SourceWalk walk;            /* over the file itself, at the last warning */
  const char *value;         /* start of the line's value (JSONL) or of the file; paths start here */
  Json json;
  const char *last_end;      /* behind the last message read; NULL before the first */
  bool started;              /* the cursor is before a message */
  Text member;               /* of a body: the key of its messages */
  JsonValue single;          /* of a body: what it has instead of a list; bytes NULL: a list */
  const DocumentMessages *messages;    /* of an empty list; or NULL */
  MessageId lent;            /* the last one of those, if it need not be read again; else 0 */
  size_t spread_at, spread;  /* such a value was made a list: bytes inserted at an offset */
} DocumentLoader;

/* The position in the file itself. */
static const char *origin_of(const DocumentLoader *loader, const char *at) {
  assert(at >= loader->bytes && at <= loader->end);
  size_t offset = (size_t)(at - loader->bytes);
  if (offset > loader->spread_at) offset -= min_size(offset - loader->spread_at, loader->spread);
  return loader->walk.start + salvage_origin(&loader->salvage, offset);
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
static bool check_id(DocumentLoader *loader, Text id, const char *where) {
  uint64_t hash = hash_text(id, hash_key_of(loader));
  const uint64_t *other_seq = map_find(&loader->ids, hash);
  Text other;
  const Message *message = other_seq == NULL ? NULL : conversation_message(loader->conversation, (MessageId)*other_seq);
  if (message != NULL && message_field(message, FIELD_ID, &other) && text_equal(id, other)) {
    if (loader->lenient) return warn(loader, ODD_ID, id, where);
    return json_fail(&loader->json, STATUS_DUPLICATE, where, "an id that no other message of the file has");
  }
  MessageId seq = loader->document->first + loader->document->count;
  if (map_put(&loader->ids, hash, seq) != STATUS_OK) return json_fail(&loader->json, STATUS_MEMORY, where, "memory");
  return true;
}

static bool shape_id(Text raw, const MessageShape *shape, Text *id) {
  Span span = shape->fields[FIELD_ID];
  *id = (Text){.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
  return span.at != 0;
}

/* What tells the kind of a part: its type; its first member if parts have no types. */
static Text kind_of_part(Text part, MessageForm form) {
  Json json;
  Text key;
  JsonValue type;
  json_open(&json, part.bytes, part.size);
  if (form == FORM_PARTS && json_enter(&json) && json_next_member(&json, &key)) return key;
  return json_find(part, "type", JSON_STRING, &type) ? json_text(&type) : text_of("no type");
}

static bool warn_of_part(DocumentLoader *loader, Text part, MessageForm form) {
  Text kind = kind_of_part(part, form);
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
    if (shape->parts[i].unknown && !warn_of_part(loader, text_plain(raw.bytes + part.at, part.size), shape->form))
      return false;
  }
  return true;
}

static Status read_one(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Document *document = loader->document;
  if (!reader_message(&loader->reader, &loader->json, raw, shape)) return loader->json.status;
  Text id;
  if (shape_id(*raw, shape, &id) && !check_id(loader, id, id.bytes - 1)) return loader->json.status;
  if (!warn_of_unknown(loader, *raw, shape)) return loader->json.status;
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

static Status append_from(DocumentLoader *loader, MessageSource *source) {
  Status status = operation_append(loader->conversation, source);
  if (loader->json.status != STATUS_OK) return loader->json.status;
  if (status != STATUS_OK) json_fail(&loader->json, status, loader->json.at, "room for the message");
  return status;
}

static Status append_all(DocumentLoader *loader, Status (*next)(void *, bool *, Text *, MessageShape *)) {
  MessageSource source = {.next = next, .user = loader, .adopted = true};
  return append_from(loader, &source);
}

/* ---- messages from elsewhere ---- */

/* True if reading a message again would give the same, whatever the options of the reader. */
static bool reads_alike(const DocumentLoader *loader, const Message *message) {
  Text raw = message_raw(message), spelling;
  if (message_form(message) != FORM_CONTENT || message_is_window(message)) return false;
  if (message_field(message, FIELD_SPELLING, &spelling) || loader->reader.alias_count > 0) return false;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (message_part(message, i).unknown) return false;
  }
  return raw.size <= loader->reader.message_bytes_max && !json_may_be_deep(raw, JSON_DEPTH_MAX - BODY_DEPTH);
}

/* Reads a message that lies outside of the text, where errors have no place. */
static Status read_apart(DocumentLoader *loader, Text *raw, MessageShape *shape) {
  Json json;
  Text id;
  json_open(&json, raw->bytes, raw->size);
  json.depth = BODY_DEPTH;
  if (!reader_message(&loader->reader, &json, raw, shape)) return json.status;
  for (uint32_t i = 0; i < shape->part_count; i++) {
    if (shape->parts[i].unknown) return STATUS_SHAPE;    /* to be warned of, with its place */
  }
  bool unique = !shape_id(*raw, shape, &id) || check_id(loader, id, loader->json.at);
  return unique ? STATUS_OK : loader->json.status;
}

static Status next_of_messages(void *user, bool *more, Text *raw, MessageShape *shape) {
  DocumentLoader *loader = user;
  Text id;
  Status status = STATUS_OK;
  *more = loader->messages->next(loader->messages->user, &loader->lent, raw);
  if (!*more) return STATUS_OK;
  if (loader->lent != 0) {
    const Message *message = conversation_message(loader->messages->lender, loader->lent);
    *raw = message_raw(message);
    if (!reads_alike(loader, message)) loader->lent = 0;
    else if (message_field(message, FIELD_ID, &id) && !check_id(loader, id, loader->json.at)) status = STATUS_DUPLICATE;
  }
  if (loader->lent == 0) status = read_apart(loader, raw, shape);
  loader->document->count += status == STATUS_OK;
  return status;
}

/* Appends messages from elsewhere to a list that has none in the text. */
static Status load_messages_apart(DocumentLoader *loader) {
  const DocumentMessages *messages = loader->messages;
  Document *document = loader->document;
  MessageSource source = {.next = next_of_messages, .user = loader, .adopted = true, .lender = messages->lender,
                          .borrowed = &loader->lent};
  document->before.size += messages->indent;
  document->gap = messages->gap;
  loader->last_end += messages->indent;
  conversation_share_bytes(loader->conversation, messages->lender);
  return append_from(loader, &source);
}

/* The cursor is before '['. All text behind the last message is `after`. */
static Status load_array(DocumentLoader *loader) {
  if (!json_enter(&loader->json)) return loader->json.status;
  loader->document->before = text_plain(loader->bytes, (size_t)(loader->json.at - loader->bytes));
  loader->last_end = loader->json.at;
  loader->started = json_next_element(&loader->json);
  if (loader->started) return append_all(loader, next_of_array);
  if (loader->messages == NULL || loader->json.status != STATUS_OK) return loader->json.status;
  return load_messages_apart(loader);
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
  loader->spread_at = before;
  loader->spread = open.size;
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

static const char *const OVER_FILE_CAP = "a file within the cap (256 MiB unless set)";

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
  const char *origin = origin_of(loader, at);
  *error = (DocumentError){.status = status};
  error->expected = json->status == STATUS_OK ? "less" : json->expected;
  error->place =
      source_position(loader->walk.start, (size_t)(origin - loader->walk.start), (size_t)(origin - loader->walk.start));
  if (at < loader->value) return;
  const char *value = origin_of(loader, loader->value);   /* in the file: indexes in a salvaged copy differ */
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
