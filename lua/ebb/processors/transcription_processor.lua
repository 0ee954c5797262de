--- Processor: transcribes attachments to text, which later stages can weigh.
--
-- Text files are read in; audio, video and images go to the host, which answers
-- "transcribe" {kind, mime, name, id, sha256, prompt, data = a data URI} with a
-- text. The text takes the place of the attachment's placeholder, else it follows
-- the message's own after a newline. What stays an attachment is for the asset
-- resolver.
--
-- A transcript is kept by what was transcribed: for the run on the blackboard, and
-- beyond it by a host that answers "cache" {get = key} and {set = key, text =}.
-- Transcripts are not trusted: macros in them are not expanded.

local assets = require "ebb.processors.assets"
local content = require "ebb.processors.content"
local core = require "ebb.support.core"
local media = require "ebb.support.media"
local placeholders = require "ebb.processors.placeholders"
local refuse = require "ebb.support.refuse"
local traceback = require "ebb.support.traceback"

local ABILITY = { image = "vision", audio = "audio", video = "video", document = "document" }

---- Transcripts ----

local function cache_key(asset, digest, prompt)
  return table.concat({ "transcript", asset.kind, digest, prompt ~= "" and core.sha256(prompt) or nil }, ":")
end

local function remembered(context, key)
  local run = context.shared_data.transcripts or {}
  context.shared_data.transcripts = run
  if run[key] then return run[key] end
  local cached = context:call("cache", { get = key })
  if type(cached) == "string" and not media.text_fault(cached) then run[key] = cached end
  return run[key]
end

--- The host's answer as text; nil and why not.
local function ask_host(context, config, asset, attachment, digest)
  local answer, why = context:call("transcribe", { kind = asset.kind, mime = asset.mime, name = attachment.name,
    id = attachment.id, sha256 = digest, prompt = config.prompt ~= "" and config.prompt or nil,
    data = assets.data_uri(asset) })
  if type(answer) == "table" then answer = answer.text end
  if type(answer) ~= "string" then return nil, why and traceback.text(why) or "the host transcribes nothing" end
  if not answer:find "%S" then return nil, "the host's answer is blank" end
  local fault = media.text_fault(answer)
  if fault then return nil, "the host's answer: " .. fault end
  return answer
end

local function transcript(context, config, asset, attachment)
  local digest = core.sha256(asset.bytes)
  local key = cache_key(asset, digest, config.prompt)
  local text = remembered(context, key)
  if text then
    context:log("info", ("%s: transcript known"):format(asset.name), { sha256 = digest })
    return text
  end
  local why
  text, why = ask_host(context, config, asset, attachment, digest)
  if not text then
    context:log("warn", ("%s: not transcribed: %s"):format(asset.name, why))
    return nil
  end
  context.shared_data.transcripts[key] = text
  if not context.preview then context:call("cache", { set = key, text = text }) end
  context:log("info", ("%s: transcribed, %d bytes of text"):format(asset.name, #text), { sha256 = digest })
  return text
end

---- One attachment ----

local function wrapped(template, values)
  return (template:gsub("{(%l+)}", values))
end

local function read_in(context, config, asset)
  local text = assets.text(asset)
  context:log("info", ("%s: read in, %d bytes"):format(asset.name, #asset.bytes))
  return wrapped(config.text_template, { name = asset.name, kind = "text", mime = asset.mime or "", text = text })
end

local function is_wanted(context, config, kind)
  local when = config[kind]
  return when == "always" or when == "unsupported" and not context.capabilities[ABILITY[kind]]
end

--- Nothing is said of the file: it is looked into, and may be a text.
local function read_unknown(context, config, attachment)
  local asset = assets.need(context, attachment, config.max_media_bytes)
  if asset.kind ~= "text" then return nil end
  if #asset.bytes > config.max_bytes then
    refuse("limit", ("%s: it is larger than %d bytes"):format(asset.name, config.max_bytes))
  end
  return read_in(context, config, asset)
end

--- The text of an attachment; nil if it stays one.
local function text_of(context, config, attachment)
  local kind = assets.kind(attachment)
  if kind == "text" then
    return config.text and read_in(context, config, assets.need(context, attachment, config.max_bytes)) or nil
  end
  if kind == "file" then return config.text and read_unknown(context, config, attachment) or nil end
  if not is_wanted(context, config, kind) then return nil end
  local asset = assets.need(context, attachment, config.max_media_bytes)
  local text = transcript(context, config, asset, attachment)
  if not text then return nil end
  return wrapped(config.transcript_template, { name = asset.name, kind = asset.kind, mime = asset.mime or "",
    text = text })
end

---- One message ----

--- The parts with the assets among them that have become text; the same list if none has.
local function with_asset_texts(context, config, value)
  return content.map_parts(value, function(part)
    local text = assets.is_part(part) and text_of(context, config, part.attachment)
    return text and { type = "text", text = text } or part
  end)
end

local function transcribed(context, config, message)
  local entries, untranscribed = {}, {}
  for _, attachment in ipairs(message.attachments or {}) do
    local text = text_of(context, config, attachment)
    entries[#entries + 1] = { placeholder = attachment.placeholder, text = text,
      reference = wrapped(config.reference, { name = assets.name(attachment) }) }
    if not text then untranscribed[#untranscribed + 1] = attachment end
  end
  local filled = with_asset_texts(context, config, placeholders.fill(message.content, entries))
  if filled == message.content and #untranscribed == #entries then return message end
  local copy = content.changed(message, { content = filled })
  copy.attachments, copy.trusted = untranscribed[1] and untranscribed or nil, nil
  return copy
end

local function check_templates(config)
  for _, key in ipairs { "text_template", "transcript_template" } do
    if not config[key]:find("{text}", 1, true) then
      refuse("argument", ("transcription-processor: %s lacks {text}"):format(key), "[{name}]\n{text}")
    end
  end
end

local WHEN = { { label = "when the model cannot take it", value = "unsupported" },
  { label = "always", value = "always" }, { label = "never", value = "never" } }

local function kind_field(kind, default)
  return { key = kind, type = "select", default = default, options = WHEN, label = "Transcribe " .. kind }
end

---@type ebb.Processor
return {
  id = "transcription-processor",
  name = "Transcription",
  description = "reads text attachments in; audio, video and images become text through the host",
  priority = 250,
  is_core = true,
  config_fields = {
    { key = "text", type = "boolean", default = true, label = "Read text files in" },
    kind_field("audio", "unsupported"), kind_field("video", "unsupported"), kind_field("image", "unsupported"),
    kind_field("document", "never"),
    { key = "text_template", type = "text", default = "{text}",
      label = "How a text file is written in the message: {name}, {mime}, {kind}, {text}" },
    { key = "transcript_template", type = "text", default = "{text}", label = "The same for a transcript" },
    { key = "reference", type = "text", default = "[attachment: {name}]",
      label = "In the place of a placeholder whose attachment stays one, or whose text was there already" },
    { key = "max_bytes", type = "number", whole = true, min = 0, default = 1 << 20,
      label = "Bytes of a text file, at most" },
    { key = "max_media_bytes", type = "number", whole = true, min = 0, default = 20 << 20,
      label = "Bytes of any other, at most" },
    { key = "prompt", type = "text", default = "", label = "What the host is told to look for",
      placeholder = "Describe the picture in two sentences." },
  },

  execute = function(context, config)
    check_templates(config)
    if assets.none(context) then return end
    local result, changed = {}, false
    for i, message in ipairs(context.messages) do
      result[i] = assets.has(message) and transcribed(context, config, message) or message
      changed = changed or result[i] ~= message
    end
    if changed then context.messages = result end
  end,
}
