--- Trim policy: removes noise from tool results.
--
-- The folded text depends on the result's text alone. So each result can be folded as soon as it is there, and the
-- requests after it begin alike.

local fold_json = require "ebb.conversation.fold_json"
local fold_lines = require "ebb.conversation.fold_lines"
local results = require "ebb.conversation.results"

---@type ebb.Policy
return {
  name = "fold_output",
  summary = "take from tool results what says nothing: escapes, repeated lines, middles of long lists",
  options = {
    keep = { type = "integer", default = 0, min = 0, help = results.options.keep.help },
    users = results.options.users,
    similar = { type = "integer", default = 20, min = 0,
      help = "lines in a row, alike but for numbers, from which on most are left out; 0: never" },
    list = { type = "integer", default = 40, min = 0,
      help = "lines or items from which on of a list only the ends and what differs stay; 0: never" },
    tables = { type = "integer", default = 5, min = 0,
      help = "objects with the same names from which on a list becomes a table; fewer save more tokens, but names then "
        .. "are far from their values; 0: never" },
  },
  help = [=[
Text loses escapes of terminals, bars of progress, space at the ends of lines, and
repetitions: equal lines and stack traces are kept once, with how often they came; of
lines alike but for numbers the first two and the last stay; of long listings the
first ten lines, the last five and those of another shape. JSON stays JSON: it loses
space, long lists of objects become tables (`[["id","price"],["A",1], ...]`), longer lists
keep their ends and what differs. The rest is as it was. The budget plays no part, so
another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]=],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 900 --policy fold_output:similar=8]],

  ---@param draft ebb.Draft
  ---@param options ebb.Folding
  trim = function(draft, _, options)
    local choice = { keep = options.keep, users = options.users, reason = "folded" }
    local key = ("fold_output %d %d %d"):format(options.similar, options.list, options.tables)
    results.rewrite(draft, choice, results.remembering(key, function(text)
      return fold_json.fold(text, options) or fold_lines.fold(text, options)
    end))
  end,
}
