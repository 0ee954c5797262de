/*
** Structs of hosts that were compiled with another version of ebb.h. Each begins with
** `size`, what the caller's header has; fields are only ever added at the end:
**
**     an older host   [ size | first version ]
**     this library    [ size | first version | added since ]
**     a newer host    [ size | first version | added since | unknown here ]
**
** What an older host lacks is 0, and nothing is written behind its struct. Of what a
** newer host has, the unknown bytes of a config must be 0, and those of a result are
** set to 0.
*/
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"

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

