/*
** Images: files built byte by byte, and every way to cut or spoil one; costs as
** the providers' pages state them.
*/
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "tokens/image_cost.h"

/* ---- files ---- */

#define BYTES(literal) {literal, sizeof literal - 1}

static const struct {
  const char *what;
  struct { const char *bytes; size_t size; } file;
  uint32_t width, height;
  size_t needed;             /* bytes without which there is no size */
} FILES[] = {
  {"PNG", BYTES("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x03\x20\0\0\x02\x58\x08\x06\0\0\0rest"), 800, 600, 24},
  {"GIF87a", BYTES("GIF87a\x40\x01\xc8\0\xf7\0\0"), 320, 200, 10},
  {"GIF89a", BYTES("GIF89a\x01\0\x02\0\x80\0\0"), 1, 2, 10},
  {"WebP, lossy", BYTES("RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0\x30\x01\0\x9d\x01\x2a\x26\x82\x70\x41\0\0"), 550, 368, 30},
  {"WebP, lossless", BYTES("RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\x8f\x01\x4b\0\0\0"), 400, 301, 25},
  {"WebP, extended", BYTES("RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x0f\0\x0f\x27\0"), 4096, 10000, 30},
  {"JPEG, its frame first", BYTES("\xff\xd8\xff\xc0\0\x11\x08\x01\xe0\x02\x80\x03\x01\x22\0"), 640, 480, 11},
  {"JPEG, behind its Huffman tables",
   BYTES("\xff\xd8\xff\xc4\0\x08\x08\0\x07\0\x09\x01\xff\xc0\0\x11\x08\x01\xe0\x02\x80\x03"), 640, 480, 21},
  {"JPEG, progressive, behind two segments, a fill byte and a restart marker",
   BYTES("\xff\xd8\xff\xe0\0\x06JFIF\xff\xff\xfe\0\x04\xff\xc0\xff\xd0\xff\xc2\0\x11\x08\0\x10\0\x20\x03"), 32, 16, 28},
};
#define FILE_COUNT (sizeof FILES / sizeof *FILES)

/* Base64 with a line break after every 76 digits, if `lines`. */
static size_t encode(const char *bytes, size_t size, bool lines, char *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t count = 0, used = 0;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
    for (size_t k = 0; k < 4; k++) {
      out[count++] = i + k > size ? '=' : digits[bits >> (18 - 6 * k) & 63];
      if (lines && ++used % 76 == 0) out[count++] = '\n';
    }
  }
  return count;
}

static bool size_of_prefix(size_t file, size_t size, ImageSize *pixels) {
  char *exact = malloc(size + 1);      /* so that the sanitizer sees a byte too many */
  memcpy(exact, FILES[file].file.bytes, size);
  bool found = image_size_of_bytes(exact, size, pixels);
  free(exact);
  return found;
}

static void each_format_is_read_from_as_much_as_it_needs(void **state) {
  (void)state;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    for (size_t size = 0; size <= FILES[i].file.size; size++) {
      ImageSize pixels = {7, 7};
      bool found = size_of_prefix(i, size, &pixels);
      if (found != (size >= FILES[i].needed)) print_error("%s, %zu bytes\n", FILES[i].what, size);
      assert_int_equal(found, size >= FILES[i].needed);
      assert_int_equal(pixels.width, found ? FILES[i].width : 7);
      assert_int_equal(pixels.height, found ? FILES[i].height : 7);
    }
  }
}

static void assert_source(const char *bytes, size_t size, bool escaped, size_t file) {
  char *exact = malloc(size);
  ImageSize pixels = {0, 0};
  memcpy(exact, bytes, size);
  assert_true(image_size((Text){.bytes = exact, .size = size, .escaped = escaped}, &pixels));
  assert_int_equal(pixels.width, FILES[file].width);
  assert_int_equal(pixels.height, FILES[file].height);
  free(exact);
}

static void base64_is_read_however_it_is_written(void **state) {
  (void)state;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    char digits[256], uri[512], escaped[1024];
    size_t count = encode(FILES[i].file.bytes, FILES[i].file.size, false, digits);
    assert_source(digits, count, false, i);
    memcpy(uri, "data:image/x;charset=a;BASE64,", 30);
    memcpy(uri + 30, digits, count);
    assert_source(uri, 30 + count, false, i);
    assert_source(uri, 30 + encode(FILES[i].file.bytes, FILES[i].file.size, true, uri + 30), false, i);
    size_t at = 0;
    for (size_t k = 0; k < 30 + count; k++) {      /* as PHP writes it, and worse */
      if (uri[k] == '/') escaped[at++] = '\\', escaped[at++] = '/';
      else if (k % 5 == 0) at += (size_t)sprintf(escaped + at, "\\u%04x", (unsigned char)uri[k]);
      else escaped[at++] = uri[k];
    }
    assert_source(escaped, at, true, i);
  }
}

static void what_has_no_size_says_so(void **state) {
  (void)state;
  static const char *const sources[] = {
    "", "https://example.com/cat.png", "http://x/", "data:", "data:,", "data:image/png,iVBORw0KGgo",
    "data:image/png;base64", "data:image/png,iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAAA=", "data:image/png;base64,", "data:image/png;base64,iVBORw0KGgo=",
    "data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=", "not an image", "iVBORw0KGgoAAAANSUhEUgAA!yAAAAJYCAYAAAA=",
    "iVBORw0KGgoAAAANSUhEUgAAAAAAAAJYCAYAAAA=",     /* PNG, 0 wide */
    "iVBORw0KGgoAAAANSUhEUgABAAAAAAJYCAYAAAA=",     /* PNG, 65536 wide */
    "/9j/2gAIAQEAAD8A", "/9j/4AAB/8AAEQgB4AKAAwEi", /* JPEG: a scan first; a segment of length 1 */
    "/9j/2Q==", "/9j/wAARCAAAAoADASIA",             /* ends; 0 high, as a frame to be defined later has */
  };
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    ImageSize pixels = {7, 7};
    if (image_size(text_of(sources[i]), &pixels)) print_error("%s\n", sources[i]);
    assert_int_equal(pixels.width, 7);
  }
}

/* The length is looked at before anything is decoded. */
static void a_file_over_the_cap_has_no_size(void **state) {
  (void)state;
  size_t room = IMAGE_BYTES_MAX / 3 * 4 + 1024;
  char *digits = malloc(room);
  memset(digits, 'A', room);
  encode(FILES[0].file.bytes, 30, false, digits);
  ImageSize pixels;
  assert_true(image_size(text_plain(digits, room - 1024), &pixels));
  assert_false(image_size(text_plain(digits, room), &pixels));
  free(digits);
}

/* ---- types ---- */

static void the_first_bytes_tell_the_type(void **state) {
  (void)state;
  static const struct {
    const char *source, *type;       /* NULL: none is told */
  } rows[] = {
    {"iVBORw0KGgo=", "image/png"}, {"data:image/jpeg;base64,iVBORw0KGgoAAAAN", "image/png"},
    {"iVBORw0K\n GgoAAA==", "image/png"}, {"iVBORw0K", NULL}, {"/9j/2gAI", "image/jpeg"}, {"/9g=", NULL},
    {"R0lGODlhAQAB", "image/gif"}, {"R0lGODdhAQAB", "image/gif"}, {"R0lGODhhAQAB", NULL},
    {"UklGRgAAAABXRUJQVlA4IA==", "image/webp"}, {"UklGRgAAAABXQVZFZm10IA==", NULL},
    {"Qk06AAAAAAAAADYAAAA=", "image/bmp"}, {"Qk1oZWxsb3csIHlvdQ==", NULL}, {"SUkqAAgAAAA=", "image/tiff"},
    {"TU0AKgAAAAg=", "image/tiff"}, {"AAAAGGZ0eXBoZWljAAAAAA==", "image/heic"},
    {"AAAAHGZ0eXBtaWYxAAAAAA==", "image/heic"}, {"AAAAIGZ0eXBhdmlmAAAAAA==", "image/avif"},
    {"AAAAIGZ0eXBpc29tAAAAAA==", NULL}, {"aGk=", NULL}, {"", NULL}, {"https://a/b.png", NULL},
    {"data:image/png,iVBORw0KGgo", NULL}, {"data:image/png;base64,", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *type = image_type(text_of(rows[i].source));
    if (type == NULL ? rows[i].type != NULL : rows[i].type == NULL || strcmp(type, rows[i].type) != 0) {
      fail_msg("%s: %s", rows[i].source, type == NULL ? "no type" : type);
    }
  }
}

/* ---- costs ---- */

typedef struct Cost {
  const char *rule;
  uint32_t width, height;
  bool low;
  uint64_t tokens;
  const char *source;
} Cost;

#define OPENAI    "OpenAI, Images and vision, Calculating costs"
#define PRICING   "OpenAI, Pricing, vision calculator"
#define BILLED    "OpenAI community, Vision Pricing calculator: as billed, less 8 of text"
#define ANTHROPIC "Anthropic, Vision, Resolution and token cost"
#define NOT_SCALED "Anthropic, Vision, sizes that are not scaled down: 1092x1092, 951x1268, 819x1456, 784x1568"
#define MEASURED  "jackin.tailrocks.com/research/token-optimization/42: about 4,760 by the endpoint for counting"
#define GOOGLE    "Google, Gemini API, Image understanding, Token calculation"
#define BY_HAND   "by hand from the rule"

static const Cost COSTS[] = {
  {"tiles_512", 1024, 1024, false, 765, OPENAI},
  {"tiles_512", 2048, 4096, false, 1105, OPENAI},
  {"tiles_512", 4096, 8192, true, 85, OPENAI},
  {"tiles_512", 150, 150, false, 255, PRICING},
  {"tiles_512", 2049, 513, false, 1445, BILLED},
  {"tiles_512", 2050, 513, false, 765, BILLED},
  {"tiles_512", 65535, 1, false, 765, BY_HAND},         /* 2048 x 1 */
  {"tiles_512_5", 1024, 1024, false, 630, BY_HAND},
  {"tiles_512_o", 1024, 1024, false, 675, BY_HAND},
  {"tiles_512_mini", 1024, 1024, false, 25501, BY_HAND},
  {"tiles_512_mini", 1024, 1024, true, 2833, OPENAI},
  {"patches_32", 1024, 1024, false, 1024, OPENAI},
  {"patches_32", 1800, 2400, false, 1452, OPENAI},
  {"patches_32", 2400, 1800, false, 1452, OPENAI},
  {"patches_32", 2048, 768, false, 1536, BY_HAND},      /* just fits */
  {"patches_32", 4000, 1474, false, 1449, BY_HAND},     /* 63 x 23 */
  {"patches_32", 4000, 1474, true, 96, BY_HAND},        /* 512 x 189: 16 x 6 */
  {"patches_32", 1, 65535, false, 1536, BY_HAND},
  {"area", 200, 200, false, 64, ANTHROPIC},
  {"area", 1000, 1000, false, 1296, ANTHROPIC},
  {"area", 1092, 1092, false, 1521, ANTHROPIC},
  {"area", 951, 1268, false, 1564, NOT_SCALED},         /* 34 x 46; one patch more on a side is too much */
  {"area", 3000, 4000, false, 1564, NOT_SCALED},
  {"area", 4000, 4000, false, 1521, NOT_SCALED},        /* 1092 x 1092 */
  {"area", 784, 1568, false, 1568, NOT_SCALED},
  {"area", 1920, 1080, false, 1560, NOT_SCALED},        /* 1456 x 819 */
  {"area", 3136, 100, false, 112, BY_HAND},             /* 1568 x 50 */
  {"area", 3136, 100, true, 112, BY_HAND},              /* detail is OpenAI's word */
  {"area", 65535, 1, false, 56, BY_HAND},
  {"area_high", 200, 200, false, 64, ANTHROPIC},
  {"area_high", 1092, 1092, false, 1521, ANTHROPIC},
  {"area_high", 1920, 1080, false, 2691, BY_HAND},      /* 69 x 39 */
  {"area_high", 2000, 1500, false, 3888, BY_HAND},      /* 72 x 54 */
  {"area_high", 8000, 8000, false, 4761, MEASURED},     /* 69 x 69 */
  {"tiles_258", 384, 384, false, 258, GOOGLE},
  {"tiles_258", 960, 540, false, 1548, GOOGLE},
  {"tiles_258", 385, 10, false, 516, BY_HAND},          /* tiles of 256 */
  {"tiles_258", 3840, 2160, false, 3870, BY_HAND},      /* tiles of 768: 5 x 3 */
};

static void costs_are_those_of_the_providers_pages(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof COSTS / sizeof *COSTS; i++) {
    const Cost *cost = &COSTS[i];
    ImageRule rule;
    assert_true(image_rule_parse(cost->rule, &rule));
    uint64_t tokens = image_tokens(&rule, (ImageSize){cost->width, cost->height}, cost->low);
    if (tokens != cost->tokens) print_error("%s %ux%u: %s\n", cost->rule, cost->width, cost->height, cost->source);
    assert_int_equal(tokens, cost->tokens);
  }
}

/* gpt-4.1-mini: 1.62 per patch, and OpenAI's own calculator says 2348 of 4000 x 1474. */
static void a_multiplier_is_rounded_up(void **state) {
  (void)state;
  ImageRule rule;
  assert_true(image_rule_parse("patches_32", &rule));
  rule.hundredths = 162;
  assert_int_equal(image_tokens(&rule, (ImageSize){4000, 1474}, false), 2348);
  assert_false(image_rule_parse("tiles_513", &rule));
}

/* However odd: no cost is 0, patches keep to their cap, area to its most. */
static void every_size_has_a_cost(void **state) {
  (void)state;
  uint64_t random = test_seed();
  for (unsigned round = 0; round < 20000; round++) {
    ImageSize size = {.width = (uint32_t)(test_random(&random) % (1u << (1 + round % 16))) + 1,
                      .height = (uint32_t)(test_random(&random) % (1u << (1 + round / 16 % 16))) + 1};
    if (size.width > IMAGE_SIDE_MAX) size.width = IMAGE_SIDE_MAX;
    if (size.height > IMAGE_SIDE_MAX) size.height = IMAGE_SIDE_MAX;
    for (size_t i = 0; IMAGE_RULE_NAMES[i] != NULL; i++) {
      ImageRule rule;
      assert_true(image_rule_parse(IMAGE_RULE_NAMES[i], &rule));
      for (int low = 0; low < 2; low++) {
        uint64_t tokens = image_tokens(&rule, size, low);
        assert_in_range(tokens, 1,
                        rule.method == IMAGE_PATCHES ? 1536
                        : rule.method == IMAGE_AREA  ? rule.tokens_max
                                                     : 20000000);
        assert_int_equal(image_tokens(&rule, (ImageSize){size.height, size.width}, low), tokens);   /* turned */
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_format_is_read_from_as_much_as_it_needs),
    cmocka_unit_test(base64_is_read_however_it_is_written),
    cmocka_unit_test(what_has_no_size_says_so),
    cmocka_unit_test(a_file_over_the_cap_has_no_size),
    cmocka_unit_test(the_first_bytes_tell_the_type),
    cmocka_unit_test(costs_are_those_of_the_providers_pages),
    cmocka_unit_test(a_multiplier_is_rounded_up),
    cmocka_unit_test(every_size_has_a_cost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
