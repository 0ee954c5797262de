--- ebb.d.lua against what is registered: every function there exists with the
--- same parameters, and every public method is described there.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
require "ebb.windows"      -- loaded on first use

--- Methods that the library uses itself and users are not told of.
local PRIVATE = { ["Conversation:draft"] = true }

--- What is described, as "Class:method" or "ebb.name" -> list of parameters.
local function described()
  local found, parents = {}, {}
  for line in helper.read("lua/ebb.d.lua"):gmatch "[^\n]+" do
    local class, parent = line:match "^%-%-%-@class ebb%.([%w_]+): ebb%.([%w_]+)"
    if class then parents[class] = parent end
    local owner, separator, method, parameters = line:match "^function ([%w_.]+)([:.])([%w_]+)%((.-)%) end"
    if owner then
      local list = {}
      for parameter in parameters:gmatch "[%w_.]+" do
        list[#list + 1] = parameter
      end
      found[owner .. separator .. method] = list
    end
  end
  return found, parents
end

local FUNCTIONS, PARENTS = described()

--- The parameters of what is registered, without self.
local function parameters_of(name, callable, is_method)
  local of_core = core.parameters[name]
  if debug.getinfo(callable, "S").what == "C" then return of_core end
  local list = {}
  for i = is_method and 2 or 1, debug.getinfo(callable, "u").nparams do
    list[#list + 1] = debug.getlocal(callable, i)
  end
  return list
end

local function registered(name)
  local owner, method = name:match "^(%u%w+):([%w_]+)$"
  if not owner then
    local value = { ebb = helper.ebb }
    for key in name:gmatch "[%w_]+" do
      value = value[key]
    end
    return value
  end
  if owner == "Pipeline" then return require("ebb.pipeline").methods[method], true end
  local methods = core.methods[owner] or core.methods.Conversation   -- List is a part of all lists
  return methods[method], true
end

describe("described in ebb.d.lua", function()
  local names = {}
  for name in pairs(FUNCTIONS) do
    names[#names + 1] = name
  end
  table.sort(names)

  for _, name in ipairs(names) do
    it(name, function()
      local callable, is_method = registered(name)
      assert.equal("function", type(callable), "it is not registered")
      local parameters = parameters_of(name, callable, is_method) or parameters_of(name:gsub("^List:", "Conversation:"),
        callable, is_method)
      assert.same(FUNCTIONS[name], parameters)
    end)
  end

  it("queries are on all lists", function()
    for name in pairs(FUNCTIONS) do
      local method = name:match "^List:(.*)"
      if method then
        for _, class in ipairs { "Conversation", "Batch", "Draft" } do
          assert.equal("function", type(core.methods[class][method]), class .. ":" .. method)
        end
      end
    end
  end)
end)

describe("registered", function()
  local function is_described(class, method)
    while class do
      if FUNCTIONS[class .. ":" .. method] then return true end
      class = PARENTS[class]
    end
    return false
  end

  for class, methods in pairs(core.methods) do
    it("methods of " .. class .. " are described", function()
      for method, callable in pairs(methods) do
        local name = ("%s:%s"):format(class, tostring(method))
        local is_public = type(callable) == "function" and not tostring(method):find "^__" and not PRIVATE[name]
        if is_public then assert(is_described(class, method), name .. " is not described in ebb.d.lua") end
      end
    end)
  end

  it("functions of ebb are described", function()
    for _, space in ipairs { "ebb", "ebb.json" } do
      local values = space == "ebb" and helper.ebb or helper.ebb.json
      for name, value in pairs(values) do
        if type(value) == "function" then
          assert(FUNCTIONS[space .. "." .. name], ("%s.%s is not described in ebb.d.lua"):format(space, name))
        end
      end
    end
  end)
end)
