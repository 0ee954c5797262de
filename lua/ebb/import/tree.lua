--- Records that name their parents, as trees: the path of a leaf, and what a file does to it.
--
-- A node is a table {id, parent}; `nodes` has the nodes by id. Files have parents that do not exist and circles:
-- no walk loops, and none ends without saying so.

local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"

local tree = {}

---@class ebb.import.Node
---@field id string
---@field parent? string|false
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

---@class ebb.import.Branch
---@field name string         what `branch` may say: an id
---@field leaf ebb.import.Node
---@field what? string        "sidechain"

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
  refuse("unknown_name", ("no branch '%s'"):format(name), suggest.nearest(name, names) and
    ("did you mean '%s'?"):format(suggest.nearest(name, names)) or list)
end

return tree
