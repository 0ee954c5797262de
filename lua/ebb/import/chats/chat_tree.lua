--- Conversations that chat programs store as a tree: the path to the message that the program shows.
--
--     root - question - answer                 an edited question makes a second branch;
--          \ question, edited - answer         the file says which message is current
--
-- A parent that does not exist is looked for among the lists of children. What is mended or left out is reported.

local tree = require "ebb.import.tree"

local chat_tree = {}

---@class ebb.import.ChatNode: ebb.import.Node
---@field lister? string        the node that lists this one as its child
---@field is_message boolean    counted in reports

--- Gives nodes whose parent is missing the one that lists them.
local function mend_parents(list, by_id, report)
  for _, node in ipairs(list) do
    local lister = node.lister
    if node.parent and not by_id[node.parent] and lister and by_id[lister] then
      node.parent = lister
      report:add("missing parent", "the message that lists it as a child replaces the parent", node.line)
    end
  end
end

--- The messages that are no other's parent, in the order of the list.
local function leaves_of(list)
  local is_parent, leaves = {}, {}
  for _, node in ipairs(list) do
    if node.parent and node.parent ~= node.id then is_parent[node.parent] = true end
  end
  for _, node in ipairs(list) do
    if node.is_message and not is_parent[node.id] then leaves[#leaves + 1] = { name = node.id, leaf = node } end
  end
  return leaves
end

local PROBLEMS = {
  parent = { "missing parent", "the conversation begins after it" },
  circle = { "circle of parents", "the conversation begins in it" },
}

local function report_others(list, path, report)
  local on_path, others = {}, 0
  for _, node in ipairs(path) do on_path[node.id] = true end
  for _, node in ipairs(list) do
    if node.is_message and not on_path[node.id] then others = others + 1 end
  end
  if others > 0 then report:add("message of another branch", "left out", nil, others) end
end

--- The node where the conversation ends.
local function leaf_of(list, by_id, leaves, current, branch, report)
  if branch then
    return by_id[branch] or tree.choose(leaves, branch).leaf
  elseif current and by_id[current] then
    return by_id[current]
  end
  report:add("missing current message", "the newest branch was read")
  return leaves[1] and leaves[#leaves].leaf or list[#list]
end

--- The nodes from the root to the current message, or to that of another branch; raises for one that does not exist.
---@param list ebb.import.ChatNode[]   from the oldest to the newest; ids are unique
---@param current? string              the id of the current message
---@param branch? string
---@param report ebb.import.Report
---@return ebb.import.ChatNode[] path
---@return integer leaves
function chat_tree.path(list, current, branch, report)
  local by_id = {}
  for _, node in ipairs(list) do by_id[node.id] = node end
  mend_parents(list, by_id, report)
  local leaves = leaves_of(list)
  if #list == 0 then return {}, 0 end
  local leaf = leaf_of(list, by_id, leaves, current, branch, report)
  local path, problem = tree.path(by_id, leaf)
  if problem then report:add(PROBLEMS[problem][1], PROBLEMS[problem][2], path[1].line) end
  report_others(list, path, report)
  return path, #leaves
end

return chat_tree
