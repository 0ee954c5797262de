/*
** Images: the input is a file, or base64 as it stands in a message. A size that
** is found is within bounds, has a cost by every rule, and base64 says the same
** of a file as its bytes do.
*/
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "tokens/image_cost.h"

static void check_size(ImageSize size) {
  assert(size.width >= 1 && size.width <= IMAGE_SIDE_MAX && size.height >= 1 && size.height <= IMAGE_SIDE_MAX);
  for (size_t i = 0; IMAGE_RULE_NAMES[i] != NULL; i++) {
    ImageRule rule;
    assert(image_rule_parse(IMAGE_RULE_NAMES[i], &rule));
    uint64_t high = image_tokens(&rule, size, false), low = image_tokens(&rule, size, true);
    assert(low >= 1 && low <= high && high < UINT32_MAX);
  }
}

static size_t encode(const uint8_t *data, size_t size, char *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t count = 0;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < size ? data[i + k] : 0);
    for (size_t k = 0; k < 4; k++) out[count++] = i + k > size ? '=' : digits[bits >> (18 - 6 * k) & 63];
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ImageSize of_bytes = {0, 0}, of_text = {0, 0}, raw = {0, 0};
  bool found = image_size_of_bytes((const char *)data, size, &of_bytes);
  if (found) check_size(of_bytes);
  if (image_size(text_plain((const char *)data, size), &raw)) check_size(raw);

  Memory memory = memory_system();
  size_t room = size / 3 * 4 + 4;
  char *text = memory_new(&memory, room);
  if (text == NULL) return 0;
  assert(image_size(text_plain(text, encode(data, size, text)), &of_text) == found);
  assert(!found || (of_text.width == of_bytes.width && of_text.height == of_bytes.height));
  memory_free(&memory, text, room);
  return 0;
}
