#include "format/place.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"

Place place_of(const char *bytes, size_t size, size_t offset) {
  Place place = {.line = 1, .byte = 1};
  const char *at = bytes, *end = bytes + (offset < size ? offset : size);
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (newline == NULL) break;
    place.line++;
    at = newline + 1;
  }
  place.byte += (uint64_t)(end - at);
  return place;
}

typedef struct Path {
  char *out;
  size_t room, size;
} Path;

/* Whole or not at all, so that a cut path still names something. */
static void add(Path *path, const char *bytes, size_t size) {
  if (path->size + size + 1 > path->room) return;
  memcpy(path->out + path->size, bytes, size);
  path->size += size;
  path->out[path->size] = '\0';
}

static void add_key(Path *path, Text key) {
  if (path->size > 0) add(path, ".", 1);
  add(path, key.bytes, key.size);
}

static void add_index(Path *path, unsigned long index) {
  char text[32];
  int size = snprintf(text, sizeof text, "[%lu]", index);
  add(path, text, (size_t)size);
}

/* Goes down towards `target`: passes over every value that ends before it. */
void place_path(const char *bytes, size_t size, size_t offset, char *out, size_t room) {
  const char *target = bytes + offset;
  Path path = {.out = out, .room = room};
  Json json;
  JsonKind kind;
  out[0] = '\0';
  json_open(&json, bytes, size);
  while (json_peek(&json, &kind) && (kind == JSON_ARRAY || kind == JSON_OBJECT) && json.at < target) {
    Text key;
    unsigned long index = 0;
    if (!json_enter(&json)) return;
    for (;; index++) {
      JsonValue value;
      if (kind == JSON_ARRAY ? !json_next_element(&json) : !json_next_member(&json, &key)) return;
      Json before = json;
      if (json_value(&json, &value) && json.at <= target) continue;
      json = before;
      break;
    }
    if (kind == JSON_ARRAY) add_index(&path, index);
    else add_key(&path, key);
  }
}
