/*
** Data URIs and base64: the input is a URI, or bytes. What is refused says where
** and adds nothing; what is taken stays within the cap, and in base64 is spelled
** again as it was; any bytes come back.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "codec/base64.h"
#include "codec/data_uri.h"

enum { CAP = 1000 };

static void check_uri(Text uri) {
  DataUri parts;
  DataUriError error = {SIZE_MAX, NULL};
  Buffer bytes, again;
  buffer_init(&bytes, memory_system());
  buffer_init(&again, memory_system());
  Status status = data_uri_read(uri, &parts, &error);
  if (status == STATUS_OK) {
    assert(parts.start <= uri.size && parts.start + parts.data.size == uri.size);
    status = data_uri_decode(&parts, CAP, &bytes, &error);
  }
  assert(status == STATUS_OK || status == STATUS_SYNTAX || status == STATUS_LIMIT);
  assert(status != STATUS_SYNTAX || (error.offset <= uri.size && error.expected != NULL));
  assert(bytes.size <= (status == STATUS_OK ? CAP : 0));
  if (status == STATUS_OK && parts.base64) {
    assert(base64_encode(bytes.bytes, bytes.size, &again) == STATUS_OK && again.size == parts.data.size);
    assert(again.size == 0 || memcmp(again.bytes, parts.data.bytes, again.size) == 0);
  }
  buffer_free(&bytes);
  buffer_free(&again);
}

static void check_bytes(const uint8_t *data, size_t size) {
  Buffer text, back;
  size_t offset;
  buffer_init(&text, memory_system());
  buffer_init(&back, memory_system());
  assert(base64_encode(data, size, &text) == STATUS_OK && buffer_reserve(&back, size + 1) == STATUS_OK);
  if (size > 0) {
    assert(base64_decoded_size(text.bytes, text.size) == size);
    assert(base64_decode(text.bytes, text.size, back.bytes, &offset) == NULL && memcmp(back.bytes, data, size) == 0);
  }
  buffer_free(&text);
  buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_uri(text_plain((const char *)data, size));
  check_bytes(data, size);
  return 0;
}
