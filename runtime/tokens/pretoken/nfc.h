/*
** NFC: Unicode's normalization form C, to which some vocabularies bring texts.
**
** Each character is decomposed, marks after a letter are put in order, and what composes is
** composed. That is done piece by piece: a piece starts with a character that never changes
** after others, and ends before the next one, so most pieces are one character and are
** copied.
**
** The data of nfc_table.c are those of Unicode 17: nfc_generate.mjs takes them from the
** String.prototype.normalize of Node.js, with which Hugging Face's tokenizer in JavaScript
** normalizes. Bytes that are not UTF-8 stay as they are.
*/
#ifndef EBB_TOKENS_NFC_H
#define EBB_TOKENS_NFC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* True if a text is in the form; false also for some that are, with marks. */
bool   nfc_check(const char *bytes, size_t size);
/* Appends a text in the form to `out`. STATUS_MEMORY: a part may have been appended. */
Status nfc_write(const char *bytes, size_t size, Buffer *out);

/* ---- nfc_table.c ---- */

/* A byte for each code point, in two stages as in class.h: the order of a mark among marks, 0 for other characters;
   and NFC_CHANGES for characters that are not in the form, or compose with one before them. */
enum { NFC_PAGE = 128, NFC_CHANGES = 0x40, NFC_ORDER = 0x3F, NFC_ORDERS = 64, NFC_END = 0x30000 };

extern const unsigned char nfc_page[NFC_END / NFC_PAGE];
extern const unsigned char nfc_of_page[][NFC_PAGE];

/* Full canonical decompositions by code point: `count` code points of nfc_points from `start` on. */
typedef struct NfcDecomposition {
  uint32_t point;
  uint16_t start, count;
} NfcDecomposition;

extern const NfcDecomposition nfc_decompositions[];
extern const uint32_t nfc_decomposition_count;
extern const uint32_t nfc_points[];

/* Compositions of two, by both. */
typedef struct NfcComposition {
  uint32_t first, second, point;
} NfcComposition;

extern const NfcComposition nfc_compositions[];
extern const uint32_t nfc_composition_count;

#endif
