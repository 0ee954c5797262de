#include "document/salvage.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "document/detect.h"
#include "dialect/dialect.h"

/* ---- warnings ---- */

Status document_warn(DocumentWarnings *warnings, DocumentWarning warning) {
  assert(warning.place.line > 0 && warning.place.byte > 0);
  DocumentWarning *grown =
      memory_grow(&warnings->memory, warnings->list, &warnings->room, warnings->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  warnings->list = grown;
  grown[warnings->count++] = warning;
  return STATUS_OK;
}

/* ---- texts ---- */

/* A piece of a file: valid bytes, or invalid ones that U+FFFD replaces. */
typedef struct TextPiece {
  size_t size;
  Text instead;              /* the replacement; bytes NULL: the piece is valid */
} TextPiece;

/* The UTF-16 unit of the \u escape at `at`, or -1 if there is none. */
static int32_t unit_at(const char *at, const char *end) {
  return end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex_read(at + 2, end, 4) : -1;
}

/* The escape at `at`, whole, so that its second backslash never starts another one. */
static TextPiece escape_at(const char *at, const char *end) {
  int32_t unit = unit_at(at, end);
  if (unit < 0) return (TextPiece){.size = end - at >= 2 && (signed char)at[1] >= 0 ? 2 : 1};
  if (unit < 0xD800 || unit > 0xDFFF) return (TextPiece){.size = 6};
  int32_t low = unit < 0xDC00 ? unit_at(at + 6, end) : -1;
  if (low >= 0xDC00 && low <= 0xDFFF) return (TextPiece){.size = 12};
  return (TextPiece){.size = 6, .instead = text_of("\\ufffd")};
}

static TextPiece next_piece(const char *at, const char *end) {
  const char *from = at;
  while (at < end) {
    size_t size = 1;
    if (*at == '\\') {
      TextPiece escape = escape_at(at, end);
      if (escape.instead.bytes != NULL && at == from) return escape;
      if (escape.instead.bytes != NULL) break;
      size = escape.size;
    } else if ((signed char)*at < 0) {
      size = utf8_decode(at, end, NULL);
      if (size == 0 && at == from) return (TextPiece){.size = utf8_bad(at, end), .instead = text_of("\xEF\xBF\xBD")};
      if (size == 0) break;
    }
    at += size;
  }
  return (TextPiece){.size = (size_t)(at - from)};
}

/* ---- segments ---- */

typedef struct Salvager {
  Salvage *salvage;
  Reader *reader;
  DocumentWarnings *warnings;
  SourceWalk walk;
  const char *done;          /* bytes before it are in a segment or cut */
  const char *end;
  Status status;             /* STATUS_MEMORY ends the scan */
  const char *last_kept;          /* behind the last element kept; NULL: none yet */
  const char *skipped;       /* start of the elements skipped since; NULL: none */
  const char *skipped_end;
} Salvager;

static void note(Salvager *salvager, DocumentWarning warning, const char *at) {
  warning.place = source_position_next(&salvager->walk, at);
  Status status = document_warn(salvager->warnings, warning);
  if (status != STATUS_OK) salvager->status = status;
}

/* Adds the next `size` bytes of the file to the map of segments, which have `size_in_copy` bytes in the copy; joins
   it to the last one if neither was changed (`dirty`). Sets salvager->status for want of memory. */
static void add_segment(Salvager *salvager, size_t size, size_t size_in_copy, bool dirty) {
  Salvage *salvage = salvager->salvage;
  size_t from = (size_t)(salvager->done - salvage->bytes);
  assert(size > 0 && salvager->done + size <= salvager->end);
  SalvageSegment *last = salvage->count == 0 ? NULL : &salvage->segments[salvage->count - 1];
  if (last != NULL && !dirty && !last->dirty && last->from + last->size == from) {
    last->size += size;
  } else {
    SalvageSegment *grown =
        memory_grow(&salvage->memory, salvage->segments, &salvage->room, salvage->count, sizeof *grown);
    if (grown == NULL) {
      salvager->status = STATUS_MEMORY;
      return;
    }
    salvage->segments = grown;
    grown[salvage->count++] = (SalvageSegment){.from = from, .size = size, .at = salvage->size, .dirty = dirty};
  }
  salvage->size += size_in_copy;
  salvage->changed = salvage->changed || dirty;
}

/* Keeps all bytes up to `to`, with replacements; one warning for all of them. */
static void keep_until(Salvager *salvager, const char *to) {
  size_t size = 0;
  const char *bad = NULL;
  if (to <= salvager->done || salvager->status != STATUS_OK) return;
  for (const char *at = salvager->done; at < to;) {
    TextPiece piece = next_piece(at, to);
    if (piece.instead.bytes != NULL && bad == NULL) bad = at;
    size += piece.instead.bytes != NULL ? piece.instead.size : piece.size;
    at += piece.size;
  }
  if (bad != NULL) note(salvager, (DocumentWarning){.what = ODD_TEXT}, bad);
  add_segment(salvager, (size_t)(to - salvager->done), size, bad != NULL);
  salvager->done = to;
}

static void cut(Salvager *salvager, const char *from, const char *to) {
  keep_until(salvager, from);
  salvager->done = to;
  salvager->salvage->changed = true;
}

/* ---- one message ---- */

typedef enum Verdict { KEEP, SKIP, STOP } Verdict;

/* Finds the last occurrence of each known key; true if one occurs twice. */
static bool find_keys(const JsonValue *object, const char *last[READER_KEYS]) {
  Json json;
  Text key, name;
  JsonValue value;
  uint32_t number;
  bool again = false;
  json_open_value(&json, object);
  json.tolerant = true;
  if (object->kind != JSON_OBJECT) return false;
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (!reader_key(key, &number, &name)) continue;
    again = again || last[number] != NULL;
    last[number] = key.bytes;
  }
  return again;
}

/* Removes all but the last member of each known key: with `out`, adds the rest of the
   object there; else cuts those members, with a warning each. */
static void without_repeats(Salvager *salvager, const JsonValue *object, const char *const last[READER_KEYS],
                            Buffer *out) {
  Json json;
  Text key, name;
  JsonValue value;
  uint32_t number;
  const char *from = object->bytes, *repeat = NULL;
  json_open_value(&json, object);
  json.tolerant = true;
  json_enter(&json);
  while (json_next_member(&json, &key)) {
    const char *start = key.bytes - 1;
    if (repeat != NULL) {
      if (out == NULL) cut(salvager, repeat, start);
      from = start;
      repeat = NULL;
    }
    if (reader_key(key, &number, &name) && last[number] != key.bytes) {
      if (out == NULL) keep_until(salvager, start);
      if (out == NULL) note(salvager, (DocumentWarning){.what = ODD_KEY, .kind = name}, start);
      else if (buffer_add(out, from, (size_t)(start - from)) != STATUS_OK) salvager->status = STATUS_MEMORY;
      repeat = start;
    }
    if (!json_value(&json, &value)) break;
  }
  const char *end = object->bytes + object->size;
  if (out != NULL && buffer_add(out, from, (size_t)(end - from)) != STATUS_OK) salvager->status = STATUS_MEMORY;
}

/* Keeps an element: cuts the skipped ones before it, up to its start. */
static void keep(Salvager *salvager, const char *start) {
  if (salvager->skipped != NULL) cut(salvager, salvager->skipped, start);
  salvager->skipped = NULL;
  keep_until(salvager, start);
}

/* Cuts duplicate keys of a message, if it can be read without them. */
static bool drop_duplicates(Salvager *salvager, const JsonValue *object, const char *const last[READER_KEYS],
                            Json *why) {
  Buffer copy;
  Text raw;
  MessageShape shape;
  buffer_init(&copy, salvager->salvage->memory);
  without_repeats(salvager, object, last, &copy);
  json_open(why, copy.bytes, copy.size);
  why->tolerant = true;
  bool read = salvager->status == STATUS_OK && reader_message(salvager->reader, why, &raw, &shape);
  why->error = object->bytes;
  buffer_free(&copy);
  if (!read) return false;
  keep(salvager, object->bytes);
  without_repeats(salvager, object, last, NULL);
  return true;
}

/* Decides about a complete value that the reader refused. */
static Verdict judge(Salvager *salvager, const JsonValue *value, Json *why) {
  const char *last[READER_KEYS] = {NULL};
  bool duplicates = why->status != STATUS_MEMORY && find_keys(value, last);
  if (duplicates && drop_duplicates(salvager, value, last, why)) return KEEP;
  if (why->status == STATUS_MEMORY) salvager->status = STATUS_MEMORY;
  return why->status == STATUS_SHAPE ? SKIP : STOP;
}

static void note_skipped(Salvager *salvager, const Json *why) {
  note(salvager, (DocumentWarning){.what = ODD_RECORD, .status = why->status, .expected = why->expected}, why->error);
}

/* ---- lines ---- */

/* True if the rest of the line is white space; the cursor moves to its end then. */
static bool ends_line(Json *json) {
  Json blank = *json;
  bool newline = json_skip_blank(&blank);
  if (!newline && blank.at < blank.end) return false;
  const char *line_end = newline ? memchr(json->at, '\n', (size_t)(blank.at - json->at)) : NULL;
  json->at = line_end == NULL ? blank.at : line_end + 1;
  return true;
}

/* The error of a line that is not JSON; the cursor moves to its end. */
static Json fault_of_line(Json *json) {
  Json line = *json;
  JsonValue value;
  const char *newline = memchr(json->at, '\n', (size_t)(json->end - json->at));
  line.end = newline == NULL ? json->end : newline;
  if (json_value(&line, &value)) {
    json_skip_blank(&line);
    json_fail(&line, STATUS_SYNTAX, line.at, "a new line between messages");
  }
  json->at = newline == NULL ? json->end : newline + 1;
  return line;
}

/* Salvages one record, usually a line. False: stop here. */
static bool scan_line(Salvager *salvager, Json *json) {
  const char *start = json->at;
  Json why = *json;
  Text raw;
  MessageShape shape;
  bool read = reader_message(salvager->reader, &why, &raw, &shape);
  if (read && ends_line(&why)) {
    json->at = why.at;
    keep_until(salvager, json->at);
    return true;
  }
  if (!read && why.status == STATUS_LIMIT) return false;
  Json whole = *json;
  JsonValue value;
  Verdict verdict = SKIP;
  if (json_value(&whole, &value) && ends_line(&whole)) {
    verdict = judge(salvager, &value, &why);
    json->at = whole.at;
  } else {
    Json fault = fault_of_line(json);
    if (!read && fault.error == why.error) fault.expected = why.expected; /* the reader's is more precise */
    why = fault;
  }
  if (verdict == KEEP) keep_until(salvager, json->at);
  if (verdict != SKIP) return verdict == KEEP;
  note_skipped(salvager, &why);
  cut(salvager, start, json->at);
  return true;
}

static void scan_lines(Salvager *salvager, Json *json) {
  for (;;) {
    json_skip_blank(json);
    if (json->at == json->end || salvager->status != STATUS_OK || !scan_line(salvager, json)) return;
  }
}

/* ---- arrays and bodies ---- */

/* Salvages one element. False: stop here. */
static bool scan_element(Salvager *salvager, Json *json) {
  json_skip_blank(json);
  const char *start = json->at;
  Json why = *json;
  Text raw;
  JsonValue value;
  MessageShape shape;
  if (reader_message(salvager->reader, &why, &raw, &shape)) {
    *json = why;
    keep(salvager, start);
    keep_until(salvager, json->at);
    salvager->last_kept = json->at;
    return true;
  }
  bool whole = why.status != STATUS_LIMIT && json_value(json, &value);
  Verdict verdict = whole ? judge(salvager, &value, &why) : STOP;
  if (verdict == KEEP) {
    keep_until(salvager, json->at);
    salvager->last_kept = json->at;
  } else if (verdict == SKIP) {
    note_skipped(salvager, &why);
    if (salvager->skipped == NULL) salvager->skipped = start;
    salvager->skipped_end = json->at;
  } else {
    keep(salvager, start);
  }
  return verdict != STOP;
}

/* Salvages the array at the cursor. False if it is broken. */
static bool scan_array(Salvager *salvager, Json *json) {
  json_enter(json);
  while (json_next_element(json)) {
    if (salvager->status != STATUS_OK || !scan_element(salvager, json)) return false;
  }
  if (json->status != STATUS_OK) keep(salvager, json->at);
  else if (salvager->skipped != NULL)
    cut(salvager, salvager->last_kept != NULL ? salvager->last_kept : salvager->skipped, salvager->skipped_end);
  return json->status == STATUS_OK;
}

/* `member`: the key of the messages. */
static void scan_body(Salvager *salvager, Json *json, Text member) {
  Text key;
  JsonKind kind;
  JsonValue value;
  json_enter(json);
  while (json_next_member(json, &key) && json_peek(json, &kind)) {
    bool messages = kind == JSON_ARRAY && text_equal(key, member);
    if (!(messages ? scan_array(salvager, json) : json_value(json, &value)) || messages) return;
  }
}

/* Cuts byte order marks behind the first, as programs leave them that each add their own. */
static void cut_marks(Salvager *salvager, Json *json) {
  const char *first = json->at;
  for (const char *before = NULL; before != json->at;) {
    before = json->at;
    json_skip_mark(json);
  }
  if (json->at == first) return;
  note(salvager, (DocumentWarning){.what = ODD_MARK}, first);
  cut(salvager, first, json->at);
}

Status salvage_scan(Salvage *salvage, Reader *reader, const char *bytes, size_t size, DocumentWarnings *warnings) {
  Salvager salvager = {.salvage = salvage, .reader = reader, .warnings = warnings, .done = bytes, .end = bytes + size};
  Json json;
  Text evidence;
  *salvage = (Salvage){.memory = reader->memory, .bytes = bytes};
  salvager.walk = (SourceWalk){.start = bytes, .at = bytes, .place = {.line = 1, .byte = 1}};
  json_open(&json, bytes, size);
  json.tolerant = true;
  json_skip_mark(&json);
  cut_marks(&salvager, &json);
  FileFormat format = detect_format(json, &evidence);
  reader->all_items = format == FORMAT_BODY && (dialects_traits(dialects_of_member(evidence)) & TRAIT_ITEMS) != 0;
  switch (format) {
  case FORMAT_LINES: scan_lines(&salvager, &json); break;
  case FORMAT_ARRAY: scan_array(&salvager, &json); break;
  case FORMAT_BODY: scan_body(&salvager, &json, evidence); break;
  }
  keep_until(&salvager, salvager.end);
  assert(salvager.status != STATUS_OK || salvager.done == salvager.end);
  return salvager.status;
}

void salvage_free(Salvage *salvage) {
  memory_free(&salvage->memory, salvage->segments, salvage->room * sizeof *salvage->segments);
}

/* ---- the copy ---- */

void salvage_copy(const Salvage *salvage, char *out) {
  const char *start = out;
  (void)start;               /* for the assertion alone */
  for (uint32_t i = 0; i < salvage->count; i++) {
    const SalvageSegment *segment = &salvage->segments[i];
    const char *at = salvage->bytes + segment->from, *end = at + segment->size;
    while (at < end) {
      TextPiece piece = {.size = (size_t)(end - at)};
      if (segment->dirty) piece = next_piece(at, end);
      Text put = piece.instead.bytes != NULL ? piece.instead : text_plain(at, piece.size);
      memcpy(out, put.bytes, put.size);
      out += put.size;
      at += piece.size;
    }
  }
  assert((size_t)(out - start) == salvage->size);
}

size_t salvage_origin(const Salvage *salvage, size_t offset) {
  assert(salvage->count == 0 || offset <= salvage->size);
  uint32_t low = 0, high = salvage->count;
  if (salvage->count == 0) return offset;
  while (high - low > 1) {   /* segments[low].at <= offset */
    uint32_t middle = low + (high - low) / 2;
    if (salvage->segments[middle].at <= offset) low = middle;
    else high = middle;
  }
  const SalvageSegment *segment = &salvage->segments[low];
  size_t left = offset - segment->at;
  if (!segment->dirty) return segment->from + left;
  const char *at = salvage->bytes + segment->from, *end = at + segment->size;
  while (at < end) {
    TextPiece piece = next_piece(at, end);
    size_t size = piece.instead.bytes != NULL ? piece.instead.size : piece.size;
    if (left < size) return (size_t)(at - salvage->bytes) + (piece.instead.bytes != NULL ? 0 : left);
    left -= size;
    at += piece.size;
  }
  return segment->from + segment->size;
}
