/*
** Shared by the repairs of all dialects: steps of a plan, new ids, edits of members.
*/
#include "dialect/repair/repair_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "codec/xxh64.h"
#include "json/json_edit.h"
#include "json/json_fields.h"

enum { ID_KEPT = 32, ID_KEPT_SHORT = 16 };   /* characters of an old id in a new one, of 64 or of 40 */

/* ---- planning ---- */

Status plan_step(Plan *plan, PlanKind kind, uint32_t index, size_t at, const char *reason) {
  assert(at <= plan->bytes.size);
  assert(plan->step_count == 0 || plan->steps[plan->step_count - 1].index <= index);
  PlanStep *grown = memory_grow(&plan->memory, plan->steps, &plan->step_room, plan->step_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  plan->steps = grown;
  size_t size = kind == PLAN_DROP || kind == PLAN_LEAVE ? 0 : plan->bytes.size - at;
  grown[plan->step_count++] = (PlanStep){.kind = kind, .index = index, .at = at, .size = size, .reason = reason,
                                         .source = plan->source_count};
  return STATUS_OK;
}

Status plan_source(Plan *plan, uint32_t index) {
  assert(plan->step_count > 0 && index < plan->count);
  uint32_t *grown = memory_grow(&plan->memory, plan->sources, &plan->source_room, plan->source_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  plan->sources = grown;
  grown[plan->source_count++] = index;
  plan->steps[plan->step_count - 1].sources++;
  return STATUS_OK;
}

Status plan_put(Buffer *out, const char *before, Text text, const char *after) {
  Status status = buffer_add_string(out, before);
  if (status == STATUS_OK) status = text_escape(text, out);
  return status == STATUS_OK ? buffer_add_string(out, after) : status;
}

/* ---- ids ---- */

/* Adds up to `most` characters of an old id, those that are not allowed as _. */
static Status put_cleaned(Text old, size_t most, Buffer *out) {
  char scratch[4];
  Text run;
  size_t before = out->size;
  Status status = STATUS_OK;
  while (status == STATUS_OK && out->size - before < most && text_run(&old, scratch, &run)) {
    for (size_t i = 0; i < run.size && status == STATUS_OK && out->size - before < most; i++) {
      bool fits = id_is_valid(text_plain(run.bytes + i, 1));
      status = buffer_add_byte(out, fits ? run.bytes[i] : '_');
    }
  }
  if (status == STATUS_OK && out->size == before) status = buffer_add_string(out, "call");
  return status;
}

/* Adds an id to the taken ones unless it is one of them. */
static Status take_id(Plan *plan, Text id, bool *taken) {
  uint64_t hash = hash_text(id, &plan->calls.key);
  *taken = map_find(&plan->taken, hash) == NULL;
  return *taken ? map_put(&plan->taken, hash, 1) : STATUS_OK;
}

/* The new id for servers that want letters and digits only, as many as `rule` says: a hash of the old id, of the
   message's seq and of the number of the attempt. Cutting the old id would make equal ids of different ones. */
static Status put_hashed_id(Plan *plan, uint32_t index, Text old, const IdRule *rule, Buffer *names, size_t at) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  uint32_t count = rule->max == 0 || rule->max > 10 ? 10 : rule->max;
  char seed[48];
  Status status = STATUS_OK;
  bool taken = false;
  for (uint64_t attempt = 1; status == STATUS_OK && !taken; attempt++) {
    int size = snprintf(seed, sizeof seed, " %u %" PRIu64, (unsigned)plan->ids[index], attempt);
    names->size = at;
    status = text_decode(old, names);
    if (status == STATUS_OK) status = buffer_add(names, seed, (size_t)size);
    if (status != STATUS_OK) break;
    uint64_t hash = xxh64(names->bytes + at, names->size - at);
    names->size = at;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++, hash /= 62) {
      status = buffer_add_byte(names, digits[hash % 62]);
    }
    if (status == STATUS_OK) status = take_id(plan, text_plain(names->bytes + at, names->size - at), &taken);
  }
  return status;
}

/* The stem, <old id>_<seq>, is the first new id; the next are <stem>_2, <stem>_3 ... The
   value of a stem among the taken ids is the last of these numbers. */
Status plan_new_id(Plan *plan, uint32_t index, Text old, Buffer *names, size_t *at, size_t *size) {
  char suffix[32];
  IdRule rule = target_call_id(&plan->options->target);
  *at = names->size;
  if (rule.characters == ID_ALPHANUMERIC) {
    Status status = put_hashed_id(plan, index, old, &rule, names, *at);
    *size = names->size - *at;
    return status;
  }
  Status status = put_cleaned(old, rule.max != 0 && rule.max < 64 ? ID_KEPT_SHORT : ID_KEPT, names);
  snprintf(suffix, sizeof suffix, "_%u", (unsigned)plan->ids[index]);
  if (status == STATUS_OK) status = buffer_add_string(names, suffix);
  if (status != STATUS_OK) return status;
  size_t stem_size = names->size - *at;
  uint64_t stem = hash_text(text_plain(names->bytes + *at, stem_size), &plan->calls.key), number = 1;
  const uint64_t *last = map_find(&plan->taken, stem);
  if (last != NULL) number = *last + 1;
  for (bool taken = false; !taken; number++) {
    names->size = *at + stem_size;
    snprintf(suffix, sizeof suffix, "_%" PRIu64, number);
    if (number > 1) status = buffer_add_string(names, suffix);
    *size = names->size - *at;
    if (status == STATUS_OK) status = take_id(plan, text_plain(names->bytes + *at, *size), &taken);
    if (status != STATUS_OK) return status;
  }
  assert(id_fits(&rule, text_plain(names->bytes + *at, *size)));
  return map_put(&plan->taken, stem, number - 1);
}

/* ---- members ---- */

static Status put_member(Text raw, const char *key, Text value, Buffer *out) {
  MemberEdit edit = {.key = text_of(key), .value = value};
  return json_edit_members(raw, &edit, 1, out);
}

Status plan_put_member(const Plan *plan, Text raw, const char *key, const char *nested, Text value, Buffer *out) {
  JsonValue inner;
  if (nested == NULL || !json_find(raw, nested, JSON_OBJECT, &inner)) return put_member(raw, key, value, out);
  Buffer object;
  buffer_init(&object, plan->memory);
  Status status = put_member(text_plain(inner.bytes, inner.size), key, value, &object);
  if (status == STATUS_OK) status = put_member(raw, nested, text_plain(object.bytes, object.size), out);
  buffer_free(&object);
  return status;
}

Status plan_put_renamed(Plan *plan, Text raw, const char *key, const char *nested, Text value, Buffer *out) {
  Buffer *scratch = &plan->scratch;
  buffer_reset(scratch);
  Status status = plan_put(scratch, "\"", value, "\"");
  if (status != STATUS_OK) return status;
  return plan_put_member(plan, raw, key, nested, text_plain(scratch->bytes, scratch->size), out);
}
