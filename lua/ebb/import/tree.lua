--- Records that name their parents, as trees: the path of a leaf, and what a file does to it.
--
-- A node is a table {id, parent}; `nodes` has the nodes by id. Files have parents that do not exist and circles:
-- no walk loops, and none ends without saying so.

local refuse = require "ebb.support.refuse"

local tree = {}

---@class ebb.import.Node
---@field id string
---@field parent? string
---@field order? integer       its place in the file
---@field line? integer

--- The nodes from the root to `leaf`. The walk ends at a node whose parent is absent, or is on the path already.
---@generic T: ebb.import.Node
---@param nodes table<string, T>
---@param leaf T
---@return T[] path
---@return "parent"|"circle"|nil problem    why the first node is no root
function tree.path(nodes, leaf)
  local reverse, seen, problem = { leaf }, { [leaf.id] = true }, nil
  local node = leaf
  while node.parent do
    local parent = nodes[node.parent]
    problem = not parent and "parent" or seen[node.parent] and "circle" or nil
    if problem then break end
    node, seen[node.parent] = parent, true
    reverse[#reverse + 1] = parent
  end
  local path, size = {}, #reverse
  for i, each in ipairs(reverse) do path[size - i + 1] = each end
  return path, problem
end

---- Mending ----

--- The first node in file order of each circle that the parents form.
local function circles(list, nodes)
  local walk, firsts = {}, {}
  for _, start in ipairs(list) do
    local node = start
    while node and not walk[node] do
      walk[node] = start
      node = node.parent and nodes[node.parent]
    end
    if node and walk[node] == start then
      local first, each = node, nodes[node.parent]
      while each ~= node do
        if each.order < first.order then first = each end
        each = nodes[each.parent]
      end
      firsts[first] = true
    end
  end
  return firsts
end

--- The root of a node, by links that get shorter with each use.
local function root_of(links, node)
  while links[node] do
    links[node] = links[links[node]] or links[node]
    if not links[links[node]] then return links[node] end
    node = links[node]
  end
  return node
end

--- True if each parent exists and comes before its children in the file: then there are no circles, either.
local function is_sound(list, nodes)
  for _, node in ipairs(list) do
    local parent = node.parent and nodes[node.parent]
    if node.parent and not (parent and parent.order < node.order) then return false end
  end
  return true
end

--- Gives a node whose parent does not exist, or that begins a circle, the node before it in the file as its parent,
--- unless that one descends from it.
---@param list ebb.import.Node[]          in file order, with their `order`
---@param nodes table<string, ebb.import.Node>
---@param chain_of fun(node: ebb.import.Node): any   nodes of one chain follow one another; nil: none follows it
---@param report ebb.import.Report
function tree.mend(list, nodes, chain_of, report)
  if is_sound(list, nodes) then return end
  local firsts, links, last = circles(list, nodes), {}, {}
  for node in pairs(firsts) do node.parent, node.is_broken = nil, true end
  for _, node in ipairs(list) do links[node] = node.parent and nodes[node.parent] end
  for _, node in ipairs(list) do
    local chain = chain_of(node)
    if node.is_broken or node.parent and not nodes[node.parent] then
      local before = last[chain == nil and 0 or chain]
      local parent = before and root_of(links, before) ~= node and before or nil
      node.parent, links[node] = parent and parent.id, parent
      report:add(node.is_broken and "circle of parents" or "missing parent",
        parent and "the one before it in the file takes its place" or "it begins in another file", node.line)
    end
    if chain ~= nil then last[chain] = node end
  end
end

---- Branches ----

---@class ebb.import.Branch
---@field name string         what `branch` may say: an id
---@field leaf ebb.import.Node
---@field what? string        "sidechain"

--- The branches of a tree without replies of several nodes: a leaf each, the newest first.
---@param list ebb.import.Node[]
---@return ebb.import.Branch[]
function tree.leaves(list)
  local is_parent, branches = {}, {}
  for _, node in ipairs(list) do
    if node.parent then is_parent[node.parent] = true end
  end
  for i = #list, 1, -1 do
    if not is_parent[list[i].id] then branches[#branches + 1] = { name = list[i].id, leaf = list[i] } end
  end
  return branches
end

local LISTED = 6

--- The branch that `name` names: its number in the list, its name, or the only name that begins so.
---@param branches ebb.import.Branch[]
---@param name string
---@return ebb.import.Branch
function tree.choose(branches, name)
  local fitting, names = {}, {}
  for i, branch in ipairs(branches) do
    if branch.name == name then return branch end
    if #name >= 4 and branch.name:sub(1, #name) == name then fitting[#fitting + 1] = branch end
    names[i] = branch.name
  end
  if #fitting == 1 then return fitting[1] end
  local number = name:find "^%d+$" and branches[math.tointeger(tonumber(name)) or 0]
  if number then return number end
  local words = {}
  for i = 1, math.min(#branches, LISTED) do
    words[i] = ("%d (%s%s)"):format(i, names[i], branches[i].what and ", " .. branches[i].what or "")
  end
  local list = "there are " .. table.concat(words, ", ") .. (#branches > LISTED and (" to %d"):format(#branches) or "")
  refuse("unknown_name", ("no branch '%s'"):format(name), list)
end

return tree
