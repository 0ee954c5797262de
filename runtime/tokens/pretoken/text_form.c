#include "tokens/pretoken/text_form.h"

#include <assert.h>
#include <string.h>

#include "tokens/pretoken/nfc.h"

enum { SPACE_SIZE = sizeof TEXT_SPACE - 1 };

/* The first U+2581 of a text, or its end. */
static const char *find_space(const char *at, const char *end) {
  while (at < end) {
    at = memchr(at, TEXT_SPACE[0], (size_t)(end - at));
    if (at == NULL) return end;
    if (end - at >= SPACE_SIZE && memcmp(at, TEXT_SPACE, SPACE_SIZE) == 0) return at;
    at++;
  }
  return end;
}

/* Replaces each U+2581 of the buffer's bytes from `from` on by a space. */
static void write_spaces(Buffer *out, size_t from) {
  if (out->size == from) return;
  char *to = out->bytes + from, *end = out->bytes + out->size;
  for (const char *at = to; at < end;) {
    const char *space = find_space(at, end);
    memmove(to, at, (size_t)(space - at));
    to += space - at;
    if (space < end) *to++ = ' ';
    at = space < end ? space + SPACE_SIZE : end;
  }
  out->size = (size_t)(to - out->bytes);
}

bool text_form_has(unsigned forms, const char *bytes, size_t size) {
  assert(forms <= TEXT_FORMS);
  if (size == 0) return true;
  if ((forms & TEXT_PREFIX) != 0) return false;
  if ((forms & TEXT_SPACES) != 0 && find_space(bytes, bytes + size) < bytes + size) return false;
  return (forms & TEXT_NFC) == 0 || nfc_check(bytes, size);
}

Status text_form_write(unsigned forms, const char *bytes, size_t size, Buffer *out) {
  size_t from = out->size;
  Status status = STATUS_OK;
  assert(forms <= TEXT_FORMS);
  if (size == 0) return STATUS_OK;
  if ((forms & TEXT_PREFIX) != 0) status = buffer_add_byte(out, ' ');
  if (status != STATUS_OK) return status;
  status = (forms & TEXT_NFC) != 0 ? nfc_write(bytes, size, out) : buffer_add(out, bytes, size);
  if (status == STATUS_OK && (forms & TEXT_SPACES) != 0) write_spaces(out, from);
  return status;
}
