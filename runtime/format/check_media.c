/*
** The rule for the data of images, sounds and files: it is base64. A request is refused for one part that is not, and
** a conversation that holds it cannot go on.
**
** Only what no provider reads is reported: white space is passed over, and Gemini, whose API reads protocol buffers,
** takes both alphabets and no padding.
*/
#include "codec/base64.h"
#include "format/check_rules.h"
#include "format/pieces.h"

typedef struct Digits {
  uint64_t count;
  uint32_t padding;          /* characters = at the end */
  bool is_bad;               /* another character, or a digit behind padding */
} Digits;

static bool is_digit(Dialect dialect, char c) {
  return base64_digit((unsigned char)c) >= 0 || (dialect == DIALECT_GEMINI && (c == '-' || c == '_'));
}

static void read_digits(Dialect dialect, Text run, Digits *digits) {
  for (size_t i = 0; i < run.size; i++) {
    char c = run.bytes[i];
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    if (c == '=') digits->padding++;
    else if (is_digit(dialect, c) && digits->padding == 0) digits->count++;
    else digits->is_bad = true;
  }
}

static bool is_base64(Dialect dialect, Text data) {
  Digits digits = {0};
  char scratch[4];
  Text run;
  while (!digits.is_bad && text_run(&data, scratch, &run)) read_digits(dialect, run, &digits);
  if (digits.is_bad || digits.count == 0 || digits.padding > 2) return false;
  if (dialect == DIALECT_GEMINI && digits.padding == 0) return digits.count % 4 != 1;
  return (digits.count + digits.padding) % 4 == 0;
}

static bool has_media(const Message *message) {
  for (uint32_t i = 0, count = message_part_count(message); i < count; i++) {
    PartKind kind = (PartKind)message_part(message, i).kind;
    if (kind == PART_IMAGE || kind == PART_FILE || kind == PART_AUDIO) return true;
  }
  return false;
}

Status check_media(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  if (!checker_wants(checker, CHECK_MEDIA_DATA) || !has_media(message)) return STATUS_OK;
  Pieces pieces;
  pieces_init(&pieces, checker->report->memory);
  Status status = pieces_read(&pieces, message_raw(message));
  for (uint32_t i = 0; i < pieces.count && status == STATUS_OK; i++) {
    const Piece *piece = &pieces.list[i];
    if (piece->kind != PIECE_MEDIA || piece->media.data.bytes == NULL) continue;
    bool is_bad = !is_base64(checker->target->dialect, piece->media.data);
    status = checker_add_if(checker, is_bad, CHECK_MEDIA_DATA, index, text_of(media_kind_name(piece->media.kind)));
  }
  pieces_free(&pieces);
  return status;
}
