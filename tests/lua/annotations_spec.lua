--- lua/ebb/meta against what is registered: every function there exists with the
--- same parameters, every public method is described there, in a sentence, and no class twice.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local annotations = dofile "scripts/tools/reference/annotations.lua"
local context = require "ebb.pipeline.context"
local pipeline = require "ebb.pipeline"
local rules = require "ebb.rules"
require "ebb.windows"      -- loaded on first use

--- Methods that the library itself uses.
local PRIVATE = {
  ["Conversation:draft"] = true, ["MacroEnvironment:fork"] = true, ["MacroEnvironment:set"] = true,
  ["MacroEnvironment:roll_back"] = true, ["MacroRegistry:ask"] = true, ["MacroRegistry:has"] = true,
}

--- Methods of types that are tables.
local TABLES = {
  Pipeline = pipeline.methods, PipelineTask = pipeline.task_methods, Context = context.methods,
  RuleSet = rules.methods, MacroRegistry = require("ebb.macros.registry").methods,
  MacroEnvironment = require("ebb.macros.environment").methods,
  MacroCall = require("ebb.macros.evaluate").call_methods,
  Session = require("ebb.session").methods, Store = require("ebb.session.store").methods,
}

--- Types that have private methods, too.
local PARTLY = {
  MacroCall = require("ebb.macros.evaluate").call_methods, MacroEnvironment = require("ebb.macros.environment").methods,
}

local ITEMS = annotations.read(helper.annotations())

--- Returns the parameters that annotations describe, by "Class:method" or "ebb.name".
local function described()
  local functions, parents = {}, {}
  for _, item in ipairs(ITEMS) do
    if item.kind == "class" and item.parent then
      parents[item.name:match "^ebb%.(.*)" or ""] = item.parent:match "^ebb%.(.*)"
    elseif item.kind == "function" then
      local owner = item.separator == ":" and item.owner:match "^ebb%.(%u.*)" or item.owner
      local list = {}
      for i, parameter in ipairs(item.parameters) do list[i] = parameter.name end
      functions[owner .. item.separator .. item.name] = list
    end
  end
  return functions, parents
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
  local methods = TABLES[owner] or PARTLY[owner] or core.methods[owner] or core.methods.Conversation   -- List is in all
  return methods[method], true
end

describe("described in the annotations", function()
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

  local types = {}
  for class, methods in pairs(core.methods) do types[class] = methods end
  for class, methods in pairs(TABLES) do types[class] = methods end
  for class, methods in pairs(types) do
    it("methods of " .. class .. " are described", function()
      for method, callable in pairs(methods) do
        local name = ("%s:%s"):format(class, tostring(method))
        local is_public = type(callable) == "function" and not tostring(method):find "^_" and not PRIVATE[name]
        if is_public then assert(is_described(class, method), name .. " is not described") end
      end
    end)
  end

  it("functions of ebb are described", function()
    for _, space in ipairs { "ebb", "ebb.json", "ebb.macros", "ebb.recall", "ebb.rules", "ebb.workflow" } do
      local values = space == "ebb" and helper.ebb or helper.ebb[space:match "^ebb%.(.*)"]
      for name, value in pairs(values) do
        if type(value) == "function" then
          assert(FUNCTIONS[space .. "." .. name], ("%s.%s is not described"):format(space, name))
        end
      end
    end
  end)
end)

describe("the annotations", function()
  it("say in a sentence what each function does", function()
    for _, item in ipairs(ITEMS) do
      if item.kind == "function" then
        assert(item.text:find "%a.*[%.:`]", ("%s%s%s has no sentence"):format(item.owner, item.separator, item.name))
      end
    end
  end)

  it("describe each class once, here or where it is private", function()
    local seen = {}
    local pipe = assert(io.popen "grep -rhoE '^---@class ebb[.a-zA-Z]*' lua/ebb")
    for line in pipe:lines() do
      assert(not seen[line], line .. " is there twice")
      seen[line] = true
    end
    assert(pipe:close() and next(seen))
  end)

  it("name types that exist", function()
    local known = {}
    for _, item in ipairs(ITEMS) do
      if item.kind ~= "function" then known[item.name] = true end
    end
    local function check(where, kind)
      for name in kind:gsub('"[^"]*"', ""):gmatch "ebb%.%u%w*" do
        assert(known[name], ("%s: no type %s"):format(where, name))
      end
    end
    for _, item in ipairs(ITEMS) do
      for _, list in ipairs { item.fields or {}, item.parameters or {}, item.results or {} } do
        for _, value in ipairs(list) do check(item.name, value.type) end
      end
    end
  end)
end)
