--- The forms of attachments in requests, by dialect: one table to add another to.
--
--     roles            whose messages may hold them
--     limits           what the provider takes: bytes of one, how many, bytes of all
--     image, audio ... (asset, config, target) -> part, or nil and why it has no form
--     address          (url, kind, config, target) -> part, for what the provider itself fetches
--
-- Requests are written in openai's form first; `target` is the dialect in which they are sent.

local assets = require "ebb.processors.assets"
local core = require "ebb.support.core"

---@class ebb.AssetDialect
---@field roles table<string, boolean>
---@field limits { bytes: table<string, integer>, count: table<string, integer>, total: integer }
---@field targets? table<string, table<string, boolean>>   of kinds that only some targets take
---@field text fun(asset: ebb.Asset): table

local dialects = {}

local function no_form(asset)
  return nil, ("%s has no form there"):format(asset.mime or "an unknown type")
end

---- OpenAI, Chat Completions ----

local OPENAI_IMAGES = { ["image/png"] = true, ["image/jpeg"] = true, ["image/gif"] = true, ["image/webp"] = true }
local OPENAI_SOUNDS = { ["audio/wav"] = "wav", ["audio/mpeg"] = "mp3" }

--- True for a file of a type that Gemini takes and openai's form does not name: it is sent unchanged.
local function is_for_gemini(asset, target)
  return target == "gemini" and type(asset.mime) == "string" and asset.recognised
end

local function openai_file(asset)
  return { type = "file", file = { filename = asset.name, file_data = assets.data_uri(asset) } }
end

--- A film as compatible servers have it; of the targets only Gemini takes films.
local function openai_video(url) return { type = "video_url", video_url = { url = url } } end

local function openai_image(url, config)
  local detail = config.detail ~= "auto" and config.detail or nil
  return { type = "image_url", image_url = { url = url, detail = detail } }
end

dialects.openai = {
  -- Files of results stay in them until the request is written: those that its dialect has no form for move after them.
  roles = { user = true, tool = true },
  -- "Images and vision" and "File inputs" of its guide.
  limits = { bytes = { image = 20 << 20, document = 50 << 20 }, count = { image = 500 }, total = 50 << 20 },

  image = function(asset, config, target)
    if not OPENAI_IMAGES[asset.mime] and not is_for_gemini(asset, target) then return no_form(asset) end
    return openai_image(assets.data_uri(asset), config)
  end,

  audio = function(asset, _, target)
    local format = OPENAI_SOUNDS[asset.mime]
    if not format and is_for_gemini(asset, target) then return openai_file(asset) end
    if not format then return no_form(asset) end
    return { type = "input_audio", input_audio = { data = core.base64.encode(asset.bytes), format = format } }
  end,

  document = function(asset)
    if asset.mime ~= "application/pdf" then return no_form(asset) end
    return openai_file(asset)
  end,

  targets = { video = { gemini = true } },      -- of kinds that only some dialects take

  video = function(asset) return openai_video(assets.data_uri(asset)) end,

  text = function(asset) return { type = "text", text = assets.text(asset) } end,

  address = function(url, kind, config, target)
    if kind == "video" and target == "gemini" then return openai_video(url) end
    return kind == "image" and url:find "^https?://" and openai_image(url, config) or nil
  end,
}

return dialects
