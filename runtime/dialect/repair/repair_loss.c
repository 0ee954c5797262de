/*
** What a repair leaves out: results that answer no call, or one that another result answers, calls without a result,
** and reasoning. Of two results of a call that say the same, nothing is lost.
*/
#include <assert.h>

#include "dialect/repair/repair_plan.h"

static void fail(Plan *plan, Status status) {
  if (plan->lost == STATUS_OK) plan->lost = status;
}

/* The message as it stood before the repair: a result may have moved since. */
static MessageId find_former(const Plan *plan, uint32_t index) {
  const uint64_t *former = map_find(&plan->formers, plan->ids[index]);
  return former == NULL ? plan->ids[index] : (MessageId)*former;
}

void plan_lose(Plan *plan, LossKind kind, uint32_t index, Text subject) {
  assert(index < plan->count);
  if (plan->report == NULL || plan->lost != STATUS_OK) return;
  uint32_t place = sequence_index_of_origin(plan->first, find_former(plan, index));
  bool is_there = place < sequence_count(plan->first);
  fail(plan, convert_report_add(plan->report, kind, is_there ? place : CONVERT_NEVER, subject));
}

/* ---- results that say the same ---- */

static Status put_text(Text text, Buffer *out) {
  Status status = text_decode(text, out);
  return status == STATUS_OK ? buffer_add_byte(out, '\0') : status;
}

/* Adds what a piece of a result says. A text alone is the same in a list. */
static Status put_piece(const Piece *piece, Buffer *out) {
  const Media *media = &piece->media;
  const Text texts[] = {piece->text, media->type, media->data, media->url, media->file};
  Status status = STATUS_OK;
  if (piece->kind == PIECE_OTHER) return put_text(piece->json, out);
  for (size_t i = 0; i < sizeof texts / sizeof *texts && status == STATUS_OK; i++) status = put_text(texts[i], out);
  return status;
}

/* Hashes what a result says, with its id. `number`: of the results of its message. False: it is not known. */
static bool hash_result(Plan *plan, const PairedResult *result, uint32_t number, Pieces *pieces, uint64_t *hash) {
  Buffer *out = &plan->scratch;
  uint32_t at = 0, seen = 0;
  fail(plan, pieces_read(pieces, message_raw(plan_message(plan, result->message))));
  for (; at < pieces->count; at++) {
    if (pieces->list[at].kind == PIECE_RESULT && !pieces->list[at].nested && seen++ == number) break;
  }
  if (plan->lost != STATUS_OK || at == pieces->count) return false;
  const Piece *piece = &pieces->list[at];
  buffer_reset(out);
  Status status = put_text(result->id.size > 0 ? result->id : result->name, out);
  if (status == STATUS_OK) status = buffer_add_byte(out, piece->is_error ? 'e' : 'r');
  if (status == STATUS_OK && piece->text.size > 0) status = put_piece(piece, out);
  for (at++; at < pieces->count && pieces->list[at].nested && status == STATUS_OK; at++) {
    status = put_piece(&pieces->list[at], out);
  }
  fail(plan, status);
  *hash = hash_text(text_plain(out->bytes, out->size), &plan->calls.key);
  return status == STATUS_OK;
}

/* Adds what the results say that stay. */
static void read_kept(Plan *plan, Pieces *pieces) {
  const Pairing *pairing = &plan->pairing;
  uint64_t hash;
  plan->has_kept = true;
  for (uint32_t i = 0; i < pairing->result_count && plan->lost == STATUS_OK; i++) {
    const PairedResult *result = &pairing->results[i];
    if (result->call == UNPAIRED) continue;
    if (!hash_result(plan, result, i - pairing->first_result[result->message], pieces, &hash)) continue;
    fail(plan, map_put(&plan->kept, hash, 1));
  }
}

/* True if another result that stays says the same under the same id, or name where there are no ids. One that answers a
   call is the only one of it. */
static bool is_copy(Plan *plan, uint32_t number) {
  const Pairing *pairing = &plan->pairing;
  const PairedResult *result = &pairing->results[number];
  uint64_t hash;
  Pieces pieces;
  if (result->call != UNPAIRED) return false;
  pieces_init(&pieces, plan->memory);
  if (!plan->has_kept) read_kept(plan, &pieces);
  bool is_read = plan->lost == STATUS_OK &&
                 hash_result(plan, result, number - pairing->first_result[result->message], &pieces, &hash);
  pieces_free(&pieces);
  return is_read && map_find(&plan->kept, hash) != NULL;
}

void plan_lose_result(Plan *plan, uint32_t number) {
  const PairedResult *result = &plan->pairing.results[number];
  assert(number < plan->pairing.result_count);
  if (plan->report == NULL || plan->lost != STATUS_OK || is_copy(plan, number)) return;
  plan_lose(plan, result->is_again ? LOSS_RESULT : LOSS_ORPHAN, result->message,
            result->id.size > 0 ? result->id : result->name);
}
