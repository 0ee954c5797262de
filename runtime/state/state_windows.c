/*
** The windows of a state: a list of objects, in the order of their creation.
**
**     [{"kind":"text", "id":"todo", "description":"..", "content":"..", "actions":"[..]", "summary":"",
**       "is":["closable", "important"], "version":3, "created":4, "updated":9}, ..]
**
** Contents that a host makes are saved by their kind alone. Equal windows, equal bytes.
*/
#include <assert.h>

#include "base/names.h"
#include "state/state_parts.h"

/* The texts come first, in the order of WindowText. */
enum {
  WINDOW_KIND = WINDOW_TEXTS,
  WINDOW_IS,
  WINDOW_VERSION,
  WINDOW_CREATED,
  WINDOW_UPDATED,
  WINDOW_FIELDS
};

static const char *const NAMES[WINDOW_FIELDS] = {"id",   "description", "content", "actions", "summary",
                                                 "kind", "is",          "version", "created", "updated"};
static const char *const KINDS[] = {"empty", "text", "elements", "source"};      /* as WindowContent */
/* As the bits of WindowFlag. */
static const char *const FLAGS[] = {"closable", "pinned", "important", "compact", "append", "hidden", "closed"};

static_assert((1 << COUNT_OF(FLAGS)) - 1 == WINDOW_FLAGS, "each flag has a name");

/* ---- out ---- */

void state_write_window(const Window *window, JsonOut *out) {
  assert((unsigned)window->content < COUNT_OF(KINDS) && window->flags <= WINDOW_FLAGS);
  json_out_open(out, '{');
  json_out_member_string(out, NAMES[WINDOW_KIND], KINDS[window->content]);
  for (unsigned i = 0; i < WINDOW_TEXTS; i++) json_out_member_text(out, NAMES[i], window->texts[i]);
  json_out_name(out, NAMES[WINDOW_IS]);
  json_out_open(out, '[');
  for (unsigned i = 0; i < COUNT_OF(FLAGS); i++) {
    if (window->flags >> i & 1) json_out_string(out, FLAGS[i]);
  }
  json_out_close(out, ']');
  json_out_member_integer(out, NAMES[WINDOW_VERSION], window->version);
  json_out_member_integer(out, NAMES[WINDOW_CREATED], window->created);
  json_out_member_integer(out, NAMES[WINDOW_UPDATED], window->updated);
  json_out_close(out, '}');
}

void state_write_windows(const Windows *windows, JsonOut *out) {
  json_out_open(out, '[');
  for (uint32_t i = 0; i < windows_count(windows); i++) {
    json_out_line(out);
    state_write_window(windows_at(windows, i), out);
  }
  json_out_close(out, ']');
}

/* ---- in ---- */

/* Decodes all texts into l->scratch, one behind the other. */
static bool read_texts(StateLoader *l, const JsonValue values[], Window *window) {
  size_t ends[WINDOW_TEXTS];
  buffer_reset(&l->scratch);
  for (unsigned i = 0; i < WINDOW_TEXTS; i++) {
    if (values[i].kind != JSON_STRING) return state_fail(l, STATUS_SHAPE, values[i].bytes, "a string");
    if (text_decode(json_text(&values[i]), &l->scratch) != STATUS_OK) return state_fail_memory(l);
    ends[i] = l->scratch.size;
  }
  for (size_t i = 0, at = 0; i < WINDOW_TEXTS; at = ends[i++]) {
    window->texts[i] = ends[i] == at ? text_of("") : text_plain(l->scratch.bytes + at, ends[i] - at);
  }
  return true;
}

static bool read_flags(StateLoader *l, const JsonValue *value, unsigned *flags) {
  Json json;
  uint32_t flag;
  json_open_value(&json, value);
  if (!state_enter(l, &json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(&json)) {
    if (!state_value_name(l, &json, FLAGS, COUNT_OF(FLAGS), &flag)) return false;
    if (*flags >> flag & 1) return state_fail_json(l, &json, "each once");
    *flags |= 1u << flag;
  }
  return state_end(l, &json, "a list");
}

static bool read_number(StateLoader *l, const JsonValue *value, int64_t low, int64_t high, uint32_t *number) {
  Json json;
  int64_t integer;
  json_open_value(&json, value);
  if (!state_value_integer(l, &json, low, high, &integer, "a seq of the store, or a version")) return false;
  *number = (uint32_t)integer;
  return true;
}

/* Reads a window and adds it to the table of the loader; false with an error noted. */
static bool read_window(StateLoader *l, Json *json) {
  Window window = {0};
  JsonValue values[WINDOW_FIELDS];
  Json kind;
  uint32_t content, last = store_count(l->store);
  if (!state_fields(l, json, NAMES, WINDOW_FIELDS, WINDOW_FIELDS, "a window with all its fields, once each", values)) {
    return false;
  }
  json_open_value(&kind, &values[WINDOW_KIND]);
  if (!state_value_name(l, &kind, KINDS, COUNT_OF(KINDS), &content) || !read_texts(l, values, &window) ||
      !read_flags(l, &values[WINDOW_IS], &window.flags) ||
      !read_number(l, &values[WINDOW_VERSION], 1, INT32_MAX, &window.version) ||      /* so that it can grow */
      !read_number(l, &values[WINDOW_CREATED], 0, last, &window.created) ||
      !read_number(l, &values[WINDOW_UPDATED], window.created, last, &window.updated)) {
    return false;
  }
  window.content = (WindowContent)content;
  bool unique = window.texts[WINDOW_ID].size > 0 &&
                windows_find(l->windows, window.texts[WINDOW_ID]) == WINDOW_NONE;
  if (!unique) return state_fail(l, STATUS_SHAPE, values[WINDOW_ID].bytes, "an id that no other window has");
  Status status = windows_put(&l->windows, &window);
  return status == STATUS_OK || state_fail(l, status, json->at, "windows that can be kept");
}

bool state_read_windows(StateLoader *l) {
  Json json;
  if (l->fields[STATE_WINDOWS].bytes == NULL) return true;
  if (windows_new(conversation_memory(l->conversation), *store_hash_key(l->store), &l->windows) != STATUS_OK) {
    return state_fail_memory(l);
  }
  if (!state_open_field(l, &json, STATE_WINDOWS, JSON_ARRAY)) return false;
  while (json_next_element(&json)) {
    if (!read_window(l, &json)) return false;
  }
  return state_end(l, &json, "a window");
}
