--- Requests: a conversation as the body that a provider takes, in any dialect.
--
--     chat --convert--> messages, system texts       the core: convert_list.h
--     body of the file --read--> settings --write--> members around them
--
-- A body that is in the target's dialect keeps its bytes around the messages.

local body = require "ebb.request.body"
local bound_thinking = require "ebb.models.bound_thinking"
local core = require "ebb.support.core"
local own_members = require "ebb.request.own_members"
local profiles = require "ebb.models.profiles"
local read_as = require "ebb.request.read_as"
local schema = require "ebb.support.schema"
local settings = require "ebb.request.settings"
local tables = require "ebb.support.tables"
local target = require "ebb.models.target"
local traits = require "ebb.models.traits"

local request = {}

local KEEPS_REASONING = { keep = true, require = true, require_with_calls = true }

---@type table<ebb.Dialect, table>
local FORMS = {
  openai = require "ebb.request.openai", responses = require "ebb.request.responses",
  anthropic = require "ebb.request.anthropic", gemini = require "ebb.request.gemini",
}

local OPTIONS = {
  to = { type = "choice", choices = require "ebb.models.dialects", required = true },
  shape = { type = "choice", choices = { "body", "array", "jsonl" } }, model = { type = "string" },
  profile = { type = "string" },
  keep_extra = { type = "boolean" }, unbound_from = { type = "integer", min = 1 },
}

local NAMES = {
  choice = "tool_choice", parallel = "parallel_tool_calls", max_tokens = "max_tokens", temperature = "temperature",
  top_p = "top_p", top_k = "top_k", stop = "stop", stream = "stream", user = "user", effort = "reasoning effort",
  schema = "schema of the answer", json_answer = "JSON answer",
}

---- The body around the messages ----

--- Reads the body around the messages into settings.
local function read_body(dialect, text, losses)
  local form = FORMS[dialect]
  local members, names = settings.members(text)
  for _, name in ipairs(names) do
    local own = form.name and form.name(name) or name
    if not form.reads[own] and name ~= form.messages then settings.lose_member(losses, name) end
  end
  return form.read(members, losses)
end

--- Reports what a target cannot say of the settings, by the names that they have in the source.
local function lose_settings(form, values, losses, source)
  local own = FORMS[source].names or {}
  for _, name in ipairs { "choice", "parallel", "max_tokens", "temperature", "top_p", "top_k", "stop", "stream", "user",
    "effort", "schema", "json_answer" } do
    if values[name] ~= nil and not form.writes[name] then settings.lose_member(losses, own[name] or NAMES[name]) end
  end
  if values.tools and form.tell_tools then form.tell_tools(values.tools, losses, values) end
end

--- Lists sampling settings, such as temperature, that the model refuses, and adds a loss for each.
---@return string[] names
local function refused_sampling(model, values, losses)
  local names = {}
  if not tables.contains(traits.of(model) or {}, "no_sampling") then return names end
  for _, name in ipairs { "temperature", "top_p", "top_k" } do
    if values[name] ~= nil then
      names[#names + 1] = name
      losses[#losses + 1] = { code = "lost_member", subject = name,
        text = ("%s takes no %s: left out"):format(model, name) }
    end
  end
  return names
end

--- The limit of the answer that a request must have and lacks; nil where the dialect demands none, and for what has no
--- model, which is not sent as it is. Additions are reported.
---@param values { model?: string, max_tokens?: string }
local function missing_limit(form, values, losses)
  if not form.usual_answer or values.max_tokens or not values.model then return nil end
  local limit = form.usual_answer(values.model)
  losses[#losses + 1] = { code = "added_member", subject = "max_tokens", changed = true,
    text = ("max_tokens is %s, as the request must limit its answer"):format(limit) }
  return limit
end

--- Leaves out the name of a model that another dialect serves, and reports it: a request with it would be refused.
local function drop_model(values, dialect, losses)
  local own = values.model and target.dialect_of_model(values.model)
  if not own or target.of({ model = values.model, input = dialect }).dialect == dialect then return end
  losses[#losses + 1] = { code = "dropped_model", subject = values.model, changed = true,
    text = ("the model %s, whose dialect is %s, is left out: name one of %s"):format(values.model, own,
      dialect) }
  values.model = nil
end

--- The member of a body that has its system texts.
local function system_member(form, system)
  return form.system == "system" and system or settings.object { { "parts", system } }
end

--- The system message that is outside the messages of a body, as JSON; nil without one.
local function system_beside(form, text)
  local before = form.system and settings.members(text)[form.system]
  return before and form.read({ [form.system] = before }, {}).system
end

--- A body of a dialect: system texts and settings around messages.
local function write_body(form, values, messages, system)
  local members, out = form.write(values), {}
  local head = members[1]                                            -- the model comes first
  if head[2] then out[1] = head end
  if form.system and system then out[#out + 1] = { form.system, system_member(form, system) } end
  table.move(members, 2, #members, #out + 1, out)
  out[#out + 1] = { form.messages, messages }
  return settings.object(out)
end

---- Both ----

--- The member in which messages of openai's form have thought signatures of Gemini; nil: their server or model knows
--- none.
local function signature_member(goal, profile)
  for _, name in ipairs { "reasoning_details", "extra_content" } do
    if tables.contains(profile.members or {}, name) then return name end
  end
  local is_strict = tables.contains(profile.refuses or {}, "extra_member")
  local own = goal.model and target.dialect_of_model(goal.model) or "gemini"
  return goal.dialect == "openai" and not is_strict and own == "gemini" and "extra_content" or nil
end

--- A profile that takes one more member of messages.
local function with_member(profile, name)
  local copy, members = tables.copy(profile), profile.members or {}
  copy.members = table.move(members, 1, #members, 1, {})
  if not tables.contains(members, name) then table.insert(copy.members, name) end
  return copy
end

--- A profile that takes reasoning as text.
local function with_reasoning(profile)
  local copy = with_member(profile, "reasoning_content")
  copy.reasoning = "keep"
  return copy
end

local function window_texts(chat)
  return core.window.count(chat) > 0 and require("ebb.windows.render").written(chat) or nil
end

--- Returns the core's options for writing messages in a dialect.
local function core_options(chat, dialect, options)
  local model = options.model or chat:model()
  local goal = target.of({ to = dialect, profile = options.profile, model = model }, "write")
  local profile, own = profiles.find(goal.profile), traits.of(model) or {}
  if options.reasoning then profile = with_reasoning(profile) end
  local signatures = options.edit and "extra_content" or signature_member(goal, profile)
  if signatures then profile = with_member(profile, signatures) end
  return {
    to = dialect, developer = traits.takes_developer(model), profile = profile,
    late_system = dialect == "anthropic" and tables.contains(own, "system_role"),
    bound = bound_thinking.is_left_out(goal, model),
    unsigned_thinking = tables.contains(profile.accepts or {}, "unsigned_thinking"),
    signs_calls = tables.contains(own, "signed_calls"), signatures = signatures,
    reasoning_text = KEEPS_REASONING[profile.reasoning] or false, keeps_references = options.edit ~= nil,
  }
end

--- True if a server refuses tools whose schemas are not one object.
---@param profile string
---@return boolean
function request.refuses_schemas(profile)
  return tables.contains(profiles.find(profile).refuses or {}, "tool_schema")
end

--- True if schemas of tools become what the server of a request takes.
local function needs_plain_schemas(chat, dialect, options)
  if options.keeps_schemas then return false end
  local goal = { to = dialect, profile = options.profile, model = options.model or chat:model() }
  return request.refuses_schemas(target.of(goal, "write").profile)
end

local function convert(chat, dialect, options, system, lines, probe, is_own)
  local values = core_options(chat, dialect, options)
  values.foreign, values.keep_extra = not is_own and chat:dialect() ~= dialect, options.keep_extra
  values.keep_ids = options.keep_ids
  values.system, values.lines, values.probe = system, lines, probe
  values.origins = options.edit ~= nil or options.origins
  values.unbound_from, values.unbound_past = options.unbound_from, options.unbound_past
  return core.convert(chat, window_texts(chat), values)
end

local function write_list(chat, dialect, options, shape)
  local messages, system, losses, changed = convert(chat, dialect, options, nil, shape == "jsonl")
  if not changed and shape == chat.shape then return chat:json(), nil, losses end
  return shape == "array" and messages .. "\n" or messages or "", system, losses
end

local function write_foreign(chat, dialect, source, options)
  local losses = {}
  local text = chat.shape == "body" and body.around(chat) or "{}"
  local values = read_body(source, text, losses)
  local limited = { model = options.model or values.model, max_tokens = values.max_tokens }
  values.model = limited.model
  if options.drops_model and not options.model then drop_model(values, dialect, losses) end
  local messages, system, lost, _, origins = convert(options.list or chat, dialect, options, values.system, false)
  local form = FORMS[dialect]
  if options.edit then messages = options.edit(messages, origins, lost) end
  for _, name in ipairs(refused_sampling(values.model, values, losses)) do values[name] = nil end
  values.max_tokens = values.max_tokens or missing_limit(form, limited, losses)
  values.mends_schemas = needs_plain_schemas(chat, dialect, options)
  lose_settings(form, values, losses, source)
  table.move(lost, 1, #lost, #losses + 1, losses)
  return write_body(form, values, messages, system) .. "\n", losses, origins
end

--- Writes a body that is in the dialect; nil if it is right as it is.
local function change_own(chat, dialect, options)
  local form = FORMS[dialect]
  local text, lacks = body.around(chat), {}
  local members = settings.members(text)
  local limit = missing_limit(form,
    { model = options.model or settings.name(members.model), max_tokens = members.max_tokens }, lacks)
  local _, _, _, changed = convert(chat, dialect, options, nil, false, true, true)
  if not changed and not options.model then return limit and body.set(chat:json(), { max_tokens = limit }), lacks end
  local messages, system, losses, _, origins = convert(chat, dialect, options, nil, false, false, true)
  table.move(lacks, 1, #lacks, #losses + 1, losses)
  local values = { [form.messages] = messages, max_tokens = limit }
  if options.model then values.model = core.json.encode(options.model) end
  if system then
    local own = system_beside(form, text)
    if own then messages, system, losses = convert(chat, dialect, options, own, false, false, true) end
    values[form.messages] = messages
    values[form.system] = system_member(form, system)
  end
  local refused = options.model and refused_sampling(options.model, members, losses) or {}
  return body.set(body.without(text, refused), values), losses, origins
end

local function write_own(chat, dialect, options)
  local text, losses = change_own(chat, dialect, options)
  return text or chat:json(), losses
end

--- Writes a conversation in the form of a dialect.
---@param chat ebb.Conversation
---@param to ebb.Dialect
---@param options? ebb.WriteOptions
---@return string text
---@return ebb.Loss[] losses
function request.write(chat, to, options)
  if options ~= nil and type(options) ~= "table" then schema.options(OPTIONS, options, "write") end
  local merged = { to = to }
  for key, value in pairs(options or {}) do merged[key] = value end
  merged = schema.options(OPTIONS, merged, "write", 'chat:write("anthropic", { shape = "body" })')
  local source = chat:dialect()
  local shape = merged.shape or chat.shape
  if shape == "body" and chat.shape == "body" and source == to then return write_own(chat, to, merged) end
  merged.drops_model = true
  if shape == "body" then return write_foreign(chat, to, source, merged) end
  local text, system, losses = write_list(chat, to, merged, shape)
  if system and not merged.shape then return write_foreign(chat, to, source, merged) end
  if system then
    losses[#losses + 1] = { code = "lost_system", subject = "system", changed = false,
      text = "system texts have no place in a list of messages: left out" }
  end
  return text, losses
end

--- Finds the messages of a conversation of which each written one is made.
---@param chat ebb.Conversation
---@param to ebb.Dialect
---@param options ebb.WriteOptions
---@return integer[] origins    {first, last, first, last ..}, 0: none; empty if all are written as they are
function request.origins(chat, to, options)
  return select(5, convert(chat, to, { model = options.model, profile = options.profile, origins = true }, nil, false,
    true))
end

--- Writes a list of messages in a dialect's form; messages that have the form stay as they are. Returns a body if
--- system texts leave the list, and nil if nothing has to change.
---@param chat ebb.Conversation      of an array, or of lines
---@param to ebb.Dialect
---@param options { profile: string, keep_extra?: boolean, model?: string }
---@return string? text
---@return ebb.Loss[] losses
function request.change_list(chat, to, options)
  local kept = tables.copy(options)
  kept.keep_extra = true                             -- members that files have are no other form
  if not select(4, convert(chat, to, kept, nil, false, true, true)) then return nil, {} end
  local messages, system, losses = convert(chat, to, options, nil, chat.shape == "jsonl", false, true)
  if system then return write_foreign(chat, to, chat:dialect(), options) end
  return chat.shape == "array" and messages .. "\n" or messages or "", losses
end

--- The body of a conversation with the messages in its own form that lack it; nil if none does.
---@param chat ebb.Conversation
---@param all boolean            messages that were read count, too, not those alone that were added since
---@return string? text
---@return ebb.Loss[] losses
function request.in_own_form(chat, all)
  if chat.shape ~= "body" or not core.may_lack_form(chat, all) then return nil, {} end
  local form, windows = FORMS[chat:dialect()], window_texts(chat)
  local options = core_options(chat, chat:dialect(), {})
  options.all, options.bound = all, false
  local texts, system, losses = core.own_form(chat, windows, options)
  if not texts then return nil, {} end
  options.system = system and system_beside(form, body.around(chat))
  if options.system then texts, system, losses = core.own_form(chat, windows, options) end
  for id, text in pairs(windows or {}) do texts[id] = text end
  local text = core.list_json(chat, texts)
  return system and body.set(text, { [form.system] = system_member(form, system) }) or text, losses
end

--- A copy in openai's form of a conversation whose messages have no {role, content}; nil for others.
---@param chat ebb.Conversation
---@param source ebb.Dialect
---@param parse fun(text: string): ebb.Conversation   raises
---@param goal ebb.Target         where the copy is sent in the end
---@return ebb.ReadAs?
function request.read_as(chat, source, parse, goal)
  if FORMS[source].messages == "messages" then return nil end
  local keeps_schemas = goal.dialect ~= "openai" or not request.refuses_schemas(goal.profile)
  return read_as.openai(chat, function(edit)
    return write_foreign(chat, "openai", source, { keep_extra = true, edit = edit, keeps_schemas = keeps_schemas })
  end, parse)
end

--- The members around the messages of such a copy, as the source's dialect says them.
---@param link ebb.ReadAs
---@param source ebb.Dialect
---@return string
function request.base(link, source)
  local text = link.copy.shape == "body" and body.around(link.copy) or "{}"
  return settings.object(FORMS[source].write(read_body("openai", text, {})))
end

--- A request about such a copy, in the source's dialect, with the members of its body that only that dialect has.
---@param link ebb.ReadAs
---@param source ebb.Dialect
---@param base string            of `request.base`
---@param text string            the request
---@param losses ebb.Loss[]      of the way there and back
---@return string text
---@return ebb.Loss[] losses     without those of members that stay
function request.keep_own(link, source, base, text, losses)
  if link.source.shape ~= "body" then return text, losses end
  local kept, changed = own_members.keep(FORMS[source], body.around(link.source), base, text)
  local left = {}
  for _, loss in ipairs(losses) do
    local is_kept = not loss.index and (loss.code == "lost_member" and not changed[loss.subject:match "^[^.]*"]
      or (loss.code == "lost_tool" or loss.code == "changed_tool") and not changed.tools)
    if not is_kept then left[#left + 1] = loss end
  end
  return kept, left
end

--- The messages of a request about such a copy, in the source's form as far as they are as they were.
---@param link ebb.ReadAs
---@param source ebb.Dialect
---@param messages ebb.WorkingMessage[]
---@return string body           its messages alone
---@return ebb.Loss[] losses
---@return integer[] origins     {first, last ..}: which of `messages` each of the body is made of
function request.read_back(link, source, messages)
  local texts, losses, origins = read_as.back(link, messages)
  return ('{"%s":[%s]}'):format(FORMS[source].messages, table.concat(texts, ",")), losses, origins
end

--- The text of a system message as JSON, its parts a line each.
local function text_of_system(json)
  local message = core.json.decode(json)
  local content, texts = message.content or message.parts, {}
  if type(content) == "string" then return content end
  for _, part in ipairs(type(content) == "table" and content or {}) do
    texts[#texts + 1] = type(part) == "table" and type(part.text) == "string" and part.text or nil
  end
  return table.concat(texts, "\n")
end

--- The body without its system texts, and these; nil if it has none outside the messages.
---@param text string            a body of the dialect
---@param dialect ebb.Dialect
---@return string? rest
---@return string? system
function request.without_system(text, dialect)
  local form = FORMS[dialect]
  local members, names = settings.members(text)
  for _, name in ipairs(names) do
    if form.system and (form.name and form.name(name) or name) == form.system then
      local system = form.read({ [form.system] = members[name] }, {}).system
      if system then return body.without(text, { name }), text_of_system(system) end
    end
  end
end

--- The tools that a body offers. Short bodies fit several dialects: the first one that knows the tools counts.
---@param text string                the body, without its messages
---@param dialect ebb.Dialect        the first to be tried
---@return ebb.RequestTool[]
function request.read_tools(text, dialect)
  local members = settings.members(text)
  for _, name in ipairs { dialect, table.unpack(OPTIONS.to.choices) } do
    local tools = FORMS[name] and FORMS[name].read(members, {}).tools
    if tools and tools[1] then return tools end
  end
  return {}
end

--- Writes a request body in a dialect's form. Returns nil if nothing has to change.
---@param chat ebb.Conversation      of a body
---@param source ebb.Dialect         of the members around its messages
---@param to ebb.Dialect
---@param options { profile: string, keep_extra?: boolean, keep_ids?: boolean, reasoning?: boolean,
---    list?: ebb.Conversation, model?: string, unbound_from?: integer, unbound_past?: integer,
---    origins?: boolean, keeps_schemas?: boolean }   keep_ids: those of
---    calls stay in messages of the target's form, valid or not; reasoning: its text stays; list: has the messages in
---    place of `chat`; unbound_from: the first one without thinking that is bound to what came before it,
---    unbound_past: the first that has it again; origins: these are returned;
---    keeps_schemas: those of tools stay as they are where the dialect was the source's
---@return string? text
---@return ebb.Loss[] losses
---@return integer[]? origins    {first, last, first, last ..}: which messages each one of the body is made of; nil:
---    each of its own
function request.change(chat, source, to, options)
  if source == to then return change_own(chat, to, options) end
  return write_foreign(chat, to, source, options)
end

---- Settings of a request that is about to be sent ----

--- The tools of a body, with those of `more` replacing equal names.
local function with_tools(tools, more)
  local list, places = {}, {}
  for _, tool in ipairs(tools or {}) do
    list[#list + 1] = tool
    places[tool.name or ""] = #list
  end
  for _, tool in ipairs(more) do
    list[places[tool.name] or #list + 1] = tool
  end
  return list
end

--- The name of the member that has the messages of a dialect's body.
---@param dialect ebb.Dialect
---@return string
function request.list_name(dialect) return FORMS[dialect].messages end

--- A list of tools as a body of a dialect has it.
---@param tools ebb.RequestTool[]
---@param dialect ebb.Dialect
---@return string
function request.write_tools(tools, dialect)
  if #tools == 0 then return "[]" end
  for _, member in ipairs(FORMS[dialect].write({ tools = tools })) do
    if member[1] == "tools" then return member[2] end
  end
end

--- Adds a body's own tools that are no functions, such as a server's search, which stay as they are.
local function with_others(written, form, own)
  local list = settings.is_list(written) and settings.elements(written) or {}
  local others = {}
  for _, element in ipairs(settings.is_list(own) and settings.elements(own) or {}) do
    local read = form.read({ tools = "[" .. element .. "]" }, {}).tools
    if not (read and read[1]) then others[#others + 1] = element end
  end
  return "[" .. table.concat(table.move(list, 1, #list, #others + 1, others), ",") .. "]"
end

--- Puts settings and members into a body; others stay as they are.
---@param text string            a body of the dialect
---@param dialect ebb.Dialect
---@param wants ebb.RequestSettings
---@param fields table<string, string>   members, as JSON texts
---@param dropped string[]       members that are left out
---@return string
---@return ebb.Losses losses     what tools that are written lose, or how their schemas change
function request.set(text, dialect, wants, fields, dropped)
  local form, members, losses = FORMS[dialect], settings.members(text), {}
  local before = form.read(members, {})
  local after, values, old = tables.copy(before), {}, {}
  for name, value in pairs(wants) do after[name] = value end
  if wants.tools then after.tools = with_tools(before.tools, wants.tools) end
  for _, member in ipairs(form.write(before)) do old[member[1]] = member[2] or false end
  for _, member in ipairs(form.write(after)) do
    if member[2] and member[2] ~= old[member[1]] then values[member[1]] = member[2] end
  end
  if values.tools then
    form.tell_tools(after.tools, losses, after)
    values.tools = with_others(values.tools, form, members.tools)
  end
  for name, value in pairs(fields) do values[name] = value end
  return body.set(body.without(text, dropped), values), losses
end

return request
