/*
** JSON out, into a sink: pieces are gathered in a block of fixed size, so that a text of any
** length is written without memory. The first failure sticks, and ends in json_out_end.
*/
#ifndef EBB_JSON_JSON_OUT_H
#define EBB_JSON_JSON_OUT_H

#include "base/sink.h"
#include "base/text.h"

typedef struct JsonOut {
  Sink sink;
  Status status;
  size_t used;               /* of `block` */
  char block[4096];
} JsonOut;

void   json_out_start(JsonOut *out, Sink sink);
/* Bytes and strings as they stand. */
void   json_out_bytes(JsonOut *out, const char *bytes, size_t size);
void   json_out_word(JsonOut *out, const char *string);
void   json_out_integer(JsonOut *out, int64_t value);
/* A string with its quotes; `text` is plain or escaped. */
void   json_out_text(JsonOut *out, Text text);
/* Writes what is gathered. */
Status json_out_end(JsonOut *out);

#endif
