--- Speaks Gemini's generateContent: addresses of requests, texts and calls of answers. The address names the model.

local core = require "ebb.support.core"
local settings = require "ebb.request.settings"

local gemini = {
  base = "https://generativelanguage.googleapis.com/v1beta",
  base_names = { "GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL" }, key_names = { "GEMINI_API_KEY", "GOOGLE_API_KEY" },
  cut = { MAX_TOKENS = true, SAFETY = true, RECITATION = true, PROHIBITED_CONTENT = true,
    MALFORMED_FUNCTION_CALL = true },
  model_in_path = true, stream_members = {}, role = "model",
}

function gemini.path(model, is_stream)
  local name = model:find("/", 1, true) and model or "models/" .. model
  return ("/%s:%s"):format(name, is_stream and "streamGenerateContent?alt=sse" or "generateContent")
end

function gemini.headers(key) return { key and "x-goog-api-key: " .. key or nil } end

local function integer(value) return math.type(value) == "integer" and value or nil end

local function usage_of(body)
  local usage = type(body.usageMetadata) == "table" and body.usageMetadata or {}
  local output, thoughts = integer(usage.candidatesTokenCount), integer(usage.thoughtsTokenCount)
  return { input = integer(usage.promptTokenCount), output = output and output + (thoughts or 0),
    cached = integer(usage.cachedContentTokenCount) }
end

--- The role that a candidate names; it may be missing.
local function role_of(candidate)
  local role = type(candidate.content) == "table" and candidate.content.role
  return role and role ~= core.json.null and role ~= "" and role or nil
end

local function parts_of(candidate)
  local parts = type(candidate.content) == "table" and candidate.content.parts
  return type(parts) == "table" and parts or {}
end

---@param text string
---@param body table
---@return ebb.ProviderAnswer?
---@return string? why
function gemini.read(text, body)
  local candidate = type(body.candidates) == "table" and body.candidates[1]
  if type(candidate) ~= "table" then
    local feedback = type(body.promptFeedback) == "table" and body.promptFeedback.blockReason
    return nil, feedback and "the prompt was blocked: " .. tostring(feedback) or "it has no candidates"
  end
  for _, part in ipairs(parts_of(candidate)) do
    if type(part) == "table" and part.functionResponse then return nil, "it has a result, which is the user's" end
  end
  local first = settings.elements(settings.members(text).candidates)[1]
  local content = settings.members(first).content
  local parts = content and settings.is_object(content) and settings.members(content).parts
  return {
    messages = parts and '[{"role":"model","parts":' .. parts .. "}]" or "[]", stop = candidate.finishReason,
    roles = { role_of(candidate) }, usage = usage_of(body),
  }
end

---- Streams ----

--- Adds a part; texts of one kind become one.
local function add_part(parts, part)
  if next(part) == nil or part.text == "" and not part.thoughtSignature then return end
  local last = parts[#parts]
  local joins = last and last.text and part.text and last.thought == part.thought and not last.thoughtSignature
  if not joins then
    parts[#parts + 1] = part
    return
  end
  last.text, last.thoughtSignature = last.text .. part.text, part.thoughtSignature
end

---@return ebb.ProviderStream
function gemini.stream()
  local body, parts, stop, role = {}, core.json.array {}, nil, "model"
  local stream = {}
  function stream.event(event)
    for _, name in ipairs { "usageMetadata", "promptFeedback", "modelVersion" } do
      if event[name] ~= nil then body[name] = event[name] end
    end
    local candidate = type(event.candidates) == "table" and event.candidates[1]
    if type(candidate) ~= "table" then return nil end
    stop, role = candidate.finishReason or stop, role_of(candidate) or role
    local texts = {}
    for _, part in ipairs(parts_of(candidate)) do
      part = type(part) == "table" and part or {}
      add_part(parts, part)
      if type(part.text) == "string" and not part.thought then texts[#texts + 1] = part.text end
    end
    return table.concat(texts)
  end
  function stream.body()
    if body.promptFeedback and not stop then return body end
    if not stop then return nil end
    body.candidates = { { content = { role = role, parts = parts }, finishReason = stop } }
    return body
  end
  return stream
end

return gemini
