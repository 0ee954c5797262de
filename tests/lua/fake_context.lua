--- A context for a processor alone: what it needs of the engine, and nothing more.

---@class FakeContext
---@field said fun(self, level?): string     the log, a line per entry

local fake = {}

--- The config that a processor gets: its defaults, and what is given.
function fake.config(processor, given)
  local config = {}
  for _, field in ipairs(processor.config_fields or {}) do
    config[field.key] = field.default
  end
  for key, value in pairs(given or {}) do
    assert(config[key] ~= nil, ("%s has no setting %s"):format(processor.id, key))
    config[key] = value
  end
  return config
end

--- Abilities of a model that takes everything, but for what is declared.
local function capabilities(declared)
  local result = { vision = true, audio = true, video = true, document = true }
  for name, value in pairs(declared or {}) do result[name] = value end
  return result
end

--- `fields`: capabilities, asset_root, preview, shared_data, and services: a table of
--- functions by name, each called with the request.
function fake.context(messages, fields)
  fields = fields or {}
  local context = { messages = messages, logs = {}, capabilities = capabilities(fields.capabilities), calls = {},
    agent_config = { asset_root = fields.asset_root }, shared_data = fields.shared_data or {},
    preview = fields.preview or false }

  function context:log(level, message, details)
    self.logs[#self.logs + 1] = { level = level, message = message, details = details }
  end

  function context:call(service, request)
    self.calls[#self.calls + 1] = { service = service, request = request }
    local answer = fields.services and fields.services[service]
    if not answer then return nil, ("the host has no '%s'"):format(service) end
    return answer(request)
  end

  function context:said(level)
    local lines = {}
    for _, entry in ipairs(self.logs) do
      if not level or entry.level == level then lines[#lines + 1] = entry.message end
    end
    return table.concat(lines, "\n")
  end

  return context
end

--- Runs a processor; gives the messages after it, and the context.
function fake.run(processor, messages, config, fields)
  local context = fake.context(messages, fields)
  processor.execute(context, fake.config(processor, config))
  return context.messages, context
end

---- Files ----

local made = {}

local function shell(command, ...)
  local line = command:format(...)
  assert(os.execute(line), line)
end

--- A new folder with these files, by name; `commands` run within it.
function fake.folder(files, commands)
  local path = os.tmpname()
  os.remove(path)
  shell("mkdir '%s'", path)
  made[#made + 1] = path
  for name, bytes in pairs(files) do
    local below = name:match "^(.*)/"
    if below then shell("mkdir -p '%s/%s'", path, below) end
    local file = assert(io.open(path .. "/" .. name, "wb"))
    file:write(bytes)
    file:close()
  end
  if commands then shell("cd '%s' && %s", path, commands) end
  return path
end

--- Removes the folders.
function fake.clean()
  for _, path in ipairs(made) do
    shell("rm -r '%s'", path)
  end
  made = {}
end

return fake
