/*
** Parts that are told by the texts that they hold, where the target has no such parts: results of searches, names of
** tools, and the parts of the Model Context Protocol, which programs leave in results.
**
**     {"type":"search_result","title":"Inns","source":"https://a/b","content":[{"type":"text","text":"The Swan"}]}
**     {"type":"tool_reference","tool_name":"stop"}
**     {"type":"resource_link","uri":"file:///a.pdf","name":"a"}
**     {"type":"resource","resource":{"uri":"file:///a.txt","text":".."}}          or "blob", in base64, and "mimeType"
**
** Each text is a piece; the first one has the part, which is reported by its type.
*/
#include <assert.h>
#include <string.h>

#include "dialect/pieces.h"

/* Adds a text of the part; an empty one says nothing. */
static Status add_text(Pieces *pieces, Piece *piece, Text text) {
  Piece said = *piece;
  if (text.size == 0) return STATUS_OK;
  said.kind = PIECE_TEXT;
  said.text = text;
  Status status = pieces_add(pieces, &said);
  piece->json = piece->cache = text_plain(NULL, 0);
  piece->stands_in = false;
  memset(piece->unsaid, 0, sizeof piece->unsaid);
  return status;
}

Status part_add_texts(Pieces *pieces, Piece *piece, const Text texts[], size_t count) {
  Status status = STATUS_OK;
  uint32_t before = pieces->count;
  piece->stands_in = true;
  for (size_t i = 0; i < count && status == STATUS_OK; i++) status = add_text(pieces, piece, texts[i]);
  if (status != STATUS_OK || pieces->count > before) return status;
  piece->stands_in = false;
  return pieces_add(pieces, piece);
}

/* Notes for a piece what the part around it leaves, each member once. */
static void leave_too(Piece *piece, const Piece *outer) {
  for (uint32_t i = 0; i < UNSAID_MOST && outer->unsaid[i].size > 0; i++) {
    uint32_t at = 0;
    while (at < UNSAID_MOST && piece->unsaid[at].size > 0 && !text_equal(piece->unsaid[at], outer->unsaid[i])) at++;
    assert(at < UNSAID_MOST);
    piece->unsaid[at] = outer->unsaid[i];
  }
}

Status part_add_list(Pieces *pieces, Piece *piece, const Text texts[], size_t count, const JsonValue *content) {
  uint32_t before = pieces->count;
  Status status = part_add_texts(pieces, piece, texts, count);
  if (status != STATUS_OK || content->bytes == NULL || content->kind != JSON_ARRAY) return status;
  bool is_said = pieces->list[before].kind == PIECE_TEXT;
  if (!is_said) pieces->count = before;
  uint32_t first = pieces->count;
  status = pieces_add_parts(pieces, content, piece->nested);
  if (status != STATUS_OK || is_said) return status;
  if (pieces->count == first) return pieces_add(pieces, piece);
  pieces->list[first].stands_in = true;
  pieces->list[first].type = piece->type;
  leave_too(&pieces->list[first], piece);
  return STATUS_OK;
}

static Status read_search_result(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  Text texts[] = {piece_string(fields, KEY_TITLE), piece_string(fields, KEY_SOURCE)};
  return part_add_list(pieces, piece, texts, 2, &fields->of[KEY_CONTENT]);
}

static Status read_tool_reference(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  Text name = piece_string(fields, KEY_TOOL_NAME);
  return part_add_texts(pieces, piece, &name, 1);
}

/* Adds the texts of a resource, or of a link to one: its name, its title if that is another one, its address. */
static Status add_resource(Pieces *pieces, Piece *piece, const PieceFields *fields, Text says) {
  Text name = piece_string(fields, KEY_NAME), title = piece_string(fields, KEY_TITLE);
  if (text_equal(name, title)) title = text_plain(NULL, 0);
  Text texts[] = {name, title, piece_string(fields, KEY_URI), says};
  return part_add_texts(pieces, piece, texts, 4);
}

static Status read_resource_link(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  return add_resource(pieces, piece, fields, piece_string(fields, KEY_DESCRIPTION));
}

static Status read_resource(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  PieceFields inner = {0};
  if (piece_is(fields, KEY_RESOURCE, JSON_OBJECT)) piece_fields(piece_json(fields, KEY_RESOURCE), &inner);
  Text blob = piece_string(&inner, KEY_BLOB), type = piece_string(&inner, KEY_MIME_TYPE);
  if (blob.size == 0) return add_resource(pieces, piece, &inner, piece_string(&inner, KEY_TEXT));
  bool is_named = piece_string(&inner, KEY_NAME).size > 0;
  if (piece_string(&inner, KEY_URI).size > 0) piece_leave(piece, KEY_URI);
  if (is_named && piece_string(&inner, KEY_TITLE).size > 0) piece_leave(piece, KEY_TITLE);
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = media_kind_of_type(type), .type = type, .data = blob};
  media_name(&piece->media, &inner, is_named ? KEY_NAME : KEY_TITLE);
  return pieces_add(pieces, piece);
}

static Status read_audio(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  piece->kind = PIECE_MEDIA;
  piece->media = (Media){.kind = MEDIA_AUDIO, .type = piece_string(fields, KEY_MIME_TYPE),
                         .data = piece_string(fields, KEY_DATA)};
  return pieces_add(pieces, piece);
}

/* A part of an unknown type keeps its text. */
static Status read_unknown(Pieces *pieces, Piece *piece, const PieceFields *fields) {
  Text text = piece_string(fields, KEY_TEXT);
  return part_add_texts(pieces, piece, &text, 1);
}

const PartForm other_parts[] = {
  {"search_result", read_search_result}, {"tool_reference", read_tool_reference},
  {"resource_link", read_resource_link}, {"resource", read_resource}, {"audio", read_audio}, {NULL, read_unknown},
};
