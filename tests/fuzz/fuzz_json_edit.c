/*
** Edits of members: the input is an object; its first bytes also choose the
** edits. The result is an object with the edited members as asked and all
** others, key and value, byte for byte as they were and in their order.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "json/json_edit.h"
#include "json/json.h"

#define EDITS 3

static const char *const KEYS[] = {"role", "content", "a", "", "metadata", "q\"\\\n", "caf\xc3\xa9", "id"};
static const char *const VALUES[] = {"", "null", "\"x\\n\"", "{\"a\":[1, 2]}", "[]", "", "-1e5", "\"\""};

static const MemberEdit *edit_of(const MemberEdit *edits, Text key) {
  for (int i = 0; i < EDITS; i++) {
    if (text_equal(edits[i].key, key)) return &edits[i];
  }
  return NULL;
}

static bool same(const char *a, size_t a_size, const char *b, size_t b_size) {
  return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* Steps through the old object and the new one side by side. *found: bit per edit whose key the old one has. */
static void check_old_members(Json *old, Json *new, const MemberEdit *edits, unsigned *found) {
  Text key, new_key;
  JsonValue value, new_value;
  while (json_next_member(old, &key) && json_value(old, &value)) {
    const MemberEdit *edit = edit_of(edits, key);
    if (edit != NULL) *found |= 1u << (edit - edits);
    if (edit != NULL && edit->value.size == 0) continue;
    assert(json_next_member(new, &new_key) && json_value(new, &new_value));
    assert(same(key.bytes, key.size, new_key.bytes, new_key.size));
    if (edit == NULL) assert(same(value.bytes, value.size, new_value.bytes, new_value.size));
    else assert(same(edit->value.bytes, edit->value.size, new_value.bytes, new_value.size));
  }
}

static void check_new_members(Json *new, const MemberEdit *edits, unsigned found) {
  Text key;
  JsonValue value;
  for (int i = 0; i < EDITS; i++) {
    if (edits[i].value.size == 0 || (found >> i & 1u)) continue;
    assert(json_next_member(new, &key) && json_value(new, &value));
    assert(text_equal(key, edits[i].key));
    assert(same(edits[i].value.bytes, edits[i].value.size, value.bytes, value.size));
  }
  assert(!json_next_member(new, &key) && json_end(new));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Json json;
  JsonValue value;
  MemberEdit edits[EDITS];
  if (size < EDITS) return 0;
  for (unsigned i = 0; i < EDITS; i++) {   /* three keys that differ */
    edits[i].key = text_of(KEYS[(data[0] + 3 * i) % 8]);
    edits[i].value = text_of(VALUES[data[i] / 8 % 8]);
  }
  json_open(&json, (const char *)data + EDITS, size - EDITS);
  if (!json_value(&json, &value) || value.kind != JSON_OBJECT || !json_end(&json)) return 0;
  Buffer out;
  buffer_init(&out, memory_system());
  assert(json_edit_members(text_plain(value.bytes, value.size), edits, EDITS, &out) == STATUS_OK);
  Json old, new;
  unsigned found = 0;
  json_open(&old, value.bytes, value.size);
  json_open(&new, out.bytes, out.size);
  assert(json_enter(&old) && json_enter(&new));
  check_old_members(&old, &new, edits, &found);
  check_new_members(&new, edits, found);
  buffer_free(&out);
  return 0;
}
