/*
** Up to FEW calls are compared one by one. Above that a hash table is used, which only
** synthetic input reaches; ids of equal hash count as equal there, as in the store.
*/
#include "dialect/read/calls.h"

#include <assert.h>

#include "os/os.h"

#define FEW 8
#define NONE UINT32_MAX

void calls_init(Calls *calls, Memory memory) {
  *calls = (Calls){.memory = memory, .key = entropy_hash_key()};
  map_init(&calls->places, memory);
}

void calls_free(Calls *calls) {
  memory_free(&calls->memory, calls->list, calls->room * sizeof *calls->list);
  map_free(&calls->places);
}

void calls_reset(Calls *calls) {
  calls->count = 0;
  if (calls->places.count == 0) return;
  map_free(&calls->places);
  map_init(&calls->places, calls->memory);
}

static uint64_t pack(uint32_t first, uint32_t last) {
  assert(first <= last);
  return (uint64_t)first << 32 | last;
}

static Status chain(Calls *calls, uint32_t call) {
  assert(call < calls->count);
  OpenCall *open = &calls->list[call];
  uint64_t hash = hash_text(open->id, &calls->key), *ends = map_find(&calls->places, hash);
  if (ends == NULL) return map_put(&calls->places, hash, pack(call, call));
  open->is_duplicate = true;
  calls->list[(uint32_t)*ends].next = call;
  *ends = pack((uint32_t)(*ends >> 32), call);
  return STATUS_OK;
}

static Status chain_all(Calls *calls) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < calls->count && status == STATUS_OK; i++) status = chain(calls, i);
  return status;
}

static bool is_again(const Calls *calls, Text id) {
  for (uint32_t i = 0; i < calls->count; i++) {
    if (text_equal(calls->list[i].id, id)) return true;
  }
  return false;
}

Status calls_open(Calls *calls, Text id) {
  OpenCall *grown = memory_grow(&calls->memory, calls->list, &calls->room, calls->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  calls->list = grown;
  bool few = calls->count < FEW;
  grown[calls->count] = (OpenCall){.id = id, .is_duplicate = few && is_again(calls, id), .next = NONE};
  calls->count++;
  assert(calls->count <= calls->room);
  if (few) return STATUS_OK;
  return calls->count == FEW + 1 ? chain_all(calls) : chain(calls, calls->count - 1);
}

static Answer answer_one_of_few(Calls *calls, Text id, uint32_t *call) {
  Answer answer = ANSWER_ORPHAN;
  for (uint32_t i = 0; i < calls->count; i++) {
    if (!text_equal(calls->list[i].id, id)) continue;
    answer = ANSWER_DUPLICATE;
    if (calls->list[i].answered) continue;
    calls->list[i].answered = true;
    *call = i;
    return ANSWER_FITS;
  }
  return answer;
}

Answer calls_answer(Calls *calls, Text id, uint32_t *call) {
  assert(calls->count <= calls->room);
  if (calls->count <= FEW) return answer_one_of_few(calls, id, call);
  uint64_t *ends = map_find(&calls->places, hash_text(id, &calls->key));
  if (ends == NULL) return ANSWER_ORPHAN;
  uint32_t first = (uint32_t)(*ends >> 32);
  if (calls->list[first].answered) return ANSWER_DUPLICATE;      /* then all of its chain are */
  assert(first < calls->count);
  calls->list[first].answered = true;
  if (calls->list[first].next != NONE) *ends = pack(calls->list[first].next, (uint32_t)*ends);
  *call = first;
  return ANSWER_FITS;
}
