/* Operation files, applied to a small conversation: operations.lua. */
#define SCRIPT "tests/fuzz/operations.lua"
#include "lua_fuzz.h"
