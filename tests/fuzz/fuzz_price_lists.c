/* Price lists of others, which `ebb models import` reads: price_lists.lua. */
#define SCRIPT "tests/fuzz/price_lists.lua"
#include "lua_fuzz.h"
