/* What a conversion leaves out or changes: names, descriptions, and the list. */
#include <assert.h>

#include "dialect/convert/convert.h"

/* By LossKind. % in `says` is replaced by the subject. */
static const struct {
  const char *name, *says;
  bool change;
} LOSSES[LOSS_KIND_COUNT] = {
  [LOSS_REASONING] = {"lost_reasoning", "another provider's reasoning is left out", false},
  [LOSS_BOUND_REASONING] = {"lost_bound_reasoning", "reasoning bound to what stood before it is left out", false},
  [LOSS_MEDIA] = {"lost_media", "% has no form there: left out", false},
  [LOSS_PART] = {"lost_part", "a part of type % has no form there: left out", false},
  [LOSS_CACHE] = {"lost_cache_mark", "a cache mark is left out", false},
  [LOSS_NAME] = {"lost_name", "the participant's name % is left out", false},
  [LOSS_ERROR] = {"lost_error", "the result of call % is no longer marked as failed", false},
  [LOSS_SIGNATURE] = {"lost_signature", "a thought signature has no form there: left out", false},
  [LOSS_MEMBER] = {"lost_member", "the member % is left out: requests do not have it", false},
  [LOSS_EMPTY] = {"lost_message", "nothing of the message is left: left out", false},
  [LOSS_CALL] = {"lost_call", "the call % has no result: left out", false},
  [LOSS_RESULT] = {"lost_result", "a result of call % is left out: another one, which differs, answers it", false},
  [LOSS_ORPHAN] = {"lost_orphan", "the result of call % is left out: no message calls it", false},
  [CHANGE_SYSTEM] = {"changed_system", "a system message in the middle becomes a user's", true},
  [CHANGE_PLACE] = {"changed_place", "a system message in the middle goes to the system texts", true},
  [CHANGE_ID] = {"changed_id", "the call id % is invalid or already used in the target; renamed", true},
  [CHANGE_ARGUMENTS] = {"changed_arguments", "arguments of call % are not an object: they become its member", true},
  [CHANGE_REFUSAL] = {"changed_refusal", "a refusal becomes text", true},
  [CHANGE_RESULT_MEDIA] = {"changed_result_media", "% of a result moves to a user message behind it", true},
  [CHANGE_TYPE] = {"changed_type", "an image that is called % gets the type of its bytes", true},
  [CHANGE_REFUSED_TYPE] = {"refused_type", "an image of type % is refused there: it is written all the same", true},
  [CHANGE_PART] = {"changed_part", "a part of type % becomes text", true},
  [CHANGE_FIRST] = {"changed_first", "a user's turn is put before calls at the beginning", true},
  [CHANGE_SIGNATURE] = {"changed_signature", "another provider's signature is left out", true},
};

const char *loss_name(LossKind kind) { return LOSSES[kind].name; }
bool loss_is_change(LossKind kind) { return LOSSES[kind].change; }

void convert_report_init(ConvertReport *report, Memory memory) {
  *report = (ConvertReport){.memory = memory};
  buffer_init(&report->subjects, memory);
}

void convert_report_free(ConvertReport *report) {
  memory_free(&report->memory, report->list, report->room * sizeof *report->list);
  memory_free(&report->memory, report->origins, report->origin_room * sizeof *report->origins);
  buffer_free(&report->subjects);
}

Text loss_subject(const ConvertReport *report, uint32_t index) {
  assert(index < report->count);
  const Loss *loss = &report->list[index];
  return loss->size == 0 ? text_plain("", 0) : text_plain(report->subjects.bytes + loss->at, loss->size);
}

Status loss_describe(const ConvertReport *report, uint32_t index, Buffer *out) {
  assert(index < report->count);
  const Loss *loss = &report->list[index];
  const char *says = LOSSES[loss->kind].says, *subject = strchr(says, '%');
  if (subject == NULL) return buffer_add_string(out, says);
  Text named = loss_subject(report, index);
  size_t before = out->size;
  Status status = buffer_add(out, says, (size_t)(subject - says));
  if (status == STATUS_OK) status = buffer_add(out, "'", 1);
  if (status == STATUS_OK) status = buffer_add(out, named.bytes, named.size);
  if (status == STATUS_OK) status = buffer_add(out, "'", 1);
  if (status == STATUS_OK) status = buffer_add_string(out, subject + 1);
  if (status != STATUS_OK) out->size = before;
  return status;
}

/* Subjects are names and ids: longer ones are cut at a character. */
static Text subject_of(Text text) {
  const size_t max = 120;
  if (text.size <= max || text.escaped) return text;
  text.size = max;
  while (text.size > 0 && ((unsigned char)text.bytes[text.size] & 0xc0) == 0x80) text.size--;
  return text;
}

Status convert_report_add(ConvertReport *report, LossKind kind, uint32_t index, Text subject) {
  Loss *grown = memory_grow(&report->memory, report->list, &report->room, report->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  report->list = grown;
  size_t at = report->subjects.size;
  Status status = text_decode(subject_of(subject), &report->subjects);
  if (status == STATUS_OK && report->subjects.size > UINT32_MAX) status = STATUS_LIMIT;
  if (status != STATUS_OK) {
    report->subjects.size = at;
    return status;
  }
  grown[report->count++] = (Loss){.kind = kind, .index = index, .at = (uint32_t)at,
                                  .size = (uint32_t)(report->subjects.size - at)};
  return STATUS_OK;
}

void convert_lose(Convert *convert, LossKind kind, Text subject) {
  convert_fail(convert, convert_report_add(convert->report, kind, convert->index, subject));
}

void convert_lose_name(Convert *convert, const Pieces *pieces) {
  if (pieces->name.size > 0) convert_lose(convert, LOSS_NAME, pieces->name);
}

void convert_lose_piece(Convert *convert, const Piece *piece) {
  if (piece->kind == PIECE_REASONING) convert_lose(convert, LOSS_REASONING, text_plain("", 0));
  else if (piece->kind == PIECE_MEDIA) convert_lose(convert, LOSS_MEDIA, text_of(media_kind_name(piece->media.kind)));
  else convert_lose(convert, LOSS_PART, piece->type);
}

void convert_lose_names(Convert *convert, const Media *media, bool keeps_name, bool keeps_detail) {
  if (!keeps_name && media->name.size > 0) convert_lose(convert, LOSS_MEMBER, media->name_member);
  bool is_usual = media->detail.size == 0 || text_is(media->detail, "auto");
  if (!keeps_detail && !is_usual) convert_lose(convert, LOSS_MEMBER, text_of("detail"));
}
