#include "json/source_position.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json.h"

SourcePosition source_position(const char *bytes, size_t size, size_t offset) {
  SourcePosition place = {.line = 1, .byte = 1};
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

SourcePosition source_position_next(SourceWalk *walk, const char *to) {
  if (to < walk->at) *walk = (SourceWalk){.start = walk->start, .at = walk->start, .place = {.line = 1, .byte = 1}};
  SourcePosition place = source_position(walk->at, (size_t)(to - walk->at), (size_t)(to - walk->at));
  if (place.line == 1) place.byte += walk->place.byte - 1;
  place.line += walk->place.line - 1;
  walk->at = to;
  walk->place = place;
  return place;
}

typedef struct Path {
  char *out;
  size_t room, size;
  bool full;
} Path;

/* Adds a step. Ends the path before a step that has no room or is not valid text, so that
   the path is always that of a value. */
static void add(Path *path, const char *before, Text text) {
  size_t extra = strlen(before);
  path->full = path->full || path->size + extra + text.size + 1 > path->room ||
               utf8_check(text.bytes, text.size) != text.size;
  if (path->full) return;
  memcpy(path->out + path->size, before, extra);
  memcpy(path->out + path->size + extra, text.bytes, text.size);
  path->size += extra + text.size;
  path->out[path->size] = '\0';
}

/* An array or object that is open at the cursor, and the cursor's key or index in it. */
typedef struct Step {
  bool object;
  Text key;
  uint64_t index;
} Step;

static void add_step(Path *path, const Step *step) {
  if (step->object) {
    add(path, path->size > 0 ? "." : "", step->key);
    return;
  }
  char text[32];
  snprintf(text, sizeof text, "[%llu]", (unsigned long long)step->index);
  add(path, "", text_of(text));
}

/* Moves to the next element or member of the innermost step that has one. False at the
   target, at an error, or at the end. */
static bool next_step(Json *json, const char *target, Step *steps, uint32_t *depth) {
  while (*depth > 0) {
    Step *step = &steps[*depth - 1];
    if (step->object ? json_next_member(json, &step->key) : json_next_element(json)) {
      step->index++;
      return true;
    }
    --*depth;
    if (json->status != STATUS_OK || json->at > target) return false;
  }
  return false;
}

/* Walks to the target; the brackets open there are the path. */
void source_path(const char *bytes, size_t size, size_t offset, bool tolerant, char *out, size_t room) {
  const char *target = bytes + offset;
  Step steps[JSON_DEPTH_MAX];
  uint32_t depth = 0;
  Path path = {.out = out, .room = room};
  Json json;
  JsonKind kind;
  JsonValue value;
  json_open(&json, bytes, size);
  json.tolerant = tolerant;
  do {
    if (!json_peek(&json, &kind) || json.at >= target) break;
    if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
      if (!json_value(&json, &value) || json.at > target) break;
    } else if (json_enter(&json)) {
      steps[depth++] = (Step){.object = kind == JSON_OBJECT, .index = UINT64_MAX};      /* 0 at the first element */
    }
  } while (json.status == STATUS_OK && next_step(&json, target, steps, &depth));
  out[0] = '\0';
  for (uint32_t i = 0; i < depth; i++) add_step(&path, &steps[i]);
}
