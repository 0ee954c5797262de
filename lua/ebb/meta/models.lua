---@meta
--- Models, and tokenizers that count exactly.

---@class ebb.Tokenizer       Counts text exactly, by a vocabulary; text that spells a special token is plain text
---@field name string          of the encoding
---@field size integer         ids are below it
local Tokenizer = {}
--- Counts the tokens of a text, of which special tokens are ordinary text.
---@param text string          any bytes; those that are not UTF-8 are counted one by one
---@return integer tokens
function Tokenizer:count(text) end
--- Counts, but reads little further once there are more than `limit` (0 or more).
---@param text string
---@param limit integer
---@return integer tokens       exact up to `limit`; any number above it means more than `limit`
function Tokenizer:count_up_to(text, limit) end
--- The ids of the tokens of a text.
---@param text string
---@return integer[] ids
function Tokenizer:encode(text) end
--- Raises {code = "out_of_range"} for an id that is no token, with its position.
---@param ids integer[]
---@return string bytes        may end within a character
function Tokenizer:decode(ids) end

---@class ebb.Model
---@field encoding string      of a vocabulary, or an estimator
---@field window integer       tokens
---@field output? integer      tokens that a trim leaves free for the reply; default: a quarter of the window
---@field dialect? string      "openai" (default), "responses", "anthropic", "gemini"
---@field image? string|{ rule: string, base?: integer, tile?: integer, multiplier?: number }
---@field abilities? { vision?: boolean, audio?: boolean, video?: boolean, document?: boolean }   what it reads
---@field margin? integer      percent of an estimate that budgets keep free; default: by the encoding
---@field prices? ebb.Prices
---@field cache? string|ebb.CacheRule   how its prompt cache serves; default: by its name, else by its dialect

---@class ebb.Profile         What a server demands or refuses beyond its dialect
---@field summary? string
---@field dialects? ebb.Dialect[]   forms of requests that it reads; the first is its own; default: openai
---@field models? string[]    beginnings of names of models that are served there, in lower case
---@field hosts? string[]     ends of the host in its base URL
---@field refuses? string[]   codes of rules that hold there as refusals
---@field accepts? string[]   codes of rules that do not hold there
---@field call_id? { min?: integer, max?: integer, characters?: "any"|"word"|"alphanumeric" }
---@field tool_name? integer  its most characters
---@field members? string[]   further members that a message may have there
---@field reasoning? "drop"|"keep"|"require"|"require_with_calls"   what becomes of reasoning text
---@field limits? ebb.ProfileLimits
---@field sources? string[]   where this is documented or reported

---@class ebb.ProfileLimits   Of a request
---@field bytes? integer
---@field messages? integer
---@field images? integer
---@field image_side? integer        pixels of a side of an image
---@field image_bytes? integer       of an image's base64
---@field many_images? integer       with more images than these a side has at most `many_images_side` pixels
---@field many_images_side? integer

---@class ebb.Prices          Per million tokens
---@field input number
---@field cached_input? number   that the cache serves; nil: as input
---@field cache_write? number    that it did not have and keeps; nil: as the rule of the cache says
---@field output number

---@class ebb.CacheRule       A field that is left out is that of the rule "general"
---@field minimum? integer    tokens; a shorter beginning is not cached
---@field step? integer       tokens; a beginning is served up to a multiple of it
---@field lifetime? number    seconds after its last use
---@field read? number        price of a token that it serves, in prices of fresh input
---@field write? number       price of a token that it did not have and keeps
---@field lookback? integer   messages before a mark in which a beginning is looked for; nil: every beginning is kept
