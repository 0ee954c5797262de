/* Window markup and the calls of a model, read and performed: windows.lua. */
#define SCRIPT "tests/fuzz/windows.lua"
#include "lua_fuzz.h"
