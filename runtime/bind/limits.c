/*
** Limits: the constants of the library that bound what it accepts, by their names in C.
*/
#include "bind/draft.h"
#include "bind/marshal.h"
#include "bind/open.h"
#include "bind/type.h"
#include "codec/data_uri.h"
#include "codec/image_header.h"
#include "core/conversation.h"
#include "core/history/history.h"
#include "core/message/message.h"
#include "core/message/store.h"
#include "core/list/window.h"
#include "document/document.h"
#include "state/policy_memory.h"
#include "dialect/read/reader.h"
#include "json/json.h"
#include "regex/regex.h"
#include "regex/replace.h"
#include "regex/rule_set.h"
#include "sandbox/match.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_state.h"
#include "tokens/vocab/vocab.h"
#include "tokens/vocab/vocab_build.h"
#include "storage/storage.h"

#define LIMIT(name) {#name, (lua_Integer)(name)}

/* limits() -> values by name: a new table, so that sandboxes and short runs hold none */
static int l_limits(lua_State *L) {
  static const struct {
    const char *name;
    lua_Integer value;
  } limits[] = {
    LIMIT(MESSAGE_BYTES_MAX), LIMIT(FILE_BYTES_MAX), LIMIT(JSON_DEPTH_MAX), LIMIT(MESSAGE_TOKENS_MAX),
    LIMIT(POLICY_MEMORY_MAX), LIMIT(POLICY_MEMORY_KEPT), LIMIT(BATCH_DESCRIPTION_MAX), LIMIT(MEMORY_NAMES_MAX),
    LIMIT(LEDGER_TEXTS_MAX), LIMIT(MARSHAL_BYTES_MORE),
    LIMIT(STORE_MESSAGES_MAX), LIMIT(CALIBRATION_REPORT_MAX), LIMIT(CALIBRATION_RATIO_MAX), LIMIT(WINDOW_COUNT_MAX),
    LIMIT(STORAGE_NAME_MAX), LIMIT(STORAGE_SESSIONS_MAX), LIMIT(STORAGE_ORIGINS_MAX), LIMIT(STORAGE_OPERATIONS_KEPT),
    LIMIT(STORAGE_WAIT_MS),
    LIMIT(IMAGE_BYTES_MAX), LIMIT(IMAGE_SIDE_MAX), LIMIT(DATA_URI_BYTES_MAX), LIMIT(REGEX_PATTERN_MAX),
    LIMIT(REGEX_TEXT_MAX), LIMIT(REGEX_TRIMS_MAX), LIMIT(RULE_SET_MAX), LIMIT(RULE_STRIKES), LIMIT(REGEX_TIME_MS),
    LIMIT(SANDBOX_BLOCK), LIMIT(SANDBOX_NULS),
    LIMIT(PRINT_MAX), LIMIT(SORT_MAX), LIMIT(RANGE_MAX), LIMIT(VALUES_MAX), LIMIT(CLOSE_DEPTH), LIMIT(LATE_MS),
    LIMIT(PACK_FORMAT_MAX), LIMIT(MESSAGE_MAX),
    LIMIT(MODULE_NAME_MAX), LIMIT(PARSE_JUMPS_MAX), LIMIT(PARSE_LOOKS_MAX), LIMIT(MATCH_DEPTH_MAX),
    LIMIT(MATCH_CAPTURES), LIMIT(MARSHAL_VALUES_MAX), LIMIT(MARSHAL_DEPTH_MAX), LIMIT(VOCAB_NAME_MAX),
    LIMIT(VOCAB_TOKENS_MAX), LIMIT(VOCAB_TOKEN_BYTES_MAX), LIMIT(VOCAB_IMAGE_BYTES_MAX),
  };
  int count = (int)(sizeof limits / sizeof *limits);
  lua_createtable(L, 0, count);
  for (int i = 0; i < count; i++) {
    lua_pushinteger(L, limits[i].value);
    lua_setfield(L, -2, limits[i].name);
  }
  return 1;
}

void bind_open_limits(lua_State *L) {
  static const BindMethod functions[] = {{"limits", l_limits, "", CHARGE_STEP}, BIND_END};
  bind_functions(L, "ebb", functions);
}
