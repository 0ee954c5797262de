/*
** Gemini's contents: reads its parts, writes its messages.
**
** All results of a step are one user message, each with the name of its tool; media of
** results follow in a user message of their own.
*/
#include <assert.h>

#include "dialect/convert/convert.h"
#include "json/json_fields.h"

static const PartForm PARTS[] = {{NULL, NULL}};        /* its parts have no type: their members tell */

/* ---- reading ---- */

static void read_media(Piece *piece, const PieceFields *fields, PieceField member) {
  PieceFields inner;
  piece_fields(piece_json(fields, member), &inner);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.type = piece_string(&inner, KEY_MIME_TYPE), .data = piece_string(&inner, KEY_DATA),
                         .url = piece_string(&inner, KEY_FILE_URI)};
  media_name(&piece->media, &inner, KEY_DISPLAY_NAME);
  if (piece_json(fields, KEY_RESOLUTION).size > 0) piece_leave(piece, KEY_RESOLUTION);
  piece->media.kind = media_kind_of_type(piece->media.type);
}

static void read_call(Piece *piece, const PieceFields *fields, PieceField member) {
  PieceFields inner;
  piece_fields(piece_json(fields, member), &inner);
  piece->kind = PIECE_CALL;
  piece->is_object = true;
  piece->id = piece_string(&inner, KEY_ID);
  piece->name = piece_string(&inner, KEY_NAME);
  piece->arguments = piece_json(&inner, KEY_ARGS);
}

/* What this file writes for a text, {"name", "content"}, reads as that text; all else stays JSON. */
static JsonValue content_of(const JsonValue *response, bool *is_error) {
  JsonFields members = {0};
  Json json;
  json_open_value(&json, response);
  json.tolerant = true;
  if (!json_enter(&json) || !json_fields_read(&json, &members)) return *response;
  const JsonValue *content = json_field_of(&members, "content", JSON_STRING);
  const JsonValue *error = json_field(&members, "error");
  *is_error = error != NULL && members.count == 1;
  if (*is_error && error->kind == JSON_STRING) return *error;
  bool own = members.count == 2 && content != NULL && json_field(&members, "name") != NULL;
  return own ? *content : *response;
}

static Status read_parts(Pieces *pieces, const JsonValue *parts, bool nested);

static bool has_parts(const PieceFields *fields) {
  return piece_is(fields, KEY_PARTS, JSON_ARRAY) || piece_is(fields, KEY_PARTS, JSON_OBJECT);
}

/* Beside media the response is a text among them, as in other dialects. */
static Status read_beside_media(Pieces *pieces, const JsonValue *parts) {
  Piece *result = &pieces->list[pieces->count - 1], said = {.kind = PIECE_TEXT, .nested = true, .text = result->text};
  result->text = text_plain(NULL, 0);
  result->is_object = false;
  Status status = said.text.size > 0 ? pieces_add(pieces, &said) : STATUS_OK;
  return status == STATUS_OK ? read_parts(pieces, parts, true) : status;
}

static Status read_response(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner;
  JsonValue content = {0};
  piece_fields(piece_json(fields, KEY_GEMINI_RESPONSE), &inner);
  piece->id = piece_string(&inner, KEY_ID);
  piece->name = piece_string(&inner, KEY_NAME);
  const JsonValue *response = &inner.of[KEY_RESPONSE];
  if (piece_is(&inner, KEY_RESPONSE, JSON_OBJECT)) content = content_of(response, &piece->is_error);
  else if (!piece_is(&inner, KEY_RESPONSE, JSON_NULL)) content = *response;
  if (content.kind == JSON_ARRAY) content.kind = JSON_OBJECT;      /* JSON, no list of parts */
  Status status = pieces_add_result(pieces, *piece, &content);
  return status == STATUS_OK && has_parts(&inner) ? read_beside_media(pieces, &inner.of[KEY_PARTS]) : status;
}

/* The member that a part has of two spellings. */
static PieceField either(const PieceFields *fields, PieceField camel, PieceField snake) {
  return fields->of[camel].bytes != NULL ? camel : snake;
}

/* True for a part that is a signature and nothing else: that of an empty text. */
static bool is_signature(Text part) {
  JsonFields members = {0};
  Json json;
  json_open_valid(&json, part.bytes, part.size);
  return json_enter(&json) && json_fields_read(&json, &members) && members.count == 1;
}

static Status read_part(Pieces *pieces, const JsonValue *part, bool nested) {
  PieceFields fields;
  Piece piece = {.kind = PIECE_OTHER, .nested = nested, .json = text_plain(part->bytes, part->size),
                 .type = text_of("part")};
  piece_fields(piece.json, &fields);
  if (piece_type_refers(piece_string(&fields, KEY_TYPE))) piece.type = piece_string(&fields, KEY_TYPE);
  piece.signature = piece_string(&fields, KEY_THOUGHT_SIGNATURE);
  piece.signs_thought = piece.signature.size > 0;
  PieceField call = either(&fields, KEY_GEMINI_CALL, KEY_FUNCTION_CALL);
  PieceField file = either(&fields, KEY_FILE_DATA_CAMEL, KEY_FILE_DATA);
  if (piece_is(&fields, KEY_GEMINI_RESPONSE, JSON_OBJECT)) return read_response(pieces, &piece, &fields);
  if (piece_is(&fields, call, JSON_OBJECT)) read_call(&piece, &fields, call);
  else if (piece_is(&fields, KEY_INLINE_DATA, JSON_OBJECT)) read_media(&piece, &fields, KEY_INLINE_DATA);
  else if (piece_is(&fields, file, JSON_OBJECT)) read_media(&piece, &fields, file);
  else if (piece_is(&fields, KEY_TEXT, JSON_STRING)) {
    piece.kind = piece_is(&fields, KEY_THOUGHT, JSON_TRUE) ? PIECE_REASONING : PIECE_TEXT;
    piece.text = piece_string(&fields, KEY_TEXT);
  } else if (piece.signs_thought && is_signature(piece.json)) piece.kind = PIECE_TEXT;
  return pieces_add(pieces, &piece);
}

/* One part need not stand in a list. */
static Status read_parts(Pieces *pieces, const JsonValue *parts, bool nested) {
  Json json;
  JsonValue part;
  Status status = STATUS_OK;
  if (parts->kind == JSON_OBJECT) return read_part(pieces, parts, nested);
  json_open_value(&json, parts);
  json.tolerant = true;
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &part)) {
    if (part.kind == JSON_OBJECT) status = read_part(pieces, &part, nested);
  }
  return status;
}

/* Content or calls make "parts" an unknown member, as for the reader. */
static bool is_message(const PieceFields *fields) {
  bool instead = fields->of[KEY_CONTENT].bytes != NULL || fields->of[KEY_TOOL_CALLS].bytes != NULL ||
                 fields->of[KEY_FUNCTION_CALL].bytes != NULL;
  return !instead && has_parts(fields);
}

static Status read_message(Pieces *pieces, const PieceFields *fields, Text raw) {
  (void)raw;
  if (text_is(pieces->role_text, "model")) pieces->role = ROLE_ASSISTANT;
  else if (pieces->role != ROLE_SYSTEM) pieces->role = ROLE_USER;
  return read_parts(pieces, &fields->of[KEY_PARTS], false);
}

/* ---- parts ---- */

/* URLs that the API itself can open: stored files, Cloud Storage, YouTube. */
static bool is_reachable(Text url) {
  return text_starts_with(url, text_of("gs://")) || text_starts_with(url, text_of("https://www.youtube.com/")) ||
         text_starts_with(url, text_of("https://generativelanguage.googleapis.com/"));
}

static bool has_form(const Piece *piece) {
  if (piece->kind == PIECE_MEDIA) return piece->media.data.size > 0 || is_reachable(piece->media.url);
  bool text = piece->kind == PIECE_TEXT || piece->kind == PIECE_REFUSAL || piece->kind == PIECE_REASONING;
  return text && (piece->text.size > 0 || piece->signs_thought);
}

static Text mime_type(const Media *media) {
  static const char *const USUAL[] = {"image/png", "audio/wav", "video/mp4", "application/pdf"};
  assert(media->kind < sizeof USUAL / sizeof *USUAL);
  return media->type.size > 0 ? media->type : text_of(USUAL[media->kind]);
}

static void write_part(Convert *convert, const Piece *piece) {
  JsonOut *out = convert->out;
  const Media *media = &piece->media;
  json_out_open(out, '{');
  if (piece->kind == PIECE_MEDIA) {
    bool data = media->data.size > 0;
    json_out_name(out, data ? "inlineData" : "fileData");
    json_out_open(out, '{');
    json_out_member_text(out, "mimeType", mime_type(media));
    json_out_member_text(out, data ? "data" : "fileUri", data ? media->data : media->url);
    json_out_close(out, '}');
    convert_lose_names(convert, media, false, false);
  } else {
    if (piece->kind == PIECE_REFUSAL) convert_lose(convert, CHANGE_REFUSAL, text_plain("", 0));
    bool foreign = piece->signature.size > 0 && !piece->signs_thought;
    if (foreign) convert_lose(convert, CHANGE_SIGNATURE, text_plain("", 0));
    json_out_member_text(out, "text", piece->text);
    if (piece->kind == PIECE_REASONING) json_out_member_raw(out, "thought", text_plain("true", 4));
  }
  if (piece->signs_thought) json_out_member_text(out, "thoughtSignature", piece->signature);
  json_out_close(out, '}');
}

/* Writes a call; has_others: the open message has calls. A signature of its own goes before what stands in for one. */
static void write_call(Convert *convert, const Piece *call, Text signature) {
  JsonOut *out = convert->out;
  bool first = !convert->has_others && !convert->step_calls;
  assert(call->kind == PIECE_CALL && convert->open != ROLE_NONE);
  convert->has_others = convert->step_calls = true;
  json_out_open(out, '{');
  json_out_name(out, "functionCall");
  json_out_open(out, '{');
  json_out_member_text(out, "id", convert_call(convert, call));
  json_out_member_text(out, "name", call->name);
  json_out_member_raw(out, "args", convert_arguments_object(convert, call));
  json_out_close(out, '}');
  if (signature.size > 0) json_out_member_text(out, "thoughtSignature", signature);
  else if (first && convert->options->signs_calls) {
    json_out_member_string(out, "thoughtSignature", NO_THOUGHT_SIGNATURE);
  }
  json_out_close(out, '}');
}

/* ---- messages ---- */

static void end_message(Convert *convert) {
  if (convert->open == ROLE_NONE) return;
  json_out_close(convert->out, ']');
  json_out_close(convert->out, '}');
  convert->open = ROLE_NONE;
}

static void begin_message(Convert *convert, Role role) {
  end_message(convert);
  assert(convert->open == ROLE_NONE && role != ROLE_NONE);
  convert_begin(convert);
  convert_note_side(convert, role);
  json_out_open(convert->out, '{');
  json_out_member_string(convert->out, "role", role == ROLE_ASSISTANT ? "model" : "user");
  json_out_name(convert->out, "parts");
  json_out_open(convert->out, '[');
  convert->open = role;
  convert->has_others = false;
}

static void close_message(Convert *convert) {
  if (convert->held_count > 0) begin_message(convert, ROLE_USER);
  for (uint32_t i = 0; i < convert->held_count; i++) write_part(convert, convert_held(convert, i));
  convert->held_count = 0;
  end_message(convert);
  assert(convert->open == ROLE_NONE);
}

/* Writes the response, an object: a result that is one, or its text under a name, as the AI SDK does. */
static void write_response(Convert *convert, const Pieces *pieces, uint32_t index, Text name) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  json_out_name(out, "response");
  if (!result->is_error && result->is_object && result->text.bytes[0] == '{') {
    json_out_raw(out, result->text);
    return;
  }
  json_out_open(out, '{');
  if (!result->is_error) json_out_member_text(out, "name", name);
  json_out_member_text(out, result->is_error ? "error" : "content", convert_result_text(convert, pieces, index));
  json_out_close(out, '}');
}

/* open is ROLE_TOOL while only results are in the open message. */
static void write_result(Convert *convert, const Pieces *pieces, uint32_t index) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  CallNames call;
  assert(index < pieces->count && result->kind == PIECE_RESULT);
  if (convert->open != ROLE_TOOL) {
    convert_close(convert);
    begin_message(convert, ROLE_TOOL);
  }
  Text id = convert_result(convert, result, &call), name = call.name.size > 0 ? call.name : id;
  json_out_open(out, '{');
  json_out_name(out, "functionResponse");
  json_out_open(out, '{');
  if (id.size > 0) json_out_member_text(out, "id", id);
  json_out_member_text(out, "name", name);
  write_response(convert, pieces, index, name);
  json_out_close(out, '}');
  json_out_close(out, '}');
  convert_hold_media(convert, pieces, index, has_form);
}

static bool has_call(const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind == PIECE_CALL) return true;
  }
  return false;
}

static bool is_thought(const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind != PIECE_REASONING) return false;
  }
  return true;
}

/* True if a reply goes on in the open message: calls follow a user's turn, not another one of the model, and items of a
   reply stay together, as does what follows a thought. */
static bool joins_step(const Convert *convert, const Pieces *pieces) {
  if (convert->open != ROLE_ASSISTANT || pieces->role != ROLE_ASSISTANT) return false;
  return has_call(pieces) || pieces->dialects == 1u << DIALECT_RESPONSES || convert->only_thinks;
}

/* Puts a user's turn before calls at the beginning, where a trim may leave them, also behind a text that begins. */
static void begin_with_user(Convert *convert) {
  begin_message(convert, ROLE_USER);
  json_out_open(convert->out, '{');
  json_out_member_string(convert->out, "text", "The beginning of the conversation was left out.");
  json_out_close(convert->out, '}');
  end_message(convert);
  convert_lose(convert, CHANGE_FIRST, text_plain("", 0));
}

/* The signature of an openai message that calls without one: it stands with its text, but models that want one on the
   first call want it there. *text: whose it is; NULL: there is none. */
static Text message_signature(const Convert *convert, const Pieces *pieces, const Piece **text) {
  *text = NULL;
  if (!convert->options->signs_calls || (pieces->dialects & 1u << DIALECT_GEMINI) != 0) return text_plain(NULL, 0);
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->signs_thought && piece->kind == PIECE_TEXT) *text = piece;
    if (piece->kind != PIECE_CALL) continue;
    if (piece->signs_thought) *text = NULL;
    return *text == NULL ? text_plain(NULL, 0) : (*text)->signature;
  }
  *text = NULL;
  return text_plain(NULL, 0);
}

static void open_once(Convert *convert, bool *opened, Role role) {
  if (*opened) return;
  convert_close(convert);
  begin_message(convert, role);
  *opened = true;
}

static void write_message(Convert *convert, const Pieces *pieces) {
  bool opened = false, results = false;
  const Piece *lender;
  Text lent = message_signature(convert, pieces, &lender);
  Role role = pieces->role == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
  convert_lose_name(convert, pieces);
  if (pieces->role == ROLE_SYSTEM) convert_lose(convert, CHANGE_SYSTEM, text_plain("", 0));
  bool text_alone = convert->written == 1 && convert->open == ROLE_ASSISTANT && !convert->has_others;
  if (role == ROLE_ASSISTANT && has_call(pieces) && (convert->written == 0 || text_alone)) begin_with_user(convert);
  if (joins_step(convert, pieces)) opened = true;
  bool only_thinks = is_thought(pieces) && (!opened || convert->only_thinks);
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind != PIECE_RESULT) continue;
    write_result(convert, pieces, i);
    results = true;
  }
  for (uint32_t i = 0; i < pieces->count; i++) {
    Piece piece = pieces->list[i];
    if (piece.nested || piece.kind == PIECE_RESULT) continue;
    if (&pieces->list[i] == lender) piece.signs_thought = false, piece.signature = text_plain(NULL, 0);
    if (piece.kind != PIECE_CALL && !has_form(&piece)) {
      if (piece.kind != PIECE_TEXT) convert_lose_piece(convert, &piece);
      continue;
    }
    open_once(convert, &opened, role);
    if (piece.kind == PIECE_CALL) write_call(convert, &piece, piece.signs_thought ? piece.signature : lent);
    else write_part(convert, &piece);
    if (piece.kind == PIECE_CALL) lent = text_plain(NULL, 0);
  }
  if (!opened && !results) convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
  convert->only_thinks = only_thinks;
}

static void write_system(Convert *convert, const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_TEXT && piece->text.size > 0) write_part(convert, piece);
    else if (piece->kind != PIECE_TEXT) convert_lose_piece(convert, piece);
  }
}

const PieceReader gemini_pieces = {.parts = PARTS, .owns = is_message, .read = read_message};

static const char *const MORE_IMAGES[] = {"image/heic", "image/heif", NULL};

const DialectWriter gemini_writer = {
  .system = write_system, .message = write_message, .close = close_message,
  .signs_thoughts = true, .more_images = MORE_IMAGES,
  .id_max = 128, .any_character = true, .unsigned_call = "\"thoughtSignature\":\"" NO_THOUGHT_SIGNATURE "\"",
};
