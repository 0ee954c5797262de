#include "document/document_warnings.h"

#include <assert.h>

Status document_warn(DocumentWarnings *warnings, DocumentWarning warning) {
  assert(warning.place.line > 0 && warning.place.byte > 0);
  DocumentWarning *grown =
      memory_grow(&warnings->memory, warnings->list, &warnings->room, warnings->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  warnings->list = grown;
  grown[warnings->count++] = warning;
  return STATUS_OK;
}
