--- Draws and hashes. A generator is one integer, so that an environment's copy for
-- a preview draws what the real run will draw.

local random = {}

local STEP = 0x9E3779B97F4A7C15   -- 2^64 divided by the golden ratio: all states are visited

local function mix(z)
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

--- The generator's next state, and a number from 0 to `count` - 1.
---@param state integer
---@param count integer     > 0
---@return integer state
---@return integer number
function random.below(state, count)
  state = state + STEP
  return state, (mix(state) >> 1) % count   -- 63 bits: what the remainder favours is below 2^-10 even for 2^53 choices
end

--- A text as a state to begin with.
---@param s string
---@return integer
function random.seed(s)
  local state = #s
  for i = 1, #s do
    state = mix(state + STEP + s:byte(i))
  end
  return state
end

--- The 32-bit hash that AIO Hub picks by, so that its sessions keep their picks:
--- 31 * hash + unit over the text's UTF-16 units.
---@param s string
---@return integer          0 or above
function random.session_hash(s)
  local hash = 0
  local function add(unit)
    hash = (hash * 31 + unit) & 0xFFFFFFFF
  end
  if not utf8.len(s) then s = s:gsub("[\x80-\xFF]", "?") end
  for _, code in utf8.codes(s) do
    if code > 0xFFFF then
      add(0xD800 + ((code - 0x10000) >> 10))
      add(0xDC00 + ((code - 0x10000) & 0x3FF))
    else
      add(code)
    end
  end
  return hash >= 0x80000000 and 0x100000000 - hash or hash
end

return random
