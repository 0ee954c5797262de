/*
** Errors: a status for programs, a text for people. The text lives in the
** runtime, so that running out of memory can be told too.
*/
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"

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
