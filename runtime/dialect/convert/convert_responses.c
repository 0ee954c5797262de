/*
** OpenAI's Responses: reads its items and parts, writes items.
**
** A call, a result and a reasoning are items of their own; each text of an assistant is one.
*/
#include "dialect/convert/convert.h"

/* ---- reading ---- */

/* An image has its detail here, even the usual one, which other dialects leave out. */
static const char USUAL_DETAIL[] = "auto";

static Status read_image(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_IMAGE, .file = piece_string(fields, KEY_FILE_ID),
                         .detail = piece_string(fields, KEY_DETAIL)};
  if (text_is(piece->media.detail, USUAL_DETAIL)) piece->media.detail = text_plain(NULL, 0);
  media_from_url(&piece->media, piece_string(fields, KEY_IMAGE_URL));
  return pieces_add(pieces, piece);
}

static Status read_file(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_FILE, .file = piece_string(fields, KEY_FILE_ID)};
  media_name(&piece->media, fields, KEY_FILENAME);
  media_from_url(&piece->media, piece_string(fields, KEY_FILE_DATA));
  if (piece->media.data.size == 0) piece->media.url = piece_string(fields, KEY_FILE_URL);
  return pieces_add(pieces, piece);
}

static const PartForm PARTS[] = {
  {"input_text", part_read_text}, {"output_text", part_read_text}, {"refusal", part_read_refusal},
  {"summary_text", part_read_text}, {"reasoning_text", part_read_text}, {"input_image", read_image},
  {"input_file", read_file}, {"input_audio", part_read_audio}, {NULL, NULL},
};

static Status read_call(Pieces *pieces, const PieceFields *fields, Text raw, bool custom) {
  PieceField arguments = custom ? KEY_INPUT : KEY_ARGUMENTS;
  pieces->role = ROLE_ASSISTANT;
  bool text = piece_is(fields, arguments, JSON_STRING);
  return pieces_add(pieces, &(Piece){.kind = PIECE_CALL, .is_custom = custom, .is_object = !text, .json = raw,
                                     .id = piece_string(fields, KEY_CALL_ID), .name = piece_string(fields, KEY_NAME),
                                     .arguments = text ? piece_string(fields, arguments)
                                                       : piece_json(fields, arguments)});
}

/* Reads a reasoning as one piece per text; the first, or a piece without a text, has the item and the proof. */
static Status read_reasoning(Pieces *pieces, const PieceFields *fields, Text raw) {
  Status status = STATUS_OK;
  PieceField texts = piece_is(fields, KEY_CONTENT, JSON_ARRAY) ? KEY_CONTENT : KEY_SUMMARY;
  uint32_t first = pieces->count;
  pieces->role = ROLE_ASSISTANT;
  if (piece_is(fields, texts, JSON_ARRAY)) status = pieces_add_parts(pieces, &fields->of[texts], false);
  pieces->dialects = 1u << DIALECT_RESPONSES;
  for (uint32_t i = first; i < pieces->count; i++) pieces->list[i].kind = PIECE_REASONING;
  if (status == STATUS_OK && pieces->count == first) {
    status = pieces_add(pieces, &(Piece){.kind = PIECE_REASONING});
  }
  if (status != STATUS_OK) return status;
  Piece *item = &pieces->list[first];
  item->json = raw;
  item->type = text_of("reasoning");
  item->signature = piece_string(fields, KEY_ENCRYPTED_CONTENT);
  return STATUS_OK;
}

static bool is_item(const PieceFields *fields) {
  return !piece_is(fields, KEY_ROLE, JSON_STRING) && fields->of[KEY_PARTS].bytes == NULL;
}

static Status read_item(Pieces *pieces, const PieceFields *fields, Text raw) {
  Text type = piece_string(fields, KEY_TYPE);
  if (text_is(type, "function_call")) return read_call(pieces, fields, raw, false);
  if (text_is(type, "custom_tool_call")) return read_call(pieces, fields, raw, true);
  bool custom = text_is(type, "custom_tool_call_output");
  if (custom || text_is(type, "function_call_output")) {
    pieces->role = ROLE_TOOL;
    Piece result = {.json = raw, .is_custom = custom, .id = piece_string(fields, KEY_CALL_ID)};
    return pieces_add_result(pieces, result, &fields->of[KEY_OUTPUT]);
  }
  if (text_is(type, "reasoning")) return read_reasoning(pieces, fields, raw);
  pieces->role = piece_type_refers(type) ? ROLE_USER : ROLE_ASSISTANT;
  return pieces_add(pieces, &(Piece){.kind = PIECE_OTHER, .json = raw, .type = type});
}

/* ---- parts ---- */

static bool has_form(const Piece *piece) {
  const Media *media = &piece->media;
  if (piece->kind == PIECE_TEXT || piece->kind == PIECE_REFUSAL) return piece->text.size > 0;
  if (piece->kind != PIECE_MEDIA) return false;
  bool has_source = media->data.size > 0 || media->url.size > 0 || media->file.size > 0;
  return (media->kind == MEDIA_IMAGE || media->kind == MEDIA_FILE) && has_source;
}

static void write_media(Convert *convert, const Media *media) {
  JsonOut *out = convert->out;
  bool image = media->kind == MEDIA_IMAGE;
  json_out_member_string(out, "type", image ? "input_image" : "input_file");
  bool named = media->name.size > 0 || media->data.size > 0;
  if (!image && named) json_out_member_text(out, "filename", convert_file_name(media));
  if (media->data.size > 0) {
    json_out_member_text(out, image ? "image_url" : "file_data", convert_data_uri(convert, media));
  } else if (media->url.size > 0) json_out_member_text(out, image ? "image_url" : "file_url", media->url);
  else json_out_member_text(out, "file_id", media->file);
  if (image) json_out_member_text(out, "detail", media->detail.size > 0 ? media->detail : text_of(USUAL_DETAIL));
  convert_lose_names(convert, media, !image, image);
}

static void write_part(Convert *convert, const Piece *piece) {
  JsonOut *out = convert->out;
  json_out_open(out, '{');
  if (piece->kind == PIECE_MEDIA) write_media(convert, &piece->media);
  else {
    json_out_member_string(out, "type", "input_text");
    json_out_member_text(out, "text", piece->text);
  }
  json_out_close(out, '}');
}

/* ---- items ---- */

static void open_item(Convert *convert, const char *role) {
  JsonOut *out = convert->out;
  convert_begin(convert);
  json_out_open(out, '{');
  json_out_member_string(out, "role", role);
  json_out_name(out, "content");
}

static void write_call(Convert *convert, const Piece *call) {
  JsonOut *out = convert->out;
  convert_begin(convert);
  json_out_open(out, '{');
  json_out_member_string(out, "type", call->is_custom ? "custom_tool_call" : "function_call");
  json_out_member_text(out, "call_id", convert_call(convert, call));
  json_out_member_text(out, "name", call->name);
  json_out_name(out, call->is_custom ? "input" : "arguments");
  if (call->is_custom) json_out_text(out, call->arguments);
  else convert_arguments_text(convert, call);
  json_out_close(out, '}');
}

static void write_output(Convert *convert, const Pieces *pieces, uint32_t index) {
  JsonOut *out = convert->out;
  json_out_name(out, "output");
  if (!convert_has_media(pieces, index)) {
    convert_lose_nested(convert, pieces, index);
    json_out_text(out, convert_result_text(convert, pieces, index));
    return;
  }
  json_out_open(out, '[');
  for (uint32_t i = index + 1; i < pieces->count && pieces->list[i].nested; i++) {
    if (has_form(&pieces->list[i])) write_part(convert, &pieces->list[i]);
    else if (pieces->list[i].kind != PIECE_TEXT) convert_lose_piece(convert, &pieces->list[i]);
  }
  json_out_close(out, ']');
}

static void write_result(Convert *convert, const Pieces *pieces, uint32_t index) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  CallNames call;
  Text id = convert_result(convert, result, &call);
  if (result->is_error) convert_lose(convert, LOSS_ERROR, result->id);
  convert_begin(convert);
  json_out_open(out, '{');
  json_out_member_string(out, "type", call.is_custom ? "custom_tool_call_output" : "function_call_output");
  json_out_member_text(out, "call_id", id);
  write_output(convert, pieces, index);
  json_out_close(out, '}');
}

/* ---- messages ---- */

/* Media are parts of users' messages. */
static bool is_part(const Pieces *pieces, const Piece *piece) {
  return has_form(piece) && !piece->nested && (piece->kind != PIECE_MEDIA || pieces->role == ROLE_USER);
}

static uint32_t count_parts(Convert *convert, const Pieces *pieces) {
  uint32_t parts = 0;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->nested || piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT) continue;
    if (is_part(pieces, piece)) parts++;
    else if (piece->kind != PIECE_TEXT) convert_lose_piece(convert, piece);
  }
  return parts;
}

/* Writes a system message's texts; one alone is a string. */
static void write_system(Convert *convert, const Pieces *pieces, uint32_t parts) {
  JsonOut *out = convert->out;
  open_item(convert, convert->options->developer ? "developer" : "system");
  if (parts > 1) json_out_open(out, '[');
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (!is_part(pieces, &pieces->list[i])) continue;
    if (parts > 1) write_part(convert, &pieces->list[i]);
    else json_out_text(out, pieces->list[i].text);
  }
  if (parts > 1) json_out_close(out, ']');
  json_out_close(out, '}');
}

static void write_user(Convert *convert, const Pieces *pieces) {
  JsonOut *out = convert->out;
  open_item(convert, "user");
  json_out_open(out, '[');
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (is_part(pieces, &pieces->list[i])) write_part(convert, &pieces->list[i]);
  }
  json_out_close(out, ']');
  json_out_close(out, '}');
}

/* Writes a text as a string, a refusal as a part: a text that is a part belongs to items of the API's own, which
   have an id. */
static void write_reply(Convert *convert, const Piece *piece) {
  if (piece->kind == PIECE_TEXT) {
    json_out_text(convert->out, piece->text);
    return;
  }
  json_out_open(convert->out, '[');
  json_out_open(convert->out, '{');
  json_out_member_string(convert->out, "type", "refusal");
  json_out_member_text(convert->out, "refusal", piece->text);
  json_out_close(convert->out, '}');
  json_out_close(convert->out, ']');
}

static void write_assistant(Convert *convert, const Pieces *pieces) {
  JsonOut *out = convert->out;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_CALL) write_call(convert, piece);
    if (!is_part(pieces, piece)) continue;
    open_item(convert, "assistant");
    write_reply(convert, piece);
    json_out_close(out, '}');
  }
}

static void write_message(Convert *convert, const Pieces *pieces) {
  uint32_t before = convert->written;
  convert_lose_name(convert, pieces);
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind == PIECE_RESULT) write_result(convert, pieces, i);
  }
  uint32_t parts = count_parts(convert, pieces);
  if (pieces->role == ROLE_ASSISTANT) write_assistant(convert, pieces);
  else if (parts > 0 && pieces->role == ROLE_SYSTEM) write_system(convert, pieces, parts);
  else if (parts > 0) write_user(convert, pieces);
  if (convert->written == before) convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
}

static void close_item(Convert *convert) { convert->open = ROLE_NONE; }

const PieceReader responses_pieces = {.parts = PARTS, .owns = is_item, .read = read_item};

const DialectWriter responses_writer = {
  .message = write_message, .close = close_item, .id_max = 64, .any_character = true,
};
