--- Templates checked without being expanded: for editors, and for files when they are loaded.

local messages = require "ebb.macros.messages"
local parse = require "ebb.macros.parse"
local suggest = require "ebb.support.suggest"

local check = {}

local function arity_text(macro)
  if macro.most == macro.least then return tostring(macro.least) end
  if macro.most == math.maxinteger then return macro.least .. "+" end
  return ("%d-%d"):format(macro.least, macro.most)
end

--- The problem of the number of arguments, or nil.
local function count_problem(macro, name, count, language)
  if count >= macro.least and count <= macro.most then return nil end
  if macro.most == 0 then return messages.text(language, "takes_none", name) end
  if count == 0 then return messages.text(language, "takes_some", name) end
  return messages.text(language, "takes", name, arity_text(macro), count)
end

local function given_to(node)
  return #node + (node.inline and 1 or 0)
end

--- The problem of one node: the error, and names like the unknown one.
local function node_problem(node, text, registry, language)
  local macro = node.name and registry:find(node.name)
  if not macro then
    local name = parse.label(node, text)
    return messages.text(language, "unknown", name), { suggest.nearest(name, registry:names()) }
  end
  if macro.unread then return nil end
  return count_problem(macro, node.name, given_to(node), language)
end

--- Visits all nodes of a list of items, in the order of the text; recursion is as deep as nesting may be.
local function each_node(items, visit)
  for _, item in ipairs(items) do
    if type(item) == "table" and item.first then
      visit(item)
      each_node(item.inline or item.head, visit)
      for _, argument in ipairs(item) do
        each_node(argument, visit)
      end
    end
  end
end

--- Lists all faults of a template, in the order of its text.
---@param text string
---@param registry ebb.MacroRegistry
---@return ebb.MacroProblem[]
function check.template(text, registry)
  local tree, broken = parse.tree(text)
  local problems = {}
  for i, problem in ipairs(broken) do
    problems[i] = { position = problem.position, message = messages.text("en", problem.code, problem.limit) }
  end
  each_node(tree, function(node)
    local message, near = node_problem(node, text, registry, "en")
    if message then
      local hint = near and near[1] and ("did you mean '%s'?"):format(near[1])
      problems[#problems + 1] = { position = node.first, message = message, hint = hint or nil }
    end
  end)
  table.sort(problems, function(a, b) return a.position < b.position end)
  return problems
end

--- True if the content of braces is a macro with the right number of arguments.
---@param content string       "user", "setvar::a::b"
---@param registry ebb.MacroRegistry
---@param language "en"|"zh"
---@return { valid: boolean, error: string?, suggestions: string[]? }
function check.content(content, registry, language)
  local text = "{{" .. content .. "}}"
  local tree = parse.tree(text)
  local node = tree[1]
  if #tree ~= 1 or type(node) ~= "table" or not node.first then
    return { valid = false, error = messages.text(language, "no_macro") }
  end
  local message, suggestions = node_problem(node, text, registry, language)
  return { valid = message == nil, error = message, suggestions = suggestions }
end

return check
