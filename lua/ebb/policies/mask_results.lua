--- Trim policy: old tool results give way to one line that says what they were.

local json_tree = require "ebb.support.json_tree"
local results = require "ebb.conversation.results"

local MASKED = "tokens left out%]\"?$"

--- Describes a text: kind and length of its JSON, its number of lines, or "text".
local function form_of(text)
  local tree = json_tree.read(text)
  if type(tree) == "table" then return ("JSON %s of %d"):format(tree.kind == "array" and "list" or "object", #tree) end
  local _, breaks = text:gsub("\n", "\n")
  return breaks > 0 and ("%d lines"):format(breaks + 1) or "text"
end

---@type ebb.Policy
return {
  name = "mask_results",
  summary = "replace old tool results by one line that says what they were",
  options = results.options,
  help = [[
All results but the newest `keep` become a line such as `[read_file: 120 lines, 1304
tokens left out]`; instead of JSON it is a JSON string. They become old `step` at
a time, so that requests keep their beginning. A result that would not get smaller
stays. The budget plays no part, so another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 --policy mask_results:keep=1,step=1]],

  ---@param draft ebb.Draft
  ---@param options { keep: integer, step: integer, users: boolean }
  trim = function(draft, _, options)
    local choice = { keep = options.keep, step = options.step, users = options.users, reason = "old tool result" }
    results.rewrite(draft, choice, function(text, result)
      if text:find(MASKED) then return nil end
      local call = results.call_of(result)
      local tokens = draft:cost { role = "user", content = text } - draft:cost { role = "user", content = "" }
      local name = call and call.name or "result"
      return results.note_for(text, ("[%s: %s, %d tokens left out]"):format(name, form_of(text), tokens))
    end)
  end,
}
