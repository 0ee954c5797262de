/*
** OpenAI's Chat Completions: reads its parts, writes its messages.
**
** A result is a message of its own, without media: a user message behind all results of the
** step shows them. An assistant's text and calls are one message, also where they were
** separate items.
*/
#include <assert.h>

#include "dialect/convert/convert.h"

/* ---- reading ---- */

static Status read_file(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner;
  piece_fields(piece_json(fields, KEY_FILE), &inner);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_FILE, .file = piece_string(&inner, KEY_FILE_ID)};
  media_name(&piece->media, &inner, KEY_FILENAME);
  media_from_url(&piece->media, piece_string(&inner, KEY_FILE_DATA));
  return pieces_add(pieces, piece);
}

/* A video of compatible servers: {"video_url": {"url"}}, which OpenAI itself does not take. */
static Status read_video(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner;
  piece_fields(piece_json(fields, KEY_VIDEO_URL), &inner);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_VIDEO};
  media_from_url(&piece->media, piece_string(&inner, KEY_URL));
  return pieces_add(pieces, piece);
}

static const PartForm PARTS[] = {
  {"text", part_read_text}, {"refusal", part_read_refusal}, {"image_url", part_read_image_url},
  {"input_audio", part_read_audio}, {"file", read_file}, {"video_url", read_video},
  {NULL, NULL},
};

/* ---- parts ---- */

static const char *audio_format(Text type) {
  if (text_is(type, "audio/wav") || text_is(type, "audio/x-wav")) return "wav";
  return text_is(type, "audio/mpeg") || text_is(type, "audio/mp3") ? "mp3" : NULL;
}

static bool has_form(const Piece *piece) {
  const Media *media = &piece->media;
  if (piece->kind == PIECE_TEXT || piece->kind == PIECE_REFUSAL) return true;
  if (piece->kind != PIECE_MEDIA) return false;
  if (media->kind == MEDIA_IMAGE) return media->data.size > 0 || media->url.size > 0;
  if (media->kind == MEDIA_AUDIO) return media->data.size > 0 && audio_format(media->type) != NULL;
  return media->kind == MEDIA_FILE && (media->data.size > 0 || media->file.size > 0);
}

static bool is_kept(const Convert *convert, const Piece *piece) {
  return convert->options->keeps_references && piece_refers(piece);
}

static bool is_written(const Convert *convert, const Piece *piece) {
  return has_form(piece) || is_kept(convert, piece);
}

static void write_image(Convert *convert, const Media *media) {
  JsonOut *out = convert->out;
  json_out_member_string(out, "type", "image_url");
  json_out_name(out, "image_url");
  json_out_open(out, '{');
  json_out_member_text(out, "url", media->data.size > 0 ? convert_data_uri(convert, media) : media->url);
  if (media->detail.size > 0) json_out_member_text(out, "detail", media->detail);
  json_out_close(out, '}');
}

static void write_file(Convert *convert, const Media *media) {
  JsonOut *out = convert->out;
  json_out_member_string(out, "type", "file");
  json_out_name(out, "file");
  json_out_open(out, '{');
  if (media->data.size > 0 || media->name.size > 0) json_out_member_text(out, "filename", convert_file_name(media));
  if (media->data.size > 0) json_out_member_text(out, "file_data", convert_data_uri(convert, media));
  else json_out_member_text(out, "file_id", media->file);
  json_out_close(out, '}');
}

static void write_media(Convert *convert, const Media *media) {
  JsonOut *out = convert->out;
  if (media->kind == MEDIA_IMAGE) write_image(convert, media);
  else if (media->kind == MEDIA_FILE) write_file(convert, media);
  else {
    json_out_member_string(out, "type", "input_audio");
    json_out_name(out, "input_audio");
    json_out_open(out, '{');
    json_out_member_text(out, "data", media->data);
    json_out_member_string(out, "format", audio_format(media->type));
    json_out_close(out, '}');
  }
  convert_lose_names(convert, media, media->kind == MEDIA_FILE, media->kind == MEDIA_IMAGE);
}

static void write_part(Convert *convert, const Piece *piece) {
  JsonOut *out = convert->out;
  if (is_kept(convert, piece)) {
    json_out_raw(out, piece->json);
    return;
  }
  json_out_open(out, '{');
  if (piece->kind == PIECE_MEDIA) write_media(convert, &piece->media);
  else {
    json_out_member_string(out, "type", "text");
    json_out_member_text(out, "text", piece->text);
  }
  json_out_close(out, '}');
}

/* ---- messages ---- */

/* Writes the content: a string if there is one text only, else a list. */
static void write_content(Convert *convert, const Piece *list, uint32_t count, uint32_t parts) {
  JsonOut *out = convert->out;
  json_out_name(out, "content");
  if (parts > 1) json_out_open(out, '[');
  for (uint32_t i = 0; i < count; i++) {
    if (!is_written(convert, &list[i]) || list[i].nested) continue;
    if (parts == 1 && (list[i].kind == PIECE_TEXT || list[i].kind == PIECE_REFUSAL)) {
      json_out_text(out, list[i].text);
      return;
    }
    if (parts == 1) json_out_open(out, '[');
    write_part(convert, &list[i]);
    if (parts == 1) json_out_close(out, ']');
  }
  if (parts > 1) json_out_close(out, ']');
}

static const char *system_role(const Convert *convert) { return convert->options->developer ? "developer" : "system"; }

/* Writes what a message has besides results. */
static void write_plain(Convert *convert, const Pieces *pieces) {
  uint32_t parts = 0, results = 0;
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_RESULT) results++;
    if (piece->kind == PIECE_RESULT || piece->nested) continue;
    if (is_written(convert, piece)) parts++;
    else convert_lose_piece(convert, piece);
  }
  if (parts == 0) {
    if (results == 0) convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
    return;
  }
  convert_close(convert);
  convert_begin(convert);
  json_out_open(convert->out, '{');
  json_out_member_string(convert->out, "role", pieces->role == ROLE_SYSTEM ? system_role(convert) : "user");
  if (pieces->name.size > 0) json_out_member_text(convert->out, "name", pieces->name);
  write_content(convert, pieces->list, pieces->count, parts);
  json_out_close(convert->out, '}');
}

/* True for a result that stays a list of parts, since one of them refers to a file. */
static bool refers(const Convert *convert, const Pieces *pieces, uint32_t result) {
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    if (is_kept(convert, &pieces->list[i])) return true;
  }
  return false;
}

/* Writes the parts of a result with their order, media too: what the list is written for in the end sees to them. */
static void write_parts(Convert *convert, const Pieces *pieces, uint32_t result) {
  json_out_name(convert->out, "content");
  json_out_open(convert->out, '[');
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    const Piece *piece = &pieces->list[i];
    if (is_written(convert, piece)) write_part(convert, piece);
    else convert_lose_piece(convert, piece);
  }
  json_out_close(convert->out, ']');
}

static void write_result(Convert *convert, const Pieces *pieces, uint32_t index) {
  const Piece *result = &pieces->list[index];
  JsonOut *out = convert->out;
  CallNames call;
  assert(index < pieces->count && result->kind == PIECE_RESULT);
  if (convert->open != ROLE_TOOL) convert_close(convert);
  convert->open = ROLE_TOOL;
  if (result->is_error) convert_lose(convert, LOSS_ERROR, result->id);
  convert_begin(convert);
  json_out_open(out, '{');
  json_out_member_string(out, "role", "tool");
  json_out_member_text(out, "tool_call_id", convert_result(convert, result, &call));
  bool keeps_parts = refers(convert, pieces, index);
  if (keeps_parts) write_parts(convert, pieces, index);
  else json_out_member_text(out, "content", convert_result_text(convert, pieces, index));
  json_out_close(out, '}');
  if (!keeps_parts) convert_hold_media(convert, pieces, index, has_form);
}

static bool has_kind(const Piece *list, uint32_t count, PieceKind kind) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i].kind == kind) return true;
  }
  return false;
}

/* Holds an assistant's pieces: items of one reply become one message. */
static void hold_assistant(Convert *convert, const Pieces *pieces) {
  assert(pieces->role == ROLE_ASSISTANT);
  bool is_item = pieces->dialects == 1u << DIALECT_RESPONSES;
  bool speaks_again = has_kind(pieces->list, pieces->count, PIECE_TEXT) &&
                      has_kind(convert->held, convert->held_count, PIECE_TEXT);
  bool is_late = speaks_again && !has_kind(convert->held, convert->held_count, PIECE_CALL);
  if (convert->open != ROLE_ASSISTANT || !is_item || is_late) convert_close(convert);
  convert->open = ROLE_ASSISTANT;
  for (uint32_t i = 0; i < pieces->count; i++) convert_hold(convert, &pieces->list[i]);
}

static void write_message(Convert *convert, const Pieces *pieces) {
  if (pieces->role == ROLE_ASSISTANT) {
    hold_assistant(convert, pieces);
    return;
  }
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind == PIECE_RESULT) write_result(convert, pieces, i);
  }
  write_plain(convert, pieces);
}

/* ---- the end of a message ---- */

static void write_call(Convert *convert, const Piece *call) {
  JsonOut *out = convert->out;
  bool signs = call->signs_thought && convert->options->signatures == SIGNATURE_IN_EXTRA_CONTENT;
  json_out_open(out, '{');
  json_out_member_text(out, "id", convert_call(convert, call));
  json_out_member_string(out, "type", call->is_custom ? "custom" : "function");
  json_out_name(out, call->is_custom ? "custom" : "function");
  json_out_open(out, '{');
  json_out_member_text(out, "name", call->name);
  json_out_name(out, call->is_custom ? "input" : "arguments");
  if (call->is_custom) json_out_text(out, call->arguments);
  else convert_arguments_text(convert, call);
  json_out_close(out, '}');
  if (signs) thought_signature_write(out, call->signature);
  json_out_close(out, '}');
}

/* Joins the held texts of a kind: the string's inside of one, else decoded in scratch. */
static Text join_texts(Convert *convert, PieceKind kind) {
  Text first = {0};
  uint32_t count = 0;
  buffer_reset(&convert->scratch);
  for (uint32_t i = 0; i < convert->held_count; i++) {
    const Piece *piece = &convert->held[i];
    if (piece->kind != kind || piece->text.size == 0) continue;
    if (count++ == 0) first = piece->text;
    convert_fail(convert, text_decode(piece->text, &convert->scratch));
  }
  return count <= 1 ? first : text_plain(convert->scratch.bytes, convert->scratch.size);
}

static void write_calls(Convert *convert) {
  if (!has_kind(convert->held, convert->held_count, PIECE_CALL)) return;
  json_out_name(convert->out, "tool_calls");
  json_out_open(convert->out, '[');
  for (uint32_t i = 0; i < convert->held_count; i++) {
    const Piece *piece = convert_held(convert, i);
    if (piece->kind == PIECE_CALL) write_call(convert, piece);
  }
  json_out_close(convert->out, ']');
}

/* True if the message has the signature of a held piece: that of the last text, or in a list those of all texts and
   calls. */
static bool is_signature_written(const Convert *convert, uint32_t number) {
  const Piece *piece = &convert->held[number];
  bool lists = convert->options->signatures == SIGNATURE_IN_DETAILS;
  if (piece->kind == PIECE_CALL) return true;
  if (piece->kind != PIECE_TEXT || lists) return piece->kind == PIECE_TEXT;
  for (uint32_t i = number + 1; i < convert->held_count; i++) {
    if (convert->held[i].kind == PIECE_TEXT && convert->held[i].signs_thought) return false;
  }
  return true;
}

/* Writes the signatures of texts, and those of calls where a list of the message has them. */
static void write_signatures(Convert *convert) {
  uint32_t back = 0, count = 0;
  bool lists = convert->options->signatures == SIGNATURE_IN_DETAILS;
  for (uint32_t i = 0; i < convert->held_count; i++) back += convert->held[i].kind == PIECE_CALL;
  for (uint32_t i = 0; i < convert->held_count && convert->status == STATUS_OK; i++) {
    const Piece *piece = &convert->held[i];
    bool is_call = piece->kind == PIECE_CALL;
    Text id = is_call ? convert_last_id(convert, back--) : text_plain(NULL, 0);
    if (!piece->signs_thought || !is_signature_written(convert, i)) continue;
    if (lists) thought_signature_write_detail(convert->out, piece->signature, id, count++);
    else if (!is_call) thought_signature_write(convert->out, piece->signature);
  }
  if (count > 0) json_out_close(convert->out, ']');
}

/* Reports what an assistant message has no form for. Returns what it has. */
static uint32_t count_assistant(Convert *convert) {
  uint32_t count = 0;
  bool keeps = convert->options->signatures != SIGNATURE_NOWHERE;
  for (uint32_t i = 0; i < convert->held_count; i++) {
    const Piece *piece = convert_held(convert, i);
    bool spoken = piece->kind == PIECE_TEXT || piece->kind == PIECE_REFUSAL || piece->kind == PIECE_CALL;
    bool thought = piece->kind == PIECE_REASONING && convert->options->reasoning_text && piece->text.size > 0;
    bool loses = keeps && piece->signs_thought && !is_signature_written(convert, i);
    if (!spoken && !thought) convert_lose_piece(convert, piece);
    if (loses) convert_lose(convert, LOSS_SIGNATURE, text_plain("", 0));
    count += spoken;
  }
  return count;
}

static void write_assistant(Convert *convert) {
  JsonOut *out = convert->out;
  if (count_assistant(convert) == 0) {
    convert_lose(convert, LOSS_EMPTY, text_plain("", 0));
    return;
  }
  bool calls = has_kind(convert->held, convert->held_count, PIECE_CALL);
  bool refuses = has_kind(convert->held, convert->held_count, PIECE_REFUSAL);
  convert_begin(convert);
  json_out_open(out, '{');
  json_out_member_string(out, "role", "assistant");
  Text reasoning = convert->options->reasoning_text ? join_texts(convert, PIECE_REASONING) : text_plain(NULL, 0);
  if (reasoning.size > 0) json_out_member_text(out, "reasoning_content", reasoning);
  Text text = join_texts(convert, PIECE_TEXT);
  if (text.size > 0 || !(calls || refuses)) json_out_member_text(out, "content", text);
  else json_out_member_raw(out, "content", text_plain("null", 4));
  Text refusal = join_texts(convert, PIECE_REFUSAL);
  if (refuses) json_out_member_text(out, "refusal", refusal);
  write_calls(convert);
  if (convert->options->signatures != SIGNATURE_NOWHERE) write_signatures(convert);
  json_out_close(out, '}');
}

static void write_held_media(Convert *convert) {
  assert(convert->open != ROLE_ASSISTANT && convert->held_count > 0);
  convert_begin(convert);
  json_out_open(convert->out, '{');
  json_out_member_string(convert->out, "role", "user");
  json_out_name(convert->out, "content");
  json_out_open(convert->out, '[');
  for (uint32_t i = 0; i < convert->held_count; i++) write_part(convert, convert_held(convert, i));
  json_out_close(convert->out, ']');
  json_out_close(convert->out, '}');
}

static void close_message(Convert *convert) {
  if (convert->open == ROLE_ASSISTANT) write_assistant(convert);
  else if (convert->held_count > 0) write_held_media(convert);
  convert->open = ROLE_NONE;
  convert->held_count = 0;
}

const PieceReader openai_pieces = {
  .parts = PARTS, .sign_call = thought_signature_of_call, .sign_message = thought_signatures_of_message,
};

const DialectWriter openai_writer = {
  .message = write_message, .close = close_message, .id_max = 40, .any_character = true,
};
