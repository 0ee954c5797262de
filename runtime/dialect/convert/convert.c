/* The driver of conversions: it decides which messages are written as they are. */
#include "codec/image_header.h"
#include "dialect/convert/convert.h"
#include "dialect/dialect_members.h"
#include "json/json_fields.h"

#include <assert.h>
#include <string.h>

bool convert_has_system(Dialect target) { return dialect_form(target)->writer->system != NULL; }

void convert_init(Convert *convert, const ConvertOptions *options, Memory memory, JsonOut *out,
                  ConvertReport *report) {
  *convert = (Convert){.options = options, .out = out, .report = report, .open = ROLE_NONE, .side = ROLE_NONE};
  convert->writer = dialect_form(options->target)->writer;
  pieces_init(&convert->pieces, memory);
  buffer_init(&convert->scratch, memory);
  buffer_init(&convert->ids, memory);
  calls_init(&convert->calls, memory);
  map_init(&convert->used, memory);
  map_init(&convert->last, memory);
}

/* ---- messages ---- */

static bool is_image_taken(const Convert *convert, Text type) {
  static const char *const all[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (text_is(type, all[i])) return true;
  }
  for (const char *const *more = convert->writer->more_images; more != NULL && *more != NULL; more++) {
    if (text_is(type, *more)) return true;
  }
  return false;
}

/* The type that the bytes of an image tell; NULL: they tell none. */
static const char *told_type(const Media *media) {
  bool is_file = media->kind == MEDIA_FILE && (text_is(media->type, "application/octet-stream") ||
                                               text_starts_with(media->type, text_of("image/")));
  return (media->kind == MEDIA_IMAGE || is_file) && media->data.size > 0 ? image_type(media->data) : NULL;
}

static bool has_wrong_type(const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    const Media *media = &pieces->list[i].media;
    const char *type = pieces->list[i].kind == PIECE_MEDIA ? told_type(media) : NULL;
    if (type != NULL && media->type.size > 0 && !text_is(media->type, type)) return true;
  }
  return false;
}

/* Gives an image the type that its bytes tell: a provider refuses another one, and each request that has it. */
static void correct_type(Convert *convert, Media *media) {
  const char *type = told_type(media);
  if (type != NULL) media->kind = MEDIA_IMAGE;
  if (type != NULL && media->type.size > 0 && !text_is(media->type, type)) {
    convert_lose(convert, CHANGE_TYPE, media->type);
  }
  if (type != NULL) media->type = text_of(type);
  bool is_known = media->kind == MEDIA_IMAGE && media->data.size > 0 && media->type.size > 0;
  if (is_known && !is_image_taken(convert, media->type)) convert_lose(convert, CHANGE_REFUSED_TYPE, media->type);
}

/* True if the message may be written as it is. In a conversation of another dialect messages that fit several are
   written anew, so that all have one form; and so are those with thought signatures where the server reads none, and
   those with an image that is called what it is not, but for a trim, which leaves that to a repair. */
static bool is_native(const Convert *convert) {
  unsigned target = 1u << convert->options->target, dialects = convert->pieces.dialects;
  if (convert->pieces.role == ROLE_SYSTEM && convert->writer->system != NULL) {
    return convert->is_late_inside && convert->pieces.fits_inside && !convert->options->is_foreign;
  }
  bool misplaced = (convert->pieces.signature_places & ~(unsigned)convert->options->signatures) != 0;
  bool keeps = convert->options->keep_extra || convert->options->keep_ids;
  if (misplaced && !convert->options->keep_extra) return false;
  if (!keeps && has_wrong_type(&convert->pieces)) return false;
  return convert->options->is_foreign ? dialects == target : (dialects & target) != 0;
}

/* Reports what all targets say alike, or lack: parts that become texts, thought signatures and cache marks. Corrects
   the types of images. */
static void tell_pieces(Convert *convert) {
  const DialectWriter *writer = convert->writer;
  bool signs = writer->signs_thoughts || convert->options->signatures != SIGNATURE_NOWHERE;
  for (uint32_t i = 0; i < convert->pieces.count; i++) {
    Piece *piece = &convert->pieces.list[i];
    if (piece->kind == PIECE_MEDIA) correct_type(convert, &piece->media);
    if (piece->stands_in) convert_lose(convert, CHANGE_PART, piece->type);
    for (uint32_t k = 0; k < UNSAID_MOST && piece->unsaid[k].size > 0; k++) {
      convert_lose(convert, LOSS_MEMBER, piece->unsaid[k]);
    }
    if (piece->signs_thought && !signs) convert_lose(convert, LOSS_SIGNATURE, text_plain("", 0));
    if (piece->cache.size > 0 && !writer->marks_cache) convert_lose(convert, LOSS_CACHE, text_plain("", 0));
  }
}

bool convert_system(Convert *convert, Text raw) {
  if (convert->writer->system == NULL || convert->status != STATUS_OK) return false;
  convert_fail(convert, pieces_read(&convert->pieces, raw));
  if (convert->status != STATUS_OK || convert->pieces.role != ROLE_SYSTEM) return false;
  convert->changed = true;
  bool moves = convert->options->keep_ids && convert->options->late_system && !convert->options->is_foreign;
  if (moves && convert->index != CONVERT_NEVER) convert_lose(convert, CHANGE_PLACE, text_plain("", 0));
  convert_lose_members(convert, raw);
  convert_lose_name(convert, &convert->pieces);
  tell_pieces(convert);
  convert->writer->system(convert, &convert->pieces);
  return true;
}

/* True if the message can stand in a list of a body without being nested too deeply. */
static bool fits_depth(const Convert *convert, Text raw) {
  Json json;
  JsonValue value;
  if (convert->options->lines || !json_may_be_deep(raw, JSON_DEPTH_MAX - CONVERT_DEPTH)) return true;
  json_open_valid(&json, raw.bytes, raw.size);
  json.depth_max -= CONVERT_DEPTH;
  return json_value(&json, &value);
}

/* Reads a message; false where that fails. */
static bool read_pieces(Convert *convert, Text raw) {
  convert_fail(convert, pieces_read(&convert->pieces, raw));
  return convert->status == STATUS_OK;
}

/* Writes the message that was read. */
static void write_pieces(Convert *convert, Text raw) {
  if (is_native(convert)) {
    convert_native(convert, raw);
    return;
  }
  convert->changed = true;
  convert_lose_members(convert, raw);
  tell_pieces(convert);
  convert->writer->message(convert, &convert->pieces);
}

/* ---- system messages among the others ----
**
** A dialect with system texts apart takes system messages inside between a user's turn and an assistant's, or not at
** all: then they become a user's text, which may not part a call from its results. So they wait for that place. */

static void keep_late(Convert *convert, Text raw) {
  const Memory *memory = &convert->pieces.memory;
  LateSystem *grown = memory_grow(memory, convert->late, &convert->late_room, convert->late_count, sizeof *grown);
  if (grown == NULL) {
    convert_fail(convert, STATUS_MEMORY);
    return;
  }
  convert->late = grown;
  grown[convert->late_count++] = (LateSystem){.raw = raw, .index = convert->index};
}

static bool has_result(const Pieces *pieces) {
  for (uint32_t i = 0; i < pieces->count; i++) {
    if (pieces->list[i].kind == PIECE_RESULT) return true;
  }
  return false;
}

/* Notes that the open message is made of the current one, too. */
static void widen_origin(Convert *convert) {
  ConvertReport *report = convert->report;
  if (!report->with_ranges || convert->open == ROLE_NONE || report->origin_count == 0) return;
  ConvertOrigin *origin = &report->origins[report->origin_count - 1];
  if (convert->index < origin->first) origin->first = convert->index;
  if (convert->index > origin->last) origin->last = convert->index;
}

/* Writes the system messages that wait. They stay what they are behind a user's turn; elsewhere they become a user's
   text. What was read last is read no more. */
static void write_late(Convert *convert) {
  uint32_t index = convert->index;
  convert->is_late_inside = convert->options->late_system && convert->side == ROLE_USER;
  for (uint32_t i = 0; i < convert->late_count && convert->status == STATUS_OK; i++) {
    convert->index = convert->late[i].index;
    if (read_pieces(convert, convert->late[i].raw)) write_pieces(convert, convert->late[i].raw);
    widen_origin(convert);
  }
  convert->late_count = 0;
  convert->index = index;
}

/* True if the system messages that wait go on waiting behind the message that was read. */
static bool waits_on(const Convert *convert) {
  const Pieces *pieces = &convert->pieces;
  return convert->options->late_system ? pieces->role != ROLE_ASSISTANT : has_result(pieces);
}

void convert_message(Convert *convert, Text raw) {
  if (convert->status != STATUS_OK || raw.size == 0) return;
  if (!fits_depth(convert, raw)) convert_fail(convert, STATUS_LIMIT);
  if (convert->status != STATUS_OK || !read_pieces(convert, raw)) return;
  if (convert->pieces.role == ROLE_SYSTEM && convert->writer->system != NULL) {
    keep_late(convert, raw);
    return;
  }
  if (convert->late_count > 0 && waits_on(convert)) convert->changed = true;      /* they move behind it */
  else if (convert->late_count > 0) {
    write_late(convert);
    if (!read_pieces(convert, raw)) return;
  }
  write_pieces(convert, raw);
  widen_origin(convert);
}

void convert_finish(Convert *convert) {
  write_late(convert);
  convert_close(convert);
}

bool convert_bare(Convert *convert, Text raw) {
  if (convert->options->target != DIALECT_OPENAI || convert->options->is_foreign) return false;
  convert_close(convert);
  if (convert->status != STATUS_OK) return true;
  convert_begin(convert);
  json_out_raw(convert->out, raw);
  return true;
}

void convert_keep(Convert *convert) {
  assert(convert->open == ROLE_NONE || convert->status != STATUS_OK);
  convert_note_side(convert, convert->pieces.role);
  for (uint32_t i = 0; i < convert->pieces.count && convert->status == STATUS_OK; i++) {
    const Piece *piece = &convert->pieces.list[i];
    bool linked = piece->kind == PIECE_CALL || piece->kind == PIECE_RESULT;
    if (linked && !piece->nested) convert_note(convert, piece);
  }
  convert->written++;
}

Status convert_end(Convert *convert) {
  assert(convert->open == ROLE_NONE || convert->status != STATUS_OK);
  const Memory *memory = &convert->pieces.memory;
  memory_free(memory, convert->late, convert->late_room * sizeof *convert->late);
  memory_free(memory, convert->held, convert->held_room * sizeof *convert->held);
  memory_free(memory, convert->names, convert->names_room * sizeof *convert->names);
  buffer_free(&convert->scratch);
  buffer_free(&convert->ids);
  calls_free(&convert->calls);
  map_free(&convert->used);
  map_free(&convert->last);
  pieces_free(&convert->pieces);
  return convert->status;
}

