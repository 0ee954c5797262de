/* Agent files, through the whole pipeline: agents.lua. */
#define SCRIPT "tests/fuzz/agents.lua"
#include "lua_fuzz.h"
