--- Prices on the command line: --price in,cached,write,out, per million tokens.

local caches = require "ebb.models.caches"
local failure = require "ebb.cli.failure"

local prices = {}

local FIELDS = { "input", "cached_input", "cache_write", "output" }
local EXPECTED = "--price: expected in,cached,write,out per million tokens, such as 3,0.3,3.75,15, got '%s'"

--- The numbers between commas; false for an empty place, nil for anything else.
local function number_of(word)
  if word:find "^%s*$" then return false end
  local number = word:find "^%s*%d*%.?%d+%s*$" and tonumber(word)
  return number and number < math.huge and number or nil
end

--- A converter of argparse: all four places; those of cached and write may be empty.
---@param word string
---@return ebb.Prices? prices
---@return string? problem
function prices.read(word)
  local result, count = {}, 0
  for place in (word .. ","):gmatch "([^,]*)," do
    count = count + 1
    local number = number_of(place)
    if number == nil or not FIELDS[count] then return nil, EXPECTED:format(word) end
    result[FIELDS[count]] = number or nil
  end
  if count ~= #FIELDS or not result.input or not result.output then return nil, EXPECTED:format(word) end
  return result
end

--- Declares the options of a replay's cost.
function prices.declare(parser)
  parser:option("--price", "With --replay: prices per million tokens of input, cached input, writing to the cache and "
    .. "output; default: the model's, else costs are in tokens of fresh input."):argname("<in,cached,write,out>")
    :convert(prices.read)
  parser:option("--cache", "With --replay: whose prompt cache serves; default: the model's."):argname("<rule>")
    :choices(caches.names())
end

--- Refuses them where nothing is replayed.
function prices.check(args)
  local option = not args.replay and (args.price and "--price" or args.cache and "--cache")
  if option then failure.usage(("%s needs --replay"):format(option), "a trim costs nothing by itself") end
end

return prices
