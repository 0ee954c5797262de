#include "format/state_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const TEXT_NAMES[WINDOW_TEXTS] = {"id", "description", "content", "actions", "summary"};
static const char *const KIND_NAMES[] = {"empty", "text", "elements", "source"};
#define KIND_COUNT 4
static const char *const FLAG_NAMES[] = {"closable", "pinned", "important", "compact", "append", "hidden", "closed"};
#define FLAG_COUNT 7

/* ---- out ---- */

static void number(JsonOut *out, const char *name, uint32_t value) {
  char text[48];
  snprintf(text, sizeof text, ",\"%s\":%" PRIu32, name, value);
  json_out_word(out, text);
}

static void write_flags(JsonOut *out, unsigned flags) {
  bool first = true;
  json_out_word(out, ",\"is\":[");
  for (unsigned i = 0; i < FLAG_COUNT; i++) {
    if (!(flags >> i & 1)) continue;
    if (!first) json_out_word(out, ",");
    json_out_text(out, text_of(FLAG_NAMES[i]));
    first = false;
  }
  json_out_word(out, "]");
}

static void write_window(JsonOut *out, const Window *window) {
  json_out_word(out, "\n{\"kind\":");
  json_out_text(out, text_of(KIND_NAMES[window->content]));
  for (int i = 0; i < WINDOW_TEXTS; i++) {
    json_out_word(out, ",\"");
    json_out_word(out, TEXT_NAMES[i]);
    json_out_word(out, "\":");
    json_out_text(out, window->texts[i]);
  }
  write_flags(out, window->flags);
  number(out, "version", window->version);
  number(out, "created", window->created);
  number(out, "updated", window->updated);
  json_out_word(out, "}");
}

void state_write_windows(const Windows *windows, JsonOut *out) {
  json_out_word(out, "[");
  for (uint32_t i = 0; i < windows_count(windows); i++) {
    if (i > 0) json_out_word(out, ",");
    write_window(out, windows_at(windows, i));
  }
  json_out_word(out, "]");
}

/* ---- in ---- */

enum { SEEN_KIND = 1 << WINDOW_TEXTS, SEEN_FLAGS = SEEN_KIND << 1, SEEN_VERSION = SEEN_KIND << 2,
       SEEN_CREATED = SEEN_KIND << 3, SEEN_UPDATED = SEEN_KIND << 4, SEEN_ALL = (SEEN_KIND << 5) - 1 };

typedef struct In {
  Json *json;
  MessageId seq;
  const char **at, **expected;
  Status status;
  Buffer texts[WINDOW_TEXTS];      /* decoded */
} In;

static bool fail(In *in, Status status, const char *at, const char *expected) {
  in->status = status;
  *in->at = at;
  *in->expected = expected;
  return false;
}

/* What the cursor met, or that the value was not what it should be. */
static bool fail_json(In *in, const char *expected) {
  const Json *json = in->json;
  if (json->status != STATUS_OK) return fail(in, json->status, json->error, json->expected);
  return fail(in, STATUS_SHAPE, json->at, expected);
}

static bool read_string(In *in, Text *text) {
  JsonValue value;
  if (!json_value(in->json, &value)) return fail_json(in, "a string");
  if (value.kind != JSON_STRING) return fail(in, STATUS_SHAPE, value.bytes, "a string");
  *text = json_text(&value);
  return true;
}

static bool read_text(In *in, Window *window, unsigned which) {
  Text text;
  if (!read_string(in, &text)) return false;
  Buffer *buffer = &in->texts[which];
  buffer_reset(buffer);
  if (text_decode(text, buffer) != STATUS_OK) return fail(in, STATUS_MEMORY, in->json->at, "memory");
  window->texts[which] = text_plain(buffer->size == 0 ? "" : buffer->bytes, buffer->size);
  return true;
}

static bool read_name(In *in, const char *const *names, unsigned count, unsigned *found) {
  Text text;
  if (!read_string(in, &text)) return false;
  for (*found = 0; *found < count; ++*found) {
    if (text_equal(text, text_of(names[*found]))) return true;
  }
  return fail_json(in, "a name that windows know");
}

static bool read_flags(In *in, unsigned *flags) {
  JsonKind kind;
  if (!json_peek(in->json, &kind) || kind != JSON_ARRAY || !json_enter(in->json)) return fail_json(in, "a list");
  *flags = 0;
  while (json_next_element(in->json)) {
    unsigned flag;
    if (!read_name(in, FLAG_NAMES, FLAG_COUNT, &flag)) return false;
    if (*flags >> flag & 1) return fail_json(in, "each once");
    *flags |= 1u << flag;
  }
  return in->json->status == STATUS_OK ? true : fail_json(in, "a list");
}

static bool read_number(In *in, uint32_t low, uint32_t high, uint32_t *number) {
  JsonValue value;
  int64_t integer;
  if (!json_value(in->json, &value)) return fail_json(in, "a number");
  bool fits = value.kind == JSON_NUMBER && json_integer(&value, &integer) && integer >= low && integer <= high;
  if (!fits) return fail(in, STATUS_SHAPE, value.bytes, "a seq of the store, or a version");
  *number = (uint32_t)integer;
  return true;
}

static bool read_member(In *in, Text key, Window *window, unsigned *seen) {
  unsigned bit = 0, name;
  for (unsigned i = 0; i < WINDOW_TEXTS; i++) {
    if (text_equal(key, text_of(TEXT_NAMES[i]))) bit = 1u << i;
  }
  if (text_is(key, "kind")) bit = SEEN_KIND;
  if (text_is(key, "is")) bit = SEEN_FLAGS;
  if (text_is(key, "version")) bit = SEEN_VERSION;
  if (text_is(key, "created")) bit = SEEN_CREATED;
  if (text_is(key, "updated")) bit = SEEN_UPDATED;
  if (bit == 0 || *seen & bit) return fail_json(in, "the fields of a window, once each");
  *seen |= bit;
  switch (bit) {
  case SEEN_FLAGS: return read_flags(in, &window->flags);
  case SEEN_VERSION: return read_number(in, 1, INT32_MAX, &window->version);   /* with room to count on */
  case SEEN_CREATED: return read_number(in, 0, in->seq, &window->created);
  case SEEN_UPDATED: return read_number(in, 0, in->seq, &window->updated);
  case SEEN_KIND:
    if (!read_name(in, KIND_NAMES, KIND_COUNT, &name)) return false;
    window->content = (WindowContent)name;
    return true;
  default: return read_text(in, window, (unsigned)__builtin_ctz(bit));
  }
}

static bool read_window(In *in, Windows **windows) {
  Window window = {0};
  JsonKind kind;
  Text key;
  unsigned seen = 0;
  if (!json_peek(in->json, &kind) || kind != JSON_OBJECT || !json_enter(in->json)) return fail_json(in, "a window");
  while (json_next_member(in->json, &key)) {
    if (!read_member(in, key, &window, &seen)) return false;
  }
  if (in->json->status != STATUS_OK) return fail_json(in, "a window");
  bool good = seen == SEEN_ALL && window.texts[WINDOW_ID].size > 0 && window.created <= window.updated &&
              windows_find(*windows, window.texts[WINDOW_ID]) == WINDOW_NONE;
  if (!good) return fail_json(in, "all fields of a window, with an id of its own");
  Status status = windows_put(windows, &window);
  return status == STATUS_OK ? true : fail(in, status, in->json->at, "windows that can be kept");
}

Status state_read_windows(Json *json, MessageId seq, Windows **windows, const char **at, const char **expected) {
  In in = {.json = json, .seq = seq, .at = at, .expected = expected};
  JsonKind kind;
  for (int i = 0; i < WINDOW_TEXTS; i++) buffer_init(&in.texts[i], windows_memory(*windows));
  bool good = json_peek(json, &kind) && kind == JSON_ARRAY && json_enter(json) ? true : fail_json(&in, "a list");
  while (good && json_next_element(json)) good = read_window(&in, windows);
  if (good && json->status != STATUS_OK) fail_json(&in, "a window");
  for (int i = 0; i < WINDOW_TEXTS; i++) buffer_free(&in.texts[i]);
  return in.status;
}
