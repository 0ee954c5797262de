/*
** What the dialects' files share across messages: the open message, the pieces that wait
** for its end, ids of calls, and texts that are put together.
*/
#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "dialect/convert/convert.h"

/* ---- the open message ---- */

static void note_origin(Convert *convert) {
  ConvertReport *report = convert->report;
  ConvertOrigin origin = {convert->index, convert->index};
  if (convert->closing && convert->held_count > 0) {
    origin = (ConvertOrigin){convert->held[0].index, convert->held[convert->held_count - 1].index};
  }
  ConvertOrigin *grown = memory_grow(&report->memory, report->origins, &report->origin_room, report->origin_count,
                                     sizeof *grown);
  if (grown == NULL) {
    convert_fail(convert, STATUS_MEMORY);
    return;
  }
  report->origins = grown;
  grown[report->origin_count++] = origin;
}

void convert_begin(Convert *convert) {
  if (convert->options->lines && convert->written > 0) json_out_line(convert->out);
  if (convert->report->with_origins) note_origin(convert);
  convert->written++;
}

/* What ends may be of an earlier message. */
void convert_close(Convert *convert) {
  uint32_t index = convert->index;
  convert->closing = true;
  if (convert->status == STATUS_OK) convert->writer->close(convert);
  convert->closing = false;
  convert->index = index;
}

void convert_hold(Convert *convert, const Piece *piece) {
  const Memory *memory = &convert->pieces.memory;
  Piece *grown = memory_grow(memory, convert->held, &convert->held_room, convert->held_count, sizeof *grown);
  if (grown == NULL) {
    convert_fail(convert, STATUS_MEMORY);
    return;
  }
  convert->held = grown;
  grown[convert->held_count] = *piece;
  grown[convert->held_count++].index = convert->index;
}

const Piece *convert_held(Convert *convert, uint32_t number) {
  assert(number < convert->held_count);
  convert->index = convert->held[number].index;
  return &convert->held[number];
}

void convert_hold_media(Convert *convert, const Pieces *pieces, uint32_t result, bool (*has_form)(const Piece *piece)) {
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind == PIECE_TEXT) continue;
    if (!has_form(piece)) convert_lose_piece(convert, piece);
    else {
      convert_lose(convert, CHANGE_RESULT_MEDIA, text_of(media_kind_name(piece->media.kind)));
      convert_hold(convert, piece);
    }
  }
}

void convert_lose_nested(Convert *convert, const Pieces *pieces, uint32_t result) {
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    PieceKind kind = pieces->list[i].kind;
    if (kind != PIECE_TEXT && kind != PIECE_MEDIA) convert_lose_piece(convert, &pieces->list[i]);
  }
}

/* ---- ids of calls ---- */

static size_t id_max(const Convert *convert) {
  return convert->options->id_max > 0 ? convert->options->id_max : convert->writer->id_max;
}

static bool is_valid_id(const Convert *convert, Text id) {
  bool alphanumeric = convert->options->alphanumeric_ids, any = convert->writer->any_character && !alphanumeric;
  if (id.size == 0 || id.escaped || id.size < convert->options->id_min || id.size > id_max(convert)) return false;
  for (size_t i = 0; i < id.size && !any; i++) {
    char c = id.bytes[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && (alphanumeric || (c != '_' && c != '-'))) return false;
  }
  return true;
}

static bool is_used(const Convert *convert, Text id) {
  return map_find(&convert->used, hash_text(id, &convert->calls.key)) != NULL;
}

/* Makes the id of the n-th call with an id that is not valid or in use: equal conversations get equal ids. */
static Text make_id(const Convert *convert, Text id, uint64_t n, char room[24]) {
  static const HashKey FIXED = {{0, 0}};
  uint64_t hash = hash_text(id, &FIXED) + n * UINT64_C(0x9e3779b97f4a7c15);
  size_t most = id_max(convert);
  bool bare = convert->options->alphanumeric_ids || most < CALL_ID_MADE + 5;
  Text made = {.bytes = bare ? room + 5 : room, .size = bare ? CALL_ID_MADE : CALL_ID_MADE + 5};
  assert(most >= CALL_ID_LEAST && convert->options->id_min <= CALL_ID_MADE);   /* else all may be in use */
  if (made.size > most) made.size = most;
  memcpy(room, "call_", 5);
  do {
    unsigned char bytes[8];
    for (uint32_t i = 0; i < 8; i++) bytes[i] = (unsigned char)(hash >> (56 - 8 * i));
    hex_write(room + 5, bytes, sizeof bytes);
    hash = hash * UINT64_C(6364136223846793005) + 1;
  } while (is_used(convert, made));
  return made;
}

/* Counts the calls with an id: 0 for the first. */
static uint64_t count_id(Convert *convert, Text id) {
  uint64_t hash = hash_text(id, &convert->calls.key), *count = map_find(&convert->used, hash);
  uint64_t before = count == NULL ? 0 : *count;
  convert_fail(convert, map_put(&convert->used, hash, before + 1));
  return before;
}

/* The id of a call whose results have no other key is its name. */
static Text key_of(const Piece *piece) { return piece->id.size > 0 ? piece->id : piece->name; }

/* Starts the ids of another step: results come directly behind the calls of their step. */
static void next_step(Convert *convert) {
  if (!convert->answered) return;
  calls_reset(&convert->calls);
  convert->answered = false;
}

/* Adds the id of a call as it is written. STATUS_MEMORY, STATUS_LIMIT. */
static Status add_id(Convert *convert, Text id) {
  Status status = text_decode(id, &convert->ids);
  return status == STATUS_OK && convert->ids.size > UINT32_MAX ? STATUS_LIMIT : status;
}

/* An id as it was added. Where all are empty there are no bytes. */
static Text id_at(const Convert *convert, size_t at, size_t size) {
  assert(at + size <= convert->ids.size);
  return size == 0 ? text_plain("", 0) : text_plain(convert->ids.bytes + at, size);
}

static Text note_id(Convert *convert, const Piece *call, bool keeps) {
  char room[24];
  const DialectWriter *writer = convert->writer;
  uint64_t before = count_id(convert, key_of(call));
  bool kept = keeps || (is_valid_id(convert, call->id) && !(writer->unique_ids && before > 0));
  Text id = kept ? call->id : make_id(convert, key_of(call), before, room);
  if (!kept && call->id.size > 0) convert_lose(convert, CHANGE_ID, call->id);
  size_t at = convert->ids.size;
  Status status = kept ? STATUS_OK : map_put(&convert->used, hash_text(id, &convert->calls.key), 1);
  if (status == STATUS_OK) status = add_id(convert, id);
  convert_fail(convert, status);
  return status == STATUS_OK ? id_at(convert, at, convert->ids.size - at) : text_plain("", 0);
}

/* The number in the pairing of the next call, or result, of the current message; UNPAIRED: it is not known. */
static uint32_t next_number(Convert *convert, bool is_call) {
  const Pairing *pairing = convert->pairing;
  uint32_t index = convert->index, *seen = is_call ? &convert->calls_seen : &convert->results_seen;
  if (pairing == NULL || index >= pairing->count) return UNPAIRED;
  if (convert->counted != index) convert->calls_seen = convert->results_seen = 0;
  convert->counted = index;
  const uint32_t *first = is_call ? pairing->first_call : pairing->first_result;
  return *seen < first[index + 1] - first[index] ? first[index] + (*seen)++ : UNPAIRED;
}

/* How the call is written that answers a result of the pairing. Of a call that is still to come the id is made now. */
static const CallNames *find_names(Convert *convert, uint32_t result) {
  uint32_t number = result == UNPAIRED ? UNPAIRED : convert->pairing->results[result].call;
  if (number == UNPAIRED || convert->status != STATUS_OK) return NULL;
  CallNames *known = &convert->known[number];
  if (known->at == UINT32_MAX) {
    const PairedCall *call = &convert->pairing->calls[number];
    bool by_name = call->id.bytes == call->name.bytes;       /* a function_call, which has no id */
    Piece piece = {.kind = PIECE_CALL, .id = by_name ? text_plain("", 0) : call->id, .name = call->name};
    Text id = note_id(convert, &piece, false);
    *known = (CallNames){.name = call->name, .at = (uint32_t)(convert->ids.size - id.size), .size = (uint32_t)id.size};
  }
  return known;
}

static Text open_call(Convert *convert, const Piece *call, bool keeps) {
  uint32_t number = next_number(convert, true);
  next_step(convert);
  uint32_t index = convert->calls.count;
  const Memory *memory = &convert->pieces.memory;
  CallNames *grown = memory_grow(memory, convert->names, &convert->names_room, index, sizeof *grown);
  if (grown != NULL) convert->names = grown;
  convert_fail(convert, grown == NULL ? STATUS_MEMORY : calls_open(&convert->calls, key_of(call)));
  if (convert->status != STATUS_OK) return text_plain("", 0);
  bool is_known = number != UNPAIRED && convert->known[number].at != UINT32_MAX && !keeps;
  Text id = is_known ? id_at(convert, convert->known[number].at, convert->known[number].size)
                     : note_id(convert, call, keeps);
  size_t at = is_known ? convert->known[number].at : convert->ids.size - id.size;
  convert->names[index] = (CallNames){.name = call->name, .is_custom = call->is_custom,
                                      .at = (uint32_t)at, .size = (uint32_t)id.size};
  if (number == UNPAIRED) return id;
  convert->known[number] = convert->names[index];
  convert_fail(convert, map_put(&convert->last, hash_text(key_of(call), &convert->calls.key), number));
  return id;
}

Text convert_call(Convert *convert, const Piece *call) { return open_call(convert, call, false); }

Text convert_last_id(const Convert *convert, uint32_t back) {
  assert(back > 0 && back <= convert->calls.count);
  const CallNames *call = &convert->names[convert->calls.count - back];
  return id_at(convert, call->at, call->size);
}

void convert_note(Convert *convert, const Piece *piece) {
  CallNames call;
  assert(piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT);
  if (piece->kind == PIECE_CALL) open_call(convert, piece, true);
  else convert_result(convert, piece, &call);
}

/* How the call is written whose id a result has that answers none: another result answers it. NULL: there is none. */
static const CallNames *find_again(Convert *convert, Text key) {
  const uint64_t *number = map_find(&convert->last, hash_text(key, &convert->calls.key));
  return number == NULL ? NULL : &convert->known[*number];
}

Text convert_result(Convert *convert, const Piece *result, CallNames *call) {
  uint32_t index = 0;
  convert->answered = true;
  Text key = key_of(result);
  *call = (CallNames){.name = result->name, .is_custom = result->is_custom};
  const CallNames *known = find_names(convert, next_number(convert, false));
  if (convert->status != STATUS_OK) return key;      /* a call may have been opened without its names */
  bool fits = calls_answer(&convert->calls, key, &index) == ANSWER_FITS;
  if (known == NULL && !fits) known = find_again(convert, key);
  if (known == NULL && !fits) return key;
  *call = known != NULL ? *known : convert->names[index];
  return id_at(convert, call->at, call->size);
}

/* ---- texts ---- */

static bool is_blank(Text text) {
  for (size_t i = 0; i < text.size; i++) {
    if (!strchr(" \t\r\n", text.bytes[i])) return false;
  }
  return true;
}

static bool is_object(Text json) {
  Json cursor;
  JsonValue value;
  json_open(&cursor, json.bytes, json.size);
  cursor.depth_max -= CONVERT_DEPTH_OF_ARGUMENTS;
  return json_value(&cursor, &value) && value.kind == JSON_OBJECT && json_end(&cursor);
}

bool convert_is_object(Convert *convert, Text *text) {
  if (text->escaped) {
    buffer_reset(&convert->scratch);
    convert_fail(convert, text_decode(*text, &convert->scratch));
    *text = text_plain(convert->scratch.bytes, convert->scratch.size);
  }
  return is_object(*text);
}

Text convert_arguments_object(Convert *convert, const Piece *call) {
  Buffer *scratch = &convert->scratch;
  Text arguments = call->arguments;
  bool object = convert_is_object(convert, &arguments);
  if (is_blank(arguments)) return text_plain("{}", 2);
  if (!call->is_custom && object) return arguments;
  if (!call->is_custom) convert_lose(convert, CHANGE_ARGUMENTS, key_of(call));
  buffer_reset(scratch);
  Status status = buffer_add_string(scratch, "{\"input\":");
  if (status == STATUS_OK && !call->is_object) status = buffer_add(scratch, "\"", 1);
  if (status == STATUS_OK && call->is_object) status = buffer_add(scratch, call->arguments.bytes, call->arguments.size);
  if (status == STATUS_OK && !call->is_object) status = text_escape(call->arguments, scratch);
  if (status == STATUS_OK) status = buffer_add_string(scratch, call->is_object ? "}" : "\"}");
  convert_fail(convert, status);
  return status == STATUS_OK ? text_plain(scratch->bytes, scratch->size) : text_plain("{}", 2);
}

void convert_arguments_text(Convert *convert, const Piece *call) {
  json_out_text(convert->out, call->arguments.size > 0 ? call->arguments : text_plain("{}", 2));
}

bool convert_has_media(const Pieces *pieces, uint32_t result) {
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    if (pieces->list[i].kind == PIECE_MEDIA) return true;
  }
  return false;
}

Text convert_result_text(Convert *convert, const Pieces *pieces, uint32_t result) {
  const Piece *first = &pieces->list[result];
  Buffer *scratch = &convert->scratch;
  uint32_t texts = 0;
  if (first->text.size > 0) return first->text;
  buffer_reset(scratch);
  for (uint32_t i = result + 1; i < pieces->count && pieces->list[i].nested; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind != PIECE_TEXT) continue;
    if (texts++ > 0) convert_fail(convert, buffer_add(scratch, "\n", 1));
    convert_fail(convert, text_decode(piece->text, scratch));
  }
  return text_plain(scratch->bytes, scratch->size);
}

Text convert_file_name(const Media *media) {
  static const struct {
    const char *type, *name;
  } usual[] = {
    {"application/pdf", "document.pdf"}, {"text/plain", "document.txt"}, {"text/html", "document.html"},
    {"text/csv", "document.csv"}, {"text/markdown", "document.md"}, {"application/json", "document.json"},
    {"text/xml", "document.xml"}, {"application/xml", "document.xml"}, {"application/rtf", "document.rtf"},
    {"application/msword", "document.doc"}, {"application/vnd.ms-excel", "document.xls"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document.docx"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "document.xlsx"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation", "document.pptx"},
  };
  if (media->name.size > 0) return media->name;
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    if (text_is(media->type, usual[i].type)) return text_of(usual[i].name);
  }
  return text_of(media->type.size == 0 ? "document.pdf" : "document.txt");
}

Text convert_data_uri(Convert *convert, const Media *media) {
  Buffer *scratch = &convert->scratch;
  buffer_reset(scratch);
  Status status = buffer_add_string(scratch, "data:");
  bool is_document = media->kind == MEDIA_FILE;
  Text usual = text_of(is_document ? "application/pdf" : "application/octet-stream");
  Text type = media->type.size > 0 ? media->type : usual;
  if (status == STATUS_OK) status = text_decode(type, scratch);
  if (status == STATUS_OK) status = buffer_add_string(scratch, ";base64,");
  if (status == STATUS_OK) status = text_decode(media->data, scratch);
  convert_fail(convert, status);
  return text_plain(scratch->bytes, scratch->size);
}
