#include "state/state_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialect/dialect.h"
#include "os/os.h"

/* ---- what stands around the messages: written ---- */

enum { BEFORE, GAP, AFTER, TEXTS };

static const char *const NAMES[TEXTS] = {"before", "gap", "after"};

/* True if bodies of several dialects have their messages in the member where this one has them. */
static bool is_ambiguous(const Document *document) { return (document->dialects & (document->dialects - 1)) != 0; }

/* True if the messages that were read may tell the dialect otherwise than those that were added (document_dialect). */
static bool needs_count(const Document *document) {
  return document->shape == DOCUMENT_BODY && document->first == 1 && is_ambiguous(document);
}

static Status add_texts(const Document *document, Buffer *out) {
  const Text texts[TEXTS] = {document->before, document->gap, document->after};
  Status status = buffer_add_string(out, "{\"document\":");
  for (int i = 0; i < TEXTS && status == STATUS_OK; i++) {
    status = buffer_add_string(out, i == 0 ? "{\"" : "\",\"");
    if (status == STATUS_OK) status = buffer_add_string(out, NAMES[i]);
    if (status == STATUS_OK) status = buffer_add_string(out, "\":\"");
    if (status == STATUS_OK) status = text_escape(texts[i], out);
  }
  if (status == STATUS_OK) status = buffer_add_string(out, "\"");
  if (status == STATUS_OK && document->single != SINGLE_NONE) {
    bool string = document->single == SINGLE_STRING;
    status = buffer_add_string(out, string ? ",\"single\":\"string\"" : ",\"single\":\"object\"");
  }
  if (status == STATUS_OK && needs_count(document)) {
    char count[32];
    snprintf(count, sizeof count, ",\"read\":%" PRIu32, document->count);
    status = buffer_add_string(out, count);
  }
  return status == STATUS_OK ? buffer_add_string(out, "}") : status;
}

/* The members of the caller's options, without the bracket before them. */
static Text members_of(Text options) {
  Json json;
  Text key;
  json_open(&json, options.bytes, options.size);
  if (options.size == 0 || !json_enter(&json)) return text_plain("}", 1);
  const char *first = json.at;
  bool any = json_next_member(&json, &key);
  return any ? text_plain(first, (size_t)(json.end - first)) : text_plain("}", 1);
}

Status state_add_document(const Document *document, Text options, Buffer *out, size_t *size) {
  Text members = members_of(options);
  size_t before = out->size;
  Status status = add_texts(document, out);
  if (status == STATUS_OK && members.size > 1) status = buffer_add_byte(out, ',');
  if (size != NULL) *size = out->size - before;
  return status == STATUS_OK ? buffer_add(out, members.bytes, members.size) : status;
}

/* A member that only a state has: its version, or its digest. */
static bool is_of_state(Text key, const JsonValue *value) {
  static const char digest[] = "\"xxh64:";
  if (text_equal(key, text_of("ebb"))) return value->kind == JSON_NUMBER;
  return text_equal(key, text_of("digest")) && value->size > sizeof digest &&
         memcmp(value->bytes, digest, sizeof digest - 1) == 0;
}

Status state_is_reordered(const Document *document, const Memory *memory, bool *state) {
  Buffer texts;
  Json json;
  Text key;
  JsonValue value;
  *state = false;
  if (document->shape != DOCUMENT_BODY) return STATUS_OK;
  buffer_init(&texts, *memory);
  Status status = buffer_add(&texts, document->before.bytes, document->before.size);
  if (status == STATUS_OK) status = buffer_add(&texts, document->after.bytes, document->after.size);
  json_open(&json, texts.bytes, texts.size);
  if (status == STATUS_OK && json_enter(&json)) {
    while (!*state && json_next_member(&json, &key) && json_value(&json, &value)) {
      *state = is_of_state(key, &value);
    }
  }
  buffer_free(&texts);
  return status;
}

size_t state_document_size(Text options) {
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, options.bytes, options.size);
  bool first = json_enter(&json) && json_next_member(&json, &key) && text_equal(key, text_of("document"));
  if (!first || !json_value(&json, &value)) return 0;
  const char *end = value.bytes + value.size, *last = options.bytes + options.size;
  while (end < last && strchr(" \t\r\n", *end) != NULL) end++;
  return (size_t)(end - options.bytes) + (end < last && *end == ',');
}

/* ---- and read again ---- */

typedef struct Restoring {
  Memory memory;
  Buffer texts;              /* one behind the other */
  size_t sizes[TEXTS];
  DocumentSingle single;
  bool has_count;
  uint32_t count;            /* messages that were read */
  Conversation *scratch;     /* reads the texts around no message */
  Document document;
  DocumentWarnings warnings;
} Restoring;

/* Reads what a document may say beside its texts, each once. */
static bool read_option(Restoring *restoring, Text key, const JsonValue *value) {
  if (text_equal(key, text_of("read")) && !restoring->has_count) {
    int64_t count = 0;
    bool good = value->kind == JSON_NUMBER && json_integer(value, &count) && count >= 0 && count < UINT32_MAX;
    restoring->has_count = good;
    restoring->count = good ? (uint32_t)count : 0;
    return good;
  }
  bool is_single = text_equal(key, text_of("single")) && restoring->single == SINGLE_NONE;
  if (!is_single || value->kind != JSON_STRING) return false;
  bool string = text_is(json_text(value), "string");
  restoring->single = string ? SINGLE_STRING : SINGLE_OBJECT;
  return string || text_is(json_text(value), "object");
}

/* The strings of the first option, decoded. STATUS_SHAPE. */
static Status read_texts(Restoring *restoring, Text options) {
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, options.bytes, options.size);
  if (!json_enter(&json) || !json_next_member(&json, &key) || !json_enter(&json)) return STATUS_SHAPE;
  for (int i = 0; i < TEXTS; i++) {
    bool good = json_next_member(&json, &key) && text_equal(key, text_of(NAMES[i])) && json_value(&json, &value) &&
                value.kind == JSON_STRING;
    if (!good) return STATUS_SHAPE;
    size_t before = restoring->texts.size;
    if (text_decode(json_text(&value), &restoring->texts) != STATUS_OK) return STATUS_MEMORY;
    restoring->sizes[i] = restoring->texts.size - before;
  }
  while (json_next_member(&json, &key)) {
    if (!json_value(&json, &value) || !read_option(restoring, key, &value)) return STATUS_SHAPE;
  }
  return json.status == STATUS_OK ? STATUS_OK : STATUS_SHAPE;
}

static bool is_blank(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (strchr(" \t\r\n", bytes[i]) == NULL || bytes[i] == '\0') return false;
  }
  return true;
}

/* A comma between blanks; between lines, blanks with a newline. */
static bool is_gap(DocumentShape shape, const char *bytes, size_t size) {
  if (shape == DOCUMENT_JSONL) return is_blank(bytes, size) && memchr(bytes, '\n', size) != NULL;
  const char *comma = memchr(bytes, ',', size);
  if (comma == NULL) return false;
  size_t before = (size_t)(comma - bytes);
  return is_blank(bytes, before) && is_blank(comma + 1, size - before - 1);
}

/* Reads before and after as one text, in which no message stands. */
static Status load_texts(Restoring *restoring) {
  static const DocumentLimits limits = {.message_bytes_max = SIZE_MAX, .file_bytes_max = SIZE_MAX};
  size_t before = restoring->sizes[BEFORE], after = restoring->sizes[AFTER], size = before + after;
  ConversationConfig config = {.memory = restoring->memory, .clock = clock_system(),
                               .counter = counter_of(ESTIMATE_CJK), .hash_key = entropy_hash_key()};
  DocumentError error;
  if (conversation_new(&config, &restoring->scratch) != STATUS_OK) return STATUS_MEMORY;
  char *bytes = memory_new(&restoring->memory, size > 0 ? size : 1);
  if (bytes == NULL) return STATUS_MEMORY;
  const char *texts = restoring->texts.bytes;
  if (before > 0) memcpy(bytes, texts, before);
  if (after > 0) memcpy(bytes + before, texts + before + restoring->sizes[GAP], after);
  Status status = document_load(restoring->scratch, &limits, bytes, size, size > 0 ? size : 1, &restoring->document,
                                &restoring->warnings, &error);
  if (status != STATUS_OK) memory_free(&restoring->memory, bytes, size > 0 ? size : 1);
  return status == STATUS_OK || status == STATUS_MEMORY ? status : STATUS_SHAPE;
}

/* True if the texts are those around a message without a list, with the brackets of one. */
static bool may_be_single(const Restoring *restoring) {
  const Document *document = &restoring->document;
  size_t before = restoring->sizes[BEFORE];
  unsigned trait = restoring->single == SINGLE_STRING ? TRAIT_STRING : TRAIT_OBJECT;
  const char *bytes = document->block.bytes;
  return document->shape == DOCUMENT_BODY && (dialects_traits(document->dialects) & trait) && before > 0 &&
         bytes[before - 1] == '[' && restoring->sizes[AFTER] > 0 && bytes[before] == ']';
}

/* Messages go where the first text ends: only blanks stand between there and where the list begins. */
static Status split_texts(Restoring *restoring) {
  Document *document = &restoring->document;
  size_t begin = document->before.size, before = restoring->sizes[BEFORE];
  const char *bytes = document->block.bytes, *gap = restoring->texts.bytes + before;
  bool good = document->count == 0 && begin <= before && is_blank(bytes + begin, before - begin) &&
              is_gap(document->shape, gap, restoring->sizes[GAP]);
  if (!good || (restoring->single != SINGLE_NONE && !may_be_single(restoring))) return STATUS_SHAPE;
  document->single = restoring->single;
  if (is_ambiguous(document) && !restoring->has_count) document->first = 0;
  document->count = restoring->count;
  document->before = text_plain(bytes, before);
  document->after = text_plain(bytes + before, restoring->sizes[AFTER]);
  document->gap = text_plain(gap, restoring->sizes[GAP]);
  document->block = text_plain("", 0);
  return STATUS_OK;
}

Status state_read_document(Text options, const Memory *memory, Document *document, Envelope **envelope) {
  Restoring restoring = {.memory = *memory, .warnings.memory = *memory};
  buffer_init(&restoring.texts, *memory);
  Status status = read_texts(&restoring, options);
  if (status == STATUS_OK) status = load_texts(&restoring);
  if (status == STATUS_OK) status = split_texts(&restoring);
  if (status == STATUS_OK) status = document_keep(&restoring.document, &restoring.warnings, memory, NULL, envelope);
  if (status == STATUS_OK) *document = restoring.document;
  memory_free(memory, restoring.warnings.list, restoring.warnings.room * sizeof *restoring.warnings.list);
  conversation_free(restoring.scratch);
  buffer_free(&restoring.texts);
  return status;
}
