/*
** Anthropic's Messages: reads its parts, writes its messages.
**
** Results are parts of a user message, before its other parts; an assistant's calls come
** last. Messages of the same role that are written anew become one, as the API joins them.
*/
#include <assert.h>

#include "dialect/convert/convert.h"

/* ---- reading ---- */

/* Reads the source of media from a member of their part. */
static void read_source(Media *media, const PieceFields *fields, PieceField field) {
  PieceFields source;
  if (!piece_is(fields, field, JSON_OBJECT)) return;
  piece_fields(piece_json(fields, field), &source);
  Text type = piece_string(&source, KEY_TYPE);
  media->type = piece_string(&source, KEY_MEDIA_TYPE);
  if (text_is(type, "base64")) media->data = piece_string(&source, KEY_DATA);
  media->url = piece_string(&source, KEY_URL);
  media->file = piece_string(&source, KEY_FILE_ID);
}

/* Reads an image of the message array: image_url is a URL, has one, is a source or has one. */
static Status read_wrapped_image(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner = {0};
  pieces->dialects = 0;
  if (piece_is(fields, KEY_IMAGE_URL, JSON_OBJECT)) piece_fields(piece_json(fields, KEY_IMAGE_URL), &inner);
  bool has_source = piece_is(&inner, KEY_SOURCE, JSON_OBJECT);
  if (!has_source && !piece_is(&inner, KEY_DATA, JSON_STRING)) return part_read_image_url(pieces, piece, fields);
  piece->kind = PIECE_MEDIA;
  piece->media.kind = MEDIA_IMAGE;
  read_source(&piece->media, has_source ? &inner : fields, has_source ? KEY_SOURCE : KEY_IMAGE_URL);
  return pieces_add(pieces, piece);
}

static Status read_image(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  bool has_url = fields->of[KEY_IMAGE_URL].bytes != NULL && !piece_is(fields, KEY_IMAGE_URL, JSON_NULL);
  if (has_url && !piece_is(fields, KEY_SOURCE, JSON_OBJECT)) return read_wrapped_image(pieces, piece, fields);
  piece->kind = PIECE_MEDIA;
  piece->media.kind = MEDIA_IMAGE;
  read_source(&piece->media, fields, KEY_SOURCE);
  if (!piece_is(fields, KEY_SOURCE, JSON_OBJECT)) {                  /* of the Model Context Protocol */
    pieces->dialects = 0;
    piece->media.data = piece_string(fields, KEY_DATA);
    piece->media.type = piece_string(fields, KEY_MIME_TYPE);
  }
  return pieces_add(pieces, piece);
}

/* A document of texts is told by them, its title and context before; of a file the title is the name. */
static Status read_document(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields source = {0};
  if (piece_is(fields, KEY_SOURCE, JSON_OBJECT)) piece_fields(piece_json(fields, KEY_SOURCE), &source);
  Text type = piece_string(&source, KEY_TYPE);
  bool is_text = text_is(type, "text");
  Text texts[] = {piece_string(fields, KEY_TITLE), piece_string(fields, KEY_CONTEXT),
                  piece_string(&source, is_text ? KEY_DATA : KEY_CONTENT)};
  bool has_more = texts[0].size + texts[1].size > 0;
  if (is_text && !has_more) {
    piece->kind = PIECE_TEXT;
    piece->text = texts[2];
  } else if (is_text || text_is(type, "content")) {
    return part_add_list(pieces, piece, texts, 3, &source.of[KEY_CONTENT]);
  } else {
    if (texts[1].size > 0) piece_leave(piece, KEY_CONTEXT);
    piece->kind = PIECE_MEDIA;
    piece->media = (Media){.kind = MEDIA_FILE};
    media_name(&piece->media, fields, KEY_TITLE);
    read_source(&piece->media, fields, KEY_SOURCE);
  }
  return pieces_add(pieces, piece);
}

/* The members of a call or result that the message array nests, {"type": "tool_use", "tool_use": {..}}, in their place;
   no provider takes that form as it stands. */
static void unnest(Pieces *pieces, PieceFields *fields, PieceField nested) {
  PieceFields inner;
  if (!piece_is(fields, nested, JSON_OBJECT)) return;
  pieces->dialects = 0;
  piece_fields(piece_json(fields, nested), &inner);
  for (int i = 0; i < KEY_COUNT; i++) {
    if (inner.of[i].bytes != NULL && i != KEY_TYPE) fields->of[i] = inner.of[i];
  }
}

static Status read_use(Pieces *pieces, Piece *piece, const PieceFields *part) {
  PieceFields flat = *part, *fields = &flat;
  unnest(pieces, fields, KEY_TOOL_USE);
  piece->kind = PIECE_CALL;
  piece->id = piece_string(fields, KEY_ID);
  piece->name = piece_string(fields, KEY_NAME);
  piece->is_object = !piece_is(fields, KEY_INPUT, JSON_STRING);
  piece->arguments = piece->is_object ? piece_json(fields, KEY_INPUT) : piece_string(fields, KEY_INPUT);
  return pieces_add(pieces, piece);
}

static Status read_result(Pieces *pieces, Piece *piece, const PieceFields *part) {
  PieceFields flat = *part, *fields = &flat;
  unnest(pieces, fields, KEY_TOOL_RESULT);
  piece->id = piece_string(fields, KEY_TOOL_USE_ID);
  piece->is_error = piece_is(fields, KEY_IS_ERROR, JSON_TRUE);
  return pieces_add_result(pieces, *piece, &fields->of[KEY_CONTENT]);
}

static Status read_thinking(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_REASONING;
  piece->text = piece_string(fields, KEY_THINKING);
  piece->signature = piece_string(fields, KEY_SIGNATURE);
  return pieces_add(pieces, piece);
}

static Status read_redacted(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_REASONING;
  piece->signature = piece_string(fields, KEY_DATA);
  return pieces_add(pieces, piece);
}

static const PartForm PARTS[] = {
  {"text", part_read_text}, {"image", read_image}, {"document", read_document}, {"tool_use", read_use},
  {"tool_result", read_result}, {"thinking", read_thinking}, {"redacted_thinking", read_redacted}, {NULL, NULL},
};

/* ---- parts ---- */

static bool has_source(const Media *media) {
  bool known = media->kind == MEDIA_IMAGE || media->kind == MEDIA_FILE;
  return known && (media->data.size > 0 || media->url.size > 0 || media->file.size > 0);
}

/* True if the part is in this dialect's own form, with a proof that it is the provider's. */
static bool is_own_thinking(const Convert *convert, const Piece *piece) {
  bool own = text_is(piece->type, "thinking") || text_is(piece->type, "redacted_thinking");
  return own && piece->signature.size > 0 && !convert_is_unbound(convert);
}

static bool has_form(const Convert *convert, const Piece *piece) {
  switch (piece->kind) {
  case PIECE_TEXT: case PIECE_REFUSAL: return piece->text.size > 0;
  case PIECE_REASONING: return is_own_thinking(convert, piece);
  case PIECE_MEDIA: return has_source(&piece->media);
  default: return false;
  }
}

static void write_source(Convert *convert, const Media *media) {
  JsonOut *out = convert->out;
  json_out_name(out, "source");
  json_out_open(out, '{');
  if (media->data.size > 0) {
    Text usual = text_of(media->kind == MEDIA_IMAGE ? "image/png" : "application/pdf");
    json_out_member_string(out, "type", "base64");
    json_out_member_text(out, "media_type", media->type.size > 0 ? media->type : usual);
    json_out_member_text(out, "data", media->data);
  } else if (media->url.size > 0) {
    json_out_member_string(out, "type", "url");
    json_out_member_text(out, "url", media->url);
  } else {
    json_out_member_string(out, "type", "file");
    json_out_member_text(out, "file_id", media->file);
  }
  json_out_close(out, '}');
}

static void write_part(Convert *convert, const Piece *piece) {
  JsonOut *out = convert->out;
  const Media *media = &piece->media;
  if (piece->kind == PIECE_REASONING) {
    json_out_raw(out, piece->json);
    return;
  }
  json_out_open(out, '{');
  if (piece->kind == PIECE_MEDIA) {
    bool is_image = media->kind == MEDIA_IMAGE;
    json_out_member_string(out, "type", is_image ? "image" : "document");
    write_source(convert, media);
    if (!is_image && media->name.size > 0) json_out_member_text(out, "title", media->name);
    convert_lose_names(convert, media, !is_image, false);
  } else {
    if (piece->kind == PIECE_REFUSAL) convert_lose(convert, CHANGE_REFUSAL, text_plain("", 0));
    json_out_member_string(out, "type", "text");
    json_out_member_text(out, "text", piece->text);
  }
  if (piece->cache.size > 0) json_out_member_raw(out, "cache_control", piece->cache);
  json_out_close(out, '}');
}

static void write_call(Convert *convert, const Piece *call) {
  JsonOut *out = convert->out;
  json_out_open(out, '{');
  json_out_member_string(out, "type", "tool_use");
  json_out_member_text(out, "id", convert_call(convert, call));
  json_out_member_text(out, "name", call->name);
  json_out_member_raw(out, "input", convert_arguments_object(convert, call));
  if (call->cache.size > 0) json_out_member_raw(out, "cache_control", call->cache);
  json_out_close(out, '}');
}

/* ---- messages ---- */

static void close_message(Convert *convert) {
  assert(convert->open != ROLE_NONE || convert->held_count == 0);
  if (convert->open != ROLE_NONE) {
    for (uint32_t i = 0; i < convert->held_count; i++) write_call(convert, convert_held(convert, i));
    json_out_close(convert->out, ']');
    json_out_close(convert->out, '}');
  }
  convert->held_count = 0;
  convert->open = ROLE_NONE;
  convert->has_others = false;
}

static void open_message(Convert *convert, Role role) {
  if (convert->open == role) return;
  convert_close(convert);
  assert(convert->status != STATUS_OK || (convert->open == ROLE_NONE && convert->held_count == 0));
  convert_begin(convert);
  json_out_open(convert->out, '{');
  convert_note_side(convert, role);
  json_out_member_string(convert->out, "role", role_name(role));
  json_out_name(convert->out, "content");
  json_out_open(convert->out, '[');
  convert->open = role;
}

static void write_result_content(Convert *convert, const Pieces *pieces, uint32_t index) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  bool parts = index + 1 < pieces->count && pieces->list[index + 1].nested;
  if (!parts) {
    json_out_member_text(out, "content", result->text);
    return;
  }
  json_out_name(out, "content");
  json_out_open(out, '[');
  for (uint32_t i = index + 1; i < pieces->count && pieces->list[i].nested; i++) {
    if (has_form(convert, &pieces->list[i])) write_part(convert, &pieces->list[i]);
    else if (pieces->list[i].kind != PIECE_TEXT) convert_lose_piece(convert, &pieces->list[i]);
  }
  json_out_close(out, ']');
}

static void write_result(Convert *convert, const Pieces *pieces, uint32_t index) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  CallNames call;
  assert(index < pieces->count && result->kind == PIECE_RESULT);
  if (convert->has_others) convert_close(convert);
  open_message(convert, ROLE_USER);
  json_out_open(out, '{');
  json_out_member_string(out, "type", "tool_result");
  json_out_member_text(out, "tool_use_id", convert_result(convert, result, &call));
  write_result_content(convert, pieces, index);
  if (result->is_error) json_out_member_raw(out, "is_error", text_plain("true", 4));
  if (result->cache.size > 0) json_out_member_raw(out, "cache_control", result->cache);
  json_out_close(out, '}');
}

/* Writes what is neither a call nor a result. Returns the number of its parts. */
static uint32_t write_others(Convert *convert, const Pieces *pieces, Role role) {
  uint32_t written = 0;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->nested || piece->kind == PIECE_RESULT || piece->kind == PIECE_CALL) continue;
    if (!has_form(convert, piece) || (piece->kind == PIECE_MEDIA && role != ROLE_USER)) {
      if (piece->kind != PIECE_TEXT) convert_lose_piece(convert, piece);
      continue;
    }
    open_message(convert, role);
    convert->has_others = true;
    write_part(convert, piece);
    written++;
  }
  return written;
}

/* A system message in the middle: of its own role where the model takes it, else a user's text. */
static void write_late_system(Convert *convert, const Pieces *pieces) {
  bool kept = convert->is_late_inside;
  convert_close(convert);
  if (!kept) convert_lose(convert, CHANGE_SYSTEM, text_plain("", 0));
  if (write_others(convert, pieces, kept ? ROLE_SYSTEM : ROLE_USER) == 0) {
    convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
  }
  if (kept) convert_close(convert);
}

static void write_message(Convert *convert, const Pieces *pieces) {
  convert_lose_name(convert, pieces);
  if (pieces->role == ROLE_SYSTEM) {
    write_late_system(convert, pieces);
    return;
  }
  uint32_t written = 0;
  Role role = pieces->role == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind != PIECE_RESULT) continue;
    write_result(convert, pieces, i);
    written++;
  }
  written += write_others(convert, pieces, role);
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind != PIECE_CALL) continue;
    open_message(convert, role);
    convert_hold(convert, &pieces->list[i]);
    written++;
  }
  if (written == 0) convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
}

static void write_system(Convert *convert, const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_TEXT && piece->text.size > 0) write_part(convert, piece);
    else if (piece->kind != PIECE_TEXT) convert_lose_piece(convert, piece);
  }
}

const PieceReader anthropic_pieces = {.parts = PARTS};

const DialectWriter anthropic_writer = {
  .system = write_system, .message = write_message, .close = close_message,
  .id_max = 64, .unique_ids = true, .signs_reasoning = true, .marks_cache = true,
};
