/*
** Image cost: the tokens of an image of a certain size, by the providers' rules.
**
** All rules are published formulas (image_cost.c names the sources), so a cost is as
** exact as the size; IMAGE_UNKNOWN replaces an unknown size.
*/
#ifndef EBB_TOKENS_IMAGE_COST_H
#define EBB_TOKENS_IMAGE_COST_H

#include "codec/image_header.h"

typedef enum ImageMethod { IMAGE_TILES, IMAGE_PATCHES, IMAGE_AREA, IMAGE_GEMINI } ImageMethod;

/* A rule; members of other methods are 0. */
typedef struct ImageRule {
  ImageMethod method;
  uint32_t base, tile;       /* IMAGE_TILES, IMAGE_GEMINI: tokens for the whole image, and per tile */
  uint32_t hundredths;       /* IMAGE_PATCHES: cost of a patch in hundredths of a token */
  uint32_t edge_max;         /* IMAGE_AREA: pixels; larger images are scaled down to it */
  uint32_t tokens_max;       /* IMAGE_AREA */
} ImageRule;

/* Rules by name:
     tiles_512      85 + 170 per tile       gpt-4o, gpt-4.1, gpt-4-turbo (the default)
     tiles_512_5    70 + 140                gpt-5
     tiles_512_o    75 + 150                o1, o3
     tiles_512_mini 2833 + 5667             gpt-4o-mini
     patches_32     1 per patch             times the model's multiplier
     area           1 per 28 x 28 pixels    Claude, up to 1568 pixels and tokens
     area_high      the same                Claude with high resolution, up to 2576 and 4784
     tiles_258      258 per tile            Gemini
   False for other names. */
bool image_rule_parse(const char *name, ImageRule *rule);
/* The names; NULL at the end. */
extern const char *const IMAGE_RULE_NAMES[];

/* The size to assume for an image of unknown size. */
#define IMAGE_UNKNOWN ((ImageSize){1024, 1024})

/* Tokens of an image. `low`: its detail is "low", which only OpenAI's rules know; others ignore it. */
uint64_t image_tokens(const ImageRule *rule, ImageSize size, bool low);

/* True if the cost does not depend on the size: for low detail by tiles. */
bool image_cost_is_fixed(const ImageRule *rule, bool low);

#endif
