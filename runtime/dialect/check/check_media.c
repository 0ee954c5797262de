/*
** The rules for images, sounds and files: their data is base64, images are of a type that the dialect takes, say the
** type of their bytes, and are not too large; files have names. A request is refused for one part that breaks them,
** and a conversation that holds it cannot go on.
**
** Of data only what no provider reads is reported: white space is passed over, and Gemini, whose API reads protocol
** buffers, takes both alphabets and no padding.
*/
#include "base/names.h"
#include "codec/base64.h"
#include "codec/image_header.h"
#include "dialect/check/check_rules.h"
#include "dialect/pieces.h"

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

bool message_has_media(const Message *message) {
  for (uint32_t i = 0, count = message_part_count(message); i < count; i++) {
    PartKind kind = (PartKind)message_part(message, i).kind;
    if (kind == PART_IMAGE || kind == PART_FILE || kind == PART_AUDIO) return true;
  }
  return false;
}

/* ---- types ---- */

/* The types of images that a dialect takes. */
static bool takes_image(Dialect dialect, Text type) {
  static const char *const all[] = {"image/png", "image/jpeg", "image/webp"};
  static const char *const gemini[] = {"image/heic", "image/heif"};
  if (NAMES_HAVE(all, type)) return true;
  if (dialect == DIALECT_GEMINI) return NAMES_HAVE(gemini, type);
  return text_is(type, "image/gif") || (dialect != DIALECT_ANTHROPIC && text_is(type, "image/jpg"));
}

/* True for a type that stands for the other, or is the same: readers of HEIF do not tell its kinds apart. */
static bool is_type(Text said, const char *actual) {
  bool is_heif = strcmp(actual, "image/heic") == 0 && text_is(said, "image/heif");
  return is_heif || text_is(said, actual);
}

const char *media_wrong_type(Dialect dialect, const Media *media) {
  const char *bytes = media->data.size > 0 ? image_type(media->data) : NULL;
  bool may_be = media->kind == MEDIA_IMAGE || (dialect == DIALECT_GEMINI && media->kind == MEDIA_FILE);
  bool differs = may_be && bytes != NULL && takes_image(dialect, text_of(bytes)) && !is_type(media->type, bytes);
  return differs ? bytes : NULL;
}

/* Checks the type of an image, by its bytes where they tell it, else as it is said. */
static Status check_type(Checker *checker, uint32_t index, const Media *media) {
  Dialect dialect = checker->target->dialect;
  const char *bytes = media->data.size > 0 ? image_type(media->data) : NULL;
  bool is_image = media->kind == MEDIA_IMAGE;
  bool may_be = is_image || (dialect == DIALECT_GEMINI && media->kind == MEDIA_FILE && bytes != NULL);
  if (!may_be) return STATUS_OK;
  Text type = bytes != NULL ? text_of(bytes) : media->type;
  if (type.size > 0 && !takes_image(dialect, type)) return checker_add(checker, CHECK_IMAGE_TYPE, index, type);
  return checker_add_if(checker, media_wrong_type(dialect, media) != NULL, CHECK_MEDIA_TYPE, index, type);
}

/* ---- sizes ---- */

static Status check_size(Checker *checker, uint32_t index, const Media *media) {
  const CheckProfile *profile = &checker->target->profile;
  ImageSize size;
  if (media->kind != MEDIA_IMAGE || media->data.size == 0) return STATUS_OK;
  bool is_large = profile->image_bytes_max != 0 && media->data.size > profile->image_bytes_max;
  Status status = checker_add_if(checker, is_large, CHECK_IMAGE_SIZE, index, NO_TEXT);
  if (status != STATUS_OK || !image_size(media->data, &size)) return status;
  uint32_t side = size.width > size.height ? size.width : size.height;
  bool has_many = profile->many_images != 0 && checker->image_count > profile->many_images;
  bool is_long = (profile->image_side_max != 0 && side > profile->image_side_max) ||
                 (has_many && side > profile->many_side_max);
  return checker_add_if(checker, is_long, CHECK_IMAGE_SIDE, index, NO_TEXT);
}

static uint32_t count_images(const Message *message) {
  uint32_t images = 0;
  for (uint32_t i = 0; i < message_part_count(message); i++) images += message_part(message, i).kind == PART_IMAGE;
  return images;
}

void check_media_begin(Checker *checker) {
  if (checker->target->profile.many_images == 0) return;
  for (uint32_t i = 0; i < checker->count; i++) checker->image_count += count_images(checker_message(checker, i));
}

/* ---- a message ---- */

bool media_lacks_name(const Media *media) {
  bool is_file = media->data.bytes != NULL && media->kind == MEDIA_FILE;
  return is_file && media->name.size == 0 && media->file.size == 0;
}

static Status check_piece(Checker *checker, uint32_t index, const Media *media) {
  bool has_data = media->data.bytes != NULL;
  bool is_bad = has_data && !is_base64(checker->target->dialect, media->data);
  Status status = STATUS_OK;
  if (is_bad) status = checker_add(checker, CHECK_MEDIA_DATA, index, text_of(media_kind_name(media->kind)));
  if (status == STATUS_OK && !is_bad) status = check_type(checker, index, media);
  if (status == STATUS_OK && !is_bad) status = check_size(checker, index, media);
  if (status != STATUS_OK) return status;
  return checker_add_if(checker, media_lacks_name(media), CHECK_FILE_NAME, index, NO_TEXT);
}

Status check_media(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  if (!message_has_media(message)) return STATUS_OK;
  Pieces pieces;
  pieces_init(&pieces, checker->report->memory);
  Status status = pieces_read(&pieces, message_raw(message));
  for (uint32_t i = 0; i < pieces.count && status == STATUS_OK; i++) {
    if (pieces.list[i].kind == PIECE_MEDIA) status = check_piece(checker, index, &pieces.list[i].media);
  }
  pieces_free(&pieces);
  return status;
}
