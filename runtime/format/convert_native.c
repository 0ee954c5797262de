/*
** Writes a message that is in the target's form already: as it is, or without the members
** that requests do not have, without reasoning that can no longer be sent, and with valid
** ids of calls. Bytes that none of this concerns stay.
*/
#include <assert.h>
#include <string.h>

#include "format/convert.h"

typedef struct NativeEdits {
  Convert *convert;
  const Piece *pieces;
  uint32_t count;
  uint32_t next;             /* the first piece whose id is not written yet */
  bool changed;              /* something differs from the message */
  Buffer *out;
  Status status;
} NativeEdits;

static void put(NativeEdits *edits, const char *bytes, size_t size) {
  if (edits->status == STATUS_OK) edits->status = buffer_add(edits->out, bytes, size);
}

/* ---- what has to change ---- */

/* True for members that a request of the dialect may have. */
static bool is_request_member(Dialect target, Text key) {
  static const char *const NEVER[] = {"timestamp", "metadata", "attachments"};
  for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++) {
    if (text_is(key, NEVER[i])) return false;
  }
  return !text_is(key, "id") || target == DIALECT_RESPONSES;
}

static bool is_unbound(const Convert *convert, const Piece *piece) {
  bool bound = piece->kind == PIECE_REASONING && piece->signature.size > 0;
  return bound && convert->index >= convert->options->unbound_from;
}

/* The id of a piece as it is written. Notes calls and results: ask once for each. */
static Text written_id(Convert *convert, const Piece *piece) {
  Text name;
  return piece->kind == PIECE_CALL ? convert_call(convert, piece) : convert_result(convert, piece, &name);
}

/* Writes bytes of the message with the ids that changed. */
static void put_with_ids(NativeEdits *edits, const char *bytes, size_t size) {
  const char *end = bytes + size;
  for (; edits->next < edits->count; edits->next++) {
    const Piece *piece = &edits->pieces[edits->next];
    bool linked = (piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT) && !piece->nested;
    if (!linked || (piece->id.size > 0 && piece->id.bytes < bytes)) continue;
    if (piece->id.size > 0 && piece->id.bytes >= end) break;
    Text id = written_id(edits->convert, piece);
    if (piece->id.size == 0 || text_equal(id, piece->id)) continue;
    edits->changed = true;
    put(edits, bytes, (size_t)(piece->id.bytes - bytes));
    if (edits->status == STATUS_OK) edits->status = text_escape(id, edits->out);
    bytes = piece->id.bytes + piece->id.size;
  }
  put(edits, bytes, (size_t)(end - bytes));
}

/* ---- parts and members ---- */

static bool drops_part(NativeEdits *edits, const JsonValue *part) {
  for (uint32_t i = 0; i < edits->count; i++) {
    const Piece *piece = &edits->pieces[i];
    if (piece->json.bytes != part->bytes || piece->nested) continue;
    if (!is_unbound(edits->convert, piece)) return false;
    convert_lose(edits->convert, LOSS_BOUND_REASONING, text_plain("", 0));
    edits->changed = true;
    return true;
  }
  return false;
}

/* Writes a list of parts without those that are dropped. Returns the number that is left. */
static uint32_t put_parts(NativeEdits *edits, const JsonValue *list) {
  Json json;
  JsonValue part;
  uint32_t left = 0;
  json_open_value(&json, list);
  json.tolerant = true;
  json_enter(&json);
  put(edits, "[", 1);
  while (json_next_element(&json) && json_value(&json, &part)) {
    if (drops_part(edits, &part)) continue;
    if (left++ > 0) put(edits, ",", 1);
    put_with_ids(edits, part.bytes, part.size);
  }
  put(edits, "]", 1);
  return left;
}

static bool drops_member(NativeEdits *edits, Text key) {
  const ConvertOptions *options = edits->convert->options;
  if (options->keep_extra || is_request_member(options->target, key)) return false;
  convert_lose(edits->convert, LOSS_MEMBER, key);
  edits->changed = true;
  return true;
}

/* Writes the members of a message. False if no part of its content is left. */
static bool put_members(NativeEdits *edits, Text raw) {
  Json json;
  Text key;
  JsonValue value;
  bool any = false, empty = false;
  json_open(&json, raw.bytes, raw.size);
  json.tolerant = true;
  json_enter(&json);
  put(edits, "{", 1);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (drops_member(edits, key)) continue;
    put(edits, ",\"", any ? 2 : 0);
    put(edits, "\"", any ? 0 : 1);
    put(edits, key.bytes, key.size);
    put(edits, "\":", 2);
    bool parts = value.kind == JSON_ARRAY && (text_is(key, "content") || text_is(key, "parts"));
    if (parts && value.size > 2) empty = put_parts(edits, &value) == 0;
    else put_with_ids(edits, value.bytes, value.size);
    any = true;
  }
  put(edits, "}", 1);
  return !empty;
}

/* ---- the message ---- */

/* True if a member or part of the message is left out, or may have an id that changes. */
static bool needs_edits(const Convert *convert, Text raw) {
  const Pieces *pieces = &convert->pieces;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT || is_unbound(convert, piece)) return true;
  }
  if (convert->options->keep_extra) return false;
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, raw.bytes, raw.size);
  json.tolerant = true;
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (!is_request_member(convert->options->target, key)) return true;
  }
  return false;
}

void convert_native(Convert *convert, Text raw) {
  const Pieces *pieces = &convert->pieces;
  if (pieces->role != ROLE_TOOL) convert_close(convert);
  NativeEdits edits = {.convert = convert, .pieces = pieces->list, .count = pieces->count, .out = &convert->scratch};
  bool left = true;
  if (needs_edits(convert, raw)) {
    buffer_reset(&convert->scratch);
    bool item = pieces->count > 0 && is_unbound(convert, &pieces->list[0]) && pieces->list[0].json.bytes == raw.bytes;
    if (item) convert_lose(convert, LOSS_BOUND_REASONING, text_plain("", 0));
    left = !item && put_members(&edits, raw);
    convert->changed = convert->changed || edits.changed || !left;
    convert_fail(convert, edits.status);
    if (edits.changed) raw = text_plain(convert->scratch.bytes, convert->scratch.size);
  }
  if (convert->status != STATUS_OK) return;
  if (!left) {
    convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
    return;
  }
  convert_begin(convert);
  json_out_raw(convert->out, raw);
}
