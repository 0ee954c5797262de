/*
** Data URIs (RFC 2397): a file that stands where its address would.
**
**     data:image/png;base64,iVBORw0K...       data:text/plain;charset=utf-8,two%20words
*/
#ifndef EBB_CODEC_DATA_URI_H
#define EBB_CODEC_DATA_URI_H

#include "base/text.h"

#define DATA_URI_BYTES_MAX ((size_t)20 << 20)   /* decoded: what a caller without a wish of its own takes */

/* The pieces of one; they point into its bytes. */
typedef struct DataUri {
  Text media;           /* "image/png" as written, without parameters; empty: text/plain */
  Text parameters;      /* ";charset=utf-8", without ";base64"; mostly empty */
  bool base64;
  size_t start;         /* where the data begin in the URI */
  Text data;            /* encoded */
} DataUri;

typedef struct DataUriError {
  size_t offset;        /* within the URI, from 0 */
  const char *expected; /* static words */
} DataUriError;

/* Does it begin as one? Letters of either case. */
bool data_uri_is(Text uri);

/* Takes a plain text apart. STATUS_SYNTAX: see *error. */
Status data_uri_read(Text uri, DataUri *parts, DataUriError *error);

/* Adds the decoded bytes. What can be seen from the length is refused before
   anything is decoded. STATUS_LIMIT: more than `cap` bytes; STATUS_SYNTAX: see
   *error; STATUS_MEMORY. *out is as it was then. */
Status data_uri_decode(const DataUri *parts, size_t cap, Buffer *out, DataUriError *error);

#endif
