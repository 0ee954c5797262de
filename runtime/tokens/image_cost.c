/*
** The rules, in integers only, so that all machines round alike.
*/
#include "tokens/image_cost.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "base/names.h"

static const struct {
  const char *name;
  ImageRule rule;
} RULES[] = {
  /* OpenAI, guide "Images and vision", section "Calculating costs": tables of
     base and tile tokens, and of the multipliers for patches. */
  {"tiles_512", {.method = IMAGE_TILES, .base = 85, .tile = 170}},
  {"tiles_512_5", {.method = IMAGE_TILES, .base = 70, .tile = 140}},
  {"tiles_512_o", {.method = IMAGE_TILES, .base = 75, .tile = 150}},
  {"tiles_512_mini", {.method = IMAGE_TILES, .base = 2833, .tile = 5667}},
  {"patches_32", {.method = IMAGE_PATCHES, .hundredths = 100}},
  /* Anthropic, "Vision", section "Resolution and token cost": patches of 28 x 28 pixels, where width * height / 750
     was the rule before. jackin.tailrocks.com/research/token-optimization/42 measured the same by the endpoint for
     counting: 1,296 for 1000 x 1000, at most 1,521 and 4,761 for squares. */
  {"area", {.method = IMAGE_AREA, .edge_max = 1568, .tokens_max = 1568}},
  {"area_high", {.method = IMAGE_AREA, .edge_max = 2576, .tokens_max = 4784}},
  /* Google, "Image understanding", section "Token calculation". */
  {"tiles_258", {.method = IMAGE_GEMINI, .tile = 258}},
};

const char *const IMAGE_RULE_NAMES[] = {"tiles_512", "tiles_512_5", "tiles_512_o", "tiles_512_mini", "patches_32",
                                        "area",      "area_high",   "tiles_258",   NULL};

bool image_rule_parse(const char *name, ImageRule *rule) {
  for (size_t i = 0; i < COUNT_OF(RULES); i++) {
    if (strcmp(RULES[i].name, name) != 0) continue;
    *rule = RULES[i].rule;
    return true;
  }
  return false;
}

static uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* A side after scaling by to / from, at least one pixel. Rounds to the nearest: an image of
   2049 x 513 is billed as 2048 x 513. */
static uint64_t scaled(uint64_t side, uint64_t from, uint64_t to) {
  assert(from > 0 && to <= from);
  return max_u64((2 * side * to + from) / (2 * from), 1);
}

/* ---- tiles ---- */

/* Scales the image down to fit 2048 x 2048, then until the shorter side has 768; tiles of
   512 x 512 cover the result. A small image is not scaled up. */
static uint64_t tiles_of(ImageSize size) {
  uint64_t width = size.width, height = size.height;
  uint64_t longest = max_u64(width, height);
  if (longest > 2048) {
    width = scaled(width, longest, 2048);
    height = scaled(height, longest, 2048);
  }
  uint64_t shortest = min_u64(width, height);
  if (shortest > 768) {
    width = scaled(width, shortest, 768);
    height = scaled(height, shortest, 768);
  }
  return divide_up(width, 512) * divide_up(height, 512);
}

/* ---- patches ---- */

enum { PATCH = 32, PATCHES_MAX = 1536 };

/* The largest n with n * n * b <= a. */
static uint64_t root_of_quotient(uint64_t a, uint64_t b) {
  uint64_t low = 0, high = PATCHES_MAX * 8;
  while (low < high) {
    uint64_t middle = (low + high + 1) / 2;
    if (middle * middle * b <= a) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* Number of patches of 32 x 32 that cover the image. Above 1536 the image is scaled down until
   1536 would cover it, then a little more until the side that loses most by that is a whole
   number of patches. Scaled for 1536, a side has sqrt(1536 * side / other) patches. */
static uint64_t patches_of(ImageSize size) {
  uint64_t width = size.width, height = size.height;
  uint64_t patches = divide_up(width, PATCH) * divide_up(height, PATCH);
  if (patches <= PATCHES_MAX) return patches;
  uint64_t across = root_of_quotient(PATCHES_MAX * width, height);
  uint64_t down = root_of_quotient(PATCHES_MAX * height, width);
  if (across == 0 || down == 0) return PATCHES_MAX;      /* a line */
  uint64_t product = across * height < down * width ? across * divide_up(height * across, width)
                                                    : down * divide_up(width * down, height);
  assert(product > 0);
  return min_u64(product, PATCHES_MAX);
}

/* The size in low detail: at most 512 x 512 pixels. */
static ImageSize shrunk(ImageSize size) {
  uint64_t longest = max_u64(size.width, size.height);
  if (longest <= 512) return size;
  return (ImageSize){(uint32_t)scaled(size.width, longest, 512), (uint32_t)scaled(size.height, longest, 512)};
}

/* ---- area ---- */

enum { VISUAL_TOKEN = 28 };      /* pixels of a side */

/* Patches that cover the image scaled so that its longer edge has `edge` pixels. Grows with `edge`. */
static uint64_t visual_tokens(uint64_t longest, uint64_t shortest, uint64_t edge) {
  return divide_up(edge, VISUAL_TOKEN) * divide_up(scaled(shortest, longest, edge), VISUAL_TOKEN);
}

/* Scales the image down to the largest size with at most `edge_max` pixels and `tokens_max` patches. */
static uint64_t area_tokens(const ImageRule *rule, ImageSize size) {
  uint64_t longest = max_u64(size.width, size.height), shortest = min_u64(size.width, size.height);
  uint64_t low = 1, high = min_u64(longest, rule->edge_max);
  while (low < high) {
    uint64_t middle = (low + high + 1) / 2;
    if (visual_tokens(longest, shortest, middle) <= rule->tokens_max) low = middle;
    else high = middle - 1;
  }
  uint64_t tokens = visual_tokens(longest, shortest, low);
  assert(tokens >= 1 && tokens <= rule->tokens_max);
  return tokens;
}

/* ---- Gemini ---- */

/* One tile up to 384 x 384; else tiles of 2/3 of the shorter side, within 256 to 768 pixels
   (bounds from Vertex AI, "Image understanding"). */
static uint64_t gemini_tiles(ImageSize size) {
  if (size.width <= 384 && size.height <= 384) return 1;
  uint64_t unit = min_u64(size.width, size.height) * 2 / 3;
  unit = max_u64(min_u64(unit, 768), 256);
  return divide_up(size.width, unit) * divide_up(size.height, unit);
}

/* ---- all rules ---- */

bool image_cost_is_fixed(const ImageRule *rule, bool low) { return low && rule->method == IMAGE_TILES; }

uint64_t image_tokens(const ImageRule *rule, ImageSize size, bool low) {
  switch (rule->method) {
  case IMAGE_TILES: return low ? rule->base : rule->base + rule->tile * tiles_of(size);
  case IMAGE_PATCHES: return divide_up(patches_of(low ? shrunk(size) : size) * rule->hundredths, 100);
  case IMAGE_AREA: return area_tokens(rule, size);
  case IMAGE_GEMINI: break;
  }
  return rule->tile * gemini_tiles(size);
}
