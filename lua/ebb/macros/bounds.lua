--- Bounds of single macros; what a whole expansion may cost is in evaluate.lua.

return {
  DICE_MAX = 100,         -- each is written out in the text
  SIDES_MAX = 1000,
  ADDEND_MAX = 1000000,
  OFFSET_MAX = 14,        -- hours: no place on earth is further from UTC
  REPEAT_MAX = 1000,      -- as in templates; the result has a limit of its own
}
