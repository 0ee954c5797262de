/*
** Data URIs (RFC 2397): a file's contents in the place of its address.
**
**     data:image/png;base64,iVBORw0K...       data:text/plain;charset=utf-8,two%20words
*/
#ifndef EBB_CODEC_DATA_URI_H
#define EBB_CODEC_DATA_URI_H

#include "base/text.h"

#define DATA_URI_BYTES_MAX ((size_t)20 << 20)   /* decoded; the default cap of callers */

/* The parts of a data URI; they point into its bytes. */
typedef struct DataUri {
  Text media;           /* "image/png" as written, without parameters; empty: text/plain */
  Text parameters;      /* ";charset=utf-8", without ";base64"; mostly empty */
  bool base64;
  size_t start;         /* offset of the data in the URI */
  Text data;            /* encoded */
} DataUri;

typedef struct DataUriError {
  size_t offset;        /* in the URI, from 0 */
  const char *expected; /* static text */
} DataUriError;

/* True if it begins with "data:", in letters of either case. */
bool data_uri_is(Text uri);

/* Splits a plain text into its parts. STATUS_SYNTAX: see *error. */
Status data_uri_read(Text uri, DataUri *parts, DataUriError *error);

/* Adds the decoded bytes to *out. Lengths are checked before anything is decoded.
   STATUS_LIMIT: more than `cap` bytes; STATUS_SYNTAX: see *error; STATUS_MEMORY. *out
   is unchanged then. */
Status data_uri_decode(const DataUri *parts, size_t cap, Buffer *out, DataUriError *error);

#endif
