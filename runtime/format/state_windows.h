/*
** The windows of a saved state: a list of objects, in the order of their creation.
**
**     [{"id":"todo", "description":"..", "kind":"text", "content":"..", "actions":"[..]", "summary":"",
**       "is":["closable", "important"], "version":3, "created":4, "updated":9}, ..]
**
** Contents that a host makes are saved by their kind alone. Equal windows, equal bytes.
*/
#ifndef EBB_FORMAT_STATE_WINDOWS_H
#define EBB_FORMAT_STATE_WINDOWS_H

#include "core/window.h"
#include "json/json.h"
#include "json/json_out.h"

/* Writes the list. */
void   state_write_windows(const Windows *windows, JsonOut *out);

/* Reads a list at the cursor into an empty table; clocks go up to `seq`. STATUS_SHAPE for what no
   window is, which *at and *expected tell; else the cursor's status, STATUS_MEMORY, STATUS_LIMIT. */
Status state_read_windows(Json *json, MessageId seq, Windows **windows, const char **at, const char **expected);

#endif
