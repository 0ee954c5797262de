/*
** JSON out: writes values into a sink, with commas where they belong. Bytes are
** gathered in a block of fixed size, so that writing needs no memory.
**
**     json_out_start(&out, sink);
**     json_out_open(&out, '{');
**     json_out_name(&out, "seqs");                 {"seqs":[1,2],"by":"me"}
**     json_out_open(&out, '[');
**     json_out_integer(&out, 1);
**     json_out_integer(&out, 2);
**     json_out_close(&out, ']');
**     json_out_member_string(&out, "by", "me");
**     json_out_close(&out, '}');
**     return json_out_end(&out);
**
** The first failure of the sink sticks: what follows is not written, and
** json_out_end returns the status.
*/
#ifndef EBB_JSON_JSON_OUT_H
#define EBB_JSON_JSON_OUT_H

#include "base/sink.h"
#include "base/text.h"

typedef struct JsonOut {
  Sink sink;
  Status status;
  uint32_t indent;           /* spaces per level; 0 (as started): all on one line */
  uint32_t depth;            /* brackets that are open */
  bool follows;              /* this bracket has a value already: the next one needs a comma */
  bool placed;               /* the next value goes right here: behind a name or a line break */
  size_t used;               /* of `block` */
  char block[4096];
} JsonOut;

void   json_out_start(JsonOut *out, Sink sink);
/* Writes what is gathered. */
void   json_out_flush(JsonOut *out);
/* Flushes, once every bracket is closed. Returns the first status of the sink but STATUS_OK, or STATUS_OK. */
Status json_out_end(JsonOut *out);

/* '[' or '{', as a value, and its counterpart. */
void   json_out_open(JsonOut *out, char bracket);
void   json_out_close(JsonOut *out, char bracket);
/* Opens an object with the members of `object`, a JSON object. */
void   json_out_open_with(JsonOut *out, Text object);
/* The name of a member; its value comes next. */
void   json_out_name(JsonOut *out, const char *name);
void   json_out_name_text(JsonOut *out, Text name);
/* A line break before the next value or name, or behind the last one. */
void   json_out_line(JsonOut *out);

/* ---- values ---- */

/* A string; `text` is plain or escaped. */
void   json_out_text(JsonOut *out, Text text);
void   json_out_string(JsonOut *out, const char *string);
void   json_out_integer(JsonOut *out, int64_t value);
/* JSON, byte for byte. */
void   json_out_raw(JsonOut *out, Text json);

/* ---- members: a name and its value ---- */

static inline void json_out_member_text(JsonOut *out, const char *name, Text text) {
  json_out_name(out, name);
  json_out_text(out, text);
}

static inline void json_out_member_string(JsonOut *out, const char *name, const char *string) {
  json_out_name(out, name);
  json_out_string(out, string);
}

static inline void json_out_member_integer(JsonOut *out, const char *name, int64_t value) {
  json_out_name(out, name);
  json_out_integer(out, value);
}

static inline void json_out_member_raw(JsonOut *out, const char *name, Text json) {
  json_out_name(out, name);
  json_out_raw(out, json);
}

#endif
