/*
** Entering a runtime, and what its calls answer.
*/
#include <string.h>

#include "api/api.h"
#include "os/os.h"

int64_t api_now(ebb_runtime *runtime) {
  if (runtime->config.clock_ms != NULL) return runtime->config.clock_ms(runtime->config.user);
  Clock clock = clock_system();
  return clock_now(&clock);
}

size_t api_message_limit(const ebb_runtime *runtime) {
  return runtime->config.message_limit != 0 ? runtime->config.message_limit : MESSAGE_BYTES_MAX;
}

/* ---- calls ---- */

static ebb_status enter(ebb_runtime *runtime) {
  if (runtime == NULL) return EBB_ARGUMENT;
  if (runtime->busy || runtime->allocating)
    return api_fail(runtime, EBB_BUSY, NULL, "called from a callback: the runtime is at work");
  runtime->busy = true;
  return EBB_OK;
}

ebb_status api_enter(ebb_runtime *runtime) {
  ebb_status status = enter(runtime);
  if (status != EBB_OK || runtime->journal_hooks == NULL) return status;
  status = runtime->journal_hooks->begin(runtime);
  if (status != EBB_OK) runtime->busy = false;
  return status;
}

ebb_status api_enter_read(ebb_runtime *runtime) {
  if (runtime == NULL || !runtime->busy) return enter(runtime);
  if (runtime->reading || runtime->allocating)
    return api_fail(runtime, EBB_BUSY, NULL, "called from `allocate`: the runtime is at work");
  runtime->reading = true;
  return EBB_OK;
}

ebb_status api_leave(ebb_runtime *runtime, ebb_status status) {
  if (runtime->reading) {
    runtime->reading = false;
    return status;
  }
  if (runtime->journal_hooks != NULL) {
    ebb_status written = runtime->journal_hooks->end(runtime);
    if (written != EBB_OK) status = written;
  }
  if (runtime->tell != NULL) runtime->tell(runtime);
  runtime->busy = false;
  return status;
}

ebb_status api_note(ebb_chat *chat) {
  return chat->journal == NULL ? EBB_OK : chat->runtime->journal_hooks->note(chat);
}

/* ---- answers ---- */

/* What a callback reads must not touch what its call is answering. */
static Buffer *answers(ebb_runtime *runtime) { return runtime->reading ? runtime->read_answers : runtime->answers; }

/* Buffers are empty from the first on. A host may have given this call what the last one handed
   out: no buffer loses its bytes before the call is at its end. */
Buffer *api_answer_buffer(ebb_runtime *runtime, int number) {
  for (int i = number; i < ANSWERS; i++) buffer_reset(&answers(runtime)[i]);
  return &answers(runtime)[number];
}

/* What a long text has left behind goes; where the next is as long, nothing moves. */
static void shrink_answers(ebb_runtime *runtime) {
  for (int i = 0; i < ANSWERS; i++) {
    Buffer *answer = &answers(runtime)[i];
    if (answer->capacity > ANSWER_KEPT && answer->size < answer->capacity / 4) buffer_trim(answer);
  }
}

ebb_status api_answer(ebb_runtime *runtime, int number, ebb_text *text) {
  Buffer *answer = &answers(runtime)[number];
  Status status = buffer_add_byte(answer, '\0');
  shrink_answers(runtime);
  if (status != STATUS_OK) return api_fail_status(runtime, status, "the answer");
  *text = (ebb_text){.bytes = answer->bytes, .size = answer->size - 1};
  return EBB_OK;
}

void api_free_answers(ebb_runtime *runtime) {
  for (int i = 0; i < ANSWERS; i++) {
    buffer_free(&runtime->answers[i]);
    buffer_free(&runtime->read_answers[i]);
  }
}
