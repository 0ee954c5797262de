/*
** Writes a message that is in the target's form already: as it is, or without the members
** that requests do not have, without reasoning that can no longer be sent, and with valid
** ids of calls (unless the caller keeps them), and signed ones where the model wants them. Bytes that none of this
** concerns stay.
*/
#include <assert.h>
#include <string.h>

#include "dialect/convert/convert.h"
#include "dialect/dialect_members.h"

typedef struct NativeEdits {
  Convert *convert;
  const Piece *pieces;
  uint32_t count;
  uint32_t next;             /* the first piece whose id is not written yet */
  uint32_t part;             /* the piece of the part that was looked for last */
  Text list;                 /* the member whose parts are written, */
  uint32_t element;          /* and which of them */
  bool has_reasoning;        /* some piece is reasoning, the one kind that is refused */
  const char *unsigned_call; /* where a call begins that needs a signature; NULL: nowhere */
  bool changed;              /* something differs from the message */
  Buffer *out;
  Status status;
} NativeEdits;

static void put(NativeEdits *edits, const char *bytes, size_t size) {
  if (edits->status == STATUS_OK) edits->status = buffer_add(edits->out, bytes, size);
}

/* ---- what has to change ---- */

/* True for members that a request of the dialect, or of the server's profile, may have. */
static bool is_request_member(const ConvertOptions *options, MemberLevel level, Text type, Text key) {
  if (options->keep_extra || dialect_member(options->target, level, type, key)) return true;
  for (uint32_t i = 0; i < options->member_count; i++) {
    if (text_equal(key, options->members[i])) return true;
  }
  return false;
}

/* True for reasoning that the target would refuse: bound to what has changed, or not signed. In its own dialect a
   conversation keeps unsigned reasoning where the server takes it, and where the text need not be a request: a repair
   drops it there. */
static bool is_refused(const Convert *convert, const Piece *piece, LossKind *kind) {
  bool is_signed = piece->signature.size > 0;
  *kind = is_signed ? LOSS_BOUND_REASONING : LOSS_REASONING;
  if (piece->kind != PIECE_REASONING) return false;
  const ConvertOptions *options = convert->options;
  bool may_stay = options->keep_extra || options->keep_ids || options->unsigned_thinking;
  if (is_signed) return convert_is_unbound(convert);
  return convert->writer->signs_reasoning && (options->is_foreign || !may_stay);
}

/* The id of a piece as it is written. Notes calls and results: ask once for each. A result whose id is its name
   answers a function_call, which has no id that could change. */
static Text written_id(Convert *convert, const Piece *piece) {
  CallNames call;
  bool is_name = piece->kind == PIECE_RESULT && piece->id.bytes == piece->name.bytes;
  if ((convert->options->keep_ids || is_name) && piece->id.size > 0) {
    convert_note(convert, piece);
    return piece->id;
  }
  return piece->kind == PIECE_CALL ? convert_call(convert, piece) : convert_result(convert, piece, &call);
}

/* Writes bytes of the message with the ids that changed. */
static void put_with_ids(NativeEdits *edits, const char *bytes, size_t size) {
  const char *end = bytes + size;
  assert(edits->next <= edits->count);
  for (; edits->next < edits->count; edits->next++) {
    const Piece *piece = &edits->pieces[edits->next];
    bool linked = (piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT) && !piece->nested;
    if (!linked || (piece->id.size > 0 && piece->id.bytes < bytes)) continue;
    if (piece->id.size > 0 && piece->id.bytes >= end) break;
    Text id = written_id(edits->convert, piece);
    if (piece->id.size == 0 || text_equal(id, piece->id)) continue;
    assert(piece->id.bytes >= bytes && piece->id.bytes + piece->id.size <= end);
    edits->changed = true;
    put(edits, bytes, (size_t)(piece->id.bytes - bytes));
    if (edits->status == STATUS_OK) edits->status = text_escape(id, edits->out);
    bytes = piece->id.bytes + piece->id.size;
  }
  put(edits, bytes, (size_t)(end - bytes));
}

/* ---- parts and members ---- */

/* The first piece of a part; NULL: it has none. Parts come in the order of their pieces, so the search begins
   where the last one ended. */
static const Piece *piece_of(NativeEdits *edits, const JsonValue *part) {
  for (uint32_t n = 0, i = edits->part; n < edits->count; n++, i++) {
    if (i == edits->count) i = 0;
    const Piece *piece = &edits->pieces[i];
    if (piece->json.bytes != part->bytes || piece->nested) continue;
    edits->part = i;
    return piece;
  }
  return NULL;
}

static bool drops_part(NativeEdits *edits, const JsonValue *part) {
  const Piece *piece = edits->has_reasoning ? piece_of(edits, part) : NULL;
  LossKind kind;
  if (piece == NULL || !is_refused(edits->convert, piece, &kind)) return false;
  convert_lose(edits->convert, kind, text_plain("", 0));
  edits->changed = true;
  return true;
}

static bool drops_member(NativeEdits *edits, MemberLevel level, Text type, Text key) {
  Convert *convert = edits->convert;
  if (is_request_member(convert->options, level, type, key)) return false;
  if (level == MEMBER_OF_PART) convert_lose_at(convert, edits->list, edits->element, key);
  else convert_lose(convert, LOSS_MEMBER, key);
  edits->changed = true;
  return true;
}

static void put_key(NativeEdits *edits, Text key, bool first) {
  put(edits, first ? "\"" : ",\"", first ? 1 : 2);
  put(edits, key.bytes, key.size);
  put(edits, "\":", 2);
}

static void open_object(Json *json, Text object) {
  json_open_valid(json, object.bytes, object.size);
  json_enter(json);
}

static void put_part(NativeEdits *edits, const JsonValue *part) {
  Json json;
  Text key, object = text_plain(part->bytes, part->size);
  JsonValue value;
  bool first = true;
  if (part->kind != JSON_OBJECT) {
    put_with_ids(edits, part->bytes, part->size);
    return;
  }
  Text type = dialect_type(MEMBER_OF_PART, object);
  open_object(&json, object);
  put(edits, "{", 1);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (drops_member(edits, MEMBER_OF_PART, type, key)) continue;
    put_key(edits, key, first);
    put_with_ids(edits, value.bytes, value.size);
    first = false;
  }
  if (part->bytes == edits->unsigned_call) {
    const char *member = edits->convert->writer->unsigned_call;
    put(edits, ",", 1);
    put(edits, member, strlen(member));
    edits->changed = true;
  }
  put(edits, "}", 1);
}

/* Writes a list of parts without those that are dropped. Returns the number that is left. */
static uint32_t put_parts(NativeEdits *edits, const JsonValue *list) {
  Json json;
  JsonValue part;
  uint32_t left = 0;
  open_object(&json, text_plain(list->bytes, list->size));
  put(edits, "[", 1);
  for (edits->element = 0; json_next_element(&json) && json_value(&json, &part); edits->element++) {
    if (drops_part(edits, &part)) continue;
    if (left++ > 0) put(edits, ",", 1);
    put_part(edits, &part);
  }
  put(edits, "]", 1);
  return left;
}

static bool is_part_list(Text key, const JsonValue *value) {
  return value->kind == JSON_ARRAY && value->size > 2 && (text_is(key, "content") || text_is(key, "parts"));
}

/* Writes the members of a message. False if no part of its content is left. */
static bool put_members(NativeEdits *edits, Text raw) {
  assert(raw.size > 1 && raw.bytes[0] == '{');
  Json json;
  Text key, type = dialect_type(MEMBER_OF_MESSAGE, raw);
  JsonValue value;
  bool first = true, empty = false;
  open_object(&json, raw);
  put(edits, "{", 1);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (drops_member(edits, MEMBER_OF_MESSAGE, type, key)) continue;
    put_key(edits, key, first);
    edits->list = key;
    if (is_part_list(key, &value)) empty = put_parts(edits, &value) == 0;
    else put_with_ids(edits, value.bytes, value.size);
    first = false;
  }
  put(edits, "}", 1);
  return !empty;
}

/* ---- the message ---- */

static bool has_extra(const ConvertOptions *options, MemberLevel level, Text object) {
  Json json;
  Text key, type = dialect_type(level, object);
  JsonValue value;
  open_object(&json, object);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (!is_request_member(options, level, type, key)) return true;
  }
  return false;
}

/* True if a member or part of the message is left out, or may have an id that changes. */
static bool needs_edits(const Convert *convert, Text raw) {
  const Pieces *pieces = &convert->pieces;
  LossKind kind;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT || is_refused(convert, piece, &kind)) return true;
    bool part = piece->json.size > 0 && piece->json.bytes[0] == '{' && piece->json.bytes != raw.bytes;
    if (part && !piece->nested && has_extra(convert->options, MEMBER_OF_PART, piece->json)) return true;
  }
  return !convert->options->keep_extra && has_extra(convert->options, MEMBER_OF_MESSAGE, raw);
}

/* Where the first call of the message begins, if it has no signature and the model wants one; else NULL. Calls of a
   step that stand in several messages have one signature, that of the first. */
static const char *find_unsigned(const Convert *convert) {
  const Pieces *pieces = &convert->pieces;
  bool goes_on = convert->step_calls && pieces->role == ROLE_ASSISTANT;
  bool signs = convert->options->signs_calls && convert->writer->unsigned_call != NULL && !goes_on;
  for (uint32_t i = 0; signs && i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_CALL) return piece->signature.size == 0 ? piece->json.bytes : NULL;
  }
  return NULL;
}

static bool has_kind(const Pieces *pieces, PieceKind kind) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind == kind) return true;
  }
  return false;
}

void convert_native(Convert *convert, Text raw) {
  const Pieces *pieces = &convert->pieces;
  if (pieces->role != ROLE_TOOL || convert->open != ROLE_TOOL) convert_close(convert);
  NativeEdits edits = {.convert = convert, .pieces = pieces->list, .count = pieces->count, .out = &convert->scratch,
                       .has_reasoning = has_kind(pieces, PIECE_REASONING), .unsigned_call = find_unsigned(convert)};
  bool left = true;
  if (needs_edits(convert, raw)) {
    buffer_reset(&convert->scratch);
    LossKind kind;
    const Piece *first = pieces->count > 0 ? &pieces->list[0] : NULL;
    bool item = first != NULL && first->json.bytes == raw.bytes && is_refused(convert, first, &kind);
    if (item) convert_lose(convert, kind, text_plain("", 0));
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
  convert_note_side(convert, pieces->role);
  convert->step_calls = convert->step_calls || has_kind(pieces, PIECE_CALL);
  json_out_raw(convert->out, raw);
}
