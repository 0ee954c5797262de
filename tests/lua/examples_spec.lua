--- The examples under scripts/: each is run by the very command line that its head
--- (or, for what is built in, its page of help) tells people to type.

local helper = dofile "tests/lua/helper.lua"
local policies = require "ebb.trim.policies"

local build = os.getenv "EBB_BUILD" or "build"
local ebb = os.getenv "EBB" or build .. "/ebb"

--- Runs a line that begins with "ebb"; what it writes to standard output.
local function output_of(line)
  local joined = line:gsub("\\\n%-%-%s+", " "):gsub("\\\n%s+", " ")
  local pipe = io.popen(("%s %s"):format(ebb, joined:match "^ebb%s+(.*)$"))
  local out = pipe:read "a"
  assert(pipe:close(), joined)
  return out
end

--- The command and the result's file that the comment at the head of a script names.
local function command_of(path)
  local text = helper.read(path)
  local line, result = text:match "%-%- Run:%s+(ebb .-)\n%-%- gives ([%w_./]+)"
  assert(line, path .. " does not say how to run it")
  return line, result
end

local function scripts_in(folder)
  local pipe, list = io.popen(("ls scripts/%s/*.lua"):format(folder)), {}
  for path in pipe:lines() do
    list[#list + 1] = path
  end
  pipe:close()
  return list
end

for _, folder in ipairs { "policies", "filters" } do
  describe("scripts/" .. folder, function()
    for _, path in ipairs(scripts_in(folder)) do
      it(path, function()
        local line, result = command_of(path)
        assert.equal(helper.read(result), output_of(line))
      end)
    end
  end)
end

describe("the built-in policies", function()
  for _, name in ipairs(policies.names) do
    it(name .. " has a page, and an example that does what it says", function()
      local policy = policies.find(name)
      assert.equal(name, policy.name)
      assert.truthy(policy.summary)
      assert.truthy(policy.help:find("Kept whatever happens", 1, true))
      for option, declared in pairs(policy.options) do
        assert.truthy(declared.help, option)
      end
      assert.equal(helper.read(("scripts/policies/%s.out.json"):format(name)), output_of(policy.example))
    end)
  end
end)
