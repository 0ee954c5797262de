/*
** Reads the "normalizer" and the "pre_tokenizer" of a tokenizer.json.
*/
#include "tokens/vocab/tokenizer_json_parts.h"

#include <string.h>

/* ---- patterns that are known by their text ---- */

#define CL100K_OLD \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" \
  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CL100K_NEW \
  "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|" \
  "\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" \
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static const struct {
  const char *regex;
  PretokenPattern pattern;
} KNOWN[] = {
  {CL100K_OLD, PRETOKEN_CL100K}, {CL100K_NEW, PRETOKEN_CL100K}, {O200K, PRETOKEN_O200K}, {GPT2, PRETOKEN_GPT2}};

bool tokenizer_json_known(const char *regex, PretokenPattern *pattern) {
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
    if (strcmp(regex, KNOWN[i].regex) != 0) continue;
    *pattern = KNOWN[i].pattern;
    return true;
  }
  return false;
}

/* ---- stages ---- */

static bool add_stage(TokenizerReading *r, const char *where, const char *regex, size_t size) {
  Buffer *out = &r->read->regex;
  if (size == 0 || memchr(regex, '\0', size) != NULL) return reading_refuse(r, where, "an expression", NULL);
  Status status = buffer_add(out, regex, size);
  if (status == STATUS_OK) status = buffer_add_byte(out, '\0');
  return status == STATUS_OK || reading_fail(r, status);
}

static bool is_behavior(const JsonFields *f, const char *name) { return json_field_is(f, "behavior", name); }

/* Adds a Split, whose pattern must be {"Regex": ...}. */
static bool add_split(TokenizerReading *r, const JsonFields *f) {
  JsonFields pattern;
  const JsonValue *value = json_field_of(f, "pattern", JSON_OBJECT);
  if (value == NULL) return reading_refuse(r, f->start, "a pattern", NULL);
  if (!reading_fields(r, value, "a pattern", &pattern)) return false;
  const JsonValue *regex = json_field_of(&pattern, "Regex", JSON_STRING);
  if (regex == NULL) return reading_refuse(r, value->bytes, "a pattern that is a Regex", "String");
  Buffer *scratch = &r->scratch;
  buffer_reset(scratch);
  Status status = text_decode(json_text(regex), scratch);
  if (status == STATUS_OK) status = buffer_add_byte(scratch, '\0');
  if (status != STATUS_OK) return reading_fail(r, status);
  bool inverted = json_field_of(f, "invert", JSON_TRUE) != NULL;
  PretokenPattern known_pattern;
  /* Known patterns match a whole text, so that removing the text between matches removes nothing. */
  bool all = tokenizer_json_known(scratch->bytes, &known_pattern);
  if (!(is_behavior(f, "Isolated") && (!inverted || all)) && !(is_behavior(f, "Removed") && inverted && all)) {
    if (is_behavior(f, "Isolated")) return reading_refuse(r, f->start, "no invert", "Split");
    return reading_refuse_field(r, f, "the behavior Isolated", "behavior");
  }
  return add_stage(r, value->bytes, scratch->bytes, scratch->size - 1);
}

static bool add_digits(TokenizerReading *r, const JsonFields *f) {
  bool single = json_field_of(f, "individual_digits", JSON_TRUE) != NULL;
  return single ? add_stage(r, f->start, "\\p{N}", 5) : add_stage(r, f->start, "\\p{N}+", 6);
}

static bool add_byte_level(TokenizerReading *r, const JsonFields *f) {
  bool prefixed = json_field_of(f, "add_prefix_space", JSON_TRUE) != NULL;
  if (prefixed) return reading_refuse(r, f->start, "no add_prefix_space", NULL);
  r->byte_level = true;
  if (json_field_of(f, "use_regex", JSON_FALSE) != NULL) return true;
  return add_stage(r, f->start, GPT2, sizeof GPT2 - 1);
}

static bool add_cutter(TokenizerReading *r, const JsonValue *value, bool nested) {
  JsonFields f;
  if (!reading_fields(r, value, "a pre-tokenizer", &f)) return false;
  if (json_field_is(&f, "type", "Split")) return add_split(r, &f);
  if (json_field_is(&f, "type", "Digits")) return add_digits(r, &f);
  if (json_field_is(&f, "type", "ByteLevel")) return add_byte_level(r, &f);
  const JsonValue *list = json_field_of(&f, "pretokenizers", JSON_ARRAY);
  if (nested || !json_field_is(&f, "type", "Sequence") || list == NULL) {
    return reading_refuse_field(r, &f, "a pre-tokenizer of the type Split, Digits, ByteLevel or Sequence", "type");
  }
  Json json;
  JsonValue part;
  json_open_value(&json, list);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &part)) {
    if (!add_cutter(r, &part, true)) return false;
  }
  return true;
}

/* Uses the fast code for a single stage with a known pattern. */
static bool settle_pattern(TokenizerReading *r, const char *where) {
  Buffer *regex = &r->read->regex;
  if (!r->byte_level) return reading_refuse(r, where, "a pre-tokenizer of the type ByteLevel", NULL);
  if (regex->size == 0) return reading_refuse(r, where, "a pre-tokenizer that cuts", NULL);
  Status status = buffer_add_byte(regex, '\0');
  if (status != STATUS_OK) return reading_fail(r, status);
  bool single = strlen(regex->bytes) + 2 == regex->size;
  if (!single || !tokenizer_json_known(regex->bytes, &r->read->pattern)) r->read->pattern = PRETOKEN_REGEX;
  return true;
}

/* ---- models of characters ---- */

/* True for the pattern {"String": string}. */
static bool is_string_pattern(const JsonValue *pattern, const char *string) {
  JsonValue value;
  if (pattern == NULL) return false;
  return json_find(text_plain(pattern->bytes, pattern->size), "String", JSON_STRING, &value) &&
         text_is(json_text(&value), string);
}

/* Models that merge whole texts: nothing cuts, or a Split at spaces, of which a text has none after the normalizer. */
static bool check_no_cut(TokenizerReading *r, const JsonValue *value) {
  JsonFields f;
  r->read->pattern = PRETOKEN_BORDERS;
  if (value == NULL || value->kind == JSON_NULL) return true;
  if (!reading_fields(r, value, "null or a pre-tokenizer", &f)) return false;
  bool never = (r->read->forms & TEXT_SPACES) != 0 && json_field_is(&f, "type", "Split") &&
               is_string_pattern(json_field_of(&f, "pattern", JSON_OBJECT), " ");
  return never || reading_refuse_field(r, &f, "no pre-tokenizer, or a Split at the spaces that were replaced", "type");
}

bool tokenizer_json_cuts(TokenizerReading *r, const JsonValue *value) {
  if (r->characters) return check_no_cut(r, value);
  return add_cutter(r, value, false) && settle_pattern(r, value->bytes);
}

/* ---- normalizers ---- */

/* Adds the form that a normalizer makes; false, without an error, for others. */
static bool add_form(TokenizerReading *r, const JsonFields *f) {
  unsigned *forms = &r->read->forms;
  if (json_field_is(f, "type", "NFC")) {
    *forms |= r->composed ? 0 : TEXT_NFC;
    return true;
  }
  bool replaces = r->characters && json_field_is(f, "type", "Replace") && json_field_is(f, "content", TEXT_SPACE) &&
                  is_string_pattern(json_field_of(f, "pattern", JSON_OBJECT), " ");
  bool prepends = r->characters && json_field_is(f, "type", "Prepend") && json_field_is(f, "prepend", TEXT_SPACE);
  *forms |= replaces ? TEXT_SPACES : prepends ? TEXT_PREFIX : 0;
  return replaces || prepends;
}

static bool add_forms(TokenizerReading *r, const JsonValue *list) {
  Json json;
  JsonValue part;
  json_open_value(&json, list);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &part)) {
    JsonFields f;
    if (!reading_fields(r, &part, "a normalizer", &f)) return false;
    if (!add_form(r, &f)) return reading_refuse_field(r, &f, "no normalizer", "type");
  }
  return true;
}

bool tokenizer_json_normalizer(TokenizerReading *r, const JsonValue *value) {
  JsonFields f;
  if (value->kind == JSON_NULL) return true;
  if (!reading_fields(r, value, "null or a normalizer", &f)) return false;
  const JsonValue *list = json_field_of(&f, "normalizers", JSON_ARRAY);
  if (json_field_is(&f, "type", "Sequence") && list != NULL) {
    if (!add_forms(r, list)) return false;
  } else if (!add_form(r, &f)) {
    return reading_refuse_field(r, &f, "no normalizer", "type");
  }
  bool unclear = (r->read->forms & (TEXT_PREFIX | TEXT_SPACES)) == TEXT_PREFIX;
  return !unclear || reading_refuse(r, f.start, "a Replace of spaces beside it", "Prepend");
}
