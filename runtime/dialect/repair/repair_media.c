/*
** Images that say a type which is not that of their bytes, and files without a name: the
** right type and a name of the file's type are written into the message, all other bytes stay.
**
**     "media_type": "image/jpeg"   "media_type": "image/png"        the bytes are a PNG's
**     "file_data": ..              "filename": "document.pdf", "file_data": ..
*/
#include "dialect/convert/convert.h"
#include "dialect/repair/repair_plan.h"

typedef struct MediaRepair {
  Plan *plan;
  Text raw;                  /* of the message */
  size_t done;               /* so much of it is copied */
  const char *reason;        /* why the message changes, static; NULL: it does not */
} MediaRepair;

static bool is_inside(Text raw, const char *bytes) {
  return bytes != NULL && bytes >= raw.bytes && bytes <= raw.bytes + raw.size;
}

/* Copies the message up to `from`, writes `text`, and goes on at `to`. */
static Status splice(MediaRepair *repair, size_t from, size_t to, const char *before, Text text, const char *after) {
  Buffer *out = &repair->plan->bytes;
  Status status = buffer_add(out, repair->raw.bytes + repair->done, from - repair->done);
  repair->done = to;
  return status == STATUS_OK ? plan_put(out, before, text, after) : status;
}

static Status mend_type(MediaRepair *repair, const Media *media) {
  const char *type = media_wrong_type(repair->plan->options->target.dialect, media);
  if (type == NULL || media->type.size == 0 || !is_inside(repair->raw, media->type.bytes)) return STATUS_OK;
  size_t at = (size_t)(media->type.bytes - repair->raw.bytes);
  if (at < repair->done) return STATUS_OK;
  repair->reason = "type of an image";
  return splice(repair, at, at + media->type.size, "", text_of(type), "");
}

/* Finds where the member "file_data" of a part begins whose value has the data, or that of an object in it.
   0: nowhere. */
static size_t find_data_key(Text raw, Text part, const char *data) {
  Json json;
  Text key;
  JsonValue value;
  if (part.size == 0 || part.bytes[0] != '{' || !is_inside(raw, part.bytes)) return 0;
  json_open_valid(&json, part.bytes, part.size);
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (data < value.bytes || data > value.bytes + value.size) continue;
    if (text_is(key, "file_data")) return (size_t)(key.bytes - 1 - raw.bytes);
    return find_data_key(raw, text_plain(value.bytes, value.size), data);
  }
  return 0;
}

static Status mend_name(MediaRepair *repair, const Piece *piece) {
  const Media *media = &piece->media;
  bool empty = is_inside(repair->raw, media->name.bytes);
  if (!media_lacks_name(media) || !is_inside(repair->raw, media->data.bytes)) return STATUS_OK;
  size_t at = empty ? (size_t)(media->name.bytes - repair->raw.bytes)
                    : find_data_key(repair->raw, piece->json, media->data.bytes);
  if (at == 0 || at < repair->done) return STATUS_OK;
  repair->reason = "name of a file";
  return splice(repair, at, at, empty ? "" : "\"filename\":\"", convert_file_name(media), empty ? "" : "\",");
}

static Status plan_message_media(Plan *plan, uint32_t index, Pieces *pieces) {
  MediaRepair repair = {.plan = plan, .raw = message_raw(plan_message(plan, index))};
  size_t at = plan->bytes.size;
  Status status = pieces_read(pieces, repair.raw);
  for (uint32_t i = 0; i < pieces->count && status == STATUS_OK; i++) {
    const Piece *piece = &pieces->list[i];
    if (piece->kind != PIECE_MEDIA) continue;
    if (plan_is_repairing(plan, CHECK_MEDIA_TYPE)) status = mend_type(&repair, &piece->media);
    if (status == STATUS_OK && plan_is_repairing(plan, CHECK_FILE_NAME)) status = mend_name(&repair, piece);
  }
  if (status != STATUS_OK || repair.reason == NULL) return status;
  status = buffer_add(&plan->bytes, repair.raw.bytes + repair.done, repair.raw.size - repair.done);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, index, at, repair.reason) : status;
}

Status plan_media(Plan *plan) {
  Status status = STATUS_OK;
  if (!plan_is_repairing(plan, CHECK_MEDIA_TYPE) && !plan_is_repairing(plan, CHECK_FILE_NAME)) return status;
  Pieces pieces;
  pieces_init(&pieces, plan->memory);
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    if (message_has_media(plan_message(plan, i))) status = plan_message_media(plan, i, &pieces);
  }
  pieces_free(&pieces);
  return status;
}
