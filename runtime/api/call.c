/*
** The frame of each call: errors, the host's structs, entering and leaving a runtime, answers, and the host's writers.
**
** An error is a status for programs and a text for people. The text lives in the
** runtime, so that running out of memory can be told too.
*/
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"
#include "os/os.h"

/* Codes of errors and what programs are told; the first ones are the statuses' own names, in their order. */
static const struct {
  const char *code;
  ebb_status status;
} CODES[] = {
  {"ok", EBB_OK}, {"more", EBB_MORE}, {"none", EBB_NONE}, {"memory", EBB_MEMORY}, {"argument", EBB_ARGUMENT},
  {"unknown_name", EBB_UNKNOWN_NAME}, {"out_of_range", EBB_OUT_OF_RANGE}, {"limit", EBB_LIMIT},
  {"syntax", EBB_SYNTAX}, {"encoding", EBB_ENCODING}, {"shape", EBB_SHAPE}, {"role", EBB_ROLE},
  {"duplicate", EBB_DUPLICATE}, {"absent", EBB_ABSENT}, {"io", EBB_IO}, {"cannot_fit", EBB_CANNOT_FIT},
  {"over_budget", EBB_OVER_BUDGET}, {"policy", EBB_POLICY}, {"script", EBB_SCRIPT}, {"model", EBB_MODEL},
  {"fuel", EBB_FUEL}, {"deadline", EBB_DEADLINE}, {"cancelled", EBB_CANCELLED}, {"conflict", EBB_CONFLICT},
  {"busy", EBB_BUSY}, {"unknown_version", EBB_UNKNOWN_VERSION}, {"damaged", EBB_DAMAGED},
  /* codes without a status of their own */
  {"guarded", EBB_ARGUMENT}, {"closed", EBB_ARGUMENT}, {"exists", EBB_ARGUMENT},
};

enum { CODE_COUNT = sizeof CODES / sizeof *CODES, STATUS_COUNT = EBB_DAMAGED + 1 };

const char *ebb_status_name(ebb_status status) {
  if ((unsigned)status >= STATUS_COUNT) return "unknown";
  assert(CODES[status].status == status);
  return CODES[status].code;
}

ebb_status api_status_of_code(const char *code) {
  for (unsigned i = EBB_MEMORY; i < CODE_COUNT; i++) {
    if (strcmp(code, CODES[i].code) == 0) return CODES[i].status;
  }
  return EBB_SCRIPT;
}

ebb_status api_fail(ebb_runtime *runtime, ebb_status status, const char *code, const char *format, ...) {
  char message[sizeof runtime->message + 4];   /* so that a character which is cut here does not fit there */
  va_list arguments;
  if (code == NULL) code = ebb_status_name(status);
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  utf8_copy(runtime->message, sizeof runtime->message, message, strlen(message));
  utf8_copy(runtime->code, sizeof runtime->code, code, strlen(code));
  runtime->error = (ebb_error){.status = status, .code = runtime->code, .message = runtime->message};
  return status;
}

ebb_status api_missing(ebb_runtime *runtime) {
  return runtime == NULL ? EBB_ARGUMENT : api_fail(runtime, EBB_ARGUMENT, NULL, "NULL where there must be a value");
}

ebb_status api_fail_status(ebb_runtime *runtime, Status status, const char *what) {
  ebb_status answer = api_status_of_code(status_code(status));
  if (status == STATUS_OK) return EBB_OK;
  return api_fail(runtime, answer, status_code(status), "%s: %s", what, status_code(status));
}

ebb_status api_fail_end(ebb_runtime *runtime, SandboxEnd end) {
  if (end == SANDBOX_OK) return EBB_OK;
  const char *code = sandbox_code(runtime->sandbox);
  ebb_status status = end == SANDBOX_ERROR ? api_status_of_code(code) : api_status_of_code(sandbox_end_code(end));
  if (end == SANDBOX_ERROR && strcmp(code, "error") == 0) code = "script";
  api_fail(runtime, status, code, "%s", sandbox_message(runtime->sandbox));
  if (status == EBB_MEMORY) api_collect_all(runtime);    /* what filled the memory may be dead by now */
  return status;
}

const ebb_error *ebb_last_error(const ebb_runtime *runtime) {
  static const ebb_error none = {.status = EBB_ARGUMENT, .code = "argument", .message = "there is no runtime"};
  return runtime == NULL ? &none : &runtime->error;
}

/* ---- the log ---- */

/* A line with U+FFFD in it is longer: at most as many times. */
enum { GROWTH = sizeof UTF8_REPLACEMENT - 1 };

/* Without memory for all of a line its beginning is told. */
static void log_mended(ebb_runtime *runtime, ebb_log_level level, const char *line, size_t size) {
  char part[1024];
  size_t room = size <= (SIZE_MAX - 1) / GROWTH ? size * GROWTH + 1 : SIZE_MAX;
  char *whole = room <= sizeof part ? NULL : memory_new(&runtime->memory, room);
  char *text = whole != NULL ? whole : part;
  size_t used = utf8_copy(text, whole != NULL ? room : sizeof part, line, size);
  runtime->config.log(runtime->config.user, level, text, used);
  memory_free(&runtime->memory, whole, room);
}

void api_log(ebb_runtime *runtime, ebb_log_level level, const char *line, size_t size) {
  if (runtime->config.log == NULL) return;
  Locale inside = sandbox_begin_callback(runtime->L);
  if (utf8_check(line, size) == size) runtime->config.log(runtime->config.user, level, line, size);
  else log_mended(runtime, level, line, size);
  sandbox_end_callback(inside);
}

/* ---- structs of hosts that were compiled with another version of ebb.h ----
**
** Each begins with `size`, what the caller's header has; fields are only ever added at the end:
**
**     an older host   [ size | first version ]
**     this library    [ size | first version | added since ]
**     a newer host    [ size | first version | added since | unknown here ]
**
** What an older host lacks is 0, and nothing is written behind its struct. Of what a
** newer host has, the unknown bytes of a config must be 0, and those of a result are
** set to 0. */

/* Above the size of any struct: a larger `size` was never set by the caller. */
enum { SIZE_MAX_ANY = 4096 };

#define ENDS_AT(type, field, size) \
  _Static_assert(offsetof(type, field) + sizeof ((type *)0)->field == (size), "the first version never changes")
ENDS_AT(ebb_config, deadline_us, CONFIG_FIRST);
ENDS_AT(ebb_message, json, MESSAGE_FIRST);
ENDS_AT(ebb_event, json, EVENT_FIRST);

static bool is_known(size_t size, size_t first) { return size >= first && size <= SIZE_MAX_ANY; }

/* ---- results ---- */

ebb_status abi_check(ebb_runtime *runtime, size_t size, size_t first, const char *name) {
  if (is_known(size, first)) return EBB_OK;
  return api_fail(runtime, EBB_UNKNOWN_VERSION, NULL, "%s.size is %zu: expected sizeof (%s), %zu or more", name, size,
                  name, first);
}

void abi_write(void *target, const void *full, size_t full_size) {
  size_t size;
  memcpy(&size, target, sizeof size);
  assert(size <= SIZE_MAX_ANY);
  size_t shared = size < full_size ? size : full_size;
  memcpy((char *)target + sizeof size, (const char *)full + sizeof size, shared - sizeof size);
  memset((char *)target + shared, 0, size - shared);
}

/* ---- configs ---- */

Memory api_host_memory(const ebb_config *config) {
  if (config->allocate == NULL) return memory_system();
  return (Memory){.allocate = config->allocate, .user = config->user};
}

ebb_status api_fail_config(const ebb_config *config, ebb_status status, const char *format, ...) {
  char message[1024];
  va_list arguments;
  if (config->error == NULL || config->error_size == 0) return status;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  utf8_copy(config->error, config->error_size, message, strlen(message));
  return status;
}

static bool is_zero(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

ebb_status api_read_config(const ebb_config *config, ebb_config *full) {
  size_t known_size = sizeof *full;
  *full = (ebb_config){.size = known_size};
  if (config == NULL) return EBB_OK;
  size_t size = config->size;
  if (!is_known(size, CONFIG_FIRST)) return EBB_UNKNOWN_VERSION;
  memcpy(full, config, size < known_size ? size : known_size);
  full->size = known_size;
  if (size > known_size && !is_zero((const char *)config + known_size, size - known_size)) {
    return api_fail_config(full, EBB_UNKNOWN_VERSION,
                           "ebb_config: a field is set that libebb %s does not know: it knows %zu bytes of %zu",
                           EBB_VERSION, known_size, size);
  }
  if (full->deterministic && full->clock_ms == NULL)
    return api_fail_config(full, EBB_ARGUMENT, "ebb_config: deterministic needs a clock_ms");
  return EBB_OK;
}

/* ---- settings of the runtime ---- */

int64_t api_now(ebb_runtime *runtime) {
  if (runtime->config.clock_ms != NULL) return runtime->config.clock_ms(runtime->config.user);
  Clock clock = clock_system();
  return clock_now(&clock);
}

size_t api_message_limit(const ebb_runtime *runtime) {
  return runtime->config.message_limit != 0 ? runtime->config.message_limit : MESSAGE_BYTES_MAX;
}

/* ---- entering and leaving ---- */

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

/* Reads within a callback answer in buffers of their own: those of the call around it stay. */
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

/* ---- writers ----
**
** Texts go to the host in pieces, as they are made, so that a chat of any size
** is written without memory for it. */

static Status write_piece(void *user, const char *bytes, size_t size) {
  Writing *writing = user;
  if (writing->inside == NULL) {
    writing->failed = writing->write(writing->user, bytes, size);
  } else {
    Locale inside = sandbox_begin_callback(writing->inside);
    writing->failed = writing->write(writing->user, bytes, size);
    sandbox_end_callback(inside);
  }
  return writing->failed == EBB_OK ? STATUS_OK : STATUS_HOST;
}

Sink api_writer(Writing *writing) { return (Sink){.write = write_piece, .user = writing}; }

ebb_status api_end_writing(ebb_runtime *runtime, const Writing *writing, ebb_status status) {
  if (writing->failed == EBB_OK) return status;
  return api_fail(runtime, writing->failed, NULL, "the host's writer answered %s", ebb_status_name(writing->failed));
}
