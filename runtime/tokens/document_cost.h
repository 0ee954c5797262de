/*
** Document cost: the tokens of a file or a sound that a part of a message holds as base64.
**
** Providers read a file, not its base64: they charge the pages of a PDF, each as text and as an image, and the seconds
** of a sound. How much text a page has is not known, so these costs are estimates, whatever counts the texts.
*/
#ifndef EBB_TOKENS_DOCUMENT_COST_H
#define EBB_TOKENS_DOCUMENT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* A page of a PDF: Anthropic's page "PDF support" says 1,500 to 3,000 tokens of text, and an image of the page, which
   costs at most 1,568 (image_cost.h). The same for all providers, as their pages tell less. */
#define PAGE_TOKENS (2250u + 1568u)

/* Finds data in a part's JSON, or in the inside of a string that is the data or a data URI, and sets *tokens to what
   the file costs, at least 1. False if there is none: the part names a file elsewhere, or has plain text. */
bool document_tokens(Text part, uint64_t *tokens);

#endif
