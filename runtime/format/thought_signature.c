#include "format/thought_signature.h"

#include <assert.h>

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

/* Signs the last text that has no signature. */
static Status sign_text(Pieces *pieces, Text signature) {
  for (uint32_t i = pieces->count; i > 0; i--) {
    Piece *piece = &pieces->list[i - 1];
    if (piece->kind != PIECE_TEXT || piece->nested || piece->signs_thought) continue;
    sign(piece, signature);
    return STATUS_OK;
  }
  return add_signed_text(pieces, signature);
}

/* The call of this id; without one, the first that has no signature; NULL: none. */
static Piece *find_call(Pieces *pieces, Text id) {
  Piece *unsigned_call = NULL;
  for (uint32_t i = 0; i < pieces->count; i++) {
    Piece *piece = &pieces->list[i];
    if (piece->kind != PIECE_CALL) continue;
    if (id.size > 0 && text_equal(piece->id, id)) return piece;
    if (unsigned_call == NULL && !piece->signs_thought) unsigned_call = piece;
  }
  return unsigned_call;
}

/* The signature that one of reasoning_details is; size 0: it is something else. */
static Text signature_of_detail(const JsonValue *detail, PieceFields *fields) {
  if (detail->kind != JSON_OBJECT) return text_plain(NULL, 0);
  piece_fields(text_plain(detail->bytes, detail->size), fields);
  bool is_signature = text_is(piece_string(fields, KEY_TYPE), ENCRYPTED) &&
                      text_is(piece_string(fields, KEY_FORMAT), FORMAT);
  return is_signature ? piece_string(fields, KEY_DATA) : text_plain(NULL, 0);
}

static Status sign_by_details(Pieces *pieces, const PieceFields *message) {
  Json json;
  JsonValue detail;
  PieceFields fields;
  Status status = STATUS_OK;
  json_open_valid(&json, message->of[KEY_REASONING_DETAILS].bytes, message->of[KEY_REASONING_DETAILS].size);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &detail)) {
    Text signature = signature_of_detail(&detail, &fields);
    if (signature.size == 0) continue;
    Piece *call = find_call(pieces, piece_string(&fields, KEY_ID));
    pieces->signature_places |= SIGNATURE_IN_DETAILS;
    if (call == NULL) status = sign_text(pieces, signature);
    else if (!call->signs_thought) sign(call, signature);
  }
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
  return has_details ? sign_by_details(pieces, fields) : status;
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
