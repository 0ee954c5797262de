--- Chance: draws from the environment's own generator, and picks that a session keeps.

local bounds = require "ebb.macros.bounds"
local random = require "ebb.macros.random"

local EXACT_MAX = 1 << 53   -- whole numbers that JSON's readers keep exactly

local function integer_of(text)
  local integer = text:find "^[+-]?%d+$" and math.tointeger(tonumber(text))
  return integer and math.abs(integer) <= EXACT_MAX and integer or nil
end

local function random_int(call, lowest, highest)
  local low, high = integer_of(lowest), integer_of(highest)
  if not low or not high then return nil, "not_integer" end
  if low >= high then return nil, "range" end
  return low + call.environment:draw(high - low + 1)
end

--- "2d6", "d20", "20" and "2d6+3" as numbers.
local function read_dice(text)
  local lower = text:lower():gsub("%s", "")
  local count, sides, addend = lower:match "^(%d*)d(%d+)([+-]?%d*)$"
  if not count then count, sides, addend = "1", lower:match "^(%d+)([+-]?%d*)$" end
  if not sides or addend == "+" or addend == "-" then return nil end
  if addend ~= "" and not addend:find "^[+-]" then return nil end
  if count == "" then count = "1" end
  if addend == "" then addend = "0" end
  return tonumber(count), tonumber(sides), math.tointeger(tonumber(addend))
end

local function roll(call, dice)
  local count, sides, addend = read_dice(dice)
  if not count or not addend or math.abs(addend) > bounds.ADDEND_MAX then return nil, "dice_form" end
  if count < 1 or count > bounds.DICE_MAX then return nil, "dice_count", bounds.DICE_MAX end
  if sides < 1 or sides > bounds.SIDES_MAX then return nil, "dice_sides", bounds.SIDES_MAX end
  local total, thrown = addend, {}
  for i = 1, count do
    thrown[i] = call.environment:draw(sides) + 1
    total = total + thrown[i]
  end
  if count == 1 then return total end
  local text = table.concat(thrown, ", ")
  if addend ~= 0 then text = ("%s; %+d"):format(text, addend) end
  return ("%d (%s)"):format(total, text)
end

--- Picks by the session alone, as sessions of AIO Hub expect: all picks among n choices take the same place.
local function pick(call, ...)
  local session = call.environment.session_id or ("seed %d"):format(call.environment.seed)
  return (select(random.session_hash(session) % select("#", ...) + 1, ...))
end

return {
  {
    name = "random",
    summary = "one of its arguments, chosen at random each time",
    parameters = { "choice..." },
    stability = "volatile",
    commas = true,
    example = "{{random::red::green::blue}}",
    run = function(call, ...) return (select(call.environment:draw(select("#", ...)) + 1, ...)) end,
  },
  {
    name = "pick",
    summary = "one of its arguments, always the same in a session",
    parameters = { "choice..." },
    stability = "session",
    commas = true,
    example = "{{pick::red::green::blue}}",
    run = pick,
  },
  {
    name = "randomInt",
    summary = "a whole number from the smallest to the largest",
    parameters = { "smallest", "largest" },
    stability = "volatile",
    example = "{{randomInt::1::10}}",
    run = random_int,
  },
  {
    name = "roll",
    summary = "rolls dice: NdM, dM, NdM+K; several are listed after their sum",
    parameters = { "dice" },
    stability = "volatile",
    example = "{{roll::2d6}}",
    run = roll,
  },
}
