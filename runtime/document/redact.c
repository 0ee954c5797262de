#include "document/redact.h"

#include <assert.h>
#include <string.h>

#include "base/names.h"
#include "json/json.h"

#define TOMBSTONE "[forgotten]"

typedef struct Eraser {
  char *raw;
  Json json;
  bool has_author;           /* its `name` is that of who wrote it */
} Eraser;

/* The cursor's position in the writable bytes. */
static char *writable(const Eraser *eraser, const char *at) {
  assert(at >= eraser->json.start && at <= eraser->json.end);
  return eraser->raw + (at - eraser->json.start);
}

static void fill(char *at, size_t size, const char *words) {
  size_t length = strlen(words);
  memset(at, ' ', size);
  if (length <= size) memcpy(at, words, length);
  else if (size > 0) at[0] = '-';      /* some providers refuse texts of white space only */
}

static void erase_number(char *at, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (at[i] >= '0' && at[i] <= '9') at[i] = '1';      /* a leading 0 would be invalid */
  }
}

static void erase_scalar(const Eraser *eraser, const JsonValue *value, const char *words) {
  char *at = writable(eraser, value->bytes);
  if (value->kind == JSON_STRING) fill(at + 1, value->size - 2, words);
  else if (value->kind == JSON_NUMBER) erase_number(at, value->size);
}

/* The site of a value in a message decides which members of its objects stay. */
typedef enum Site {
  SITE_MESSAGE,              /* the message: its role, ids and place in time */
  SITE_PART,                 /* content, a part, a call, a result: its type, ids, the tool's name */
  SITE_DATA,                 /* an image, a file ...: its type */
  SITE_FREE                  /* metadata and members that are unknown: nothing */
} Site;

static bool is_kept(Site site, Text key) {
  static const char *const of_messages[] = {"role", "type", "id", "tool_call_id", "call_id", "timestamp"};
  static const char *const of_parts[] = {"type", "id", "name", "tool_call_id", "tool_use_id", "call_id"};
  if (site == SITE_MESSAGE) return NAMES_HAVE(of_messages, key);
  if (site == SITE_PART) return NAMES_HAVE(of_parts, key);
  return site == SITE_DATA && text_is(key, "type");
}

/* Finds the site of a member's value. */
static Site site_of(Site site, Text key) {
  static const char *const parts[] = {"content", "parts", "tool_calls", "function", "function_call", "functionCall",
                                      "functionResponse", "custom", "tool_use", "tool_result", "tool_call",
                                      "output", "summary", "reasoning", "reasoning_details"};
  static const char *const free[] = {"arguments", "args", "input", "response", "metadata"};
  if (site == SITE_FREE || site == SITE_DATA) return site;
  if (NAMES_HAVE(parts, key)) return SITE_PART;
  bool is_free = site == SITE_MESSAGE ? !text_is(key, "attachments") : NAMES_HAVE(free, key);
  return is_free ? SITE_FREE : SITE_DATA;
}

/* A name that providers take, of letters: "forgotten___". */
static void erase_name(char *at, size_t size) {
  static const char words[] = "forgotten";
  memset(at, '_', size);
  if (sizeof words - 1 <= size) memcpy(at, words, sizeof words - 1);
}

/* The name in a message is its author's; in a result and a call, that of a tool. */
static bool names_an_author(const Eraser *eraser, Site site, Text key) {
  return site == SITE_MESSAGE && text_is(key, "name") && eraser->has_author;
}

/* Blanks what stands between the brackets of an object, and its members' names. */
static void erase_object(const Eraser *eraser, const JsonValue *value) {
  memset(writable(eraser, value->bytes) + 1, ' ', value->size - 2);
}

static void erase_value(Eraser *eraser, Site site, const char *words);

static void erase_member(Eraser *eraser, Site site, Text key) {
  JsonValue value;
  const char *words = text_is(key, "arguments") ? "{}" : TOMBSTONE;      /* arguments must stay JSON */
  bool is_name = names_an_author(eraser, site, key);
  if (is_name || is_kept(site, key) || (site == SITE_MESSAGE && text_is(key, "name"))) {
    if (!json_value(&eraser->json, &value)) return;
    if (is_name && value.kind == JSON_STRING) erase_name(writable(eraser, value.bytes) + 1, value.size - 2);
  } else {
    erase_value(eraser, site_of(site, key), words);
  }
}

/* Recurses at most JSON_DEPTH_MAX levels. */
static void erase_value(Eraser *eraser, Site site, const char *words) {
  JsonKind kind;
  JsonValue value;
  Text key;
  if (!json_peek(&eraser->json, &kind)) return;
  if (kind == JSON_ARRAY) {
    json_enter(&eraser->json);
    while (json_next_element(&eraser->json)) erase_value(eraser, site, words);
  } else if (kind == JSON_OBJECT && site == SITE_FREE) {
    if (json_value(&eraser->json, &value)) erase_object(eraser, &value);
  } else if (kind == JSON_OBJECT) {
    json_enter(&eraser->json);
    while (json_next_member(&eraser->json, &key)) erase_member(eraser, site, key);
  } else if (json_value(&eraser->json, &value)) {
    erase_scalar(eraser, &value, words);
  }
}

/* True if a role says that the message is somebody's, not a tool's. */
static bool has_author(const char *raw, size_t size) {
  Json json;
  JsonValue value;
  Text key;
  bool result = false;
  json_open(&json, raw, size);
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (!text_is(key, "role")) continue;
    Text role = json_text(&value);
    result = !text_is(role, "tool") && !text_is(role, "function");
  }
  return result;
}

void redact_message(char *raw, size_t size) {
  assert(size >= 2 && raw[0] == '{' && raw[size - 1] == '}');
  Eraser eraser = {.raw = raw, .has_author = has_author(raw, size)};
  json_open(&eraser.json, raw, size);
  erase_value(&eraser, SITE_MESSAGE, TOMBSTONE);
  assert(eraser.json.status == STATUS_OK);
}
