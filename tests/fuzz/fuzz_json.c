/*
** The JSON scanner on any bytes: it stays within them, an error lies within
** them and says what was expected, and whatever is accepted reads the same
** whether it is passed over or walked through, and decodes to UTF-8 that
** escapes back to an equal text.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/source_position.h"

static void check_text(Text text, Buffer *scratch) {
  buffer_reset(scratch);
  assert(text_decode(text, scratch) == STATUS_OK);
  Text plain = text_plain(scratch->bytes, scratch->size);
  assert(plain.size == text_plain_size(text));
  assert(utf8_check(plain.bytes, plain.size) == plain.size);
  assert(text_equal(text, plain));
  HashKey key = {{1, 2}};
  assert(hash_text(text, &key) == hash_text(plain, &key));
  Buffer again;
  buffer_init(&again, memory_system());
  assert(text_escape(plain, &again) == STATUS_OK);
  Text escaped = {.bytes = again.bytes, .size = again.size, .escaped = true};
  assert(text_equal(text, escaped));
  buffer_free(&again);
}

/* Reads the next value step by step. */
static void walk(Json *json, Buffer *scratch) {
  JsonKind kind;
  JsonValue value;
  Text key;
  assert(json_peek(json, &kind));
  if (kind == JSON_ARRAY) {
    assert(json_enter(json));
    while (json_next_element(json)) walk(json, scratch);
  } else if (kind == JSON_OBJECT) {
    assert(json_enter(json));
    while (json_next_member(json, &key)) {
      check_text(key, scratch);
      walk(json, scratch);
    }
  } else {
    int64_t integer;
    assert(json_value(json, &value) && value.kind == kind);
    if (kind == JSON_STRING) check_text(json_text(&value), scratch);
    else json_integer(&value, &integer);
  }
  assert(json->status == STATUS_OK);
}

static void check_error(const Json *json) {
  char path[40];
  size_t size = (size_t)(json->end - json->start), offset = (size_t)(json->error - json->start);
  assert(json->error >= json->start && json->error <= json->end);
  assert(json->expected != NULL && json->expected[0] != '\0');
  SourcePosition place = source_position(json->start, size, offset);
  assert(place.line >= 1 && place.byte >= 1 && place.line + place.byte <= offset + 2);
  source_path(json->start, size, offset, false, path, sizeof path);
  assert(memchr(path, '\0', sizeof path) != NULL);
  assert(utf8_check(path, strlen(path)) == strlen(path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Json json;
  JsonValue value;
  json_open(&json, (const char *)data, size);
  if (!json_value(&json, &value) || !json_end(&json)) {
    check_error(&json);
    return 0;
  }
  Buffer scratch;
  buffer_init(&scratch, memory_system());
  json_open(&json, (const char *)data, size);
  walk(&json, &scratch);
  assert(json_end(&json));
  buffer_free(&scratch);
  return 0;
}
