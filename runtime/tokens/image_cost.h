/*
** Image cost: what an image of so many pixels costs, by the providers' rules.
**
** All of them are published formulas (image_cost.c says where), so a cost is as
** exact as the size; where the size is not known, IMAGE_UNKNOWN stands in.
*/
#ifndef EBB_TOKENS_IMAGE_COST_H
#define EBB_TOKENS_IMAGE_COST_H

#include "codec/image_header.h"

typedef enum ImageMethod { IMAGE_TILES, IMAGE_PATCHES, IMAGE_AREA, IMAGE_GEMINI } ImageMethod;

typedef struct ImageRule {
  ImageMethod method;
  uint32_t base, tile;       /* tiles: tokens for the whole image, and per tile */
  uint32_t hundredths;       /* patches: what one costs, in hundredths of a token */
  uint32_t edge, most;       /* area: longest edge in pixels; tokens at most */
} ImageRule;

/* Rules by name:
     tiles_512      85 + 170 per tile       gpt-4o, gpt-4.1, gpt-4-turbo (the default)
     tiles_512_5    70 + 140                gpt-5
     tiles_512_o    75 + 150                o1, o3
     tiles_512_mini 2833 + 5667             gpt-4o-mini
     patches_32     1 per patch             times the model's multiplier
     area           width * height / 750    Claude, up to 1568 pixels and tokens
     area_high      the same                Claude with high resolution, up to 2576 and 4784
     tiles_258      258 per tile            Gemini
   False if there is none. */
bool image_rule_parse(const char *name, ImageRule *rule);
/* The names; NULL at the end. */
extern const char *const IMAGE_RULE_NAMES[];

/* The size that is assumed where none is known. */
#define IMAGE_UNKNOWN ((ImageSize){1024, 1024})

/* `low`: sent with detail "low", which only OpenAI's rules know. */
uint64_t image_tokens(const ImageRule *rule, ImageSize size, bool low);

/* Is the cost the same for every size? So for low detail by tiles. */
bool image_cost_is_fixed(const ImageRule *rule, bool low);

#endif
