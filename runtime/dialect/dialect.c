#include "dialect/dialect.h"

#include <assert.h>
#include <string.h>

#include "dialect/read/message_form.h"
#include "json/json_fields.h"

/* By Dialect. */
static const DialectForm *const FORMS[DIALECT_COUNT] = {
  &dialect_openai,
  &dialect_responses,
  &dialect_anthropic,
  &dialect_gemini,
};

const DialectForm *dialect_form(Dialect dialect) {
  assert((unsigned)dialect < DIALECT_COUNT);
  return FORMS[dialect];
}

const char *dialect_name(Dialect dialect) { return dialect_form(dialect)->name; }

bool dialect_parse(Text name, Dialect *dialect) {
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (!text_equal(name, text_of(FORMS[i]->name))) continue;
    *dialect = (Dialect)i;
    return true;
  }
  return false;
}

unsigned dialects_of_member(Text key) {
  unsigned dialects = 0;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (text_equal(key, text_of(FORMS[i]->messages))) dialects |= 1u << i;
  }
  return dialects;
}

unsigned dialects_traits(unsigned dialects) {
  unsigned traits = 0;
  assert(dialects <= DIALECTS_ALL);
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (dialects >> i & 1) traits |= FORMS[i]->traits;
  }
  return traits;
}

/* ---- forms of messages ---- */

static bool ends_in(Text type, const char *ending) {
  Text end = text_of(ending);
  if (type.escaped || type.size <= end.size) return false;
  return text_equal(text_plain(type.bytes + type.size - end.size, end.size), end);
}

bool dialect_has_part(Dialect dialect, Text type) {
  const DialectForm *form = dialect_form(dialect);
  for (size_t i = 0; form->part_types[i] != NULL; i++) {
    if (text_equal(type, text_of(form->part_types[i]))) return true;
  }
  for (size_t i = 0; form->type_endings[i] != NULL; i++) {
    if (ends_in(type, form->type_endings[i])) return true;
  }
  return false;
}

static bool is_unknown(Text type) {
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (dialect_has_part((Dialect)i, type)) return false;
  }
  return true;
}

bool parts_fit(Dialect dialect, const Message *message) {
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.wrapped) return false;
    if (part.nested) continue;
    Text type = part_type(message, part);
    if (!dialect_has_part(dialect, type) && (part.kind != PART_OTHER || !is_unknown(type))) return false;
  }
  return true;
}

bool message_is_wrapped(const Message *message) {
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    if (message_part(message, i).wrapped) return true;
  }
  return false;
}

unsigned message_dialects(const Message *message) {
  unsigned dialects = 0;
  if (message_is_window(message)) return DIALECTS_ALL;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (FORMS[i]->fits(message)) dialects |= 1u << i;
  }
  return dialects;
}

static unsigned first_of(unsigned dialects) {
  assert(dialects != 0);
  return (unsigned)__builtin_ctz(dialects);
}

/* True for a system message that Anthropic's newest models take between the others, too: it tells no dialect. */
static bool may_be_late_system(const Message *message) {
  return !message_is_window(message) && message_role(message) == ROLE_SYSTEM &&
         message_form(message) == FORM_CONTENT && parts_fit(DIALECT_ANTHROPIC, message);
}

/* Platforms put their name and a dot before the model's. Names with a slash are those of routers, which speak any
   form. */
static bool begins_model(Text name, Text beginning) {
  for (size_t at = 0; at + beginning.size <= name.size; at++) {
    bool begins = at == 0 || name.bytes[at - 1] == '.';
    if (begins && memcmp(name.bytes + at, beginning.bytes, beginning.size) == 0) return true;
    if (name.bytes[at] == '/') return false;
  }
  return false;
}

unsigned dialects_of_model(Text name) {
  unsigned dialects = 0;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (FORMS[i]->models != NULL && begins_model(name, text_of(FORMS[i]->models))) dialects |= 1u << i;
  }
  return dialects;
}

/* What messages tell. */
typedef struct Evidence {
  bool begun;                /* a message came that is no system message */
  unsigned only;             /* the dialects that alone have the form of some message */
  unsigned common;           /* those that have the form of all messages, as far as there are any */
} Evidence;

/* True if a system message has settings that no other dialect's has. */
static bool has_settings(const Message *message) {
  JsonValue value;
  return json_find(message_raw(message), "output_config", JSON_OBJECT, &value) ||
         json_find(message_raw(message), "clear_at", JSON_STRING, &value);
}

static void take_evidence(Evidence *evidence, const Message *message) {
  unsigned dialects = message_dialects(message);
  bool may_be_late = may_be_late_system(message);
  bool is_only = dialects != 0 && (dialects & (dialects - 1)) == 0 && !may_be_late;
  if (may_be_late && has_settings(message)) evidence->only |= 1u << DIALECT_ANTHROPIC;
  if (may_be_late && evidence->begun) dialects |= 1u << DIALECT_ANTHROPIC;
  evidence->begun = evidence->begun || message_role(message) != ROLE_SYSTEM;
  if (is_only) evidence->only |= dialects;
  if ((evidence->common & dialects) != 0) evidence->common &= dialects;
}

static bool was_read(const DialectHints *hints, MessageId id) {
  return hints->first == 0 || (id >= hints->first && id - hints->first < hints->count);
}

/* The dialects of `told` that the members around the messages tell, or else the model; all, where they tell none. */
static unsigned narrowed(unsigned told, const DialectHints *hints) {
  if ((told & hints->likely) != 0) return told & hints->likely;
  return (told & hints->model) != 0 ? told & hints->model : told;
}

Dialect dialect_detect(const Store *store, const Sequence *list) {
  return dialect_detect_within(store, list, &(DialectHints){.possible = DIALECTS_ALL});
}

Dialect dialect_detect_within(const Store *store, const Sequence *list, const DialectHints *hints) {
  unsigned possible = hints->possible;
  assert(possible != 0 && (hints->likely & ~possible) == 0 && (hints->model & ~possible) == 0);
  Evidence read = {.common = DIALECTS_ALL}, added = {.common = DIALECTS_ALL};
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      take_evidence(was_read(hints, walk.ids[i]) ? &read : &added, store_message(store, walk.ids[i]));
    }
  }
  unsigned common = (read.common & added.common) != 0 ? read.common & added.common : read.common;
  unsigned order[] = {narrowed(read.only & possible, hints), hints->likely, read.common & hints->model,
                      narrowed(added.only & read.common & possible, hints), common & possible, possible};
  for (size_t i = 0;; i++) {
    if (order[i] != 0) return (Dialect)first_of(order[i]);
  }
}
