/* Files of other programs, through every importer and every writer: imports.lua. */
#define SCRIPT "tests/fuzz/imports.lua"
#include "lua_fuzz.h"
