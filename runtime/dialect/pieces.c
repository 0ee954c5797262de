/*
** Takes a message apart. The members of a message or a part are collected first, since a
** type may be the last of them, and interpreted then: by the dialect's file whose form it is.
*/
#include <assert.h>

#include "dialect/pieces.h"

#define BIT(dialect) (1u << (dialect))

/* A word with its size, in which most words differ already. */
#define WORD(letters) {.bytes = letters, .size = sizeof letters - 1}

static const Text KEY_NAMES[KEY_COUNT] = {
  [KEY_TYPE] = WORD("type"), [KEY_ROLE] = WORD("role"), [KEY_CONTENT] = WORD("content"), [KEY_PARTS] = WORD("parts"),
  [KEY_TEXT] = WORD("text"), [KEY_THINKING] = WORD("thinking"), [KEY_REASONING] = WORD("reasoning"),
  [KEY_REFUSAL] = WORD("refusal"), [KEY_SIGNATURE] = WORD("signature"), [KEY_DATA] = WORD("data"),
  [KEY_ID] = WORD("id"), [KEY_CALL_ID] = WORD("call_id"), [KEY_TOOL_USE_ID] = WORD("tool_use_id"),
  [KEY_TOOL_CALL_ID] = WORD("tool_call_id"), [KEY_NAME] = WORD("name"), [KEY_INPUT] = WORD("input"),
  [KEY_ARGUMENTS] = WORD("arguments"), [KEY_IMAGE_URL] = WORD("image_url"), [KEY_SOURCE] = WORD("source"),
  [KEY_VIDEO_URL] = WORD("video_url"), [KEY_IMAGE] = WORD("image"), [KEY_FILE] = WORD("file"),
  [KEY_FILE_ID] = WORD("file_id"),
  [KEY_FILE_DATA] = WORD("file_data"), [KEY_FILE_URL] = WORD("file_url"), [KEY_FILENAME] = WORD("filename"),
  [KEY_INPUT_AUDIO] = WORD("input_audio"), [KEY_DETAIL] = WORD("detail"), [KEY_TITLE] = WORD("title"),
  [KEY_IS_ERROR] = WORD("is_error"), [KEY_CACHE_CONTROL] = WORD("cache_control"),
  [KEY_BREAKPOINT] = WORD("prompt_cache_breakpoint"), [KEY_TOOL_CALLS] = WORD("tool_calls"),
  [KEY_FUNCTION_CALL] = WORD("function_call"), [KEY_FUNCTION] = WORD("function"), [KEY_CUSTOM] = WORD("custom"),
  [KEY_REASONING_CONTENT] = WORD("reasoning_content"), [KEY_OUTPUT] = WORD("output"), [KEY_SUMMARY] = WORD("summary"),
  [KEY_ENCRYPTED_CONTENT] = WORD("encrypted_content"), [KEY_THOUGHT] = WORD("thought"),
  [KEY_THOUGHT_SIGNATURE] = WORD("thoughtSignature"), [KEY_GEMINI_CALL] = WORD("functionCall"),
  [KEY_GEMINI_RESPONSE] = WORD("functionResponse"), [KEY_INLINE_DATA] = WORD("inlineData"),
  [KEY_FILE_DATA_CAMEL] = WORD("fileData"), [KEY_ARGS] = WORD("args"), [KEY_RESPONSE] = WORD("response"),
  [KEY_MIME_TYPE] = WORD("mimeType"), [KEY_FILE_URI] = WORD("fileUri"), [KEY_DISPLAY_NAME] = WORD("displayName"),
  [KEY_MEDIA_TYPE] = WORD("media_type"), [KEY_URL] = WORD("url"), [KEY_FORMAT] = WORD("format"),
  [KEY_AUDIO] = WORD("audio"), [KEY_EXTRA_CONTENT] = WORD("extra_content"), [KEY_GOOGLE] = WORD("google"),
  [KEY_PROVIDER_FIELDS] = WORD("provider_specific_fields"), [KEY_REASONING_DETAILS] = WORD("reasoning_details"),
  [KEY_TOOL_NAME] = WORD("tool_name"), [KEY_URI] = WORD("uri"), [KEY_DESCRIPTION] = WORD("description"),
  [KEY_RESOURCE] = WORD("resource"), [KEY_BLOB] = WORD("blob"),
  [KEY_CITATIONS] = WORD("citations"), [KEY_ANNOTATIONS] = WORD("annotations"), [KEY_CONTEXT] = WORD("context"),
  [KEY_ENABLED] = WORD("enabled"), [KEY_RESOLUTION] = WORD("mediaResolution"),
  [KEY_TOOL_USE] = WORD("tool_use"), [KEY_TOOL_RESULT] = WORD("tool_result"),
};

/* Other spellings, which Gemini's API takes; function_call and file_data are other dialects' members, too. */
static const struct {
  Text name;
  PieceField field;
} OTHER_NAMES[] = {
  {WORD("thought_signature"), KEY_THOUGHT_SIGNATURE}, {WORD("function_response"), KEY_GEMINI_RESPONSE},
  {WORD("inline_data"), KEY_INLINE_DATA}, {WORD("mime_type"), KEY_MIME_TYPE}, {WORD("file_uri"), KEY_FILE_URI},
  {WORD("display_name"), KEY_DISPLAY_NAME}, {WORD("media_resolution"), KEY_RESOLUTION},
};

const char *media_kind_name(MediaKind kind) {
  static const char *const NAMES[] = {"image", "audio", "video", "file"};
  assert(kind < sizeof NAMES / sizeof *NAMES);
  return NAMES[kind];
}

MediaKind media_kind_of_type(Text type) {
  if (text_starts_with(type, text_of("image/"))) return MEDIA_IMAGE;
  if (text_starts_with(type, text_of("audio/"))) return MEDIA_AUDIO;
  return text_starts_with(type, text_of("video/")) ? MEDIA_VIDEO : MEDIA_FILE;
}

void pieces_init(Pieces *pieces, Memory memory) { *pieces = (Pieces){.memory = memory}; }

void pieces_free(Pieces *pieces) {
  memory_free(&pieces->memory, pieces->list, pieces->room * sizeof *pieces->list);
  pieces->list = NULL;
  pieces->count = pieces->room = 0;
}

/* ---- members ---- */

static bool is_name(Text key, Text name) {
  if (key.escaped) return text_equal(key, name);
  return key.size == name.size && memcmp(key.bytes, name.bytes, key.size) == 0;
}

static uint32_t find_key(Text key) {
  for (uint32_t i = 0; i < KEY_COUNT; i++) {
    if (is_name(key, KEY_NAMES[i])) return i;
  }
  for (size_t i = 0; i < sizeof OTHER_NAMES / sizeof *OTHER_NAMES; i++) {
    if (is_name(key, OTHER_NAMES[i].name)) return OTHER_NAMES[i].field;
  }
  return KEY_COUNT;
}

void piece_fields(Text object, PieceFields *fields) {
  Json json;
  Text key;
  *fields = (PieceFields){0};
  json_open_valid(&json, object.bytes, object.size);
  json_enter(&json);
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) break;
    uint32_t field = find_key(key);
    if (field < KEY_COUNT && value.kind != JSON_NULL) fields->of[field] = value;
  }
}

bool piece_is(const PieceFields *fields, PieceField field, JsonKind kind) {
  assert(field < KEY_COUNT);
  return fields->of[field].bytes != NULL && fields->of[field].kind == kind;
}

Text piece_string(const PieceFields *fields, PieceField field) {
  return piece_is(fields, field, JSON_STRING) ? json_text(&fields->of[field]) : text_plain(NULL, 0);
}

Text piece_json(const PieceFields *fields, PieceField field) {
  const JsonValue *value = &fields->of[field];
  return text_plain(value->bytes, value->size);
}

bool piece_type_refers(Text type) { return text_is(type, "asset_reference") || text_is(type, "asset"); }

bool piece_refers(const Piece *piece) { return piece->kind == PIECE_OTHER && piece_type_refers(piece->type); }

void piece_leave(Piece *piece, PieceField field) {
  uint32_t i = 0;
  while (i < UNSAID_MOST && piece->unsaid[i].size > 0) i++;
  assert(field < KEY_COUNT && i < UNSAID_MOST);
  piece->unsaid[i] = KEY_NAMES[field];
}

/* ---- the list ---- */

Status pieces_add(Pieces *pieces, const Piece *piece) {
  Piece *grown = memory_grow(&pieces->memory, pieces->list, &pieces->room, pieces->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  pieces->list = grown;
  assert(pieces->count < pieces->room && piece->kind <= PIECE_OTHER);
  grown[pieces->count++] = *piece;
  return STATUS_OK;
}

static Status add_text(Pieces *pieces, PieceKind kind, Text text) {
  return pieces_add(pieces, &(Piece){.kind = kind, .text = text});
}

/* ---- parts ---- */

void media_name(Media *media, const PieceFields *fields, PieceField field) {
  media->name = piece_string(fields, field);
  media->name_member = KEY_NAMES[field];
}

void media_from_url(Media *media, Text url) {
  static const char SCHEME[] = "data:", BASE64[] = ";base64,";
  size_t scheme = sizeof SCHEME - 1, base64 = sizeof BASE64 - 1;
  if (url.size > scheme && memcmp(url.bytes, SCHEME, scheme) == 0) {
    for (size_t at = scheme; at + base64 <= url.size && url.bytes[at] != ','; at++) {
      if (memcmp(url.bytes + at, BASE64, base64) != 0) continue;
      media->type = (Text){.bytes = url.bytes + scheme, .size = at - scheme, .escaped = url.escaped};
      media->data = (Text){.bytes = url.bytes + at + base64, .size = url.size - at - base64, .escaped = url.escaped};
      return;
    }
  }
  media->url = url;
}

Status part_read_text(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_TEXT;
  piece->text = piece_string(fields, KEY_TEXT);
  return pieces_add(pieces, piece);
}

Status part_read_refusal(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_REFUSAL;
  piece->text = piece_string(fields, KEY_REFUSAL);
  return pieces_add(pieces, piece);
}

Status part_read_image_url(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner = *fields;
  if (piece_is(fields, KEY_IMAGE_URL, JSON_OBJECT)) piece_fields(piece_json(fields, KEY_IMAGE_URL), &inner);
  bool is_string = piece_is(fields, KEY_IMAGE_URL, JSON_STRING);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_IMAGE, .detail = piece_string(&inner, KEY_DETAIL)};
  media_from_url(&piece->media, piece_string(&inner, is_string ? KEY_IMAGE_URL : KEY_URL));
  return pieces_add(pieces, piece);
}

Status part_read_audio(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner;
  piece_fields(piece_json(fields, KEY_INPUT_AUDIO), &inner);
  Text format = piece_string(&inner, KEY_FORMAT);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_AUDIO, .data = piece_string(&inner, KEY_DATA),
                         .type = text_of(text_is(format, "mp3") ? "audio/mpeg" : "audio/wav")};
  return pieces_add(pieces, piece);
}

/* Notes in which dialects' form a part of this type is, and finds how it is read. */
static const PartForm *find_form(Pieces *pieces, Text type) {
  unsigned known = 0;
  const PartForm *found = NULL;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    const PartForm *form = dialect_form((Dialect)i)->pieces->parts;
    if (dialect_has_part((Dialect)i, type)) known |= 1u << i;
    while (form->type != NULL && !text_is(type, form->type)) form++;
    if (found == NULL && form->type != NULL) found = form;
  }
  if (known != 0) pieces->dialects &= known;
  if (found != NULL) return found;
  for (found = other_parts; found->type != NULL && !text_is(type, found->type);) found++;
  return found;
}

static bool is_filled_list(const PieceFields *fields, PieceField field) {
  return piece_is(fields, field, JSON_ARRAY) && fields->of[field].size > 2;
}

/* True for the sources of a text, or the wish for them. */
static bool has_citations(const PieceFields *fields) {
  PieceFields inner = {0};
  if (piece_is(fields, KEY_CITATIONS, JSON_OBJECT)) piece_fields(piece_json(fields, KEY_CITATIONS), &inner);
  return is_filled_list(fields, KEY_CITATIONS) || piece_is(&inner, KEY_ENABLED, JSON_TRUE);
}

static Status add_part(Pieces *pieces, const JsonValue *part, bool nested) {
  PieceFields fields;
  Piece piece = {.kind = PIECE_OTHER, .nested = nested, .json = text_plain(part->bytes, part->size)};
  if (part->kind == JSON_STRING) {
    piece.kind = PIECE_TEXT;
    piece.text = json_text(part);
    pieces->dialects = 0;
    return pieces_add(pieces, &piece);
  }
  piece_fields(piece.json, &fields);
  piece.type = piece_string(&fields, KEY_TYPE);
  piece.cache = piece_json(&fields, KEY_CACHE_CONTROL);
  if (has_citations(&fields)) piece_leave(&piece, KEY_CITATIONS);
  else if (is_filled_list(&fields, KEY_ANNOTATIONS)) piece_leave(&piece, KEY_ANNOTATIONS);
  if (piece_is(&fields, KEY_BREAKPOINT, JSON_OBJECT)) piece.cache = text_of("{\"type\":\"ephemeral\"}");
  return find_form(pieces, piece.type)->read(pieces, &piece, &fields);
}

Status pieces_add_parts(Pieces *pieces, const JsonValue *list, bool nested) {
  Json json;
  JsonValue part;
  Status status = STATUS_OK;
  json_open_valid(&json, list->bytes, list->size);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &part)) {
    status = add_part(pieces, &part, nested);
  }
  return status;
}

Status pieces_add_result(Pieces *pieces, Piece result, const JsonValue *content) {
  result.kind = PIECE_RESULT;
  if (content->bytes != NULL && content->kind == JSON_STRING) result.text = json_text(content);
  else if (content->bytes != NULL && content->kind != JSON_ARRAY) {
    result.text = text_plain(content->bytes, content->size);
    result.is_object = true;
  }
  Status status = pieces_add(pieces, &result);
  bool parts = status == STATUS_OK && content->bytes != NULL && content->kind == JSON_ARRAY;
  return parts ? pieces_add_parts(pieces, content, true) : status;
}

/* ---- messages with content ---- */

static Status add_call(Pieces *pieces, const JsonValue *value) {
  PieceFields fields, inner = {0};
  piece_fields(text_plain(value->bytes, value->size), &fields);
  bool custom = piece_is(&fields, KEY_CUSTOM, JSON_OBJECT);
  Text function = piece_json(&fields, custom ? KEY_CUSTOM : KEY_FUNCTION);
  if (function.size > 0 && function.bytes[0] == '{') piece_fields(function, &inner);
  PieceField arguments = custom ? KEY_INPUT : KEY_ARGUMENTS;
  bool text = piece_is(&inner, arguments, JSON_STRING);
  Piece call = {.kind = PIECE_CALL, .is_custom = custom, .is_object = !text,
                .id = piece_string(&fields, KEY_ID), .name = piece_string(&inner, KEY_NAME),
                .arguments = text ? piece_string(&inner, arguments) : piece_json(&inner, arguments)};
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    const PieceReader *reader = dialect_form((Dialect)i)->pieces;
    if (reader->sign_call != NULL) reader->sign_call(pieces, &fields, &call);
  }
  return pieces_add(pieces, &call);
}

static Status add_calls(Pieces *pieces, const PieceFields *fields) {
  Status status = STATUS_OK;
  if (piece_is(fields, KEY_FUNCTION_CALL, JSON_OBJECT)) {
    PieceFields inner;
    piece_fields(piece_json(fields, KEY_FUNCTION_CALL), &inner);
    Piece call = {.kind = PIECE_CALL, .name = piece_string(&inner, KEY_NAME),
                  .arguments = piece_string(&inner, KEY_ARGUMENTS)};
    status = pieces_add(pieces, &call);
    pieces->dialects &= BIT(DIALECT_OPENAI);
  }
  if (status != STATUS_OK || !piece_is(fields, KEY_TOOL_CALLS, JSON_ARRAY)) return status;
  Json json;
  JsonValue call;
  json_open_valid(&json, fields->of[KEY_TOOL_CALLS].bytes, fields->of[KEY_TOOL_CALLS].size);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &call)) status = add_call(pieces, &call);
  pieces->dialects &= BIT(DIALECT_OPENAI);
  return status;
}

/* True for the content of a message of role tool whose results are parts, each with the id of its call. */
static bool has_results(const PieceFields *fields) {
  Json json;
  JsonValue part;
  bool found = false;
  if (!piece_is(fields, KEY_CONTENT, JSON_ARRAY)) return false;
  json_open_valid(&json, fields->of[KEY_CONTENT].bytes, fields->of[KEY_CONTENT].size);
  json_enter(&json);
  while (!found && json_next_element(&json) && json_value(&json, &part)) {
    PieceFields inner = {0};
    if (part.kind == JSON_OBJECT) piece_fields(text_plain(part.bytes, part.size), &inner);
    found = text_is(piece_string(&inner, KEY_TYPE), "tool_result");
  }
  return found;
}

static Status read_tool(Pieces *pieces, const PieceFields *fields) {
  if (has_results(fields)) {
    pieces->dialects = 0;
    return pieces_add_parts(pieces, &fields->of[KEY_CONTENT], false);
  }
  Piece result = {.id = piece_string(fields, KEY_TOOL_CALL_ID), .name = piece_string(fields, KEY_NAME)};
  if (result.id.size == 0) result.id = result.name;
  Status status = pieces_add_result(pieces, result, &fields->of[KEY_CONTENT]);
  pieces->dialects &= BIT(DIALECT_OPENAI);
  for (uint32_t i = 1; status == STATUS_OK && i < pieces->count; i++) {
    if (pieces->list[i].kind != PIECE_TEXT) pieces->dialects = 0;        /* its results are texts only */
  }
  return status;
}

/* Reads a message of openai or anthropic, or a message item of responses. */
static Status read_content(Pieces *pieces, const PieceFields *fields) {
  Status status = STATUS_OK;
  Text reasoning = piece_string(fields, KEY_REASONING_CONTENT), refusal = piece_string(fields, KEY_REFUSAL);
  if (reasoning.size > 0) status = add_text(pieces, PIECE_REASONING, reasoning);
  if (status == STATUS_OK && piece_is(fields, KEY_CONTENT, JSON_STRING)) {
    status = add_text(pieces, PIECE_TEXT, piece_string(fields, KEY_CONTENT));
  }
  if (status == STATUS_OK && piece_is(fields, KEY_CONTENT, JSON_ARRAY)) {
    status = pieces_add_parts(pieces, &fields->of[KEY_CONTENT], false);
  }
  if (status == STATUS_OK && refusal.size > 0) status = add_text(pieces, PIECE_REFUSAL, refusal);
  if (status == STATUS_OK) status = add_calls(pieces, fields);
  for (unsigned i = 0; i < DIALECT_COUNT && status == STATUS_OK; i++) {
    const PieceReader *reader = dialect_form((Dialect)i)->pieces;
    if (reader->sign_message != NULL) status = reader->sign_message(pieces, fields);
  }
  return status;
}

static Status read_message(Pieces *pieces, const PieceFields *fields) {
  if (pieces->role != ROLE_TOOL) pieces->name = piece_string(fields, KEY_NAME);
  bool item = piece_is(fields, KEY_TYPE, JSON_STRING);
  bool openai = pieces->name.size > 0 || piece_string(fields, KEY_REASONING_CONTENT).size > 0 ||
                piece_string(fields, KEY_REFUSAL).size > 0 || piece_is(fields, KEY_AUDIO, JSON_OBJECT) ||
                fields->of[KEY_CONTENT].bytes == NULL;
  if (openai) pieces->dialects &= BIT(DIALECT_OPENAI);
  if (item) pieces->dialects &= BIT(DIALECT_RESPONSES);
  return pieces->role == ROLE_TOOL ? read_tool(pieces, fields) : read_content(pieces, fields);
}

Status pieces_read(Pieces *pieces, Text raw) {
  PieceFields fields;
  piece_fields(raw, &fields);
  pieces->count = 0;
  pieces->signature_places = 0;
  pieces->fits_inside = false;
  pieces->name = text_plain(NULL, 0);
  pieces->role = ROLE_NONE;
  pieces->role_text = piece_string(&fields, KEY_ROLE);
  if (pieces->role_text.size > 0) role_parse(pieces->role_text, &pieces->role);
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    const PieceReader *reader = dialect_form((Dialect)i)->pieces;
    if (reader->owns == NULL || !reader->owns(&fields)) continue;
    pieces->dialects = 1u << i;
    return reader->read(pieces, &fields, raw);
  }
  pieces->dialects = DIALECTS_ALL & ~BIT(DIALECT_GEMINI);
  Status status = read_message(pieces, &fields);
  if (pieces->role != ROLE_SYSTEM) return status;
  pieces->fits_inside = (pieces->dialects & BIT(DIALECT_ANTHROPIC)) != 0;
  pieces->dialects &= ~BIT(DIALECT_ANTHROPIC);
  return status;
}
