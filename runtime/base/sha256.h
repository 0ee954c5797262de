/*
** SHA-256 (FIPS 180-4): by which bytes are known again: where a vocabulary came
** from, which attachment was read before.
*/
#ifndef EBB_BASE_SHA256_H
#define EBB_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *bytes, size_t size, uint8_t digest[32]);

#endif
