/*
** Opens a state: its members, version and digest. The digest covers every byte before its own
** text, and only white space may stand behind it: so no byte of a proven state can differ from
** what was written and mean something else.
*/
#include <assert.h>

#include "codec/xxh64.h"
#include "state/state_parts.h"

bool state_begins(const char *bytes, size_t size) {
  Json json;
  Text key;
  JsonKind kind;
  if (size == 0) return false;
  json_open(&json, bytes, size);
  json_skip_mark(&json);
  return json_enter(&json) && json_next_member(&json, &key) && text_equal(key, text_of(STATE_NAMES[STATE_EBB])) &&
         json_peek(&json, &kind) && kind == JSON_NUMBER;
}

static bool find_fields(StateLoader *l, State *state, size_t size) {
  Json json;
  JsonFields fields;
  json_open(&json, state->bytes, size);
  if (!state_enter(l, &json, JSON_OBJECT, "a saved conversation")) return false;
  json.depth_max += JSON_ENVELOPE;
  if (!json_fields_read(&json, &fields) || !json_end(&json)) return state_fail_json(l, &json, "the end");
  const JsonValue *memory = json_field(&fields, "memory");      /* of a chat that an older version saved */
  if (memory != NULL) {
    return state_fail(l, STATUS_SHAPE, memory->bytes, "what policies remember with each batch, not beside them");
  }
  return json_fields_sort(&json, &fields, STATE_NAMES, STATE_FIELDS, STATE_WINDOWS,
                          "the fields of a saved conversation, all of them, once each", state->fields) ||
         state_fail_json(l, &json, "the fields");
}

static bool check_version(StateLoader *l, int64_t *version) {
  const JsonValue *field = &l->fields[STATE_EBB];
  bool valid = json_integer(field, version) && *version >= 1;
  if (!valid) return state_fail(l, STATUS_SHAPE, field->bytes, "the version of the form");
  if (*version > STATE_VERSION) return state_fail(l, STATUS_RANGE, field->bytes, "version 1 or 2");
  field = &l->fields[STATE_OPTIONS];
  return field->kind == JSON_OBJECT || state_fail(l, STATUS_SHAPE, field->bytes, "an object");
}

static bool is_last(const JsonValue fields[STATE_FIELDS], StateField which) {
  for (int i = 0; i < STATE_FIELDS; i++) {
    if (i != (int)which && fields[i].bytes > fields[which].bytes) return false;
  }
  return true;
}

/* A state of version 1 needs no digest; one that stands there all the same must be right. */
static bool check_digest(StateLoader *l, int64_t version) {
  char text[STATE_DIGEST_SIZE];
  const JsonValue *digest = &l->fields[STATE_DIGEST];
  if (digest->bytes == NULL) {
    return version == 1 || state_fail(l, STATUS_SHAPE, l->bytes, "a digest, as every saved chat of version 2 has");
  }
  if (digest->kind != JSON_STRING || !is_last(l->fields, STATE_DIGEST)) {
    return state_fail(l, STATUS_SHAPE, digest->bytes, "the digest, a string, as the last member");
  }
  Text expected = state_digest_text(xxh64(l->bytes, (size_t)(digest->bytes - l->bytes)), text);
  return text_equal(json_text(digest), expected) ||
         state_fail(l, STATUS_SHAPE, digest->bytes, "the digest of the bytes before it, which are damaged");
}

Status state_open(State *state, const char *bytes, size_t size, StateTrust trust, StateError *error) {
  int64_t version = 0;
  *state = (State){.bytes = bytes};
  StateLoader l = {.fields = state->fields, .bytes = bytes, .error = error};
  *error = (StateError){0};
  bool good = find_fields(&l, state, size) && check_version(&l, &version) &&
              (trust == STATE_SALVAGED || check_digest(&l, version));
  assert(good == (error->status == STATUS_OK));
  (void)good;
  return error->status;
}

Text state_options(const State *state) {
  const JsonValue *options = &state->fields[STATE_OPTIONS];
  return text_plain(options->bytes, options->size);
}
