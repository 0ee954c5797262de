#include "dialect/thought_signature.h"

#include <assert.h>

#include "dialect/read/calls.h"
#include "json/json_fields.h"

#define ENCRYPTED "reasoning.encrypted"
#define FORMAT    "google-gemini-v1"

/* ---- reading ---- */

static Text inner_signature(const PieceFields *fields, PieceField member) {
  PieceFields inner;
  if (!piece_is(fields, member, JSON_OBJECT)) return text_plain(NULL, 0);
  piece_fields(piece_json(fields, member), &inner);
  if (member == KEY_EXTRA_CONTENT) return inner_signature(&inner, KEY_GOOGLE);
  return piece_string(&inner, KEY_THOUGHT_SIGNATURE);
}

static void sign(Piece *piece, Text signature) {
  piece->signature = signature;
  piece->signs_thought = true;
}

void thought_signature_of_call(Pieces *pieces, const PieceFields *fields, Piece *call) {
  Text signature = inner_signature(fields, KEY_EXTRA_CONTENT);
  if (signature.size > 0) pieces->signature_places |= SIGNATURE_IN_EXTRA_CONTENT;
  else signature = inner_signature(fields, KEY_PROVIDER_FIELDS);
  if (signature.size > 0) sign(call, signature);
}

/* Adds an empty text with a signature, before the calls. */
static Status add_signed_text(Pieces *pieces, Text signature) {
  Piece text = {.kind = PIECE_TEXT, .signature = signature, .signs_thought = true};
  Status status = pieces_add(pieces, &text);
  uint32_t at = pieces->count - 1;
  for (; status == STATUS_OK && at > 0 && pieces->list[at - 1].kind == PIECE_CALL; at--) {
    pieces->list[at] = pieces->list[at - 1];
  }
  if (status == STATUS_OK) pieces->list[at] = text;
  return status;
}

/* Signs the last text. */
static Status sign_text(Pieces *pieces, Text signature) {
  for (uint32_t i = pieces->count; i > 0; i--) {
    Piece *piece = &pieces->list[i - 1];
    if (piece->kind != PIECE_TEXT || piece->nested) continue;
    sign(piece, signature);
    return STATUS_OK;
  }
  return add_signed_text(pieces, signature);
}

/* ---- signatures in a list ---- */

/* The calls of a message, and the pieces that may get a signature that names none. */
typedef struct Signing {
  Pieces *pieces;
  Calls calls;
  uint32_t first;            /* the piece of the first call */
  uint32_t next;             /* calls before it are signed */
  uint32_t texts;            /* no piece from it on is a text without a signature */
} Signing;

static Status open_calls(Signing *signing) {
  const Pieces *pieces = signing->pieces;
  Status status = STATUS_OK;
  signing->first = signing->texts = pieces->count;
  while (signing->first > 0 && pieces->list[signing->first - 1].kind == PIECE_CALL) signing->first--;
  signing->next = signing->first;
  for (uint32_t i = signing->first; i < pieces->count && status == STATUS_OK; i++) {
    status = calls_open(&signing->calls, pieces->list[i].id);
  }
  return status;
}

/* The piece for a signature: the call of this id, or else the first call without one, or the last text without one.
   NULL: there is none. */
static Piece *piece_for(Signing *signing, Text id) {
  Piece *list = signing->pieces->list;
  uint32_t call, end = signing->first + signing->calls.count;
  if (id.size > 0 && calls_answer(&signing->calls, id, &call) == ANSWER_FITS) return &list[signing->first + call];
  while (signing->next < end && list[signing->next].signs_thought) signing->next++;
  if (signing->next < end) return &list[signing->next];
  for (; signing->texts > 0; signing->texts--) {
    Piece *piece = &list[signing->texts - 1];
    if (piece->kind == PIECE_TEXT && !piece->nested && !piece->signs_thought) return piece;
  }
  return NULL;
}

/* The signature that one of reasoning_details is; size 0: it is something else. */
static Text signature_of_detail(const JsonValue *detail, PieceFields *fields) {
  if (detail->kind != JSON_OBJECT) return text_plain(NULL, 0);
  piece_fields(text_plain(detail->bytes, detail->size), fields);
  bool is_signature = text_is(piece_string(fields, KEY_TYPE), ENCRYPTED) &&
                      text_is(piece_string(fields, KEY_FORMAT), FORMAT);
  return is_signature ? piece_string(fields, KEY_DATA) : text_plain(NULL, 0);
}

static Status sign_by_list(Signing *signing, const JsonValue *list) {
  Json json;
  JsonValue detail;
  PieceFields fields;
  Status status = STATUS_OK;
  Pieces *pieces = signing->pieces;
  json_open_valid(&json, list->bytes, list->size);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &detail)) {
    Text signature = signature_of_detail(&detail, &fields);
    if (signature.size == 0) continue;
    Piece *piece = piece_for(signing, piece_string(&fields, KEY_ID));
    pieces->signature_places |= SIGNATURE_IN_DETAILS;
    Piece text = {.kind = PIECE_TEXT, .signature = signature, .signs_thought = true};
    if (piece == NULL) status = pieces_add(pieces, &text);
    else if (!piece->signs_thought) sign(piece, signature);
  }
  return status;
}

static Status sign_by_details(Pieces *pieces, const JsonValue *list) {
  Signing signing = {.pieces = pieces};
  calls_init(&signing.calls, pieces->memory);
  Status status = open_calls(&signing);
  if (status == STATUS_OK) status = sign_by_list(&signing, list);
  calls_free(&signing.calls);
  return status;
}

Status thought_signatures_of_message(Pieces *pieces, const PieceFields *fields) {
  Text signature = inner_signature(fields, KEY_EXTRA_CONTENT);
  Status status = STATUS_OK;
  if (pieces->role != ROLE_ASSISTANT) return STATUS_OK;
  if (signature.size > 0) {
    pieces->signature_places |= SIGNATURE_IN_EXTRA_CONTENT;
    status = sign_text(pieces, signature);
  }
  bool has_details = status == STATUS_OK && piece_is(fields, KEY_REASONING_DETAILS, JSON_ARRAY);
  return has_details ? sign_by_details(pieces, &fields->of[KEY_REASONING_DETAILS]) : status;
}

/* True for an object that has this member and no other. */
static bool has_only(const JsonValue *object, const char *name, JsonKind kind, JsonValue *value) {
  JsonFields members = {0};
  Json json;
  if (object->kind != JSON_OBJECT) return false;
  json_open_valid(&json, object->bytes, object->size);
  if (!json_enter(&json) || !json_fields_read(&json, &members) || members.count != 1) return false;
  const JsonValue *member = json_field_of(&members, name, kind);
  if (member != NULL) *value = *member;
  return member != NULL;
}

bool thought_signature_is_all(Text key, const JsonValue *value) {
  Json json;
  JsonValue inner, signature;
  PieceFields fields;
  if (text_is(key, "extra_content")) {
    return has_only(value, "google", JSON_OBJECT, &inner) &&
           has_only(&inner, "thought_signature", JSON_STRING, &signature);
  }
  if (!text_is(key, "reasoning_details") || value->kind != JSON_ARRAY) return false;
  json_open_valid(&json, value->bytes, value->size);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &inner)) {
    if (signature_of_detail(&inner, &fields).size == 0) return false;
  }
  return true;
}

/* ---- writing ---- */

void thought_signature_write(JsonOut *out, Text signature) {
  assert(signature.size > 0);
  json_out_name(out, "extra_content");
  json_out_open(out, '{');
  json_out_name(out, "google");
  json_out_open(out, '{');
  json_out_member_text(out, "thought_signature", signature);
  json_out_close(out, '}');
  json_out_close(out, '}');
}

void thought_signature_write_detail(JsonOut *out, Text signature, Text id, uint32_t index) {
  assert(signature.size > 0);
  if (index == 0) json_out_name(out, "reasoning_details");
  if (index == 0) json_out_open(out, '[');
  json_out_open(out, '{');
  json_out_member_string(out, "type", ENCRYPTED);
  json_out_member_text(out, "data", signature);
  if (id.size > 0) json_out_member_text(out, "id", id);
  json_out_member_string(out, "format", FORMAT);
  json_out_member_integer(out, "index", index);
  json_out_close(out, '}');
}
